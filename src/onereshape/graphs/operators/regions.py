"""Operators that take regions out of images: each region says by a number of which image it is."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import common_mark, refusing
from onereshape.graphs.batch_rules.indices import entries_of, offset, own
from onereshape.graphs.batch_rules.marks import Mark, over
from onereshape.graphs.batch_rules.spreading import Shift
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.node_view import Refused
from onereshape.graphs.record import Record


def shape_regions(asking: Asking) -> Shapes:
    """RoiAlign and MaxRoiPool: an image of a fixed size for each region."""
    dims, rois = asking.known(0), asking.known(1)
    if asking.node.op_type == "RoiAlign":
        height, width = asking.attribute("output_height", 1), asking.attribute("output_width", 1)
    else:
        height, width = asking.attribute("pooled_shape")
    count = asking.new() if rois is None or not rois else rois[0]
    channels = asking.new() if dims is None or len(dims) < 2 else dims[1]
    return [(count, channels, height, width)]


def batch_roi_align(view: BatchView) -> Iterator[BatchAnswer]:
    """RoiAlign: regions of images, each of the image whose number stands beside it."""
    image, rows = view.mark(0), [mark for mark in (view.mark(1), view.mark(2)) if mark is not None]
    if any(mark.axis for mark in rows):
        raise Refused("its regions carry the batch among their corners", mixes=True)
    if view.counts(2) is not None and (image is None or image.axis):
        raise Refused("it would pick by the numbers of the samples from what is not the batch")
    if image is not None and image.axis > 1:
        raise Refused(f"it works along axis {image.axis}, which is {image.size(view.batch)}", mixes=True)
    if image is not None and image.axis == 1:
        if rows:
            raise Refused("images and regions carry the batch at different places", mixes=True)
        yield BatchAnswer((image,))
        return
    home = common_mark(rows, view) if rows else _each(view)
    edits: tuple[Edit, ...] = () if view.mark(1) is not None else (view.spread(1, home),)
    if image is None:
        edits += () if view.mark(2) is not None else (view.spread(2, home),)
    else:
        numbers = own if view.mark(2) is None else offset
        edits += numbers(view, 2, Shift(entries_of(view, image), home, 1))
    yield BatchAnswer((home,), edits)


def _each(view: BatchView) -> Mark:
    """The mark of regions that no input changes, sample after sample: 6 regions for 2 samples are `Mark(0, 1, 3)`."""
    count = view.dims(1)[0]
    inner = over(count, view.size)
    if inner is None:
        raise Refused(f"it has {count} regions for {view.size_words()}")
    return Mark(0, 1, inner)


RECORDS = {
    "RoiAlign": Record(shape=shape_regions, batch=batch_roi_align, indexes=2, takes={2: "index"}),
    "MaxRoiPool": Record(
        shape=shape_regions,
        batch=refusing(
            "its regions say by their first number of which image they are, so that it would count the samples"
        ),
    ),
}
