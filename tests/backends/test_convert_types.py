"""`convert --node` where a file does not declare what a Reshape takes: types and ranks are inferred, not made up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, checker

from onereshape.backends.convert.extract import extract
from onereshape.backends.convert.inferred import completed
from onereshape.formats.model import load
from onereshape.ground import dtypes
from tests.backends.converting import Captured, here, refused, run_onednn, run_onnx, run_openvino, said
from tests.engines.onednn_engines import UNSUPPORTED, RefusedError, takes
from tests.models import model, write

__all__ = ["here"]  # a fixture, for pytest to find

FUNCTIONS = """
<domain: "local", opset_import: ["" : 21]>
Flat (v) => (w) { s = Constant<value_ints: ints = [-1]>()  w = Reshape(v, s) }
"""

BRANCHES = """{ y = If (c) <
    then_branch = t () => (int64[a] p) { s = Constant<value_ints: ints = [-1]>()  h = Add(x, x)  p = Reshape(h, s) },
    else_branch = e () => (int64[a] q) { s = Constant<value_ints: ints = [12]>()  q = Reshape(x, s) }> }"""

MODELS: dict[str, tuple[str, Any, str, str, str]] = {
    # the type of data, its dims, inputs, the type of the output, nodes
    "sums": ("int64", (2, 6), "int64[2, 6] x", "int64", "{ h = Add(x, x)  y = Reshape(h, s) }"),
    "a shape": ("int64", (3,), "float[2, N, 6] x", "int64", "{ h = Shape(x)  i = Reshape(h, s)  y = Neg(i) }"),
    "a comparison": ("bool", (2, "N"), "float[2, N] x", "bool", "{ h = Less(x, x)  y = Reshape(h, s) }"),
    "a cast": ("float16", (2, "N"), "float[2, N] x", "float16", "{ h = Cast<to = 10>(x)  y = Reshape(h, s) }"),
    "several casts": (
        "int32",
        (2, "N"),
        "float[2, N] x",
        "float",
        "{ h = Cast<to = 6>(x)  i = Neg(h)  j = Reshape(i, s)  y = Cast<to = 1>(j) }",
    ),
    "indices": ("int64", (2, 1), "float[2, 6] x", "int64", "{ h = ArgMax<axis = 1>(x)  y = Reshape(h, s) }"),
    "bytes": ("uint8", (2, "N"), "float[2, N] x", "uint8", "{ h, i, j = DynamicQuantizeLinear(x)  y = Reshape(h, s) }"),
    "a constant": ("double", (2, 2), "float[2] x", "double", "<double[2, 2] c = {1, 2, 3, 4}> { y = Reshape(c, s) }"),
    "a branch": ("int64", (2, 6), "int64[2, 6] x, bool c", "int64", BRANCHES),
    "a function": ("int32", (2, 6), "int32[2, 6] x", "int32", "{ h = Neg(x)  y = local.Flat(h) }" + FUNCTIONS),
    "its output alone": ("int32", None, "float[2, 6] x", "int32", "{ h = other.Ours(x)  y = Reshape(h, s) }"),
}
HEADER = '<ir_version: 10, opset_import: ["" : 21, "local" : 1, "other" : 1]>'


def source(case: str) -> str:
    """The file; its Reshape is the first one."""
    _, _, inputs, output, nodes = MODELS[case]
    constant = "" if nodes is BRANCHES else "<int64[1] s = {-1}>"
    body = f"g ({inputs}) => ({output}[a] y) {constant} {nodes}".replace("> <", ", ")
    proto = model(body, HEADER)
    assert not proto.graph.value_info
    return write(proto, Path("m.onnx"))


def only(path: str) -> str:
    return load(path).reshapes[0].place


@pytest.mark.parametrize("case", MODELS)
def test_the_type_is_inferred(case: str) -> None:
    kind, dims, *_ = MODELS[case]
    path = source(case)
    (step,) = extract(load(path), only(path), "onnx-21").steps

    assert (step.data.type.onnx, step.output.type.onnx, step.assumed) == (kind, kind, False)
    assert step.data.dims == dims


@pytest.mark.parametrize("case", [case for case in MODELS if MODELS[case][1] is not None])
def test_what_is_written_has_that_type_and_passes_the_checker(case: str, capsys: Captured) -> None:
    path = source(case)
    kind = dtypes.named(MODELS[case][0])
    assert kind is not None
    told = json.loads(said(capsys, path, "--node", only(path), "--to", "onnx-18", "-o", "o.onnx", "--json"))
    proto = onnx.load("o.onnx")
    checker.check_model(proto, full_check=True)

    assert [node["type_assumed"] for node in told["nodes"]] == [False]
    for value in (proto.graph.input[0], proto.graph.output[0]):
        assert value.type.tensor_type.elem_type == TensorProto.DataType.Value((kind.onnx or "").upper())
    data = [7 if isinstance(dim, str) else dim for dim in MODELS[case][1]]
    x = (np.arange(np.prod(data)) % 2).astype(kind.numpy).reshape(data)
    assert np.array_equal(run_onnx("o.onnx", x).ravel(), x.ravel())


GOLDEN = {
    "openvino": "h: onnx Reshape-21 [-1] -> openvino Reshape-1 [-1] special_zero=true, written to o.xml",
    "onnx-18": "h: onnx Reshape-21 [-1] -> onnx Reshape-14 [-1], written to o.onnx",
}


def int64_source() -> str:
    proto = model("g (int64[2, 6] x) => (int64[a] y) <int64[1] s = {-1}> { h = Add(x, x)  y = Reshape(h, s) }")
    proto.graph.node[1].name = "h"
    return write(proto, Path("m.onnx"))


@pytest.mark.parametrize(("to", "out", "run"), [("openvino", "o.xml", run_openvino), ("onnx-18", "o.onnx", run_onnx)])
def test_an_int64_model_stays_one(to: str, out: str, run: Any, capsys: Captured) -> None:
    assert said(capsys, int64_source(), "--node", "h", "--to", to, "-o", out) == GOLDEN[to]
    (node,) = load(out).reshapes
    x = np.arange(12).reshape(2, 6) + 2**24 + 1  # which float32 has not

    assert node.element_type in {"i64", "int64"}
    got = run(out, x)
    assert (got.dtype, got.tolist()) == (np.int64, x.ravel().tolist())


@pytest.mark.parametrize(
    ("body", "to", "out", "message"),
    [
        (
            "g (int64[2, 6] x) => (int64[a] y) <int64[1] s = {-1}> { h = Add(x, x)  y = Reshape(h, s) }",
            "onednn-static",
            "o.json",
            "data of type int64 cannot be said in onednn StaticReshape-1: onednn StaticReshape-1 does not take it; "
            "it can be said in",
        ),
        (
            "g (double[2, 6] x) => (double[a] y) <int64[1] s = {-1}> { h = Neg(x)  y = Reshape(h, s) }",
            "onednn-reshape",
            "o.json",
            "data of type float64 cannot be said in onednn Reshape-1: onednn Reshape-1 does not take it; ",
        ),
        (
            "g (complex64[2, 6] x) => (complex64[a] y) <int64[1] s = {-1}> { h = Identity(x)  y = Reshape(h, s) }",
            "openvino",
            "o.xml",
            "data of type complex64 cannot be said in openvino Reshape-1: openvino Reshape-1 does not take it; ",
        ),
        (
            "g (int32[2, 6] x) => (int32[a] y) <int64[1] s = {-1}> { h = Neg(x)  y = Reshape(h, s) }",
            "onnx-4",
            "o.onnx",
            "data of type int32 cannot be said in onnx Reshape-1: onnx Reshape-1 does not take it; ",
        ),
    ],
)
def test_what_a_dialect_lacks_is_refused(body: str, to: str, out: str, message: str, capsys: Captured) -> None:
    path = write(model(body), Path("m.onnx"))
    code, told = refused(capsys, path, "--node", only(path), "--to", to, "-o", out)

    assert code == 1
    assert told.startswith(message)


def test_a_float16_model_in_onednn(capsys: Captured) -> None:
    path = source("a cast")
    said(capsys, path, "--node", only(path), "--to", "onednn-static", "-o", "o.json")
    (node,) = load("o.json").reshapes
    assert node.element_type == "f16"
    x = np.arange(14, dtype=np.float16).reshape(2, 7)
    if takes("f16"):
        got = run_onednn("o.json", x)
        assert (got.dtype, got.tolist()) == (np.float16, x.ravel().tolist())
    else:
        with pytest.raises(RefusedError, match=UNSUPPORTED):
            run_onednn("o.json", x)


class TestRanks:
    """What the checker of ONNX asks for."""

    def test_of_data_and_of_a_target_at_run_time(self, capsys: Captured) -> None:
        proto = model(
            """g (float[N, 6] x, int64[2] t) => (float[a, b] y)
            { h = Transpose<perm = [1, 0]>(x)  u = Identity(t)  y = Reshape(h, u) }"""
        )
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        path = write(proto, Path("m.onnx"))
        said(capsys, path, "--node", only(path), "--to", "onnx-18", "-o", "o.onnx")
        x = np.arange(12, dtype=np.float32).reshape(6, 2)

        assert [dim.dim_param for dim in onnx.load("o.onnx").graph.input[0].type.tensor_type.shape.dim] == ["", "N"]
        assert run_onnx("o.onnx", x, np.array([3, -1])).shape == (3, 4)

    def test_a_size_that_only_inference_names_is_left_open(self, capsys: Captured) -> None:
        path = write(
            model(
                """g (float[6] x, bool[6] c) => (float[a, b] y) <int64[2] s = {-1, 1}>
                { h = Compress(x, c)  y = Reshape(h, s) }"""
            ),
            Path("m.onnx"),
        )
        said(capsys, path, "--node", only(path), "--to", "onnx-18", "-o", "o.onnx")
        (dim,) = onnx.load("o.onnx").graph.input[0].type.tensor_type.shape.dim

        assert not dim.HasField("dim_value")
        assert dim.dim_param == ""
        assert run_onnx("o.onnx", np.ones(4, np.float32)).shape == (4, 1)

    def test_one_that_nobody_knows(self, capsys: Captured) -> None:
        path = source("its output alone")
        code, told = refused(capsys, path, "--node", only(path), "--to", "onnx-18", "-o", "o.onnx")

        assert (code, told.partition(",")[0]) == (2, "o.onnx: the rank of data is not known")


def test_nodes_that_are_out_of_order() -> None:
    """As some released files have them."""
    proto = model("g (int64[2, 6] x) => (int64[a] y) <int64[1] s = {-1}> { h = Add(x, x)  y = Reshape(h, s) }")
    proto.graph.node.insert(0, proto.graph.node.pop())
    path = write(proto, Path("m.onnx"))
    (step,) = extract(load(path), only(path), "onnx-21").steps

    assert (step.data.type.onnx, step.data.dims) == ("int64", (2, 6))


def test_what_is_declared_is_taken_as_it_is() -> None:
    """The file is the authority where it speaks; nothing is inferred, and nothing looked at twice."""
    proto = model("g (int64[2, 6] x) => (int64[a] y) <int64[1] s = {-1}> { h = Add(x, x)  y = Reshape(h, s) }")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("h", TensorProto.INT64, ["K", 6]))
    path = write(proto, Path("m.onnx"))
    (step,) = extract(load(path), only(path), "onnx-21").steps

    assert step.data.dims == ("K", 6)


CORPUS = sorted((Path(__file__).parent.parent / "data" / "corpus").glob("*.onnx"))[::6]


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_real_exports_as_onnx_infers_them(path: Path) -> None:
    """onnx's own inference knows the types too, and shares no code with ours."""
    loaded = load(str(path))
    graph = onnx.shape_inference.infer_shapes(onnx.load(path, load_external_data=False)).graph
    theirs = {value.name: value.type.tensor_type.elem_type for value in (*graph.value_info, *graph.input)}
    for node in loaded.reshapes[:12]:
        told = completed(loaded, node)
        name = node.node.inputs[0].name
        if name in theirs:
            assert TensorProto.DataType.Value((told.element_type or "").upper()) == theirs[name], node.place


def test_there_are_real_exports() -> None:
    assert len(CORPUS) > 6
