"""Batching: from a model of one sample (or of a few), the model of N.

Marks flow forward from the freed inputs, node by node; each operator's rule says what becomes of them.  Where a rule
has several answers, the first is taken, and the search comes back for the next if a later rule cannot live with it.
Every rule is right by itself, so the whole is; nothing here depends on names or on known architectures.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import DOMAIN
from onereshape.formats.onnx.onnx_graphs import opset_of
from onereshape.graphs.backtracking import Patience, Search, has_graphs, inside, used
from onereshape.graphs.batch_rules.composed import batch_composed
from onereshape.graphs.batch_rules.counting import counted
from onereshape.graphs.batch_rules.marks import Mark, mentions
from onereshape.graphs.batch_rules.masks import mask_puts
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchState, BatchView, Parts
from onereshape.graphs.edit import Change, Edit
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.facts.order import inner_graphs, ordered, values_of
from onereshape.graphs.likely_batch import said
from onereshape.graphs.node_view import NoRule, Refused, RefusedInside
from onereshape.graphs.operators import record_of
from onereshape.graphs.record import Record
from onereshape.graphs.registry import operator_of
from onereshape.graphs.shapes import facts_of, telling
from onereshape.graphs.unneeded import live_nodes
from onereshape.ground.errors import FixError
from onereshape.ground.numpy_types import Array
from onereshape.rule.dims import symbols_of
from onereshape.rule.sizes import Formula, Size

_MOST_STEPS_BACK = 5_000
"""At all places of the batch that are tried together: models that can be freed take less than a hundred."""


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The decided graph: where each tensor carries N, and what must be rewritten."""

    marks: Mapping[ir.Value, Mark]
    edits: tuple[Edit, ...]
    symbol: str
    size: int
    """The batch of the original,"""
    dims: Mapping[ir.Value, tuple[Size, ...] | None]
    """and the dims of its outputs there."""
    sources: Mapping[str, tuple[str, int]]
    """Other names of dims of the inputs, and where they are."""
    facts: Facts
    """What is known of the original."""
    parts: Mapping[ir.Value, Parts] = field(default_factory=dict)
    """Of outputs that are sequences where each of their tensors carries N."""
    dead: frozenset[ir.Node] = frozenset()
    """Nodes that no output needs, and that N samples would break: they go."""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of all edits, as reported: a size without a name is called by its first place, `x[1]`."""
        words = self.facts.in_words
        return tuple(
            replace(each, message=words(each.message), before=words(each.before), after=words(each.after))
            for edit in self.edits
            for each in edit.changes
        )


def fresh_patience() -> Patience:
    """How much may be tried to free one batch."""
    return Patience(_MOST_STEPS_BACK)


def batch_plan(  # noqa: PLR0913 - what a plan depends on
    model: ir.Model,
    freed: Mapping[str, int],
    symbol: str,
    size: int,
    facts: Facts | None = None,
    *,
    patience: Patience | None = None,
    own_scales: bool = False,
) -> BatchPlan:
    """Decides how the batch of size `size`, on these axes of these inputs, goes through the graph; changes nothing.

    `facts` are those of the model as it is, where they are known already; `patience` is what plans for other axes left.
    `own_scales`: only to see where N goes if scales that are found in data are those of each sample.
    """
    opset = opset_of(model.graph)
    inputs = {value.name: value for value in model.graph.inputs}
    _check_names(model.graph, freed, symbol)
    if not size:
        why = "the original has 0 samples, which say nothing of what one gives"
        raise FixError("cannot-free", node=next(iter(freed)), op="input", why=why)
    declared = [(inputs[name].shape, axis) for name, axis in freed.items()]
    named = any(dims is not None and not isinstance(dims[axis], int) for dims, axis in declared)
    if facts is None or named:
        facts = facts_of(model, {name: {axis: size} for name, axis in freed.items()})
    state = BatchState(facts, symbol, size, opset, named)
    state.own_scales = own_scales
    state.sources = _sources(model.graph, freed, facts)
    state.asked = [*map(said, ({name: axis} for name, axis in freed.items()))]
    marks = {inputs[name]: Mark(axis) for name, axis in freed.items()}
    walk = _BatchWalk(state, patience or fresh_patience())
    with telling(facts):
        decided, live = _planned(model.graph, walk, marks)
    for value in model.graph.outputs:
        if (value in state.sized or value in state.counts) and (maker := value.producer()) is not None:
            why = f"the output {value.name} would give the size of the whole batch"
            raise FixError("cannot-free", node=BatchView(maker, state).label, op=maker.op_type, why=why)
    edits = [edit for _, answer in decided for edit in answer.edits]
    dims = {value: state.dims(value) for value in model.graph.outputs}
    dead = frozenset(walk.broken(node for node in model.graph if node not in live))
    return BatchPlan(dict(state.marks), tuple(edits), symbol, size, dims, state.sources, facts, dict(state.parts), dead)


def _planned(
    graph: ir.Graph, walk: _BatchWalk, marks: Mapping[ir.Value, Mark]
) -> tuple[list[tuple[ir.Node, BatchAnswer]], set[ir.Node]]:
    """What the walk decided, and the nodes that are needed; where it fails, with assignments by a mask made plain."""
    live = live_nodes(graph)
    try:
        return _decided([node for node in graph if node in live], walk, marks), live
    except FixError as refusal:
        puts = mask_puts(graph, walk.state.facts)
        if not puts:
            raise
        first = refusal
    walk.state.puts = puts
    live = live_nodes(graph, {node: (node.inputs[0], *put) for node, put in puts.items() if node.inputs[0] is not None})
    try:
        decided = _decided([node for node in graph if node in live], walk, marks)
    except FixError:
        raise first from None
    if (live & puts.keys()) - {node for node, _ in decided}:  # one of them is not reached, and would miss its inputs
        raise first
    return decided, live


def _sources(graph: ir.Graph, freed: Mapping[str, int], facts: Facts) -> dict[str, tuple[str, int]]:
    """The names that stand for dims of inputs, their own or ours, and where, but for the batch."""
    found: dict[str, tuple[str, int]] = {}
    for value in graph.inputs:
        for axis, size in enumerate(facts.dims_of(value) or ()):
            if isinstance(size, Formula) and size.name and freed.get(value.name or "") != axis:
                found.setdefault(size.name, (value.name or "", axis))
    return found


def _decided(
    nodes: Sequence[ir.Node], walk: _BatchWalk, marks: Mapping[ir.Value, Mark]
) -> list[tuple[ir.Node, BatchAnswer]]:
    """What the walk decided; where N met itself at different places, a second walk brings it to one.

    The same where a constant has other numbers for each of several samples, which may be those of the samples.  Where
    that fails too, a last walk takes Reshapes for Transposes of which one sample shows nothing.
    """
    state = walk.state
    state.restart(marks)
    try:
        return Search(nodes, walk).run()
    except FixError as refusal:
        said = refusal
    if state.apart or state.numbered:
        state.restart(marks)
        state.aligns, state.numbers = state.apart, state.numbered
        try:
            return Search(nodes, walk).run()
        except FixError as refusal:
            if state.numbers and refusal.code == "mixes-samples":  # which is so, however the numbers are understood
                said = refusal
    if state.turned:
        state.restart(marks)
        state.turns = True
        try:
            return Search(nodes, walk).run()
        except FixError:
            pass
    raise said


def _check_names(graph: ir.Graph, freed: Mapping[str, int], symbol: str) -> None:
    """Refuses where what is freed has the name of another dim: that one would be the size of the batch, and is not."""
    names: dict[tuple[str | None, int], set[str]] = {
        (value.name, axis): set(symbols_of(dim.value))
        for value in graph.inputs
        for axis, dim in enumerate(value.shape or ())
        if isinstance(dim, ir.SymbolicDim) and dim.value
    }
    ours = {symbol}.union(*(names.get(place, ()) for place in freed.items()))
    for (name, axis), theirs in names.items():
        if theirs & ours and freed.get(name or "") != axis:
            why = f"its axis {axis} is {min(theirs & ours)} as well, and is not among the axes of the batch"
            raise FixError("cannot-free", node=name, op="input", why=why)


class _BatchWalk:
    """The marks and the sizes, as they go through a graph."""

    def __init__(self, state: BatchState, patience: Patience, *, inside: bool = False) -> None:
        self.state = state
        self.patience = patience
        self.inside = inside
        """Whether the graph is inside a node."""
        state.follow = self.follow

    def follow(self, graph: ir.Graph, state: BatchState) -> tuple[Edit, ...]:
        """Decides a graph inside a node, with what is known there."""
        self.patience.inside -= len(graph)
        if self.patience.inside < 0:
            raise Refused("the graphs inside it would take too long to follow", final=True)
        search = Search(list(ordered(graph)), _BatchWalk(state, self.patience, inside=True))
        try:
            decided = search.run()
        except FixError as error:
            raise RefusedInside(error, final=search.first is not None and search.first[1].final) from None
        return tuple(edit for _, answer in decided for edit in answer.edits)

    def matters(self, value: ir.Value) -> bool:
        """Whether a value carries N, or holds sizes that depend on it."""
        return value in self.state.marks or value in self.state.sized

    def settle(self, node: ir.Node, answer: BatchAnswer) -> bool:
        """Notes the marks and the sizes of the outputs."""
        if answer.counts is not None:
            self.state.counts[node.outputs[answer.counting]] = answer.counts
        for value, mark in zip(node.outputs, answer.marks, strict=False):
            if mark is not None:
                self.state.marks[value] = mark
        if answer.parts is not None and any(answer.parts):
            self.state.parts[node.outputs[0]] = answer.parts
        self.state.marks.update(answer.inside)
        if not answer.edits:  # those take sizes for one sample alone
            self._follow_sizes(node, answer.sizes)
        return bool(answer.edits)

    def now(self) -> None:
        """The state to come back to beside what is noted of values: there is none."""

    def forget(self, node: ir.Node, _before: object) -> None:
        """Forgets the marks, the sizes and the counts of the outputs of a node."""
        for value in node.outputs:
            self.state.marks.pop(value, None)
            self.state.parts.pop(value, None)
            self.state.sized.pop(value, None)
            self.state.counts.pop(value, None)
        for graph in inner_graphs(node):
            for value in values_of(graph):
                self.state.marks.pop(value, None)

    def chooses(self, node: ir.Node, _answer: BatchAnswer) -> bool:
        """Whether the rule of the node has several answers."""
        return record_of(node).several

    def error(self, node: ir.Node, refused: Refused | None) -> FixError:
        """The refusal of a node; where runs may outweigh it, that of another one that mixes samples for sure."""
        found = self._refusal(node, refused)
        if not self.state.named or self.inside or found.code == "mixes-samples":
            return found
        return self._mixing(node) or found

    def _refusal(self, node: ir.Node, refused: Refused | None) -> FixError:
        """The refusal of a node, in the words of its operator."""
        if isinstance(refused, RefusedInside):
            return refused.error
        label = BatchView(node, self.state).label
        if isinstance(refused, NoRule):
            return _no_rule(node, label, refused)
        why = "no rule has an answer" if refused is None else refused.why
        code = "mixes-samples" if refused is not None and refused.mixes else "cannot-free"
        found = FixError(code, node=label, op=node.op_type, why=why)
        found.alone = refused is not None and refused.alone
        return found

    def _mixing(self, failed: ir.Node) -> FixError | None:
        """The first refusal of a node that mixes samples, and needs nothing from the failed node; None without one."""
        walk, lost = _BatchWalk(self.state.within({}), self.patience), set[ir.Value | None](failed.outputs)
        live = live_nodes(failed.graph) if isinstance(failed.graph, ir.Graph) else set[ir.Node]()
        for node in [each for each in failed.graph or () if each in live and each is not failed]:
            read = used(node)
            if lost.isdisjoint(read) and not any(value is not None and walk.matters(value) for value in read):
                continue
            try:
                answer = next(walk.answers(node), None) if lost.isdisjoint(read) else None
            except Refused as refused:
                found = walk._refusal(node, refused)
                if found.code == "mixes-samples":
                    return found
                answer = None
            if answer is None:
                lost.update(node.outputs)
            else:
                walk.settle(node, answer)
        return None

    def answers(self, node: ir.Node) -> Iterator[BatchAnswer]:
        """The answers of the rule; inputs that hold sizes are pinned where the rule does not expect them."""
        view, record = BatchView(node, self.state), record_of(node)
        state = self.state
        batched = bool(view.batched()) or (has_graphs(node) and any(map(self.matters, inside(node))))
        sizes = None if batched else self._sizes(node, record)
        if sizes is not None and not self._tells(node, sizes):
            yield BatchAnswer((), sizes=sizes)
            return
        rule = record.batch or (batch_composed if batched and state.facts.composed(node) else None)
        if rule is None and batched:
            marked = [value.name for value in used(node) if value in state.marks]
            raise NoRule(marked[0]) if marked else Refused("a graph inside it reads a size that depends on the batch")
        slots = record.slots
        if strange := [view.value(index).name for index in slots if view.mark(index) is not None]:
            raise Refused(f"the sizes in {strange[0]} would differ from sample to sample")
        sized = [index for index, value in enumerate(node.inputs) if value in state.sized] if state.sized else []
        pins = tuple(view.pin(index) for index in sized if index not in slots) if sized else ()
        if rule is None or not (batched or slots & set(sized)):
            yield BatchAnswer((), pins)
            return
        counts = counted(view) if state.counts else None
        for answer in rule(view):
            for mark in answer.marks:
                if mark is not None and 0 in mark[1:]:
                    raise Refused(f"it would carry {self.state.symbol} on an axis without entries")
            if any(edit.counts is not None for edit in answer.edits):
                counts = counted(view, answer.edits)
            if pins or (counts is not None and answer.counts is None):
                own = counts if answer.counts is None else answer.counts
                yield answer._replace(edits=(*pins, *answer.edits), counts=own)
            else:
                yield answer

    def broken(self, nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
        """Which nodes that no output needs must go: a rule refuses or would edit them, or what they read is gone."""
        gone: set[ir.Value | None] = set()
        for node in nodes:
            if not gone.isdisjoint(used(node)) or not self._stays(node):
                gone.update(node.outputs)
                yield node

    def _stays(self, node: ir.Node) -> bool:
        """Whether a node takes N samples as it is."""
        if not any(value is not None and self.matters(value) for value in used(node)):
            return True
        try:
            answer = next(self.answers(node), None)
        except Refused:
            return False
        if answer is None or answer.edits:
            return False
        self.settle(node, answer)
        return True

    def _tells(self, node: ir.Node, sizes: Iterable[Array]) -> bool:
        """Whether an output of the model would give the size of the whole batch, and can give that of one sample."""
        if self.state.named:
            return False
        outputs = zip(node.outputs, sizes, strict=False)
        return any(value.is_graph_output() and self._grows(each) for value, each in outputs)

    def _grows(self, sizes: Array) -> bool:
        return any(mentions(size, self.state.symbol) for size in sizes.flat)

    def _sizes(self, node: ir.Node, record: Record) -> list[Array] | None:
        """What a node computes from sizes, its outputs one by one, as far as all of it is known as a function of N.

        What is not known does not depend on N, or it would have been pinned.  Where nothing may be pinned, since the
        model says what several samples give, sizes go on beside it.
        """
        if record.elements is None:
            return None
        beside = self.state.named and record.beside
        found = []
        for sizes in self.state.live_outputs(node):
            if sizes is None or (not beside and any(each is None for each in sizes.flat)):
                return None
            found.append(sizes)
        return found

    def _follow_sizes(self, node: ir.Node, found: Sequence[Array] | None) -> None:
        """Notes which outputs hold sizes that depend on N; what they hold may have been found already."""
        for output in node.outputs:
            if output in self.state.marks:
                return
        if found is None:
            found = self._sizes(node, record_of(node)) or ()
        for output, sizes in zip(node.outputs, found, strict=False):
            if self._grows(sizes):
                self.state.sized[output] = sizes


def _no_rule(node: ir.Node, label: str, refused: NoRule) -> FixError:
    """The refusal of an operator without a rule; of a layer that is not drawn it is said why, in its own name."""
    if node.domain != DOMAIN:
        return FixError("no-batching-rule", node=label, op=operator_of(node), tensor=refused.tensor)
    if "why" not in node.attributes:
        return FixError("no-batching-rule", node=label, op=node.op_type, tensor=refused.tensor)
    why = f"{node.attributes['why'].as_string()}, and its input {refused.tensor} carries the batch"
    found = FixError("cannot-free", node=label, op=node.op_type, why=why)
    found.alone = True
    return found
