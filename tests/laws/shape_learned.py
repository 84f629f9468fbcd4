"""The small world of shapes: operators of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.laws.shape_cases import each
from tests.laws.shape_law import Case, const, run, x
from tests.learned import CATEGORIES, DOMAIN, FEATURES, OUTPUTS, PREPARING, TRAINED

_OWN: dict[str, Any] = {"domain": DOMAIN}
_SIZES = {"N": (1, 2, 3, 0), "S": (1, 2)}


def learned() -> Iterator[Case]:
    dims: tuple[int | str, ...]
    for op, attributes in TRAINED.items():
        for dims in (("N", FEATURES), (FEATURES,)):
            yield from each(op, x(*dims), outputs=OUTPUTS.get(op, 1), sizes=_SIZES, **attributes, **_OWN)
    two = {"coefficients": [0.5, 1.0, 2.0], "intercepts": [0.1], "classlabels_strings": ["a", "b"]}
    yield from each("LinearClassifier", x("N", FEATURES), outputs=2, sizes=_SIZES, **two, **_OWN)
    texts = {**TRAINED["SVMClassifier"], "classlabels_strings": ["a", "b"]}
    del texts["classlabels_ints"]
    yield from each("SVMClassifier", x("N", FEATURES), outputs=2, sizes=_SIZES, **texts, **_OWN)
    four = {
        **{name: TRAINED["SVMClassifier"][name] for name in ("kernel_type", "kernel_params", "support_vectors")},
        "coefficients": [0.1 * place for place in range(12)],
        "vectors_per_class": [1, 1, 1, 1],
        "rho": [0.1 * place for place in range(6)],
        "classlabels_ints": [4, 5, 6, 7],
    }
    yield from each("SVMClassifier", x("N", FEATURES), outputs=2, sizes=_SIZES, **four, **_OWN)
    likely = {**four, "prob_a": [-1.0] * 6, "prob_b": [0.1] * 6}
    yield from each("SVMClassifier", x("N", FEATURES), outputs=2, sizes=_SIZES, **likely, **_OWN)
    whole = {**TRAINED["TreeEnsembleClassifier"], "classlabels_int64s": [3, 4, 5]}
    del whole["classlabels_strings"]
    yield from each("TreeEnsembleClassifier", x("N", FEATURES), outputs=2, sizes=_SIZES, **whole, **_OWN)
    for op, all_attributes in PREPARING.items():
        for attributes in all_attributes:
            for dims in (("N", FEATURES), (FEATURES,), ("N", FEATURES, "S")):
                yield from each(op, x(*dims), sizes=_SIZES, **attributes, **_OWN)
    for kind in "dli":
        yield from each("Scaler", x("N", FEATURES, kind=kind), sizes=_SIZES, offset=[1.0], scale=[2.0], **_OWN)
    for op, all_attributes in CATEGORIES.items():
        for attributes in all_attributes:
            for dims in (("N",), ("N", "S"), ()):
                yield from each(op, x(*dims, kind="l", high=3), sizes=_SIZES, **attributes, **_OWN)
    rows = [x("N", FEATURES), x("N", 2)]
    full = {"N": (1, 2, 3)}  # of no rows in several inputs onnxruntime makes an end of the process
    yield from each("FeatureVectorizer", *rows, inputdimensions=[FEATURES, 2], sizes=full, **_OWN)
    for width in (2, FEATURES, 5):
        yield from each("FeatureVectorizer", x("N", FEATURES), inputdimensions=[width], sizes=_SIZES, **_OWN)
    for dims in ((FEATURES,), ("N", FEATURES), ("N", "S", FEATURES)):
        for given in (const([0, 2]), run([[0], [2], [1]]), x("N", kind="l", high=1)):
            yield from each("ArrayFeatureExtractor", x(*dims), given, sizes=_SIZES, **_OWN)
    yield from each("ZipMap", x("N", FEATURES), classlabels_int64s=[1, 2, 3], sizes=_SIZES, **_OWN)
