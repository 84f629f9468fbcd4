"""Layers that pick and place elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from openvino import opset1, opset3, opset4, opset5, opset6, opset7, opset8, opset11, opset12, opset15

from tests.formats.layers.making import Case, Made, Maker, case

_INT, _LONG = np.int32, np.int64


def _gathers() -> Iterator[Case]:
    for axis in (0, 1, -1):
        for dims in ((), (2,), (1, 3)):
            for version, op in ((1, opset1.gather), (7, opset7.gather), (8, opset8.gather)):
                kind = _INT if version == 7 else _LONG

                def picked(make: Maker, axis: int = axis, dims: Any = dims, op: Any = op, kind: Any = kind) -> Made:
                    return op(make.given(3, 4, 3), make.given(*dims, kind=kind, low=0, high=2), make.held(axis, kind))

                yield case("Gather", f"{version} {axis} {dims}", picked)
    yield case(
        "Gather",
        "from the end",
        lambda make: opset8.gather(make.given(3, 4), make.given(2, kind=_LONG, low=-4, high=3), make.held(1, _LONG)),
    )
    shared = (
        ((2, 3, 4), (2, 2), 1, 1), ((2, 3, 4), (2, 3, 2), 2, 2), ((2, 3, 4), (2, 3), 2, 1), ((2, 3, 4), (2, 5), 2, 1),
        ((2, 3, 4), (2, 1, 2), 1, 1), ((2, 3, 4), (2, 2), 2, -1), ((2, 3, 4, 2), (2, 3, 2, 2), 3, 2), ((2, 3), (2,), 1, 1),
    )  # fmt: skip
    for dims, indices, axis, batch in shared:

        def rows(make: Maker, dims: Any = dims, indices: Any = indices, axis: int = axis, batch: int = batch) -> Made:
            places = make.given(*indices, kind=_INT, low=-dims[axis], high=dims[axis] - 1)
            return opset8.gather(make.given(*dims), places, make.held(axis, _INT), batch)

        yield case("Gather", f"{dims} {indices} {axis} {batch}", rows)
    fed = lambda make: opset8.gather(make.given(3, 4), make.held([0], _LONG), make.fed(1, _LONG))  # noqa: E731
    yield case("Gather", "axis fed", fed, undrawn="no constant")
    for axis in (0, 1, -1):
        for kind in (_INT, _LONG):

            def elements(make: Maker, axis: int = axis, kind: Any = kind) -> Made:
                dims = [3, 4]
                dims[axis] = 5
                return opset6.gather_elements(make.given(3, 4), make.given(*dims, kind=kind, low=0, high=2), axis)

            yield case("GatherElements", f"{axis} {np.dtype(kind).name}", elements)
    for dims, indices, batch in (
        ((3, 3, 4), (2, 1), 0),
        ((3, 3, 4), (2, 2), 0),
        ((3, 3), (5, 2), 0),
        ((2, 3, 4), (2, 1), 1),
        ((2, 3, 4), (2, 2, 2), 1),
        ((2, 2, 3), (2, 2, 1), 2),
        ((2, 2, 3, 4), (2, 2, 3, 1), 2),
    ):
        for version, op in ((5, opset5.gather_nd), (8, opset8.gather_nd)):

            def deep(make: Maker, dims: Any = dims, indices: Any = indices, batch: int = batch, op: Any = op) -> Made:
                return op(make.given(*dims), make.given(*indices, kind=_INT, low=0, high=1), batch)

            yield case("GatherND", f"{version} {dims} {indices} {batch}", deep, said=True)


def _slices() -> Iterator[Case]:
    cuts: tuple[tuple[list[int], list[int], list[int], list[int] | None], ...] = (
        ([0, 1], [2, 3], [1, 1], None), ([1], [5], [2], [1]), ([-1], [-4], [-1], [-1]), ([0, 0], [100, -1], [1, 2], [2, 0]),
        ([4], [-100], [-2], [1]), ([2], [1], [1], [0]), ([], [], [], []), ([0], [2**31 - 1], [1], [1]),
    )  # fmt: skip
    for starts, stops, steps, axes in cuts:
        for kind in (_INT, _LONG):

            def cut(make: Maker, words: Any = (starts, stops, steps), axes: Any = axes, kind: Any = kind) -> Made:
                along = None if axes is None else make.held(axes, kind)
                return opset8.slice(make.given(3, 5, 4), *(make.held(each, kind) for each in words), along)

            yield case("Slice", f"{np.dtype(kind).name} {starts} {stops} {steps} {axes}", cut)

    def fed(make: Maker) -> Made:
        words = [make.fed([each], _LONG) for each in (1, 3, 1)]
        return opset8.slice(make.given(3, 5), *words, make.held([1], _LONG))

    def mixed(make: Maker) -> Made:
        return opset8.slice(make.given(3, 5), make.held([1], _INT), make.held([3], _LONG), make.held([1], _INT))

    yield case("Slice", "fed", fed)
    yield case("Slice", "mixed", mixed)


_MASKS = ("begin", "end", "new_axis", "shrink_axis", "ellipsis")


_UNFED: tuple[dict[str, list[int]], ...] = (
    {"shrink_axis_mask": [1, 1]},
    {"new_axis_mask": [1, 1]},
    {"ellipsis_mask": [1, 0, 0], "new_axis_mask": [0, 1, 0], "shrink_axis_mask": [0, 0, 1]},
)
"""Which openvino refuses where the bounds are computed."""


def _strides() -> Iterator[Case]:
    words: tuple[tuple[list[int], list[int], list[int], dict[str, list[int]]], ...] = (
        ([0, 1, 0], [2, 3, 4], [1, 1, 2], {}),
        ([1], [3], [1], {}),
        ([0, 0], [0, 0], [1, 1], {"end_mask": [1, 1]}),
        ([2, 1, 1], [0, 3, 9], [1, 1, 1], {"begin_mask": [1, 0, 0], "end_mask": [1, 0, 1]}),
        ([-1, -2], [-3, -5], [-1, -2], {}),
        ([0, 0, 0], [0, 0, 0], [-1, -1, -2], {"begin_mask": [1, 1, 1], "end_mask": [1, 1, 1]}),
        ([1, 0], [2, 4], [1, 1], {"shrink_axis_mask": [1, 0]}),
        ([-1, 1], [0, 2], [1, 1], {"shrink_axis_mask": [1, 1]}),
        ([0, 0, 1], [0, 0, 2], [1, 1, 1], {"new_axis_mask": [0, 1, 0], "end_mask": [1, 0, 0]}),
        ([0, 0], [0, 0], [1, 1], {"new_axis_mask": [1, 1]}),
        ([0, 1], [0, 3], [1, 1], {"ellipsis_mask": [1, 0]}),
        ([1, 0, 1], [2, 0, 3], [1, 1, 1], {"ellipsis_mask": [0, 1, 0], "shrink_axis_mask": [1, 0, 0]}),
        (
            [0, 0, 2],
            [0, 0, 3],
            [1, 1, 1],
            {"ellipsis_mask": [1, 0, 0], "new_axis_mask": [0, 1, 0], "shrink_axis_mask": [0, 0, 1]},
        ),
        (
            [0, 0, 0, 1],
            [0, 0, 0, 3],
            [1, 1, 1, 1],
            {"new_axis_mask": [1, 0, 0, 0], "ellipsis_mask": [0, 0, 1, 0], "end_mask": [0, 1, 0, 0]},
        ),
        ([5, 0], [1, 9], [-2, 1], {"begin_mask": [0, 1]}),
    )
    for begins, ends, steps, masks in words:
        every = {f"{name}_mask": [0] * len(steps) for name in _MASKS} | masks
        for kind in (_INT, _LONG):

            def cut(make: Maker, words: Any = (begins, ends, steps), masks: Any = every, kind: Any = kind) -> Made:
                return opset1.strided_slice(make.given(3, 5, 4), *(make.held(each, kind) for each in words), **masks)

            yield case("StridedSlice", f"{np.dtype(kind).name} {begins} {ends} {steps} {masks}", cut)

        def fed(make: Maker, words: Any = (begins, ends, steps), masks: Any = every) -> Made:
            begin, end, step = words
            data = make.given(3, 5, 4)
            return opset1.strided_slice(
                data, make.fed(begin, _LONG), make.fed(end, _LONG), make.held(step, _LONG), **masks
            )

        if masks in _UNFED:
            continue
        yield case("StridedSlice", f"fed {begins} {ends} {steps} {masks}", fed, said=True)

    def both(make: Maker) -> Made:
        words = (make.held([each, 2], _LONG) for each in (0, 0, 1))
        masks = {"new_axis_mask": [1, 0], "shrink_axis_mask": [1, 1]}
        return opset1.strided_slice(make.given(3, 5), *words, begin_mask=[0, 0], end_mask=[0, 0], **masks)

    yield case("StridedSlice", "new and out", both, undrawn="new and taken out")

    def unknown(make: Maker) -> Made:
        words = [make.held([0, 0], _LONG), make.held([2, 2], _LONG), make.fed([1, 2], _LONG)]
        return opset1.strided_slice(make.given(3, 5), *words, begin_mask=[0, 0], end_mask=[0, 0])

    yield case("StridedSlice", "strides fed", unknown, undrawn="no constant")


def _scatters() -> Iterator[Case]:
    for axis in (0, 1, -1):
        for kind in (_INT, _LONG):

            def old(make: Maker, axis: int = axis, kind: Any = kind) -> Made:
                places = make.fed(_places(axis), kind)
                return opset3.scatter_elements_update(
                    make.given(3, 4), places, make.given(2, 2), make.held(axis, _LONG)
                )

            yield case("ScatterElementsUpdate", f"3 {axis} {np.dtype(kind).name}", old)
    for way in ("none", "sum", "prod", "min", "max", "mean"):
        for start in (True, False):

            def new(make: Maker, way: str = way, start: bool = start) -> Made:
                places = make.fed([[0, 1], [-1, -2]] if way == "none" else [[0, 1], [0, -2]], _LONG)
                data, updates = make.given(3, 4), make.given(2, 2)
                return opset12.scatter_elements_update(data, places, updates, make.held(0, _LONG), way, start)

            undrawn = "mean" if way == "mean" else "leaves out" if way != "none" and not start else None
            yield case("ScatterElementsUpdate", f"12 {way} {start}", new, undrawn=undrawn)
    yield from _placed()
    for way in ("none", "sum", "sub", "prod", "min", "max"):

        def reduced(make: Maker, way: str = way) -> Made:
            places = [[0], [2]] if way == "none" else [[0], [0]]
            return opset15.scatter_nd_update(make.given(3, 4), make.fed(places, _LONG), make.given(2, 4), way)

        yield case("ScatterNDUpdate", f"15 {way}", reduced)


def _placed() -> Iterator[Case]:
    for dims, indices in (
        ((4,), (2, 1)),
        ((3, 4), (2, 1)),
        ((3, 4), (3, 2)),
        ((2, 3, 4), (1, 2)),
        ((2, 3, 4), (2, 1, 3)),
    ):
        for kind in (_INT, _LONG):

            def deep(make: Maker, dims: Any = dims, indices: Any = indices, kind: Any = kind) -> Made:
                every = np.stack(np.unravel_index(np.arange(np.prod(dims[: indices[-1]])), dims[: indices[-1]]), -1)
                chosen = make.random.permutation(every)[: int(np.prod(indices[:-1]))].reshape(indices)
                updates = make.given(*indices[:-1], *dims[indices[-1] :])
                return opset4.scatter_nd_update(make.given(*dims), make.fed(chosen, kind), updates)

            yield case("ScatterNDUpdate", f"3 {dims} {indices} {np.dtype(kind).name}", deep)
    for axis, indices in ((0, (2,)), (1, (3,)), (-1, (2,)), (0, (1, 2)), (1, (2, 1)), (2, (2, 2))):
        for kind in (_INT, _LONG):

            def rows(make: Maker, axis: int = axis, indices: Any = indices, kind: Any = kind) -> Made:
                dims = [3, 4, 5]
                count = int(np.prod(indices))
                chosen = make.random.permutation(dims[axis])[:count].reshape(indices)
                place = axis % 3
                updates = make.given(*dims[:place], *indices, *dims[place + 1 :])
                return opset3.scatter_update(make.given(*dims), make.fed(chosen, kind), updates, make.held(axis, kind))

            yield case("ScatterUpdate", f"{axis} {indices} {np.dtype(kind).name}", rows)


def _places(axis: int) -> np.ndarray[Any, Any]:
    """Two by two places of an axis, none of them twice."""
    found = np.array([[0, 2], [1, 0]])
    return found if axis == 0 else np.array([[3, 1], [2, 0]])


def _chosen() -> Iterator[Case]:
    for mode in ("max", "min"):
        for order in ("value", "index", "none"):
            for axis in (0, 1, -1):

                def first(make: Maker, mode: str = mode, order: str = order, axis: int = axis) -> Made:
                    return opset1.topk(_apart(make, 3, 5), make.held(2, _LONG), axis, mode, order)

                def third(make: Maker, mode: str = mode, order: str = order, axis: int = axis) -> Made:
                    return opset3.topk(_apart(make, 3, 5), make.held(3, _INT), axis, mode, order, "i64")

                def last(make: Maker, mode: str = mode, order: str = order, axis: int = axis) -> Made:
                    steady = order == "value"
                    data = _apart(make, 3, 5) if not steady else make.given(3, 5, kind=_INT, low=0, high=2)
                    return opset11.topk(data, make.held(3, _LONG), axis, mode, order, "i32", steady)

                loose = {"sorted": order == "none" and axis != 0, "seen": 0 if order == "none" and axis == 0 else None}
                yield case("TopK", f"1 {mode} {order} {axis}", first, **loose)
                yield case("TopK", f"3 {mode} {order} {axis}", third, **loose)
                yield case("TopK", f"11 {mode} {order} {axis}", last, **loose)
    yield case("TopK", "all", lambda make: opset3.topk(_apart(make, 4), make.held(4, _LONG), 0, "max", "value"))
    for axis in (0, 1, -1):
        for flags in ((False, False), (True, False), (False, True), (True, True)):

            def summed(make: Maker, axis: int = axis, flags: Any = flags) -> Made:
                kind = _INT if flags[0] else _LONG
                return opset3.cumsum(make.given(3, 4), make.held(axis, kind), *flags)

            yield case("CumSum", f"{axis} {flags}", summed)
    yield case("CumSum", "whole", lambda make: opset3.cumsum(make.given(3, 4, kind=_INT), make.held(0, _INT)))
    for dims in ((5,), (2, 3), (2, 2, 2), (0, 2)):
        for kind, name in ((np.float32, "i64"), (_INT, "i32"), (np.bool_, "i64")):

            def found(make: Maker, dims: Any = dims, kind: Any = kind, name: str = name) -> Made:
                return opset3.non_zero(make.fed(make.random.integers(0, 2, dims), kind), name)

            yield case("NonZero", f"{dims} {np.dtype(kind).name}", found)


def _apart(make: Maker, *dims: int) -> Made:
    """Numbers of which no two are equal."""
    return make.fed(make.random.permutation(int(np.prod(dims))).reshape(dims) - 4, np.float32)


def _sought() -> Iterator[Case]:
    for dims, limits in (
        ((5,), [0, 1, 2]),
        ((2, 3), [-1, 1]),
        ((4,), [5]),
        ((2, 2, 2), [0]),
        ((), [-1, 0, 1]),
        ((3,), [2, 2, 2]),
    ):
        for right in (True, False):

            def bucket(make: Maker, dims: Any = dims, limits: Any = limits, right: bool = right) -> Made:
                name = "i64" if right else "i32"
                data = make.given(*dims, kind=_INT)
                return opset3.bucketize(data, make.held(limits, _INT), name, right)

            yield case("Bucketize", f"{dims} {limits} {right}", bucket)
    for rows, values in (
        ((5,), (3,)),
        ((2, 5), (2, 3)),
        ((1, 4), (1, 1)),
        ((4,), (2, 3)),
        ((2, 2, 3), (2, 2, 4)),
        ((3,), ()),
    ):
        for right in (True, False):

            def sought(make: Maker, rows: Any = rows, values: Any = values, right: bool = right) -> Made:
                ordered = np.sort(make.random.integers(-3, 4, rows), -1)
                return opset15.search_sorted(make.fed(ordered, _LONG), make.given(*values, kind=_LONG), right)

            yield case("SearchSorted", f"{rows} {values} {right}", sought)


CASES = [*_gathers(), *_slices(), *_strides(), *_scatters(), *_chosen(), *_sought()]
