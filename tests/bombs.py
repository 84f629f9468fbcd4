"""Tiny models that make a careless reader calculate, unfold or copy for ever: each is a few lines of a builder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
import itertools

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


ONNX: dict[str, Callable[[], onnx.ModelProto]] = {
    "tower in a name": lambda: dims_named("9**9**9"),
    "all names": all_names,
    "powers": lambda: calculated(lambda a, b: [node("Pow", f"{a} many", b)], 7, (3, 4)),
    "powers of a name": lambda: calculated(lambda a, b: [node("Pow", f"{a} many", b)], 7),
    "squares by Pow": lambda: calculated(lambda a, b: [node("Pow", f"{a} two", b)], 40),
    "powers of a constant": lambda: reshaped(
        chained(lambda a, b: [node("Pow", f"{a} many", b)], 7), [constant("v0", [3]), constant("many", [63])]
    ),
    "v*(v+3)": lambda: calculated(times_plus, 16),
    "v*(v+3) of a number": lambda: calculated(times_plus, 16, (3, 4)),
    "squares": lambda: calculated(binary("Mul"), 64),
    "squares of a number": lambda: calculated(binary("Mul"), 64, (3, 4)),
    "sums": lambda: calculated(binary("Add"), 2000),
    "differences": lambda: calculated(lambda a, b: [node("Mul", f"{a} {a}", f"{b}_"), node("Sub", f"{b}_ {a}", b)], 30),
    "quotients": lambda: calculated(lambda a, b: [node("Div", f"{a} two", f"{b}_"), node("Mul", f"{b}_ {a}", b)], 30),
    "steps": lambda: calculated(binary("Add", with_itself=False), 2000),
    "halves": lambda: calculated(lambda a, b: [node("Div", f"{a} two", f"{b}_"), node("Add", f"{b}_ k", b)], 500),
    "products of a vector": lambda: reshaped(
        [node("Shape", "x", "s"), node("Expand", "s many", "e"), node("ReduceProd", "e", "v", keepdims=1)],
        [constant("many", [2048, 2])],
        ("N", "M"),
    ),
    "sum of many sizes": lambda: reshaped(
        [node("Shape", "x", "s"), node("ReduceSum", "s", "v", keepdims=1)], (), [f"N{index}" for index in range(900)]
    ),
    "product of many sizes": lambda: reshaped(
        [node("Shape", "x", "s"), node("ReduceProd", "s", "v", keepdims=1)], (), [f"N{index}" for index in range(900)]
    ),
    "Concat bomb": lambda: reshaped(chained(doubled, 40), [constant("v0", [1, 1])]),
    "Concat bomb of sizes": lambda: calculated(doubled, 40),
    "Concat of one many times": lambda: made(
        [node("Concat", " ".join(["line"] * 20000), "t", axis=0), node("Reshape", "x t", "y")],
        [constant("line", [1] * 4096)],
    ),
    "ConstantOfShape": lambda: filled("ConstantOfShape", [10**10], value=constant("value", [1])),
    "Expand": lambda: filled("Expand", [10**10]),
    "Tile": lambda: filled("Tile", [10**10]),
    "Range": lambda: filled("Range", [1]),
    "OneHot": lambda: filled("OneHot", [1]),
    "Pad": lambda: filled("Pad", [10**10, 10**10]),
    "negative Pad": lambda: filled("Pad", [-(2**63), 2**63 - 1]),
    "Resize": resized,
    "Gather": gathered,
    "broadcast": broadcast,
    "value_ints": lambda: ints(10**6),
    "value_ints of ones": lambda: ints(60000),
    "Reshapes in a row": lambda: in_a_row("Reshape", 5000),
    "Relus in a row": lambda: in_a_row("Relu", 20000),
    "Adds in a row": lambda: in_a_row("Add", 20000),
    "MatMuls in a row": lambda: in_a_row("MatMul", 5000),
    "Transposes in a row": lambda: in_a_row("Transpose", 20000, perm=[1, 0]),
    "Unsqueezes in a row": lambda: scanned(2000),
    "Concats in a row": lambda: concatenated(2000),
    "one Concat of many names": lambda: many_names(2000),
    "tiled": lambda: tiled(40),
    "sums and products": lambda: flattened(12),
    "Slices in a row": lambda: sliced(60),
    "functions in a row": lambda: calling(3000, 1),
    "MatMul of integers": matrices,
    "wide": lambda: wide(20000),
    "wide Reshapes": lambda: wide(5000, "Reshape"),
    "nested Ifs": lambda: nested("If", 25),
    "nested Loops": lambda: nested("Loop", 25),
    "functions that call twice": lambda: calling(30),
    "Reshapes in functions that call twice": lambda: calling(30, op="Reshape"),
    "functions that call often": lambda: calling(3, 2000),
    "recursive": recursive,
    "a million dims": lambda: plain(["N"] + [1] * 10**6),
    "a million dims declared": lambda: plain(("N", 4), declared=["N"] + [1] * 10**6),
    "a million entries": lambda: plain(("N", 4), [0] + [1] * 10**6),
    "60,000 entries": lambda: plain(("N", 4), [0, -1] + [1] * 60000),
    "1,000 names": lambda: plain([f"N{index}" for index in range(1000)]),
    "1,000 names to one": lambda: plain([f"N{index}" for index in range(1000)], [-1]),
    "30,000 names": lambda: plain([f"N{index}" for index in range(30000)], [0, -1]),
    "dims of 2**63": lambda: hollow([2**62, 2]),
    "dims of 2**63 - 1": lambda: hollow([2**63 - 1]),
    "negative dims": lambda: hollow([-5, 3]),
    "hollow": lambda: hollow([10**9]),
    "hollow integers": lambda: hollow([10**9], INT64),
    "small hollow integers": lambda: hollow([4000], INT64),
    "value_infos": lambda: infos(200_000),
    "long names": lambda: named(10**6),
    "a long name of dims": lambda: long_name_everywhere(2000, 10**5),
    "attributes": lambda: attributes(100_000),
    "strings": lambda: strings(100_000),
    "external": lambda: elsewhere(2**62, 2**62),
    "external beyond": lambda: elsewhere(2**63 + 5, 10**30),
    "wrong everywhere": lambda: declared_everywhere(5000),
}


def layer(number: int, kind: str, data: str = "", inputs: str = "", outputs: str = "") -> str:
    ports = (f"<input>{inputs}</input>" if inputs else "") + (f"<output>{outputs}</output>" if outputs else "")
    return f'<layer id="{number}" name="n{number}" type="{kind}" version="opset1">{data}{ports}</layer>'


def edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    return f'<edge from-layer="{start[0]}" from-port="{start[1]}" to-layer="{end[0]}" to-port="{end[1]}"/>'


def openvino(count: int, rank: int = 2, *, edges_more: int = 0) -> str:
    """As many Reshapes in a row, of as many dims."""
    dims = [4] + [1] * (rank - 1)
    shape, target = "".join(f"<dim>{dim}</dim>" for dim in dims), f"<dim>{rank}</dim>"

    def port(number: int, of: str = shape, kind: str = "FP32") -> str:
        return f'<port id="{number}" precision="{kind}">{of}</port>'

    given = f'<data shape="{",".join(map(str, dims))}" element_type="f32"/>'
    words = f'<data element_type="i64" shape="{rank}" offset="0" size="{8 * rank}"/>'
    layers = [layer(0, "Parameter", given, outputs=port(0))]
    layers.append(layer(1, "Const", words, outputs=port(0, target, "I64")))
    edges, before = [edge((0, 0), (2, 0))] * edges_more, (0, 0)
    for index in range(2, count + 2):
        inputs = port(0) + port(1, target, "I64")
        layers.append(layer(index, "Reshape", '<data special_zero="false"/>', inputs, port(2)))
        edges += [edge(before, (index, 0)), edge((1, 0), (index, 1))]
        before = (index, 2)
    layers.append(layer(count + 2, "Result", inputs=port(0)))
    edges.append(edge(before, (count + 2, 0)))
    body = f"<layers>{''.join(layers)}</layers><edges>{''.join(edges)}</edges>"
    return f'<?xml version="1.0"?><net name="m" version="11">{body}</net>'


def onednn(count: int, rank: int = 2) -> str:
    """The same for oneDNN."""
    dims = [4] + [1] * (rank - 1)

    def tensor(number: int) -> dict[str, Any]:
        kinds = {"dtype": "f32", "layout_type": "strided", "property_type": "variable"}
        return {"id": number, "shape": dims, "stride": [1] * rank, **kinds}

    attributes = {"shape": {"type": "s64[]", "value": dims}, "special_zero": {"type": "bool", "value": 0}}
    operators = [
        {"id": index, "name": f"r{index}", "kind": "StaticReshape", "attrs": attributes,
         "inputs": [tensor(index)], "outputs": [tensor(index + 1)]}
        for index in range(count)
    ]  # fmt: skip
    header = {"version": "3.9.0", "engine_kind": "cpu", "fpmath_mode": "strict"}
    return json.dumps({**header, "input_ports": [0], "output_ports": [count], "graph": operators})


OTHERS: dict[str, tuple[str, Callable[[], str]]] = {
    "OpenVINO layers": (".xml", lambda: openvino(20000)),
    "OpenVINO dims": (".xml", lambda: openvino(1, 100_000)),
    "OpenVINO nesting": (".xml", lambda: "<net>" + "<a>" * 100_000 + "</a>" * 100_000 + "</net>"),
    "OpenVINO edges": (".xml", lambda: openvino(1, edges_more=100_000)),
    "oneDNN operators": (".json", lambda: onednn(20000)),
    "oneDNN dims": (".json", lambda: onednn(1, 100_000)),
    "oneDNN nesting": (".json", lambda: '{"graph": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    "oneDNN numbers": (".json", lambda: onednn(1).replace('"value": [4', '"value": [' + "9" * 5000)),
}  # fmt: skip


def write(name: str, folder: Path) -> str:
    """The file of a bomb."""
    if name in ONNX:
        path = folder / "m.onnx"
        path.write_bytes(ONNX[name]().SerializeToString())
        return str(path)
    suffix, text = OTHERS[name]
    path = folder / f"m{suffix}"
    path.write_text(text(), encoding="utf-8")
    if suffix == ".xml":
        (folder / "m.bin").write_bytes(np.array([4] + [1] * 100_000, np.int64).tobytes())
    return str(path)
