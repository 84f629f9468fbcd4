"""Converting: what is written runs in the engines and gives what `reshape` gives, or nothing is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino
import pytest
from onnx import checker, helper

import onereshape
from onereshape.formats.model import load, refreshed
from onereshape.formats.model_data import ReshapeNode
from onereshape.ground.errors import ReshapeError, TranslateError
from tests.backends.converting import (
    UNKNOWN,
    Captured,
    here,
    onnx_source,
    refused,
    run_onednn,
    run_onnx,
    run_openvino,
    said,
)
from tests.models import external, model, write

__all__ = ["here"]  # a fixture, for pytest to find


# One Reshape in every dialect


def openvino_source(dims: Any, words: Any, copies: bool, dtype: str = "float") -> str:
    from openvino import opset13 as ops

    kinds = {"float": "f32", "float16": "f16", "int8": "i8", "bfloat16": "bf16", "int64": "i64", "bool": "boolean"}
    shape = openvino.PartialShape([dim if isinstance(dim, int) else -1 for dim in dims])
    data = ops.parameter(shape, getattr(openvino.Type, kinds[dtype]), name="x")
    target = ops.parameter([2], openvino.Type.i64) if words is None else ops.constant(np.array(words, np.int64))
    result = ops.reshape(data, target, special_zero=copies, name="r")
    inputs = [data, target] if words is None else [data]
    openvino.serialize(openvino.Model([result], inputs, "m"), "source.xml")
    return "source.xml"


def tensor(number: int, dims: Any, dtype: str) -> dict[str, Any]:
    shape = [dim if isinstance(dim, int) else UNKNOWN for dim in dims]
    return {"id": number, "dtype": dtype, "shape": shape, "stride": shape, "layout_type": "strided"}


def onednn_source(dims: Any, words: Any, copies: bool, dtype: str = "float") -> str:
    kind = {"float": "f32", "float16": "f16", "int8": "s8", "bfloat16": "bf16"}[dtype]
    attributes: dict[str, Any] = {"special_zero": {"type": "bool", "value": int(copies)}}
    inputs = [tensor(0, dims, kind)]
    if words is None:
        inputs.append(tensor(1, [2], "s64"))
    else:
        attributes["shape"] = {"type": "s64[]", "value": list(words)}
    operator = {"id": 1, "name": "r", "kind": "Reshape" if words is None else "StaticReshape", "attrs": attributes}
    operator |= {"inputs": inputs, "outputs": [tensor(2, [UNKNOWN], kind)]}
    graph = {"version": "3.3.0", "input_ports": [0], "output_ports": [2], "graph": [operator]}
    Path("source.json").write_text(json.dumps(graph), encoding="utf-8")
    return "source.json"


SOURCES = {"onnx": onnx_source, "openvino": openvino_source, "onednn": onednn_source}
NATIVE = {"onnx": "onnx-21", "openvino": "openvino", "onednn": "onednn-static"}
DESTINATIONS = {
    "onnx-1": ("out.onnx", run_onnx),
    "onnx-5": ("out.onnx", run_onnx),
    "onnx-17": ("out.onnx", run_onnx),
    "onnx": ("out.onnxtxt", None),
    "openvino": ("out.xml", run_openvino),
    "onednn-static": ("out.json", run_onednn),
}
CASES: dict[str, tuple[Any, tuple[int, ...], tuple[int, ...] | None, bool]] = {
    #          declared dims     data run         target        0 copies
    "plain": ((2, 3, 4), (2, 3, 4), (4, 6), True),
    "copied": ((2, 3, 4), (2, 3, 4), (0, -1), True),
    "named": (("N", 3, 4), (5, 3, 4), (-1, 12), True),
    "named copy": (("N", 3, "M"), (5, 3, 2), (0, 0, 0, 1), True),
    "literal": ((0, 3, 4), (0, 3, 4), (3, 4, 0), False),
    "scalar": ((1, 1), (1, 1), (), True),
    "run time": ((2, 3, 4), (2, 3, 4), None, True),
    "run time, unknown": ((2, "N"), (2, 9), None, False),
}


def answered(run: Any, path: str, *feeds: Any) -> Any:
    if run is not None:
        return run(path, *feeds)
    write(onnx.parser.parse_model(Path(path).read_text(encoding="utf-8")), Path("text.onnx"))
    return run_onnx("text.onnx", *feeds)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("to", DESTINATIONS)
@pytest.mark.parametrize("source", SOURCES)
def test_one_reshape_everywhere(source: str, to: str, case: str, capsys: Captured) -> None:
    dims, data, words, copies = CASES[case]
    path = SOURCES[source](dims, words, copies)
    out, run = DESTINATIONS[to]
    if words is None and onereshape.spec(to).target_in == "attribute":
        code, message = refused(capsys, path, "--node", "r", "--to", to, "-o", out)
        assert (code, message.partition(" cannot")[0]) == (1, "a target known only at run time")
        return
    if words is None and not copies and to == "onnx-5":
        code, message = refused(capsys, path, "--node", "r", "--to", to, "-o", out)
        assert (code, message.partition(" cannot")[0]) == (1, "a literal 0 at run time")
        return
    line = said(capsys, path, "--node", "r", "--to", to, "-o", out)
    assert line.startswith(f"r: {onereshape.spec(NATIVE[source]).dialect} ")
    assert line.endswith(f", written to {out}")
    x = np.arange(np.prod(data), dtype=np.float32).reshape(data)
    target = np.array([data[1], -1] if words is None else words, np.int64)
    native = NATIVE[source]
    flag = {"allowzero": int(not copies)} if native == "onnx-21" else {"special_zero": copies}
    expected = onereshape.reshape(x, target, native, **flag)
    got = answered(run, out, x, *([target] if words is None else []))

    assert got.dtype == x.dtype
    assert got.shape == expected.shape
    assert np.array_equal(got, expected)


@pytest.mark.parametrize("to", ["onednn-reshape", "onednn-dynamic"])
def test_a_run_time_target_in_onednn(to: str, capsys: Captured) -> None:
    path = onnx_source((2, 3, 4), None, copies=True)
    said(capsys, path, "--node", "r", "--to", to, "-o", "out.json")
    (node,) = load("out.json").reshapes
    x = np.zeros((2, 3, 4), np.float32)

    assert (node.target, node.target_type) == ((None, None), {"onednn-reshape": "s64", "onednn-dynamic": "s32"}[to])
    assert run_onednn("out.json", x, np.array([0, -1])).shape == (2, 12)


@pytest.mark.parametrize(
    ("dtype", "numpy"),
    [("float16", np.float16), ("int8", np.int8), ("bfloat16", ml_dtypes.bfloat16), ("int64", np.int64), ("bool", bool)],
)
@pytest.mark.parametrize(("to", "out"), [("onnx-17", "out.onnx"), ("openvino", "out.xml"), ("onednn-static", "o.json")])
def test_the_element_type_is_kept_or_refused(dtype: str, numpy: Any, to: str, out: str, capsys: Captured) -> None:
    for source in (onnx_source, openvino_source):
        path = source((2, 3), (3, 2), True, dtype)
        if to == "onednn-static" and dtype not in {"float16", "bfloat16"}:
            code, message = refused(capsys, path, "--node", "r", "--to", to, "-o", out)
            assert code == 1
            assert "onednn StaticReshape-1 does not take it" in message
            continue
        said(capsys, path, "--node", "r", "--to", to, "-o", out)
        (node,) = load(out).reshapes
        (before,) = load(path).reshapes
        kinds = [onereshape.ground.dtypes.named(each.element_type or "") for each in (node, before)]
        assert kinds[0] == kinds[1]
        x = np.arange(6).reshape(2, 3).astype(numpy)
        if dtype != "bfloat16" and to != "onednn-static":
            got = (run_onnx if to == "onnx-17" else run_openvino)(out, x)
            assert np.array_equal(got, x.reshape(3, 2))


def test_an_unknown_type_is_said(capsys: Captured) -> None:
    proto = model(
        """g (float[2, 6] x) => (float[a, b] y) <int64[2] s = {-1, 3}>
        { h = local.F(x)  i = Reshape(h, s)  y = local.F(i) }"""
    )
    proto.graph.node[1].name = "r"
    write(proto, Path("m.onnx"))
    expected = (
        "r: onnx Reshape-21 [-1, 3] -> openvino Reshape-1 [-1, 3] special_zero=true, written to o.xml "
        "(its type is not in the file: float32)"
    )
    assert said(capsys, "m.onnx", "--node", "r", "--to", "openvino", "-o", "o.xml") == expected
    assert run_openvino("o.xml", np.zeros((5, 6), np.float32)).shape == (10, 3)


class TestDims:
    """The dims of the model stay, as far as the other format has words for them."""

    def only(self, path: str) -> ReshapeNode:
        (node,) = load(path).reshapes
        return node

    def test_names(self, capsys: Captured) -> None:
        path = onnx_source(("N", 6, "2*K"), (0, -1), copies=True)
        for to, out, expected in (
            ("onnx-17", "o.onnx", ("N", 6, None)),
            ("openvino", "o.xml", (None, 6, None)),
            ("onednn-static", "o.json", (None, 6, None)),
        ):
            if to == "openvino":
                assert refused(capsys, path, "--node", "r", "--to", to, "-o", out)[0] == 1  # N may be 0
                continue
            said(capsys, path, "--node", "r", "--to", to, "-o", out)
            assert self.only(out).data == expected

    def test_intervals(self, capsys: Captured) -> None:
        from openvino import opset13 as ops

        dims = openvino.PartialShape([openvino.Dimension(1, 8), 6, openvino.Dimension(2, -1), -1])
        data = ops.parameter(dims, openvino.Type.f32)
        result = ops.reshape(data, ops.constant(np.array([0, 3, -1])), special_zero=True, name="r")
        openvino.serialize(openvino.Model([result], [data], "m"), "m.xml")
        said(capsys, "m.xml", "--node", "r", "--to", "openvino", "-o", "o.xml")

        assert self.only("o.xml").data == ((1, 8), 6, (2, None), None)

    def test_unknown_rank(self, capsys: Captured) -> None:
        path = onnx_source(None, (-1, 3), copies=True)
        x = np.zeros((2, 6), np.float32)
        said(capsys, path, "--node", "r", "--to", "openvino", "-o", "o.xml")
        assert run_openvino("o.xml", x).shape == (4, 3)
        expected = (
            "o.onnx: the rank of data is not known, and onnx.checker takes no input or output without one  [unwritable]"
        )
        for source in (path, "o.xml"):
            assert refused(capsys, source, "--node", "r", "--to", "onnx-17", "-o", "o.onnx") == (2, expected)
        said(capsys, path, "--node", "r", "--to", "onednn-static", "-o", "o.json")
        assert self.only("o.json").data is None

    def test_dims_prove_words_that_are_not_the_same(self, capsys: Captured) -> None:
        """A literal 0 is a copied one where data has a 0 there."""
        path = onnx_source((0, 3), (0, 7), copies=False)
        expected = "r: onnx Reshape-21 [0, 7] allowzero=1 -> onnx Reshape-5 [0, 7], written to o.onnx"
        assert said(capsys, path, "--node", "r", "--to", "onnx-5", "-o", "o.onnx") == expected
        assert run_onnx("o.onnx", np.zeros((0, 3), np.float32)).shape == (0, 7)


@pytest.mark.parametrize("opset", range(1, 29))
def test_the_opset_that_was_typed(opset: int, capsys: Captured) -> None:
    path = onnx_source((2, 3, 4), (0, -1), copies=True)
    said(capsys, path, "--node", "r", "--to", f"onnx-{opset}", "-o", "o.onnx")
    proto = onnx.load("o.onnx")
    checker.check_model(proto, full_check=True)

    assert [(entry.domain, entry.version) for entry in proto.opset_import] == [("", opset)]
    assert proto.graph.node[0].name == "r"
    if opset <= 26:  # the newest that this onnxruntime knows
        assert run_onnx("o.onnx", np.zeros((2, 3, 4), np.float32)).shape == (2, 12)


def test_json(capsys: Captured) -> None:
    path = onnx_source((0, 3), (3, 0), copies=False)
    expected = {
        "json_version": 1,
        "input": path,
        "written": "o.xml",
        "opset": None,
        "nodes": [
            {
                "name": "r",
                "before": {"spec": "onnx-21", "target": [3, 0], "attributes": {"allowzero": 1}},
                "after": {"spec": "openvino", "target": [3, 0], "attributes": {"special_zero": False}},
                "type_assumed": False,
            }
        ],
        "proof": None,
    }
    assert json.loads(said(capsys, path, "--node", "r", "--to", "openvino", "-o", "o.xml", "--json")) == expected


class TestWholeFiles:
    def chain(self) -> str:
        proto = model(
            """g (float[4, 6] x, int64[2] t) => (float[4, 2, 3] y, float[a, b] z)
            <int64[3] s = {-1, 2, 3}, int64[2] u = {2, -1}>
            { h = Reshape(x, s)  y = Identity2(h) z = Reshape(h, t) }"""
        )
        del proto.graph.node[1]
        proto.graph.node.insert(1, helper.make_node("Reshape", ["h", "s"], ["y"], name="second"))
        proto.graph.node[0].name, proto.graph.node[2].name = "first", "third"
        return write(proto, Path("chain.onnx"))

    def test_there_and_back(self, capsys: Captured) -> None:
        path = self.chain()
        x, t = np.arange(24, dtype=np.float32).reshape(4, 6), np.array([3, -1])
        lines = said(capsys, path, "--to", "openvino", "-o", "chain.xml").splitlines()
        expected = "onnx Reshape-21 [-1, 2, 3] -> openvino Reshape-1 [-1, 2, 3] special_zero=true, written to chain.xml"
        assert lines[:2] == [f"first: {expected}", f"second: {expected}"]
        assert "third: onnx Reshape-21 with its target at run time -> openvino Reshape-1" in lines[2]
        said(capsys, "chain.xml", "--to", "onnx-17", "-o", "again.onnx")
        for path_, run in (("chain.onnx", run_onnx), ("chain.xml", run_openvino), ("again.onnx", run_onnx)):
            assert np.array_equal(run(path_, x, t), x.reshape(4, 2, 3))

    def test_dims_of_the_step_before_prove_the_next(self, capsys: Captured) -> None:
        """The second 0 copies a dim that only the first Reshape says: it is never 0."""
        proto = model(
            """g (float[2, 12] x) => (float[a, b] y) <int64[3] s = {2, 3, 4}, int64[2] u = {0, -1}>
            { h = Reshape(x, s)  y = Reshape(h, u) }"""
        )
        write(proto, Path("m.onnx"))
        for to, out in (("openvino", "m.xml"), ("onednn-static", "m.json")):
            said(capsys, "m.onnx", "--to", to, "-o", out)
        x = np.arange(24, dtype=np.float32).reshape(2, 12)
        assert np.array_equal(run_openvino("m.xml", x), x)
        assert [node.data for node in load("m.json").reshapes] == [(2, 12), (2, 3, 4)]
        said(capsys, "m.json", "--to", "onnx-4", "-o", "o.onnx")
        assert np.array_equal(run_onnx("o.onnx", x), x)

    def test_another_node(self, capsys: Captured) -> None:
        proto = model("g (float[2, 6] x) => (float[3, 4] y) <int64[2] s = {3, 4}> { h = Relu(x) y = Reshape(h, s) }")
        write(proto, Path("m.onnx"))
        expected = (
            "m.onnx: Relu h is no Reshape; the file converts whole only if it holds nothing but Reshapes and their "
            "constants: take one Reshape with --node NAME  [unsupported-model]"
        )
        assert refused(capsys, "m.onnx", "--to", "openvino", "-o", "o.xml") == (2, expected)

    def test_constant_data(self, capsys: Captured) -> None:
        proto = model("g () => (float[2] y) <int64[1] s = {2}, float[2, 1] w = {1, 2}> { y = Reshape(w, s) }")
        write(proto, Path("m.onnx"))
        code, message = refused(capsys, "m.onnx", "--to", "openvino", "-o", "o.xml")
        assert (code, message.partition(";")[0]) == (2, "m.onnx: the data of graph/Reshape#0 are a constant")


class TestNames:
    def twins(self) -> str:
        proto = model(
            """g (float[2, 6] x) => (float[a, b] y) <int64[2] s = {3, 4}, int64[2] t = {0, 3}>
            { h = Reshape(x, s)  i = Reshape(h, s)  y = Reshape(i, s) }"""
        )
        for node, name in zip(proto.graph.node, ("decoder/attn", "twin", "twin"), strict=True):
            node.name = name
        return write(proto, Path("m.onnx"))

    def test_the_nearest(self, capsys: Captured) -> None:
        expected = "m.onnx: no Reshape is named 'decoder/Atn' (did you mean 'decoder/attn'?)  [bad-usage]"
        assert refused(capsys, self.twins(), "--node", "decoder/Atn", "--to", "onnx", "-o", "o.onnx") == (2, expected)
        expected = "m.onnx: no Reshape is named 'q'; there is 'decoder/attn' and 1 more  [bad-usage]"
        assert refused(capsys, self.twins(), "--node", "q", "--to", "onnx", "-o", "o.onnx") == (2, expected)

    def test_several(self, capsys: Captured) -> None:
        expected = (
            "m.onnx: 2 Reshapes are named 'twin'; take one by its place: graph/Reshape#1, graph/Reshape#2  [bad-usage]"
        )
        assert refused(capsys, self.twins(), "--node", "twin", "--to", "onnx", "-o", "o.onnx") == (2, expected)
        for place in ("graph/Reshape#2", "Reshape#2"):
            line = said(capsys, self.twins(), "--node", place, "--to", "onnx", "-o", "o.onnx")
            assert line.startswith("twin: onnx Reshape-21 [3, 4]")

    def test_none(self, capsys: Captured) -> None:
        write(model("g (float[2] x) => (float[2] y) { y = Relu(x) }"), Path("m.onnx"))
        assert refused(capsys, "m.onnx", "--node", "r", "--to", "onnx", "-o", "o.onnx") == (
            2,
            "m.onnx has no Reshape  [bad-usage]",
        )

    def test_a_name_with_everything_in_it(self, capsys: Captured) -> None:
        proto = onnx.load(onnx_source((2, 3), (3, 2), copies=True))
        proto.graph.node[0].name = name = 'a/b,c\\d <"&>'
        write(proto, Path("m.onnx"))
        said(capsys, "m.onnx", "--node", name, "--to", "openvino", "-o", "o.xml")
        run_openvino("o.xml", np.zeros((2, 3), np.float32))
        assert load("o.xml").reshapes[0].name == name


class TestFiles:
    def test_the_suffix_contradicts(self, capsys: Captured) -> None:
        path = onnx_source((2, 3), (3, 2), copies=True)
        expected = "o.onnx: a model of openvino Reshape-1 is written to a name that ends in .xml  [bad-usage]"
        assert refused(capsys, path, "--node", "r", "--to", "openvino", "-o", "o.onnx") == (2, expected)

    def test_the_input_itself(self, capsys: Captured) -> None:
        path = onnx_source((2, 3), (3, 2), copies=True)
        Path("link.onnx").symlink_to(path)
        before = Path(path).read_bytes()
        expected = "link.onnx is the input itself, which is never changed: name another OUT  [bad-usage]"
        for more in ((), ("--node", "r")):
            assert refused(capsys, path, *more, "--to", "onnx-13", "-o", "link.onnx") == (2, expected)
        assert Path(path).read_bytes() == before

    def test_the_weights_of_the_input(self, capsys: Captured) -> None:
        proto = onnx.load(onnx_source((2, 3), (3, 2), copies=True))
        proto.graph.initializer.append(external("w", [4], "w.bin"))
        Path("w.bin").write_bytes(bytes(16))
        write(proto, Path("m.onnx"))
        expected = "w.bin holds the weights of m.onnx, which are never changed: name another OUT  [bad-usage]"
        assert refused(capsys, "m.onnx", "--node", "r", "--to", "openvino", "-o", "w.xml") == (2, expected)

    def test_no_such_folder(self, capsys: Captured) -> None:
        path = onnx_source((2, 3), (3, 2), copies=True)
        for to, out in (("openvino", "no/o.xml"), ("onnx-13", "no/o.onnx"), ("onednn-static", "no/o.json")):
            expected = f"{out}: its folder does not exist  [unwritable]"
            assert refused(capsys, path, "--node", "r", "--to", to, "-o", out) == (2, expected)

    def test_a_bin_that_cannot_be_written_leaves_no_xml(self, capsys: Captured) -> None:
        path = onnx_source((2, 3), (3, 2), copies=True)
        Path("o.bin").mkdir()
        expected = "o.bin: is a folder  [unwritable]"
        assert refused(capsys, path, "--node", "r", "--to", "openvino", "-o", "o.xml") == (2, expected)

    def test_the_view_is_that_of_the_file(self, capsys: Captured) -> None:
        path = onnx_source((2, 3), (3, 2), copies=True)
        for to, out in (("openvino", "o.xml"), ("onnx-13", "o.onnx"), ("onednn-static", "o.json")):
            said(capsys, path, "--node", "r", "--to", to, "-o", out)
            found = load(out)
            (node,) = found.reshapes
            assert refreshed(found).reshapes == found.reshapes
            assert (node.name, node.data, node.target, node.output) == ("r", (2, 3), (3, 2), (3, 2))

    def test_a_constant_target_where_files_hold_none(self, capsys: Captured) -> None:
        path = onnx_source((2, 3), (3, 2), copies=True)
        expected = (
            "the constant target [3, 2] cannot be said in a file of onednn Reshape-1: a oneDNN graph file holds no "
            "elements of tensors; it can be said in onednn-static  [untranslatable]"
        )
        assert refused(capsys, path, "--node", "r", "--to", "onednn-reshape", "-o", "o.json") == (1, expected)


def test_a_refusal_names_its_node() -> None:
    from onereshape.backends.convert.extract import extract

    path = onnx_source((2, "N"), (0, 7), copies=False)
    with pytest.raises(TranslateError) as caught:
        extract(load(path), "r", "onnx-5")
    assert caught.value.__notes__ == ["node    r"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("<int64[1, 2] s = {3, 4}> { y = Reshape(x, s) }", "unsupported-model"),
        ("<int32[2] s = {3, 4}> { y = Reshape(x, s) }", "shape-type"),
        ("{ y = Reshape(x) }", "target-missing"),
        ("<int64[2] s = {3, 5}> { y = Reshape(x, s) }", "volume"),
        ("<int64[2] s = {3, 4}> { y = Reshape<allowzero = 2>(x, s) }", "bad-attribute"),
    ],
)
def test_an_unsound_reshape(body: str, code: str) -> None:
    from onereshape.backends.convert.extract import extract

    write(model(f"g (float[2, 6] x) => (float[a, b] y) {body}"), Path("m.onnx"))
    with pytest.raises(ReshapeError) as caught:
        extract(load("m.onnx"), "graph/Reshape#0", "openvino")
    assert caught.value.code == code
