"""Operators on texts: word by word, by rows of words, and those that give as many words as there happen to be."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.graphs.batch_rules.answers import only_first, reshaped_around
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import broadcast, same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators.pointwise import batch_elementwise
from onereshape.graphs.record import Record
from onereshape.rule.sizes import product


def shape_counted(asking: Asking) -> Shapes:
    """TfIdfVectorizer: a number for each n-gram, of each row; a vector is a single row."""
    dims, places = asking.dims(0), asking.attribute("ngram_indexes", ())
    if len(dims) not in {1, 2} or not places or min(places) < 0:
        raise Refused("its data are no rows")
    return [(*dims[:-1], max(places) + 1)]


def batch_counted(view: BatchView) -> Iterator[BatchAnswer]:
    """TfIdfVectorizer: each row by itself."""
    mark, rank = only_first(view), view.rank(0)
    if rank == 1:
        raise Refused("its data are a vector, which it takes for the words of a single sample", mixes=True)
    if mark.axis != 0:
        raise Refused(f"it counts along axis {mark.axis}, its words, which is {mark.size(view.batch)}", mixes=True)
    yield BatchAnswer((mark,))


def shape_normalised(asking: Asking) -> Shapes:
    """StringNormalizer: the dims of the words; with stopwords their number is a new size."""
    dims = asking.dims(0)
    if len(dims) not in {1, 2}:
        raise Refused("it takes [C] or [1, C] only")
    if asking.attribute("stopwords"):
        return [(*dims[:-1], asking.new())]
    return [dims]


def batch_normalised(view: BatchView) -> Iterator[BatchAnswer]:
    """StringNormalizer: word by word, where it leaves none out; it takes a vector, or a single row."""
    mark, dims = only_first(view), view.dims(0)
    if view.attribute("stopwords"):
        raise Refused("it leaves words out, and how many each sample has left differs", mixes=True)
    if mark.axis == len(dims) - 1:
        yield BatchAnswer((mark,))
        return
    if len(dims) != 2 or not mark.bare or view.size != 1:
        raise Refused("it takes [C] or [1, C] only, and so the words of a single sample", alone=True)
    flat, rows = [product([view.batch, dims[1]])], [view.batch, dims[1]]
    around = reshaped_around(view, [(0, flat)], (flat, rows), f"one vector of {flat[0]}")
    message = f"{view.label} takes [C] or [1, C] only, and not the words of {view.state.symbol} samples"
    yield BatchAnswer((mark,), (around.reported(message=message, before=f"[1, {dims[1]}]"),))


def shape_split(asking: Asking) -> Shapes:
    """StringSplit: as many pieces as the text with the most has, and how many each has."""
    dims = asking.dims(0)
    return [(*dims, asking.new()), dims]


def batch_split(view: BatchView) -> Iterator[BatchAnswer]:
    """StringSplit: how many pieces each text has; the pieces are filled up to those of the one with the most."""
    mark, pieces = only_first(view), view.node.outputs[0]
    if pieces.uses() or pieces.is_graph_output():
        raise Refused(
            "it fills the pieces of each text up to those of the one with the most, of all samples", mixes=True
        )
    yield BatchAnswer((mark,) * len(view.node.outputs))


RECORDS = {
    "RegexFullMatch": Record(shape=same_first, batch=batch_elementwise),
    "StringConcat": Record(shape=broadcast, batch=batch_elementwise),
    "StringNormalizer": Record(shape=shape_normalised, batch=batch_normalised),
    "StringSplit": Record(shape=shape_split, batch=batch_split),
    "TfIdfVectorizer": Record(shape=shape_counted, batch=batch_counted, takes={0: "category"}),
}
