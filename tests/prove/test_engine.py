"""Running models with ONNX Runtime: weights in other files, refusals, and how they are said."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.ground.isolation import room
from onereshape.ground.isolation.budget import Limits, limited
from onereshape.prove.engines.engine import Refusal, Session
from tests.models import external, model, write
from tests.prove.certifying import batch, built

_EINSUM = 'Einsum <equation = "ij,kj->ik"> (x, z)'


def test_weights_in_another_file(tmp_path: Path) -> None:
    table = np.random.default_rng(7).standard_normal((128, 128)).astype(np.float32)
    (tmp_path / "w.bin").write_bytes(table.tobytes())
    body = """(float[{n}, 2, 64] x) => (float[{n}, 128] y) <int64[2] k = {{{k}, 128}}> {{
        r = Reshape(x, k)
        y = MatMul(r, w)
    }}"""

    def linear(n: str, k: int) -> ir.Model:
        proto = model("agraph " + body.format(n=n, k=k))
        proto.graph.initializer.append(external("w", [128, 128], "w.bin", offset=0, length=table.nbytes))
        return ir.from_proto(proto)

    assert batch(linear("1", 1), linear("N", 0), base_dir=str(tmp_path)).holds
    with pytest.raises(FixError) as refused:
        batch(linear("1", 1), linear("N", 0), base_dir=str(tmp_path / "elsewhere"))
    assert refused.value.code == "engine-refused"
    assert str(tmp_path) not in str(refused.value)


def test_an_original_that_the_engine_does_not_know() -> None:
    body = "(float[1, 6] x) => (float[1, 6] y) { y = local.Foo(x) }"
    with pytest.raises(FixError) as refused:
        batch(built(body), built(body.replace("1, 6", "N, 6")))

    message = "onnxruntime cannot load the original model: Fatal error: local:Foo(-1) is not a registered function/op"
    assert str(refused.value) == message + "  [engine-refused]"
    assert not refused.value.usage


def test_an_original_that_never_runs() -> None:
    body = "(float[1, 6] x) => (float[a, b] y) <int64[2] k = {4, -1}> { y = Reshape(x, k) }"
    with pytest.raises(FixError, match="onnxruntime cannot "):
        batch(built(body), built(body.replace("[1, 6]", "[N, 6]")))


def test_weights_beyond_two_gigabytes() -> None:
    class Large(ir.LazyTensor):
        nbytes = 2**31

    large = built("(float[1, 6] x) => (float[1, 6] y) { y = Add(x, w) }", w=np.zeros((1, 6), np.float32))
    large.graph.initializers["w"].const_value = Large(lambda: None, ir.DataType.FLOAT, ir.Shape([1, 6]))  # type: ignore[arg-type, return-value]
    with pytest.raises(Refusal, match="save them as external data first"):
        Session(large, ".")


def test_an_output_that_is_packed_into_half_bytes() -> None:
    session = Session(built("(float[3] x) => (int4[3] y) { y = Cast <to = 22> (x) }"), ".")
    with pytest.raises(Refusal, match="an output is int4, which cannot be read"):
        session.run({"x": np.zeros(3, np.float32)})


def test_the_engine_says_what_and_not_where() -> None:
    baked = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["" : 21]> agraph (float[N, 6] x) => (float[a, b] y) '
        "<int64[2] k = {2, 3}> { y = Reshape(x, k) }"
    )
    baked.graph.node[0].name = "/head/Reshape_3"
    session = Session(ir.from_proto(baked), ".")
    with pytest.raises(Refusal) as refused:
        session.run({"x": np.ones((3, 6), np.float32)})

    assert refused.value.why == (
        "Reshape '/head/Reshape_3': The input tensor cannot be reshaped to the requested shape. "
        "Input shape:{3,6}, requested shape:{2,3}"
    )


class TestWhatEndsTheEngine:
    """Each of these once took this process with it, or never came back."""

    RESHAPED = "(float[1, 6] x) => (float[1, 2, 3] y, float[a] q) <int64[3] k = {1, 2, 3}"

    def refused(self, body: str, tmp_path: Path, **limits: Any) -> str:
        path = write(model(f"agraph {body}"), tmp_path / "m.onnx")
        with pytest.raises(FixError) as refused:
            orx.fix(path, batch=True, **limits)
        return str(refused.value).partition("  [")[0]

    def test_a_recurrent_layer_on_nothing(self, tmp_path: Path) -> None:
        body = (
            self.RESHAPED
            + """, int64[3] i = {1, 12, 3}, int64[3] j = {1, 12, 4}, float[0, 2, 3] u = {}> {
            y = Reshape(x, k)
            w = ConstantOfShape(i)
            r = ConstantOfShape(j)
            g = GRU<hidden_size = 4>(u, w, r)
            m = Constant<value_ints = [-1]>()
            q = Reshape(g, m)
        }"""
        )
        said = self.refused(body, tmp_path)

        assert said == "onnxruntime cannot load the original model: it ended its process (SIGABRT)"

    def test_a_loop_without_an_end(self, tmp_path: Path) -> None:
        body = (
            self.RESHAPED
            + """, bool c = {1}, float[2] o = {1, 2}, float zero = {0}> {
            y = Reshape(x, k)
            q = Loop(, c, o) <body = b (int64 i, bool d, float[2] v) => (bool e, float[2] w) {
                w = Abs(v)
                f = ReduceMax <keepdims = 0> (w)
                e = Greater(f, zero)
            }>
        }"""
        )
        said = self.refused(body, tmp_path, timeout=0.5)

        assert said.startswith("out of time after 0.5 s: nothing was compared; ")

    def test_more_elements_than_there_is_memory_for(self, tmp_path: Path) -> None:
        body = (
            self.RESHAPED
            + """, int64[1] n = {1099511627776}, int64[1] z = {0}> {
            y = Reshape(x, k)
            e = Expand(h, n)
            q = ReduceSum(e, z)
        }"""
        )
        said = self.refused(body.replace("> {", ", float[1] h = {1}> {", 1), tmp_path, memory=10**9)

        # Older releases calculate it while they load the model.
        assert said.replace("load", "run") == (
            "onnxruntime cannot run the original model: it needed more than 1.0 GB of memory"
        )

    def test_an_input_that_is_too_large_to_be_drawn(self, tmp_path: Path) -> None:
        body = "(float[1, 300000000] x) => (float[a, b] y) <int64[2] k = {1, -1}> { y = Reshape(x, k) }"
        said = self.refused(body, tmp_path, memory=10**9)

        assert said == (
            "the repaired model is not certified: input 'x' has 300000000 elements, "
            "and drawing them takes more than 1.0 GB of memory"
        )

    def test_the_next_run_is_answered(self) -> None:
        """At some sizes an Einsum divides by zero; at the others it is as good as before."""
        session = Session(built("(float[a, b] x, float[c, b] z) => (float[a, c] y) { y = " + _EINSUM + " }"), ".")
        fine = {"x": np.ones((2, 3), np.float32), "z": np.ones((4, 3), np.float32)}
        assert session.run(fine)["y"].tolist() == [[3] * 4] * 2
        room.here().end()  # on some machines a division by zero is no signal
        assert session.run(fine)["y"].tolist() == [[3] * 4] * 2
        with suppress(Refusal):
            session.run({name: array[:, :0] for name, array in fine.items()})
        assert session.run(fine)["y"].tolist() == [[3] * 4] * 2

    def test_who_never_answers_is_not_asked_for_ever(self) -> None:
        session = Session(
            built(
                "(int64 n, float[2] o) => (float[2] q) <bool c = {1}> { q = Loop(n, c, o) <body = b (int64 i, bool d,"
                " float[2] v) => (bool e, float[2] w) { e = Identity(d) w = Add(v, v) }> }"
            ),
            ".",
        )
        feeds = {"n": np.array(2**62), "o": np.zeros(2, np.float32)}
        with limited(Limits(0.3, 10**9)):
            for _ in range(10):
                begin = time.monotonic()
                with pytest.raises(Refusal, match=r"it did not answer in 0\.3 s"):
                    session.run(feeds)
        assert time.monotonic() - begin < 0.2

    def test_a_session_that_is_gone_is_let_go(self) -> None:
        session = Session(built("(float[3] x) => (float[3] y) { y = Relu(x) }"), ".")
        child, number = session._child, session._number
        del session

        assert child._freed == [number]
