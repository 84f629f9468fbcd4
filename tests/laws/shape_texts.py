"""Texts, and what newer opsets brought, in the small world of shapes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from tests.laws.batching_texts import _COUNTED, _INTEGERS, _WORDS
from tests.laws.shape_cases import FULL, each
from tests.laws.shape_law import Case, const, x


def texts() -> Iterator[Case]:
    for dims in (("N", 3), ("N", "M"), ("N",)):
        yield from each("TfIdfVectorizer", x(*dims, kind="l"), sizes=FULL, **_COUNTED, **_INTEGERS)
        yield from each("TfIdfVectorizer", x(*dims, kind="s"), sizes=FULL, **_COUNTED, **_WORDS)
        yield from each("RegexFullMatch", x(*dims, kind="s"), pattern="w1")
        yield from each("StringSplit", x(*dims, kind="s"), outputs=2, delimiter="1")
        yield from each("StringConcat", x(*dims, kind="s"), x(1, kind="s"))
        yield from each("StringConcat", x("M", kind="s"), x(*dims, kind="s"))
    single: list[tuple[int | str, ...]] = [(1, "N"), ("N",)]
    for words in single:
        yield from each("StringNormalizer", x(*words, kind="s"), sizes=FULL, locale="C")
        yield from each(
            "StringNormalizer",
            x(*words, kind="s"),
            sizes=FULL,
            case_change_action="UPPER",
            stopwords=["W1"],
            locale="C",
        )


def newer() -> Iterator[Case]:
    own: dict[str, Any] = {"opsets": [24]}
    for axis in (1, -1, -2):
        dims: list[int | str] = ["N", 3, 3]
        dims[axis] = 2
        yield from each("TensorScatter", x("N", 3, 3), x(*dims), axis=axis, **own)
    for to in (6, 12):
        yield from each("BitCast", x("N", 3), to=to, opsets=[26], reference=True)
    own = {"opsets": [28], "reference": True}
    yield from each("SwiGLU", x("N", "M"), x("N", "M"), **own)
    for block, mode in product((1, 2), ("DCR", "CRD")):
        yield from each("SpaceToDepth", x("N", 2, "H", 4), blocksize=block, mode=mode, sizes={"H": (2, 4)}, **own)
        yield from each("DepthToSpace", x("N", 4, "H", 3), blocksize=block, mode=mode, **own)
    own = {"opsets": [27], "reference": True, "outputs": 2}
    for kernel, state in product((1, 3), (None, x("N", 2, 2))):
        weights = const([[[0.5] * kernel]] * 2, "f")
        yield from each("CausalConvWithState", x("N", 2, "T"), weights, None, state if kernel == 3 else None, **own)
    for state in (None, x("N", 2, 2, 3)):
        rows = [x("N", "T", 4), x("N", "T", 4), x("N", "T", 6)]
        yield from each("LinearAttention", *rows, state, update_rule="linear", q_num_heads=2, kv_num_heads=2, **own)
