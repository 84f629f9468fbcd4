"""Small models, and the ways to damage them that exporters, editors and accidents have."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import onnx
from onnx import TensorProto, helper

from tests.models import model

_ONE = "(float[2, 3, 4] x) => (float[a, b, c] y)"
_IMAGE = "(float[2, 3, 4, 4] x) => (float[a, b, c, d] y)"
_BODIES: list[tuple[int, str]] = [
    (21, f"{_ONE} {{ t = Transpose<perm = [0, 2, 1]>(x) s = Constant<value_ints = [2, -1, 2]>() y = Reshape(t, s) }}"),
    (21, f"{_ONE} <int64[3] s = {{2, 1, 12}}> {{ r = Relu(x) y = Reshape(r, s) }}"),
    (21, f"{_ONE} {{ a, b = Split<axis = 1, num_outputs = 2>(x) c = Concat<axis = 1>(a, b) y = Softmax(c) }}"),
    (21, f"{_ONE} <int64[1] z = {{1}}> {{ u = Unsqueeze(x, z) v = Squeeze(u, z) y = ReduceMean<keepdims = 1>(v, z) }}"),
    (21, f"{_ONE} <int64[6] p = {{0, 0, 1, 0, 0, 1}}> {{ q = Pad(x, p) y = Add(q, q) }}"),
    (21, f"{_ONE} <int64[1] i = {{0}}, int64[1] e = {{2}}, int64[1] k = {{2}}> {{ y = Slice(x, i, e, k) }}"),
    (21, f"{_ONE} <int64[2] i = {{0, 1}}> {{ g = Gather<axis = 2>(x, i) y = Mul(g, g) }}"),
    (21, f"{_ONE} {{ n = Shape(x) y = Expand(x, n) }}"),
    (21, f"{_ONE} <int64[3] r = {{1, 2, 1}}> {{ t = Tile(x, r) y = Flatten<axis = 1>(t) }}"),
    (21, f"{_ONE} {{ c = Shape<start = 0, end = 1>(x) m = Constant<value_ints = [-1, 2]>()"
         "  s = Concat<axis = 0>(c, m) y = Reshape(x, s) }"),
    (21, f"{_IMAGE} <float[2, 3, 3, 3] w = {{1}}> {{ c = Conv<kernel_shape = [3, 3]>(x, w)"
         "  y = MaxPool<kernel_shape = [2, 2]>(c) }"),
    (21, f"{_IMAGE} {{ y = DepthToSpace<blocksize = 1>(x) }}"),
    (21, f"{_IMAGE} <float[3] k = {{1, 1, 1}}> {{ y = BatchNormalization(x, k, k, k, k) }}"),
    (21, f'{_ONE} <float[4, 5] w = {{1}}> {{ m = MatMul(x, w) y = Einsum<equation = "abc->acb">(m) }}'),
    (21, f"{_ONE} {{ v, i = TopK<axis = 1>(x, k) y = LayerNormalization<axis = -1>(v, o) }}"),
    (21, f"{_ONE} {{ b = Cast<to = 9>(x) y = Where(b, x, x) }}"),
    (21, "(float[2, 3] x, bool c) => (float[a, b] y) <int64[2] s = {3, 2}> { y = If(c) <"
         " then_branch = t () => (float[p, q] z) { z = Reshape(x, s) },"
         " else_branch = e () => (float[p2, q2] u) { k = Constant<value_ints = [6, 1]>() u = Reshape(x, k) }> }"),
    (12, f"{_ONE} {{ s = Squeeze<axes = [0]>(x) u = Unsqueeze<axes = [0]>(s) y = ReduceSum<axes = [1]>(u) }}"),
    (10, f"{_ONE} {{ p = Pad<pads = [0, 0, 0, 0, 0, 1]>(x) y = Softmax<axis = 1>(p) }}"),
    (9, f"{_ONE} {{ y = Slice<starts = [0], ends = [1], axes = [1]>(x) }}"),
    (5, f"{_ONE} {{ s = Constant<value = int64[2] {{2, 12}}>() y = Reshape(x, s) }}"),
    (1, f"{_ONE} {{ p = Pad<paddings = [0, 0, 0, 0, 0, 1]>(x) y = Reshape<shape = [2, -1]>(p) }}"),
]  # fmt: skip


def graphs() -> list[onnx.ModelProto]:
    """Small graphs of many operators, most of them sound."""
    found = []
    for opset, body in _BODIES:
        more = "" if "TopK" not in body else " <int64[1] k = {2}, float[4] o = {1, 1, 1, 1}>"
        text = body.replace("(float[a, b, c] y) {", f"(float[a, b, c] y){more} {{") if more else body
        found.append(model(f"g {text}", f'<ir_version: {3 if opset < 9 else 10}, opset_import: ["" : {opset}]>'))
    return found


def _node(proto: onnx.ModelProto, random: Random) -> onnx.NodeProto:
    found: onnx.NodeProto = random.choice(proto.graph.node)
    return found


def _no_input(proto: onnx.ModelProto, random: Random) -> None:
    node = _node(proto, random)
    if node.input:
        del node.input[random.randrange(len(node.input))]


def _blank_input(proto: onnx.ModelProto, random: Random) -> None:
    node = _node(proto, random)
    if node.input:
        node.input[random.randrange(len(node.input))] = ""


def _dangling(proto: onnx.ModelProto, random: Random) -> None:
    node = _node(proto, random)
    if node.input:
        node.input[random.randrange(len(node.input))] = "nowhere"


def _more_inputs(proto: onnx.ModelProto, random: Random) -> None:
    _node(proto, random).input.extend(["x"] * random.randint(1, 3))


def _outputs(proto: onnx.ModelProto, random: Random) -> None:
    node = _node(proto, random)
    if not node.output:
        return
    random.choice(
        [
            lambda: node.output.append(node.output[0]),
            lambda: node.output.append("more"),
            node.output.pop,
            lambda: node.output.__setitem__(0, ""),
            lambda: node.output.__setitem__(0, proto.graph.input[0].name),
            lambda: proto.graph.output.add().CopyFrom(proto.graph.output[0]),
            proto.graph.output.pop,
        ]
    )()


def _no_attribute(proto: onnx.ModelProto, random: Random) -> None:
    node = _node(proto, random)
    if node.attribute:
        del node.attribute[random.randrange(len(node.attribute))]


_INTEGERS = [-(2**63), -(2**31), -5, -2, -1, 0, 1, 2, 3, 7, 2**31, 2**63 - 1]


def _other_attribute(proto: onnx.ModelProto, random: Random) -> None:
    """Another value, an empty one, or one of another type."""
    node = _node(proto, random)
    names = [attribute.name for attribute in node.attribute] or ["axis", "perm", "axes", "allowzero", "keepdims"]
    name = random.choice(names)
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    value: Any = random.choice(
        [
            random.choice(_INTEGERS),
            [random.choice(_INTEGERS) for _ in range(random.randint(1, 4))],
            [0, 0, 0],
            [0, 0],
            1.5,
            "word",
            ["a", "b"],
            helper.make_tensor("t", TensorProto.FLOAT, [1], [0.5]),
        ]
    )
    made = helper.make_attribute(name, value)
    if random.random() < 0.2:
        made = onnx.AttributeProto(name=name, type=made.type)  # no value at all
    del node.attribute[:]
    node.attribute.extend([*kept, made])


def _constant(proto: onnx.ModelProto, random: Random) -> None:
    """Other integers, another rank, another type, or fewer bytes than dims."""
    if not proto.graph.initializer:
        return
    tensor = random.choice(proto.graph.initializer)
    count = random.randint(0, 4)
    kind = random.choice([TensorProto.INT64, TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT])
    values = [random.choice(_INTEGERS if kind == TensorProto.INT64 else [-5, -1, 0, 1, 2]) for _ in range(count)]
    dims = random.choice([[count], [count], [count, 1], [count + 1], []])
    name = tensor.name
    tensor.Clear()
    tensor.name, tensor.data_type = name, kind
    tensor.dims.extend(dims)
    field = {TensorProto.INT64: "int64_data", TensorProto.INT32: "int32_data", TensorProto.FLOAT: "float_data"}[kind]
    getattr(tensor, field).extend(values)


def _dims(proto: onnx.ModelProto, random: Random) -> None:
    """What exporters write for a dim that they do not know, and other sizes that no tensor has."""
    info = random.choice([*proto.graph.input, *proto.graph.output])
    dims = info.type.tensor_type.shape.dim
    kind = random.randrange(6)
    if kind == 0 or not dims:
        info.type.tensor_type.ClearField("shape")
    elif kind == 1:
        del dims[random.randrange(len(dims))]
    elif kind == 2:
        dims[random.randrange(len(dims))].Clear()
    elif kind == 3:
        dims[random.randrange(len(dims))].dim_param = random.choice(
            ["N", "", "-1", "_0", "2*N", "N + 1", "x y", "None"]
        )
    else:
        dims[random.randrange(len(dims))].dim_value = random.choice([-1, -1, 0, 1, -(2**63), 2**63 - 1, 2**40])


def _types(proto: onnx.ModelProto, random: Random) -> None:
    info = random.choice([*proto.graph.input, *proto.graph.output])
    kind = random.choice([0, 1, 7, 8, 9, 16, 99])
    if random.random() < 0.3:
        info.ClearField("type")
    else:
        info.type.tensor_type.elem_type = kind


def _opset(proto: onnx.ModelProto, random: Random) -> None:
    choice = random.choice([0, 1, 5, 9, 13, 18, 25, 28, 40, 10**6, -1, None, None])
    if choice is None or not proto.opset_import:
        del proto.opset_import[:]
    else:
        proto.opset_import[0].version = choice
    if random.random() < 0.2:
        proto.ir_version = random.choice([0, 1, 3, 4, 14, 99])


def _operator(proto: onnx.ModelProto, random: Random) -> None:
    node = _node(proto, random)
    kinds = ["Pad", "Transpose", "Reshape", "Split", "Squeeze", "Slice", "Concat", "Gather", "Conv", "Relu", "Shape"]
    kinds += ["MatMul", "Add", "ReduceSum", "Softmax", "Expand", "Resize", "LSTM", "Loop", "", "Nonsense", "Constant"]
    kinds += ["Tile", "Flatten", "Unsqueeze", "MaxPool", "TopK", "Einsum", "Where", "Cast", "Range", "Identity", "If"]
    node.op_type = random.choice(kinds)
    if random.random() < 0.2:
        node.domain = random.choice(["local", "com.microsoft", "ai.onnx"])


def _order(proto: onnx.ModelProto, random: Random) -> None:
    nodes = list(proto.graph.node)
    random.shuffle(nodes)
    if random.random() < 0.5:
        nodes.pop()
    if random.random() < 0.3 and nodes:
        nodes.append(nodes[0])
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)


DAMAGES: list[Callable[[onnx.ModelProto, Random], None]] = [
    _no_input, _blank_input, _dangling, _more_inputs, _outputs, _no_attribute, _other_attribute, _other_attribute,
    _constant, _constant, _dims, _dims, _types, _opset, _operator, _operator, _order,
]  # fmt: skip


def damaged(proto: onnx.ModelProto, seed: int) -> onnx.ModelProto:
    """A copy with one to three damages."""
    random = Random(seed)  # noqa: S311 - no secrets
    made = onnx.ModelProto()
    made.CopyFrom(proto)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        damage = random.choice(DAMAGES)
        if made.graph.node and made.graph.output:
            damage(made, random)
    return made
