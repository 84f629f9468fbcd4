"""Sound ONNX models to begin with, and what is done to their graphs beyond single fields."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any

import onnx
from onnx import TensorProto, helper

from tests.formats.damaging import DAMAGES, graphs
from tests.fuzz import odd
from tests.fuzz.messages import scrambled
from tests.hostile.generator import case as hostile_case
from tests.models import model, rich, small

_HOSTILE = 300
"""Hostile graphs to choose from."""
_LARGEST = 8 << 10
"""Bytes of a shipped model that is taken."""
_DATA = Path(__file__).parent.parent / "data"
_FUNCTION = '<domain: "local", opset_import: ["" : 21, "local" : 1]>'
_MORE = [
    f"g (float[N, 6] x) => (float[a, b] y) {{ u = local.f(x) y = local.f(u) }}"
    f" {_FUNCTION} f (v) => (w) {{ s = Constant<value_ints = [-1, 3]>() w = Reshape(v, s) }}",
    f"g (float[2, 6] x) => (float[a, b] y) {{ y = local.f<k = 1>(x) }} {_FUNCTION} f <k>(v) => (w)"
    f" {{ s = Constant<value_ints = [3, 4]>() r = local.h(v) w = Reshape<allowzero: int = @k>(r, s) }}"
    f" {_FUNCTION} h (a) => (b) {{ b = Relu(a) }}",
    "g (float[2, 3] x, int64 n, bool c) => (float[a, b] y) { y = Loop(n, c, x) <body = l"
    " (int64 i, bool d, float[p, q] v) => (bool e, float[r, t] w) { e = Identity(d)"
    " s = Constant<value_ints = [2, 3]>() w = Reshape(v, s) }> }",
    "g (float[4, 2, 3] x) => (float[2, 3] y, float[4, 6] z) { k = Constant<value = float[2, 3] {0, 0, 0, 0, 0, 0}>()"
    " y, z = Scan<num_scan_inputs = 1, body = b (float[2, 3] i, float[2, 3] v) => (float[2, 3] o, float[6] f)"
    " { o = Add(i, v) s = Constant<value_ints = [-1]>() f = Reshape(o, s) }>(k, x) }",
    "g (seq(float[2, 3]) q, int64 i) => (float[a] y) { x = SequenceAt(q, i) s = Constant<value_ints = [-1]>()"
    " y = Reshape(x, s) }",
    "g (optional(float[2, 3]) q) => (float[a] y) { x = OptionalGetElement(q) s = Constant<value_ints = [-1]>()"
    " y = Reshape(x, s) }",
    "g (float[2, 3, 4] x, float[N, 3, 4] z) => (y) <int64[1] o = {0}> { n = Shape(z) c = Gather(n, o)"
    " m = Constant<value_ints = [-1]>() s = Concat<axis = 0>(c, m) y = Reshape<allowzero = 1>(x, s) }",
    "g (float[1, 4, 6] x) => (float[1, 4, 6] y) { h = Constant<value_ints = [1, 4, 2, 3]>() a = Reshape(x, h)"
    " t = Transpose<perm = [0, 2, 1, 3]>(a) u = Transpose<perm = [0, 1, 3, 2]>(t) m = MatMul(t, u) p = Softmax(m)"
    " o = MatMul(p, t) b = Transpose<perm = [0, 2, 1, 3]>(o) f = Constant<value_ints = [1, 4, 6]>()"
    " y = Reshape(b, f) }",
]  # fmt: skip


@lru_cache
def _written() -> list[bytes]:
    protos = [*graphs(), *map(model, _MORE), small(), rich()]
    shipped = [path for path in sorted(_DATA.rglob("*.onnx")) if path.stat().st_size <= _LARGEST]
    return [*(proto.SerializeToString() for proto in protos), *(path.read_bytes() for path in shipped)]


@lru_cache(maxsize=_HOSTILE)
def _hostile(seed: int) -> bytes:
    return bytes(hostile_case(seed).proto.SerializeToString())


def sound(random: Random) -> onnx.ModelProto:
    """A model to damage."""
    written = _written()
    made = onnx.ModelProto()
    made.ParseFromString(random.choice(written) if random.random() < 0.6 else _hostile(random.randrange(_HOSTILE)))
    return made


def damaged(proto: onnx.ModelProto, random: Random) -> None:
    """One to three damages to a model, by fields and by what graphs are made of."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        if random.random() < 0.5 or not (proto.graph.node and proto.graph.output and proto.graph.input):
            scrambled(proto, random)
        else:
            random.choice([*DAMAGES, *_MORE_DAMAGES, *_MORE_DAMAGES])(proto, random)


def _tensors(proto: onnx.ModelProto) -> list[Any]:
    inside = [each.t for node in proto.graph.node for each in node.attribute if each.HasField("t")]
    return [*proto.graph.initializer, *inside]


def _element_type(proto: onnx.ModelProto, random: Random) -> None:
    """Another element type everywhere, with as many bytes as its elements have, or not."""
    new = random.choice([*range(28), 99, -1])
    infos = [*proto.graph.input, *proto.graph.output, *proto.graph.value_info]
    tensors = _tensors(proto)
    old = random.choice([info.type.tensor_type.elem_type for info in infos] + [tensor.data_type for tensor in tensors])
    for info in infos:
        if info.type.tensor_type.elem_type == old:
            info.type.tensor_type.elem_type = new
    for tensor in tensors:
        if tensor.data_type == old:
            _filled(tensor, new, list(tensor.dims), random)


def _filled(tensor: Any, kind: int, dims: list[int], random: Random) -> None:
    """A tensor of bytes that fit it, most of the time."""
    name, count = tensor.name, 1
    for dim in dims:
        count *= dim
    tensor.Clear()
    tensor.name, tensor.data_type = name, kind
    tensor.dims.extend(dims)
    if kind == TensorProto.STRING:
        tensor.string_data.extend([b"a"] * min(max(count, 0), 100))
        return
    item = random.choice([1, 2, 4, 8, 8, 8, 16])
    with suppress(KeyError, ValueError):
        item = helper.tensor_dtype_to_np_dtype(kind).itemsize
    tensor.raw_data = bytes(random.choice([0, 0, 1, 255]) for _ in range(min(max(count, 0) * item, 4096)))


def _dims_of_a_tensor(proto: onnx.ModelProto, random: Random) -> None:
    tensors = _tensors(proto)
    if tensors:
        tensor = random.choice(tensors)
        dims = [odd.integer(random) for _ in range(random.randint(0, 3))]
        if random.random() < 0.5:
            tensor.dims[:] = dims
        else:
            _filled(tensor, tensor.data_type, [dim if 0 <= dim < 9 else 3 for dim in dims], random)


def _external(proto: onnx.ModelProto, random: Random) -> None:
    """Data in another file: beside it, outside, of another length, or of no name."""
    tensors = _tensors(proto)
    if not tensors:
        return
    tensor = random.choice(tensors)
    content = tensor.raw_data or bytes(8 * max(1, len(tensor.int64_data)))
    tensor.ClearField("raw_data")
    tensor.ClearField("int64_data")
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    places = ["w.bin", "w.bin", "w.bin", "./w.bin", "../decoy/kept.bin", "/etc/hostname", "", ".", "m.onnx", "out.onnx"]
    said = {"location": random.choice([*places, "none.bin", "a\x00b", "w.bin/", "é.bin"])}
    if random.random() < 0.7:
        said["length"] = random.choice([str(len(content)), str(len(content)), *_ODD_NUMBERS])
    if random.random() < 0.5:
        said["offset"] = random.choice(["0", "4", *_ODD_NUMBERS])
    for key, value in said.items():
        tensor.external_data.add(key=key, value=value)


_ODD_NUMBERS = ["-1", "99999999", "", "many", "9" * 5000, "1e3", "0x4", " 4", "٣"]


def _function(proto: onnx.ModelProto, random: Random) -> None:
    """A node as the call of a function: sound, of itself, of another overload, or hiding an operator."""
    node = random.choice(proto.graph.node)
    domain = random.choice(["local", "local", "", "ai.onnx"])
    made = proto.functions.add(name=random.choice(["f", node.op_type, ""]), domain=domain)
    made.input.extend(name for name in node.input if name)
    made.output.extend(node.output)
    inner = made.node.add()
    inner.CopyFrom(node)
    for attribute in inner.attribute:
        if random.random() < 0.3:
            attribute.ref_attr_name = attribute.name
            made.attribute.append(attribute.name)
    made.opset_import.add(domain="", version=random.choice([21, 13, 1, 0]))
    if random.random() < 0.3:
        inner.op_type, inner.domain = made.name, made.domain
    if random.random() < 0.2:
        made.overload = random.choice(["a", ""])
        node.overload = random.choice(["a", "b", ""])
    node.op_type, node.domain = made.name, made.domain
    if random.random() < 0.7:
        proto.opset_import.add(domain="local", version=1)


def _branch(proto: onnx.ModelProto, random: Random) -> None:
    """A node inside the body of an If, a Loop or a Scan."""
    node = random.choice(proto.graph.node)
    body = onnx.GraphProto(name="body")
    body.node.add().CopyFrom(node)
    for name in node.output:
        body.output.add(name=name).type.tensor_type.elem_type = 1
    if random.random() < 0.3:
        body.initializer.extend(proto.graph.initializer)
    if random.random() < 0.3:
        body.input.extend(proto.graph.input)
    made = onnx.NodeProto(op_type=random.choice(["If", "If", "Loop", "Scan"]))
    names = ["then_branch", "else_branch"] if made.op_type == "If" else ["body"]
    made.attribute.extend(helper.make_attribute(name, body) for name in names)
    if made.op_type == "Scan":
        made.attribute.append(helper.make_attribute("num_scan_inputs", odd.integer(random)))
    made.input.extend(random.choice([[proto.graph.input[0].name], [], ["", "", proto.graph.input[-1].name]]))
    made.output.extend(node.output)
    node.CopyFrom(made)


def _circle(proto: onnx.ModelProto, random: Random) -> None:
    node, other = random.choice(proto.graph.node), random.choice(proto.graph.node)
    if node.input and other.output:
        node.input[random.randrange(len(node.input))] = random.choice(other.output)


def _sparse(proto: onnx.ModelProto, random: Random) -> None:
    """An initializer as a sparse one, whose indices may be anywhere."""
    if not proto.graph.initializer:
        return
    place = random.randrange(len(proto.graph.initializer))
    made = proto.graph.sparse_initializer.add()
    made.values.CopyFrom(proto.graph.initializer[place])
    made.dims.extend(random.choice([list(made.values.dims), [4], [], [-1], [2**40]]))
    made.indices.data_type = TensorProto.INT64
    made.indices.dims.append(len(made.values.int64_data))
    made.indices.int64_data.extend(odd.integer(random) for _ in made.values.int64_data)
    if random.random() < 0.8:
        del proto.graph.initializer[place]


def _inner_info(proto: onnx.ModelProto, random: Random) -> None:
    """What is said of a value within, whether it is so or not."""
    names = [name for node in proto.graph.node for name in (*node.output, *node.input)] or [""]
    dims: Any = random.choice(
        [None, [], [odd.integer(random) for _ in range(random.randint(1, 4))], ["N", 3], [2, 3, 4]]
    )
    kind = random.choice([1, 1, 7, 8, 9, 0, 99])
    proto.graph.value_info.append(helper.make_tensor_value_info(random.choice(names), kind, dims))
    if random.random() < 0.2:
        proto.graph.quantization_annotation.add(tensor_name=random.choice(names)).quant_parameter_tensor_names.add(
            key=odd.text(random, []), value=random.choice(names)
        )


def _other_type(proto: onnx.ModelProto, random: Random) -> None:
    """A sequence, an optional, a map or a sparse tensor in the place of a tensor."""
    info = random.choice([*proto.graph.input, *proto.graph.output])
    was = onnx.TypeProto()
    was.CopyFrom(info.type)
    info.type.Clear()
    match random.randrange(5):
        case 0:
            info.type.sequence_type.elem_type.CopyFrom(was)
        case 1:
            info.type.optional_type.elem_type.CopyFrom(was)
        case 2:
            info.type.map_type.key_type = random.choice([7, 8, 0, 99])
            info.type.map_type.value_type.CopyFrom(was)
        case 3:
            info.type.sparse_tensor_type.elem_type = was.tensor_type.elem_type
        case _:
            info.type.denotation = "x"


def _imports(proto: onnx.ModelProto, random: Random) -> None:
    version = random.choice([*range(30), 99, -1, 2**31, -(2**31), 2**62])
    proto.opset_import.add(domain=random.choice(["", "", "ai.onnx", "local", "ai.onnx.ml", "é"]), version=version)


def _unknown_dims(proto: onnx.ModelProto, random: Random) -> None:
    """Makes most dims of inputs and outputs unknown, as an exporter writes them: -1, 0, nothing, "N", "" or "-1"."""
    kind = random.choice([-1, 0, None, "N", "", "-1"])
    for info in (*proto.graph.input, *proto.graph.output):
        for dim in info.type.tensor_type.shape.dim:
            if random.random() < 0.8:
                dim.Clear()
                if isinstance(kind, int):
                    dim.dim_value = kind
                elif kind is not None:
                    dim.dim_param = kind


def _one_name(proto: onnx.ModelProto, random: Random) -> None:
    """One name for another, wherever it stands: two values become one, or a value loses its name."""
    names = sorted({name for node in proto.graph.node for name in (*node.input, *node.output)})
    old, new = random.choice(names or [""]), odd.text(random, names)
    for node in proto.graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]
    for named in (*proto.graph.input, *proto.graph.output, *proto.graph.initializer, *proto.graph.value_info):
        if named.name == old:
            named.name = new


_MORE_DAMAGES: list[Callable[[onnx.ModelProto, Random], None]] = [
    _element_type, _dims_of_a_tensor, _external, _function, _branch, _circle, _sparse, _inner_info, _other_type,
    _imports, _unknown_dims, _one_name,
]  # fmt: skip
