"""Claims about shapes where engines, small types and repetition make them easy to get wrong: held to onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

import onereshape as orx
from onereshape.graphs.batch_rules.marks import Mark, homes
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import Formula, Size, cut, exact, over, product, symbol
from tests.hostile.judge_shapes import evaluated
from tests.running import session

N, S = symbol("N"), symbol("S")


def read(text: str, opset: int = 18) -> Any:
    return parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}')


def claimed(proto: Any, name: str) -> tuple[Any, ...] | None:
    """The dims that are known of a value."""
    found = facts_of(ir.from_proto(proto)).dims
    return next((dims for value, dims in found.items() if value.name == name), None)


def real(proto: Any, feeds: Mapping[str, Any]) -> tuple[int, ...]:
    """The dims of the first output in a run."""
    return np.shape(session(proto, optimized=True).run(None, dict(feeds))[0])


EMPTY_AXES = {
    "an input": ("g (float[1, 3] x) => (float[] y) <int64[0] a = {}> { y = Squeeze(x, a) }", 18),
    "an attribute": ("g (float[1, 3] x) => (float[] y) { y = Squeeze <axes: ints = []> (x) }", 11),
}


@pytest.mark.parametrize("case", EMPTY_AXES)
def test_a_squeeze_of_no_axes_is_one_of_all_to_engines(case: str) -> None:
    proto = read(*EMPTY_AXES[case])

    assert real(proto, {"x": np.zeros((1, 3), np.float32)}) == (3,)
    assert claimed(proto, "y") is None
    assert claimed(read(EMPTY_AXES[case][0].replace("[1, 3]", "[2, 3]"), EMPTY_AXES[case][1]), "y") == (2, 3)


def test_small_integers_hold_no_sizes() -> None:
    proto = read(
        "g (float[N] x) => (float[] y) {"
        " s = Shape(x) c = Cast <to = 2> (s) t = Cast <to = 7> (c) y = ConstantOfShape(t) }"
    )

    assert real(proto, {"x": np.zeros(300, np.float32)}) == (44,)
    assert claimed(proto, "y") not in {("N",), None}


def test_a_slice_along_an_axis_that_a_size_tells() -> None:
    proto = read(
        "g (float[N, 4] x, float[M] a) => (float[] y) <int64[1] one = {1}, int64[1] two = {2}>"
        " { s = Shape(a) y = Slice(x, one, two, s) }"
    )

    feeds = {"x": np.zeros((3, 4), np.float32), "a": np.zeros(1, np.float32)}
    assert real(proto, feeds) == (3, 1)
    found = claimed(proto, "y")
    assert found is not None
    assert len(found) == 2
    assert not {"N", "M", 1, 4} & set(found)


FOUND = (
    ' <domain: "local", opset_import: ["" : 18]> found (a) => (b, c) { b = NonZero(a) c = Relu(a) }'
    ' <domain: "local", opset_import: ["" : 18]> cut <k> (a) => (b) { t = Constant <value_ints: ints = @k> ()'
    " b = Reshape(a, t) }"
)


def test_what_is_unknown_is_another_in_each_call() -> None:
    proto = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18, "local" : 1]> g (float[N] x, float[N] z) => (int64[] n, int64[] m)'
        " { n, p = local.found(x) m, q = local.found(z) r = local.cut <k = [1, -1]> (p)"
        " s = local.cut <k = [-1, 1]> (p) t = local.cut <k = [1, -1]> (q) }" + FOUND
    )

    one, other = claimed(proto, "n"), claimed(proto, "m")
    assert one is not None
    assert other is not None
    assert one[1] != other[1]
    assert [claimed(proto, name) for name in "pqrst"] == [("N",), ("N",), (1, "N"), ("N", 1), (1, "N")]


def test_powers_that_a_float_does_not_hold_are_not_known() -> None:
    proto = read("g (float[N] x) => (int64 y) <int64 a = {2147483647}, int64 b = {2}> { y = Pow(a, b) }")

    assert [found for value, found in facts_of(ir.from_proto(proto)).values.items() if value.name == "y"] == []


def test_what_a_loop_carries_holds_as_many_elements_as_it_has() -> None:
    proto = read(
        "g (float[N] x) => (int64[] c)"
        " <int64 m = {3}, int64[2] v = {1, 2}, int64[4] w = {1, 2, 3, 4}, int64[1] o = {1}>"
        " { a, c = Loop(m, , v, w) <body = b (int64 i, bool k, int64[p] d, int64[q] e) =>"
        " (bool l, int64[p] f, int64[q] g) { l = Identity(k) f = Concat <axis = 0> (d, o)"
        " g = Concat <axis = 0> (d, d) }> }"
    )

    assert real(proto, {"x": np.zeros(1, np.float32)}) == (8,)
    assert claimed(proto, "c") != (4,)


TOLD = {
    "Expand": ("k = Constant <value = float[1] {1.0}> () y = Expand(k, r)", ("H - 1",)),
    "Tile": ("y = Tile(x, r)", ("H*H - H",)),
    "ConstantOfShape": ("y = ConstantOfShape(r)", ("H - 1",)),
    "Split": ("p = Concat <axis = 0> (o, r) a, y = Split(x, p)", ("H - 1",)),
    "a whole that was split": ("p = Concat <axis = 0> (o, r) a, b = Split(x, p) y = Concat <axis = 0> (a, b)", ("H",)),
    "TopK": ("y, i = TopK(x, r)", ("H - 1",)),
    "Reshape": (
        "c = Slice(x, o, s) d = Tile(x, r) m = Constant <value_ints = [1, -1]> () y = Reshape(d, m)",
        (1, "H*H - H"),
    ),
}


@pytest.mark.parametrize("op", TOLD)
def test_a_size_that_must_not_be_negative_is_known_as_it_is(op: str) -> None:
    body, dims = TOLD[op]
    proto = read(f"g (float[H] x) => (float[] y) <int64[1] o = {{1}}> {{ s = Shape(x) r = Sub(s, o) {body} }}")

    assert claimed(proto, "y") == dims
    for size in (1, 2, 5):
        assert real(proto, {"x": np.zeros(size, np.float32)}) == tuple(
            evaluated(dim, {"H": size}) if isinstance(dim, str) else dim for dim in dims
        )


def test_a_word_that_may_be_minus_1_is_no_size() -> None:
    proto = read(
        "g (float[N] x) => (float[] y) <int64[1] six = {6}, int64[1] one = {1}>"
        " { s = Shape(x) r = Sub(s, six) t = Concat <axis = 0> (r, one) y = Reshape(x, t) }"
    )

    assert real(proto, {"x": np.zeros(5, np.float32)}) == (5, 1)
    found = claimed(proto, "y")
    assert found is not None
    assert found[0] not in {"N - 6", "N"}


@pytest.mark.parametrize(
    "size",
    [cut(N, 2 * N), cut(S * N + 1, 3 * S), over(N, S * 2), over(N + 1, N * S), cut(N, over(S, N)), over(N, over(N, S))],
)
def test_what_is_under_a_line_is_written_so(size: Size) -> None:
    assert isinstance(size, Formula)
    for n, s in ((2, 12), (3, 6), (6, 18), (4, 8)):
        number = size.bind({"N": n, "S": s})
        if isinstance(number, int):
            assert evaluated(str(size), {"N": n, "S": s}) == number


def test_a_quotient_of_what_is_whole() -> None:
    sixth = over(S, 6)

    assert exact(sixth, 1) == sixth
    assert exact(sixth, 2) is None
    assert exact(N * sixth, N) is None  # 6 of N, and one of S
    assert exact(N * sixth, N, [sixth]) == sixth
    assert exact(product([4, sixth, N]), 4 * N, [sixth]) == sixth
    assert exact(sixth + 2, 1) == sixth + 2
    assert exact(sixth + over(N, 6), 1) == sixth + over(N, 6)
    assert exact(sixth * 2 + over(N, 3), 2) is None  # 2 of S, and 5 of N


def test_a_batch_beside_a_part_of_a_size() -> None:
    assert next(homes((1, S), Mark(0), (over(S, 6), 6), 1)) == Mark(0, 1, over(S, 6))
    assert next(homes((4, over(S, 6), 1), Mark(2), (2, 2, over(S, 6)), 1)).axis == 2


FREED = "g (float[N, S] x) => (float[a, b] y) <int64[2] t = {-1, 6}> { y = Reshape(x, t) }"


def test_a_batch_that_has_a_name_beside_a_size_that_has_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(read(FREED), path)

    fixed = orx.fix(path, batch=True)

    proto = ir.to_proto(fixed.model.ir)
    assert real(proto, {"x": np.zeros((3, 12), np.float32)}) == (6, 6)


def test_a_target_that_the_caller_gives_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(
        read(
            "g (float[1, 4, 2] x, int64[1] k, int64[2] t) => (float[a, b] y)"
            " { v, i = TopK <axis = 2> (x, k) y = Reshape(v, t) }"
        ),
        path,
    )

    assert orx.fix(path, free={"x": {1: "Z"}}, certify=False).changes == ()


def test_an_output_that_is_calculated_of_a_size_stays_that_of_one_sample(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    text = (
        "g (float[2, 3] x) => (int64[] y, float[2, 3] z) { s = Shape(x) y = ReduceSum <keepdims = 0> (s) z = Relu(x) }"
    )
    onnx.save(read(text), path)

    fixed = orx.fix(path, batch=True)

    assert [change.message for change in fixed.changes] == [
        "ReduceSum of y takes s, which grows with N, for one sample alone"
    ]
    assert session(fixed.model.ir, optimized=True).run(["y"], {"x": np.zeros((6, 3), np.float32)})[0] == 5


UNDER_CONDITIONS: dict[str, tuple[str, tuple[str, ...], list[tuple[tuple[int, ...], bool]]]] = {
    "a window wider than the data": (
        "g (float[1, 1, W] x) => (float[a, b, c] y) { y = MaxPool <kernel_shape = [2], strides = [2]> (x) }",
        ("W >= 2",),
        [((1, 1, 2), True), ((1, 1, 5), True), ((1, 1, 1), False)],
    ),
    "nothing along an axis that is counted from the end": (
        "g (float[N, 3] x) => (float[a, b] y) { y = ReduceMax <axes = [-1]> (x) }",
        ("N >= 1",),
        [((2, 3), True), ((0, 3), False)],
    ),
    "a product of 32 bits": (
        "g (float[N, M, 0] x) => (float[] y) <int64[1] z = {0}, int64[1] o = {1}> { s = Shape(x)"
        " i = Cast <to = 6> (s) n = Gather(i, z) m = Gather(i, o) p = Mul(n, m) q = Mul(p, p) l = Cast <to = 7> (q)"
        " y = ConstantOfShape(l) }",
        ("N <= 2147483647", "M <= 2147483647", "M*N <= 2147483647", "M*M*N*N <= 2147483647"),
        [((3, 5, 0), True), ((65536, 3, 0), False)],
    ),
}
"""What is said is so where the conditions hold, and engines differ elsewhere."""


@pytest.mark.parametrize("case", UNDER_CONDITIONS)
def test_what_holds_under_conditions_only_says_so(case: str) -> None:
    text, conditions, runs = UNDER_CONDITIONS[case]
    proto = read(text, 11)
    found = facts_of(ir.from_proto(proto))
    said = tuple(dict.fromkeys(each for node in found.conditions.values() for each in node))
    names = [dim.dim_param for dim in proto.graph.input[0].type.tensor_type.shape.dim]
    proto.graph.output[0].type.tensor_type.ClearField("shape")

    assert set(said) == set(conditions)
    for shape, holds in runs:
        bound = {name: size for name, size in zip(names, shape, strict=True) if name}
        answered = real(proto, {"x": np.zeros(shape, np.float32)})
        assert (answered == tuple(int(evaluated(str(each), bound)) for each in claimed(proto, "y") or ())) is holds


@pytest.mark.parametrize("declared", ["N", "?", "3", None])
def test_the_dims_of_a_default_are_those_that_its_input_may_have(declared: str | None) -> None:
    proto = read("g (float[K] x, float[N] w) => (float[] y) <float[3] w = {1, 2, 3}> { y = Relu(w) }")
    shape = proto.graph.input[1].type.tensor_type.shape
    if declared is None:
        proto.graph.input[1].type.tensor_type.ClearField("shape")
    elif declared != "N":
        shape.dim[0].Clear()
        if declared == "3":
            shape.dim[0].dim_value = 3
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    said = claimed(proto, "y")

    assert real(proto, {"x": np.zeros(1, np.float32)}) == (3,)
    if declared == "3":
        assert said == (3,)
    else:
        assert real(proto, {"x": np.zeros(1, np.float32), "w": np.zeros(5, np.float32)}) == (5,)
        assert said == {"N": ("N",), "?": ("_d0",), None: None}[declared]


def test_a_scan_of_more_inputs_than_it_has_makes_no_list_of_them() -> None:
    proto = read(
        "g (float[3] v, float[S, 3] x) => (float[] y, float[] z) { y, z = Scan <num_scan_inputs = 1, body ="
        " b (float[3] i, float[3] e) => (float[3] o, float[3] p) { o = Add(i, e) p = Neg(o) }> (v, x) }"
    )
    assert claimed(proto, "z") == ("S", 3)
    next(each for each in proto.graph.node[0].attribute if each.name == "num_scan_inputs").i = 1 << 40

    assert claimed(proto, "z") is None
