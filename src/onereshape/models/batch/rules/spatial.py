"""Operators on images and signals: axis 0 is the batch, axis 1 the channels, and the rest is space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction

import onnx_ir as ir

from onereshape.dims import Size
from onereshape.models.batch.rules.layout import node_words
from onereshape.models.batch.rules.pointwise import common_mark, only_first
from onereshape.models.batch.rules.rule import Rule
from onereshape.models.rewrite import Rewriter
from onereshape.models.batch.marks import Mark, marked
from onereshape.models.batch.view import Answer, View
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused, paired


def convolution(view: View) -> Iterator[Answer]:
    """Each image by itself, with the same weights; with weights of its own in a Scan over the samples."""
    if [index for index in view.batched() if index != 0]:
        yield from _scanned(view)
        return
    mark = only_first(view)
    if mark.axis != 0:
        what = "channels" if mark.axis == 1 else "space"
        raise Refused(f"it sums over axis {mark.axis}, its {what}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark,))


def _scanned(view: View) -> Iterator[Answer]:
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
        yield Answer((home,), (_scan(view, apart, marked(view.output_dims(), home, view.batch)),))


def _scan(view: View, apart: dict[int, tuple[Size, ...]], output: tuple[Size, ...]) -> Edit:
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


def _body_value(view: View, outer: ir.Value, name: str) -> ir.Value:
    kind = view.state.dtype(outer)
    return ir.Value(name=name, type=None if kind is None else ir.TensorType(kind))


def images(*places: int) -> Callable[[View], Iterator[Answer]]:
    """A rule for operators that keep these axes of input 0 apart, and have no other tensor per sample."""

    def answers(view: View) -> Iterator[Answer]:
        mark = only_first(view)
        if mark.axis not in places:
            raise Refused(f"it works along axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
        yield Answer((mark,))

    return answers


def max_pool(view: View) -> Iterator[Answer]:
    """The largest of each window; the indices count through the whole batch, so they must not be used."""
    if any(value.uses() or value.is_graph_output() for value in view.node.outputs[1:]):
        raise Refused("its indices count through all samples")
    yield from images(0, 1)(view)


def resize(view: View) -> Iterator[Answer]:
    """Space grows or shrinks; N keeps its size."""
    mark, rank = only_first(view), view.rank(0)
    axes = list(view.attribute("axes", ())) or list(range(rank))
    axes = [axis % rank for axis in axes]
    sized = view.opset >= 11 and view.has(3)
    if mark.axis not in axes:
        yield Answer((mark,), view.corrected(3, "sizes", {}) if sized else ())
        return
    place = axes.index(mark.axis)
    _check_crop(view, mark, place, len(axes))
    scales = _scales(view)
    if scales is not None:
        if scales[place] != 1:
            raise Refused(f"it resizes axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
        yield Answer((mark,))
        return
    if view.attribute("keep_aspect_ratio_policy", "stretch") != "stretch" and _one_factor(view, axes) != 1:
        raise Refused(f"it resizes all axes by one factor, and axis {mark.axis} is {mark.size(view.batch)}", mixes=True)
    if view.output_dims()[mark.axis] != view.dims(0)[mark.axis]:
        raise Refused(f"it resizes axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark,), view.corrected(3, "sizes", {place: mark.size(view.batch)}) if sized else ())


def _check_crop(view: View, mark: Mark, place: int, count: int) -> None:
    """Makes sure that no part of N is cut out, and that no sample is taken from half an entry further on."""
    mode = view.attribute("coordinate_transformation_mode", "half_pixel")
    downwards = view.attribute("nearest_mode", "round_prefer_floor") in {"floor", "round_prefer_floor"}
    if mode == "tf_half_pixel_for_nn" and not (view.attribute("mode", "nearest") == "nearest" and downwards):
        raise Refused(f"it looks half an entry further along axis {mark.axis}, which is {mark.size(view.batch)}")
    if mode != "tf_crop_and_resize":
        return
    array = view.state.folding.array(view.value(1))
    if array is None or array.shape != (2 * count,):
        raise Refused("its roi is computed at run time")
    if (array[place], array[place + count]) != (0, 1):
        raise Refused(f"it cuts a part out of axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)


def _one_factor(view: View, axes: list[int]) -> Fraction | None:
    """The factor by which all axes are resized where their proportions are kept; None where it is not known."""
    sizes, dims = view.integers(3), view.dims(0)
    here = [dims[axis] for axis in axes]
    if sizes is None or len(sizes) != len(here) or not all(isinstance(dim, int) and dim for dim in here):
        return None
    factors = [Fraction(size, int(dim)) for size, dim in paired(sizes, here) if isinstance(dim, int)]
    return (min if view.attribute("keep_aspect_ratio_policy") == "not_larger" else max)(factors)


def _scales(view: View) -> list[float] | None:
    """The factors of a Resize or an Upsample that is not given sizes."""
    found = view.attribute("scales")
    index = 2 if view.node.op_type == "Resize" and view.opset >= 11 else 1
    if found is None and view.has(index):
        array = view.state.folding.array(view.value(index))
        found = None if array is None or not array.size else array.tolist()
    return None if found is None else list(found)


def deformable(view: View) -> Iterator[Answer]:
    """A convolution with offsets, and a mask, of each image."""
    home = common_mark([mark for index in view.batched() if (mark := view.mark(index))], view)
    if home.axis != 0 or view.mark(1) is not None or view.mark(3) is not None:
        raise Refused("its weights differ from sample to sample, or it sums over the batch")
    edits = [view.spread(index, home) for index in (0, 2, 4) if view.has(index) and view.mark(index) is None]
    yield Answer((home,), tuple(edits))


def grid_sample(view: View) -> Iterator[Answer]:
    """Images and the places to look at, sample by sample."""
    found = [mark for index in view.batched() if (mark := view.mark(index))]
    home = common_mark(found, view)
    if home.axis != 0:
        raise Refused(f"it looks along axis {home.axis}, which is {home.size(view.batch)}", mixes=True)
    edits = [view.spread(index, home) for index in (0, 1) if view.mark(index) is None]
    yield Answer((home,), tuple(edits))


RULES = {
    **{op: Rule(convolution, several=True) for op in ("Conv", "ConvTranspose", "ConvInteger", "QLinearConv")},
    **{op: Rule(images(0, 1)) for op in "AveragePool GlobalAveragePool GlobalMaxPool GlobalLpPool LpPool".split()},
    **{op: Rule(images(0)) for op in ("DepthToSpace", "SpaceToDepth")},
    "DeformConv": Rule(deformable),
    "MaxPool": Rule(max_pool),
    "Resize": Rule(resize, slots=frozenset({2, 3})),
    "Upsample": Rule(resize, slots=frozenset({1})),
    "GridSample": Rule(grid_sample),
}
