"""Changing the opset of a whole ONNX model: it computes the same, or is refused by the node that forbids it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import checker, numpy_helper

import onereshape
from onereshape.backends.convert.opset import Changed, _OpsetWork
from onereshape.backends.convert.unchanged import schema, unchanged
from tests.backends.converting import Captured, here, onnx_source, refused, run_onnx, said
from tests.models import external, model, write

__all__ = ["here"]  # a fixture, for pytest to find


def network(middle: str = "a = Add(v, v)  b = Relu(a)", more: str = "", opset: int = 21) -> str:
    header = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    proto = model(
        f"""g (float[N, 3, 6, 6] x) => (float[N, q] y) <int64[3] s = {{0, 4, -1}}{more}> {{
        c = Conv<kernel_shape = [3, 3], pads = [0, 0, 0, 0], strides = [1, 1], dilations = [1, 1]>(x, w)
        r = Reshape(c, s)  t = Transpose<perm = [0, 2, 1]>(r)  v = MatMul(t, k)
        {middle}
        s2 = Constant<value = int64[2] {{0, -1}}>()  y = Reshape(b, s2) }}""",
        header,
    )
    random = np.random.default_rng(0)
    for name, dims in (("w", (4, 3, 3, 3)), ("k", (4, 5))):
        proto.graph.initializer.append(numpy_helper.from_array(random.standard_normal(dims).astype(np.float32), name))
    return write(proto, Path(f"net{opset}.onnx"))


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", ["2", "0*N", "-1", "9" * 60, "(N+1)**99999", "(" * 3000 + "N" + ")" * 3000])
@pytest.mark.parametrize(("to", "words"), [("onnx-13", "[0, 6]"), ("onednn-static", "[0, 6] special_zero=true")])
def test_a_name_that_looks_like_a_number_is_a_name(name: str, to: str, words: str, capsys: Captured) -> None:
    proto = model("g (float[N, 6] x) => (float[a, b] y) <int64[2] t = {0, 6}> { y = Reshape(x, t) }")
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = name
    source = write(proto, Path("named.onnx"))

    out = said(capsys, source, "--to", to, "-o", "out.onnx" if to == "onnx-13" else "out.json")

    assert f" {words}, written to out." in out


X = np.random.default_rng(1).standard_normal((2, 3, 6, 6)).astype(np.float32)


class TestOpset:
    def test_down_and_up(self, capsys: Captured) -> None:
        path = network()
        expected = run_onnx(path, X)
        kinds = [node.op_type for node in onnx.load(path).graph.node if node.op_type != "Constant"]
        for opset in (14, 13, 12, 9, 8, 7, 5, 4, 1, 4, 5, 7, 9, 13, 14, 21, 25):
            out = f"{opset}-{Path(path).stem[:40]}.onnx"
            lines = said(capsys, path, "--to", f"onnx-{opset}", "-o", out).splitlines()
            proto = onnx.load(out)
            checker.check_model(proto, full_check=True)
            version = onereshape.spec(f"onnx-{opset}").version
            assert len(lines) == 3
            assert all(f"-> onnx Reshape-{version} [0, " in line for line in lines[:2])
            assert lines[2].startswith("proven: at N = ")
            assert lines[2].endswith(", 1 each output element is the same expression of the inputs")
            assert [node.op_type for node in proto.graph.node if node.op_type != "Constant"] == kinds
            assert [entry.version for entry in proto.opset_import] == [opset]
            if opset >= 7:  # onnxruntime has no older Add
                assert np.array_equal(run_onnx(out, X), expected)
            path = out

    def test_what_the_terms_say(self, capsys: Captured) -> None:
        """No named dim: one size; an operator without a record: nothing is said against it."""
        fixed = "g (float[2, 6] x) => (float[a, b] y) <int64[2] s = {3, -1}> { y = Reshape(x, s) }"
        write(model(fixed), Path("fixed.onnx"))
        write(model(fixed.replace("{ y = Reshape(x", "{ z = Bernoulli(x) y = Reshape(z")), Path("drawn.onnx"))

        assert said(capsys, "fixed.onnx", "--to", "onnx-19", "-o", "o.onnx").splitlines()[1:] == [
            "proven: each output element is the same expression of the inputs"
        ]
        assert said(capsys, "drawn.onnx", "--to", "onnx-19", "-o", "o.onnx").splitlines()[1].startswith("not proven: ")

    def test_what_an_old_operator_left_open_is_not_proven(self, capsys: Captured) -> None:
        body = """g (float[N, 2, 6, 6] x) => (float[a, b, c, d] y) <float[4] s = {1, 1, 1.7, 3}> {
            y = Resize<mode = "linear">(x, s)
        }"""
        write(model(body, '<ir_version: 8, opset_import: ["" : 10]>'), Path("m.onnx"))

        assert said(capsys, "m.onnx", "--to", "onnx-11", "-o", "o.onnx").splitlines() == [
            "no Reshape, written to o.onnx",
            "not proven: before opset 11 it is not said where a Resize takes its samples",
        ]

    def test_another_computation_is_refused(self, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
        """Planted: a product in place of a sum, which no node is compared for."""
        rewrite = _OpsetWork.rewrite

        def planted(work: _OpsetWork, changed: Changed) -> None:
            rewrite(work, changed)
            for node in work.model.ir.graph:
                node.op_type = "Mul" if node.op_type == "Add" else node.op_type

        monkeypatch.setattr(_OpsetWork, "rewrite", planted)
        _, why = refused(capsys, network(), "--to", "onnx-14", "-o", "o.onnx")

        assert "in opset 14 it is another computation: output 'y' is another expression at N = 2" in why
        assert not Path("o.onnx").exists()

    def test_the_oldest_opsets_run(self, capsys: Captured) -> None:
        path = network("b = Transpose<perm = [0, 2, 1]>(v)")
        expected = run_onnx(path, X)
        for opset in (5, 4, 1):
            said(capsys, path, "--to", f"onnx-{opset}", "-o", "o.onnx")
            proto = onnx.load("o.onnx")
            assert np.array_equal(run_onnx("o.onnx", X), expected)
            targets = [attribute.name for node in proto.graph.node for attribute in node.attribute]
            assert ("shape" in targets) == (opset < 5)
            assert sorted(tensor.name for tensor in proto.graph.initializer)[:2] == ["k", "s"] if opset >= 5 else ["k"]

    def test_what_onnx_converts(self, capsys: Captured) -> None:
        """Squeeze has its axes as an input since 13; Softmax of a matrix means the same on both sides."""
        path = network("q = Squeeze(u, z)  u = Unsqueeze(v, z)  b = Relu(q)", ", int64[1] z = {1}")
        proto = onnx.load(path)
        nodes = list(proto.graph.node)
        order = [*nodes[:4], nodes[5], nodes[4], *nodes[6:]]
        del proto.graph.node[:]
        proto.graph.node.extend(order)
        write(proto, Path(path))
        expected = run_onnx(path, X)
        said(capsys, path, "--to", "onnx-12", "-o", "o.onnx")
        axes = [node.attribute[0].name for node in onnx.load("o.onnx").graph.node if "squeeze" in node.op_type.lower()]
        assert axes == ["axes", "axes"]
        assert np.array_equal(run_onnx("o.onnx", X), expected)
        said(capsys, "o.onnx", "--to", "onnx-13", "-o", "up.onnx")
        assert np.array_equal(run_onnx("up.onnx", X), expected)

    def test_up_with_nodes_that_become_several(self, capsys: Captured) -> None:
        path = network("b = Softmax<axis = 1>(v)", opset=12)
        expected = run_onnx(path, X)
        said(capsys, path, "--to", "onnx-21", "-o", "o.onnx")
        assert len(onnx.load("o.onnx").graph.node) > 8
        assert np.allclose(run_onnx("o.onnx", X), expected, rtol=1e-5)

    def test_what_onnx_converts_wrongly(self, capsys: Captured) -> None:
        """From 13 to 12 its converter leaves a Softmax as it stands, which then runs over two axes."""
        path = network("b = Softmax<axis = 1>(v)")
        expected = (
            f"{path}: Softmax graph/Softmax#0 cannot be taken to opset 12: what onnx's converter makes of it gives "
            "another output at N = 4  [unsupported-model]"
        )
        assert refused(capsys, path, "--to", "onnx-12", "-o", "o.onnx") == (2, expected)

    def test_no_adapter(self, capsys: Captured) -> None:
        path = network("b = MaxPool<kernel_shape = [2]>(v)")
        expected = (
            f"{path}: MaxPool graph/MaxPool#0 cannot be taken to opset 9: onnx's converter says: No Adapter To Version "
            "9 for MaxPool  [unsupported-model]"
        )
        assert refused(capsys, path, "--to", "onnx-9", "-o", "o.onnx") == (2, expected)

    def test_types_that_the_older_version_lacks(self, capsys: Captured) -> None:
        proto = model("g (int16[2, 3] x) => (int16[3, 2] y) <int64[2] s = {3, 2}> { h = Add(x, x) y = Reshape(h, s) }")
        write(proto, Path("m.onnx"))
        code, message = refused(capsys, "m.onnx", "--to", "onnx-13", "-o", "o.onnx")
        assert (code, message.partition(": onnx")[0]) == (2, "m.onnx: Add graph/Add#0 cannot be taken to opset 13")
        code, message = refused(capsys, onnx_source((2,), (2,), True, "int64"), "--to", "onnx-4", "-o", "o.onnx")
        assert (code, message.partition(" cannot")[0]) == (1, "data of type int64")

    def test_a_literal_zero(self, capsys: Captured) -> None:
        path = onnx_source((0, 3), (0, 7), copies=False)
        said(capsys, path, "--to", "onnx-13", "-o", "o.onnx")
        assert run_onnx("o.onnx", np.zeros((0, 3), np.float32), check=False).shape == (0, 7)
        code, message = refused(capsys, onnx_source(("N", 0), (0, 0), copies=False), "--to", "onnx-13", "-o", "p.onnx")
        assert (code, message.partition(":")[0]) == (1, "target[0] = 0 cannot be said in onnx Reshape-13")

    def test_branches(self, capsys: Captured) -> None:
        header = '<ir_version: 8, opset_import: ["" : 15]>'
        body = """g (bool c, float[2, 6] x) => (float[a, b] y) <int64[2] s = {3, 4}> { y = If(c) <
            then_branch = t () => (float[p, q] z) { z = Reshape(x, s) },
            else_branch = e () => (float[p2, q2] u) { k = Constant<value = int64[2] {4, 3}>()  u = Reshape(x, k) }> }"""
        write(model(body, header), Path("m.onnx"))
        x = np.arange(12, dtype=np.float32).reshape(2, 6)
        path = "m.onnx"
        for opset in (13, 12, 11, 13, 15, 21):
            out = f"o{opset}{path}"
            said(capsys, path, "--to", f"onnx-{opset}", "-o", out)
            for flag, dims in ((True, (3, 4)), (False, (4, 3))):
                assert np.array_equal(run_onnx(out, np.array(flag), x), x.reshape(dims))
            path = out

    def test_functions(self, capsys: Captured) -> None:
        body = """g (float[2, 6] x) => (float[a, b] y) { y = local.f(x) }
            <domain: "local", opset_import: ["" : 15]> f (a) => (b) {
            k = Constant<value = int64[2] {4, 3}>()  b = Reshape(a, k) }"""
        write(model(body, '<ir_version: 8, opset_import: ["" : 15, "local" : 1]>'), Path("m.onnx"))
        x = np.arange(12, dtype=np.float32).reshape(2, 6)
        path = "m.onnx"
        for opset in (13, 12, 15, 21):
            out = f"o{opset}{path}"
            said(capsys, path, "--to", f"onnx-{opset}", "-o", out)
            proto = onnx.load(out)
            assert [entry.version for entry in proto.functions[0].opset_import] == [opset]
            assert np.array_equal(run_onnx(out, x), x.reshape(4, 3))
            path = out

    def test_external_weights_stay_where_they_are(self, capsys: Captured) -> None:
        proto = onnx.load(network())
        weights = proto.graph.initializer[1]
        Path("w.data").write_bytes(weights.raw_data)
        kept = external(weights.name, list(weights.dims), "w.data", offset=0, length=len(weights.raw_data))
        proto.graph.initializer[1].CopyFrom(kept)
        write(proto, Path("m.onnx"))
        said(capsys, "m.onnx", "--to", "onnx-13", "-o", "o.onnx")
        assert onnx.load("o.onnx", load_external_data=False).graph.initializer[1] == kept
        assert np.array_equal(run_onnx("o.onnx", X), run_onnx("net21.onnx", X))

    def test_other_domains_stay(self, capsys: Captured) -> None:
        body = "g (float[2, 6] x) => (float[a, b] y) <int64[2] s = {3, 4}> { h = local.Odd(x) y = Reshape(h, s) }"
        write(model(body), Path("m.onnx"))
        said(capsys, "m.onnx", "--to", "onnx-13", "-o", "o.onnx")
        proto = onnx.load("o.onnx")
        assert [(node.domain, node.op_type) for node in proto.graph.node] == [("local", "Odd"), ("", "Reshape")]
        assert {(entry.domain, entry.version) for entry in proto.opset_import} == {("", 13), ("local", 1)}


def test_words_that_are_the_same() -> None:
    """The comparison of texts says what is known of these versions."""
    import onnx_ir as ir

    def same(op_type: str, old: int, new: int) -> bool:
        data = ir.Value(name="x", type=ir.TensorType(ir.DataType.FLOAT), shape=ir.Shape([2, 3]))
        output = ir.Value(name="y", type=data.type, shape=data.shape)
        return unchanged(ir.Node("", op_type, [data, data], outputs=[output]), old, new, {})

    assert all(same(op_type, 14, 13) for op_type in ("Add", "Relu", "Mul"))
    assert all(same(op_type, 13, 12) for op_type in ("Add", "Relu", "MatMul", "Transpose", "Concat"))
    assert not any(same(op_type, 13, 12) for op_type in ("Softmax", "LogSoftmax", "Hardmax", "Split", "ReduceSum"))
    assert not same("GroupNormalization", 21, 20)
    assert not same("Resize", 11, 10)
    assert schema("Upsample", 10) is None
