"""simplify(): the Reshapes of an ONNX model in their plainest form, without a change of what any of them means.

A target that is computed at run time but always equals a constant becomes that constant; a Reshape that changes nothing
goes; one of another becomes one; an allowzero that says nothing is dropped.  What is proven of each Reshape is in
`proven_reshapes`; which constants say it, in `graphs/words`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import KEY
from onereshape.formats.model_data import ModelData
from onereshape.formats.onnx.onnx_graphs import ONNX, copyable, nodes, roots
from onereshape.graphs.edit import Change, origin_of
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.rewrite import Rewriter
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.unneeded import bury
from onereshape.graphs.words import constant_words
from onereshape.repair.simpler.agreement import Agreement, TargetStep, agreement
from onereshape.repair.simpler.proven_reshapes import ProvenReshape, Reader
from onereshape.rule.dims import show
from onereshape.rule.sizes import Formula, Size

_MOST_MOVES = 60_000_000
"""Inputs of nodes that are written again: onnx-ir writes all of a node's for each one that changes."""
_LONGEST_CHAIN = 16
"""How many Reshapes back the dims of the output are looked for."""
_NO_WORD = -2
"""In place of a word that is computed: no word is kept there."""


def simplifications(model: ModelData, facts: Facts, *, owned: bool = False) -> list[Change]:
    """What `simplify` would change; the model stays as it is, unless it is `owned`: then nobody needs it any more.

    `facts` are those of the model.
    """
    if model.format != "onnx":
        return []
    given: ir.Model = model.ir
    work = _Simplifying(given, facts, _reshapes(given))
    if not work.promising:
        return []
    if owned and not given.functions and copyable(given.graph):
        return _simplified(work)
    try:
        copy = given.clone()
    except RuntimeError:  # onnx-ir copies no graph whose nodes are out of order
        return []
    return simplify(copy, facts.of_copy(copy))


def simplify(model: ir.Model, facts: Facts | None = None) -> list[Change]:
    """Simplifies every Reshape in place, in subgraphs and functions too; returns what was changed, in graph order.

    `facts` are those of the model, where they are known already.
    """
    reshapes = _reshapes(model)
    return _simplified(_Simplifying(model, facts or facts_of(model), reshapes)) if reshapes else []


def _reshapes(model: ir.Model) -> list[_Site]:
    """The Reshapes of a model."""
    found = ((node, place, root) for root, start in roots(model) for node, place in nodes(root, start, "Reshape"))
    return [_Site(index, *each) for index, each in enumerate(found) if each[0].domain in ONNX]


def _simplified(work: _Simplifying) -> list[Change]:
    found: list[tuple[int, Change]] = []
    again: _Simplifying | None = work
    while again is not None:
        work, before = again, len(found)
        for place in work.promising:
            if place.node.graph is not None:
                found += [(place.order, change) for change in work.simplified(place)]
        work.bury()
        if len(found) == before:  # else a Reshape that lost a user may now have one only
            again = work.anew() if work.stale else None
    return [change for _, change in sorted(found, key=lambda pair: pair[0])]


class _Site(NamedTuple):
    """A Reshape of a model."""

    order: int
    """How many come before it."""
    node: ir.Node
    place: str
    root: ir.Graph | ir.Function
    """The graph or function that it is in."""


class _Simplifying:
    """The Reshapes of a model on their way to plainer ones, and what all steps share."""

    def __init__(self, model: ir.Model, facts: Facts, reshapes: list[_Site]) -> None:
        self._model = model
        self._reader = Reader(model, facts)
        self._rewriter = Rewriter(model)
        self._moves = _MOST_MOVES
        self._reshapes = reshapes
        self.promising = [each for each in reshapes if self._promises(each)]
        """The Reshapes that look as if they could be simpler; no other comes to look so by what is done to these."""
        self.stale = False
        """Whether a Reshape is gone that not all sizes allow: the dims after it may tell more now."""

    def anew(self) -> _Simplifying:
        """The work on the model as it is now, with its dims found anew."""
        return _Simplifying(self._model, facts_of(self._model), self._reshapes)

    def _promises(self, place: _Site) -> bool:
        read = self._reader.read(place.node, place.root)
        if read is None:
            return False
        maker, numbers = read.data.producer(), read.numbers
        chained = maker is not None and maker.op_type == "Reshape"
        flagged = not read.copies and numbers is not None and 0 not in numbers
        return not read.constant or chained or flagged or (read.dims is not None and read.dims == read.output)

    def simplified(self, place: _Site) -> list[Change]:
        """Simplifies one Reshape by every step that applies, and gives the changes."""
        node, root = place.node, place.root
        read = self._reader.read(node, root)
        if read is None:
            return []
        changes = []
        for step in (self._give_back, self._merge, self._fold, self._drop_flag):
            change = step(read, root, node.name or place.place)
            if change is None:
                continue
            changes.append(change)
            again = None if node.graph is None else self._reader.read(node, root)
            if again is None:
                break
            read = again
        return changes

    def _give_back(self, read: ProvenReshape, root: ir.Graph | ir.Function, name: str) -> Change | None:
        """Removes a Reshape whose output has the dims of its data, or of what those were reshaped from."""
        if read.output is None:
            return None
        source, dims = read.data, read.dims
        passed: list[ir.Node] = []
        steps = [_step(read)]
        while dims != read.output:
            inner = self._inner(source, root)
            if inner is None or len(passed) == _LONGEST_CHAIN:
                return None
            source, dims = inner.data, inner.dims
            passed.append(inner.node)
            steps.append(_step(inner))
        if dims is None or _agreed(dims, steps[::-1], []) != Agreement("same"):
            return None
        called = f"{source.name}"
        if not self._reroute(read.node, source):
            return None
        self.stale = self.stale or any(map(self._reader.is_conditional, passed))
        if not passed:
            message = f"the output always has the dims of data, {_text(read.output)}"
        else:
            message = f"the Reshapes from {called} to here end where they began, at {_text(read.output)}"
        return _change("chain" if passed else "identity", read, name, message, (_entries(read), called))

    def _merge(self, read: ProvenReshape, root: ir.Graph | ir.Function, name: str) -> Change | None:
        """Joins a Reshape with the one before it, if nobody else reads between them: `[6, 4], then [24]` -> `[24]`."""
        inner = self._inner(read.data, root)
        alone = len(read.data.uses()) == 1 and not read.data.is_graph_output()
        if inner is None or not alone or inner.node.graph is not read.node.graph:
            return None
        numbers = read.numbers
        stays = read.constant and numbers is not None and not (read.copies and 0 in numbers)
        said = None if stays else self._words(read, inner.dims)
        if not stays and said is None:
            return None
        words = _step(read) if said is None else TargetStep(tuple(said[0]), said[1])
        agreed = None if inner.dims is None else _agreed(inner.dims, [_step(inner), _step(read)], [words])
        if agreed is None or agreed.kind == "differs":
            return None
        before = f"{_entries(inner)}, then {_entries(read)}"
        read.node.replace_input_with(0, inner.data)
        self._rewriter.left.append(read.data)
        self.stale = self.stale or self._reader.is_conditional(inner.node)
        if said is not None:
            self._write(read, root, *said)
        after = _text((numbers if said is None else said[0]) or ())
        message = f"its data come from another Reshape, {_name(inner.node)}; one with {after} does both{_where(agreed)}"
        return replace(_change("chain", read, name, message, (before, after)), conditions=agreed.conditions)

    def _fold(self, read: ProvenReshape, root: ir.Graph | ir.Function, name: str) -> Change | None:
        """Writes a constant in place of a target that always equals it."""
        if read.constant:
            return None
        said = self._words(read, read.dims)
        if said is None:
            return None
        # Entries that are all numbers are those of the constant.
        agreed: Agreement | None = Agreement("same")
        if list(read.entries or ()) != said[0] or read.copies != said[1]:
            agreed = (
                None if read.dims is None else _agreed(read.dims, [_step(read)], [TargetStep(tuple(said[0]), said[1])])
            )
        if agreed is None or agreed.kind == "differs":
            return None
        self._write(read, root, *said)
        before, after = _entries(read), _text(said[0])
        means = "always means the same as" if agreed.kind == "same" else "means the same as"
        message = f"the target is computed at run time as {before}, which {means} the constant {after}{_where(agreed)}"
        return replace(_change("foldable-target", read, name, message, (before, after)), conditions=agreed.conditions)

    def _drop_flag(self, read: ProvenReshape, _root: ir.Graph | ir.Function, name: str) -> Change | None:
        """Drops allowzero=1 where no entry is 0; a layer of an IR always says what a 0 means."""
        numbers, graph = read.numbers, read.node.graph
        if read.copies or numbers is None or 0 in numbers or (graph is not None and KEY in graph.meta):
            return None
        del read.node.attributes["allowzero"]
        before = _entries(read)
        message = f"allowzero=1 says nothing here, since the target {before} has no 0, and keeps engines from fusing it"
        return _change("redundant-allowzero", read, name, message, (f"{before}, allowzero=1", before))

    def _inner(self, data: ir.Value, root: ir.Graph | ir.Function) -> ProvenReshape | None:
        maker = data.producer()
        return None if maker is None else self._reader.read(maker, root)

    def _words(self, read: ProvenReshape, dims: Sequence[Size] | None) -> tuple[list[int], bool] | None:
        """The constant that makes the output out of data of these dims, and whether a 0 in it copies."""
        numbers = read.numbers
        if numbers is not None and dims is read.dims and min(numbers, default=0) >= -1 and numbers.count(-1) <= 1:
            return numbers, read.copies
        if read.output is None or dims is None:
            return None
        # A -1 that stands for a number stays: whoever wrote it did not want that number fixed.
        spared = zip(read.entries or (), read.output, strict=True)
        keep = [entry if isinstance(entry, int) and isinstance(dim, int) else _NO_WORD for entry, dim in spared]
        words = constant_words(dims, read.output, zero_copies=True, keep=keep)
        return None if words is None else (words, True)

    def _write(self, read: ProvenReshape, root: ir.Graph | ir.Function, words: Sequence[int], copies: bool) -> None:
        """Gives a Reshape a constant target of its own."""
        node = read.node
        if read.target is None:
            node.attributes["shape"] = ir.AttrInt64s("shape", words)
            return
        node.replace_input_with(1, self._rewriter.target(node, root, words))
        self._rewriter.left.append(read.target)
        if copies or 0 not in words:
            node.attributes.pop("allowzero", None)
        else:
            node.attributes["allowzero"] = ir.AttrInt64("allowzero", 1)

    def _reroute(self, node: ir.Node, source: ir.Value) -> bool:
        """Puts `source` in the place of a node's output, while there are not too many uses to write again."""
        self._moves -= sum(len(user.inputs) for user, _ in node.outputs[0].uses())
        return self._moves >= 0 and self._rewriter.reroute(node, source)

    def bury(self) -> None:
        """Removes what nobody needs any more."""
        bury(self._model, self._rewriter.left)


def _step(read: ProvenReshape) -> TargetStep | None:
    """The Reshape in numbers and sizes, None where an entry is not known."""
    known = [entry for entry in read.entries or () if entry is not None]
    return (
        TargetStep(tuple(known), read.copies) if read.entries is not None and len(known) == len(read.entries) else None
    )


def _agreed(
    dims: tuple[Size, ...], before: Sequence[TargetStep | None], after: Sequence[TargetStep | None]
) -> Agreement | None:
    """Whether both do the same to data of these dims, None where that cannot be told."""
    old, new = (tuple(step for step in steps if step is not None) for steps in (before, after))
    return agreement(dims, old, new) if (len(old), len(new)) == (len(before), len(after)) else None


def _where(agreed: Agreement) -> str:
    return f", where {' and '.join(agreed.conditions)}: an empty tensor is refused then" if agreed.conditions else ""


def _change(code: str, read: ProvenReshape, name: str, message: str, words: tuple[str, str]) -> Change:
    tensor = "shape" if read.target is None else read.target.name or ""
    origin = "attribute shape" if read.target is None else origin_of(read.target)
    return Change(code, name, "Reshape", tensor, origin, message, *words)


def _entries(read: ProvenReshape) -> str:
    return "?" if read.entries is None else _text(read.entries)


def _text(dims: Iterable[Size | None]) -> str:
    return "[" + ", ".join(str(dim) if isinstance(dim, Formula) else str(show(dim)) for dim in dims) + "]"


def _name(node: ir.Node) -> str:
    return node.name or node.outputs[0].name or "?"
