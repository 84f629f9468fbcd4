"""DynamicQuantizeLinear with a scale for each sample: the answers of one sample alone, to the last bit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from tests.running import session

_rng = np.random.default_rng(7)
CONSTANTS: dict[str, Any] = {
    "w": _rng.integers(-128, 128, (64, 8)).astype(np.int8),
    "v": _rng.integers(0, 256, (64, 24)).astype(np.uint8),
    "three": _rng.integers(-128, 128, (5, 64, 8)).astype(np.int8),
    "ws": np.float32(0.01),
    "wz": np.int8(3),
    "vz": np.uint8(131),
    "ss": _rng.uniform(0.001, 0.1, 8).astype(np.float32),
    "zs": _rng.integers(-9, 9, 8).astype(np.int8),
    "b": _rng.normal(size=8).astype(np.float32),
    "rows": np.array([-1, 64], np.int64),
    "back": np.array([1, 5, 8], np.int64),
}
"""What a body names of these is a constant of its model."""

QUANTISED = "q, s, z = DynamicQuantizeLinear(x)"
PRODUCT = f"{QUANTISED} p = MatMulInteger(q, w, z, wz) c = Cast<to = 1>(p) m = Mul(s, ws) o = Mul(c, m)"
BODIES = {
    "a product": f"float[1, 5, 64] x => {PRODUCT} y = Add(o, b)",
    "a batch that has a name": f"float[N, 5, 64] x => {PRODUCT} y = Add(o, b)",
    "rows are samples": f"float[1, 64] x => {PRODUCT} y = Identity(o)",
    "no zero point of the weights": "float[1, 5, 64] x => "
    f"{QUANTISED} p = MatMulInteger(q, w, z) c = Cast<to = 1>(p) m = Mul(ws, s) y = Mul(m, c)",
    "numbers for each column": "float[1, 5, 64] x => "
    f"{QUANTISED} p = MatMulInteger(q, w, z, zs) c = Cast<to = 1>(p) m = Mul(s, ss) y = Mul(c, m)",
    "two products": "float[1, 5, 64] x => "
    f"{PRODUCT} p2 = MatMulInteger(q, v, z, vz) c2 = Cast<to = 1>(p2) o2 = Mul(c2, s) y = Concat<axis = 2>(o, o2)",
    "one after another": "float[1, 5, 64] x => "
    f"{QUANTISED} p2 = MatMulInteger(q, v, z, vz) c2 = Cast<to = 1>(p2) o2 = Mul(c2, s)"
    " t = Transpose<perm = [0, 2, 1]>(o2) r, a, d = DynamicQuantizeLinear(t)"
    " p = MatMulInteger(r, three1, d, wz) c = Cast<to = 1>(p) y = Mul(c, a)",
    "many matrices": "float[1, 5, 7, 64] x => "
    f"{QUANTISED} p = MatMulInteger(q, three, z) c = Cast<to = 1>(p) y = Mul(c, s)",
    "the second factor": "float[1, 64, 5] x => "
    f"{QUANTISED} p = MatMulInteger(vt, q, vz, z) c = Cast<to = 1>(p) m = Mul(s, ws) y = Mul(c, m)",
    "samples in rows": "float[1, 5, 64] x => r = Reshape(x, rows) q, s, z = DynamicQuantizeLinear(r)"
    " p = MatMulInteger(q, w, z, wz) c = Cast<to = 1>(p) m = Mul(s, ws) o = Mul(c, m) y = Reshape(o, back)",
}
"""Each is data, and what is made of them."""
CONSTANTS["three1"] = CONSTANTS["three"][0, :5]
CONSTANTS["vt"] = np.ascontiguousarray(CONSTANTS["v"].T)
CONV = f"{QUANTISED} p = ConvInteger<ATTRIBUTES>(q, k, z, kz) c = Cast<to = 1>(p) m = Mul(s, ws) o = Mul(c, m)"
PADDED = CONV.replace("ATTRIBUTES", "pads = [1, 0, 2, 1], strides = [2, 1]")
BODIES |= {
    "windows": f"float[1, 4, 9, 7] x => {CONV.replace('<ATTRIBUTES>', '')} y = Add(o, kb)",
    "windows and pads": f"float[1, 4, 9, 7] x => {PADDED} y = Add(o, kb)",
    "windows of groups": "float[1, 4, 9, 7] x => "
    f"{QUANTISED} p = ConvInteger<group = 2, pads = [1, 1, 1, 1]>(q, g, z, kz) c = Cast<to = 1>(p) y = Mul(c, s)",
    "windows with dilations": "float[1, 4, 9, 7] x => "
    + CONV.replace("ATTRIBUTES", "dilations = [2, 1], pads = [2, 1, 2, 1]").replace(" o =", " y ="),
    "windows of automatic pads": "float[1, 4, 9, 8] x => "
    + CONV.replace("ATTRIBUTES", 'strides = [3, 3], auto_pad = "SAME_LOWER"').replace(" o =", " y ="),
    "windows with strides": "float[1, 4, 9, 7] x => "
    + CONV.replace("ATTRIBUTES", 'strides = [2, 3], auto_pad = "SAME_UPPER"').replace(" o =", " y ="),
    "windows of signed weights": "float[1, 4, 9, 7] x => "
    f"{QUANTISED} p = ConvInteger<pads = [1, 1, 1, 1]>(q, ks, z) c = Cast<to = 1>(p) y = Mul(c, s)",
    "windows along a line": "float[1, 4, 11] x => "
    f"{QUANTISED} p = ConvInteger<pads = [1, 1]>(q, line, z, kz) c = Cast<to = 1>(p) y = Mul(c, s)",
    "windows and a product of one scale": "float[1, 4, 9, 7] x => "
    f"{QUANTISED} p = ConvInteger(q, k, z, kz) c = Cast<to = 1>(p) a = Mul(c, s) p2 = MatMulInteger(q, seven, z)"
    " c2 = Cast<to = 1>(p2) b2 = Mul(c2, s) f = Flatten(a) e = Flatten(b2) y = Concat<axis = 1>(f, e)",
    "windows of names": f"float[N, 4, H, W] x => {CONV.replace('<ATTRIBUTES>', '')} y = Add(o, kb)",
    "windows and pads of names": f"float[N, 4, H, W] x => {PADDED} y = Add(o, kb)",
}
CONSTANTS |= {
    "k": _rng.integers(0, 256, (6, 4, 3, 3)).astype(np.uint8),
    "g": _rng.integers(0, 256, (6, 2, 3, 3)).astype(np.uint8),
    "ks": _rng.integers(-128, 128, (6, 4, 3, 3)).astype(np.int8),
    "line": _rng.integers(0, 256, (6, 4, 3)).astype(np.uint8),
    "seven": _rng.integers(-128, 128, (7, 2)).astype(np.int8),
    "kz": np.uint8(119),
    "kb": _rng.normal(size=(1, 6, 1, 1)).astype(np.float32),
}
BODIES |= {
    "both factors": "float[1, 5, 64] x => "
    f"{QUANTISED} t = Transpose<perm = [0, 2, 1]>(x) r, a, d = DynamicQuantizeLinear(t)"
    " p = MatMulInteger(q, r, z, d) c = Cast<to = 1>(p) m = Mul(s, a) y = Mul(c, m)",
}


def model_of(body: str, opset: int = 13) -> onnx.ModelProto:
    data, body = body.split(" => ")
    head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
    model = onnx.parser.parse_model(f"{head} g ({data}) => (float y) {{ {body} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    read = {name for node in model.graph.node for name in node.input}
    tensors = [
        onnx.numpy_helper.from_array(np.asarray(value), name) for name, value in CONSTANTS.items() if name in read
    ]
    model.graph.initializer.extend(tensors)
    return model


def samples(dims: tuple[int, ...], seed: int) -> Iterator[np.ndarray[Any, Any]]:
    """Batches of 1, 2, 3 and 5, whose samples differ in range and in sign; some have only zeros."""
    rng = np.random.default_rng(seed)
    for count in (1, 2, 3, 5):
        for first in ("", "zeros", "negative", "positive", "huge", "faint"):
            x = (rng.normal(size=(count, *dims)) * 10.0 ** rng.integers(-3, 4)).astype(np.float32)
            x[0] = {
                "zeros": 0 * x[0],
                "negative": -abs(x[0]),
                "positive": abs(x[0]),
                "huge": x[0] * np.float32(1e9),
                "faint": x[0] * np.float32(1e-9),
            }.get(first, x[0])
            yield x


def differing(one: onnx.ModelProto, many: Any) -> list[tuple[bool, int, int]]:
    """Samples that get another answer than alone: with optimisations or without, among how many, and which."""
    found = []
    for optimized in (False, True):
        alone, together = session(one, optimized=optimized), session(many, optimized=optimized)
        for seed in range(2):
            dims = tuple(dim if isinstance(dim, int) else 9 for dim in alone.get_inputs()[0].shape[1:])
            for x in samples(dims, seed):
                (answer,) = together.run(None, {"x": x})
                answer = answer.reshape(len(x), -1)
                for place, each in enumerate(x):
                    (wanted,) = alone.run(None, {"x": each[None]})
                    if not np.array_equal(answer[place], wanted.reshape(-1)):
                        found.append((optimized, len(x), place))
    return found


@pytest.mark.parametrize(
    ("name", "opset"),
    [*((name, 13) for name in BODIES), *product(("a product", "samples in rows", "both factors"), (11, 18))],
)
def test_each_sample_has_its_own(name: str, opset: int) -> None:
    model = model_of(BODIES[name], opset)
    fixed = orx.fix(model, batch=True)

    assert [change.code for change in fixed.changes].count("own-scale") == sum(
        node.op_type == "DynamicQuantizeLinear" for node in model.graph.node
    )
    if fixed.certificate is not None:
        assert fixed.certificate.summary.startswith("proven for all N >= 1")
    assert differing(model, fixed.model.ir) == []


REFUSED = {
    "other numbers with its zero point": (
        "float[1, 5, 64] x => q, s, z = DynamicQuantizeLinear(x) y = DequantizeLinear(q, s, z)",
        "as DequantizeLinear of y (DequantizeLinear) takes its numbers",
    ),
    "another zero point": (
        f"float[1, 5, 64] x => {QUANTISED} p = MatMulInteger(q, w) c = Cast<to = 1>(p) y = Mul(c, s)",
        "as MatMulInteger of p takes its numbers with another zero point",
    ),
    "its scale is turned": (
        f"float[1, 5, 64] x => {QUANTISED} p = MatMulInteger(q, w, z) c = Cast<to = 1>(p) turned = Reshape(s, one)"
        " y = Mul(c, turned)",
        "as Reshape of turned (Reshape) takes its scale",
    ),
    "another node mixes them all the same": (
        f"float[1, 5, 64] x => {PRODUCT} y = CumSum(o, first)",
        "CumSum of y (CumSum) mixes the samples",
    ),
}
CONSTANTS["one"] = np.array([1], np.int64)
CONSTANTS["first"] = np.array(0, np.int64)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    body, why = REFUSED[name]
    with pytest.raises(FixError) as refused:
        orx.fix(model_of(body), batch=True, certify=False)

    assert (refused.value.code, why in str(refused.value)) == ("mixes-samples", True)


def test_check_says_so() -> None:
    found = orx.check(model_of(BODIES["a product"]), batch=True)

    assert [(each.code, each.message, each.fixable) for each in found] == [
        (
            "own-scale",
            "DynamicQuantizeLinear of q takes one scale from all samples; each of N gets its own, as alone, in 17 "
            "nodes",
            True,
        )
    ]
