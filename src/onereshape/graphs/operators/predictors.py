"""Operators of ai.onnx.ml that were trained: linear ones, support vectors and trees, on a row for each sample."""

from __future__ import annotations

from collections.abc import Callable

from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators.features import batch_rows, free_rows, kinds_always
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Size


def _rows(asking: Asking) -> Size:
    """The number of rows: `(N, features) -> N`, and 1 for a vector."""
    dims = asking.dims(0)
    if len(dims) not in {1, 2}:
        raise Refused("its data are no rows")
    return dims[0] if len(dims) == 2 else 1


def shape_targets(name: str) -> Callable[[Asking], Shapes]:
    """As many numbers for each row as an attribute says."""

    def shape(asking: Asking) -> Shapes:
        return [(_rows(asking), asking.size(asking.attribute(name, 1)))]

    return shape


def shape_support_vectors(asking: Asking) -> Shapes:
    """SVMRegressor: `(N, features) -> (N, 1)`."""
    return [(_rows(asking), 1)]


def _classes(asking: Asking, *names: str) -> int:
    return max(len(asking.attribute(name, ())) for name in names)


def shape_linear_classes(asking: Asking) -> Shapes:
    """LinearClassifier: a label for each row, and a score for each class; of two classes one may be computed."""
    count = len(asking.attribute("intercepts", ()))
    return [(_rows(asking),), (_rows(asking), asking.new() if not count else max(count, 2))]


def shape_tree_classes(asking: Asking) -> Shapes:
    """TreeEnsembleClassifier: a label for each row, and a score for each class."""
    count = _classes(asking, "classlabels_int64s", "classlabels_strings")
    return [(_rows(asking),), (_rows(asking), count or asking.new())]


def shape_vector_classes(asking: Asking) -> Shapes:
    """SVMClassifier: a label for each row, and scores; engines give those of pairs where they have no probabilities."""
    count = _classes(asking, "classlabels_ints", "classlabels_strings")
    sure = count in {2, 3} or (count > 3 and len(asking.attribute("prob_a", ())) > 0)
    return [(_rows(asking),), (_rows(asking), count if sure else asking.new())]


def kinds_classes(_: Kinds, attribute: Attribute) -> list[Kind | None]:
    """Labels are texts or integers, and scores floats."""
    return [Kind.STRING if attribute("classlabels_strings") else Kind.INT64, Kind.FLOAT]


_REGRESSION = Record(shape=shape_targets("n_targets"), batch=batch_rows, free=free_rows)
_CLASSES = Record(shape=shape_tree_classes, batch=batch_rows, free=free_rows, kinds=kinds_classes)

RECORDS = {
    f"ai.onnx.ml::{op}": record
    for op, record in {
        "LinearRegressor": _REGRESSION._replace(shape=shape_targets("targets"), kinds=kinds_always(Kind.FLOAT)),
        "SVMRegressor": _REGRESSION._replace(shape=shape_support_vectors, kinds=kinds_always(Kind.FLOAT)),
        "TreeEnsembleRegressor": _REGRESSION._replace(kinds=kinds_always(Kind.FLOAT)),
        "TreeEnsemble": _REGRESSION,
        "LinearClassifier": _CLASSES._replace(shape=shape_linear_classes),
        "SVMClassifier": _CLASSES._replace(shape=shape_vector_classes),
        "TreeEnsembleClassifier": _CLASSES,
    }.items()
}
