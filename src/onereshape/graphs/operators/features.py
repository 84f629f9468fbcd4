"""Operators of ai.onnx.ml that prepare features: element by element, or a row for each sample; and ZipMap."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import onnx_ir as ir

from onereshape.graphs.batch_rules.answers import common_mark, only_first
from onereshape.graphs.batch_rules.marks import Mark, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.facts.answers import same_first
from onereshape.graphs.facts.asking import Asking, Shapes
from onereshape.graphs.facts.kinds import Attribute, Kind, Kinds
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.by_shape import by_shape
from onereshape.graphs.free_rules.meeting import same_dims
from onereshape.graphs.free_rules.state import FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import NodeView, Refused
from onereshape.graphs.record import Record
from onereshape.rule.sizes import product


def row_mark(view: BatchView) -> Mark:
    """The mark of data that have a row for each sample, and features along it."""
    mark = only_first(view)
    check_rows(view.rank(0))
    if mark.axis != 0:
        raise Refused(f"it works along axis 1, its features, which is {mark.size(view.batch)}", mixes=True)
    return mark


def check_rows(rank: int) -> None:
    """Refuses what has not a row for each sample: a vector is a single one."""
    if rank == 1:
        raise Refused("its data are a vector, which it takes for the features of a single sample")
    if rank != 2:
        raise Refused(f"its data have {rank} dims, and not a row for each sample")


def batch_rows(view: BatchView) -> Iterator[BatchAnswer]:
    """An operator that treats rows apart: N is axis 0 of input 0 and of every output."""
    yield BatchAnswer((row_mark(view),) * len(view.node.outputs))


def batch_each(view: BatchView) -> Iterator[BatchAnswer]:
    """An operator that treats elements apart: N stays on its axis; a new axis is the last."""
    yield BatchAnswer((only_first(view),))


def check_features(view: FreeView) -> None:
    """Refuses features of which there would be more: an attribute has numbers for each."""
    dims = view.dims(0)
    check_rows(len(dims))
    if dims[1] is not None and view.move(size_of(dims[1])):
        raise Refused(f"it has numbers for each of its features, which are {size_of(dims[1])}")


def free_rows(view: FreeView) -> Iterator[FreeAnswer]:
    """Any number of rows, of as many features as there were."""
    check_features(view)
    yield from by_shape(view)


def shape_normalizer(asking: Asking) -> Shapes:
    """Rows, or a single one."""
    if len(asking.dims(0)) not in {1, 2}:
        raise Refused("its data are no rows")
    return [asking.dims(0)]


def free_normalizer(view: FreeView) -> Iterator[FreeAnswer]:
    """Any number of rows of any length."""
    check_rows(view.rank(0))
    yield from same_dims(view)


def _is_single(view: NodeView, names: tuple[str, ...]) -> bool:
    """Whether all elements meet the same numbers, which are attributes."""
    return all(len(view.attribute(name, ())) <= 1 for name in names)


def _by_feature(*names: str) -> Record:
    """An operator with numbers for each feature, or one for all."""

    def batch(view: BatchView) -> Iterator[BatchAnswer]:
        yield from batch_each(view) if _is_single(view, names) else batch_rows(view)

    def free(view: FreeView) -> Iterator[FreeAnswer]:
        if not _is_single(view, names):
            check_features(view)
        yield from same_dims(view)

    return Record(shape=same_first, batch=batch, free=free)


def kinds_always(*kinds: Kind | None) -> Callable[[Kinds, Attribute], list[Kind | None]]:
    """A rule for fixed types, whatever the inputs and attributes: `kinds_always(Kind.FLOAT)` gives `[FLOAT]`."""
    return lambda _given, _attribute: [*kinds]


def kinds_encoded(given: Kinds, attribute: Attribute) -> list[Kind | None]:
    """LabelEncoder: that of its values; at first labels had numbers, and either was given for the other."""
    named = {"values_strings": Kind.STRING, "values_int64s": Kind.INT64, "values_floats": Kind.FLOAT}
    found = [kind for name, kind in named.items() if attribute(name)]
    if attribute("classes_strings"):
        return kinds_mapped(given, attribute)
    tensor = attribute("values_tensor")
    if isinstance(tensor, ir.TensorProtocol):
        found.append(tensor.dtype)
    return [found[0] if len(found) == 1 else None]


def kinds_mapped(given: Kinds, _: Attribute) -> list[Kind | None]:
    """CategoryMapper: texts for integers, and integers for texts."""
    return [{Kind.STRING: Kind.INT64, Kind.INT64: Kind.STRING}.get(given(0))]  # type: ignore[arg-type]


def _categories(view: NodeView) -> int:
    found = [len(view.attribute(name, ())) for name in ("cats_int64s", "cats_strings")]
    if not max(found) or min(found):
        raise Refused("its categories are not integers or texts")
    return max(found)


def shape_one_hot(asking: Asking) -> Shapes:
    """OneHotEncoder: a new last axis, along the categories."""
    return [(*asking.dims(0), _categories(asking))]


def shape_vectorizer(asking: Asking) -> Shapes:
    """FeatureVectorizer: rows side by side, each cut or filled to its length."""
    lengths = asking.attribute("inputdimensions", ())
    dims = asking.dims(0)
    if len(dims) not in {1, 2} or len(lengths) != len(asking.node.inputs):
        raise Refused("its data are no rows")
    return [(dims[0] if len(dims) == 2 else 1, sum(lengths))]


def batch_vectorizer(view: BatchView) -> Iterator[BatchAnswer]:
    """FeatureVectorizer: rows side by side."""
    marks = {}
    for index in range(len(view.node.inputs)):
        check_rows(view.rank(index))
        if (mark := view.mark(index)) is None:
            continue
        if mark.axis != 0:
            raise Refused(f"it lays axis 1, its features, along each row, which is {mark.size(view.batch)}", mixes=True)
        marks[index] = mark
    home = common_mark(marks.values(), view)
    edits = [view.spread(index, home) for index in range(len(view.node.inputs)) if index not in marks]
    yield BatchAnswer((home,), tuple(edits))


def free_vectorizer(view: FreeView) -> Iterator[FreeAnswer]:
    """FeatureVectorizer: any number of rows, which all inputs have."""
    rows = {None if (row := view.dims(index)[0]) is None else size_of(row) for index in range(len(view.node.inputs))}
    for index in range(len(view.node.inputs)):
        dims = view.dims(index)
        check_rows(len(dims))
        if dims[1] is not None and view.move(size_of(dims[1])):
            raise Refused(f"it says how many features each of its inputs has, and they are {size_of(dims[1])}")
    if len(rows) > 1:
        raise Refused("its inputs have rows that are as many at the original size only")
    yield from by_shape(view)


def shape_extractor(asking: Asking) -> Shapes:
    """ArrayFeatureExtractor: of the last axis so many entries as there are indices; of a vector a row."""
    dims, indices = asking.dims(0), asking.dims(1)
    if not dims:
        raise Refused("its data are a single number")
    count = product(indices)
    return [(*dims[:-1], count) if len(dims) > 1 else (1, count)]


def batch_extractor(view: BatchView) -> Iterator[BatchAnswer]:
    """ArrayFeatureExtractor: entries of the last axis, by indices that stand in a row, however many dims they have."""
    data, indices = view.mark(0), view.mark(1)
    if data is not None and indices is not None:
        raise Refused("it picks the entries of each sample by the indices of all", mixes=True)
    if data is not None:
        if data.axis == view.rank(0) - 1:
            raise Refused(f"it picks along axis {data.axis}, which is {data.size(view.batch)}", mixes=True)
        yield BatchAnswer((data,))
        return
    if indices is None:
        raise Refused("neither its data nor its indices carry the batch")
    dims = view.dims(1)
    outer, inner = times(*dims[: indices.axis], indices.outer), times(indices.inner, *dims[indices.axis + 1 :])
    yield BatchAnswer((Mark(max(view.rank(0), 2) - 1, outer, inner),))


def shape_maps(_: Asking) -> Shapes:
    """ZipMap: a sequence of maps, which has no dims."""
    return [None]


_FLOATS = kinds_always(Kind.FLOAT)
_EACH = Record(shape=same_first, batch=batch_each, free=same_dims)

RECORDS = {
    f"ai.onnx.ml::{op}": record
    for op, record in {
        "Scaler": _by_feature("offset", "scale")._replace(kinds=_FLOATS),
        "Imputer": _by_feature("imputed_value_floats", "imputed_value_int64s"),
        "Binarizer": _EACH,
        "LabelEncoder": _EACH._replace(kinds=kinds_encoded, takes={0: "category"}),
        "CategoryMapper": _EACH._replace(kinds=kinds_mapped, takes={0: "category"}),
        "Normalizer": Record(shape=shape_normalizer, batch=batch_rows, free=free_normalizer, kinds=_FLOATS),
        "OneHotEncoder": Record(
            shape=shape_one_hot, batch=batch_each, free=by_shape, kinds=_FLOATS, takes={0: "category"}
        ),
        "FeatureVectorizer": Record(
            shape=shape_vectorizer, batch=batch_vectorizer, free=free_vectorizer, kinds=_FLOATS
        ),
        "ArrayFeatureExtractor": Record(shape=shape_extractor, batch=batch_extractor),
        "ZipMap": Record(shape=shape_maps, batch=batch_rows, kinds=kinds_always(None)),
    }.items()
}
