"""The backend under ONNX's own suite, and ONNX's evaluator with our Reshape in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import AttributeProto, NodeProto, TensorProto, helper, numpy_helper, parser
from onnx.backend.test import BackendTest, loader
from onnx.reference import ReferenceEvaluator

from onereshape import ReshapeError, onnx_backend, spec
from onereshape.ground import dtypes
from onereshape.onnx_backend import ReferenceReshape, ReshapeBackend

INCLUDED = re.compile(r"^test_(reshape_.*|constant)_cpu$")

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
XS = "float[a, b, c] x, int64[n] s"
PLAIN = "{ y = Reshape(x, s) }"


def model_of(body: str, opset: int = 21, inputs: str = XS, outputs: str = "float[d, e] y") -> Any:
    header = f'<ir_version: 10, opset_import: ["": {opset}, "local": 1]>'
    return parser.parse_model(f"{header} model ({inputs}) => ({outputs}) {body}")


def reshape_model(opset: int, words: list[int], **attributes: Any) -> Any:
    """One Reshape named r, with its target where the opset wants it."""
    constant = helper.make_node("Constant", [], ["s"], value=numpy_helper.from_array(np.array(words, np.int64)))
    node = helper.make_node("Reshape", ["x"] if opset < 5 else ["x", "s"], ["y"], name="r", **attributes)
    if opset < 5:
        node.attribute.append(helper.make_attribute("shape", words, attr_type=AttributeProto.INTS))
    nodes = [node] if opset < 5 else [constant, node]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    graph = helper.make_graph(nodes, "model", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def in_backend(model: Any, x: Any) -> Any:
    (y,) = onnx_backend.run_model(model, [x])
    return y


def in_evaluator(model: Any, x: Any) -> Any:
    return result(ReferenceEvaluator(model, new_ops=[ReferenceReshape]), x=x)


def result(evaluator: ReferenceEvaluator, **feeds: Any) -> Any:
    (y,) = evaluator.run(None, feeds)
    return y


both = pytest.mark.parametrize("run", [in_backend, in_evaluator])
Run = Callable[[Any, Any], Any]


@pytest.fixture(scope="module", name="shipped")
def cases_of_onnx() -> Iterator[dict[str, Any]]:
    """ONNX's cases by name, those of two operators: importing makes cases, and all operators' take seconds."""
    for operator in ("constant", "reshape"):
        import_module(f"onnx.backend.test.case.node.{operator}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "import_recursive", lambda _: None, raising=False)  # older releases read them from files
        yield {case.name: case for case in loader.load_model_tests(kind="node")}


@pytest.mark.parametrize("backend", [onnx_backend, ReshapeBackend], ids=["module", "class"])
def test_every_reshape_case_of_onnx_passes(shipped: dict[str, Any], backend: Any) -> None:
    suite = BackendTest(backend, __name__).include(INCLUDED.pattern).test_cases["OnnxBackendNodeModelTest"]
    ours = {name for name in vars(suite) if INCLUDED.match(name)}
    reshapes = {f"{name}_cpu" for name in shipped if name.startswith("test_reshape_")}

    assert len(reshapes) >= 10
    assert ours == reshapes | {"test_constant_cpu"}
    for name in sorted(ours):
        case = shipped[name.removesuffix("_cpu")]
        model = case.model or onnx.load(Path(case.model_dir or "") / "model.onnx")
        assert {node.op_type for node in model.graph.node} <= {"Reshape", "Constant"}
        assert onnx_backend.is_compatible(model)  # the suite skips what is not
        getattr(suite(name), name)()


@both
@pytest.mark.parametrize(
    ("dims", "words", "output"),
    [
        ([2, 3, 4], [4, 6], (4, 6)),
        ([2, 3, 4], [0, -1], (2, 12)),
        ([2, 3, 4], [-1, 0, 2], (4, 3, 2)),
        ([1, 1], [], ()),
        ([0, 3], [2, 0], None),
        ([0, 3], [5, -1], (5, 0)),
        ([], [1, -1], (1, 1)),
    ],
)
def test_every_opset(run: Run, dims: list[int], words: list[int], output: tuple[int, ...] | None) -> None:
    x = np.arange(np.prod(dims, dtype=int), dtype=np.float32).reshape(dims)
    for opset in range(1, 29):
        model = reshape_model(opset, words)

        if output is None:
            with pytest.raises(ReshapeError) as caught:
                run(model, x)
            assert caught.value.code == "volume", opset
            assert caught.value.__notes__ == ["in the Reshape node 'r'"], opset
        else:
            np.testing.assert_array_equal(run(model, x), x.reshape(output), f"opset {opset}", strict=True)


@both
@pytest.mark.parametrize("opset", [14, 19, 21, 23, 24, 25])
def test_allowzero(run: Run, opset: int) -> None:
    assert run(reshape_model(opset, [3, 0], allowzero=1), np.zeros((0, 5), np.float32)).shape == (3, 0)


@both
@pytest.mark.parametrize("opset", [1, 5, 13, 14, 19, 21, 23, 24, 25])
def test_every_element_type(run: Run, opset: int) -> None:
    for name in spec(f"onnx-{opset}").data_types:
        element_type = dtypes.named(name)
        assert element_type is not None
        x = np.array(["0", "1", "1"] if name == "string" else [0, 1, 1]).astype(element_type.numpy)
        y = run(reshape_model(opset, [3, 1]), x)

        assert (y.shape, y.dtype) == ((3, 1), x.dtype), name
        assert y.tobytes() == x.tobytes(), name


@both
def test_a_type_of_a_later_version(run: Run) -> None:
    """Refused by the version of the opset, as the checker would, though NumPy could."""
    with pytest.raises(ReshapeError, match="data of type int4 is refused: allowed since onnx Reshape-21"):
        run(reshape_model(19, [3, 1]), np.zeros(3, dtypes.named("int4").numpy))


def test_what_onnx_takes_wrongly() -> None:
    """NumPy takes any negative size for -1, and ONNX's reference leaves it to NumPy."""
    model = reshape_model(21, [2, -2])
    assert result(ReferenceEvaluator(model), x=X).shape == (2, 12)

    for run in (in_backend, in_evaluator):
        with pytest.raises(ReshapeError, match=re.escape("target[1] is -2")):
            run(model, X)


@both
def test_consumed_inputs_of_the_first_version(run: Run) -> None:
    assert run(reshape_model(1, [0, -1], consumed_inputs=[0]), X).shape == (2, 12)


@both
@pytest.mark.parametrize(("opset", "name"), [(4, "allowzero"), (13, "allowzero"), (5, "consumed_inputs"), (28, "spec")])
def test_attributes_that_a_version_lacks(run: Run, opset: int, name: str) -> None:
    with pytest.raises(ReshapeError, match=f"has no attribute '{name}'") as caught:
        run(reshape_model(opset, [0, -1], **{name: 1}), X)
    assert caught.value.code == "unknown-attribute"


def test_an_attribute_name_that_is_not_text() -> None:
    model = reshape_model(21, [4, 6], garbled=1)
    model.ParseFromString(model.SerializeToString().replace(b"garbled", b"garble\xff"))

    with pytest.raises(ReshapeError, match="has no attribute b'garble"):
        onnx_backend.prepare(model)


CALL = """{ y = local.twice <zero = 1> (x, s) }
    <domain: "local", opset_import: ["": 21]> twice <zero> (a, s) => (c) {
        b = Reshape <allowzero: int = @zero> (a, s)
        c = Reshape <allowzero: int = @zero> (b, s)
    }"""


CALL_OF_THE_FIRST = """{ y = local.first <dims = [0, -1]> (x) }
    <domain: "local", opset_import: ["": 1]> first <dims> (a) => (b) { b = Reshape <shape: ints = @dims> (a) }"""


def evaluator_of(model: Any) -> ReferenceEvaluator:
    """The evaluator hands new_ops to subgraphs, but not to functions."""
    opsets = {entry.domain: entry.version for entry in model.opset_import}
    functions = [ReferenceEvaluator(function, new_ops=[ReferenceReshape]) for function in model.functions]
    return ReferenceEvaluator(model.graph, opsets, functions, new_ops=[ReferenceReshape])


@pytest.mark.parametrize(("zero", "words", "output"), [(0, [0, 3], (0, 3)), (1, [3, 0], (3, 0))])
def test_attributes_linked_to_those_of_a_function(zero: int, words: list[int], output: tuple[int, ...]) -> None:
    evaluator = evaluator_of(model_of(CALL.replace("zero = 1", f"zero = {zero}")))

    assert result(evaluator, x=np.zeros((0, 3), np.float32), s=np.array(words)).shape == output
    with pytest.raises(ReshapeError, match="-2"):
        result(evaluator, x=X, s=np.array([-2]))


def test_the_linked_target_of_the_first_version() -> None:
    evaluator = evaluator_of(model_of(CALL_OF_THE_FIRST, inputs="float[a, b, c] x"))

    assert result(evaluator, x=X).shape == (2, 12)


def test_in_a_subgraph() -> None:
    then, other = (f"g () => (float[d, e] z) {{ z = Reshape(x, {name}) }}" for name in "st")
    body = f"{{ y = If (c) <then_branch = {then}, else_branch = {other}> }}"
    evaluator = ReferenceEvaluator(model_of(body, inputs=f"{XS}, int64[m] t, bool c"), new_ops=[ReferenceReshape])
    feeds = {"x": X, "s": np.array([4, 6]), "t": np.array([0, -2])}

    assert result(evaluator, **feeds, c=np.array(True)).shape == (4, 6)
    with pytest.raises(ReshapeError, match="-2"):
        result(evaluator, **feeds, c=np.array(False))


CHAIN = "<int64[2] s = {4, 6}> { m = Reshape(x, s)  t = Constant <value_ints = [-1]> ()  z = Reshape(m, t) }"


@pytest.mark.parametrize("inputs", [[X], (X,), {"x": X}, X])
def test_several_nodes_and_how_inputs_are_given(inputs: Any) -> None:
    prepared = onnx_backend.prepare(model_of(CHAIN, inputs="float[a, b, c] x", outputs="float[a] z, float[b, c] m"))
    outputs = prepared.run(inputs)

    assert [array.shape for array in outputs] == [(24,), (4, 6)]
    assert outputs["m"] is outputs[1]  # type: ignore[call-overload]


@pytest.mark.parametrize("inputs", [[X, np.array([8, 3])], {"s": np.array([8, 3]), "x": X}])
def test_an_initializer_is_the_default_of_an_input(inputs: Any) -> None:
    model = model_of(PLAIN)
    model.graph.initializer.append(numpy_helper.from_array(np.array([4, 6]), "s"))
    prepared = onnx_backend.prepare(model)

    assert prepared.run(inputs)[0].shape == (8, 3)
    assert prepared.run([X])[0].shape == prepared.run({"x": X})[0].shape == (4, 6)


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("value = int64[2] {3, 4}", np.array([3, 4], np.int64)),
        ("value = bfloat16 {16256}", np.array(1, dtypes.named("bfloat16").numpy)),  # its bits
        ("value_int = 7", np.array(7, np.int64)),
        ("value_ints = [7, 8]", np.array([7, 8], np.int64)),
        ("value_float = 0.1", np.array(0.1, np.float32)),
        ("value_floats = [0.1, 2.0]", np.array([0.1, 2], np.float32)),
        ('value_string = "é"', np.array("é", object)),
        ('value_strings = ["a", "bc"]', np.array(["a", "bc"], object)),
    ],
)
def test_constants(attribute: str, expected: Any) -> None:
    model = model_of(f"{{ y = Constant <{attribute}> () }}", inputs="")

    np.testing.assert_array_equal(onnx_backend.run_model(model, [])[0], expected, strict=True)


def test_an_output_cannot_spoil_the_next_run() -> None:
    """It is a view of the model's constant, which is kept."""
    prepared = onnx_backend.prepare(model_of("<float[2] w = {1, 2}> { y = Reshape(w, s) }", inputs="int64[n] s"))
    (y,) = prepared.run(np.array([2, 1]))

    with pytest.raises(ValueError, match="read-only"):
        y[0] = 9


def test_one_node() -> None:
    node = helper.make_node("Reshape", ["x", "s"], ["y"])
    first = helper.make_node("Reshape", ["x"], ["y"], shape=[6, 4])
    same = helper.make_node("Reshape", ["x", "x"], ["y"])
    one = np.ones(1, np.int64)

    assert onnx_backend.run_node(node, [X, np.array([0, -1])])[0].shape == (2, 12)
    assert onnx_backend.run_node(node, {"s": np.array([8, 3]), "x": X}, "CPU:0", opset_version=5)[0].shape == (8, 3)
    assert onnx_backend.run_node(first, X, opset_imports=[helper.make_opsetid("", 4)])[0].shape == (6, 4)
    assert onnx_backend.run_node(same, [one, one])["y"].shape == (1,)  # type: ignore[call-overload]
    assert onnx_backend.run_node(helper.make_node("Constant", [], ["c"], value_int=3), [])[0] == 3


def test_a_model_older_than_opsets() -> None:
    model = reshape_model(1, [4, 6])
    model.ir_version = 2
    del model.opset_import[:]

    assert onnx_backend.run_model(model, X)[0].shape == (4, 6)


def refused(model: Any) -> str:
    with pytest.raises(ReshapeError) as caught:
        onnx_backend.prepare(model)
    assert caught.value.code == "unsupported-model"
    assert not onnx_backend.is_compatible(model)
    return caught.value.sentence.removesuffix("  [unsupported-model]")


def imports(*versions: tuple[str, int]) -> Any:
    model = model_of(PLAIN)
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(*version) for version in versions)
    return model


def initializer(**fields: Any) -> Any:
    model = model_of(PLAIN)
    model.graph.initializer.append(TensorProto(name="w", **fields))
    return model


def sparse() -> Any:
    model = model_of(PLAIN)
    model.graph.sparse_initializer.add().values.name = "w"
    return model


def attribute(name: str, value: Any = 1) -> AttributeProto:
    return helper.make_attribute(name, value)


SPARSE = AttributeProto(name="sparse_value", type=AttributeProto.SPARSE_TENSOR)
LINK = AttributeProto(name="allowzero", type=AttributeProto.INT, ref_attr_name="zero")
FORMS = "value, value_float, value_floats, value_int, value_ints, value_string, value_strings"


@pytest.mark.parametrize(
    ("fields", "rest"),
    [
        ({"op_type": "If"}, ": this backend runs only Reshape and Constant"),
        ({"domain": "local"}, " is of the domain 'local': this backend runs only ONNX's own"),
        ({"input": ["x"]}, " has the inputs ['x'], where exactly 2 must be named"),
        ({"input": ["x", ""]}, " has the inputs ['x', ''], where exactly 2 must be named"),
        ({"input": ["x", "t"]}, " reads 't', which nothing before it makes"),
        ({"output": ["y", "z"]}, " has the outputs ['y', 'z'], where exactly 1 must be named"),
        ({"attribute": [attribute("allowzero", 1.0)]}, ": attribute 'allowzero' has the type FLOAT, not INT or INTS"),
        ({"attribute": [attribute("allowzero")] * 2}, ": attribute 'allowzero' is given twice"),
        ({"attribute": [LINK]}, ": attribute 'allowzero' is linked to 'zero' of a function, and the node is in none"),
    ],
)
def test_refused_nodes(fields: dict[str, Any], rest: str) -> None:
    model = model_of(PLAIN)
    plain = {"op_type": "Reshape", "name": "n", "input": ["x", "s"], "output": ["y"]}
    model.graph.node[0].CopyFrom(NodeProto(**(plain | fields)))

    assert refused(model) == f"{fields.get('op_type', 'Reshape')} node 'n'{rest}"


@pytest.mark.parametrize(
    ("attributes", "rest"),
    [
        ([], " has the attributes [], where exactly 1 must hold its value"),
        ([SPARSE], f": attribute 'sparse_value' is none of those read in opset 21: {FORMS}"),
        ([attribute("value_int", [1])], ": attribute 'value_int' has the type INTS, not INT"),
        (
            [attribute("value", TensorProto())],
            " holds no valid tensor: The element type in the input tensor is UNDEFINED.",
        ),
        (
            [attribute("value_string", b"\xff")],
            " holds no valid tensor: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte",
        ),
    ],
)
def test_refused_constants(attributes: list[AttributeProto], rest: str) -> None:
    model = model_of(PLAIN)
    model.graph.node[0].CopyFrom(NodeProto(op_type="Constant", name="n", output=["y"], attribute=attributes))

    assert refused(model) == f"Constant node 'n'{rest}"


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (model_of("{ x = Reshape(x, s) }"), "'x' is defined twice"),
        (model_of(PLAIN, inputs=f"{XS}, int64[n] s"), "'s' is defined twice"),
        (model_of("<float w = {1}, float w = {2}>" + PLAIN), "'w' is defined twice"),
        (model_of("{ z = Reshape(x, s) }"), "the output 'y' is not made by any node"),
        (model_of(PLAIN, 4), "Reshape node that makes 'y' has the inputs ['x', 's'], where exactly 1 must be named"),
        (
            model_of("{ y = Constant <value_int = 1> () }", 11),
            "Constant node that makes 'y': attribute 'value_int' is none of those read in opset 11: value",
        ),
        (sparse(), "initializer 'w' is sparse, and a Reshape takes only dense tensors"),
        (initializer(data_location=1), "initializer 'w' keeps its data in another file; onnx.load reads that too"),
        (initializer(dims=[-1], data_type=1, float_data=[1]), "initializer 'w' has the dims [-1]"),
        (model_of(CALL), "the model defines functions (twice): inline them first, with onnx.inliner"),
        (imports(("", 29)), "ONNX opset 29 is unknown: onereshape knows 1 to 28"),
        (imports(("local", 1)), "exactly one opset of ONNX must be imported, not none"),
        (imports(("", 13), ("ai.onnx", 14)), "exactly one opset of ONNX must be imported, not [13, 14]"),
        ("model.onnx", "a ModelProto is needed, not a str; onnx.load reads a file"),
    ],
)
def test_refused_models(model: Any, sentence: str) -> None:
    assert refused(model) == sentence


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        ([X], "1 input(s) were given, but 2 are needed: [x, s]"),
        ([X, X, X], "3 input(s) were given, but 2 are needed: [x, s]"),
        ({"x": X, "shape": X}, "there is no input 'shape': the inputs are [x, s]"),
        ({"x": X}, "the input 's' is not given"),
    ],
)
def test_refused_inputs(inputs: Any, sentence: str) -> None:
    model = model_of(PLAIN)
    for run in (onnx_backend.prepare(model).run, lambda given: onnx_backend.run_node(model.graph.node[0], given)):
        with pytest.raises(ReshapeError) as caught:
            run(inputs)
        assert str(caught.value) == f"{sentence}  [unsupported-model]"


def test_refused_calls() -> None:
    model = model_of(PLAIN)
    one = model.graph.node[0]

    assert [device for device in ("CPU", "CPU:0", "CUDA", "") if onnx_backend.supports_device(device)] == [
        "CPU",
        "CPU:0",
    ]
    with pytest.raises(ReshapeError, match="device 'CUDA': this backend runs only on CPU"):
        onnx_backend.prepare(model, "CUDA")
    with pytest.raises(ReshapeError, match=r"ONNX opset 13\.5 is unknown"):
        onnx_backend.run_node(one, [X, X], opset_version=13.5)
    with pytest.raises(ReshapeError, match="input 's' is of type list, not a NumPy array"):
        onnx_backend.run_node(one, [X, [4, 6]])
    with pytest.raises(ReshapeError, match="the shape tensor has type float"):
        onnx_backend.run_node(one, [X, X])
