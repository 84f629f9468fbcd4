"""How ONNX nodes that look at windows of an image are spelled: convolutions, pools, Resize, Pad."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.pen import (
    Pen,
    Port,
    Spelling,
    UnspelledError,
    attribute,
    integers,
    kind_of,
    listed,
    places,
    rank_of,
    type_name,
)


def _dims_of(value: ir.Value | None) -> list[int]:
    """The sizes of filters, from their shape or from the target of the Reshape that makes them."""
    maker = None if value is None else value.producer()
    shape = value.shape if value is not None else None
    if shape is None and maker is not None and maker.op_type == "Reshape" and maker.inputs[1] is not None:
        words = maker.inputs[1].const_value
        shape = None if words is None else ir.Shape(words.numpy().tolist())
    dims = [] if shape is None else [dim for dim in shape if isinstance(dim, int) and dim >= 0]
    if shape is None or len(dims) != len(shape):
        raise UnspelledError("filters of unknown dims")
    return dims


def _steps(node: ir.Node, spatial: int) -> dict[str, str]:
    """Strides, dilations and pads."""
    pads = list(attribute(node, "pads", [0] * 2 * spatial))
    word = attribute(node, "auto_pad", "NOTSET")
    return {
        "strides": listed(attribute(node, "strides", [1] * spatial)),
        "dilations": listed(attribute(node, "dilations", [1] * spatial)),
        "pads_begin": listed(pads[:spatial]),
        "pads_end": listed(pads[spatial:]),
        "auto_pad": "explicit" if word == "NOTSET" else word.lower(),
    }


def _convolution(pen: Pen, node: ir.Node) -> None:
    """One group is a Convolution, several are a GroupConvolution, whose filters have a dim for them."""
    data, filters, *bias = places(pen, node)
    if bias:
        raise UnspelledError("Conv with a bias")
    dims, groups = _dims_of(node.inputs[1]), attribute(node, "group", 1)
    words = _steps(node, len(dims) - 2)
    if groups == 1:
        pen.layer("Convolution", 1, [data, filters], words, node.outputs)
        return
    grouped = _grouped(pen, node, filters, [groups, dims[0] // groups, *dims[1:]])
    pen.layer("GroupConvolution", 1, [data, grouped], words, node.outputs)


def _grouped(pen: Pen, node: ir.Node, filters: Port, dims: list[int]) -> Port:
    kind = type_name(None if node.inputs[1] is None else kind_of(node.inputs[1]))
    target = integers(pen, dims)
    return pen.layer("Reshape", 1, [filters, target], {"special_zero": "false"}, inner=(kind, dims))


def _transposed(pen: Pen, node: ir.Node) -> None:
    data, filters, *bias = places(pen, node)
    if bias or attribute(node, "output_shape") or attribute(node, "auto_pad", "NOTSET") != "NOTSET":
        raise UnspelledError("ConvTranspose with a bias, or with a word for its pads")
    dims, groups = _dims_of(node.inputs[1]), attribute(node, "group", 1)
    spatial = len(dims) - 2
    words = {**_steps(node, spatial), "output_padding": listed(attribute(node, "output_padding", [0] * spatial))}
    if groups == 1:
        pen.layer("ConvolutionBackpropData", 1, [data, filters], words, node.outputs)
        return
    grouped = _grouped(pen, node, filters, [groups, dims[0] // groups, *dims[1:]])
    pen.layer("GroupConvolutionBackpropData", 1, [data, grouped], words, node.outputs)


def _pool(kind: str, pen: Pen, node: ir.Node) -> None:
    """Those of ONNX that round up end with the last window that begins in the image."""
    kernel = attribute(node, "kernel_shape")
    words = _steps(node, len(kernel))
    up = bool(attribute(node, "ceil_mode", 0))
    words |= {"kernel": listed(kernel), "rounding_type": "ceil_torch" if up else "floor"}
    wide = any(each != 1 for each in attribute(node, "dilations", [1]))
    if kind == "AvgPool":
        if wide:
            raise UnspelledError("AveragePool with dilations")
        words["exclude-pad"] = "false" if attribute(node, "count_include_pad", 0) else "true"
        del words["dilations"]
        pen.layer(kind, 14 if up else 1, places(pen, node), words, node.outputs)
        return
    if len(node.outputs) == 1 and not wide and not up:
        del words["dilations"]
        pen.layer(kind, 1, places(pen, node), words, node.outputs)
        return
    if len(node.outputs) == 1:
        raise UnspelledError("MaxPool with dilations, or rounded up, without its places")
    words |= {"index_element_type": "i64", "axis": "0"}
    pen.layer(kind, 14 if up else 8, places(pen, node), words, node.outputs)


def _resize(pen: Pen, node: ir.Node) -> None:
    """By sizes or by scales, of all axes where none are named."""
    data = node.inputs[0]
    given = [value for value in node.inputs[2:] if value is not None]
    modes = {"nearest": "nearest", "linear": "linear_onnx", "cubic": "cubic"}
    aspect = attribute(node, "keep_aspect_ratio_policy", "stretch")
    if data is None or len(given) != 1 or aspect != "stretch" or attribute(node, "antialias", 0):
        raise UnspelledError("Resize with smoothing, or with proportions that are kept")
    axes = attribute(node, "axes") or [*range(rank_of(data))]
    sizes = len(node.inputs) > 3 and node.inputs[3] is not None
    words = {
        "mode": modes[attribute(node, "mode", "nearest")],
        "shape_calculation_mode": "sizes" if sizes else "scales",
        "coordinate_transformation_mode": attribute(node, "coordinate_transformation_mode", "half_pixel"),
        "nearest_mode": attribute(node, "nearest_mode", "round_prefer_floor"),
        "antialias": "false",
        "pads_begin": "0",
        "pads_end": "0",
        "cube_coeff": str(attribute(node, "cubic_coeff_a", -0.75)),
    }
    inputs = [pen.place(data), pen.place(given[0]), integers(pen, axes)]
    pen.layer("Interpolate", 11, inputs, words, node.outputs)


def _pad(pen: Pen, node: ir.Node) -> None:
    """The pads of both ends in two lists."""
    data, pads, *rest = node.inputs
    mode = attribute(node, "mode", "constant")
    if data is None or pads is None or len(rest) > 1 or mode == "wrap":
        raise UnspelledError("Pad around, or along named axes")
    rank = rank_of(data)
    if pads.const_value is not None:
        numbers = pads.const_value.numpy()
        ends = [integers(pen, numbers[:rank]), integers(pen, numbers[rank:])]
    else:
        ends = [_half(pen, pads, rank, which) for which in range(2)]
    filling = rest[0] if rest and rest[0] is not None else None
    if mode == "constant":
        kind = kind_of(data)
        if filling is None and kind is None:
            raise UnspelledError("Pad of an unknown type")
        zero = None if kind is None else np.zeros((), kind.numpy())
        ends.append(pen.place(filling) if filling is not None else pen.constant(np.asarray(zero)))
    pen.layer("Pad", 12, [pen.place(data), *ends], {"pad_mode": mode}, node.outputs)


def _half(pen: Pen, pads: ir.Value, rank: int, which: int) -> Port:
    ends = [integers(pen, [each]) for each in (which * rank, (which + 1) * rank, 1, 0)]
    kind = type_name(kind_of(pads))
    return pen.layer("Slice", 8, [pen.place(pads), *ends], {}, inner=(kind, [rank]))


def _blocks(kind: str, modes: Mapping[str, str], pen: Pen, node: ir.Node) -> None:
    mode = modes[attribute(node, "mode", "DCR")]
    words = {"mode": mode, "block_size": str(attribute(node, "blocksize"))}
    pen.layer(kind, 1, places(pen, node), words, node.outputs)


def _norm(pen: Pen, node: ir.Node) -> None:
    words = {"epsilon": _number(attribute(node, "epsilon", 1e-5))}
    pen.layer("BatchNormInference", 5, places(pen, node), words, node.outputs)


def _local(pen: Pen, node: ir.Node) -> None:
    usual = {"alpha": 1e-4, "beta": 0.75, "bias": 1.0}
    words = {name: _number(attribute(node, name, number)) for name, number in usual.items()}
    axes = integers(pen, [1])
    words["size"] = str(attribute(node, "size"))
    pen.layer("LRN", 1, [*places(pen, node), axes], words, node.outputs)


def _number(number: Any) -> str:
    return repr(float(number))


def _grid_sample(pen: Pen, node: ir.Node) -> None:
    modes = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}
    words = {
        "mode": modes[attribute(node, "mode", "linear")],
        "padding_mode": attribute(node, "padding_mode", "zeros"),
        "align_corners": "true" if attribute(node, "align_corners", 0) else "false",
    }
    pen.layer("GridSample", 9, places(pen, node), words, node.outputs)


SPELLINGS: Mapping[str, Spelling] = {
    "AveragePool": partial(_pool, "AvgPool"),
    "BatchNormalization": _norm,
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "DepthToSpace": partial(_blocks, "DepthToSpace", {"DCR": "blocks_first", "CRD": "depth_first"}),
    "GridSample": _grid_sample,
    "LRN": _local,
    "MaxPool": partial(_pool, "MaxPool"),
    "Pad": _pad,
    "Resize": _resize,
    "SpaceToDepth": partial(_blocks, "SpaceToDepth", {"DCR": "blocks_first"}),
}
