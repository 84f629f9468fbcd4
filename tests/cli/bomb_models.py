"""ONNX models that make a careless reader calculate, unfold or copy for ever: each is a few lines of a builder."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

INT64, FLOAT = TensorProto.INT64, TensorProto.FLOAT
Nodes = list[onnx.NodeProto]


def constant(name: str, values: Any) -> TensorProto:
    return numpy_helper.from_array(np.array(values, np.int64), name)


def node(op: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op, inputs.split(), [output], name=f"n_{output}", **attributes)


def made(
    nodes: Iterable[onnx.NodeProto],
    constants: Iterable[TensorProto] = (),
    dims: Any = (1, 4),
    *,
    output: str = "y",
    functions: Iterable[onnx.FunctionProto] = (),
) -> onnx.ModelProto:
    """A model with one input `x`, and the imports that all of these need."""
    graph = helper.make_graph(
        list(nodes),
        "g",
        [helper.make_tensor_value_info("x", FLOAT, None if dims is None else list(dims))],
        [helper.make_tensor_value_info(output, FLOAT, None)],
        list(constants),
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=list(functions))


def reshaped(nodes: Nodes, constants: Iterable[TensorProto] = (), dims: Any = ("N", 4), rank: int = 1) -> Any:
    """A Reshape whose target is `v`, as often as its rank says, and -1."""
    more = [node("Concat", " ".join(["v"] * rank + ["minus"]), "t", axis=0), node("Reshape", "x t", "y")]
    return made([*nodes, *more], [*constants, constant("minus", [-1])], dims)


def size_of() -> Nodes:
    """`v0`: a dim of the input."""
    return [node("Shape", "x", "s"), node("Gather", "s axis", "v0")]


def chained(step: Callable[[str, str], Nodes], count: int) -> Nodes:
    """The same step again and again, from v0 on to v."""
    names = [f"v{index}" for index in range(count)] + ["v"]
    return [each for before, after in itertools.pairwise(names) for each in step(before, after)]


def calculated(step: Callable[[str, str], Nodes], count: int, dims: Any = ("N", 4)) -> onnx.ModelProto:
    constants = [constant("axis", [0]), constant("k", [3]), constant("many", [63]), constant("two", [2])]
    found: onnx.ModelProto = reshaped(size_of() + chained(step, count), constants, dims)
    return found


def binary(op: str, *, with_itself: bool = True, other: str = "k") -> Callable[[str, str], Nodes]:
    return lambda before, after: [node(op, f"{before} {before if with_itself else other}", after)]


def times_plus(before: str, after: str) -> Nodes:
    return [node("Add", f"{before} k", f"{after}_"), node("Mul", f"{before} {after}_", after)]


def doubled(before: str, after: str) -> Nodes:
    return [node("Concat", f"{before} {before}", after, axis=0)]


def filled(op: str, values: list[int], **attributes: Any) -> onnx.ModelProto:
    """A constant of ten thousand million elements, made by one node, as the target."""
    constants = [constant("dims", values), constant("zero", 0), constant("one", 1), constant("limit", 10**10)]
    constants += [constant("depth", 10**10), constant("pair", [0, 1]), constant("few", [[1]]), constant("line", [1])]
    inputs = {
        "ConstantOfShape": "dims",
        "Expand": "line dims",
        "Tile": "line dims",
        "Range": "zero limit one",
        "OneHot": "line depth pair",
        "Pad": "line dims",
    }[op]
    return made([node(op, inputs, "t", **attributes), node("Reshape", "x t", "y")], constants)


def resized() -> onnx.ModelProto:
    nodes = [node("Cast", "few", "f", to=FLOAT), helper.make_node("Resize", ["f", "", "", "dims"], ["r"])]
    nodes += [node("Cast", "r", "i", to=INT64), node("Reshape", "i minus", "t"), node("Reshape", "x t", "y")]
    return made(nodes, [constant("few", [[1]]), constant("dims", [10**5, 10**5]), constant("minus", [-1])])


def gathered() -> onnx.ModelProto:
    """Each Gather takes the whole tensor before it for every index."""
    nodes = [node("Gather", f"g{index} places", f"g{index + 1}", axis=0) for index in range(8)]
    nodes += [node("Reshape", "g8 minus", "t"), node("Reshape", "x t", "y")]
    places = constant("places", np.zeros((16, 16), np.int64))
    return made(nodes, [constant("g0", list(range(4))), places, constant("minus", [-1])])


def broadcast() -> onnx.ModelProto:
    nodes = [node("Add", "row column", "a"), node("Mul", "a cube", "b"), node("Reshape", "b minus", "t")]
    constants = [constant("row", [[1] * 4096]), constant("column", [[1]] * 4096), constant("cube", [[[1]]] * 4096)]
    return made([*nodes, node("Reshape", "x t", "y")], [*constants, constant("minus", [-1])])


def in_a_row(op: str, count: int, dims: Any = ("N", 4), **attributes: Any) -> onnx.ModelProto:
    """One node after the other."""
    second = {"Reshape": " t", "Add": " x", "MatMul": " w", "Unsqueeze": ""}.get(op, "")
    names = ["x", *(f"h{index}" for index in range(count - 1)), "y"]
    nodes = [node(op, before + second, after, **attributes) for before, after in itertools.pairwise(names)]
    weights = numpy_helper.from_array(np.eye(4, dtype=np.float32), "w")
    return made(nodes, [constant("t", [0, 4]), weights], dims)


def concatenated(count: int) -> onnx.ModelProto:
    """Dims that add up: each Concat doubles the tensor, or adds another that has a name of its own."""
    names = ["x", *(f"h{index}" for index in range(count - 1)), "y"]
    nodes = [node("Concat", f"{before} {before}", after, axis=0) for before, after in itertools.pairwise(names)]
    return made(nodes, dims=("N", 4))


def many_names(count: int) -> onnx.ModelProto:
    """One Concat of tensors whose sizes have as many names."""
    model = made([node("Concat", " ".join(f"x{index}" for index in range(count)), "c", axis=0),
                  node("Reshape", "c t", "y")], [constant("t", [-1, 2])])  # fmt: skip
    for index in range(count):
        model.graph.input.append(helper.make_tensor_value_info(f"x{index}", FLOAT, [f"N{index}", 4]))
    return model


def tiled(count: int) -> onnx.ModelProto:
    """A tensor that is repeated as often as it is long: N, N*N, N**4 ..."""
    names = ["x", *(f"h{index}" for index in range(count - 1)), "y"]
    nodes = []
    for index, (before, after) in enumerate(itertools.pairwise(names)):
        nodes += [node("Shape", before, f"s{index}"), node("Tile", f"{before} s{index}", after)]
    return made(nodes, dims=("N", "M"))


def flattened(count: int) -> onnx.ModelProto:
    """Sums and products of sizes in turn: a formula that doubles at every step."""
    nodes, before = [], "x"
    for index in range(count):
        nodes += [
            node("Concat", f"{before} z", f"c{index}", axis=0),
            node("Concat", f"{before} z", f"d{index}", axis=1),
        ]
        nodes += [node("MatMul", f"c{index} d{index}", f"m{index}"), node("Shape", f"m{index}", f"s{index}")]
        nodes += [node("Tile", f"m{index} s{index}", f"h{index}")]
        before = f"h{index}"
    nodes += [node("Flatten", before, "f", axis=0), node("Reshape", "f t", "y")]
    zeros = numpy_helper.from_array(np.zeros((3, 3), np.float32), "z")
    return made(nodes, [zeros, constant("t", [-1])], ("N", "N"))


def wide(count: int, op: str = "Relu") -> onnx.ModelProto:
    """One value that everything uses."""
    nodes = [node(op, "x t" if op == "Reshape" else "x", f"h{index}") for index in range(count)]
    return made(
        [*nodes, node("Sum", " ".join(f"h{index}" for index in range(count)), "y")], [constant("t", [0, 4])], ("N", 4)
    )


def nested(op: str, depth: int) -> onnx.ModelProto:
    """Branches, or bodies, within one another."""
    body = helper.make_graph(
        [node("Identity", "x", "z0")], "b0", [], [helper.make_tensor_value_info("z0", FLOAT, None)]
    )
    for level in range(1, depth):
        body = _around(op, body, f"z{level}", level)
    return made([*_around(op, body, "y", depth).node], [constant("trips", 3), _flag()])


def _flag() -> TensorProto:
    return numpy_helper.from_array(np.array(True), "flag")


def _around(op: str, body: onnx.GraphProto, output: str, level: int) -> onnx.GraphProto:
    inner = body.output[0].name
    if op == "If":
        other = helper.make_graph(
            [node("Identity", "x", f"e{level}")],
            f"e{level}",
            [],
            [helper.make_tensor_value_info(f"e{level}", FLOAT, None)],
        )
        outer = helper.make_node("If", ["flag"], [output], then_branch=body, else_branch=other)
    else:
        body.input.extend(
            [
                helper.make_tensor_value_info(f"i{level}", INT64, []),
                helper.make_tensor_value_info(f"c{level}", TensorProto.BOOL, []),
            ]
        )
        body.node.append(node("Identity", f"c{level}", f"d{level}"))
        del body.output[:]
        body.output.extend(
            [
                helper.make_tensor_value_info(f"d{level}", TensorProto.BOOL, []),
                helper.make_tensor_value_info(inner, FLOAT, None),
            ]
        )
        outer = helper.make_node("Loop", ["trips", "flag"], [output], body=body)
    return helper.make_graph([outer], f"g{level}", [], [helper.make_tensor_value_info(output, FLOAT, None)])


def calling(depth: int, calls: int = 2, op: str = "Relu") -> onnx.ModelProto:
    """Functions of which each calls the next one twice."""
    functions = []
    for level in range(depth):
        names = ["a", *(f"b{index}" for index in range(calls - 1)), "z"]
        pairs = itertools.pairwise(names)
        last = level == depth - 1
        nodes = [
            node(
                op if last else f"f{level + 1}",
                f"{one} t" if last and op == "Reshape" else one,
                other,
                domain="" if last else "local",
            )
            for one, other in pairs
        ]
        if last and op == "Reshape":
            nodes.insert(0, helper.make_node("Constant", [], ["t"], value_ints=[0, 4]))
        imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
        functions.append(helper.make_function("local", f"f{level}", ["a"], ["z"], nodes, imports))
    return made([node("f0", "x", "y", domain="local")], dims=("N", 4), functions=functions)


def recursive() -> onnx.ModelProto:
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("local", 1)]
    function = helper.make_function("local", "f0", ["a"], ["z"], [node("f0", "a", "z", domain="local")], imports)
    return made([node("f0", "x", "y", domain="local")], functions=[function])


def plain(dims: Any, target: Any = (0, -1), declared: Any = None) -> onnx.ModelProto:
    model = made([node("Reshape", "x t", "h"), node("Relu", "h", "y")], [constant("t", list(target))], dims)
    if declared is not None:
        model.graph.value_info.append(helper.make_tensor_value_info("h", FLOAT, list(declared)))
    return model


def hollow(dims: list[int], kind: int = FLOAT) -> onnx.ModelProto:
    """A constant that announces more than it has."""
    tensor = TensorProto(name="w", data_type=kind, dims=dims)
    nodes = [node("Add", "x w", "h"), node("Reshape", "h t", "y")]
    if kind == INT64:
        nodes = [node("Reshape", "w minus", "t0"), node("Reshape", "x t0", "y")]
    return made(nodes, [tensor, constant("t", [-1]), constant("minus", [-1])])


def infos(count: int) -> onnx.ModelProto:
    model = plain(("N", 4))
    model.graph.value_info.extend(helper.make_tensor_value_info(f"v{index}", FLOAT, ["N", 4]) for index in range(count))
    return model


def named(length: int) -> onnx.ModelProto:
    """Names that are books."""
    model = plain(("N" * length, 4))
    model.graph.node[0].name = "n" * length
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "h" * length
    return model


def long_name_everywhere(count: int, length: int) -> onnx.ModelProto:
    return in_a_row("Reshape", count, ("N" * length, 4))


def attributes(count: int) -> onnx.ModelProto:
    model = plain(("N", 4))
    model.graph.node[1].attribute.extend(helper.make_attribute(f"a{index}", index) for index in range(count))
    return model


def strings(count: int) -> onnx.ModelProto:
    text = TensorProto(name="w", data_type=TensorProto.STRING, dims=[count], string_data=[b"x" * 100] * count)
    return made([node("Equal", "w w", "e"), node("Relu", "x", "y")], [text])


def elsewhere(offset: int, length: int) -> onnx.ModelProto:
    tensor = TensorProto(name="t", data_type=INT64, dims=[2], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "nowhere.bin", "offset": offset, "length": length}.items():
        tensor.external_data.add(key=key, value=str(value))
    return made([node("Reshape", "x t", "y")], [tensor])


def ints(count: int, value: int = 1) -> onnx.ModelProto:
    nodes = [helper.make_node("Constant", [], ["t"], value_ints=[value] * count), node("Reshape", "x t", "y")]
    return made(nodes)


def scanned(depth: int) -> onnx.ModelProto:
    nodes, before = [], "x"
    for level in range(depth):
        nodes += [node("Unsqueeze", f"{before} zero", f"u{level}")]
        before = f"u{level}"
    return made([*nodes, node("Identity", before, "y")], [constant("zero", [0])], ("N", 4))


def declared_everywhere(count: int) -> onnx.ModelProto:
    """Declarations that all are wrong."""
    model = in_a_row("Relu", count, (2, 4))
    model.graph.value_info.extend(
        helper.make_tensor_value_info(f"h{index}", FLOAT, [3, 4]) for index in range(count - 1)
    )
    return model


NAMES = [
    "9**9**9", "__import__('os')", "(" * 5000, "(" * 5000 + "N" + ")" * 5000, "*".join(["N"] * 5000), "floor(N/0)",
    "1e999999999", "N!", "größe", "N\u2028M", "_0", "None", "2", "-1", "max(a,b)", "floor(seq/2) + 1",
    "batch_size*seq", "unk__1", "s0 + 1", "N" + "**9" * 200, "+".join(f"a{index}" for index in range(5000)),
    "(N+1)**99999", "Max(" * 500 + "N" + ")" * 500, "9" * 5000, "lambda: 0", "N.a.b", "sqrt(-1)",
    "Mod(N, 0)", "-" * 5000 + "N",
]  # fmt: skip


def dims_named(name: str) -> onnx.ModelProto:
    return plain((name, "N", 4), (0, 0, -1))


def all_names() -> onnx.ModelProto:
    """Every such name in one model."""
    model = plain(("N", 4))
    for index, name in enumerate(NAMES):
        model.graph.input.append(helper.make_tensor_value_info(f"x{index}", FLOAT, [name, 4]))
        model.graph.node.append(node("Reshape", f"x{index} t", f"h{index}"))
    return model


def sliced(count: int) -> onnx.ModelProto:
    """Slices that may be empty: each formula has the one before in it twice."""
    names = ["x", *(f"h{index}" for index in range(count - 1)), "y"]
    pairs = itertools.pairwise(names)
    nodes = [node("Slice", f"{before} from to axis step", after) for before, after in pairs]
    return made(
        nodes, [constant("from", [-9]), constant("to", [-2]), constant("axis", [0]), constant("step", [2])], ("N", 4)
    )


def matrices() -> onnx.ModelProto:
    """A product of matrices that are constants: a thousand million steps."""
    nodes = [node("ConstantOfShape", "square", "a", value=constant("v", [1])), node("MatMul", "a a", "b")]
    nodes += [node("ReduceSum", "b", "s", keepdims=0), node("Reshape", "s one", "t"), node("Reshape", "x t", "y")]
    return made(nodes, [constant("square", [2000, 2000]), constant("one", [1])])
