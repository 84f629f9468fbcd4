"""What a graph asks of its inputs: indices inside a table, masks, sizes, or plain numbers.

The evidence is where an input's elements arrive, followed through the operators that only carry them along; names are
none.  Drawing the values is left to `draw`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import onnx_ir as ir

from onereshape.formats.onnx_native import Dims, inferred_dims
from onereshape.models.constants import constant_tensor

_MOST: Final = 5000
"""Values that are looked at for one input."""
_READ: Final = 1 << 16
"""Elements of the largest constant that is read to know its smallest and largest."""
_EVERY: Final = frozenset(range(64))
_FIRST: Final = frozenset({0})

_CARRIED: Final[dict[str, frozenset[int]]] = {
    **dict.fromkeys(
        "Cast CastLike Clip Dropout Expand Flatten Gather GatherElements GatherND Identity Pad ReduceMax ReduceMin "
        "Reshape ReverseSequence ScatterElements ScatterND Slice Split Squeeze Tile Transpose Trilu Unsqueeze".split(),
        _FIRST,
    ),
    "Concat": _EVERY,
    "Max": _EVERY,
    "Min": _EVERY,
    "Where": frozenset({1, 2}),
}
"""Operators whose output holds elements of these inputs, unchanged."""

_WHOLE: Final = frozenset("Cast CastLike Dropout Flatten Identity Reshape Squeeze Unsqueeze".split())
"""Those that keep all elements, in their order."""

_INDICES: Final = {"Gather": 1, "GatherElements": 1, "GatherND": 1, "ScatterElements": 1, "ScatterND": 1, "OneHot": 0}

_SIZES: Final[dict[str, frozenset[int]]] = {
    **dict.fromkeys(
        "CumSum Expand OneHot ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
        "ReduceSum ReduceSumSquare Reshape ReverseSequence Split Squeeze Tile TopK Trilu Unsqueeze".split(),
        frozenset({1}),
    ),
    **dict.fromkeys("GRU LSTM RNN".split(), frozenset({4})),
    "ConstantOfShape": _FIRST,
    "Loop": _FIRST,
    "Pad": frozenset({1, 3}),
    "Range": frozenset({0, 1, 2}),
    "Resize": frozenset({3}),
    "Slice": frozenset({1, 2, 3, 4}),
}
"""Operators that take these inputs as sizes, axes or counts."""

_SCALES: Final = {"Resize": 2, "Upsample": 1}
"""Operators that multiply sizes by these inputs."""

_TRUTH: Final[dict[str, frozenset[int]]] = {
    **dict.fromkeys("And Equal Greater GreaterOrEqual Less LessOrEqual Not Or Xor".split(), frozenset({0, 1})),
    "CumSum": _FIRST,
    "If": _FIRST,
    "Where": _FIRST,
}
"""Operators that ask these inputs for yes or no, or count what is there."""

_ARITHMETIC: Final = frozenset({"Add", "Sub", "Mul", "Div", "MatMul"})
_POSITIVE: Final = frozenset({"Log", "Sqrt"})
_DOMAINS: Final = frozenset({"", "ai.onnx"})

Kind = Literal["float", "positive", "index", "mask", "size", "scale", "bytes", "integer", "bool", "string"]
"""The dims of a value: numbers, names, and None for what is not known."""


@dataclass(frozen=True, slots=True)
class SizeUse:
    """An operator that takes an input's elements as sizes, axes or counts."""

    op: str
    position: int
    """Which input of the operator they are."""
    dims: Dims | None = None
    """The dims of its data."""
    axis: int = 0
    """Its attribute."""
    whole: bool = True
    """Whether they are all that it takes there, and not a part."""


@dataclass(frozen=True, slots=True)
class Suit:
    """What one input takes; `low` and `high` (exclusive) are the range of an index."""

    kind: Kind
    low: int = 0
    high: int = 0
    uses: tuple[SizeUse, ...] = field(default=(), compare=False)
    """What sizes are taken for."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A value that holds `factor` times an input's elements plus something between `least` and `most`."""

    value: ir.Value
    factor: int = 1
    least: int = 0
    most: int = 0
    share: int = 1
    """Into how many equal parts the range goes, because as many such values are added."""
    whole: bool = True
    """Whether it holds all elements, as they were given."""


def fed(model: ir.Model) -> tuple[ir.Value, ...]:
    """The inputs that must be given: those without a default."""
    return tuple(value for value in model.graph.inputs if value.name not in model.graph.initializers)


def suits_of(model: ir.Model) -> dict[str, Suit]:
    """What every input takes, as far as the graph tells."""
    graph = _Graph(model)
    return {value.name or "": _suit(value, graph) for value in fed(model)}


def _suit(value: ir.Value, graph: _Graph) -> Suit:
    dtype = value.dtype
    if dtype in {ir.DataType.STRING, ir.DataType.BOOL}:
        return Suit("string" if dtype == ir.DataType.STRING else "bool")
    if dtype is None or not dtype.is_integer():
        return _float_suit(value, graph)
    ranges, signs, uses = _evidence(value, graph)
    if ranges:
        low = max(0, *(low for low, _ in ranges))
        return Suit("index", low, max(min(high for _, high in ranges), low + 1))
    if uses:
        return Suit("size", uses=tuple(uses))
    # What is only calculated with may be anything; as a row per sample it is most often the weights of a mean.
    if "mask" in signs or ("arithmetic" in signs and dtype.itemsize > 1 and value.shape and len(value.shape) == 2):
        return Suit("mask")
    return Suit("bytes" if dtype.itemsize == 1 else "integer")


def _float_suit(value: ir.Value, graph: _Graph) -> Suit:
    direct = [use for use in value.uses() if use.node.domain in _DOMAINS]
    scaled = [use for use in direct if _SCALES.get(use.node.op_type) == use.idx]
    if scaled:
        return Suit("scale", uses=tuple(graph.size_use(use.node, use.idx, whole=True) for use in scaled))
    return Suit("positive" if any(use.node.op_type in _POSITIVE for use in direct) else "float")


def _evidence(start: ir.Value, graph: _Graph) -> tuple[list[tuple[int, int]], set[str], list[SizeUse]]:
    """The ranges [low, high) that indices must stay in, what else the elements are used for, and where as sizes."""
    ranges: list[tuple[int, int]] = []
    signs: set[str] = set()
    uses: list[SizeUse] = []
    seen = {start}
    queue = deque([_Place(start)])
    while queue and len(seen) < _MOST:
        place = queue.popleft()
        after = [replace(place, value=value) for value in graph.through(place.value)]
        for use in place.value.uses():
            op = use.node.op_type if use.node.domain in _DOMAINS else ""
            if _INDICES.get(op) == use.idx:
                size = graph.table(use.node)
                ranges += [] if size is None else [_range(place, size)]
            elif use.idx in _SIZES.get(op, ()):
                uses.append(graph.size_use(use.node, use.idx, whole=place.whole))
            else:
                signs.add(_sign(use.node, use.idx, op))
            after += _after(place, use.node, use.idx, op)
        queue += [each for each in after if each.value not in seen]
        seen |= {each.value for each in after}
    return ranges, signs, uses


def _sign(node: ir.Node, position: int, op: str) -> str:
    """What a node takes an input for."""
    if position in _TRUTH.get(op, ()) or (op == "Cast" and _cast_to(node) == ir.DataType.BOOL):
        return "mask"
    return "arithmetic" if op in _ARITHMETIC else ""


def _after(place: _Place, node: ir.Node, position: int, op: str) -> Iterator[_Place]:
    """Where the elements are after a node."""
    if position in _CARRIED.get(op, ()) and not (op == "Cast" and _cast_to(node) == ir.DataType.BOOL):
        for value in node.outputs:
            yield replace(place, value=value, whole=place.whole and op in _WHOLE)
    elif op in {"Add", "Sub", "Mul"}:
        shifted = _shifted(place, node, position, op)
        if shifted is not None:
            yield replace(shifted, whole=False)


def _shifted(place: _Place, node: ir.Node, position: int, op: str) -> _Place | None:
    """After arithmetic with a constant, or with something that is not known."""
    output, other = node.outputs[0], node.inputs[1 - position]
    bounds = None if other is None else _bounds(other)
    if bounds is None:  # the other summand may be as large as this one; a difference stays inside (-size, size)
        wide = {"Add": place.share * 2, "Sub": place.share}.get(op)
        return None if wide is None else replace(place, value=output, share=wide)
    low, high = bounds
    if op == "Add":
        return replace(place, value=output, least=place.least + low, most=place.most + high)
    if op == "Sub" and position == 0:
        return replace(place, value=output, least=place.least - high, most=place.most - low)
    if op == "Mul" and low > 0:
        return _Place(output, place.factor * high, place.least * low, place.most * high, place.share)
    return None


def _range(place: _Place, size: int) -> tuple[int, int]:
    """The elements for which an index stays inside a table."""
    low = -(place.least // place.factor)
    high = (size - 1 - place.most) // place.factor // place.share + 1
    return low, high


def _bounds(value: ir.Value) -> tuple[int, int] | None:
    """The smallest and the largest element of an integer constant."""
    tensor = constant_tensor(value)
    if tensor is None or not tensor.dtype.is_integer() or not 0 < tensor.size <= _READ:
        return None
    array = tensor.numpy()
    return int(array.min()), int(array.max())


def _cast_to(node: ir.Node) -> ir.DataType | None:
    attribute = node.attributes.get("to")
    return None if attribute is None or attribute.is_ref() else ir.DataType(attribute.as_int())


class _Graph:
    """The model's edges that no operator's table has, and the sizes of its tables."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._edges: defaultdict[ir.Value, list[ir.Value]] = defaultdict(list)
        self._origins: dict[ir.Value, ir.Value] = {}
        self._dims: dict[str, Dims] | None = None
        nodes = [*model.graph.all_nodes()]
        for function in model.functions.values():
            nodes += function.all_nodes()
        for node in nodes:
            self._enter(node)

    def through(self, value: ir.Value) -> list[ir.Value]:
        """Where a value goes on in a subgraph or a function, or after one."""
        return self._edges.get(value, [])

    def table(self, node: ir.Node) -> int | None:
        """How many elements an index of this node may choose from; the smallest where it has several columns."""
        if node.op_type == "OneHot":
            depth = None if node.inputs[1] is None else _bounds(node.inputs[1])
            return None if depth is None else depth[1]
        dims = self._dims_of(node.inputs[0])
        if dims is None:
            return None
        if node.op_type in {"GatherND", "ScatterND"}:
            batch = _integer(node, "batch_dims")
            indices = self._dims_of(node.inputs[1])
            columns = indices[-1] if indices else None
            found = dims[batch : batch + columns] if isinstance(columns, int) else dims[batch:]
        else:
            found = dims[_integer(node, "axis") :][:1] if dims else ()
        known = [dim for dim in found if isinstance(dim, int) and dim]
        return min(known) if known else None

    def size_use(self, node: ir.Node, position: int, *, whole: bool) -> SizeUse:
        """What a node takes sizes for."""
        dims = self._dims_of(node.inputs[0]) if position else None
        axis = -1 if node.op_type == "TopK" and "axis" not in node.attributes else _integer(node, "axis")
        return SizeUse(node.op_type, position, dims, axis, whole)

    def _enter(self, node: ir.Node) -> None:
        function = self._model.functions.get(node.op_identifier())
        if function is not None:
            self._join(node.inputs, function.inputs)
            self._join(function.outputs, node.outputs)
        bodies = [a.as_graph() for a in node.attributes.values() if a.type == ir.AttributeType.GRAPH and not a.is_ref()]
        for body in bodies:
            if node.op_type != "If":
                self._join(node.inputs, body.inputs)
            self._join(body.outputs[1:] if node.op_type == "Loop" else body.outputs, node.outputs)

    def _join(self, before: Any, after: Any) -> None:
        for here, there in zip(before, after, strict=False):
            if here is not None:
                self._edges[here].append(there)
                self._origins.setdefault(there, here)

    def _dims_of(self, value: ir.Value | None) -> Dims | None:
        if value is None:
            return None
        shape = value.shape if value.const_value is None else value.const_value.shape
        if shape is None and value in self._origins:
            return self._dims_of(self._origins[value])
        if shape is None:
            self._dims = _inferred(self._model) if self._dims is None else self._dims
            return self._dims.get(value.name or "")
        return tuple(dim if isinstance(dim, int) else dim.value for dim in shape)


def _integer(node: ir.Node, name: str) -> int:
    attribute = node.attributes.get(name)
    return 0 if attribute is None or attribute.is_ref() else attribute.as_int()


def _inferred(model: ir.Model) -> dict[str, Dims]:
    """The shapes that onnx infers, from a copy without the large weights; nothing where it cannot."""
    try:
        content: bytes = ir.to_proto(_without_weights(model)).SerializeToString()
    except Exception:  # noqa: BLE001 - of a graph that is none
        return {}
    return inferred_dims(content)


def _without_weights(model: ir.Model) -> ir.Model:
    copy = model.clone()
    for name, value in [*copy.graph.initializers.items()]:
        tensor = value.const_value
        if tensor is not None and tensor.size > _READ:
            copy.graph.initializers.pop(name)
            value.const_value = None
            copy.graph.inputs.append(value)
    return copy
