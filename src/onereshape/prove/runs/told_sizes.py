"""Sizes of named dims that operators tell: by a scale of one entry, the channels of a kernel, the rows of a table.

What is told here is only tried: a run says whether it is so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import Final, NamedTuple

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import opset_of
from onereshape.graphs.facts.answers import broadcast
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.operators import record_of
from onereshape.graphs.shapes import facts_of
from onereshape.prove.evidence import Sizes
from onereshape.prove.values.draw import UNNAMED
from onereshape.prove.values.input_roles import fed
from onereshape.rule.sizes import Formula, Size, reach, symbol

_MOST: Final = 1 << 16
"""A size beyond which none is tried."""
_SCALES_CHANNELS: Final = 21
_ANY: Final = "any"
_FEW: Final = 4
"""The most likely sizes that are tried of each name."""

EqualSizes = tuple[Size | None, Size | None]
"""Two sizes, as numbers or formulas, that are equal wherever a model runs; None: not known."""


class ToldSizes(NamedTuple):
    """The sizes of named dims that operators tell."""

    sure: Sizes
    """The only sizes that operators take."""
    likely: tuple[Sizes, ...]
    """Sizes that operators take among many, the likeliest first."""


class _Node(NamedTuple):
    """A node, and what is known of its inputs."""

    node: ir.Node
    facts: Facts
    opset: int

    def dim(self, index: int, axis: int) -> Size | None:
        """The size of an input's dim; None where it is not known, or there is no such axis."""
        dims = self.dims(index)
        return dims[axis] if -len(dims) <= axis < len(dims) else None

    def dims(self, index: int) -> tuple[Size, ...]:
        """The dims of an input; () where not even their number is known."""
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        return () if value is None else self.facts.dims_of(value) or ()

    def held(self, index: int, name: str = "") -> list[Size | None]:
        """The entries of an input, or of the attribute that stood for it in older opsets."""
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        array = None if value is None else self.facts.held(value)
        listed = None if name not in self.node.attributes else self.node.attributes[name].value
        return list(listed) if isinstance(listed, list | tuple) else [] if array is None else array.reshape(-1).tolist()

    def integer(self, name: str, default: int = 0) -> int:
        """The integer of an attribute, or a default."""
        found = self.node.attributes.get(name)
        return default if found is None or found.is_ref() else found.as_int()


def told_sizes(model: ir.Model) -> ToldSizes:
    """The sizes of the named dims of a model's inputs, as far as its operators tell them."""
    facts = facts_of(model)
    names = _names(model, facts)
    sure: defaultdict[str, dict[int, None]] = defaultdict(dict)
    likely: defaultdict[str, dict[int, None]] = defaultdict(dict)
    opset = opset_of(model.graph)
    for node in model.graph.all_nodes() if names else ():
        here, runs = _Node(node, facts, opset), node.graph is model.graph  # what is in a branch runs only there
        for asked, pair in (*((runs, each) for each in _asked(here)), *((False, each) for each in _may_be(here))):
            for symbols, size, only in _solved(pair, names):
                told = sure if asked and only and len(symbols) == 1 else likely
                for name in symbols:
                    told[names[name]][size] = None
    known = {name: size for name, (size, *others) in sure.items() if not others}
    return ToldSizes(known, tuple(_ways({name: [*sizes] for name, sizes in likely.items() if name not in known})))


def _names(model: ir.Model, facts: Facts) -> dict[str, str]:
    """The names of the inputs' dims, by the symbols of sizes that the facts have for them."""
    found: dict[str, str] = {}
    for value in fed(model):
        for dim, size in zip(value.shape or (), facts.dims_of(value) or (), strict=False):
            if not isinstance(dim, int) and isinstance(size, Formula) and size.name is not None:
                found[size.name] = dim.value or UNNAMED
    return found


def _ways(likely: Mapping[str, Sequence[int]]) -> Iterator[Sizes]:
    """Sizes for all names, first the likeliest of each, then the next: `H: [4, 8], W: [6]` -> H, W = 4, 6 and 8, 6."""
    for turn in range(min(max(map(len, likely.values()), default=0), _FEW)):
        yield {name: sizes[min(turn, len(sizes) - 1)] for name, sizes in likely.items()}


def _solved(pair: EqualSizes, names: Mapping[str, str]) -> Iterator[tuple[Sequence[str], int, bool]]:
    """The names in a formula that equals a number, the size of these names that solves it, and whether no other does.

    Several names are taken to be of one size, as the sides of a picture are.
    """
    for one, other in (pair, pair[::-1]):
        if not isinstance(one, Formula) or not isinstance(other, int) or not one.symbols <= names.keys():
            continue
        try:
            alone = one.bind(dict.fromkeys(one.symbols, symbol(_ANY)))
            if isinstance(alone, Formula) and alone.at({_ANY: 1}) <= other:
                size = reach(alone, other, 1)
                if size <= _MOST and alone.at({_ANY: size}) == other:
                    yield sorted(one.symbols), size, size == 1 or alone.at({_ANY: size - 1}) != other
        except ArithmeticError:
            continue


def _asked(node: _Node) -> Iterator[EqualSizes]:
    """Sizes that must be equal for a node to run."""
    asks = _ASKS.get(node.node.op_type)
    if asks is not None:
        yield from asks(node)
    for condition in node.facts.conditions.get(node.node, ()):
        if condition.forces is not None:
            left, number = condition.forces
            if len(left.symbols) == 1 and number % left.coefficient == 0:
                yield symbol(left.symbols[0]), number // left.coefficient


def _may_be(node: _Node) -> Iterator[EqualSizes]:
    """Pairs of sizes that are equal in most models: those of dims that broadcast, where none is 1, or of an Equal."""
    if node.node.op_type == "Equal":
        yield from zip(node.held(0), node.held(1), strict=False)
    if record_of(node.node).shape is broadcast:
        rows = [node.dims(index)[::-1] for index in range(len(node.node.inputs))]
        pairs = ((one, other) for first, second in pairwise(rows) for one, other in zip(first, second, strict=False))
        yield from (pair for pair in pairs if 1 not in pair)


def _channels(data: int = 0, kernel: int = 1) -> Callable[[_Node], Iterator[EqualSizes]]:
    """A rule: the channels of data equal those of a kernel times the groups."""

    def asks(node: _Node) -> Iterator[EqualSizes]:
        own = node.dim(kernel, 1)
        yield node.dim(data, 1), None if own is None else own * node.integer("group", 1)

    return asks


def _same(*places: tuple[int, int]) -> Callable[[_Node], Iterator[EqualSizes]]:
    """Two dims: the index of an input, and an axis of it."""
    (one, axis), (other, its) = places
    return lambda node: iter([(node.dim(one, axis), node.dim(other, its))])


def _gemm(node: _Node) -> Iterator[EqualSizes]:
    yield node.dim(0, 0 if node.integer("transA") else 1), node.dim(1, 1 if node.integer("transB") else 0)


def _product(left: int = 0, right: int = 1) -> Callable[[_Node], Iterator[EqualSizes]]:
    """The columns of one matrix and the rows of another."""
    return lambda node: iter([(node.dim(left, -1), node.dim(right, -2 if len(node.dims(right)) > 1 else 0))])


def _scaled(node: _Node) -> Iterator[EqualSizes]:
    """Before opset 21 a scale had an entry for each group."""
    if node.opset >= _SCALES_CHANNELS:
        yield node.dim(0, 1), node.dim(1, 0)


def _parts(node: _Node) -> Iterator[EqualSizes]:
    parts = node.held(1, "split")
    known = [size for size in parts if size is not None]
    if known and len(known) == len(parts):
        yield node.dim(0, node.integer("axis")), sum(known)


def _removed(node: _Node) -> Iterator[EqualSizes]:
    yield from ((node.dim(0, axis), 1) for axis in node.held(1, "axes") if isinstance(axis, int))


def _beside(node: _Node) -> Iterator[EqualSizes]:
    """The equal sizes of a Concat's inputs, on all axes but the joined one: `[2, C], [3, 8]` along 0 -> (C, 8)."""
    rows = [node.dims(index) for index in range(len(node.node.inputs))]
    axis = node.integer("axis")
    for one, other in product(rows, rows[:_FEW]):
        if len(one) == len(other):
            yield from ((one[at], other[at]) for at in range(len(one)) if at != axis % len(one))


_ASKS: Final[dict[str, Callable[[_Node], Iterator[EqualSizes]]]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "DeformConv"), _channels()),
    "QLinearConv": _channels(0, 3),
    "ConvTranspose": _same((0, 1), (1, 0)),
    **dict.fromkeys(("BatchNormalization", "InstanceNormalization"), _same((0, 1), (1, 0))),
    "GroupNormalization": _scaled,
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _same((0, 2), (1, 2))),
    **dict.fromkeys(("MatMul", "MatMulInteger"), _product()),
    "QLinearMatMul": _product(0, 3),
    "Gemm": _gemm,
    "Split": _parts,
    "Squeeze": _removed,
    "Concat": _beside,
}
"""Where a node asks for equal sizes; that it asks is no rule of its shape, which holds where it runs."""
