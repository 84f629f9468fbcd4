"""Models that name the size of their batch, and so say what several samples give; and uses of operators seldom seen.

What grows with N there is left alone or refused: it is a live value, and no number that an export left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import onnx.parser

from tests.laws.batching_sketch import FLOAT, INT, Sketch
from tests.laws.batching_traps import TRAPS, trap


class Open(NamedTuple):
    """A model that names its batch."""

    about: str
    make: Callable[[Sketch, str], str]
    free: bool = False
    """Whether a refusal would be needless."""
    dims: tuple[int | str, ...] = ("B", 4)
    named: dict[str, int] | None = None


def _number(s: Sketch, x: str) -> str:
    """N as a number."""
    return str(s.op("Cast", s.dim(x, 0), to=1))


def _scalar(s: Sketch, x: str) -> str:
    return str(s.op("Squeeze", s.dim(x, 0), s.ints(0)))


def _joined(s: Sketch, *parts: str) -> str:
    return str(s.op("Concat", *parts, axis=0))


def _parts(s: Sketch, x: str, count: int) -> list[str]:
    return list(s.op("Split", s.op("Shape", x), axis=0, outputs=count))


def _longer(s: Sketch, x: str) -> str:
    return str(s.op("Pad", x, s.ints(0, 0, 0, 0, 1, 0)))


def _merged_beside_a_sum(s: Sketch, x: str) -> str:
    long = _longer(s, x)
    return str(s.op("Reshape", long, _joined(s, s.dim(long, 0), s.dim(long, 1), s.ints(-1))))


def _grown_beside_a_sum(s: Sketch, x: str) -> str:
    long = _longer(s, x)
    return str(s.op("Add", long, s.op("Expand", s.floats(1, 1, 2), s.op("Shape", long))))


def _merged_beside_one_more(s: Sketch, x: str) -> str:
    more = s.op("Add", s.dim(x, 1), s.ints(1))
    return str(s.op("Reshape", _longer(s, x), _joined(s, s.dim(x, 0), more, s.ints(-1))))


def _either(s: Sketch, condition: str, one: str = "Relu", other: str = "Neg") -> str:
    inner = [onnx.parser.parse_graph(f"b () => (float[] y) {{ y = {op}(x) }}") for op in (one, other)]
    return str(s.op("If", condition, then_branch=inner[0], else_branch=inner[1]))


def _turned(s: Sketch, x: str, count: str, step: str = "w = Add(v, x)") -> str:
    head = "b (int64 i, bool c, float[] v) => (bool d, float[] w)"
    return str(s.op("Loop", count, "", x, body=onnx.parser.parse_graph(f"{head} {{ d = Identity(c) {step} }}")))


def _stepped(s: Sketch, x: str, start: str, along: int) -> str:
    body = onnx.parser.parse_graph("b (float[] v, float[] e) => (float[] w, float[] o) { w = Add(v, e) o = Neg(w) }")
    axes = {"num_scan_inputs": 1, "scan_input_axes": [along], "scan_output_axes": [along]}
    return str(s.op("Scan", start, x, body=body, outputs=2, **axes)[1])


_OPEN = {
    "a_branch_for_one_sample": Open("If", lambda s, x: _either(s, s.op("Equal", s.dim(x, 0), s.ints(1)))),
    "a_branch_for_many_samples": Open("If", lambda s, x: _either(s, s.op("Greater", s.op("Size", x), s.const(9, INT)))),
    "a_branch_for_any_samples": Open(
        "If", lambda s, x: _either(s, s.op("Cast", s.op("Greater", s.dim(x, 1), s.ints(3)), to=9)), free=True
    ),
    "a_branch_by_a_flag": Open("If", lambda s, _: _either(s, s.x((1,), None, dtype=np.bool_)), free=True),
    "a_turn_for_each_sample": Open("Loop", lambda s, x: _turned(s, x, _scalar(s, x))),
    "turns_for_all": Open("Loop", lambda s, x: _turned(s, x, s.const(3, INT)), free=True),
    "turns_until_the_samples_are_done": Open(
        "Loop",
        lambda s, x: _turned(
            s, x, s.const(4, INT), "n = Shape<end = 1>(x) f = Cast<to = 1>(n) p = Mul(x, f) w = Add(v, p)"
        ),
    ),
    "steps_along_it": Open("Scan", lambda s, x: _stepped(s, x, s.floats(4), 0)),
    "times_the_number_of_samples": Open("Cast", lambda s, x: s.op("Mul", x, _number(s, x))),
    "divided_by_their_elements": Open("Cast", lambda s, x: s.op("Div", x, s.op("Cast", s.op("Size", x), to=1))),
    "plus_the_numbers_of_samples": Open(
        "Range",
        lambda s, x: s.op(
            "Add",
            x,
            s.op(
                "Unsqueeze",
                s.op("Cast", s.op("Range", s.const(0, INT), _scalar(s, x), s.const(1, INT)), to=1),
                s.ints(1),
            ),
        ),
    ),
    "the_last_sample": Open("Gather", lambda s, x: s.op("Gather", x, s.op("Sub", s.dim(x, 0), s.ints(1)), axis=0)),
    "the_last_sample_from_behind": Open("Gather", lambda s, x: s.op("Gather", x, s.ints(-1), axis=0)),
    "a_slice_from_behind": Open(
        "Slice", lambda s, x: s.op("Slice", x, s.ints(-1), s.ints(2**63 - 1), s.ints(0), s.ints(1))
    ),
    "at_most_two_samples": Open(
        "Min", lambda s, x: s.op("Slice", x, s.ints(0), s.op("Min", s.dim(x, 0), s.ints(2)), s.ints(0))
    ),
    "as_many_columns": Open("Slice", lambda s, x: s.op("Slice", x, s.ints(0), s.dim(x, 0), s.ints(1)), dims=("B", 9)),
    "as_many_copies": Open("Tile", lambda s, x: s.op("Tile", x, _joined(s, s.ints(1), s.dim(x, 0)))),
    "as_many_copies_of_all": Open("Tile", lambda s, x: s.op("Tile", x, _joined(s, s.dim(x, 0), s.ints(1)))),
    "as_many_pads": Open("Pad", lambda s, x: s.op("Pad", x, _joined(s, s.ints(0), s.dim(x, 0), s.ints(0, 0)))),
    "a_square": Open("Expand", lambda s, x: s.op("Expand", x, _joined(s, s.dim(x, 0), s.dim(x, 0))), dims=("B", 1)),
    "samples_as_rows_of_another_axis": Open(
        "Reshape", lambda s, x: s.op("Reshape", x, _joined(s, s.ints(4), s.dim(x, 0)))
    ),
    "one_sample_otherwise": Open(
        "Equal", lambda s, x: s.op("Where", s.op("Equal", s.dim(x, 0), s.ints(1)), x, s.op("Neg", x))
    ),
    "a_triangle_that_moves": Open("Trilu", lambda s, x: s.op("Trilu", x, _scalar(s, x)), dims=("B", 4, 4)),
    "an_axis_that_moves": Open("CumSum", lambda s, x: s.op("CumSum", x, _scalar(s, x)), dims=("B", 1, 3, 3, 3, 3)),
    "the_same_steps_turned": Open(
        "ReverseSequence",
        lambda s, x: s.op("ReverseSequence", x, s.op("Expand", s.ints(3), s.dim(x, 0)), batch_axis=0, time_axis=1),
        True,
    ),
    "as_many_steps_turned": Open(
        "ReverseSequence",
        lambda s, x: s.op("ReverseSequence", x, s.op("Expand", s.dim(x, 0), s.dim(x, 0)), batch_axis=0, time_axis=1),
        dims=("B", 9),
    ),
    "a_squeeze_of_all_ones": Open("Squeeze", lambda s, x: s.op("Squeeze", x), dims=("B", 1, 4)),
    "parts_of_its_dims": Open(
        "Split",
        lambda s, x: s.op("Reshape", x, _joined(s, _parts(s, x, 3)[0], s.ints(-1))),
        dims=("B", 3, 2),
        free=True,
    ),
    "other_parts_of_its_dims": Open(
        "Split",
        lambda s, x: s.op("Reshape", x, _joined(s, s.ints(-1), s.op("Mul", *_parts(s, x, 3)[1:]))),
        dims=("B", 3, 2),
        free=True,
    ),
    "a_sum_of_sizes_beside": Open("Reshape", _merged_beside_a_sum, True, ("B", "S", 2), {"B": 1, "S": 3}),
    "a_sum_of_sizes_to_grow_to": Open("Expand", _grown_beside_a_sum, True, ("B", "S", 2), {"B": 1, "S": 3}),
    "one_more_beside": Open("Reshape", _merged_beside_one_more, True, ("B", "S", 2), {"B": 1, "S": 3}),
    "a_target_that_says_another_name": Open(
        "Reshape",
        lambda s, x: s.op("Reshape", x, _joined(s, s.dim(x, 0), s.dim(x, 1), s.ints(4), s.dim(x, 3))),
        True,
        ("B", "T", "T", 3),
        {"B": 1, "T": 4},
    ),
}
"""The last of them is right at N = 0 as it stands; a -1 beside a copied 0 would not run there."""


def _opened(name: str, case: Open) -> Callable[[], Sketch]:
    def make() -> Sketch:
        s = Sketch(case.about, free=case.free, named=case.named or {"B": 1})
        return s.out(case.make(s, s.x(case.dims)))

    make.__name__ = f"an_open_batch_and_{name}"
    return make


TRAPS.extend(_opened(name, case) for name, case in _OPEN.items())


# Uses seldom seen


@trap
def a_norm_that_trains_by_its_outputs() -> Sketch:
    s = Sketch("BatchNormalization", 9, free=False, reference=True)
    made = s.op("BatchNormalization", s.x((1, 3, 4)), *(s.floats(3, low=1) for _ in range(4)), outputs=5)
    return s.out(made[0])


@trap
def a_norm_of_several_samples_that_trains_by_its_outputs() -> Sketch:
    s = Sketch("BatchNormalization", 9, 3, free=False, reference=True)
    made = s.op("BatchNormalization", s.x((3, 3, 4)), *(s.floats(3, low=1) for _ in range(4)), outputs=5)
    return s.out(made[0])


@trap
def limits_of_each_sample() -> Sketch:
    s = Sketch("Clip", free=False)
    return s.out(s.op("Clip", s.x((1,)), s.x((1,))))


@trap
def zero_points_of_each_matrix() -> Sketch:
    s = Sketch("MatMulInteger", free=False)
    x = s.x((1, 3, 2), dtype=np.uint8, low=0, high=9)
    left, zero = s.const(np.arange(6).reshape(1, 2, 3), np.uint8), s.const([[[1, 2]]], np.uint8)
    return s.out(s.op("MatMulInteger", left, x, "", zero))


@trap
def zero_points_of_each_of_two_matrices() -> Sketch:
    s = Sketch("MatMulInteger", size=2, free=False)
    x = s.x((2, 3, 2), dtype=np.uint8, low=0, high=9)
    left, zero = s.const(np.arange(6).reshape(1, 2, 3), np.uint8), s.const([[[1, 2]], [[3, 4]]], np.uint8)
    return s.out(s.op("MatMulInteger", left, x, "", zero))


@trap
def numbers_that_pick_from_all_samples_of_a_named_length() -> Sketch:
    s = Sketch("Gather", named={"S": 3})
    picked = s.op("Gather", s.op("Reshape", s.x((1, "S")), s.ints(-1)), s.ints(2, 0))
    return s.out(s.op("Reshape", picked, s.ints(1, 2)))


@trap
def a_squeeze_of_all_ones_beside_a_name_that_is_1() -> Sketch:
    s = Sketch("Squeeze", named={"S": 1}, free=False)
    return s.out(s.op("Squeeze", s.x((1, 1, "S"))))


@trap
def a_squeeze_of_several_samples_beside_a_name_that_is_1() -> Sketch:
    s = Sketch("Squeeze", size=3, named={"S": 1}, free=False)
    return s.out(s.op("Squeeze", s.x((3, "S"))))


@trap
def no_samples() -> Sketch:
    s = Sketch("Add", size=0, free=False)
    return s.out(s.op("Add", s.x((0, 3)), s.const(np.zeros((0, 3)), FLOAT)))
