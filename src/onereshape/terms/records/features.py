"""Operators of ai.onnx.ml: features element by element, rows of them, and what was trained on rows.

What is made of a row is a function of all of that row, of the attributes, and of the place in what is made: trees and
support vectors are not looked into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Call, Record, record
from onereshape.terms.conform import LEARNED
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content, places
from onereshape.terms.records.picking import RECORDS as PICKING
from onereshape.terms.tensor import Tensor, terms

_FLOAT: Final = ir.DataType.FLOAT


def _key(call: Call, *parts: Any) -> int:
    return call.key(*parts, op=f"{LEARNED}.{call.op}")


def _asked(call: Call) -> tuple[Any, ...]:
    """All attributes; a tensor by its bytes."""
    return tuple(
        (name, _plain(value) if isinstance(value, ir.TensorProtocol) else value) for name, value in call.settings()
    )


def _plain(tensor: ir.TensorProtocol) -> tuple[Any, ...]:
    array = tensor.numpy()
    held = repr(array.ravel().tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes()
    return tensor.dtype.name, tuple(array.shape), blake2b(held, digest_size=16).hexdigest()


def _row(call: Call) -> Words:
    """The content of each row of input 0, one word per row: `[N, F] -> [N, 1]`."""
    call.dims("N F")
    return content(call, call.tensor(0), (1,), keep=True)


def _by_row(call: Call, width: int, kind: ir.DataType, *parts: Any) -> Tensor:
    """`width` elements for each row, functions of the whole row: `[N, F] -> [N, width]`."""
    row = _row(call)
    call.check_size((len(row), width))
    return call.mixed(kind, _key(call, *parts, *_asked(call)), row, places(call, width, 2, 1))


def _each(kind: Callable[[Call], ir.DataType]) -> Callable[[Call], Sequence[Tensor]]:
    """A rule that makes each element a function of itself and of all attributes, in the type that `kind` tells."""

    def rule(call: Call) -> Sequence[Tensor]:
        return [call.mixed(kind(call), _key(call, *_asked(call)), call.words(0))]

    return rule


def _features(call: Call, *names: str) -> list[Words]:
    """The words of attributes that list a number for each feature of input 0, or a single number for all."""
    data = call.tensor(0)
    given = [call.attribute(name) or [] for name in names]
    counts = {len(each) for each in given}
    if counts != {1} or not data.rank:
        (_, width) = call.dims("N F")
        if counts != {width}:
            call.refuse(f"has {max(counts)} numbers for {width} features")
    whole = names[0].endswith("int64s")
    arrays = [np.asarray(each if len(each) > 1 else each[0], np.int64 if whole else np.float32) for each in given]
    return [call.hashing.constants(each, "INT64" if whole else "FLOAT") for each in arrays]


def _scaled(call: Call) -> Sequence[Tensor]:
    return [call.mixed(_FLOAT, _key(call), call.words(0), *_features(call, "offset", "scale"))]


def _imputed(call: Call) -> Sequence[Tensor]:
    data = call.tensor(0)
    if data.dtype not in {_FLOAT, ir.DataType.INT64}:
        call.refuse(f"its data are {data.dtype.name}")
    kind = "float" if data.dtype == _FLOAT else "int64"
    key = _key(call, data.dtype.name, call.attribute(f"replaced_value_{kind}"))
    return [call.mixed(data.dtype, key, call.words(0), *_features(call, f"imputed_value_{kind}s"))]


def _normalised(call: Call) -> Sequence[Tensor]:
    row = _row(call)
    return [call.mixed(_FLOAT, _key(call, *_asked(call)), call.words(0), row)]


def _mapped(call: Call) -> ir.DataType:
    """The type that a mapping gives for input 0: integers for texts, texts for integers."""
    return ir.DataType.INT64 if call.tensor(0).dtype == ir.DataType.STRING else ir.DataType.STRING


def _encoded(call: Call) -> ir.DataType:
    """The type of a LabelEncoder's answer, by the attribute that lists its values."""
    if call.attribute("classes_strings"):
        return _mapped(call)
    named = (("values_strings", ir.DataType.STRING), ("values_int64s", ir.DataType.INT64), ("values_floats", _FLOAT))
    found = [kind for name, kind in named if call.attribute(name)]
    tensor = call.attribute("values_tensor")
    if isinstance(tensor, ir.TensorProtocol):
        found.append(tensor.dtype)
    if len(found) != 1:
        call.refuse("it has values of no type, or of several")
    return found[0]


def _one_hot(call: Call) -> Sequence[Tensor]:
    """OneHotEncoder: a new last axis of categories; where `zeros` is 0 elements must be categories."""
    data = call.tensor(0)
    given = [len(call.attribute(name) or ()) for name in ("cats_int64s", "cats_strings")]
    if not max(given) or min(given):
        call.refuse("its categories are not integers or texts")
    call.check_size((*data.shape, max(given)))
    if not call.attribute("zeros", 1):
        call.require(_key(call, "known", *_asked(call)), call.words(0))
    along = places(call, max(given), data.rank + 1, data.rank)
    return [call.mixed(_FLOAT, _key(call, *_asked(call)), call.words(0)[..., None], along)]


def _vectorised(call: Call) -> Sequence[Tensor]:
    """FeatureVectorizer: the rows of all inputs side by side, as floats: `[N, 2], [N, 3] -> [N, 5]`."""
    given = call.tensors()
    rows, *widths = call.dims(*(f"N F{place}" for place in range(len(given))))
    if call.attribute("inputdimensions") != widths:
        call.refuse("its inputs have other widths than it says")
    call.check_size((rows, sum(widths)))
    words = [
        each.hashed(call.hashing)
        if each.dtype == _FLOAT
        else call.hashing.mix(_key(call, each.dtype.name), each.hashed(call.hashing))
        for each in given
    ]
    return [terms(np.concatenate(words, 1), _FLOAT)]


def _extracted(call: Call) -> Sequence[Tensor]:
    """Entries of the last axis, by indices that stand in a row; a vector is a row."""
    data, index = call.tensor(0), call.tensor(1)
    if not data.rank:
        call.refuse("its data are a single number")
    if index.known and index.size and index.array.min() < 0:
        call.refuse("an index is below 0")
    if data.rank == 1:
        if data.growth:
            call.not_for_all("picks places of a dim that grows with the number of samples")
        data = data.moved(lambda array: array[None])
    flat = index.moved(np.ravel)
    return PICKING["Gather"].rule(replace(call, inputs=(data, flat), attributes={"axis": data.rank - 1}))  # type: ignore[return-value]


def _maps(call: Call) -> Sequence[Tensor]:
    """A sequence of maps: each is written as the row of what its labels have, since no operator takes it apart."""
    _, columns = call.dims("N F")
    texts, integers = call.attribute("classlabels_strings") or [], call.attribute("classlabels_int64s") or []
    labels, kind = (texts, "STRING") if texts else (integers, "INT64")
    if not len({*labels}) == len(labels) == columns or (texts and integers):
        call.refuse(f"has {len(labels)} labels for {columns} columns")
    named = call.hashing.constants(np.array(labels, object if texts else np.int64), kind)
    return [call.mixed(_FLOAT, _key(call, kind), call.words(0), named)]


def _targets(name: str) -> Callable[[Call], Sequence[Tensor]]:
    """A rule that gives as many numbers for each row as the attribute `name` says."""

    def rule(call: Call) -> Sequence[Tensor]:
        kind = call.tensor(0).dtype if call.op == "TreeEnsemble" else _FLOAT
        return [_by_row(call, int(call.attribute(name, 1)), kind)]

    return rule


def _one_target(call: Call) -> Sequence[Tensor]:
    return [_by_row(call, 1, _FLOAT)]


def _labels(call: Call) -> list[Any]:
    texts = call.attribute("classlabels_strings") or []
    integers = call.attribute("classlabels_int64s") or call.attribute("classlabels_ints") or []
    if texts and integers:
        call.refuse("its labels are texts and integers")
    return texts or integers


def _linear_width(call: Call) -> int:
    return max(2, len(call.attribute("intercepts") or ()))


def _tree_width(call: Call) -> int:
    return len(_labels(call))


def _vector_width(call: Call) -> int:
    """Engines give the scores of pairs of classes where they have no probabilities."""
    count = len(_labels(call))
    if count < 2 or (count > 3 and not call.attribute("prob_a")):
        call.refuse(f"how many scores {count} classes have depends on the engine")
    return count


def _classes(width: Callable[[Call], int]) -> Callable[[Call], Sequence[Tensor]]:
    """A rule of a classifier: for each row a label, and as many scores as `width` says."""

    def rule(call: Call) -> Sequence[Tensor]:
        labels, count = _labels(call), width(call)
        if not labels or not count:
            call.refuse("it has no labels")
        kind = ir.DataType.STRING if isinstance(labels[0], str) else ir.DataType.INT64
        label = _by_row(call, 1, kind, "label").moved(lambda array: array[:, 0])
        return [label, _by_row(call, count, _FLOAT, "scores")]

    return rule


_RULES: Final = {
    "Scaler": _scaled,
    "Imputer": _imputed,
    "Binarizer": _each(lambda call: call.tensor(0).dtype),
    "Normalizer": _normalised,
    "LabelEncoder": _each(_encoded),
    "CategoryMapper": _each(_mapped),
    "OneHotEncoder": _one_hot,
    "FeatureVectorizer": _vectorised,
    "ArrayFeatureExtractor": _extracted,
    "ZipMap": _maps,
    "LinearRegressor": _targets("targets"),
    "SVMRegressor": _one_target,
    "TreeEnsembleRegressor": _targets("n_targets"),
    "TreeEnsemble": _targets("n_targets"),
    "LinearClassifier": _classes(_linear_width),
    "SVMClassifier": _classes(_vector_width),
    "TreeEnsembleClassifier": _classes(_tree_width),
}

RECORDS: Final[dict[tuple[str, str], Record]] = {
    (LEARNED, op): record(rule, carries=op == "ArrayFeatureExtractor") for op, rule in _RULES.items()
}
