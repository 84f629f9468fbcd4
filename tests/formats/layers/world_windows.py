"""Layers that look at windows of an image."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from openvino import opset1, opset3, opset8, opset14, opset16

from tests.formats.layers.making import Case, Made, Maker, case

_LONG = np.int64
# strides, pads at the begin, pads at the end, dilations, auto_pad
_STEPS: tuple[tuple[list[int], list[int], list[int], list[int], str], ...] = (
    ([1, 1], [0, 0], [0, 0], [1, 1], "explicit"),
    ([2, 1], [1, 0], [1, 2], [1, 1], "explicit"),
    ([1, 2], [1, 1], [1, 1], [2, 1], "explicit"),
    ([2, 2], [1, 1], [1, 0], [1, 1], "same_upper"),
    ([2, 2], [2, 1], [1, 1], [1, 1], "same_lower"),
    ([1, 2], [3, 3], [3, 3], [1, 2], "valid"),
)


def _convolutions() -> Iterator[Case]:
    for steps in _STEPS:
        strides, begins, ends, dilations, auto = steps
        words = (strides, begins, ends, dilations, auto)
        for held in (True, False):

            def plain(make: Maker, words: Any = words, held: bool = held) -> Made:
                return opset1.convolution(make.given(2, 3, 7, 8), _filters(make, (4, 3, 3, 2), held=held), *words)

            def groups(make: Maker, words: Any = words, held: bool = held) -> Made:
                return opset1.group_convolution(
                    make.given(1, 4, 7, 8), _filters(make, (2, 3, 2, 3, 2), held=held), *words
                )

            yield case("Convolution", f"{steps} {held}", plain, loose=1e-4, said=not held)
            yield case("GroupConvolution", f"{steps} {held}", groups, loose=1e-4, said=not held)
    for count in (1, 3):

        def flat(make: Maker, count: int = count) -> Made:
            words = [[each] * count for each in (1, 0, 0, 1)]
            return opset1.convolution(make.given(1, 2, *[5] * count), make.drawn(3, 2, *[3] * count), *words)

        def deep(make: Maker, count: int = count) -> Made:
            words = [[each] * count for each in (2, 1, 1, 1)]
            return opset1.group_convolution(make.given(1, 3, *[5] * count), make.drawn(3, 1, 1, *[3] * count), *words)

        yield case("Convolution", f"{count} dims", flat, loose=1e-4)
        yield case("GroupConvolution", f"{count} dims", deep, loose=1e-4)


def _filters(make: Maker, dims: tuple[int, ...], *, held: bool) -> Made:
    return make.drawn(*dims) if held else make.given(*dims)


def _backwards() -> Iterator[Case]:
    for steps in _STEPS:
        strides, begins, ends, dilations, auto = steps
        for extra in ([0, 0], [1, 0]):
            if any(one >= other for one, other in zip(extra, strides, strict=True) if one):
                continue
            words = {
                "pads_begin": begins,
                "pads_end": ends,
                "dilations": dilations,
                "auto_pad": auto,
                "output_padding": extra,
            }

            def plain(make: Maker, strides: Any = strides, words: Any = words) -> Made:
                return opset1.convolution_backprop_data(
                    make.given(2, 3, 5, 4), make.drawn(3, 2, 3, 3), strides, **words
                )

            def groups(make: Maker, strides: Any = strides, words: Any = words) -> Made:
                data, filters = make.given(1, 4, 5, 4), make.drawn(2, 2, 3, 3, 3)
                return opset1.group_convolution_backprop_data(data, filters, strides, **words)

            yield case("ConvolutionBackpropData", f"{steps} {extra}", plain, loose=1e-4)
            yield case("GroupConvolutionBackpropData", f"{steps} {extra}", groups, loose=1e-4)
    for auto in ("same_upper", "same_lower", "explicit"):
        for size in ([10, 8], [9, 9], [11, 7]):

            def sized(make: Maker, auto: str = auto, size: Any = size) -> Made:
                words = {"pads_begin": [0, 0], "pads_end": [0, 0], "dilations": [1, 1], "output_padding": [0, 0]}
                data, filters, dims = make.given(1, 3, 5, 4), make.drawn(3, 2, 3, 3), make.held(size, _LONG)
                return opset1.convolution_backprop_data(data, filters, [2, 2], dims, auto_pad=auto, **words)

            yield case("ConvolutionBackpropData", f"{auto} to {size}", sized, loose=1e-4)


_POOLS: tuple[tuple[list[int], list[int], list[int], list[int], str], ...] = (
    ([1, 1], [0, 0], [0, 0], [2, 2], "explicit"),
    ([2, 2], [1, 1], [1, 1], [3, 3], "explicit"),
    ([2, 3], [0, 1], [1, 0], [3, 2], "explicit"),
    ([3, 3], [1, 1], [1, 1], [2, 2], "explicit"),
    ([2, 2], [0, 0], [0, 0], [3, 2], "same_upper"),
    ([2, 2], [0, 0], [0, 0], [3, 2], "same_lower"),
    ([2, 1], [0, 0], [0, 0], [3, 3], "valid"),
    ([2, 1], [1, 1], [1, 1], [3, 3], "valid"),
    ([2, 2], [0, 0], [0, 0], [3, 3], "explicit"),
)


def _pools() -> Iterator[Case]:
    for steps in _POOLS:
        strides, begins, ends, kernel, auto = steps
        for rounding in ("floor", "ceil"):

            def largest(make: Maker, words: Any = (strides, begins, ends, kernel, rounding, auto)) -> Made:
                return opset1.max_pool(make.given(2, 2, 8, 7), *words)

            behind = "behind" if rounding == "ceil" and strides == [3, 3] else None
            yield case("MaxPool", f"1 {steps} {rounding}", largest, undrawn=behind)
            for exclude in (True, False):

                def mean(make: Maker, words: Any = (strides, begins, ends, kernel, exclude, rounding, auto)) -> Made:
                    return opset1.avg_pool(make.given(2, 2, 8, 7), *words)

                yield case("AvgPool", f"1 {steps} {rounding} {exclude}", mean, undrawn=behind)
        for rounding in ("floor", "ceil", "ceil_torch"):
            behind = "behind" if rounding == "ceil" and strides == [3, 3] else None
            for exclude in (True, False):

                def newer(make: Maker, words: Any = (strides, begins, ends, kernel, exclude, rounding, auto)) -> Made:
                    return opset14.avg_pool(make.given(2, 2, 8, 7), *words)

                yield case("AvgPool", f"14 {steps} {rounding} {exclude}", newer, undrawn=behind)
            for axis in (0, 1, 2, -1):
                if (axis != 0 and rounding != "floor") or (axis == -1 and begins != [0, 0]):
                    continue

                def placed(make: Maker, steps: Any = steps, rounding: str = rounding, axis: int = axis) -> Made:
                    strides, begins, ends, kernel, auto = steps
                    words = (strides, [1, 1], begins, ends, kernel, rounding, auto, "i32" if axis else "i64", axis)
                    return opset14.max_pool(_apart(make, 2, 2, 8, 7), *words)

                yield case(
                    "MaxPool", f"14 {steps} {rounding} {axis}", placed, said=auto == "same_lower", undrawn=behind
                )

    def dilated(make: Maker) -> Made:
        return opset8.max_pool(_apart(make, 1, 2, 8, 8), [1, 2], [2, 1], [1, 0], [0, 1], [3, 2])

    yield case("MaxPool", "dilated", dilated)
    yield case(
        "AvgPool",
        "dilated",
        lambda make: opset16.avg_pool(make.given(1, 2, 8, 8), [1, 2], [0, 0], [0, 0], [3, 2], True, dilations=[2, 1]),
    )
    yield case("AvgPool", "1 dim", lambda make: opset1.avg_pool(make.given(1, 2, 8), [2], [1], [1], [3], False))
    yield case(
        "AvgPool",
        "3 dims",
        lambda make: opset1.avg_pool(make.given(1, 2, 4, 4, 4), [2] * 3, [0] * 3, [0] * 3, [2] * 3, False),
    )
    yield case("MaxPool", "1 dim", lambda make: opset1.max_pool(make.given(1, 2, 8), [2], [1], [1], [3]))


def _apart(make: Maker, *dims: int) -> Made:
    return make.fed(make.random.permutation(int(np.prod(dims))).reshape(dims), np.float32)


def _adaptive() -> Iterator[Case]:
    for dims, sizes in (
        ((1, 2, 6), [1]),
        ((1, 2, 6), [3]),
        ((2, 3, 6, 4), [1, 1]),
        ((2, 3, 6, 4), [3, 2]),
        ((2, 3, 7, 5), [3, 2]),
        ((1, 2, 4, 5, 6), [2, 2, 4]),
        ((2, 3, 7, 5), [1, 5]),
        ((1, 2, 3, 3), [6, 7]),
    ):

        def mean(make: Maker, dims: Any = dims, sizes: Any = sizes) -> Made:
            return opset8.adaptive_avg_pool(make.given(*dims), make.held(sizes, _LONG))

        yield case("AdaptiveAvgPool", f"{dims} {sizes}", mean, loose=1e-4)

        def most(make: Maker, dims: Any = dims, sizes: Any = sizes) -> Made:
            return opset8.adaptive_max_pool(_apart(make, *dims), make.held(sizes, _LONG), "i32")

        whole = all(size % wanted == 0 for size, wanted in zip(dims[2:], sizes, strict=True))
        yield case("AdaptiveMaxPool", f"{dims} {sizes}", most, undrawn=None if whole else "lengths")
    for size in (1, 2, 4):

        def square(make: Maker, size: int = size) -> Made:
            return opset8.adaptive_max_pool(_apart(make, 2, 2, 4, 4), make.held([size, size], _LONG), "i32")

        yield case("AdaptiveMaxPool", f"square {size}", square)


def _patches() -> Iterator[Case]:
    for dims, sizes, strides, rates in (
        ((1, 2, 6, 6), [3, 3], [1, 1], [1, 1]),
        ((2, 3, 7, 8), [2, 3], [2, 2], [1, 1]),
        ((1, 2, 8, 8), [2, 2], [3, 2], [2, 2]),
        ((1, 1, 5, 5), [1, 1], [2, 2], [1, 1]),
    ):
        for auto in ("valid", "same_upper", "same_lower"):

            def patches(make: Maker, dims: Any = dims, words: Any = (sizes, strides, rates, auto)) -> Made:
                return opset3.extract_image_patches(make.given(*dims), *words)

            yield case("ExtractImagePatches", f"{dims} {sizes} {strides} {rates} {auto}", patches)


CASES = [*_convolutions(), *_backwards(), *_pools(), *_adaptive(), *_patches()]
