"""Windows that move over space: convolutions, pools, and images made of blocks.

Axis 0 is the batch, axis 1 the channels, then space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import prod
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import common_mark, images, node_words, only_first, refusing
from onereshape.graphs.batch_rules.marks import Mark, marked
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.meeting import summed
from onereshape.graphs.free_rules.state import FreeAnswer, shown
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused, paired
from onereshape.graphs.record import Record
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size, ceiling, cut, exact, product, smallest

_WIDE = 4
"""A window from which on it is likely to mean all there is; smaller ones are common."""


class _Window(NamedTuple):
    """How a window moves along one axis of space."""

    reach: int
    """From its first entry to its last one."""
    stride: int
    begin: int
    """Padding before the data."""
    end: int
    """Padding after them."""
    same: bool
    """Whether there is as much padding as it takes to have a place for every stride."""
    dilated: bool

    def places(self, size: Size) -> Size:
        """How many places it has."""
        if self.same:
            return ceiling(size, self.stride)
        more = self.begin + self.end - self.reach
        if self.stride == 1:  # as most
            return size + (more + 1)
        return cut(size + more, self.stride) + 1

    def spread(self, size: Size, extra: int) -> Size:
        """How many places it is moved from: what a ConvTranspose makes of its data."""
        if self.same:
            return size * self.stride
        return size * self.stride + (extra + self.reach - self.stride - self.begin - self.end)


def _windows(view: NodeView, kernel: Sequence[int]) -> list[_Window]:
    """The windows along each axis of space."""
    rank = len(kernel)
    strides = _each(view, "strides", rank, 1)
    dilations = _each(view, "dilations", rank, 1)
    pads = _each(view, "pads", 2 * rank, 0)
    if min((*strides, *dilations), default=1) < 1:
        raise Refused("its windows stand still")
    mode = str(view.attribute("auto_pad", "NOTSET") or "NOTSET")
    around = pads if mode == "NOTSET" else [0] * 2 * rank
    same = mode.startswith("SAME")
    return [
        _Window(wide * (size - 1) + 1, stride, begin, end, same, wide > 1)
        for size, stride, wide, begin, end in zip(kernel, strides, dilations, around[:rank], around[rank:], strict=True)
    ]


def _each(view: NodeView, name: str, count: int, otherwise: int) -> list[int]:
    """A list with an entry for each axis; engines refuse others, and onnx's checker does not see all of them."""
    return _as_many(view.attribute(name) or [otherwise] * count, count)


def _as_many(given: Sequence[int], count: int) -> list[int]:
    if len(given) != count:
        raise Refused(f"a list of {count} sizes is needed, and it has one of {len(given)}")
    return list(given)


def _kernel(asking: Asking, weights: Dims, rank: int) -> Sequence[Size]:
    """The sizes of the window along each axis of space."""
    given = asking.attribute("kernel_shape")
    if given:
        return _as_many(given, rank)
    if len(weights) != rank + 2:
        raise Refused("its weights have not the rank of its data")
    return weights[2:]


def _numbers(kernel: Sequence[Size]) -> list[int]:
    """The sizes of a window; along an axis where that is no number the places are not asked for."""
    return [size if isinstance(size, int) else 1 for size in kernel]


def _sure(size: Size) -> Size:
    """A size that engines refuse when negative, as it is: -1 is refused, a formula is taken for a size."""
    if isinstance(size, int) and size < 0:
        raise Refused("its window is larger than the data")
    return size


def shape_convolution(data: int, weights: int) -> Callable[[Asking], Shapes]:
    """A window of weights moves over space; these inputs are data and weights."""

    def rule(asking: Asking) -> Shapes:
        dims, given = asking.dims(data), asking.dims(weights)
        rank = len(dims) - 2
        if rank < 1:
            raise Refused("its data have no space")
        kernel = _kernel(asking, given, rank)
        found: list[Size] = []
        for size, own, window in zip(dims[2:], kernel, _windows(asking, _numbers(kernel)), strict=True):
            found.append(_sure(window.places(size)) if isinstance(own, int) else asking.new())
        return [(dims[0], given[0], *found)]

    return rule


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
    kernel = _as_many([_number(size_of(axis)) for axis in weights[2:]], len(dims) - 2)
    space = (_moved(own, window.places) for own, window in zip(dims[2:], _windows(view, kernel), strict=True))
    yield FreeAnswer(((dims[0], (size_of(weights[0]),), *space),))


def _moved(own: Axis | None, places: Callable[[Size], Size | None]) -> Axis | None:
    """The dim of the places of a window; where there are as many as before, it is the same."""
    found = None if own is None else places(size_of(own))
    return None if own is None or found is None else own if found == size_of(own) else (found,)


def _number(size: Size) -> int:
    if not isinstance(size, int):
        raise Refused(f"its window has size {size}")
    return size


def shape_transposed(asking: Asking) -> Shapes:
    """ConvTranspose: space grows by the strides."""
    dims, weights = asking.dims(0), asking.dims(1)
    rank = len(dims) - 2
    if rank < 1 or len(weights) != len(dims):
        raise Refused("its weights have not the rank of its data")
    channels = weights[1] * asking.attribute("group", 1)
    if asking.attribute("output_shape"):
        return [(dims[0], channels, *_each(asking, "output_shape", rank, 0))]
    kernel, extra = _kernel(asking, weights, rank), _each(asking, "output_padding", rank, 0)
    found: list[Size] = []
    for axis, window in enumerate(_windows(asking, _numbers(kernel))):
        known = window.same or isinstance(kernel[axis], int)
        found.append(_sure(window.spread(dims[axis + 2], extra[axis])) if known else asking.new())
    return [(dims[0], channels, *found)]


def free_transposed(view: FreeView) -> Iterator[FreeAnswer]:
    """ConvTranspose: space grows by the strides."""
    dims, weights = view.dims(0), view.known(1)
    summed(view, (0, dims[1]), (1, weights[0]))
    kernel = _as_many([_number(size_of(axis)) for axis in weights[2:]], len(dims) - 2)
    extra = _each(view, "output_padding", len(kernel), 0)
    found: list[Axis | None] = []
    for axis, window in enumerate(_windows(view, kernel)):
        own = dims[axis + 2]
        if own is not None and view.attribute("output_shape") and view.move(size_of(own)):
            raise Refused(f"its output_shape fixes the size of axis {axis + 2}, which is {size_of(own)}")
        found.append(None if own is None else (window.spread(size_of(own), extra[axis]),))
    channels = size_of(weights[1]) * view.attribute("group", 1)
    yield FreeAnswer(((dims[0], (channels,), *found),))


def batch_deformable(view: BatchView) -> Iterator[BatchAnswer]:
    """A convolution with offsets, and a mask, of each image."""
    home = common_mark([mark for index in view.batched() if (mark := view.mark(index))], view)
    if home.axis != 0 or view.mark(1) is not None or view.mark(3) is not None:
        raise Refused("its weights differ from sample to sample, or it sums over the batch")
    edits = [view.spread(index, home) for index in (0, 2, 4) if view.has(index) and view.mark(index) is None]
    yield BatchAnswer((home,), tuple(edits))


def shape_pool(asking: Asking) -> Shapes:
    """A window that begins beyond the data, in the padding at the end, is none."""
    dims = asking.dims(0)
    return [(*dims[:2], *pooled_space(asking, dims[2:]))] * asking.count


def pooled_space(asking: Asking, space: Sequence[Size]) -> list[Size]:
    """What a pool makes of the dims of space."""
    kernel = asking.attribute("kernel_shape")
    if kernel is None or len(kernel) != len(space):
        raise Refused("its kernel has not the rank of its data")
    found: list[Size] = []
    for size, window in zip(space, _windows(asking, kernel), strict=True):
        if window.same:  # with dilations onnxruntime pads by less than the specification
            found.append(asking.new() if window.dilated else window.places(size))
        elif asking.attribute("ceil_mode", 0):
            inside = ceiling(size + window.begin, window.stride)
            found.append(_sure(smallest(_rounded_up(window, size), inside)))
        else:
            found.append(_pooled(asking, window, size))
    return found


def _pooled(asking: Asking, window: _Window, size: Size) -> Size:
    """How many places a pool's window has; where it is wider than the data, engines disagree whether there is one."""
    least = window.reach - window.begin - window.end
    if window.stride > 1:
        if isinstance(size, int) and size < least:
            return asking.new()
        asking.at_least(size, least)
    return _sure(window.places(size))


def _rounded_up(window: _Window, size: Size) -> Size:
    """How many places a window has where the last one may go beyond the data (ceil_mode)."""
    return ceiling(size + (window.begin + window.end - window.reach), window.stride) + 1


def batch_max_pool(view: BatchView) -> Iterator[BatchAnswer]:
    """The largest of each window; the indices count through the whole batch, as many for each sample as it has."""
    if not any(value.uses() or value.is_graph_output() for value in view.node.outputs[1:]):
        yield from images(0, 1)(view)
        return
    mark, output = only_first(view), view.output_dims(1)
    known = [dim for dim in output if isinstance(dim, int)]
    if mark != Mark(0) or len(known) < len(output) or view.node.outputs[1].is_graph_output():
        raise Refused("its indices count through all samples")
    yield BatchAnswer((mark, mark), counts=np.full(known, product(view.dims(0)[1:]), object), counting=1)


def free_pool(view: FreeView) -> Iterator[FreeAnswer]:
    """A window moves over space, each channel by itself."""
    dims = view.dims(0)
    kernel = _as_many(view.attribute("kernel_shape", ()), len(dims) - 2)
    if view.node.op_type == "AveragePool":
        for axis, own in enumerate(dims[2:]):
            if own is not None and view.output()[axis + 2] == 1:
                _not_all(view, size_of(own), kernel[axis])
    ceil = bool(view.attribute("ceil_mode", 0))
    pairs = zip(dims[2:], _windows(view, kernel), strict=True)
    space = [_moved(own, partial(_free_places, window, ceil=ceil)) for own, window in pairs]
    yield FreeAnswer(((*dims[:2], *space),) * len(view.node.outputs))


def _free_places(window: _Window, size: Size, *, ceil: bool) -> Size | None:
    """How many places a pool's window has; None where the last one might begin beyond the data."""
    if window.same or not ceil:
        return window.places(size)
    return _rounded_up(window, size) if window.stride + window.end <= window.reach else None


def _not_all(view: FreeView, size: Size, window: int) -> None:
    """Refuses a mean over all of a free axis that is written as one over a window."""
    then = view.state.then(size)
    if view.move(size) and isinstance(then, int) and window >= max(then, _WIDE):
        why = f"its window of {window} covers all of {size}, which was {then}"
        raise Refused(f"{why}: whether it is to cover all of another size too is not known")


def shape_whole_space(asking: Asking) -> Shapes:
    """Global pooling: `(N, C, H, W) -> (N, C, 1, 1)`."""
    dims = asking.dims(0)
    return [(*dims[:2], *[1] * (len(dims) - 2))]


def shape_unpool(asking: Asking) -> Shapes:
    """MaxUnpool: the sizes that an input gives."""
    dims = asking.dims(0)
    given = asking.elements(2)
    if asking.has(2):
        return [asking.unknown(len(dims)) if given is None else tuple(map(asking.size, given))]
    return [(*dims[:2], *asking.unknown(len(dims) - 2))]


def shape_columns_to_image(asking: Asking) -> Shapes:
    """Col2Im: blocks in columns become an image."""
    dims = asking.dims(0)
    image, block = asking.elements(1), asking.integers(2)
    if image is None:
        count = asking.length(1)
        return [None if count is None else asking.unknown(count + 2)]
    channels = asking.new() if block is None or len(dims) < 2 or not prod(block) else cut(dims[1], prod(block))
    return [(dims[0], channels, *map(asking.size, image))]


def batch_columns_to_image(view: BatchView) -> Iterator[BatchAnswer]:
    """Col2Im: each sample by itself, and each channel, whose places in a block stand together."""
    mark = only_first(view)
    if mark.axis == 0:
        yield BatchAnswer((mark,))
        return
    block = view.integers(2)
    inner = exact(mark.inner, prod(block)) if mark.axis == 1 and block and prod(block) else None
    if inner is None:
        what = "the places in a block" if mark.axis == 1 else "the blocks"
        raise Refused(f"it adds up {what} along axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark._replace(inner=inner),))


def free_columns_to_image(view: FreeView) -> Iterator[FreeAnswer]:
    """Col2Im: the image that an input says, or the one that a free number of blocks covers just to its end."""
    data, image, block = view.known(0), view.live(1), view.integers(2)
    if image is None or None in image or not block:
        raise Refused("its image_shape or its block_shape is computed at run time from what is not known")
    said: list[Size] = [size for size in image if size is not None]
    windows = [window for window, _ in paired(_windows(view, block), said)]
    channels = exact(size_of(data[1]), prod(block)) if prod(block) else None
    if channels is None:
        raise Refused(f"{size_of(data[1])} channels do not divide by the {prod(block)} places of a block")
    wanted = said if any(map(view.move, said)) else _covered(view, data[2], windows, said)
    places = product(window.places(size) for window, size in zip(windows, wanted, strict=True))
    if not view.same(places, size_of(data[2])):
        raise Refused(f"an image of {shown(wanted)} has {places} blocks, and it is given {size_of(data[2])}")
    edits = () if wanted == said else (view.reword(1, wanted, "image_shape"),)
    yield FreeAnswer(((data[0], (channels,), *((size,) for size in wanted)),), edits)


def _covered(view: FreeView, blocks: Axis, windows: Sequence[_Window], said: Sequence[Size]) -> list[Size]:
    """The image of as many blocks along each axis as the factors of a free number of them say."""
    if not view.move(size_of(blocks)):
        return list(said)
    counts = [window.places(size) for window, size in zip(windows, said, strict=True)]
    factors = [factor for factor in view.state.apart(blocks) if factor != 1]
    axes = [axis for axis, count in enumerate(counts) if count != 1 or len(factors) == len(counts)]
    found = list(said)
    for axis, own in zip(axes, factors, strict=False):
        found[axis] = windows[axis].spread(own, 0) if view.move(own) else said[axis]
    known = [*map(view.state.then, factors)] == [counts[axis] for axis in axes]
    if not known or [*map(view.state.then, found)] != said:
        many = " x ".join(map(str, counts))
        raise Refused(f"its image_shape fixes {many} blocks, of which there are {size_of(blocks)}")
    return found


_CONVOLUTION = Record(shape=shape_convolution(0, 1), batch=batch_convolution, several=True, free=free_convolution)
_POOL = Record(shape=shape_pool, batch=images(0, 1), free=free_pool)
_WHOLE = Record(shape=shape_whole_space, batch=images(0, 1), free=by_shape)

RECORDS = {
    **dict.fromkeys(("Conv", "ConvInteger"), _CONVOLUTION),
    "ConvTranspose": _CONVOLUTION._replace(shape=shape_transposed, free=free_transposed),
    "QLinearConv": _CONVOLUTION._replace(shape=shape_convolution(0, 3), free=None),
    "DeformConv": Record(shape=shape_convolution(0, 1), batch=batch_deformable),
    **dict.fromkeys(("AveragePool", "LpPool"), _POOL),
    "MaxPool": _POOL._replace(batch=batch_max_pool),
    **dict.fromkeys(("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"), _WHOLE),
    "MaxUnpool": Record(shape=shape_unpool, batch=refusing("its indices count through all samples")),
    "Col2Im": Record(shape=shape_columns_to_image, batch=batch_columns_to_image, free=free_columns_to_image),
}
