"""Law 3: a translation means the same on every input considered, and is refused only if no wording does.

The small world here: data of up to two dims of 0 to 3 (and some of three), targets of up to two entries of -1 to 3.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

import onereshape as orx
from onereshape.backends.translation import DataDims as Dims_, _same
from onereshape.ground.errors import TranslateError
from onereshape.rule.specs import SPECS
from tests.laws.definition import FAMILIES, Dims, Family, defined, lists
from tests.laws.mutants import mutated
from tests.laws.test_inference import bindings

ALL_DATA = [*lists(range(4), 2), *itertools.product((0, 1, 2), repeat=3)]
TARGETS = lists(range(-1, 4), 2)
NAMES = {"onnx-1", "onnx-13", "onnx-25", "openvino", "onednn-reshape", "onednn-static", "onednn-dynamic"}
SOURCES = [family for family in FAMILIES if family.spec in NAMES and str(family) != "onnx-25-allowzero=0"]
"""One version of each kind; the others differ from these in nothing but types."""

Answer = Dims | None


@cache
def meaning(target: Dims, zero_copies: bool, openvino: bool, data: Dims) -> Answer:
    """The output, or None for a refusal."""
    answer = defined(data, target, zero_copies, openvino)
    return answer if isinstance(answer, tuple) else None


def of(op: orx.Reshape, data: Dims, target: Dims | None = None) -> Answer:
    words = op.target if target is None else target
    assert words is not None
    return meaning(words, op.zero_copies, op.spec.empty_copy_beside_inferred, data)


@cache
def source(family: Family, target: Dims) -> orx.Reshape | None:
    """The operator with that target, None if it is refused whatever comes."""
    try:
        if orx.spec(family.spec).target_in == "attribute":
            return orx.Reshape(family.spec, shape=target, **family.attributes)
        op = orx.Reshape(family.spec, **family.attributes).bind(target)
    except orx.ReshapeError:
        return None
    return op if any(of(op, data) is not None for data in ALL_DATA) else None


@cache
def wordings(name: str, length: int) -> list[tuple[Dims, bool]]:
    """Everything that the other side could say: its words, and what a 0 means."""
    flags = [True] if orx.spec(name).flag is None else [True, False]
    return [(words, copies) for words in itertools.product(range(-1, 5), repeat=length) for copies in flags]


@pytest.mark.parametrize("family", SOURCES, ids=str)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_on_all_data(family: Family, name: str) -> None:
    openvino = orx.spec(name).empty_copy_beside_inferred
    for target in TARGETS:
        op = source(family, target)
        if op is None:
            continue
        said = tuple(of(op, data) for data in ALL_DATA)
        try:
            other = orx.translate(op, name)
        except TranslateError:
            for words, copies in wordings(name, len(target)):
                meant = (meaning(words, copies, openvino, data) for data in ALL_DATA)
                assert any(a != b for a, b in zip(said, meant, strict=True)), (target, words, copies)
        else:
            assert said == tuple(of(other, data) for data in ALL_DATA), (target, other)


@pytest.mark.parametrize("family", SOURCES, ids=str)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_on_data_of_known_dims(family: Family, name: str) -> None:
    openvino = orx.spec(name).empty_copy_beside_inferred
    for target, data in itertools.product(TARGETS, [*lists(range(4), 2), (0, 3, 0), (2, 0, 3)]):
        op = source(family, target)
        output = None if op is None else of(op, data)
        if op is None or output is None:
            continue
        try:
            other = orx.translate(op, name, data=data)
        except TranslateError:
            said = [meaning(words, copies, openvino, data) for words, copies in wordings(name, len(target))]
            assert output not in said, (data, target)
        else:
            assert of(other, data) == output, (data, target, other)


@cache
def fillings(dims: tuple[Any, ...]) -> list[Dims]:
    """Every way to fill in the dims that are not known."""
    return sorted({data for data, _, _ in bindings(dims, ())})


PARTLY_KNOWN: list[tuple[Any, ...]] = [
    ("N",),
    ("N", 3),
    (0, "N"),
    ("N", "N"),
    (None, 2),
    ((1, 3), 2),
    ((0, 2), 3),
    ("N", 0),
]


@pytest.mark.parametrize("family", SOURCES, ids=str)
@pytest.mark.parametrize("name", sorted(NAMES))
def test_on_data_of_dims_known_in_part(family: Family, name: str) -> None:
    openvino = orx.spec(name).empty_copy_beside_inferred
    for target, dims in itertools.product(TARGETS, PARTLY_KNOWN):
        op = source(family, target)
        filled = fillings(dims)
        said = [] if op is None else [of(op, data) for data in filled]
        if op is None or not any(output is not None for output in said):
            continue
        try:
            other = orx.translate(op, name, data=dims)
        except TranslateError:
            for words, copies in wordings(name, len(target)):
                meant = (meaning(words, copies, openvino, data) for data in filled)
                assert any(a != b for a, b in zip(said, meant, strict=True)), (dims, target, words, copies)
        else:
            assert said == [of(other, data) for data in filled], (dims, target, other)


@pytest.mark.parametrize("family", SOURCES, ids=str)
@pytest.mark.parametrize("name", sorted(NAMES))
@pytest.mark.parametrize("dims", [None, (2, 3), (0, 3), ((1, 3), 2)], ids=str)
def test_a_target_known_only_at_run_time(family: Family, name: str, dims: tuple[Any, ...] | None) -> None:
    row = orx.spec(name)
    if orx.spec(family.spec).target_in == "attribute":
        return  # always constant
    op = orx.Reshape(family.spec, **family.attributes)
    filled = ALL_DATA if dims is None else fillings(dims)
    questions = list(itertools.product(filled, TARGETS))
    try:
        other = orx.translate(op, name, data=dims)
    except TranslateError as refusal:
        beyond_s32 = "s32" in str(refusal)  # a size of 2^31, which no small world holds
        differs = [
            any(
                of(op, *case) != meaning(case[1], copies, row.empty_copy_beside_inferred, case[0]) for case in questions
            )
            for copies in ([True] if row.flag is None else [True, False])
        ]
        assert row.target_in == "attribute" or beyond_s32 or all(differs)
    else:
        assert [of(op, *case) for case in questions] == [of(other, *case) for case in questions]


def test_a_size_of_0_is_looked_at_on_its_own() -> None:
    """Both ask for N = 5 and then agree; but at N = 0 the first gives [0, 5] and the second refuses."""
    copies, fixed = orx.Reshape("onnx").bind([0, 5]), orx.Reshape("onnx").bind([5, 5])
    dims = Dims_.read(["N", "N"])

    assert dims.infer(copies) == dims.infer(fixed)
    assert not _same(copies, fixed, dims)


def test_there_and_back_means_the_same() -> None:
    for family, name, target in itertools.product(SOURCES, sorted(NAMES), TARGETS):
        op = source(family, target)
        if op is None:
            continue
        try:
            back = orx.translate(orx.translate(op, name), op.spec)
        except TranslateError:
            continue
        assert [of(back, data) for data in ALL_DATA] == [of(op, data) for data in ALL_DATA]


def test_all_pairs_of_the_thirteen() -> None:
    """A target that every dialect can say comes out of all 169 pairs."""
    for one, other in itertools.product(SPECS, repeat=2):
        flag = {} if one.flag is None else {one.flag.name: one.flag.copies}
        op = (
            orx.Reshape(one, shape=[2, 0], **flag)
            if one.target_in == "attribute"
            else orx.Reshape(one, **flag).bind([2, 0])
        )
        translated = orx.translate(op, other)
        assert translated.spec is other
        assert translated.target == (2, 0)
        assert translated.zero_copies


# Each row breaks one line of the implementation: what it becomes means something else, or refuses lazily.
MUTANTS = [
    ("if not _rules_differ(op.spec, other.spec) or not copied or one.inferred is None:", "if True:"),
    ("    if one.entries == two.entries:", "    if True:"),
    ("row.flag.value(copies=copies)", "row.flag.value(copies=not copies)"),
    ("if row.flag is None and not op.zero_copies:", "if False:"),
    ("all(low >= 1 for low, _ in dims.ranges())", "all(low >= 0 for low, _ in dims.ranges())"),
    ("for inferred in (None, *range(len(output))):", "for inferred in (None,):"),
    ("and dim == dims.names[axis] else", "and False else"),
    ("    if dims is None:\n        return\n    output", "    return\n    output"),
    ("for words, copies in ((literal, False), (copied, True)):", "for words, copies in ((copied, True),):"),
]


@pytest.mark.parametrize(("line", "becomes"), MUTANTS)
def test_a_planted_bug_is_found(line: str, becomes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = mutated(("translation",), "translation", line, becomes, monkeypatch)
    monkeypatch.setattr(orx, "translate", mutant.translate)
    pairs = list(itertools.product(SOURCES, sorted(NAMES)))
    laws: list[Callable[..., None]] = [test_on_all_data, test_on_data_of_known_dims, test_on_data_of_dims_known_in_part]
    questions: list[tuple[Any, ...]] = [(law, *pair) for law in laws for pair in pairs]
    questions += [
        (test_a_target_known_only_at_run_time, *pair, dims) for pair in pairs for dims in (None, (2, 3), (0, 3))
    ]
    random.Random(1).shuffle(questions)  # noqa: S311 - a fixed order, in which most bugs show soon

    assert not all(_holds(*question) for question in questions)


def _holds(law: Callable[..., None], *question: Any) -> bool:
    try:
        law(*question)
    except Exception:  # noqa: BLE001 - a mutant may also crash
        return False
    return True
