"""Numbers that are the same for a few samples and others for many: nothing is said of every N then."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest

from onereshape.terms.prove import prove_batch, prove_same
from tests.models import model
from tests.running import session

Array = np.ndarray[Any, Any]


N = "n = Shape<start = 0, end = 1>(x) "
ADDED = " f = Cast<to = 1>(b) y = Add(x, f)"
ROWS = "i = ConstantOfShape<value = int64[1] {{0}}>(n) u = ConstantOfShape<value = int64[1] {{{0}}}>(n) "
CASES = {
    "the end of INT64": (
        N + "a = Add(n, c) b = Greater(a, z)" + ADDED,
        f"int64[1] c = {{{2**63 - 61}}}, int64[1] z = {{0}}",
    ),
    "the end of INT32": (
        N + "t = Cast<to = 6>(n) a = Add(t, c) b = Greater(a, z)" + ADDED,
        f"int32[1] c = {{{2**31 - 61}}}, int32[1] z = {{0}}",
    ),
    "below 0 without a sign": (
        N + "a = Sub(c, n) u = Cast<to = 12>(a) w = Cast<to = 7>(u) b = Less(w, z)" + ADDED,
        "int64[1] c = {60}, int64[1] z = {1000}",
    ),
    "the remainder of C": (
        N + "t = Mul(n, m) a = Add(t, c) b = Mod<fmod = 1>(a, m)" + ADDED,
        "int64[1] m = {5}, int64[1] c = {-252}",
    ),
    "a scale of 1.02": (
        'p = Unsqueeze(x, a) q = Resize<coordinate_transformation_mode = "align_corners">(p, , s) y = Squeeze(q, a)',
        "int64[2] a = {2, 3}, float[4] s = {1.02, 1, 1, 1}",
    ),
    "a product of signs": (
        N + ROWS.format(-1) + 'b = ScatterElements<reduction = "mul">(w, i, u)' + ADDED,
        "int64[1] w = {1}",
    ),
    "a sum that wraps": (
        N + ROWS.format(-(1 << 63)) + 'b = ScatterElements<reduction = "add">(w, i, u)' + ADDED,
        "int64[1] w = {1}",
    ),
    "more than fits": (
        N + "t = Mul(n, o) a = Sub(t, z) e = Expand(w, a) f = ReduceMax<keepdims = 0>(e) y = Add(x, f)",
        "int64[1] o = {2}, int64[1] z = {1}, float[3] w = {1, 2, 3}",
    ),
}
"""Nodes and constants of models whose answers are others for 64 samples than for one."""


def made(nodes: str, constants: str, n: str) -> onnx.ModelProto:
    return model(f"agraph (float[{n}, 2] x) => (float[{n}, 2] y) <{constants}> {{ {nodes} }}")


def answer(proto: onnx.ModelProto, **feeds: Array) -> Array | None:
    try:
        return np.asarray(session(proto, optimized=True).run(None, feeds)[0])
    except RuntimeError:  # the engine takes only fewer samples
        return None
    except ort.capi.onnxruntime_pybind11_state.InvalidArgument:
        return None


@pytest.mark.parametrize("what", CASES)
def test_nothing_is_said_of_every_n(what: str) -> None:
    one, free = (made(*CASES[what], n) for n in ("1", "N"))
    data = np.ones((64, 2), np.float32)
    alone, together = answer(one, x=data[:1]), answer(free, x=data)
    assert alone is not None
    assert together is None or not np.array_equal(together, np.repeat(alone, 64, 0))

    assert not prove_batch(ir.from_proto(one), ir.from_proto(free), {"x": 0}, seed=3).always


def doubled(name: str) -> str:
    """63 times twice as much, which leaves one bit of it."""
    nodes = f"{name}_0 = Identity({name}) "
    for turn in range(63):
        nodes += f'{name}_{turn + 1} = ScatterElements<reduction = "add">({name}_{turn}, i, {name}_{turn}) '
    return f"{nodes} y = Identity({name}_63)"


@pytest.mark.parametrize("seed", range(8))
def test_sums_of_what_has_no_bounds_are_not_linear(seed: int) -> None:
    left, right = (
        ir.from_proto(model(f"agraph (int64[1] a, int64[1] b) => (int64[1] y) <int64[1] i = {{0}}> {{ {nodes} }}"))
        for nodes in (doubled("a"), doubled("b"))
    )

    assert not prove_same(left, right, [{}], seed=seed).holds


CLIPPED = "agraph (float[2] x) => (float[2] y) <float z = {{0}}> {{ y = {}(x, z) }}"


def test_a_limit_that_is_left_out_is_not_infinite() -> None:
    clip, most = model(CLIPPED.format("Clip")), model(CLIPPED.format("Max"))
    data = np.array([np.inf, 1], np.float32)
    one, two = answer(clip, x=data), answer(most, x=data)
    assert one is not None
    assert two is not None
    assert not np.array_equal(one, two)

    assert not prove_same(ir.from_proto(clip), ir.from_proto(most), [{}], seed=3).holds


@pytest.mark.parametrize(("domain", "name"), [("", "Relu"), ("com.microsoft", "Gelu")])
def test_a_function_with_the_name_of_an_operator_is_not_run(domain: str, name: str) -> None:
    head = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>'
    called = f"{domain}.{name}" if domain else name
    function = f'<domain: "{domain}", opset_import: ["" : 21]> {name} (x) => (y) {{ y = Neg(x) }}'
    mine = model(f"agraph (float[2] x) => (float[2] y) {{ y = {called}(x) }} {function}", head)
    plain = model("agraph (float[2] x) => (float[2] y) { y = Neg(x) }", head)
    data = np.array([1, 2], np.float32)
    one, two = answer(mine, x=data), answer(plain, x=data)
    assert one is not None
    assert two is not None
    assert not np.array_equal(one, two)

    proof = prove_same(ir.from_proto(mine), ir.from_proto(plain), [{}], seed=3)

    assert proof.verdict == "not proven"
    assert "has the name of an operator" in proof.reason
