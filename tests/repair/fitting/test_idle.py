"""Nodes that one export has and another has not, bodies of control flow, and attributes: models written as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import parser

from onereshape.ground.errors import FixError
from onereshape.repair.fitting.idle import IDLE
from onereshape.repair.fitting.plan import LikePlan, apply_like, like_plan
from tests.running import session

Write = Callable[[int], str]
"""The text of a model at a size."""


def _model(text: str, opset: int = 18) -> ir.Model:
    return ir.from_proto(parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {text}'))


def _fitted(write: Write, sizes: Sequence[int], opset: int = 18, axis: int = 1) -> tuple[ir.Model, LikePlan]:
    first, *others = (_model(write(size), opset) for size in sizes)
    plan = like_plan(first, others, {"x": {axis: "S"}})
    apply_like(first, plan)
    return first, plan


def _right(write: Write, sizes: Sequence[int], unseen: Sequence[int], opset: int = 18, axis: int = 1) -> LikePlan:
    """Fits on sizes, and compares with what the text says at these and at others."""
    model, plan = _fitted(write, sizes, opset, axis)
    proto = ir.to_proto(model)
    onnx.checker.check_model(proto, full_check=True)
    found = session(proto, optimized=True)
    for size in (*sizes, *unseen):
        truth = session(_model(write(size), opset), optimized=True)
        given = {each.name: _drawn(each.shape, each.type) for each in truth.get_inputs()}
        for one, other in zip(found.run(None, given), truth.run(None, given), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6, err_msg=f"at {size}")
    return plan


def _drawn(shape: Sequence[int], kind: str) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    return np.array(kind == "tensor(bool)") if "float" not in kind else rng.standard_normal(shape).astype(np.float32)


def _refusal(write: Write, sizes: Sequence[int], opset: int = 18, axis: int = 1) -> str:
    with pytest.raises(FixError) as caught:
        _fitted(write, sizes, opset, axis)
    return str(caught.value)


def padded(size: int) -> str:
    """Groups of 4, padded where the size is no multiple of 4."""
    more = -size % 4
    pad = f"pads = Constant <value_ints: ints = [0, 0, 0, 0, {more}, 0]> () p = Pad(h, pads)" if more else ""
    last = "p" if more else "h"
    return f"""g (float[1, {size}, 3] x) => (float[N, 4, 3] y) {{
        h = Relu(x) {pad}
        to = Constant <value_ints: ints = [{(size + more) // 4}, 4, 3]> ()
        y = Reshape({last}, to) }}"""


@pytest.mark.parametrize("sizes", [(12, 23), (23, 12), (12, 23, 16)])
def test_a_pad_that_one_export_leaves_out(sizes: tuple[int, ...]) -> None:
    plan = _right(padded, sizes, (16, 17, 18, 19, 31))

    assert plan.conditions == ()


def cut(size: int) -> str:
    """The first 16 at most."""
    body = "end = Constant <value_ints: ints = [16]> () h = Slice(x, zero, end, one)" if size > 16 else ""
    return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}> {{ {body} y = Relu({"h" if size > 16 else "x"}) }}"""


def test_a_slice_that_one_export_leaves_out() -> None:
    _right(cut, (12, 23), (9, 16, 17, 40))


def last(size: int) -> str:
    """To multiples of 8 in front, and the last ones again; no node where nothing is missing."""
    more = -size % 8
    pad = "p = Pad(x, pads, zero)" if more else "p = Identity(x)"
    cut = "c = Slice(m, start, end, axis)" if more else "c = Identity(m)"
    return f"""g (float[1, {size}] x) => (float[1, N] y) <int64[4] pads = {{0, {more}, 0, 0}}, float zero = {{0}},
        int64[1] start = {{-{size}}}, int64[1] end = {{9223372036854775807}}, int64[1] axis = {{1}},
        int64[3] blocks = {{1, -1, 8}}, int64[2] row = {{1, -1}}> {{
            {pad}
            b = Reshape(p, blocks)
            r = Softmax(b)
            m = Reshape(r, row)
            {cut}
            y = Neg(c)
        }}"""


@pytest.mark.parametrize("sizes", [(24, 33), (33, 24)])
def test_a_slice_from_the_end_that_one_export_leaves_out(sizes: tuple[int, int]) -> None:
    plan = _right(last, sizes, (16, 13, 40, 47))

    assert plan.conditions == ()


def test_what_others_read_of_the_same_tensor_stays_as_it_is() -> None:
    """One reader has the slice before it, the other has not."""

    def write(size: int) -> str:
        short = size > 16
        slice_ = "h = Slice(r, zero, end, one)" if short else ""
        return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y, float[1, {size}, 3] z)
            <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] end = {{{min(size, 16)}}}> {{
            r = Relu(x) {slice_} y = Neg({"h" if short else "r"}) z = Neg(r) }}"""

    _right(write, (12, 23), (9, 16, 40))


def test_an_output_that_one_export_has_behind_such_a_node() -> None:
    def write(size: int) -> str:
        short = size > 16
        end = "y = Slice(r, zero, end, one)" if short else ""
        return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y)
            <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] end = {{{min(size, 16)}}}> {{
            {"r" if short else "y"} = Relu(x) {end} }}"""

    _right(write, (12, 23), (9, 40))
    _right(write, (23, 12), (9, 40))


def test_two_such_nodes_in_either_order_are_refused() -> None:
    """The one has a Slice, the other a Pad: which of them comes first, nothing tells."""

    def write(size: int) -> str:
        node = "h = Slice(r, zero, end, one)" if size > 16 else "h = Pad(r, pads)"
        return f"""g (float[1, {size}, 3] x) => (float[1, 16, 3] y)
            <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] end = {{16}},
             int64[6] pads = {{0, 0, 0, 0, {max(16 - size, 0)}, 0}}> {{ r = Relu(x) {node} y = Neg(h) }}"""

    assert "Pad" in _refusal(write, (12, 23))


def test_a_pad_that_nothing_explains_is_named() -> None:
    def write(size: int) -> str:
        pads = {12: 0, 23: 5}[size]
        node = "h = Pad(r, pads)" if pads else ""
        return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y)
            <int64[6] pads = {{0, 0, 0, 0, {pads}, 0}}> {{ r = Relu(x) {node} y = Neg({"h" if pads else "r"}) }}"""

    assert "Pad" in _refusal(write, (12, 23))


def test_nodes_that_do_nothing_at_any_size_are_passed_over() -> None:
    def write(size: int) -> str:
        extra = "a = Concat <axis = 1> (r) b = Transpose <perm = [0, 1, 2]> (a) c, m = Dropout(b) d = Cast <to = 1> (c)"
        return f"""g (float[1, {size}, 3] x) => (float[N] y) <int64[1] to = {{{3 * size}}}> {{
            r = Relu(x) {extra if size == 23 else ""} y = Reshape({"d" if size == 23 else "r"}, to) }}"""

    _right(write, (12, 23), (5, 40))
    _right(write, (23, 12), (5, 40))


def test_the_first_node_that_differs_is_named() -> None:
    def write(size: int) -> str:
        one, two = ("Neg", "Exp") if size == 12 else ("Abs", "Sqrt")
        return f"""g (float[1, {size}, 3] x) => (float[1, {size}, 3] y) {{
            a = {one}(x) b = Relu(a) c = {two}(b) y = Add(c, b) }}"""

    assert "Neg a of one export stands beside Abs a of another" in _refusal(write, (12, 23))


def test_every_operator_of_the_table_can_do_nothing() -> None:
    assert {*IDLE} == {"Pad", "Slice", "Resize", "Upsample", "Expand", "Reshape", "Tile"}


def brought_to_24(size: int, node: str, numbers: str) -> str:
    """Rows that become 24, where there are less."""
    node = node if size < 24 else ""
    ones = ", ".join(["1.0"] * 24)
    return f"""g (float[1, 1, {size}, 3] x) => (float[1, 1, 24, 3] y)
        <int64[4] to = {{{numbers}}}, float[24, 1] w = {{{ones}}}> {{
        r = Relu(x) {node} y = Add({"h" if size < 24 else "r"}, w) }}"""


@pytest.mark.parametrize("sizes", [(12, 24), (24, 12)])
def test_a_resize_that_one_export_leaves_out(sizes: tuple[int, int]) -> None:
    _right(lambda size: brought_to_24(size, "h = Resize(r, , , to)", "1, 1, 24, 3"), sizes, (6, 8, 3), axis=2)


def test_a_tile_of_which_nothing_tells_how_often_it_repeats_is_named() -> None:
    told = _refusal(lambda size: brought_to_24(size, "h = Tile(r, to)", f"1, 1, {24 // size}, 1"), (12, 24), axis=2)

    assert "(Tile)" in told


@pytest.mark.parametrize("op", ["Expand", "Reshape"])
def test_a_target_that_one_export_leaves_out(op: str) -> None:
    """An exporter leaves it out at 16, where the dims are asked for that the data have."""

    def write(size: int) -> str:
        node = f"h = {op}(r, to)" if size != 16 else ""
        return f"""g (float[1, {size}, 3] x) => (float[1, {size}, 3] y) <int64[3] to = {{1, {size}, 3}}> {{
            r = Relu(x) {node} y = Neg({"r" if size == 16 else "h"}) }}"""

    _right(write, (16, 23), (5, 40))
    _right(write, (23, 16), (5, 40))


# Control flow


def test_constants_in_both_branches_of_an_if() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, {size}, 3] x, bool c) => (float[N] y) {{
            r = Relu(x)
            y = If (c) <
              then_branch = t () => (float[N] a) {{
                ta = Constant <value_ints: ints = [{3 * size}]> () a = Reshape(r, ta) }},
              else_branch = e () => (float[N] b) {{
                n = Neg(r) tb = Constant <value_ints: ints = [{3 * size}]> () b = Reshape(n, tb) }}
            > }}"""

    _right(write, (12, 23), (5, 40))


def test_constants_in_the_body_of_a_loop() -> None:
    def write(size: int) -> str:
        return f"""g (float[{size}, 3] x) => (float[N] y)
            <int64 n = {{3}}, bool go = {{1}}, int64[1] flat = {{{3 * size}}}> {{
            start = Reshape(x, flat)
            y = Loop (n, go, start) <
              body = b (int64 i, bool c, float[{3 * size}] s) => (bool d, float[{3 * size}] t) {{
                d = Identity(c) to = Constant <value_ints: ints = [{size}, 3]> () r = Reshape(s, to)
                f = Constant <value_ints: ints = [{3 * size}]> () m = Add(r, x) t = Reshape(m, f) }}
            > }}"""

    _right(write, (12, 23), (5, 40), axis=0)


def test_constants_in_the_body_of_a_scan() -> None:
    def write(size: int) -> str:
        return f"""g (float[4, {size}, 3] x) => (float[N, M] y) {{
            y = Scan (x) <num_scan_inputs = 1,
              body = b (float[{size}, 3] s) => (float[{3 * size}] t) {{
                f = Constant <value_ints: ints = [{3 * size}]> () t = Reshape(s, f) }}
            > }}"""

    _right(write, (12, 23), (5, 40))


def test_a_pad_that_one_export_leaves_out_of_a_body() -> None:
    def write(size: int) -> str:
        more = -size % 4
        pad = f"p = Constant <value_ints: ints = [0, 0, {more}, 0]> () q = Pad(s, p)" if more else ""
        return f"""g (float[4, {size}, 3] x) => (float[N, M, K, L] y) {{
            y = Scan (x) <num_scan_inputs = 1,
              body = b (float[{size}, 3] s) => (float[M, K, L] t) {{ {pad}
                f = Constant <value_ints: ints = [{(size + more) // 4}, 4, 3]> ()
                t = Reshape({"q" if more else "s"}, f) }}
            > }}"""

    _right(write, (12, 23), (5, 40))


# Attributes


@pytest.mark.parametrize("op", ["AveragePool", "MaxPool", "LpPool"])
@pytest.mark.parametrize("opset", [13, 18])
def test_a_pool_of_all_there_is(op: str, opset: int) -> None:
    def write(size: int) -> str:
        return f"""g (float[1, 2, {size}, 6] x) => (float[1, 2, 1, 3] y) {{
            y = {op} <kernel_shape = [{size}, 2], strides = [1, 2]> (x) }}"""

    plan = _right(write, (12, 23), (5, 40), opset, 2)

    assert plan.conditions == ()


def test_a_pool_of_all_along_one_axis() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, 2, {size}, 6] x) => (float[1, 2, 1, 6] y) {{
            y = AveragePool <kernel_shape = [{size}, 1]> (x) }}"""

    _right(write, (12, 23), (5, 40), axis=2)


def test_a_window_that_overlaps_is_refused() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, 2, {size}] x) => (float[1, 2, N] y) {{
            y = AveragePool <kernel_shape = [{size - 2}], strides = [1]> (x) }}"""

    assert "its window and its strides follow a size, and are not equal" in _refusal(write, (12, 23), axis=2)


def test_bounds_of_an_early_slice_are_counted_from_the_end() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y, float[1, M, 3] z) {{
            y = Slice <starts = [1], ends = [{size - 2}], axes = [1]> (x)
            z = Slice <starts = [{size - 3}], ends = [{size}], axes = [1]> (x) }}"""

    _right(write, (12, 23), (8, 40), 9)


def test_an_early_split_in_halves() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y, float[1, N, 3] z) {{
            y, z = Split <axis = 1, split = [{size // 2}, {size // 2}]> (x) }}"""

    _right(write, (12, 22), (8, 40), 11)


def test_an_early_pad_is_refused_with_the_opset_that_has_an_input() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, {size}, 3] x) => (float[1, N, 3] y) {{
            y = Pad <pads = [0, 0, 0, 0, {size}, 0]> (x) }}"""

    assert "from opset 11 on it is an input" in _refusal(write, (12, 23), 10)


# Padding before windows that go on by more than 1


def same(size: int, window: int) -> str:
    """As many results as the size has pairs: what is missing is padded, the smaller half of it in front."""
    total = max(window - (size % 2 or 2), 0)
    front = total // 2
    return f"""g (float[1, 1, {size}] x) => (float[1, 1, N] y)
        <int64[6] pads = {{0, 0, {front}, 0, 0, {total - front}}}, float[1, 1, {window}] w = {{{_weights(window)}}}> {{
        p = Pad(x, pads) y = Conv <strides = [2]> (p, w) }}"""


def _weights(count: int) -> str:
    return ", ".join(f"{place}.5" for place in range(count))


@pytest.mark.parametrize("window", [2, 3, 5, 7])
@pytest.mark.parametrize("sizes", [(33, 58), (58, 33)])
def test_padding_that_a_stride_explains(sizes: tuple[int, int], window: int) -> None:
    plan = _right(lambda size: same(size, window), sizes, (20, 21, 64, 65), axis=2)

    assert plan.conditions == ()


def test_a_size_with_the_same_rest_in_all_exports_is_limited_to_it() -> None:
    def write(size: int) -> str:
        """The other axis is the first one, made odd: 33 and 59."""
        odd = size + (size + 1) % 2
        front = [0, 0, size % 2, 1]
        return f"""g (float[1, 1, {size}, {odd}] x) => (float[1, 1, N, M] y)
            <int64[8] pads = {{{", ".join(map(str, [*front, 0, 0, 1, 1]))}}},
             float[1, 1, 3, 3] w = {{{_weights(9)}}}> {{
            p = Pad(x, pads) y = Conv <strides = [2, 2]> (p, w) }}"""

    first, *others = (_model(write(size)) for size in (33, 58))
    plan = like_plan(first, others, {"x": {2: "H", 3: "W"}})

    assert plan.conditions == ("W leaves 1 when divided by 2",)


def test_a_pad_that_a_stride_does_not_explain_is_refused() -> None:
    def write(size: int) -> str:
        front = 1 if size < 40 else 0
        return f"""g (float[1, 1, {size}] x) => (float[1, 1, N] y)
            <int64[6] pads = {{0, 0, {front}, 0, 0, 1}}, float[1, 1, 3] w = {{{_weights(3)}}}> {{
            p = Pad(x, pads) y = Conv <strides = [2]> (p, w) }}"""

    assert "Pad" in _refusal(write, (34, 59), axis=2)


def test_what_a_slice_with_a_formula_leaves_is_known() -> None:
    def write(size: int) -> str:
        return f"""g (float[1, {size}, 4] x) => (float[N] y)
            <int64[1] one = {{1}}, int64[1] end = {{{size - 1}}}, int64[1] to = {{{4 * (size - 2)}}}> {{
            h = Slice(x, one, end, one) y = Reshape(h, to) }}"""

    assert _right(write, (12, 23), (7, 40)).conditions == ()
