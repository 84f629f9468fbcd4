"""Running models with ONNX Runtime: weights in other files, refusals, and how they are said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.errors import FixError
from onereshape.models.certificates.engine import Refusal, Session
from tests.certifying import batch, built
from tests.models import external, model


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
