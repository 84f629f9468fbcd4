"""Layers that look at windows of an image: convolutions and pools."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError, data_type
from onereshape.formats.ir_as_onnx.machine import ARM

_AUTO = {"same_upper": "SAME_UPPER", "same_lower": "SAME_LOWER", "valid": "VALID"}


def _padding(layer: Layer, spatial: int) -> dict[str, Any]:
    """The pads, as a list or as a word."""
    word = layer.text("auto_pad", "explicit").lower()
    if word in _AUTO:
        return {"auto_pad": _AUTO[word]}
    pads = [*layer.integers("pads_begin"), *layer.integers("pads_end")]
    return {"pads": pads or [0] * 2 * spatial}


def _steps(layer: Layer) -> dict[str, Any]:
    return {"strides": layer.integers("strides"), "dilations": layer.integers("dilations")}


def _convolution(layer: Layer) -> list[ir.Value]:
    spatial = layer.rank(0) - 2
    return [layer.draw("Conv", [layer.input(0), layer.input(1)], {**_steps(layer), **_padding(layer, spatial)})]


def _joined(layer: Layer) -> tuple[ir.Value, int]:
    """The filters of all groups as one list, and the number of groups."""
    dims = [layer.size(1, axis) for axis in range(layer.rank(1))]
    words = [dims[0] * dims[1], *dims[2:]]
    return layer.draw("Reshape", [layer.input(1), layer.held(words)]), dims[0]


def _group_convolution(layer: Layer) -> list[ir.Value]:
    filters, groups = _joined(layer)
    attributes = {**_steps(layer), **_padding(layer, layer.rank(0) - 2), "group": groups}
    return [layer.draw("Conv", [layer.input(0), filters], attributes)]


def _transposed(layer: Layer, filters: ir.Value, groups: int) -> list[ir.Value]:
    """The way back of a convolution; dims of the output that are given say the pads, without them no word does."""
    spatial = layer.rank(0) - 2
    attributes: dict[str, Any] = {**_steps(layer), "group": groups}
    extra = layer.integers("output_padding", "") or [0] * spatial
    word = layer.text("auto_pad", "explicit").lower()
    begins = layer.integers("pads_begin", "") if word == "explicit" else []
    ends = layer.integers("pads_end", "") if word == "explicit" else []
    pads = [*(begins or [0] * spatial), *(ends or [0] * spatial)]
    if layer.given(2):
        pads, extra = _wanted(layer, pads[:spatial], extra, word)
    attributes |= {"pads": pads, "output_padding": extra if any(extra) else None}
    return [layer.draw("ConvTranspose", [layer.input(0), filters], attributes)]


def _wanted(layer: Layer, begins: list[int], extra: list[int], word: str) -> tuple[list[int], list[int]]:
    """The pads that make the output as large as it is said to be."""
    sizes, spatial = layer.integers_at(2, "dims of the output"), len(begins)
    strides, dilations = layer.integers("strides"), layer.integers("dilations")
    starts, ends = [], []
    for place, size in enumerate(sizes):
        kernel = layer.size(1, place - spatial)
        whole = strides[place] * (layer.size(0, 2 + place) - 1) + (kernel - 1) * dilations[place] + 1
        total = whole + extra[place] - size
        if total < 0:
            raise UndrawnError("its output is larger than its windows reach")
        halves = {"same_upper": total - total // 2, "same_lower": total // 2}
        starts.append(halves.get(word, min(begins[place], total)))
        ends.append(total - starts[-1])
    return [*starts, *ends], extra


def _backprop(layer: Layer) -> list[ir.Value]:
    return _transposed(layer, layer.input(1), 1)


def _group_backprop(layer: Layer) -> list[ir.Value]:
    return _transposed(layer, *_joined(layer))


def _pool(layer: Layer) -> dict[str, Any]:
    """The window of a pool, its steps and its pads: where its number is rounded up, pads that reach so far."""
    kernel, strides = layer.integers("kernel"), layer.integers("strides")
    dilations = layer.integers("dilations", "") or [1] * len(kernel)
    found = {"kernel_shape": kernel, "strides": strides, **_padding(layer, len(kernel))}
    if any(each != 1 for each in dilations):
        found["dilations"] = dilations
    word = layer.text("rounding_type", "floor").lower()
    if word == "floor" or found.get("auto_pad", "VALID") != "VALID":
        return found
    if word not in {"ceil", "ceil_torch"}:
        raise UndrawnError(f"its rounding_type is {word!r}")
    pads = list(found.get("pads", [0] * 2 * len(kernel)))
    found.pop("auto_pad", None)
    for place, size in enumerate(kernel):
        wide = (size - 1) * dilations[place] + 1
        reach = layer.size(0, 2 + place) + pads[place] + pads[len(kernel) + place]
        count = -(-(reach - wide) // strides[place]) + 1
        if word == "ceil_torch" and (count - 1) * strides[place] >= reach - pads[len(kernel) + place]:
            count -= 1  # the last window would begin behind the image
        pads[len(kernel) + place] += max((count - 1) * strides[place] + wide - reach, 0)
        if max(pads[place], pads[len(kernel) + place]) >= size:
            raise UndrawnError("its last windows lie behind the image")
    return {**found, "pads": pads}


def _max_pool(layer: Layer) -> list[ir.Value]:
    """Version 8 tells the places of the largest, counted from an axis on."""
    attributes = _pool(layer)
    if layer.opset < 8:
        return [layer.draw("MaxPool", [layer.input(0)], attributes)]
    values, places = layer.draw_all("MaxPool", [layer.input(0)], attributes, 2)
    return [values, _placed(layer, places, layer.integer("axis", 0) % layer.rank(0))]


def _placed(layer: Layer, places: ir.Value, axis: int) -> ir.Value:
    """Places as ONNX counts them, in the whole tensor, counted from an axis on."""
    kind = data_type(layer.text("index_element_type", "i64").lower())
    if kind is None:
        raise UndrawnError("its index_element_type is not known")
    if axis:
        count = prod(layer.size(0, each) for each in range(axis, layer.rank(0)))
        places = layer.draw("Mod", [places, layer.held(count)])
    return places if kind == ir.DataType.INT64 else layer.cast(places, kind)


def _average_pool(layer: Layer) -> list[ir.Value]:
    """The pads count where they are said to; what a window reaches beyond them counts then too, but not on Arm."""
    pool, data = _pool(layer), layer.input(0)
    begins, ends = layer.integers("pads_begin"), layer.integers("pads_end")
    padded = any([*begins, *ends]) and "auto_pad" not in pool
    counts = not layer.flag("exclude-pad") and (padded or pool.get("auto_pad", "VALID") != "VALID")
    beyond = [now - end for now, end in zip(pool["pads"][len(ends) :], ends, strict=True)] if padded else []
    if ARM and counts and any(beyond) and layer.text("rounding_type").lower() == "ceil_torch":
        data = layer.draw("Pad", [data, layer.held([0, 0, *begins, 0, 0, *ends])])
        pool, counts = {**pool, "pads": [0] * len(begins) + beyond}, False
    return [layer.draw("AveragePool", [data], {**pool, "count_include_pad": int(counts)})]


def _even(layer: Layer, wanted: list[int]) -> dict[str, Any] | None:
    """The windows of an adaptive pool, where all are of one length."""
    sizes = [layer.size(0, 2 + place) for place in range(len(wanted))]
    if any(size % want for size, want in zip(sizes, wanted, strict=True)):
        return None
    steps = [size // want for size, want in zip(sizes, wanted, strict=True)]
    return {"kernel_shape": steps, "strides": steps}


def _adaptive_average(layer: Layer) -> list[ir.Value]:
    """Down to one number each is a mean; windows of several lengths are a product with their shares, dim by dim."""
    wanted, rank = layer.integers_at(1, "dims"), layer.rank(0)
    if prod(wanted) == 1:
        axes = layer.held([*range(2, rank)])
        return [layer.draw("ReduceMean", [layer.input(0), axes], {"keepdims": 1})]
    if (attributes := _even(layer, wanted)) is not None:
        return [layer.draw("AveragePool", [layer.input(0)], attributes)]
    kind = layer.kind_of(0)
    if kind is None:
        raise UndrawnError("the type of its data is not known")
    data = layer.input(0)
    for place, want in enumerate(wanted):
        axis = 2 + place
        shares = layer.held(_shares(layer.size(0, axis), want), kind.numpy())
        order = [*range(axis), *range(axis + 1, rank), axis]
        back = [*range(axis), rank - 1, *range(axis, rank - 1)]
        data = data if axis == rank - 1 else layer.draw("Transpose", [data], {"perm": order})
        data = layer.draw("MatMul", [data, shares])
        data = data if axis == rank - 1 else layer.draw("Transpose", [data], {"perm": back})
    return [data]


def _shares(size: int, wanted: int) -> np.ndarray[Any, Any]:
    """The matrix by which `size` elements become `wanted` means: `3, 2 -> [[.5, 0], [.5, .5], [0, .5]]`."""
    found = np.zeros((size, wanted))
    for place in range(wanted):
        start, end = place * size // wanted, -(-(place + 1) * size // wanted)
        found[start:end, place] = 1 / (end - start)
    return found


def _adaptive_max(layer: Layer) -> list[ir.Value]:
    """The places are counted within an image."""
    attributes = _even(layer, layer.integers_at(1, "dims"))
    if attributes is None:
        raise UndrawnError("its windows are of several lengths")
    values, places = layer.draw_all("MaxPool", [layer.input(0)], attributes, 2)
    return [values, _placed(layer, places, 2)]


def _patches(layer: Layer) -> list[ir.Value]:
    """Each place of the window as an image of its own, one behind the other among the channels."""
    sizes, strides, rates = (layer.integers(name) for name in ("sizes", "strides", "rates"))
    word = layer.text("auto_pad").lower()
    pads, counts = [0] * 8, []
    for place, (size, stride, rate) in enumerate(zip(sizes, strides, rates, strict=True)):
        dim, wide = layer.size(0, 2 + place), (size - 1) * rate + 1
        counts.append((dim - wide) // stride + 1 if word == "valid" else -(-dim // stride))
        total = max((counts[-1] - 1) * stride + wide - dim, 0)
        before = total // 2 if word == "same_upper" else total - total // 2
        pads[2 + place], pads[6 + place] = before, total - before
    data = layer.draw("Pad", [layer.input(0), layer.held(pads)]) if any(pads) else layer.input(0)
    axes, steps = layer.held([2, 3]), layer.held(strides)
    pieces = []
    for row in range(sizes[0]):
        for column in range(sizes[1]):
            starts = [row * rates[0], column * rates[1]]
            ends = [start + (count - 1) * step + 1 for start, count, step in zip(starts, counts, strides, strict=True)]
            pieces.append(layer.draw("Slice", [data, layer.held(starts), layer.held(ends), axes, steps]))
    return [layer.draw("Concat", pieces, {"axis": 1})]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "AdaptiveAvgPool": _adaptive_average,
    "AdaptiveMaxPool": _adaptive_max,
    "AvgPool": _average_pool,
    "Convolution": _convolution,
    "ConvolutionBackpropData": _backprop,
    "ExtractImagePatches": _patches,
    "GroupConvolution": _group_convolution,
    "GroupConvolutionBackpropData": _group_backprop,
    "MaxPool": _max_pool,
}
