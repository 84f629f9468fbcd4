"""Layers that move elements, or say sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from openvino import opset1, opset3, opset12, opset15, opset16

from tests.formats.layers.making import Case, Made, Maker, case

_INT, _LONG, _TRUTH = np.int32, np.int64, np.bool_


def _reshapes() -> Iterator[Case]:
    words: tuple[tuple[tuple[int, ...], list[int], bool], ...] = (
        ((2, 3, 4), [6, 4], False), ((2, 3, 4), [-1, 4], False), ((2, 3, 4), [0, -1], True), ((2, 3, 4), [0, 0, 2, 2], True),
        ((2, 0, 4), [0, 2], False), ((2, 0, 4), [2, 0, 4], True), ((1,), [], False), ((), [1, 1], False),
        ((2, 3), [-1], True),
    )  # fmt: skip
    for dims, target, zero in words:
        for kind in (_INT, _LONG):

            def build(make: Maker, dims: Any = dims, target: Any = target, zero: bool = zero, kind: Any = kind) -> Made:
                return opset1.reshape(make.given(*dims), make.held(target, kind), zero)

            yield case("Reshape", f"{np.dtype(kind).name} {dims} {target} {zero}", build)
    yield case(
        "Reshape", "fed", lambda make: opset1.reshape(make.given(2, 3), make.fed([3, 2], _INT), False), said=True
    )

    def computed(make: Maker) -> Made:
        shape = opset1.shape_of(make.given(2, 3))
        return opset1.reshape(make.given(3, 2), shape, True)

    yield case("Reshape", "computed", computed)
    for dims, order in (
        ((2, 3, 4), [2, 0, 1]),
        ((2, 3), [1, 0]),
        ((2, 3, 4), []),
        ((5,), [0]),
        ((1, 2, 1, 3), [3, 2, 1, 0]),
    ):
        for kind in (_INT, _LONG):

            def turned(make: Maker, dims: Any = dims, order: Any = order, kind: Any = kind) -> Made:
                return opset1.transpose(make.given(*dims), make.held(order, kind))

            yield case("Transpose", f"{np.dtype(kind).name} {dims} {order}", turned)
    yield case(
        "Transpose",
        "fed",
        lambda make: opset1.transpose(make.given(2, 3), make.fed([1, 0], _LONG)),
        undrawn="no constant",
    )


def _ones() -> Iterator[Case]:
    for dims, axes in (((1, 3, 1), [0]), ((1, 3, 1), [0, -1]), ((1, 3, 1), [-3]), ((1, 1), [0, 1]), ((2, 1, 3), [1])):
        for kind in (_INT, _LONG):

            def squeezed(make: Maker, dims: Any = dims, axes: Any = axes, kind: Any = kind) -> Made:
                return opset1.squeeze(make.given(*dims), make.held(axes, kind))

            yield case("Squeeze", f"{np.dtype(kind).name} {dims} {axes}", squeezed)
    yield case("Squeeze", "scalar", lambda make: opset1.squeeze(make.given(1, 3), make.held(0, _LONG)))
    yield case("Squeeze", "none", lambda make: opset15.squeeze(make.given(1, 3, 1)), said=True)
    yield case("Squeeze", "15", lambda make: opset15.squeeze(make.given(1, 3, 1), make.held([0], _LONG)))

    def skipping(make: Maker) -> Made:
        return opset15.squeeze(make.given(2, 3, 1), make.held([0, 2], _LONG), allow_axis_skip=True)

    yield case("Squeeze", "old", lambda make: opset1.squeeze(make.given(2, 3, 1), make.held([0, 2], _LONG)))
    yield case("Squeeze", "skipped", skipping)
    yield case(
        "Squeeze",
        "all skipped",
        lambda make: opset15.squeeze(make.given(2, 3), make.held([0], _LONG), allow_axis_skip=True),
    )
    for dims, axes in (((3,), [0]), ((3,), [-1]), ((2, 3), [0, 2]), ((2, 3), [-1, 0]), ((), [0]), ((2, 3), [1, 2, 3])):
        for kind in (_INT, _LONG):

            def widened(make: Maker, dims: Any = dims, axes: Any = axes, kind: Any = kind) -> Made:
                return opset1.unsqueeze(make.given(*dims), make.held(axes, kind))

            yield case("Unsqueeze", f"{np.dtype(kind).name} {dims} {axes}", widened)
    yield case("Unsqueeze", "scalar", lambda make: opset1.unsqueeze(make.given(2), make.held(1, _LONG)))


def _joins() -> Iterator[Case]:
    for axis in (0, 1, -1, -2):
        for kind in (np.float32, _INT, _TRUTH):

            def joined(make: Maker, axis: int = axis, kind: Any = kind) -> Made:
                dims = [[2, 3], [2, 3], [2, 3]]
                for each, size in zip(dims, (1, 2, 0), strict=True):
                    each[axis] = size
                return opset1.concat([make.given(*each, kind=kind) for each in dims], axis)

            yield case("Concat", f"{np.dtype(kind).name} {axis}", joined)
    yield case("Concat", "one", lambda make: opset1.concat([make.given(2, 3)], 0))
    yield case("Concat", "constant", lambda make: opset1.concat([make.given(2, 3), make.drawn(1, 3)], 0))
    for axis in (0, 1, 2, -1):
        for kind in (_INT, _LONG):

            def split(make: Maker, axis: int = axis, kind: Any = kind) -> Made:
                return opset1.split(make.given(2, 4, 6), make.held(axis, kind), 2)

            def lengths(make: Maker, axis: int = axis, kind: Any = kind) -> Made:
                return opset1.variadic_split(make.given(4, 4, 4), make.held(axis, kind), make.held([1, 0, 3], kind))

            def rest(make: Maker, axis: int = axis, kind: Any = kind) -> Made:
                return opset1.variadic_split(make.given(4, 4, 4), make.held([axis], kind), make.held([1, -1, 2], kind))

            yield case("Split", f"{np.dtype(kind).name} {axis}", split)
            yield case("VariadicSplit", f"{np.dtype(kind).name} {axis}", lengths)
            yield case("VariadicSplit", f"rest {np.dtype(kind).name} {axis}", rest)

    for pieces in ([1, 3], [-1, 1], [2, -1]):
        for axis, kind in ((0, _LONG), (-2, _INT)):

            def fed(make: Maker, given: Any = pieces, axis: int = axis, kind: Any = kind) -> Made:
                return opset1.variadic_split(make.given(4, 3), make.held(axis, _LONG), make.fed(given, kind))

            yield case("VariadicSplit", f"fed {pieces} {axis}", fed, said=True)


def _spread() -> Iterator[Case]:
    for dims, target in (
        ((3,), [2, 3]),
        ((2, 1), [2, 3]),
        ((1, 3), [2, 2, 3]),
        ((), [2, 2]),
        ((2, 3), [2, 3]),
        ((1,), [0]),
    ):
        for kind in (_INT, _LONG):

            def numpy(make: Maker, dims: Any = dims, target: Any = target, kind: Any = kind) -> Made:
                return opset1.broadcast(make.given(*dims), make.held(target, kind), mode="NUMPY")

            yield case("Broadcast", f"numpy {np.dtype(kind).name} {dims} {target}", numpy)
    for dims, target in (((3, 1), [2, 1, 4]), ((2, 3), [3]), ((2, 3), [1]), ((4, 1), [1, 5])):

        def both(make: Maker, dims: Any = dims, target: Any = target) -> Made:
            return opset3.broadcast(make.given(*dims), make.held(target, _LONG), broadcast_spec="BIDIRECTIONAL")

        yield case("Broadcast", f"both {dims} {target}", both)
    explicit = (
        ((3,), [3, 4], [0]),
        ((3,), [2, 3], [1]),
        ((2, 4), [2, 3, 4], [0, 2]),
        ((1, 4), [2, 3, 4], [1, 2]),
        ((), [2, 2], []),
    )
    for dims, target, axes in explicit:

        def laid(make: Maker, dims: Any = dims, target: Any = target, axes: Any = axes) -> Made:
            places = make.held(axes, _LONG)
            return opset3.broadcast(make.given(*dims), make.held(target, _LONG), places, broadcast_spec="EXPLICIT")

        yield case("Broadcast", f"explicit {dims} {target} {axes}", laid)
    yield case("Broadcast", "fed", lambda make: opset3.broadcast(make.given(1, 3), make.fed([2, 3], _LONG)), said=True)
    tiles = (
        ((2, 3), [2, 2]),
        ((2, 3), [1, 3]),
        ((2, 3), [3]),
        ((3,), [2, 2]),
        ((2, 3), [2, 1, 2]),
        ((2,), [0]),
        ((), [3]),
        ((2, 3), [1, 1]),
    )
    for dims, repeats in tiles:
        for kind in (_INT, _LONG):

            def tiled(make: Maker, dims: Any = dims, repeats: Any = repeats, kind: Any = kind) -> Made:
                return opset1.tile(make.given(*dims), make.held(repeats, kind))

            yield case("Tile", f"{np.dtype(kind).name} {dims} {repeats}", tiled)
    yield case("Tile", "fed", lambda make: opset1.tile(make.given(2, 3), make.fed([2, 1], _LONG)), said=True)
    yield case("Tile", "fed fewer", lambda make: opset1.tile(make.given(2, 3), make.fed([2], _LONG)), said=True)


def _sizes() -> Iterator[Case]:
    for dims in ((), (3,), (2, 0), (2, 3, 4), (1, 1)):
        yield case("ShapeOf", f"1 {dims}", lambda make, dims=dims: opset1.shape_of(make.given(*dims)))
        for kind in ("i32", "i64"):
            yield case(
                "ShapeOf", f"{kind} {dims}", lambda make, dims=dims, k=kind: opset3.shape_of(make.given(*dims), k)
            )
    for start, stop, step in ((0, 5, 1), (2, 9, 3), (5, 0, -2), (3, 3, 1), (-3, 3, 2)):
        for kind, name in ((_INT, "i32"), (_LONG, "i64"), (np.float32, "f32")):

            def old(make: Maker, limits: Any = (start, stop, step), kind: Any = kind) -> Made:
                return opset1.range(*(make.fed(each, kind) for each in limits))

            def new(make: Maker, limits: Any = (start, stop, step), kind: Any = kind, name: str = name) -> Made:
                return opset16.range(*(make.fed(each, kind) for each in limits), name)

            yield case("Range", f"4 {name} {start} {stop} {step}", new)
            if name != "i64":
                yield case("Range", f"1 {name} {start} {stop} {step}", old)
    whole = [(np.int32, each) for each in (1, 6, 2)]
    real = [(np.float32, each) for each in (0.5, 4.7, 1.2)]
    for name, limits in (("cast", whole), ("real", real)):

        def numbers(make: Maker, limits: Any = limits) -> Made:
            return opset16.range(*(make.fed(each, kind) for kind, each in limits), "f32")

        yield case("Range", name, numbers)

    def rounded(make: Maker) -> Made:
        return opset16.range(*(make.fed(each, kind) for kind, each in real), "i32")

    yield case("Range", "rounded", rounded, undrawn="rounds")


def _blocks() -> Iterator[Case]:
    for mode in ("blocks_first", "depth_first"):
        for dims in ((1, 8, 2, 3), (2, 16, 1, 2), (1, 4, 3), (1, 8, 2, 1, 3)):

            def deep(make: Maker, dims: Any = dims, mode: str = mode) -> Made:
                return opset1.depth_to_space(make.given(*dims), mode, 2)

            yield case("DepthToSpace", f"{mode} {dims}", deep)
        for dims in ((1, 2, 4, 6), (2, 1, 2, 2), (1, 3, 6), (1, 2, 2, 4, 2)):

            def wide(make: Maker, dims: Any = dims, mode: str = mode) -> Made:
                return opset1.space_to_depth(make.given(*dims), mode, 2)

            yield case("SpaceToDepth", f"{mode} {dims}", wide)
    for dims, axis, group in (
        ((1, 6, 2, 2), 1, 3),
        ((2, 4, 3), 1, 2),
        ((2, 4), -1, 2),
        ((4, 3), 0, 2),
        ((1, 2, 6, 3), 2, 2),
        ((1, 6, 2), 1, 6),
    ):

        def dealt(make: Maker, dims: Any = dims, axis: int = axis, group: int = group) -> Made:
            return opset3.shuffle_channels(make.given(*dims), axis, group)

        yield case("ShuffleChannels", f"{dims} {axis} {group}", dealt)
    turns = (
        ((2, 4, 3), 0, 1),
        ((4, 2, 3), 1, 0),
        ((2, 3, 4), 0, 2),
        ((3, 2, 4), 1, 2),
        ((2, 4), 0, 1),
        ((2, 3, 4), 2, 1),
        ((2, 3, 4), -3, -1),
    )
    for dims, batch, time in turns:
        for kind in (_INT, _LONG):

            def backwards(
                make: Maker, dims: Any = dims, batch: int = batch, time: int = time, kind: Any = kind
            ) -> Made:
                lengths = make.random.integers(1, dims[time] + 1, dims[batch])
                return opset1.reverse_sequence(make.given(*dims), make.fed(lengths, kind), batch, time)

            yield case("ReverseSequence", f"{np.dtype(kind).name} {dims} {batch} {time}", backwards)


def _edges() -> Iterator[Case]:
    for mode in ("constant", "edge", "reflect", "symmetric"):
        for dims, before, after in (
            ((3, 4), [1, 0], [2, 3]),
            ((3, 4), [0, 0], [0, 0]),
            ((4,), [3], [2]),
            ((2, 3, 4), [1, 1, 0], [0, 2, 3]),
        ):

            def padded(
                make: Maker, mode: str = mode, dims: Any = dims, before: Any = before, after: Any = after
            ) -> Made:
                return opset1.pad(make.given(*dims), make.held(before, _LONG), make.held(after, _LONG), mode)

            yield case("Pad", f"{mode} {dims} {before} {after}", padded)

    def filled(make: Maker, kind: Any, count: Any = _LONG) -> Made:
        number = make.held(7, kind)
        return opset1.pad(
            make.given(2, 3, kind=kind), make.held([1, 0], count), make.held([0, 2], count), "constant", number
        )

    yield case("Pad", "filled", lambda make: filled(make, np.float32))
    yield case("Pad", "filled i32", lambda make: filled(make, _INT))
    yield case("Pad", "counted i32", lambda make: filled(make, np.float32, _INT))
    yield case(
        "Pad",
        "cut",
        lambda make: opset12.pad(
            make.given(4, 4), make.held([-1, 1], _LONG), make.held([0, -2], _LONG), "constant", make.held(2)
        ),
    )
    yield case(
        "Pad",
        "fed",
        lambda make: opset1.pad(make.given(4, 4), make.fed([1, 1], _LONG), make.fed([0, 2], _LONG), "edge"),
        said=True,
    )
    for axis in (0, 1, -1):
        for mode in (None, "normalize", "ignore_negative"):
            for kind in (_INT, _LONG):

                def hot(make: Maker, axis: int = axis, mode: Any = mode, kind: Any = kind) -> Made:
                    values = make.fed([[0, 2, -1], [4, -4, 3]], kind)
                    if mode is None:
                        values = make.fed([[0, 2, 1], [3, 3, 0]], kind)
                        return opset1.one_hot(values, make.held(4, _LONG), make.held(5), make.held(-1), axis)
                    return opset16.one_hot(values, make.held(4, _LONG), make.held(5), make.held(-1), axis, mode)

                yield case("OneHot", f"{axis} {mode} {np.dtype(kind).name}", hot)
    yield case(
        "OneHot",
        "below and above",
        lambda make: opset1.one_hot(
            make.fed([-1, 0, 3, 7, -9], _LONG), make.held(4, _LONG), make.held(1), make.held(0), 1
        ),
    )


CASES = [*_reshapes(), *_ones(), *_joins(), *_spread(), *_sizes(), *_blocks(), *_edges()]
