"""Resize and Upsample: by the nearest place it is movement, else a function of the places around a coordinate.

Axes are resized one after the other.  One that keeps its dim at a scale of exactly 1 is left as it is, so that samples
stay apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.records.coordinates import ResizedAxis, exact, nearest, reads
from onereshape.terms.tensor import Tensor, terms

_TRANSFORMS: Final = {
    "half_pixel": (11, 99),
    "pytorch_half_pixel": (11, 99),
    "align_corners": (11, 99),
    "asymmetric": (11, 99),
    "tf_half_pixel_for_nn": (11, 12),
    "tf_crop_and_resize": (11, 99),
    "half_pixel_symmetric": (19, 99),
}
"""The first and the last version of Resize that has each transformation."""
_LONGEST: Final = 1 << 15
"""The longest axis whose places are looked at one by one."""
_OLD: Final = "of old"
"""Before opset 11 it is not said where places lie."""
_NEAREST: Final = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def _resize(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    transformation = _transformation(call)
    found = data
    if data.depends:
        call.not_for_all("resizes numbers that depend on the number of samples")
    axes = _axes(call, data, transformation)
    call.check_size([axes[place].after if place in axes else dim for place, dim in enumerate(data.shape)])
    for place, axis in axes.items():
        if axis.keeps(transformation):
            if axis.scale != 1 and data.growth and data.growth[place]:
                call.not_for_all("scales a dim that grows with the number of samples, and may be another then")
            continue
        if data.growth and data.growth[place]:
            call.not_for_all("resizes a dim that grows with the number of samples")
        if not axis.before or not axis.after:
            call.refuse("resizes what is empty")
        if axis.after > _LONGEST:
            call.refuse(f"{axis.after} places are more than are looked at")
        found = _along(call, found, place, axis, transformation)
    return [found]


def _transformation(call: Call) -> str:
    if call.op == "Upsample" or call.version < 11:
        return _OLD
    found = str(call.attribute("coordinate_transformation_mode", "half_pixel"))
    first, last = _TRANSFORMS.get(found, (99, 0))
    if not first <= call.version <= last:
        call.refuse(f"there is no transformation {found!r}")
    return found


def _axes(call: Call, data: Tensor, transformation: str) -> dict[int, ResizedAxis]:
    """The axes that are resized, by their places."""
    places = call.axes(call.attribute("axes") or range(data.rank), data.rank)
    scales = _scales(call, len(places))
    regions = [(Fraction(0), Fraction(1))] * len(places)
    if transformation == "tf_crop_and_resize":
        regions = _regions(call, len(places))
    if scales is not None:
        _check_rounding(call, data, places, scales, regions)
        return {
            place: ResizedAxis(dim := data.shape[place], floor(dim * (end - start) * scale), scale, start, end)
            for place, scale, (start, end) in zip(places, scales, regions, strict=True)
        }
    sizes = call.integers(3, sized=True)
    if len(sizes) != len(places) or any(each < 0 for each in sizes):
        call.refuse(f"its sizes {sizes} are not those of {len(places)} axes")
    _check_growth(call, data, places, sizes)
    if not all(data.shape[place] for place in places):
        call.refuse("resizes what is empty")
    ratios = [Fraction(size, data.shape[place]) for place, size in zip(places, sizes, strict=True)]
    policy = call.attribute("keep_aspect_ratio_policy", "stretch")
    if policy in {"not_larger", "not_smaller"}:
        scale = (min if policy == "not_larger" else max)(ratios)
        ratios = [scale] * len(ratios)
        sizes = [floor(scale * data.shape[place] + Fraction(1, 2)) for place in places]
        if data.growth and any(data.growth[place] for place in places):
            call.not_for_all("keeps the ratio to a dim that grows with the number of samples")
    elif policy != "stretch":
        call.refuse(f"there is no keep_aspect_ratio_policy {policy!r}")
    if not all(ratios):
        call.refuse("makes what is empty")
    return {
        place: ResizedAxis(data.shape[place], size, scale, *region)
        for place, size, scale, region in zip(places, sizes, ratios, regions, strict=True)
    }


def _scales(call: Call, count: int) -> list[Fraction] | None:
    """The scales of `count` axes as the node gives them; None where it gives sizes."""
    if call.op == "Upsample" and call.version < 7:
        found: Any = [1.0, 1.0, call.attribute("height_scale"), call.attribute("width_scale")]
    elif call.op == "Upsample" and call.version < 9:
        found = call.attribute("scales")
    else:
        place = 1 if call.op == "Upsample" or call.version < 11 else 2
        found = call.numbers(place).ravel() if call.has(place) and call.tensor(place).size else None
    by_size = call.op == "Resize" and call.version >= 11 and call.has(3) and call.tensor(3).size > 0
    if (found is None) != by_size:
        call.refuse("it has not one of scales and sizes")
    if found is None:
        return None
    if len(found) != count or not all(np.isfinite(each) and each > 0 for each in found):
        call.refuse(f"its scales {list(found)} are not those of {count} axes")
    return [exact(each) for each in found]


def _regions(call: Call, count: int) -> list[tuple[Fraction, Fraction]]:
    found = call.numbers(1).ravel() if call.has(1) else np.zeros(0)
    if len(found) != 2 * count or not all(np.isfinite(each) for each in found):
        call.refuse(f"its region is not that of {count} axes")
    numbers = [exact(each) for each in found]
    return list(zip(numbers[:count], numbers[count:], strict=True))


def _check_rounding(
    call: Call, data: Tensor, places: Sequence[int], scales: Sequence[Fraction], regions: Sequence[Any]
) -> None:
    """Refuses scales by which engines may get different dims: they multiply floats, and may leave out the region."""
    for place, scale, (start, end) in zip(places, scales, regions, strict=True):
        if floor(data.shape[place] * scale) != floor(data.shape[place] * (end - start) * scale):
            call.refuse("scales a region, to which engines do not give the same dims")
        if floor(data.shape[place] * scale) != floor(np.float32(data.shape[place]) * np.float32(float(scale))):
            call.refuse(f"{data.shape[place]} times {float(scale)} is rounded to another dim by engines")


def _check_growth(call: Call, data: Tensor, places: Sequence[int], sizes: Sequence[int]) -> None:
    """Notes sizes that depend on the number of samples, unless they equal the dims of the data for every N."""
    slopes = call.tensor(3).slopes().ravel()
    for place, size, slope in zip(places, sizes, slopes, strict=True):
        growth = data.growth[place] if data.growth else 0
        if slope != growth or (growth and size != data.shape[place]):
            call.not_for_all("resizes a dim to a number that depends on the number of samples")


def _along(call: Call, data: Tensor, place: int, axis: ResizedAxis, transformation: str) -> Tensor:
    """The data resized along the axis at `place`: moved in mode nearest, a function of the places read in any other."""
    mode = str(call.attribute("mode", "nearest"))
    if mode not in {"nearest", "linear", "bilinear", "cubic"} or (mode == "cubic" and transformation == _OLD):
        call.refuse(f"there is no mode {mode!r}")
    if mode == "nearest":
        picked = _nearest(call, axis, transformation)
        if picked is not None:
            return data.moved(lambda array: np.take(array, picked, place))
    ways = ("asymmetric", "half_pixel") if transformation == _OLD else (transformation,)
    options, around = reads(axis, ways)
    if transformation == "tf_crop_and_resize" and any(not 0 <= each <= axis.before - 1 for each in sum(options, ())):
        call.refuse("reads outside of the tensor")
    parts = _parts(call, axis, mode, transformation)
    reach = _reach(call, axis, mode)
    width = max(high - low + 1 for low, high in around) + 2 * reach
    words = data.hashed(call.hashing)
    call.check_size((*words.shape[:place], axis.after, *words.shape[place + 1 :]))
    # Each window is made once, of what there is before the resizing, and then taken as often as it is read.
    starts = np.array([low - reach for low, _ in around])
    read = [axis.within(each) for each in range(int(starts.min()), int(starts.max()) + width)]
    call.check_size((*words.shape[:place], len(read), *words.shape[place + 1 :]))
    content = call.hashing.slide(np.take(words, read, place), place, width, 1, 1, 0)
    near = np.take(content, starts - starts.min(), place)
    keys = [call.key(data.dtype.name, axis.before, *parts, each, op="Resize") for each in options]
    where = np.array(keys, np.uint64).reshape(-1, *[1] * (data.rank - place - 1))
    return terms(call.hashing.mix(call.key(op="Resize"), near, where), data.dtype)


def _nearest(call: Call, axis: ResizedAxis, transformation: str) -> list[int] | None:
    """The place that each place of the answer copies, `[0, 0, 1, 1]` for twice the size; None where engines differ."""
    if transformation == _OLD:
        both = nearest(axis, "asymmetric", "floor"), nearest(axis, "half_pixel", "round_prefer_floor")
        return None if both[0] is None or both[0] != both[1] else [*both[0]]
    how = str(call.attribute("nearest_mode", "round_prefer_floor"))
    if how not in _NEAREST:
        call.refuse(f"there is no nearest_mode {how!r}")
    if transformation == "tf_crop_and_resize":
        return None
    found = nearest(axis, transformation, how)
    return None if found is None else [*found]


def _parts(call: Call, axis: ResizedAxis, mode: str, transformation: str) -> tuple[Any, ...]:
    """The parts of a Resize's key beside places and coordinates: its mode, and attributes that matter in this mode."""
    found: list[Any] = [mode.removeprefix("bi"), transformation == _OLD, call.attribute("exclude_outside", 0)]
    if mode == "nearest":
        found.append(call.attribute("nearest_mode", "round_prefer_floor"))
    if mode == "cubic":
        found.append(call.attribute("cubic_coeff_a", -0.75))
    if call.attribute("antialias", 0) and axis.scale < 1:
        found.append(("antialias", axis.scale))
    return tuple(found)


def _reach(call: Call, axis: ResizedAxis, mode: str) -> int:
    """How many places beyond the two around a coordinate a Resize may read: 1 in mode cubic, more with antialias."""
    reach = 1 if mode == "cubic" else 0
    if call.attribute("antialias", 0) and axis.scale < 1:
        return ceil((reach + 1) / min(axis.scales)) + 1
    return reach


RECORDS: Final[dict[str, Record]] = {
    "Resize": record(_resize, carries=True),
    "Upsample": record(_resize, carries=True),
}
