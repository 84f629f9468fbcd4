"""Windows that move over space: convolutions and pools.  Axis 0 is the batch, axis 1 the channels, then space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnx_ir as ir

from onereshape.sizes import Size
from onereshape.models.batch.answers import common_mark, images, node_words, only_first
from onereshape.models.rewrite import Rewriter
from onereshape.models.batch.marks import Mark, marked
from onereshape.models.batch.view import Answer as BatchAnswer, View as BatchView
from onereshape.models.free.alignment import Axis, size_of
from onereshape.sizes import cut
from onereshape.models.free.meeting import ONE, summed
from onereshape.models.free.state import Answer as FreeAnswer, Dims
from onereshape.models.free.view import View as FreeView
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused
from onereshape.models.record import Record

_WIDE = 4
"""A window from which on it is likely to mean all there is; smaller ones are common."""


def batch_convolution(view: BatchView) -> Iterator[BatchAnswer]:
    """Each image by itself, with the same weights; with weights of its own in a Scan over the samples."""
    if [index for index in view.batched() if index != 0]:
        yield from _scanned(view)
        return
    mark = only_first(view)
    if mark.axis != 0:
        what = "channels" if mark.axis == 1 else "space"
        raise Refused(f"it sums over axis {mark.axis}, its {what}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,))


def _scanned(view: BatchView) -> Iterator[BatchAnswer]:
    """One run of the operator per sample: its group count is fixed, so one run cannot have N sets of weights."""
    if view.size != 1 or view.opset < 9 or view.output_dims()[0] != 1:
        raise Refused("its weights differ from sample to sample, and an operator has one set")
    apart: dict[int, tuple[Size, ...]] = {}
    for index in view.batched():
        mark, dims = view.mark(index), view.dims(index)
        if mark is None or mark.axis != 0 or mark.outer != 1:
            raise Refused(f"its input {view.value(index).name} carries the batch at axis {mark and mark.axis}")
        apart[index] = (view.batch, *dims)
    for home in (Mark(0), Mark(1, 1, view.output_dims()[1])):  # the second, where batch and channels were merged
        yield BatchAnswer((home,), (_scan(view, apart, marked(view.output_dims(), home, view.batch)),))


def _scan(view: BatchView, apart: dict[int, tuple[Size, ...]], output: tuple[Size, ...]) -> Edit:
    node = view.node
    if not all(view.ours(size) for dims in (output, *apart.values()) for size in dims):
        raise Refused("its weights differ from sample to sample, and its dims are computed at run time")
    view.not_empty(output, *apart.values())

    def apply(build: Rewriter) -> None:
        outer = {index: view.value(index) for index in apart}
        inner = {index: _body_value(view, outer[index], build.unused(f"{node.name}/sample")) for index in apart}
        inputs = [inner.get(index, value) for index, value in enumerate(node.inputs)]
        attributes = list(node.attributes.values())
        one = ir.Node(node.domain, node.op_type, inputs, attributes, name=build.unused(f"{node.name}/one"))
        one.outputs[0].name = build.unused(f"{node.name}/one/output")
        kind = view.state.dtype(node.outputs[0])
        one.outputs[0].type = None if kind is None else ir.TensorType(kind)  # the outputs of a body have types and dims
        one.outputs[0].shape = ir.Shape([dim if isinstance(dim, int) else None for dim in view.output_dims()])
        body = ir.Graph(list(inner.values()), one.outputs, nodes=[one], name=f"{node.name}/each")
        lanes = [build.insert(node, "Reshape", [outer[index], build.vector(apart[index])]) for index in apart]
        stacked = build.insert(node, "Scan", lanes, {"body": body, "num_scan_inputs": len(lanes)})
        build.replace(node, "Reshape", [stacked, build.vector(output)])

    message = f"{view.label} has weights that differ from sample to sample, and one run has one set"
    return view.edit(None, message, node_words(view), f"Scan over {view.state.symbol}", apply)


def _body_value(view: BatchView, outer: ir.Value, name: str) -> ir.Value:
    kind = view.state.dtype(outer)
    return ir.Value(name=name, type=None if kind is None else ir.TensorType(kind))


def free_convolution(view: FreeView) -> Iterator[FreeAnswer]:
    """A window of weights moves over space; the channels are fixed by the weights."""
    dims, weights = view.dims(0), view.known(1)
    if view.free(1):
        raise Refused(f"its weights {view.value(1).name} depend on a free size")
    channels = size_of(weights[1]) * view.attribute("group", 1)
    summed(view, (0, dims[1]), (1, (channels,)))
    kernel = [_number(size_of(axis)) for axis in weights[2:]]
    yield FreeAnswer(((dims[0], (size_of(weights[0]),), *_windows(view, dims[2:], kernel)),))


def _number(size: Size) -> int:
    if not isinstance(size, int):
        raise Refused(f"its window has size {size}")
    return size


def _each(given: Sequence[Any], count: int) -> Sequence[Any]:
    """A list with an entry for each axis; engines refuse others, and onnx's checker does not see all of them."""
    if len(given) != count:
        raise Refused(f"a list of {count} sizes is needed, and it has one of {len(given)}")
    return given


def _windows(view: FreeView, space: Dims, kernel: Sequence[int]) -> list[Axis | None]:
    """How many places a window has along each axis."""
    count = len(space)
    kernel = _each(kernel, count)
    strides = _each(view.attribute("strides", ()) or [1] * count, count)
    wide = _each(view.attribute("dilations", ()) or [1] * count, count)
    pads = _each(view.attribute("pads", ()) or [0] * 2 * count, 2 * count)
    mode = str(view.attribute("auto_pad", "NOTSET") or "NOTSET")
    found: list[Axis | None] = []
    for axis, own in enumerate(space):
        if own is None:
            found.append(None)
            continue
        size, stride = size_of(own), strides[axis]
        reach = wide[axis] * (kernel[axis] - 1) + 1
        around = pads[axis] + pads[axis + count] if mode == "NOTSET" else 0
        if mode.startswith("SAME"):
            places: Size | None = cut(size + (stride - 1), stride)
        elif view.attribute("ceil_mode", 0):
            # The last window must begin inside; with these numbers it always does.
            inside = stride + pads[axis + count] <= reach or mode != "NOTSET"
            places = cut(size + (around - reach + stride - 1), stride) + 1 if inside else None
        else:
            places = cut(size + (around - reach), stride) + 1
        found.append(own if places == size else None if places is None else (places,))
    return found


def free_transposed(view: FreeView) -> Iterator[FreeAnswer]:
    """ConvTranspose: space grows by the strides."""
    dims, weights = view.dims(0), view.known(1)
    summed(view, (0, dims[1]), (1, weights[0]))
    count = len(dims) - 2
    _each(weights, len(dims))
    strides = _each(view.attribute("strides", ()) or [1] * count, count)
    wide = _each(view.attribute("dilations", ()) or [1] * count, count)
    pads = _each(view.attribute("pads", ()) or [0] * 2 * count, 2 * count)
    extra = _each(view.attribute("output_padding", ()) or [0] * count, count)
    same = str(view.attribute("auto_pad", "NOTSET") or "NOTSET").startswith("SAME")
    found: list[Axis | None] = []
    for axis, own in enumerate(dims[2:]):
        if own is None:
            found.append(None)
            continue
        if view.attribute("output_shape") and view.move(size_of(own)):
            raise Refused(f"its output_shape fixes the size of axis {axis + 2}, which is {size_of(own)}")
        reach = wide[axis] * (_number(size_of(weights[axis + 2])) - 1) + 1
        around = pads[axis] + pads[axis + count]
        grown = size_of(own) * strides[axis]
        found.append((grown,) if same else (grown + (extra[axis] + reach - strides[axis] - around),))
    channels = size_of(weights[1]) * view.attribute("group", 1)
    yield FreeAnswer(((dims[0], (channels,), *found),))


def batch_deformable(view: BatchView) -> Iterator[BatchAnswer]:
    """A convolution with offsets, and a mask, of each image."""
    home = common_mark([mark for index in view.batched() if (mark := view.mark(index))], view)
    if home.axis != 0 or view.mark(1) is not None or view.mark(3) is not None:
        raise Refused("its weights differ from sample to sample, or it sums over the batch")
    edits = [view.spread(index, home) for index in (0, 2, 4) if view.has(index) and view.mark(index) is None]
    yield BatchAnswer((home,), tuple(edits))


def batch_max_pool(view: BatchView) -> Iterator[BatchAnswer]:
    """The largest of each window; the indices count through the whole batch, so they must not be used."""
    if any(value.uses() or value.is_graph_output() for value in view.node.outputs[1:]):
        raise Refused("its indices count through all samples")
    yield from images(0, 1)(view)


def free_pool(view: FreeView) -> Iterator[FreeAnswer]:
    """A window moves over space, each channel by itself."""
    dims = view.dims(0)
    kernel = _each(view.attribute("kernel_shape", ()), len(dims) - 2)
    if view.node.op_type == "AveragePool":
        for axis, own in enumerate(dims[2:]):
            if own is not None and view.output()[axis + 2] == 1:
                _not_all(view, size_of(own), kernel[axis])
    space = _windows(view, dims[2:], kernel)
    yield FreeAnswer(((*dims[:2], *space),) * len(view.node.outputs))


def _not_all(view: FreeView, size: Size, window: int) -> None:
    """Refuses a mean over all of a free axis that is written as one over a window."""
    then = view.state.then(size)
    if view.move(size) and isinstance(then, int) and window >= max(then, _WIDE):
        why = f"its window of {window} covers all of {size}, which was {then}"
        raise Refused(f"{why}: whether it is to cover all of another size too is not known")


def free_whole_space(view: FreeView) -> Iterator[FreeAnswer]:
    """Global pooling: space becomes one place."""
    dims = view.dims(0)
    yield FreeAnswer(((*dims[:2], *[ONE] * (len(dims) - 2)),))


_CONVOLUTION = Record(batch=batch_convolution, several=True)
_POOL = Record(batch=images(0, 1), free=free_pool)

RECORDS = {
    "Conv": _CONVOLUTION._replace(free=free_convolution),
    "ConvInteger": _CONVOLUTION._replace(free=free_convolution),
    "ConvTranspose": _CONVOLUTION._replace(free=free_transposed),
    "QLinearConv": _CONVOLUTION,
    "DeformConv": Record(batch=batch_deformable),
    "AveragePool": _POOL,
    "LpPool": _POOL,
    "MaxPool": _POOL._replace(batch=batch_max_pool),
    **dict.fromkeys(
        ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), Record(batch=images(0, 1), free=free_whole_space)
    ),
}
