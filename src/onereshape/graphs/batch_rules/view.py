"""View: one node of a graph that is being batched, as its rule sees it, and the edits that a rule can ask for.

A rule changes nothing.  It answers with the marks of the outputs and with edits, which are made when the whole graph
has been decided.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.backtracking import counts_turns, has_graphs
from onereshape.graphs.batch_rules.marks import Mark, marked, mentions, times
from onereshape.graphs.batch_rules.masks import Put
from onereshape.graphs.batch_rules.numbering import added, numbered, rows_from
from onereshape.graphs.batch_rules.spreading import DimOfValue, computed, first, named_dims, spread
from onereshape.graphs.edit import Change, Edit, origin_of
from onereshape.graphs.facts.elements import evaluated
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.folding.folding import Folding
from onereshape.graphs.node_view import NodeView, Ranked, Refused
from onereshape.graphs.registry import record_of
from onereshape.graphs.rewrite import Entry, Rewriter
from onereshape.graphs.words import constant_words
from onereshape.ground.numpy_types import Array
from onereshape.rule.sizes import Formula, Size, symbol

Parts = tuple[Mark | None, ...]
_NO_WORD = -2
"""In place of a word that need not be kept."""


class BatchAnswer(NamedTuple):
    """The answer of a batch rule for one node: where each output carries N, and the edits that make it so."""

    marks: tuple[Mark | None, ...]
    edits: tuple[Edit, ...] = ()
    counts: Array | None = None
    """Of an output that counts the samples: what each sample adds to the one before,"""
    counting: int = 0
    """and which output that is."""
    sizes: Sequence[Array] | None = None
    """What the outputs of a node hold that computes nothing but sizes."""
    inside: Mapping[ir.Value, Mark] = MappingProxyType({})
    """The marks of the values in the graphs inside a node."""
    parts: Parts | None = None
    """Of an output that is a sequence where each of its tensors carries N."""


@dataclass(slots=True)
class BatchState:
    """All that is known of the values of a graph while the batch is followed through it, node by node."""

    facts: Facts
    symbol: str
    size: int
    """The size of the batch in the original."""
    opset: int
    named: bool = False
    """Whether the original leaves the size of the batch open, so that it says itself what several samples give."""
    folding: Folding = field(init=False)
    marks: dict[ir.Value, Mark] = field(default_factory=dict)
    parts: dict[ir.Value, Parts] = field(default_factory=dict)
    """The marks of the tensors in marked values that are sequences."""
    sized: dict[ir.Value, Array] = field(default_factory=dict)
    """Values that hold sizes which depend on N: what the repaired model computes there."""
    counts: dict[ir.Value, Array] = field(default_factory=dict)
    """Marked values that count the samples: what sample n has is what it would have alone, plus n times this."""
    batch: Formula = field(init=False)
    """N, the size of the batch in the repaired model."""
    follow: Callable[[ir.Graph, BatchState], tuple[Edit, ...]] | None = None
    """Decides a graph inside a node, with what is known there: the search itself, which stands above the rules."""
    aligns: bool = False
    """Whether inputs that carry N at different axes are brought to one axis,"""
    apart: bool = False
    """and whether a node had such inputs while that was not allowed."""
    numbers: bool = False
    """Whether a constant of several samples may count them,"""
    numbered: bool = False
    """and whether a node had such a constant while that was not allowed."""
    turns: bool = False
    """Whether a Reshape may be made a Transpose of several samples,"""
    turned: bool = False
    """and whether a Reshape could have been one while that was not allowed."""

    own_scales: bool = False
    """Whether scales that are found in data are taken for those of each sample, to see where N goes then."""

    def __post_init__(self) -> None:
        self.folding = Folding(self.dims, self.opset, fixed=self.facts.fixed)
        self.batch = symbol(self.symbol)

    puts: Mapping[ir.Node, Put] = field(default_factory=dict)
    """Assignments by a mask, which are made a Where."""
    sources: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """The dims of inputs that have a name: the input and the axis."""

    asked: Sequence[str] = ()
    """Where the batch is asked for, as the command takes it."""

    def declared(self, size: Size) -> bool:
        """Whether a size follows from the dims of inputs."""
        return isinstance(size, int) or size.symbols <= {self.symbol, *self.sources}

    def places(self, size: Size, node: ir.Node, what: str) -> dict[str, DimOfValue]:
        """For each symbol of a size a value that has it for a dim, before a node; a refusal where there is none."""
        if isinstance(size, int):
            return {}
        missing = size.symbols - {self.symbol}
        graph = node.graph
        found = {} if not isinstance(graph, ir.Graph) else named_dims(graph, node, missing, self.live_dims)
        if missing - found.keys():
            raise Refused(f"{what} would have to be computed, and nothing computes it yet")
        return found

    def within(self, marks: Mapping[ir.Value, Mark]) -> BatchState:
        """The state for a graph inside a node, whose inputs have these marks; findings there do not come back."""
        other = replace(self, marks={**self.marks, **marks}, sized=dict(self.sized), counts=dict(self.counts))
        other.parts = dict(self.parts)
        other.folding = self.folding
        return other

    def dims(self, value: ir.Value) -> tuple[Size, ...] | None:
        """The dims in the original."""
        return self.facts.dims_of(value)

    def restart(self, marks: Mapping[ir.Value, Mark]) -> None:
        """Forgets what was decided of all values, and begins with these marks."""
        for decided in (self.marks, self.parts, self.sized, self.counts):
            decided.clear()
        self.marks.update(marks)

    def live_dims(self, value: ir.Value) -> tuple[Size, ...] | None:
        """The dims in the repaired model."""
        dims, mark = self.dims(value), self.marks.get(value)
        return dims if mark is None or dims is None else marked(dims, mark, self.batch)

    def dtype(self, value: ir.Value) -> ir.DataType | None:
        """The element type, as far as it is known."""
        return value.dtype or self.facts.kinds.get(value)

    def integers(self, value: ir.Value) -> Array | None:
        """The integers that the original computes."""
        return self.facts.held(value)

    def live(self, value: ir.Value) -> Array | None:
        """The integers that the repaired model computes when N is free."""
        return self.sized[value] if value in self.sized else self.integers(value)

    def live_outputs(self, node: ir.Node) -> list[Array | None]:
        """The integers that the outputs of a node will be, from what its inputs will be.

        Those that are pinned stay as they were; of numbers that differ from sample to sample, nothing is known.
        """
        inputs = [None if each is None or each in self.marks else self.live(each) for each in node.inputs]
        return evaluated(node, inputs, self.live_dims, self.opset, self.dtype)


class BatchView(NodeView):
    """A node as the rule `batch` sees it: the marks, the dims and the integers of its inputs."""

    __slots__ = ("_marks", "state")

    def __init__(self, node: ir.Node, state: BatchState) -> None:
        self.node, self.state = node, state
        marks = state.marks
        self._marks = [None if value is None else marks.get(value) for value in node.inputs]

    def elsewhere(self, marks: Mapping[int, Mark]) -> BatchView:
        """A view of the node as if these inputs carried N at other axes."""
        found = BatchView(self.node, self.state)
        found._marks = [marks.get(index, mark) for index, mark in enumerate(self._marks)]
        return found

    @property
    def opset(self) -> int:
        """The version of the operators."""
        return self.state.opset

    @property
    def size(self) -> int:
        """How many samples the original has."""
        return self.state.size

    @property
    def batch(self) -> Formula:
        """N."""
        return self.state.batch

    def mark(self, index: int) -> Mark | None:
        """The mark of an input."""
        return self._marks[index] if index < len(self._marks) else None

    def parts(self, index: int = 0) -> Parts:
        """The marks of the tensors in an input that is a sequence: where each carries N, None for a shared tensor."""
        return self.state.parts.get(self.value(index)) or (None,) * len(self.parts_dims(index))

    def parts_dims(self, index: int = 0) -> Sequence[tuple[Size, ...] | None]:
        """The dims of the tensors in an input that is a sequence, in the original."""
        value = self.value(index)
        found = self.state.facts.parts.get(value)
        if found is None:
            raise Refused(f"how many tensors are in {value.name} is not known")
        return found

    def counts(self, index: int) -> Array | None:
        """How much more each sample has in an input than the sample before: `16 * arange(N) -> 16`; None: no more."""
        return self.state.counts.get(self.value(index)) if self.has(index) else None

    def batched(self) -> list[int]:
        """The inputs that carry the batch."""
        return [index for index, mark in enumerate(self._marks) if mark is not None]

    def rank(self, index: int) -> int:
        """The rank of an input."""
        return len(self._known(self.value(index)))

    def dims(self, index: int) -> tuple[Size, ...]:
        """The dims of an input in the original."""
        return Ranked(self._known(self.value(index)))

    def output_dims(self, index: int = 0) -> tuple[Size, ...]:
        """The dims of an output in the original."""
        return Ranked(self._known(self.node.outputs[index]))

    def integers(self, index: int) -> list[int] | None:
        """The integers of an input in the original, where they are known."""
        found = self.state.integers(self.value(index))
        flat = None if found is None else found.reshape(-1).tolist()
        return flat if flat is not None and all(isinstance(each, int) for each in flat) else None

    def live(self, index: int) -> list[Size | None] | None:
        """The integers of an input when N is free."""
        found = self.state.live(self.value(index))
        return None if found is None else found.reshape(-1).tolist()

    def sized(self, index: int) -> bool:
        """Whether an input holds sizes that depend on N."""
        inputs = self.node.inputs
        return index < len(inputs) and inputs[index] in self.state.sized

    # Edits

    def edit(  # noqa: PLR0913 - all that is told of it
        self,
        index: int | None,
        message: str,
        before: str,
        after: str,
        apply: Callable[[Rewriter], None],
        *,
        code: str = "baked-dim",
    ) -> Edit:
        """An edit of one input, or of the node itself."""
        value = self.node.outputs[0] if index is None else self.value(index)
        origin = f"attribute of {self.label}" if index is None else origin_of(value)
        change = Change(code, self.label, self.node.op_type, value.name or "", origin, message, before, after)
        return Edit((change,), apply, self.node, index)

    def replace_input(
        self, index: int, message: str, before: str, after: str, make: Callable[[Rewriter, ir.Value], ir.Value]
    ) -> Edit:
        """An edit that puts what is made of an input in its place.

        It is made of the input that the node has when the edit is applied, so several edits of one input follow one
        another: that of planning time may have been pinned since, or reshaped where it was made.
        """

        def apply(build: Rewriter) -> None:
            self.node.replace_input_with(index, make(build, self.value(index)))

        return self.edit(index, message, before, after, apply)

    def pin(self, index: int) -> Edit:
        """The sizes that one sample had, where the graph would now compute those of all."""
        value = self.value(index)
        self.not_told(value.name or "")
        array = self.state.folding.array(value)
        if array is None:
            raise Refused(f"its input {value.name} is computed from {self.state.symbol}, and its value is not known")
        message = f"{self.label} takes {value.name}, which grows with {self.state.symbol}, for one sample alone"
        return self.replace_input(
            index, message, "computed", str(array.tolist()), lambda build, _: build.constant(array)
        )

    def not_told(self, what: str) -> None:
        """Refuses to replace what grows with N by what one sample has, where the original says what several give."""
        if self.state.named and (has_graphs(self.node) or counts_turns(self.node)):
            # It may well do the same, whichever way it goes.
            why = f"what it does depends on how many samples there are: {what} grows with {self.state.symbol}"
            raise Refused(why)
        if self.state.named:
            why = f"it takes {what}, which grows with {self.state.symbol}: what each sample gives depends on how many"
            raise Refused(f"{why} there are", mixes=True)

    def spread(self, index: int, mark: Mark, *, counting: bool = False) -> Edit:
        """The edit that repeats a shared input for N samples: `(1, 8) -> (N, 8)`; `counting`: rows may count them."""
        value, dims = self.value(index), self.dims(index)
        symbol = self.state.symbol
        if self.opset < 6:
            raise Refused(f"its input {value.name} would have to be repeated, which needs opset 6")
        if mark.outer != 1 and not all(isinstance(dim, int) for dim in dims):
            raise Refused(f"its input {value.name} would have to be spread between sizes that are not known")
        if mark.outer != 1:
            self.not_empty(dims)
        here, one = dims[mark.axis], times(mark.outer, mark.inner)
        if here == one:
            make = lambda build, now: spread(build, now, dims, mark)  # noqa: E731
        elif (counts := self.rows(index, mark, counting=counting)) is not None:
            return self._counting(index, mark, counts)
        else:
            single = (*dims[: mark.axis], one, *dims[mark.axis + 1 :])
            rows = int(one) if isinstance(one, int) else 0
            make = lambda build, now: spread(build, first(build, now, mark.axis, rows), single, mark)  # noqa: E731
        message = (
            f"{value.name} has size {here} at axis {mark.axis}, for {self.size_words()}; {self.label} needs {symbol}"
        )
        after = f"spread over {symbol} at axis {mark.axis}"
        return self.replace_input(index, message, _shown(dims), after, make)

    def one_sample(self, index: int, mark: Mark) -> Edit:
        """The edit that cuts an input with equal rows for each sample of the original to the rows of one."""
        value, dims = self.value(index), self.dims(index)
        if (counts := self.rows(index, mark)) is not None:
            return self._counting(index, mark, counts)
        inner = mark.inner if isinstance(mark.inner, int) else 0
        message = f"{value.name} has size {dims[mark.axis]} at axis {mark.axis}, for {self.size_words()}"
        after = f"the first {inner} at axis {mark.axis}"
        return self.replace_input(
            index, message, _shown(dims), after, lambda build, now: first(build, now, mark.axis, inner)
        )

    def rows(self, index: int, mark: Mark, *, counting: bool = False) -> Array | None:
        """What each sample of the original adds to the rows of the one before; None: all have the same."""
        value, here = self.value(index), self.dims(index)[mark.axis]
        whole = times(mark.outer, self.size, mark.inner)
        if here != whole or mark.outer != 1 or not isinstance(mark.inner, int):
            raise Refused(f"its input {value.name} has size {here} where the batch of {whole} is{self._if_batch(here)}")
        array = self.state.folding.array(value)
        if array is None:
            why = f"its input {value.name} has {self.size} rows for the samples, and is not a constant"
            raise Refused(why + rows_from(value, self.size, self.state.facts.dims_of, self.state.folding.array))
        counts = added(array, mark, self.size)
        if counts is not None and not counts.any():
            return None
        allowed = counting or (self.state.numbers and index != record_of(self.node).indexes)
        if counts is None or not allowed:
            self.state.numbered |= counts is not None
            raise Refused(f"its input {value.name} is another constant for each of the {self.size} samples")
        return counts

    def _counting(self, index: int, mark: Mark, counts: Array) -> Edit:
        """An input that counts the samples of the original, as it is for N."""
        value, symbol = self.value(index), self.state.symbol
        array = self.state.folding.array(value)
        if array is None or self.opset < 7:
            raise Refused("the numbers of the samples are added to others, which needs opset 7")
        message = f"{value.name} counts {self.size_words()} along axis {mark.axis}; {self.label} needs {symbol}"
        after = f"counts {symbol} at axis {mark.axis}"
        make = lambda build, _: numbered(build, array, counts, mark)  # noqa: E731
        return self.replace_input(index, message, _shown(self.dims(index)), after, make)._replace(counts=counts)

    def _if_batch(self, size: Size) -> str:
        """What to do where a size has the name of another dim of an input, which may be the batch as well."""
        place = None if isinstance(size, int) or size.name is None else self.state.sources.get(size.name)
        if place is None:
            return ""
        asked = " ".join([*self.state.asked, "{}:{}".format(*place)])
        return f"; if {place[0]}[{place[1]}] is the batch too, it must be asked for as well (--batch {asked})"

    def size_words(self) -> str:
        """How many samples the original has, in words."""
        return "1 sample" if self.size == 1 else f"{self.size} samples"

    def original(self, index: int) -> list[Size | None] | None:
        """The integers of an input in the original, as far as they are known."""
        found = self.state.integers(self.value(index))
        return None if found is None else found.reshape(-1).tolist()

    def corrected(self, index: int, what: str, places: Mapping[int, Size]) -> tuple[Edit, ...]:
        """The edit that gives an input of sizes its original entries but for `places`; none where they are right."""
        before = self.original(index)
        if before is None:
            if self.sized(index) or places:
                raise Refused(f"its {what} is computed at run time from what is not known")
            return ()
        wanted = [places.get(place, size) for place, size in enumerate(before)]
        if self.live(index) == wanted:
            return ()
        if any(size is None for size in wanted):
            raise Refused(f"its {what} is computed at run time from what is not known")
        if self.sized(index):
            self.not_told(self.value(index).name or "")
        return (self._reworded(index, what, [size for size in wanted if size is not None]),)

    def _reworded(self, index: int, what: str, wanted: Sequence[Size]) -> Edit:
        node, symbol = self.node, self.state.symbol
        before, live = self.original(index) or [], self.live(index) or []
        home = next((place for place, size in enumerate(wanted) if place >= len(live) or live[place] != size), 0)
        if mentions(wanted[home], symbol):
            message = f"{symbol} is forced to {self.size} by {self.label}: {what}[{home}] = {before[home]}"
        else:
            message = f"{self.label} takes {what}[{home}] for the batch, where it is {before[home]} for each sample"
        entries = self.entries(index, wanted)
        kind = self.state.dtype(self.value(index))

        def make(build: Rewriter, now: ir.Value) -> ir.Value:
            return build.typed(build.vector(entries(build, node, now), node), kind, node)

        return self.replace_input(index, message, _shown(live), _shown(wanted), make)

    def entries(self, index: int, wanted: Sequence[Size]) -> Callable[[Rewriter, ir.Node, ir.Value], list[Entry]]:
        """How to make a vector of sizes; those that are neither numbers nor multiples of N come from the old one."""
        old = self.live(index) or []
        kept = {axis for axis, size in enumerate(wanted) if not self.ours(size) and old[axis : axis + 1] == [size]}
        places: dict[str, DimOfValue] = {}
        for axis, size in enumerate(wanted):
            if axis not in kept and not self.ours(size):
                places |= self.state.places(size, self.node, what=f"the size {size}")

        def make(build: Rewriter, node: ir.Node, value: ir.Value) -> list[Entry]:
            found: list[Entry] = []
            for axis, size in enumerate(wanted):
                if axis in kept:
                    taken = [value, build.integers([axis])]
                    found.append(build.insert(node, "Gather", taken, {"axis": 0}))
                else:
                    found.append(size if self.ours(size) else computed(build, node, size, places))
            return found

        return make

    def sayable(self, data: Sequence[Size], wanted: Sequence[Size]) -> list[Size]:
        """The target of a new Reshape: constants if they can say it, else N computed and one other size inferred."""
        words = constant_words(data, wanted, zero_copies=True)
        if words is not None:
            return list(words)
        self.not_empty(wanted)
        others = [axis for axis, size in enumerate(wanted) if not self.ours(size)]
        if len(others) > 1:  # an input may have them
            others = [axis for axis in others if not self.state.declared(wanted[axis])]
        if len(others) > 1:
            raise Refused(f"the sizes {wanted[others[0]]} and {wanted[others[1]]} would have to be computed")
        return [-1 if axis in others else size for axis, size in enumerate(wanted)]

    def not_empty(self, *shapes: Sequence[Size]) -> None:
        """Refuses sizes of 0, which a Reshape copies, and beside which it infers nothing."""
        if any(size == 0 for sizes in shapes for size in sizes):
            raise Refused("it has no elements, and a Reshape of those cannot be said")

    def ours(self, size: Size) -> bool:
        """Whether a size is a number or a multiple of N."""
        return isinstance(size, int) or (
            len(size.terms) == 1 and size.terms[0][0] == (self.state.symbol,) and isinstance(size.terms[0][1], int)
        )

    def constant_target(
        self, wanted: Sequence[Size], keep: Sequence[int] | None, *, zero_copies: bool
    ) -> list[int] | None:
        """The constant words for a Reshape of input 0 when N is free.

        A -1 stays where it is, but not in a model that took 0 samples: beside an N that is copied, it would not.
        """
        mark = self.mark(0)
        data = self.dims(0) if mark is None else marked(self.dims(0), mark, self.batch)
        if self.state.named and keep is not None and -1 in keep:
            said = [_NO_WORD if word == -1 else word for word in keep]
            words = constant_words(data, wanted, zero_copies=zero_copies, keep=said)
            if words is not None and -1 not in words:
                return words
        return constant_words(data, wanted, zero_copies=zero_copies, keep=keep)

    def _known(self, value: ir.Value) -> tuple[Size, ...]:
        dims = self.state.facts.sizes.get(value) or self.state.dims(value)
        if dims is None:
            raise Refused(self.state.facts.unknown(value))
        return dims


def _shown(sizes: Sequence[Size | None]) -> str:
    return "[" + ", ".join("?" if size is None else str(size) for size in sizes) + "]"
