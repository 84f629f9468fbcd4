"""resolve() on sizes and ranks that no small world holds."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import onereshape as orx
from onereshape.ground.errors import INT64_MAX
from onereshape.rule.specs import SPECS, Spec
from tests.strategies import Dims

rows = st.sampled_from(SPECS)


def attributes(row: Spec, *, zero_copies: bool) -> dict[str, Any]:
    """The flag that makes a 0 copy, or not; onnx before 14 always copies."""
    return {} if row.flag is None else {row.flag.name: row.flag.copies == zero_copies}


@given(rows, st.lists(st.integers(1, 2**40), max_size=3), st.lists(st.integers(1, 2**20), max_size=40))
def test_a_huge_inferred_dim_is_exact(row: Spec, rest: list[int], fixed: list[int]) -> None:
    """Products beyond 2^53, where floats lose count, up to int64 and past it."""
    data = [*rest, prod(fixed[:3])]
    target = [*fixed[:3], -1]
    if prod(data) <= INT64_MAX:
        assert orx.resolve(data, target, row, **attributes(row, zero_copies=True)) == (*fixed[:3], prod(rest))
    else:
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.resolve(data, target, row, **attributes(row, zero_copies=True))
        assert refusal.value.code == "overflow"


@given(rows, st.integers(1, 2**61), st.integers(2, 1000))
def test_one_element_too_many_is_seen(row: Spec, count: int, divisor: int) -> None:
    data = (count * divisor + 1,)
    if data[0] <= INT64_MAX:
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.resolve(data, (divisor, -1), row, **attributes(row, zero_copies=True))
        assert refusal.value.code == "indivisible"
        assert refusal.value.fields["remainder"] == 1


@given(rows, st.integers(1, 1000), st.lists(st.integers(0, 4), min_size=1, max_size=200))
def test_ranks_have_no_limit(row: Spec, size: int, zeros: list[int]) -> None:
    """Copying every dim is the identity, at any rank."""
    data = tuple(size if index == 0 else 1 for index in range(len(zeros)))

    assert orx.resolve(data, [0] * len(data), row, **attributes(row, zero_copies=True)) == data


@pytest.mark.parametrize("row", SPECS, ids=str)
@pytest.mark.parametrize(
    ("data", "target", "output"),
    [
        ((INT64_MAX,), (-1,), (INT64_MAX,)),
        ((INT64_MAX, 1), (1, INT64_MAX), (1, INT64_MAX)),
        ((3 * (2**53 + 1),), (3, -1), (3, 2**53 + 1)),
        ((2**53 + 1,), (3, -1), (3, 3002399751580331)),
        ((2**40, 2**40, 0), (-1,), (0,)),
        ((INT64_MAX + 1,), (-1,), "overflow"),
        ((2**32, 2**31), (-1,), "overflow"),
        ((1,), (2**32, 2**32), "volume"),
        ((4,), (2**62 + 1, 4), "volume"),
        ((1,), (2**32, 2**32, -1), "indivisible"),
        ((1,), (2**63, 1), "overflow"),
        ((2, 3), (2, -(2**63)), "below-minus-one"),
        ((2, 3), (2, -(2**80)), "below-minus-one"),
    ],
)
def test_the_ends_of_int64(row: Spec, data: Dims, target: Dims, output: Dims | str) -> None:
    try:
        answer: Dims | str = orx.resolve(data, target, row, **attributes(row, zero_copies=True))
    except orx.ReshapeError as refusal:
        answer = refusal.code

    assert answer == output


@pytest.mark.parametrize("row", [row for row in SPECS if row.flag is not None], ids=str)
def test_a_literal_zero_makes_the_volume_zero_whatever_else_is_there(row: Spec) -> None:
    """The number of elements is exact: 2^32 * 2^32 * 0 is 0, as many as the data has."""
    given_ = attributes(row, zero_copies=False)

    assert orx.resolve([0], [2**32, 2**32, 0], row, **given_) == (2**32, 2**32, 0)


def test_openvino_divides_only_what_is_not_copied_also_beyond_int64() -> None:
    huge = (2**40, 2**40, 0)

    assert orx.resolve(huge, [-1, 2**40, 0], "openvino", special_zero=True) == (2**40, 2**40, 0)
    with pytest.raises(orx.ReshapeError, match="target\\[0\\] is 1208925819614629174706176, beyond"):
        orx.resolve(huge, [-1, 1, 0], "openvino", special_zero=True)


@pytest.mark.parametrize("integers", [np.array([2, -1]), (np.int8(2), np.int64(-1)), range(2, -2, -3), iter([2, -1])])
def test_integers_of_every_kind(integers: Any) -> None:
    assert orx.resolve([2, 3], integers, "onnx") == (2, 3)


@pytest.mark.parametrize(
    "bad", [[2, True], [2, "3"], [2, None], [[2, 3]], np.array([[2, 3]]), [2.0, 3], np.array([6.0])]
)
def test_what_is_no_integer(bad: Any) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.resolve([2, 3], bad, "onnx")

    assert refusal.value.code == "not-an-integer"


@pytest.mark.parametrize("bad", [6, None, "2,3", b"23", np.array(6), 2.5])
def test_what_is_no_list(bad: Any) -> None:
    for data, target in (([2, 3], bad), (bad, [2, 3])):
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.resolve(data, target, "onnx")
        assert refusal.value.code == "not-a-list"


@pytest.mark.parametrize("value", [2, -1, 1.0, "1", None, [1]])
def test_a_flag_is_0_or_1(value: object) -> None:
    for name, flag in (("onnx", "allowzero"), ("openvino", "special_zero"), ("onednn-static", "special_zero")):
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.resolve([2, 3], [6], name, **{flag: value})  # type: ignore[arg-type]
        assert refusal.value.code == "bad-attribute"


@pytest.mark.parametrize("value", [1, True, np.True_, np.int64(1), np.uint8(1)])
def test_a_flag_of_every_kind(value: object) -> None:
    assert orx.resolve([2, 0], [0, 2], "onnx", allowzero=value) == (0, 2)  # type: ignore[arg-type]
    assert orx.resolve([2, 3], [0, 3], "openvino", special_zero=value) == (2, 3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "flags", "code"),
    [
        ("onnx-1", {"allowzero": 0}, "unknown-attribute"),
        ("onnx-5", {"allowzero": 1}, "unknown-attribute"),
        ("onnx-13", {"special_zero": True}, "unknown-attribute"),
        ("onnx-25", {"special_zero": True}, "unknown-attribute"),
        ("onnx-25", {"axis": 1}, "unknown-attribute"),
        ("onnx-5", {"consumed_inputs": [0]}, "unknown-attribute"),
        ("onnx-25", {"shape": [6]}, "unknown-attribute"),
        ("onnx-1", {"shape": [6]}, "target-twice"),
        ("openvino", {"allowzero": 1}, "unknown-attribute"),
        ("openvino", {"allowzero": 1, "special_zero": True}, "unknown-attribute"),
        ("onednn-static", {"shape": [6], "special_zero": True}, "target-twice"),
        ("onednn-dynamic", {}, "missing-attribute"),
    ],
)
def test_attributes_that_a_specification_does_not_have(name: str, flags: dict[str, Any], code: str) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.resolve([2, 3], [6], name, **flags)

    assert refusal.value.code == code
