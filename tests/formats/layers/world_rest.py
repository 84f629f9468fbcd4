"""Layers that look between points, or choose regions, and the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from openvino import opset1, opset3, opset5, opset7, opset9, opset10, opset11, opset15

from tests.formats.layers.making import Case, Made, Maker, case

_INT, _LONG = np.int32, np.int64
_SHAPES: tuple[tuple[tuple[int, ...], list[int], list[int]], ...] = (
    ((1, 2, 4, 5), [8, 10], [2, 3]),
    ((2, 1, 5, 4), [3, 7], [2, 3]),
    ((1, 2, 6, 6), [3, 3], [2, 3]),
)


def _sampled() -> Iterator[Case]:
    for mode in ("nearest", "linear_onnx", "linear", "cubic"):
        for where in ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"):
            for dims, sizes, axes in _SHAPES:
                nearest = {"half_pixel": "round_prefer_floor", "pytorch_half_pixel": "round_prefer_ceil"}.get(
                    where, "floor"
                )
                said = {"coordinate_transformation_mode": where, "nearest_mode": nearest, "cube_coeff": -0.6}

                def to_sizes(
                    make: Maker,
                    dims: Any = dims,
                    sizes: Any = sizes,
                    axes: Any = axes,
                    mode: str = mode,
                    said: Any = said,
                ) -> Made:
                    words = {"shape_calculation_mode": "sizes", "mode": mode, **said}
                    return opset11.interpolate(
                        make.given(*dims), make.held(sizes, _INT), axes=make.held(axes, _INT), **words
                    )

                def by_scales(
                    make: Maker,
                    dims: Any = dims,
                    sizes: Any = sizes,
                    axes: Any = axes,
                    mode: str = mode,
                    said: Any = said,
                ) -> Made:
                    scales = make.held([size / dims[axis] for size, axis in zip(sizes, axes, strict=True)])
                    words = {"shape_calculation_mode": "scales", "mode": mode, **said}
                    given = make.held(sizes, _LONG), scales
                    return opset10.interpolate(make.given(*dims), *given, axes=make.held(axes, _LONG), **words)

                yield case("Interpolate", f"11 {mode} {where} {dims}", to_sizes, loose=1e-3)
                yield case("Interpolate", f"4 {mode} {where} {dims}", by_scales, loose=1e-3)

    def all_axes(make: Maker) -> Made:
        given = make.held([1, 2, 8, 10], _LONG), make.held([1, 1, 2, 2])
        return opset10.interpolate(make.given(1, 2, 4, 5), *given, "nearest", "sizes")

    def old(make: Maker) -> Made:
        said = {"mode": "nearest", "axes": [2, 3]}
        return opset1.interpolate(make.given(1, 2, 4, 5), make.held([8, 10], _LONG), said)

    yield case("Interpolate", "all axes", all_axes)
    yield case("Interpolate", "1", old, undrawn="version 1")
    for name, said in (
        ("antialias", {"antialias": True}),
        ("pads", {"pads_begin": [1, 1], "pads_end": [0, 0]}),
        ("simple", {"nearest_mode": "simple"}),
        ("tf", {"coordinate_transformation_mode": "tf_half_pixel_for_nn"}),
    ):

        def other(make: Maker, said: Any = said) -> Made:
            words = {"shape_calculation_mode": "sizes", "mode": "nearest", **said}
            return opset11.interpolate(
                make.given(1, 1, 4, 4), make.held([6, 6], _INT), axes=make.held([2, 3], _INT), **words
            )

        yield case("Interpolate", name, other, undrawn="")
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (True, False):

                def grid(make: Maker, mode: str = mode, padding: str = padding, align: bool = align) -> Made:
                    said = {"align_corners": align, "mode": mode, "padding_mode": padding}
                    return opset9.grid_sample(make.given(2, 3, 4, 5), make.given(2, 3, 3, 2, low=-1.4, high=1.4), said)

                yield case("GridSample", f"{mode} {padding} {align}", grid, loose=1e-3)


def _regions() -> Iterator[Case]:
    for mode, where, why in (
        ("avg", None, None),
        ("avg", "asymmetric", None),
        ("avg", "half_pixel_for_nn", None),
        ("avg", "half_pixel", "aligned_mode"),
        ("max", None, "largest"),
    ):
        for scale in (1.0, 0.5):
            for ratio in (1, 2):

                def align(
                    make: Maker, mode: str = mode, where: Any = where, scale: float = scale, ratio: int = ratio
                ) -> Made:
                    boxes = make.fed([[0, 0, 6, 5], [1.5, 2, 7, 7], [3, 1, 5, 6]], np.float32)
                    given = make.given(2, 3, 8, 8), boxes, make.fed([0, 1, 0], _INT), 2, 3, ratio, scale, mode
                    return opset3.roi_align(*given) if where is None else opset9.roi_align(*given, where)

                yield case("ROIAlign", f"{mode} {where} {scale} {ratio}", align, loose=1e-3, said=True, undrawn=why)
    for encoding in ("corner", "center"):
        for number in (1, 2, 5):
            for op, version in ((opset5.non_max_suppression, 5), (opset9.non_max_suppression, 9)):

                def kept(make: Maker, encoding: str = encoding, number: int = number, op: Any = op) -> Made:
                    corners = np.sort(make.random.uniform(0, 4, (2, 6, 2, 2)), 2).reshape(2, 6, 4)
                    scores = make.random.permutation(36).reshape(2, 3, 6) / 36
                    limits = make.held(number, _LONG), make.held(0.4), make.held(0.2), make.held(0.0)
                    boxes = make.fed(corners, np.float32), make.fed(scores, np.float32)
                    return op(*boxes, *limits, encoding, False, "i64" if number > 1 else "i32")

                yield case("NonMaxSuppression", f"{version} {encoding} {number}", kept, said=True)

    def ordered(make: Maker) -> Made:
        limits = make.held(2, _LONG), make.held(0.4), make.held(0.2), make.held(0.0)
        return opset5.non_max_suppression(make.given(1, 4, 4), make.given(1, 1, 4), *limits, "corner", True, "i64")

    yield case("NonMaxSuppression", "sorted", ordered, undrawn="together")
    yield case(
        "NonMaxSuppression",
        "old",
        lambda make: opset1.non_max_suppression(
            make.given(1, 4, 4),
            make.given(1, 1, 4),
            make.held(2, _LONG),
            make.held(0.4),
            make.held(0.2),
            "corner",
            False,
        ),
        undrawn="filled up",
    )


def _others() -> Iterator[Case]:
    for dims, shift, axes in (
        ((5,), [2], [0]),
        ((3, 4), [1, -1], [0, 1]),
        ((3, 4), [5], [1]),
        ((3, 4), [3, 4], [0, 1]),
        ((2, 3, 4), [-2], [-1]),
        ((2, 3), [1, 1], [1, 1]),
    ):

        def rolled(make: Maker, dims: Any = dims, shift: Any = shift, axes: Any = axes) -> Made:
            return opset7.roll(
                make.given(*dims), make.held(shift if len(shift) > 1 else shift[0], _LONG), make.held(axes, _LONG)
            )

        yield case("Roll", f"{dims} {shift} {axes}", rolled)
    for rows, columns, moved in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (3, 3, 5), (1, 1, 0), (3, 5, -2)):
        for batch in (None, [2], [2, 1]):

            def eye(make: Maker, words: Any = (rows, columns, moved), batch: Any = batch) -> Made:
                given = [make.fed(each, _INT) for each in words[:2]]
                more = {} if batch is None else {"batch_shape": make.held(batch, _INT)}
                return opset9.eye(*given, make.held(words[2], _INT), "f32", **more)

            yield case("Eye", f"{rows} {columns} {moved} {batch}", eye)
    for strides, pads, dilations in (
        ([1, 1], [0, 0], [1, 1]),
        ([2, 2], [0, 0], [1, 1]),
        ([1, 1], [1, 1], [1, 1]),
        ([1, 2], [0, 1], [2, 1]),
        ([2, 1], [1, 0], [1, 1]),
        ([1, 1], [1, 0], [1, 2]),
    ):

        def laid(make: Maker, strides: Any = strides, pads: Any = pads, dilations: Any = dilations) -> Made:
            count = 1
            for axis, size in enumerate((6, 7)):
                count *= (size + 2 * pads[axis] - dilations[axis] - 1) // strides[axis] + 1
            given = make.given(2, 3 * 4, count), make.held([6, 7], _LONG), make.held([2, 2], _LONG)
            return opset15.col2im(*given, strides, dilations, pads, pads)

        yield case("Col2Im", f"{strides} {pads} {dilations}", laid, loose=1e-4)


CASES = [*_sampled(), *_regions(), *_others()]
