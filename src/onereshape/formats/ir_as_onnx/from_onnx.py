"""How ONNX nodes are spelled as layers: those that a repair adds, and those of a layer whose drawing was changed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx import from_onnx_sequences, from_onnx_windows
from onereshape.formats.ir_as_onnx.dividing import rounds_down
from onereshape.formats.ir_as_onnx.pen import (
    Pen,
    Port,
    PortDims,
    Spelling,
    UnspelledError,
    attribute,
    integers,
    kind_of,
    places,
    rank_of,
    type_name,
)

# One layer for one node


def _alike(kind: str, opset: int, pen: Pen, node: ir.Node) -> None:
    pen.layer(kind, opset, places(pen, node), {}, node.outputs)


def _pair(kind: str, opset: int, pen: Pen, node: ir.Node) -> None:
    """Two that are broadcast; of one, or of more, ONNX makes a chain."""
    first, *others = places(pen, node)
    if len(others) != 1:
        raise UnspelledError(f"{node.op_type} of {len(others) + 1} inputs")
    pen.layer(kind, opset, [first, *others], {"auto_broadcast": "numpy"}, node.outputs)


def _divide(pen: Pen, node: ir.Node) -> None:
    """Cut towards 0, as ONNX does; where the plugin does not, the rest is taken away before."""
    first, second = places(pen, node)
    kind, words = kind_of(node.outputs[0]), {"auto_broadcast": "numpy"}
    if rounds_down(kind, *(value for value in node.inputs if value is not None)):
        inner = type_name(kind), pen.dims_of(node.outputs[0])
        rest = pen.layer("Mod", 1, [first, second], words, inner=inner)
        first = pen.layer("Subtract", 1, [first, rest], words, inner=inner)
    pen.layer("Divide", 1, [first, second], {**words, "m_pythondiv": "false"}, node.outputs)


def _mod(pen: Pen, node: ir.Node) -> None:
    kind = "Mod" if attribute(node, "fmod", 0) else "FloorMod"
    pen.layer(kind, 1, places(pen, node), {"auto_broadcast": "numpy"}, node.outputs)


def _cast(pen: Pen, node: ir.Node) -> None:
    kind = type_name(ir.DataType(attribute(node, "to")))
    pen.layer("Convert", 1, places(pen, node), {"destination_type": kind}, node.outputs)


def _where(pen: Pen, node: ir.Node) -> None:
    pen.layer("Select", 1, places(pen, node), {"auto_broadcast": "numpy"}, node.outputs)


def _reshape(pen: Pen, node: ir.Node) -> None:
    copies = "false" if attribute(node, "allowzero", 0) else "true"
    pen.layer("Reshape", 1, places(pen, node), {"special_zero": copies}, node.outputs)


def _transpose(pen: Pen, node: ir.Node) -> None:
    order = attribute(node, "perm")
    axes = [] if order is None else order
    pen.layer("Transpose", 1, [*places(pen, node), integers(pen, axes)], {}, node.outputs)


def _concat(pen: Pen, node: ir.Node) -> None:
    pen.layer("Concat", 1, places(pen, node), {"axis": str(attribute(node, "axis"))}, node.outputs)


def _gather(pen: Pen, node: ir.Node) -> None:
    axis = integers(pen, attribute(node, "axis", 0))
    pen.layer("Gather", 8, [*places(pen, node), axis], {"batch_dims": "0"}, node.outputs)


def _gather_nd(pen: Pen, node: ir.Node) -> None:
    pen.layer("GatherND", 8, places(pen, node), {"batch_dims": str(attribute(node, "batch_dims", 0))}, node.outputs)


def _gather_elements(pen: Pen, node: ir.Node) -> None:
    pen.layer("GatherElements", 6, places(pen, node), {"axis": str(attribute(node, "axis", 0))}, node.outputs)


_WAYS = {"none": "none", "add": "sum", "mul": "prod", "min": "min", "max": "max"}


def _scatter_nd(pen: Pen, node: ir.Node) -> None:
    way = _WAYS[attribute(node, "reduction", "none")]
    pen.layer("ScatterNDUpdate", 15, places(pen, node), {"reduction": way}, node.outputs)


def _slice(pen: Pen, node: ir.Node) -> None:
    """Starts, ends, steps and axes, in this order."""
    data, starts, ends, *rest = node.inputs
    if data is None or starts is None or ends is None:
        raise UnspelledError("Slice lacks an input")
    axes = rest[0] if rest else None
    steps = rest[1] if len(rest) > 1 else None
    count = starts.shape[0] if starts.shape is not None else None
    if not isinstance(count, int) and (axes is None or steps is None):
        raise UnspelledError("Slice of an unknown number of axes")
    given = [pen.place(value) for value in (data, starts, ends)]
    given.append(integers(pen, [1] * count) if steps is None else pen.place(steps))  # type: ignore[operator]
    given.append(integers(pen, range(count)) if axes is None else pen.place(axes))  # type: ignore[arg-type]
    pen.layer("Slice", 8, given, {}, node.outputs)


def _expand(pen: Pen, node: ir.Node) -> None:
    pen.layer("Broadcast", 3, places(pen, node), {"mode": "bidirectional"}, node.outputs)


def _range(pen: Pen, node: ir.Node) -> None:
    kind = type_name(node.inputs[0].dtype if node.inputs[0] is not None else None)
    pen.layer("Range", 4, places(pen, node), {"output_type": kind}, node.outputs)


def _nonzero(pen: Pen, node: ir.Node) -> None:
    pen.layer("NonZero", 3, places(pen, node), {"output_type": "i64"}, node.outputs)


def _reduce(pen: Pen, node: ir.Node) -> None:
    keep = "true" if attribute(node, "keepdims", 1) else "false"
    if len(node.inputs) < 2:
        raise UnspelledError(f"{node.op_type} over all axes")
    opset = 4 if node.op_type in {"ReduceL1", "ReduceL2"} else 1
    pen.layer(node.op_type, opset, places(pen, node), {"keep_dims": keep}, node.outputs)


def _split(pen: Pen, node: ir.Node) -> None:
    axis = integers(pen, attribute(node, "axis", 0))
    given = places(pen, node)
    if len(given) > 1:
        pen.layer("VariadicSplit", 1, [given[0], axis, given[1]], {}, node.outputs)
    else:
        pen.layer("Split", 1, [given[0], axis], {"num_splits": str(len(node.outputs))}, node.outputs)


def _softmax(kind: str, opset: int, pen: Pen, node: ir.Node) -> None:
    pen.layer(kind, opset, places(pen, node), {"axis": str(attribute(node, "axis", -1))}, node.outputs)


def _cum_sum(pen: Pen, node: ir.Node) -> None:
    flags = {name: str(bool(attribute(node, name, 0))).lower() for name in ("exclusive", "reverse")}
    pen.layer("CumSum", 3, places(pen, node), flags, node.outputs)


def _identity(pen: Pen, node: ir.Node) -> None:
    """A Reshape to its own dims: the layer Identity is newer than most IRs."""
    (data,), value = places(pen, node), node.inputs[0]
    if value is not None and value.shape is not None:
        dims = integers(pen, [0] * len(value.shape))
    else:
        dims = pen.layer("ShapeOf", 3, [data], {"output_type": "i64"}, inner=("i64", [None]))
    pen.layer("Reshape", 1, [data, dims], {"special_zero": "true"}, node.outputs)


def _casts_like(pen: Pen, node: ir.Node) -> None:
    pen.layer("ConvertLike", 1, places(pen, node), {}, node.outputs)


def _elu(pen: Pen, node: ir.Node) -> None:
    pen.layer("Elu", 1, places(pen, node), {"alpha": repr(float(attribute(node, "alpha", 1.0)))}, node.outputs)


def _round(pen: Pen, node: ir.Node) -> None:
    pen.layer("Round", 5, places(pen, node), {"mode": "half_to_even"}, node.outputs)


def _is_inf(pen: Pen, node: ir.Node) -> None:
    words = {name: str(bool(attribute(node, name, 1))).lower() for name in ("detect_negative", "detect_positive")}
    pen.layer("IsInf", 10, places(pen, node), words, node.outputs)


def _einsum(pen: Pen, node: ir.Node) -> None:
    pen.layer("Einsum", 7, places(pen, node), {"equation": attribute(node, "equation")}, node.outputs)


def _reverse(pen: Pen, node: ir.Node) -> None:
    words = {"batch_axis": str(attribute(node, "batch_axis", 1)), "seq_axis": str(attribute(node, "time_axis", 0))}
    pen.layer("ReverseSequence", 1, places(pen, node), words, node.outputs)


def _scatter_elements(pen: Pen, node: ir.Node) -> None:
    way = _WAYS[attribute(node, "reduction", "none")]
    axis = integers(pen, attribute(node, "axis", 0))
    words = {"reduction": way, "use_init_val": "true"}
    pen.layer("ScatterElementsUpdate", 12, [*places(pen, node), axis], words, node.outputs)


# Several layers for one node


def _shape(pen: Pen, node: ir.Node) -> None:
    """Shape as ShapeOf, and a Gather of the axes from `start` to `end` where not all are wanted."""
    data = node.inputs[0]
    start, end = attribute(node, "start", 0), attribute(node, "end")
    if start == 0 and end is None:
        pen.layer("ShapeOf", 3, places(pen, node), {"output_type": "i64"}, node.outputs)
        return
    rank = rank_of(data)
    axes = [*range(rank)[slice(start, end)]]
    whole = pen.layer("ShapeOf", 3, places(pen, node), {"output_type": "i64"}, inner=("i64", [rank]))
    picked = [whole, integers(pen, axes), integers(pen, 0)]
    pen.layer("Gather", 8, picked, {"batch_dims": "0"}, node.outputs)


def _filled(pen: Pen, node: ir.Node) -> None:
    """ConstantOfShape as a Broadcast of its number."""
    tensor = attribute(node, "value")
    number = np.zeros((), np.float32) if tensor is None else tensor.numpy().reshape(())
    pen.layer("Broadcast", 3, [pen.constant(number), *places(pen, node)], {"mode": "numpy"}, node.outputs)


def _gelu(pen: Pen, node: ir.Node) -> None:
    mode = "TANH" if attribute(node, "approximate", "none") == "tanh" else "ERF"
    pen.layer("Gelu", 7, places(pen, node), {"approximation_mode": mode}, node.outputs)


def _inner(node: ir.Node, index: int = 0, dims: PortDims = None) -> tuple[str, PortDims]:
    """What a layer on the way makes: of the type of an input, and of its dims where no others are said."""
    value = node.inputs[index]
    if value is None:
        raise UnspelledError(f"{node.op_type} without input {index}")
    known = None if value.shape is None else [dim if isinstance(dim, int) else None for dim in value.shape]
    return type_name(kind_of(value)), known if dims is None else dims


def _clip(pen: Pen, node: ir.Node) -> None:
    """Clip as layers: Maximum with the least value, then Minimum with the largest, each where it is given."""
    data, *limits = (None if value is None else pen.place(value) for value in node.inputs)
    given = [(kind, limit) for kind, limit in zip(("Maximum", "Minimum"), limits, strict=False) if limit is not None]
    if data is None or not given:
        raise UnspelledError("Clip without limits")
    words = {"auto_broadcast": "numpy"}
    for kind, limit in given[:-1]:
        data = pen.layer(kind, 1, [data, limit], words, inner=_inner(node))
    pen.layer(given[-1][0], 1, [data, given[-1][1]], words, node.outputs)


def _squares(pen: Pen, node: ir.Node) -> None:
    """The sum of squares."""
    if len(node.inputs) < 2:
        raise UnspelledError(f"{node.op_type} over all axes")
    data, axes = places(pen, node)
    squared = pen.layer("Multiply", 1, [data, data], {"auto_broadcast": "numpy"}, inner=_inner(node))
    keep = "true" if attribute(node, "keepdims", 1) else "false"
    pen.layer("ReduceSum", 1, [squared, axes], {"keep_dims": keep}, node.outputs)


def _size(pen: Pen, node: ir.Node) -> None:
    """The product of all dims."""
    shape = pen.layer("ShapeOf", 3, places(pen, node), {"output_type": "i64"}, inner=("i64", [None]))
    pen.layer("ReduceProd", 1, [shape, integers(pen, [0])], {"keep_dims": "false"}, node.outputs)


def _bare(pen: Pen, node: ir.Node, index: int, place: Port) -> Port:
    """A list of one as a number."""
    target = pen.constant(np.zeros(0, np.int64))
    return pen.layer("Reshape", 1, [place, target], {"special_zero": "false"}, inner=_inner(node, index, ()))


def _top(pen: Pen, node: ir.Node) -> None:
    data, count = places(pen, node)
    words = {
        "axis": str(attribute(node, "axis", -1)),
        "mode": "max" if attribute(node, "largest", 1) else "min",
        "sort": "value",
        "index_element_type": "i64",
        "stable": "true",
    }
    pen.layer("TopK", 11, [data, _bare(pen, node, 1, count)], words, node.outputs)


def _one_hot(pen: Pen, node: ir.Node) -> None:
    """The value that is on is the second of the list; places below 0 are counted from the end."""
    data, depth, values = places(pen, node)
    axis = integers(pen, 0)
    on, off = (
        pen.layer("Gather", 8, [values, integers(pen, which), axis], {"batch_dims": "0"}, inner=_inner(node, 2, ()))
        for which in (1, 0)
    )
    if node.inputs[1] is not None and (node.inputs[1].shape is None or len(node.inputs[1].shape) > 0):
        depth = _bare(pen, node, 1, depth)
    words = {"axis": str(attribute(node, "axis", -1)), "negative_indices_mode": "normalize"}
    pen.layer("OneHot", 16, [data, depth, on, off], words, node.outputs)


def _hard_sigmoid(pen: Pen, node: ir.Node) -> None:
    data = node.inputs[0]
    kind = None if data is None else kind_of(data)
    if kind is None:
        raise UnspelledError("HardSigmoid of an unknown type")
    alpha, beta = (
        pen.constant(np.array(attribute(node, *each), kind.numpy())) for each in (("alpha", 0.2), ("beta", 0.5))
    )
    pen.layer("HardSigmoid", 1, [*places(pen, node), alpha, beta], {}, node.outputs)


def _shift(pen: Pen, node: ir.Node) -> None:
    way = attribute(node, "direction").capitalize()
    pen.layer(f"Bitwise{way}Shift", 15, places(pen, node), {"auto_broadcast": "numpy"}, node.outputs)


def _matmul(pen: Pen, node: ir.Node) -> None:
    pen.layer("MatMul", 1, places(pen, node), {"transpose_a": "false", "transpose_b": "false"}, node.outputs)


_SAME = {
    "Abs": ("Abs", 1), "Ceil": ("Ceiling", 1), "Cos": ("Cos", 1), "Erf": ("Erf", 1), "Exp": ("Exp", 1),
    "Floor": ("Floor", 1), "Log": ("Log", 1), "Neg": ("Negative", 1), "Not": ("LogicalNot", 1), "Relu": ("ReLU", 1),
    "Sigmoid": ("Sigmoid", 1), "Sin": ("Sin", 1), "Sqrt": ("Sqrt", 1), "Tanh": ("Tanh", 1), "Tile": ("Tile", 1),
    "Squeeze": ("Squeeze", 1), "Unsqueeze": ("Unsqueeze", 1), "Acos": ("Acos", 1), "Acosh": ("Acosh", 4),
    "Asin": ("Asin", 1), "Asinh": ("Asinh", 4), "Atan": ("Atan", 1), "Atanh": ("Atanh", 4),
    "BitwiseNot": ("BitwiseNot", 13), "Cosh": ("Cosh", 1), "HardSwish": ("HSwish", 4), "IsNaN": ("IsNaN", 10),
    "Mish": ("Mish", 4), "PRelu": ("PReLU", 1), "Sign": ("Sign", 1), "Sinh": ("Sinh", 1), "Softplus": ("SoftPlus", 4),
    "Softsign": ("SoftSign", 9), "Tan": ("Tan", 1),
}  # fmt: skip
_PAIRS = {
    "Add": ("Add", 1), "And": ("LogicalAnd", 1), "Equal": ("Equal", 1), "Greater": ("Greater", 1),
    "GreaterOrEqual": ("GreaterEqual", 1), "Less": ("Less", 1), "LessOrEqual": ("LessEqual", 1), "Max": ("Maximum", 1),
    "Min": ("Minimum", 1), "Mul": ("Multiply", 1), "Or": ("LogicalOr", 1), "Pow": ("Power", 1), "Sub": ("Subtract", 1),
    "Xor": ("LogicalXor", 1), "BitwiseAnd": ("BitwiseAnd", 13), "BitwiseOr": ("BitwiseOr", 13),
    "BitwiseXor": ("BitwiseXor", 13),
}  # fmt: skip

SPELLINGS: Mapping[str, Spelling] = {
    **{op: partial(_alike, *known) for op, known in _SAME.items()},
    **{op: partial(_pair, *known) for op, known in _PAIRS.items()},
    **{f"Reduce{way}": _reduce for way in ("L1", "L2", "Max", "Mean", "Min", "Prod", "Sum")},
    "BitShift": _shift,
    "Cast": _cast,
    "CastLike": _casts_like,
    "Clip": _clip,
    "Concat": _concat,
    "ConstantOfShape": _filled,
    "CumSum": _cum_sum,
    "Div": _divide,
    "Einsum": _einsum,
    "Elu": _elu,
    "Expand": _expand,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Gelu": _gelu,
    "HardSigmoid": _hard_sigmoid,
    "Identity": _identity,
    "IsInf": _is_inf,
    "LogSoftmax": partial(_softmax, "LogSoftmax", 5),
    "MatMul": _matmul,
    "Mod": _mod,
    "NonZero": _nonzero,
    "OneHot": _one_hot,
    "Range": _range,
    "ReduceSumSquare": _squares,
    "Reshape": _reshape,
    "ReverseSequence": _reverse,
    "Round": _round,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "Shape": _shape,
    "Size": _size,
    "Slice": _slice,
    "Softmax": partial(_softmax, "SoftMax", 8),
    "Split": _split,
    "TopK": _top,
    "Transpose": _transpose,
    "Where": _where,
    **from_onnx_sequences.SPELLINGS,
    **from_onnx_windows.SPELLINGS,
}
