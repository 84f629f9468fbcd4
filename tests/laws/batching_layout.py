"""Cases for the operators that move elements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, cycle, permutations
from math import prod
from random import Random
from typing import Any

import numpy as np

from tests.laws.batching_pointwise import PLACES
from tests.laws.batching_sketch import Sketch

DATA: list[tuple[Any, ...]] = [
    ((1, 12), 0),
    ((1, 3, 4), 0),
    ((3, 1, 4), 1),
    ((2, 3, 1), 2),
    ((12, 2), 0, 3, 4),
    ((2, 6), 1, 1, 6),
    ((4, 3), 0, 4, 1),
    ((1, 2, 3, 2), 0),
    ((2, 1, 2, 1, 3), 3),
    ((1,), 0),
]


def home_of(dims: Sequence[int], axis: int, outer: int, output: Sequence[int], size: int) -> bool:
    """Whether an axis of the output can hold the samples: what is before them there is before them in data."""
    before = prod(dims[:axis]) * outer
    return any(
        before % prod(output[:place]) == 0 and dim % (before // prod(output[:place]) * size) == 0
        for place, dim in enumerate(output)
    )


def reshapes() -> Iterator[Sketch]:
    for number, (dims, axis, *factors) in enumerate(DATA):
        rng = Random(number)  # noqa: S311 - a fixed choice
        outer = factors[0] if factors else 1
        for size in (1, 2):
            real = [dim * size if place == axis else dim for place, dim in enumerate(dims)]
            for opset in (7, 13, 14, 17):
                output = factored(rng, prod(real))
                for writing in ("literal", "inferred", "copied", "computed", "node"):
                    free = home_of(real, axis, outer, output, size)
                    s = Sketch("Reshape", opset, size, free=free)
                    x = s.x(real, axis, *factors)
                    yield s.out(s.op("Reshape", x, written(s, (x, real), output, writing, rng)))
    for flag in (0, 1):
        for target in ([1, -1], [1, 3, 4], [-1, 4]):
            s = Sketch("Reshape", 14 + flag * 5)
            yield s.out(s.op("Reshape", s.x((1, 12)), s.ints(*target), allowzero=flag))
    for target in ([0, 3, 2], [1, 0, 5], [2, 0, 1]):
        s = Sketch("Reshape", 14, free=target[0] == 1)
        yield s.out(s.op("Reshape", s.x((1, 0, 3)), s.ints(*target), allowzero=1))


def factored(rng: Random, volume: int) -> list[int]:
    """Dims of that volume."""
    parts = [1] * rng.randint(1, 4)
    for prime in (2, 2, 2, 2, 3, 3):
        if volume % prime == 0:
            volume //= prime
            parts[rng.randrange(len(parts))] *= prime
    return [*parts[:-1], parts[-1] * volume]


def written(s: Sketch, x: tuple[str, Sequence[int]], output: list[int], writing: str, rng: Random) -> str:
    """A target that makes data of these dims into that output, in one of the ways that models say it."""
    name, dims = x
    words = list(output)
    if writing == "copied":
        words = [0 if axis < len(dims) and dims[axis] == dim else dim for axis, dim in enumerate(output)]
    if writing in {"inferred", "copied", "node"}:
        words[rng.randrange(len(words))] = -1
    if writing == "node":
        return s.const_node(words, np.int64)
    if writing != "computed":
        return s.ints(*words)
    parts = [
        s.dim(name, axis) if axis < len(dims) and dims[axis] == dim else s.ints(dim) for axis, dim in enumerate(output)
    ]
    return str(s.op("Concat", *parts, axis=0))


def flattened_and_transposed() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for along in {0, 1, rank, rank - 1, -1, -rank}:
            if not -rank <= along <= rank:
                continue
            s = Sketch("Flatten", (11, 13, 17)[along % 3] if along < 0 else (7, 9, 22)[along % 3], size)
            yield s.out(s.op("Flatten", s.x(dims, axis, outer, inner), axis=along))
        orders = [None, *list(permutations(range(rank)))[1 :: rank * 2]]
        for number, order in enumerate(orders):
            s = Sketch("Transpose", (7, 13, 21)[number % 3], size)
            yield s.out(s.op("Transpose", s.x(dims, axis, outer, inner), perm=order))


# Dims with ones among them, the axis that carries the samples, and how many there are.
ONES: list[tuple[tuple[int, ...], int, int]] = [
    ((1, 3), 0, 1),
    ((1, 1, 3), 0, 1),
    ((1, 1, 3), 1, 1),
    ((2, 1, 3, 1), 1, 1),
    ((2, 1, 3, 1), 3, 1),
    ((1, 1, 1), 1, 1),
    ((1, 2, 1, 2, 1), 4, 1),
    ((2, 1, 3), 0, 2),
]


def squeezed_and_unsqueezed() -> Iterator[Sketch]:
    for dims, axis, size in ONES:
        ones = [each for each, dim in enumerate(dims) if dim == 1]
        chosen = [None, *(list(each) for count in (1, 2) for each in combinations(ones, count))]
        for number, axes in enumerate(chosen):
            for opset in (7, 11, 13, 21):
                left = [dim for each, dim in enumerate(dims) if each not in (ones if axes is None else axes)]
                s = Sketch("Squeeze", opset, size, free=home_of(dims, axis, 1, left, size))
                yield s.out(_with_axes(s, s.x(dims, axis), axes, number, len(dims)))
    for dims, axis, outer, inner, size in PLACES:
        for number, axes in enumerate(([0], [len(dims)], [0, 2] if len(dims) > 1 else [0, 1], [1])):
            for opset in (7, 11, 13):
                s = Sketch("Unsqueeze", opset, size)
                yield s.out(_with_axes(s, s.x(dims, axis, outer, inner), axes, number, len(dims) + len(axes)))


def _with_axes(s: Sketch, x: str, axes: Sequence[int] | None, number: int, rank: int) -> str:
    if axes is None:
        return str(s.op(s.about, x))
    if number % 2 and s.opset >= 11:
        axes = [axis - rank for axis in axes]
    if s.opset < 13:
        return str(s.op(s.about, x, axes=axes))
    return str(s.op(s.about, x, s.ints(*axes) if number % 3 else s.const_node(axes, np.int64)))


def expanded_and_tiled() -> Iterator[Sketch]:
    for opset, (dims, axis, outer, inner, size) in zip(cycle([9, 11, 13, 17]), PLACES, strict=False):
        rank = len(dims)
        whole = [3 if dim == 1 and place != axis else dim for place, dim in enumerate(dims)]
        ones = [1] * rank
        for target in (list(dims), whole, ones, [2, *whole], [2, *ones], whole[1:] or [1]):
            if len(target) < rank and dims[0] != 1 and target == ones:
                continue
            s = Sketch("Expand", opset, size)
            yield s.out(s.op("Expand", s.x(dims, axis, outer, inner), s.ints(*target)))
        if outer == inner == 1:
            s = Sketch("Expand", opset, size, free=size == 1)
            grown = [5 if place == axis else dim for place, dim in enumerate(dims)]
            if size == 1:
                yield s.out(s.op("Expand", s.x(dims, axis), s.const_node(grown, np.int64)))
        s = Sketch("Expand", opset, size)
        x = s.x(dims, axis, outer, inner)
        yield s.out(s.op("Expand", x, s.op("Shape", x)))
        s = Sketch("Expand", opset, size)
        x = s.x(dims, axis, outer, inner)
        yield s.out(s.op("Expand", x, _like_exporters(s, [2, *whole])))
        for repeats in ([2] * rank, [3 if place == axis else 1 for place in range(rank)], [1] * rank):
            s = Sketch("Tile", (7, 13)[rank % 2], size)
            x = s.x(dims, axis, outer, inner)
            yield s.out(s.op("Tile", x, s.ints(*repeats) if opset % 2 else s.const_node(repeats, np.int64)))


def _like_exporters(s: Sketch, target: Sequence[int]) -> str:
    """The words by which exporters say that a -1 in the shape of an Expand keeps a dim."""
    asked = s.ints(*(-1 if place == 0 else dim for place, dim in enumerate(target)))
    ones = s.op("ConstantOfShape", s.op("Shape", asked), value=_tensor([1]))
    minus = s.op("Mul", ones, s.const(-1, np.int64))
    return str(s.op("Where", s.op("Equal", asked, minus), ones, asked))


def _tensor(numbers: Sequence[int]) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(np.array(numbers, np.int64))


def joined() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in PLACES:
        rank = len(dims)
        for along in range(-1, rank - 1):
            other = [2 if place == along % rank else dim for place, dim in enumerate(dims)]
            here = along % rank == axis
            for number in range(3):
                s = Sketch("Concat", (7, 11, 13, 17)[(along + number) % 4], size, free=not here)
                x = s.x(dims, axis, outer, inner)
                if number < 2:
                    constant = np.broadcast_to(np.arange(other[-1]) + 0.5 if axis != rank - 1 else 0.5, other)
                    made = s.const(constant, np.float32) if number else s.const_node(constant, np.float32)
                    s.free = s.free and (size == 1 or outer == 1)
                    yield s.out(s.op("Concat", *((x, made, x) if number else (made, x)), axis=along))
                else:
                    s.free = not here or outer == 1
                    yield s.out(s.op("Concat", x, s.x(dims, axis, outer, inner), x, axis=along))
    s = Sketch("Concat", 13, 2, free=False)
    yield s.out(s.op("Concat", s.x((2, 3)), s.floats(2, 1), axis=1))


def divided() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size in [*PLACES, ((4, 3), 0, 4, 1, 1), ((2, 12), 1, 2, 3, 2)]:
        for along in range(-len(dims), 0):
            here, whole = along % len(dims) == axis, dims[along]
            for opset in (7, 11, 13, 18):
                for count in (2, 3):
                    even = whole % count == 0
                    parts = [whole // count] * count if even else [1] * (count - 1) + [whole - count + 1]
                    if min(parts) < 1:
                        continue
                    for given in (True, False) if even else (True,):
                        s = Sketch("Split", opset, size, free=not here or (even and outer % count == 0))
                        x = s.x(dims, axis, outer, inner)
                        yield s.out(*_split(s, x, parts if given else None, along, count))


def _split(s: Sketch, x: str, parts: list[int] | None, axis: int, count: int) -> list[str]:
    axis = axis if s.opset >= 11 else axis + len(next(iter(s.inputs.values())).dims) - (2 if len(s.nodes) else 0)
    if s.opset < 13:
        return list(s.op("Split", x, axis=axis, split=parts, outputs=count))
    told = None if parts is not None or s.opset < 18 else count
    return list(
        s.op("Split", x, *([] if parts is None else [s.ints(*parts)]), axis=axis, num_outputs=told, outputs=count)
    )


# starts, ends, axes, steps; in terms of the axis a and its size d
SLICES: list[tuple[Any, ...]] = [
    ([0], [2**63 - 1], "a", None),
    ([0], ["d"], "a", None),
    ([0], ["d"], "-a", [1]),
    ([0], ["d+"], "a", [1]),
    (["-d"], [2**31 - 1], "a", [1]),
    ([0], [1], "b", None),
    ([-1], [-9], "b", [-1]),
    ([0, 0], ["d", 1], "ab", None),
    ([0, 0], [1, "d"], "ba", [1, 1]),
    ([1], [2**63 - 1], "a", None),
    ([0], ["d-"], "a", None),
]


def sliced() -> Iterator[Sketch]:
    for number, (dims, axis, outer, inner, size) in enumerate(PLACES):
        rank = len(dims)
        if rank == 1:
            continue
        beside = (axis + 1) % rank
        whole = dims[axis]
        words: dict[Any, int] = {"d": whole, "d+": whole + 3, "-d": -whole, "d-": whole - 1}
        for starts, ends, where, steps in SLICES:
            axes = {"a": [axis], "-a": [axis - rank], "b": [beside], "ab": [axis, beside], "ba": [beside, axis]}[where]
            first, last = ([words.get(each, each) for each in which] for which in (starts, ends))
            part = starts == [1] or ends == ["d-"]
            for opset in (7, 10, 11, 13):
                if opset < 10 and (steps == [-1] or where == "-a"):
                    continue
                s = Sketch("Slice", opset, size, free=not part)
                x = s.x(dims, axis, outer, inner)
                if opset < 10:
                    yield s.out(s.op("Slice", x, starts=first, ends=last, axes=axes))
                    continue
                kind = np.int64 if max(map(abs, last)) >= 2**31 or number % 2 else np.int32
                given = [s.const(each, kind) for each in (first, last, axes, steps) if each is not None]
                yield s.out(s.op("Slice", x, *given))
    for dims, axis in (((1, 3), 0), ((1, 2, 3), 0), ((3, 1), 1)):
        s = Sketch("Slice", 13)
        x = s.x(dims, axis)
        yield s.out(s.op("Slice", x, s.ints(*[0] * len(dims)), s.op("Shape", x)))
        s = Sketch("Slice", 13)
        x = s.x(dims, axis)
        yield s.out(s.op("Slice", x, s.ints(0), s.dim(x, axis), s.ints(axis)))
        s = Sketch("Slice", 7)
        yield s.out(s.op("Slice", s.x(dims, axis), starts=[0] * len(dims), ends=list(dims)))


def padded() -> Iterator[Sketch]:
    for number, (dims, axis, outer, inner, size) in enumerate(PLACES):
        rank = len(dims)
        for on_it in (False, True):
            pads = [int((place == axis) == on_it) for place in range(rank)] + [
                2 * (place != axis) for place in range(rank)
            ]
            if on_it:
                pads[rank:] = [0] * rank
            for opset, mode in zip((7, 11, 13, 18), ("constant", "constant", "edge", "reflect"), strict=True):
                if mode == "reflect" and any(
                    max(pads[place], pads[rank + place]) >= dim for place, dim in enumerate(dims)
                ):
                    continue
                s = Sketch("Pad", opset, size, free=not on_it)
                x = s.x(dims, axis, outer, inner)
                if opset < 11:
                    yield s.out(s.op("Pad", x, pads=pads, mode=mode))
                elif opset < 18:
                    yield s.out(s.op("Pad", x, s.ints(*pads), s.const(1.5, np.float32), mode=mode))
                else:
                    places = [place for place in range(rank) if number % 2 or pads[place] or pads[rank + place]]
                    kept = [pads[place] for place in places] + [pads[rank + place] for place in places]
                    axes = s.ints(*(place - rank * (number % 2) for place in places))
                    yield s.out(s.op("Pad", x, s.ints(*kept), "", axes, mode=mode))


def layout() -> Iterator[Sketch]:
    families = (
        reshapes,
        flattened_and_transposed,
        squeezed_and_unsqueezed,
        expanded_and_tiled,
        joined,
        divided,
        sliced,
        padded,
    )
    for family in families:
        yield from family()
