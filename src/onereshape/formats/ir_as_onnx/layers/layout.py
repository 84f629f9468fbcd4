"""Layers that move elements, or say sizes: Reshape, Transpose, Concat, Split, Broadcast, ShapeOf and their kin."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import FLOATS, Layer, UndrawnError, data_type

_LAST = 2**63 - 1
"""The end of a slice that takes a whole axis."""


def _reshape(layer: Layer) -> list[ir.Value]:
    flag = {} if layer.flag("special_zero") else {"allowzero": 1}
    return [layer.draw("Reshape", [layer.input(0), layer.vector(1)], flag)]


def _transpose(layer: Layer) -> list[ir.Value]:
    order = layer.integers_at(1, "axes") if layer.given(1) else []
    return [layer.draw("Transpose", [layer.input(0)], {"perm": order} if order else {})]


def _squeeze(layer: Layer) -> list[ir.Value]:
    """Squeeze; a named dim that is not 1 stays, before version 15 and with its attribute `allow_axis_skip`."""
    if not layer.given(1):
        return [layer.draw("Squeeze", [layer.input(0)])]
    if layer.opset >= 15 and not layer.flag("allow_axis_skip"):
        return [layer.draw("Squeeze", [layer.input(0), layer.vector(1)])]
    axes = layer.integers_at(1, "axes")
    ones = [axis for axis in axes if layer.size(0, axis) == 1]
    if not ones:
        return [layer.draw("Identity", [layer.input(0)])]
    return [layer.draw("Squeeze", [layer.input(0), layer.vector(1) if ones == axes else layer.held(ones)])]


def _unsqueeze(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Unsqueeze", [layer.input(0), layer.vector(1)])]


def _concat(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Concat", list(layer.inputs), {"axis": layer.integer("axis")})]


def _axis(layer: Layer, place: int) -> int:
    axes = layer.integers_at(place, "axis")
    if len(axes) != 1:
        raise UndrawnError("its axis is no single number")
    return axes[0]


def _split(layer: Layer) -> list[ir.Value]:
    count = layer.integer("num_splits")
    return layer.draw_all("Split", [layer.input(0)], {"axis": _axis(layer, 1), "num_outputs": count}, count)


def _variadic_split(layer: Layer) -> list[ir.Value]:
    """Pieces of given lengths; one may be -1, for what is left."""
    axis, count = _axis(layer, 1), len(layer.ports)
    if layer.constant(2) is None:
        return layer.draw_all("Split", [layer.input(0), _filled(layer, axis)], {"axis": axis}, count)
    lengths = layer.integers_at(2, "lengths")
    if -1 not in lengths:
        return layer.draw_all("Split", [layer.input(0), layer.vector(2)], {"axis": axis}, count)
    rest = layer.size(0, axis) - sum(each for each in lengths if each != -1)
    filled = layer.held([rest if each == -1 else each for each in lengths])
    return layer.draw_all("Split", [layer.input(0), filled], {"axis": axis}, count)


def _filled(layer: Layer, axis: int) -> ir.Value:
    """Lengths that are computed, with what is left in the place of -1."""
    place, lengths = axis % layer.rank(0), layer.vector(2)
    whole = layer.draw("Shape", [layer.input(0)], {"start": place, "end": place + 1})
    taken = layer.draw("ReduceSum", [lengths, layer.held([0])], {"keepdims": 1})
    left = layer.draw("Sub", [layer.draw("Sub", [whole, taken]), layer.held(1)])
    return layer.draw("Where", [layer.draw("Equal", [lengths, layer.held(-1)]), left, lengths])


def _broadcast(layer: Layer) -> list[ir.Value]:
    """One way, as NumPy, or both ways, which ONNX calls Expand; the first is the second wherever it is allowed."""
    mode = layer.text("mode", "numpy").lower()
    if mode == "explicit":
        return _explicit(layer)
    if mode not in {"numpy", "bidirectional"}:
        raise UndrawnError(f"its mode is {mode!r}")
    return [layer.draw("Expand", [layer.input(0), layer.vector(1)])]


def _explicit(layer: Layer) -> list[ir.Value]:
    """Each dim of data goes to a named axis of the output: the others are put in as 1.

    A dim must be what the target says; in the drawing it may also be 1 there.
    """
    axes = layer.integers_at(2, "axes")
    target = layer.dims(1)
    rank = target[0] if target is not None and len(target) == 1 else None
    if not isinstance(rank, int) or axes != sorted(axes):
        raise UndrawnError("its target is of unknown length, or its axes are not in order")
    for axis in range(layer.rank(0)):
        layer.rely(0, axis)
    missing = [axis for axis in range(rank) if axis not in axes]
    data = layer.draw("Unsqueeze", [layer.input(0), layer.held(missing)]) if missing else layer.input(0)
    return [layer.draw("Expand", [data, layer.vector(1)])]


def _tile(layer: Layer) -> list[ir.Value]:
    """ONNX wants a repeat for each dim; OpenVINO puts ones before what is shorter."""
    repeats, rank = layer.dims(1), layer.rank(0)
    count = repeats[0] if repeats is not None and len(repeats) == 1 else None
    if not isinstance(count, int):
        raise UndrawnError("the number of its repeats is not known")
    data, times = layer.input(0), layer.int64(1)
    if count < rank:
        times = layer.draw("Concat", [layer.held([1] * (rank - count)), times], {"axis": 0})
    elif count > rank:
        data = layer.draw("Unsqueeze", [data, layer.held([*range(count - rank)])])
    return [layer.draw("Tile", [data, times])]


def _shape_of(layer: Layer) -> list[ir.Value]:
    kind = data_type(layer.text("output_type", "i64").lower())
    shape = layer.draw("Shape", [layer.input(0)])
    if kind == ir.DataType.INT64:
        return [shape]
    if kind is None:
        raise UndrawnError("its output_type is not known")
    return [layer.cast(shape, kind)]


def _range(layer: Layer) -> list[ir.Value]:
    """Numbers in equal steps; the limits come as numbers without dims, or as lists of one."""
    kind = data_type(layer.text("output_type", "").lower()) or layer.kind_of(0)
    if kind is None:
        raise UndrawnError("its output_type is not known")
    limits = [layer.input(place) for place in range(3)]
    if kind not in FLOATS and any(each.dtype in FLOATS for each in limits):
        raise UndrawnError("it rounds real numbers to whole ones")
    limits = [each if each.dtype == kind else layer.cast(each, kind) for each in limits]
    bare = [
        each if layer.dims(place) == () else layer.draw("Reshape", [each, layer.held([])])
        for place, each in enumerate(limits)
    ]
    return [layer.draw("Range", bare)]


def _depth_to_space(layer: Layer) -> list[ir.Value]:
    """Channels as blocks of the image; ONNX has it for images of two dims."""
    first, block = layer.text("mode").lower() == "blocks_first", layer.integer("block_size", 1)
    if layer.rank(0) == 4:
        attributes = {"blocksize": block, "mode": "DCR" if first else "CRD"}
        return [layer.draw("DepthToSpace", [layer.input(0)], attributes)]
    channels, *sizes = (layer.size(0, axis) for axis in range(1, layer.rank(0)))
    count = len(sizes)
    left, blocks = channels // block**count, [block] * count
    inner = [*blocks, left] if first else [left, *blocks]
    own, before = (count + 1, 1) if first else (1, 2)
    order = [0, own, *(axis for place in range(count) for axis in (count + 2 + place, before + place))]
    return [_rearranged(layer, [0, *inner, *sizes], order, [0, left, *(size * block for size in sizes)])]


def _space_to_depth(layer: Layer) -> list[ir.Value]:
    """Blocks of the image as channels."""
    first, block = layer.text("mode").lower() == "blocks_first", layer.integer("block_size", 1)
    if layer.rank(0) == 4 and first:
        return [layer.draw("SpaceToDepth", [layer.input(0)], {"blocksize": block})]
    channels, *sizes = (layer.size(0, axis) for axis in range(1, layer.rank(0)))
    count = len(sizes)
    blocks, left = [3 + 2 * place for place in range(count)], [2 + 2 * place for place in range(count)]
    order = [0, *([*blocks, 1] if first else [1, *blocks]), *left]
    words = [0, channels, *(word for size in sizes for word in (size // block, block))]
    return [_rearranged(layer, words, order, [0, channels * block**count, *(size // block for size in sizes)])]


def _rearranged(layer: Layer, split: list[int], order: list[int], joined: list[int]) -> ir.Value:
    """Dims split, turned and joined."""
    parts = layer.draw("Reshape", [layer.input(0), layer.held(split)])
    return layer.draw("Reshape", [layer.draw("Transpose", [parts], {"perm": order}), layer.held(joined)])


def _shuffle(layer: Layer) -> list[ir.Value]:
    """Channels dealt out in turn: split into groups, the two dims turned, and joined again."""
    rank, groups = layer.rank(0), layer.integer("group", 1)
    axis = layer.integer("axis", 1) % rank
    inner = layer.size(0, axis) // groups
    words = [*([0] * axis), groups, inner, *([-1] if axis + 1 < rank else [])]
    split = layer.draw("Reshape", [layer.input(0), layer.held(words)])
    order = [*range(axis), axis + 1, axis, *([axis + 2] if axis + 1 < rank else [])]
    turned = layer.draw("Transpose", [split], {"perm": order})
    dims = layer.dims(0) or ()
    rest = [dim if isinstance(dim, int) else None for dim in dims[axis + 1 :]]
    if rest.count(None) > 1:
        raise UndrawnError("several dims behind its channels are not known")
    joined = [*([0] * axis), groups * inner, *(-1 if dim is None else dim for dim in rest)]
    return [layer.draw("Reshape", [turned, layer.held(joined)])]


def _reverse_sequence(layer: Layer) -> list[ir.Value]:
    """ReverseSequence, which ONNX has for the first two dims: other dims are brought there by Transpose, and back."""
    rank = layer.rank(0)
    batch, time = layer.integer("batch_axis", 0) % rank, layer.integer("seq_axis", 1) % rank
    if {batch, time} == {0, 1}:
        axes = {"batch_axis": batch, "time_axis": time}
        return [layer.draw("ReverseSequence", [layer.input(0), layer.int64(1)], axes)]
    order = [batch, time, *(axis for axis in range(rank) if axis not in {batch, time})]
    turned = layer.draw("Transpose", [layer.input(0)], {"perm": order})
    found = layer.draw("ReverseSequence", [turned, layer.int64(1)], {"batch_axis": 0, "time_axis": 1})
    return [layer.draw("Transpose", [found], {"perm": [order.index(axis) for axis in range(rank)]})]


def _pad(layer: Layer) -> list[ir.Value]:
    """Pad, by begins and ends, of which those below 0 cut; `symmetric` is drawn by slices."""
    mode = layer.text("pad_mode").lower()
    if mode == "symmetric":
        return [_mirrored(layer)]
    if mode not in {"constant", "edge", "reflect"}:
        raise UndrawnError(f"its pad_mode is {mode!r}, which ONNX does not have")
    pads = layer.draw("Concat", [layer.vector(1), layer.vector(2)], {"axis": 0})
    filling = [layer.input(3)] if layer.given(3) and mode == "constant" else []
    return [layer.draw("Pad", [layer.input(0), pads, *filling], {"mode": mode})]


def _mirrored(layer: Layer) -> ir.Value:
    """The elements at each end once more, backwards."""
    data = layer.input(0)
    befores, afters = (layer.integers_at(place, "pads") for place in (1, 2))
    if min([*befores, *afters], default=0) < 0:
        raise UndrawnError("it is symmetric and cuts, which is not known here")
    for axis, (before, after) in enumerate(zip(befores, afters, strict=True)):
        pieces = [data]
        if before:
            pieces.insert(0, _backwards(layer, data, axis, before - 1, -_LAST))
        if after:
            pieces.append(_backwards(layer, data, axis, -1, -1 - after))
        data = layer.draw("Concat", pieces, {"axis": axis}) if len(pieces) > 1 else data
    return layer.draw("Identity", [data]) if not layer.nodes else data


def _backwards(layer: Layer, data: ir.Value, axis: int, start: int, end: int) -> ir.Value:
    return layer.draw("Slice", [data, *(layer.held([each]) for each in (start, end, axis, -1))])


def _one_hot(layer: Layer) -> list[ir.Value]:
    """ONNX takes both values as one list, and counts indices below 0 from the end; OpenVINO where it is told to."""
    places, depth = layer.int64(0), layer.vector(1)
    if layer.text("negative_indices_mode", "ignore_negative").lower() != "normalize":
        outside = layer.draw("Less", [places, layer.held(0)])
        places = layer.draw("Where", [outside, layer.held(2**31 - 1), places])
    values = [layer.draw("Reshape", [layer.input(place), layer.held([1])]) for place in (3, 2)]
    both = layer.draw("Concat", values, {"axis": 0})
    return [layer.draw("OneHot", [places, depth, both], {"axis": layer.integer("axis", -1)})]


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "Broadcast": _broadcast,
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Range": _range,
    "Reshape": _reshape,
    "ReverseSequence": _reverse_sequence,
    "ShapeOf": _shape_of,
    "ShuffleChannels": _shuffle,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
    "VariadicSplit": _variadic_split,
}
