"""The roles of a graph's inputs: indices inside a table, masks, sizes, or plain numbers.

The evidence is where an input's elements arrive, followed through the operators that only carry them along; names are
none.  Drawing the values is left to `draw`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import onnx_ir as ir

from onereshape.formats.onnx.onnx_lists import message
from onereshape.formats.onnx.onnx_native import DeclaredDims, inferred_dims
from onereshape.graphs.constants import constant_tensor
from onereshape.graphs.operators import Record, record_of
from onereshape.graphs.takes import INDEX, SIZES, Stretch, Take

_MOST: Final = 5000
"""The most values that are looked at for an input."""
_READ: Final = 1 << 16
"""Elements of the largest constant that is read to know its smallest and largest."""

Role = Literal["float", "positive", "index", "mask", "size", "scale", "bytes", "integer", "bool", "string", "choice"]
"""What an input is taken for."""


@dataclass(frozen=True, slots=True)
class SizeUse:
    """An operator that takes an input's elements as sizes, axes or counts."""

    take: Take
    dims: DeclaredDims | None = None
    """The dims of its data."""
    axis: int = 0
    """The axis attribute of the operator."""
    whole: bool = True
    """Whether the elements are all that the operator takes there, and not a part of its sizes."""


@dataclass(frozen=True, slots=True)
class InputRole:
    """What one input takes; `low` and `high` (exclusive) are the range of an index."""

    kind: Role
    low: int = 0
    high: int = 0
    uses: tuple[SizeUse, ...] = field(default=(), compare=False)
    """The uses of an input that serves as sizes."""
    options: tuple[Any, ...] = ()
    """The values of a choice."""


@dataclass(frozen=True, slots=True)
class _Holder:
    """A value of the graph that holds an input's elements, or results calculated from them."""

    value: ir.Value
    stretch: Stretch = Stretch()  # noqa: RUF009 - a tuple
    whole: bool = True
    """Whether the value holds all elements of the input, unchanged."""


def fed(model: ir.Model) -> tuple[ir.Value, ...]:
    """The inputs of a model that must be fed: all without a default, which an initializer is."""
    return tuple(value for value in model.graph.inputs if value.name not in model.graph.initializers)


def roles_of(model: ir.Model) -> dict[str, InputRole]:
    """What every input takes, as far as the graph tells."""
    graph = _Graph(model)
    return {value.name or "": _role(value, graph) for value in fed(model)}


def _role(value: ir.Value, graph: _Graph) -> InputRole:
    dtype = value.dtype
    if dtype == ir.DataType.BOOL:
        return InputRole("bool")
    if dtype is None or not (dtype.is_integer() or dtype == ir.DataType.STRING):
        return _float_suit(value, graph)
    return _discrete_suit(value, dtype, graph)


def _discrete_suit(value: ir.Value, dtype: ir.DataType, graph: _Graph) -> InputRole:
    """What integers or texts are taken for."""
    ranges, signs, uses, choices = _evidence(value, graph)
    if choices:
        return InputRole("choice", options=_common(choices))
    if dtype == ir.DataType.STRING:
        return InputRole("string")
    if ranges:
        return _index_suit(ranges)
    if uses:
        return InputRole("size", uses=tuple(uses))
    # What is only calculated with may be anything; as a row per sample it is most often the weights of a mean.
    if "truth" in signs or ("number" in signs and dtype.itemsize > 1 and value.shape and len(value.shape) == 2):
        return InputRole("mask")
    return InputRole("bytes" if dtype.itemsize == 1 else "integer")


def _index_suit(ranges: list[tuple[int, int]]) -> InputRole:
    """A suit of indices that all tables have, from their ranges [low, high): `[(0, 9), (-4, 4)] -> 0 to 3`."""
    low = max(0, *(low for low, _ in ranges))
    return InputRole("index", low, max(min(high for _, high in ranges), low + 1))


def _float_suit(value: ir.Value, graph: _Graph) -> InputRole:
    direct = [(use.node, use.idx, record_of(use.node).takes.get(use.idx)) for use in value.uses()]
    scaled = [graph.size_use(node, position, take, whole=True) for node, position, take in direct if take == "scales"]
    if scaled:
        return InputRole("scale", uses=tuple(scaled))
    choices = [found for node, _, take in direct if take == "category" and (found := _choices(node, value.dtype))]
    if choices:
        return InputRole("choice", options=_common(choices))
    ranges, *_ = _evidence(value, graph)
    if ranges:  # numbers that are cast to indices
        return _index_suit(ranges)
    return InputRole("positive" if any(take == "positive" for _, _, take in direct) else "float")


_LISTS: Final = (
    *("cats_int64s", "cats_strings", "classes_strings", "keys_int64s", "keys_strings", "keys_floats"),
    *("keys_tensor", "pool_int64s", "pool_strings"),
)
"""The attributes that list the categories which an operator knows."""


def _choices(node: ir.Node, dtype: ir.DataType | None) -> list[Any]:
    """The categories of a type that a node lists in an attribute; texts and numbers may both be listed, as pairs."""
    texts = dtype == ir.DataType.STRING
    for name in _LISTS:
        found: Any = _attribute(node, name)
        listed = [] if found is None else found.numpy().ravel().tolist() if name == "keys_tensor" else [*found]
        if listed and all(isinstance(each, (str, bytes)) == texts for each in listed):
            return [each.decode() if isinstance(each, bytes) else each for each in listed]
    return []


def _common(choices: list[list[Any]]) -> tuple[Any, ...]:
    """The categories common to all lists, or, if there are none, of any list: `[[1, 2], [2, 3]] -> (2,)`."""
    shared = tuple(each for each in choices[0] if all(each in other for other in choices))
    return shared or tuple(each for other in choices for each in other)


def _evidence(start: ir.Value, graph: _Graph) -> tuple[list[tuple[int, int]], set[str], list[SizeUse], list[list[Any]]]:
    """The ranges [low, high) that indices must stay in, what else the elements are used for, where as sizes, and what
    is known of them where they are looked up.
    """
    ranges: list[tuple[int, int]] = []
    signs: set[str] = set()
    uses: list[SizeUse] = []
    choices: list[list[Any]] = []
    seen = {start}
    queue = deque([_Holder(start)])
    while queue and len(seen) < _MOST:
        place = queue.popleft()
        after = [replace(place, value=value) for value in graph.through(place.value)]
        for use in place.value.uses():
            record = record_of(use.node)
            take = record.takes.get(use.idx)
            if take in INDEX:
                size = graph.table(use.node, take)
                ranges += [] if size is None else [place.stretch.within(size)]
            elif take in SIZES:
                uses.append(graph.size_use(use.node, use.idx, take, whole=place.whole))
            elif take == "category":
                choices += [found] if (found := _choices(use.node, start.dtype)) else []
            else:
                signs.add("truth" if _made_truth(use.node, use.idx, record) else take or "")
            after += _after(place, use.node, use.idx, record)
        queue += [each for each in after if each.value not in seen]
        seen |= {each.value for each in after}
    return ranges, signs, uses, choices


def _carried(position: int, record: Record) -> bool:
    """Whether an operator gives elements of an input unchanged."""
    return position in record.carries or (position == 0 and record.moves)


def _made_truth(node: ir.Node, position: int, record: Record) -> bool:
    """Whether elements are handed on as truth values."""
    if record.kinds is None or not _carried(position, record):
        return False
    return record.kinds(lambda _: None, lambda name: _attribute(node, name))[0] == ir.DataType.BOOL


def _after(place: _Holder, node: ir.Node, position: int, record: Record) -> Iterator[_Holder]:
    """Where the elements are after a node."""
    if _carried(position, record):
        for value in () if _made_truth(node, position, record) else node.outputs:
            yield replace(place, value=value, whole=place.whole and record.in_order)
    elif record.stretch is not None:
        other = node.inputs[1 - position]
        stretch = record.stretch(place.stretch, position, None if other is None else _bounds(other))
        if stretch is not None:
            yield _Holder(node.outputs[0], stretch, whole=False)


def _bounds(value: ir.Value) -> tuple[int, int] | None:
    """The smallest and the largest element of an integer constant."""
    tensor = constant_tensor(value)
    if tensor is None or not tensor.dtype.is_integer() or not 0 < tensor.size <= _READ:
        return None
    array = tensor.numpy()
    return int(array.min()), int(array.max())


class _Graph:
    """The model's edges that no operator's record has, and the sizes of its tables."""

    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._edges: defaultdict[ir.Value, list[ir.Value]] = defaultdict(list)
        self._origins: dict[ir.Value, ir.Value] = {}
        self._dims: dict[str, DeclaredDims] | None = None
        nodes = [*model.graph.all_nodes()]
        for function in model.functions.values():
            nodes += function.all_nodes()
        for node in nodes:
            self._enter(node)

    def through(self, value: ir.Value) -> list[ir.Value]:
        """Where a value goes on in a subgraph or a function, or after one."""
        return self._edges.get(value, [])

    def table(self, node: ir.Node, take: Take | None) -> int | None:
        """How many elements an index of this node may choose from; the smallest where it has several columns."""
        if take == "index below":
            depth = None if node.inputs[1] is None else _bounds(node.inputs[1])
            return None if depth is None else depth[1]
        dims = self._dims_of(node.inputs[0])
        if dims is None:
            return None
        if take == "index by columns":
            batch = _integer(node, "batch_dims")
            indices = self._dims_of(node.inputs[1])
            columns = indices[-1] if indices else None
            found = dims[batch : batch + columns] if isinstance(columns, int) else dims[batch:]
        else:
            found = dims[_integer(node, "axis") :][:1] if dims else ()
        known = [dim for dim in found if isinstance(dim, int) and dim]
        return min(known) if known else None

    def size_use(self, node: ir.Node, position: int, take: Take, *, whole: bool) -> SizeUse:
        """What a node takes sizes for."""
        dims = self._dims_of(node.inputs[0]) if position else None
        axis = -1 if take == "how many" and "axis" not in node.attributes else _integer(node, "axis")
        return SizeUse(take, dims, axis, whole)

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

    def _dims_of(self, value: ir.Value | None) -> DeclaredDims | None:
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


def _attribute(node: ir.Node, name: str) -> object:
    attribute = node.attributes.get(name)
    return None if attribute is None or attribute.is_ref() else attribute.value


def _inferred(model: ir.Model) -> dict[str, DeclaredDims]:
    """The shapes that onnx infers, from a copy without the large weights; nothing where it cannot."""
    try:
        content: bytes = message(_without_weights(model))[0].SerializeToString()
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
