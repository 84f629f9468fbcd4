"""Cases for the operators of ai.onnx.ml: features, rows of them, and what was trained on rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.laws.batching_pointwise import PLACES
from tests.laws.batching_sketch import INT, Sketch
from tests.learned import CATEGORIES, DOMAIN, FEATURES, OUTPUTS, PREPARING, TRAINED

# Of rows: dims, the axis of the samples, what is outside and inside them there, how many, whether they stay apart.
ROWS: list[tuple[tuple[int, ...], int, int, int, int, bool]] = [
    ((1, FEATURES), 0, 1, 1, 1, True),
    ((2, FEATURES), 0, 1, 1, 2, True),
    ((3, FEATURES), 0, 1, 1, 3, True),
    ((4, FEATURES), 0, 1, 4, 1, True),
    ((4, FEATURES), 0, 4, 1, 1, True),
    ((6, FEATURES), 0, 2, 3, 1, True),
    ((6, FEATURES), 0, 3, 2, 1, True),
    ((6, FEATURES), 0, 1, 3, 2, True),
    ((12, FEATURES), 0, 2, 3, 2, True),
    ((2, FEATURES), 1, 1, 1, FEATURES, False),
    ((1, FEATURES), 1, 1, FEATURES, 1, False),
    ((FEATURES,), 0, 1, FEATURES, 1, False),
    ((FEATURES,), 0, 1, 1, FEATURES, False),
]


def _sketch(op: str, size: int, free: bool) -> Sketch:
    return Sketch(f"{DOMAIN}::{op}", 15 if op != "TreeEnsemble" else 21, size, free=free)


def _op(s: Sketch, op: str, *given: str, **attributes: Any) -> Any:
    return s.op(op, *given, domain=DOMAIN, **attributes)


def trained() -> Iterator[Sketch]:
    for op, attributes in TRAINED.items():
        for dims, axis, outer, inner, size, free in ROWS:
            s = _sketch(op, size, free)
            found = _op(s, op, s.x(dims, axis, outer, inner), outputs=OUTPUTS.get(op, 1), **attributes)
            yield s.out(*([found] if isinstance(found, str) else found))


def prepared() -> Iterator[Sketch]:
    for op, all_attributes in PREPARING.items():
        for attributes in all_attributes:
            single = op == "Binarizer" or any(len(each) == 1 for each in attributes.values() if isinstance(each, list))
            for dims, axis, outer, inner, size, free in ROWS:
                s = _sketch(op, size, free or single)
                yield s.out(_op(s, op, s.x(dims, axis, outer, inner), **attributes))
            for dims, axis, outer, inner, size in PLACES if single else ():
                s = _sketch(op, size, free=True)
                yield s.out(_op(s, op, s.x(dims, axis, outer, inner), **attributes))
            if not single and op != "Normalizer":
                s = _sketch(op, 1, free=False)
                yield s.out(_op(s, op, s.x((1, FEATURES, 2)), **attributes))


def categories() -> Iterator[Sketch]:
    for op, all_attributes in CATEGORIES.items():
        for attributes in all_attributes:
            for dims, axis, outer, inner, size in PLACES:
                s = _sketch(op, size, free=True)
                yield s.out(_op(s, op, s.x(dims, axis, outer, inner, dtype=INT, low=0, high=4), **attributes))


def vectorised() -> Iterator[Sketch]:
    for dims, axis, outer, inner, size, free in ROWS:
        s = _sketch("FeatureVectorizer", size, free)
        x = s.x(dims, axis, outer, inner)
        yield s.out(_op(s, "FeatureVectorizer", x, inputdimensions=[FEATURES]))
        if len(dims) == 2 and axis == 0:
            s = _sketch("FeatureVectorizer", size, free)
            pair = [s.x((dims[0], width), 0, outer, inner) for width in (2, 4)]
            yield s.out(_op(s, "FeatureVectorizer", *pair, inputdimensions=[2, 4]))
    for rows, size, free in ((1, 1, True), (2, 2, True), (2, 2, False)):
        s = _sketch("FeatureVectorizer", size, free)
        shared = s.const(np.ones((rows, 2)) if free else np.arange(rows * 2).reshape(rows, 2), np.float32)
        pair = [s.x((rows, FEATURES)), shared]
        yield s.out(_op(s, "FeatureVectorizer", *pair, inputdimensions=[FEATURES, 2]))


def extracted() -> Iterator[Sketch]:
    op = "ArrayFeatureExtractor"
    for dims, axis, outer, inner, size in PLACES:
        for indices in ([0], [[0], [0]]):
            s = _sketch(op, size, free=axis < len(dims) - 1)
            yield s.out(_op(s, op, s.x(dims, axis, outer, inner), s.const(indices, np.int64)))
            s = _sketch(op, size, free=True)
            index = s.x(dims, axis, outer, inner, dtype=INT, low=0, high=4)
            data = s.floats(4) if len(dims) % 2 else s.floats(2, 4)
            yield s.out(_op(s, op, data, index))
    s = _sketch(op, 1, free=False)
    yield s.out(_op(s, op, s.x((1, 4)), s.x((1,), dtype=INT, low=0, high=4)))


def mapped() -> Iterator[Sketch]:
    for labels in ({"classlabels_int64s": [7, 5, 9]}, {"classlabels_strings": ["c", "a", "b"]}):
        for dims, axis, outer, inner, size, free in ROWS:
            s = _sketch("ZipMap", size, free)
            yield s.out(_op(s, "ZipMap", s.x(dims, axis, outer, inner), **labels))


def learned() -> Iterator[Sketch]:
    for family in (trained, prepared, categories, vectorised, extracted, mapped):
        yield from family()
