"""Shapes and elements of operators that look entries up, or choose them by what they hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onereshape.models.facts.asking import Asking, Dims
from onereshape.models.facts.elements import Array, Holding, few, whole
from onereshape.models.node_view import Refused
from onereshape.models.record import Record
from onereshape.models.shaping.pointwise import same_first

Shapes = Sequence[Dims | None]


def gather(asking: Asking) -> Shapes:
    """Entries along one axis."""
    dims, places = asking.dims(0), asking.dims(1)
    axis = asking.axis(len(dims), 0)
    return [(*dims[:axis], *places, *dims[axis + 1 :])]


def gather_elements(asking: Asking) -> Shapes:
    """One entry of data for each index."""
    return [asking.dims(1)]


def gather_nd(asking: Asking) -> Shapes:
    """A slice of data for each row of indices."""
    dims, places = asking.dims(0), asking.dims(1)
    lead = asking.attribute("batch_dims", 0)
    width = places[-1]
    if not isinstance(width, int) or lead + width > len(dims):
        raise Refused("how many numbers pick a slice is not known")
    return [(*places[:-1], *dims[lead + width :])]


def compress(asking: Asking) -> Shapes:
    """How many elements are kept is known only at run time, and of a constant only how many at most."""
    axis = asking.attribute("axis")
    if axis is None:
        return [(asking.new(),)]
    dims = list(asking.dims(0))
    dims[asking.axis(len(dims), 0)] = asking.new()
    return [tuple(dims)]


def unique(asking: Asking) -> Shapes:
    """Along an axis whole slices are compared; else all elements, in one row."""
    count = asking.new()
    others: Shapes = [(count,), (asking.new(),), (count,)]
    if asking.attribute("axis") is None:
        return [(count,), *others]
    dims = asking.known(0)
    if dims is None:
        return [None, *others]
    axis = asking.axis(len(dims), 0)
    return [(*dims[:axis], count, *dims[axis + 1 :]), *others]


def nonzero(asking: Asking) -> Shapes:
    """A row per axis; for a scalar onnxruntime has one row, and the specification none."""
    dims = asking.known(0)
    return [(len(dims) if dims else asking.new(), asking.new())]


def suppressed(asking: Asking) -> Shapes:
    """NonMaxSuppression: batch, class and box of each that is left."""
    return [(asking.new(), 3)]


def drawn(asking: Asking) -> Shapes:
    """Multinomial: some draws for each row."""
    dims = asking.dims(0)
    return [(dims[0], asking.attribute("sample_size", 1))]


def made(asking: Asking) -> Shapes:
    """RandomNormal and RandomUniform: the dims that an attribute gives."""
    return [tuple(asking.attribute("shape"))]


# Elements


def _gathered(holding: Holding) -> list[Array | None]:
    data, indices = holding.given(0), holding.given(1)
    axis = holding.attribute("axis", 0)
    places = np.asarray(whole(indices), dtype=np.int64).reshape(indices.shape)
    axis = axis + data.ndim if axis < 0 else axis
    few(places.size, *data.shape[:axis], *data.shape[axis + 1 :])
    return [np.asarray(np.take(data, places, axis=axis), dtype=object)]


RECORDS = {
    "Gather": Record(gather, _gathered),
    "GatherElements": Record(gather_elements),
    "GatherND": Record(gather_nd),
    **dict.fromkeys("Scatter ScatterElements ScatterND ReverseSequence Trilu".split(), Record(same_first)),
    "Compress": Record(compress),
    "Unique": Record(unique),
    "NonZero": Record(nonzero),
    "NonMaxSuppression": Record(suppressed),
    "Multinomial": Record(drawn),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), Record(made)),
}
