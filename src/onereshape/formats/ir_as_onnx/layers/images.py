"""Layers that look into an image between its points, and those that choose regions of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError, data_type

_MODES = {"nearest": "nearest", "linear": "linear", "linear_onnx": "linear", "cubic": "cubic"}
_COORDINATES = frozenset({"half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"})
_NEAREST = frozenset({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"})


def _interpolate(layer: Layer) -> list[ir.Value]:
    """Version 4 has sizes and scales, of which an attribute chooses; 11 has the chosen ones alone."""
    if layer.opset < 4:
        raise UndrawnError("it is of version 1, which does not say what it does between points")
    mode = layer.text("mode").lower()
    if mode not in _MODES:
        raise UndrawnError(f"its mode is {mode!r}, which ONNX does not have")
    if any([*layer.integers("pads_begin", ""), *layer.integers("pads_end", "")]) or layer.flag("antialias"):
        raise UndrawnError("it pads, or smooths, which is not known here")
    attributes = {"mode": _MODES[mode], **_points(layer, mode)}
    by_sizes = layer.text("shape_calculation_mode").lower() == "sizes"
    last = 3 if layer.opset < 11 else 2
    if layer.given(last):
        attributes["axes"] = [axis % layer.rank(0) for axis in layer.integers_at(last, "axes")]
    if by_sizes:
        return [layer.draw("Resize", [layer.input(0), None, None, layer.vector(1)], attributes)]
    scales = layer.input(2 if layer.opset < 11 else 1)
    if scales.dtype != ir.DataType.FLOAT:
        scales = layer.cast(scales, ir.DataType.FLOAT)
    return [layer.draw("Resize", [layer.input(0), None, scales], attributes)]


def _points(layer: Layer, mode: str) -> dict[str, Any]:
    """Where the points of the new image lie in the old one, and which of that the nearest is."""
    where = layer.text("coordinate_transformation_mode", "half_pixel").lower()
    if where not in _COORDINATES:
        raise UndrawnError(f"its coordinate_transformation_mode is {where!r}, which ONNX does not have")
    found: dict[str, Any] = {"coordinate_transformation_mode": where}
    if mode == "nearest":
        which = layer.text("nearest_mode", "round_prefer_floor").lower()
        if which not in _NEAREST:
            raise UndrawnError(f"its nearest_mode is {which!r}, which ONNX does not have")
        found["nearest_mode"] = which
    if mode == "cubic":
        found["cubic_coeff_a"] = layer.number("cube_coeff", -0.75)
    return found


def _grid_sample(layer: Layer) -> list[ir.Value]:
    modes = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}
    mode, padding = layer.text("mode", "bilinear").lower(), layer.text("padding_mode", "zeros").lower()
    if mode not in modes or padding not in {"zeros", "border", "reflection"}:
        raise UndrawnError(f"its mode is {mode!r}, and its padding_mode {padding!r}, which ONNX does not have")
    attributes = {"mode": modes[mode], "padding_mode": padding, "align_corners": int(layer.flag("align_corners"))}
    return [layer.draw("GridSample", [layer.input(0), layer.input(1)], attributes)]


def _roi_align(layer: Layer) -> list[ir.Value]:
    """Version 9 says where the pixels lie; before, they lie at the corners."""
    where = {"asymmetric": "output_half_pixel", "half_pixel_for_nn": "half_pixel"}
    found = where.get(layer.text("aligned_mode", "asymmetric").lower())
    if found is None:
        raise UndrawnError(f"its aligned_mode is {layer.text('aligned_mode')!r}, which ONNX does not have")
    if layer.text("mode").lower() != "avg":
        raise UndrawnError("it takes the largest of points, for which ONNX and OpenVINO have different rules")
    attributes = {
        "output_height": layer.integer("pooled_h"),
        "output_width": layer.integer("pooled_w"),
        "sampling_ratio": layer.integer("sampling_ratio"),
        "spatial_scale": layer.number("spatial_scale"),
        "mode": "avg",
        "coordinate_transformation_mode": found,
    }
    return [layer.draw("RoiAlign", [layer.input(0), layer.input(1), layer.int64(2)], attributes)]


def _suppression(layer: Layer) -> list[ir.Value]:
    """The boxes that are kept: their places, their scores, and how many there are."""
    if layer.opset < 5:
        raise UndrawnError("its output is filled up to a number of boxes, which ONNX's is not")
    if layer.flag("sort_result_descending", "true"):
        raise UndrawnError("it sorts the boxes of all samples together")
    gentle = layer.constant(5) if layer.given(5) else np.zeros(())
    if gentle is None or np.any(gentle != 0):
        raise UndrawnError("its soft_nms_sigma is not 0, and ONNX does not have it")
    kind = data_type(layer.text("output_type", "i64").lower())
    if kind is None:
        raise UndrawnError("its output_type is not known")
    encoding = {"center_point_box": int(layer.text("box_encoding", "corner").lower() == "center")}
    limits = [layer.vector(2)] if layer.given(2) else [layer.held([0])]
    limits += [layer.input(place) for place in (3, 4) if layer.given(place)]
    limits[1:] = [
        each if each.shape is not None and len(each.shape) == 1 else layer.draw("Reshape", [each, layer.held([1])])
        for each in limits[1:]
    ]
    chosen = layer.draw("NonMaxSuppression", [layer.input(0), layer.input(1), *limits], encoding)
    scores = layer.draw("Unsqueeze", [layer.draw("GatherND", [layer.input(1), chosen]), layer.held([1])])
    ends = [layer.held([each]) for each in (0, 2, 1)]
    rows = layer.draw("Slice", [chosen, *ends])
    whose = layer.draw("CastLike", [rows, scores])
    both = layer.draw("Concat", [whose, scores], {"axis": 1})
    count = layer.draw("Shape", [chosen], {"start": 0, "end": 1})
    found = [chosen, count] if kind == ir.DataType.INT64 else [layer.cast(each, kind) for each in (chosen, count)]
    return [found[0], both, found[1]]


def _roll(layer: Layer) -> list[ir.Value]:
    """Elements moved along axes, and those that fall out put in at the other end."""
    shifts, axes = layer.integers_at(1, "shifts"), layer.integers_at(2, "axes")
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    data = layer.input(0)
    for shift, axis in zip(shifts, axes, strict=True):
        size = layer.size(0, axis)
        if size == 0 or shift % size == 0:
            layer.rely(0, axis)
            continue
        along, one, cut = layer.held([axis]), layer.held([1]), layer.held([size - shift % size])
        behind = layer.draw("Slice", [data, cut, layer.held([2**63 - 1]), along, one])
        before = layer.draw("Slice", [data, layer.held([0]), cut, along, one])
        data = layer.draw("Concat", [behind, before], {"axis": axis})
    return [data if layer.nodes else layer.draw("Identity", [data])]


def _eye(layer: Layer) -> list[ir.Value]:
    """Ones where the column is the row and so many more."""
    kind = data_type(layer.text("output_type").lower())
    if kind is None:
        raise UndrawnError("its output_type is not known")
    zero, one = layer.held(0), layer.held(1)
    rows, columns, moved = (layer.draw("Reshape", [layer.int64(place), layer.held([])]) for place in (0, 1, 2))
    down, across = (layer.draw("Range", [zero, count, one]) for count in (rows, columns))
    meets = layer.draw("Add", [layer.draw("Unsqueeze", [down, layer.held([1])]), moved])
    found = layer.cast(layer.draw("Equal", [meets, across]), kind)
    if not layer.given(3):
        return [found]
    dims = layer.draw("Concat", [layer.vector(3), layer.draw("Shape", [found])], {"axis": 0})
    return [layer.draw("Expand", [found, dims])]


def _col2im(layer: Layer) -> list[ir.Value]:
    """Col2Im, as ONNX's operator of this name: patches are added up into an image; data without a batch are refused."""
    attributes = {
        "strides": layer.integers("strides"),
        "dilations": layer.integers("dilations"),
        "pads": [*layer.integers("pads_begin"), *layer.integers("pads_end")],
    }
    if layer.rank(0) != 3:
        raise UndrawnError("it has no batch, which ONNX's has")
    return [layer.draw("Col2Im", [layer.input(0), layer.vector(1), layer.vector(2)], attributes)]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "Col2Im": _col2im,
    "Eye": _eye,
    "GridSample": _grid_sample,
    "Interpolate": _interpolate,
    "NonMaxSuppression": _suppression,
    "ROIAlign": _roi_align,
    "Roll": _roll,
}
