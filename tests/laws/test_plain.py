"""A plain question has the answer that the full way finds, to the last letter."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings, strategies as st

import onereshape as orx
from onereshape.ground.errors import INT64_MAX
from onereshape.rule import inference
from onereshape.rule.inferring.plain import plain_answer
from onereshape.rule.shape import Shape
from onereshape.rule.specs import spec as find_spec
from tests.budget import part
from tests.laws.definition import Family
from tests.laws.mutants import mutated
from tests.laws.test_inference import FEW, MODULES, lists
from tests.rule.asking import COLUMNS

DIMS: list[Any] = [0, 1, 2, 6, None, "N", "2*N", "M*N", (0, 1), (1, 3), (3, None), (1, 4000)]
ENTRIES: list[Any] = [-1, 0, 1, 2, 3, "N", "M", "2*N"]
WORLD = list(itertools.product(lists(DIMS, 2), lists(ENTRIES, 3)))
"""Every question of two dims and three entries."""
Question = tuple[tuple[Any, ...], tuple[Any, ...]]
EDGES: list[Question] = [
    *(((size, "N"), (-1, size)) for size in (2**32 - 1, 2**32, 2**63 - 1, 2**63)),
    *(((size, 2), (-1, size)) for size in (2**62 - 1, 2**62, 2**63 - 1, 2**63)),
    *(((size, (3, None)), (-1, size)) for size in (2**31, 2**32 - 1, 2**32)),
    *((((low, None), 4), (-1, 4)) for low in (2**61 - 1, 2**61, 2**62, 2**63 - 1, 2**63)),
    ((2**32, "N"), (0, -1)),
    (("4294967296*N", 2), (0, -1)),
    (((INT64_MAX // 7, None), 7), (-1,)),
    *((((low, low + 1), (low, low + 1)), (0, -1)) for low in (2**31, 2**32)),
    *((((2**61, 2**61 + 1), (low, 4)), target) for low in (0, 1) for target in ((-1,), (0, -1), (-1, 1))),
    *((((low, 3), (1, high)), (-1,)) for low in (0, 1, 2) for high in (2, 1023)),
    *((((low, low + more),), (-1,)) for low in (0, 1) for more in (0, 3, 2046, 2047, 2048)),
    *((dims, (-1,)) for dims in ((True, "N"), (2.0, "N"), ((3, 1), 2), ((-1, 2), 2), ((1, 2, 3), 2), ([1, 2], 2))),
    *((("N", 6), (word, -1)) for word in (True, 2.0, -2, 2**63, "", "6", "n")),
    *(((name, 6), (0, -1)) for name in ("", "data[0]", "6", "0*N", "9" * 50, "past + 1", "N*2", "K*K*(past + 1)")),
    ((*[None] * 11, 6), (*[0] * 11, -1)),  # data[10] is said before data[2]
    (("S", None, "N", "S", 6), (0, 0, 0, -1)),
    (("N", (2, 8), "N"), (0, -1)),
    (("N", (2, 8), "M"), (0, -1)),
    *((("N", 6), (size, -1)) for size in (4, 2**62, 2**63 - 3, 2**63 - 1, 2**63)),
    *((("N", "M", 6), (2**32 - 1, size, -1)) for size in (2**31, 2**32)),
    *((dims, (0, 4, -1)) for dims in (("N", 6), ("N", 6, "N"), ("N", "past + 1"), ("N", "S", "M", 2), ((1, 3), "N"))),
    *(
        (((least, most), 6), (4, -1))
        for least in (0, 1, 2, 3)
        for most in (1, 2, 3, 4, 5, 9, None)
        if least < (most or 9)
    ),
    *((((2**60, None), 2), (size, -1)) for size in (3, 2**62, 2**62 + 1)),
    *((((INT64_MAX - 1, None),), (size, -1)) for size in (2, 3, 4, 7)),
    *((((1, 9), (1, 9), "N"), target) for target in ((2, -1), (0, 2, -1), (0, 0, 2, -1))),
    *(((dim, 6), (size, 4)) for dim in ((2, 7), None, "N", "2*N") for size in (1, 3, 9, 12, 2**30 * 9, 2**61)),
    *((("N", dim, 3), (0, 6)) for dim in ("N", "M", (1, 9))),
    *((("N", (0, 9), "M"), target) for target in ((0, 0, 4), ("M", 0, 4), ("M", 0, 4, "N"))),
    *((((2**40, None), dim), (0, size)) for dim in ("N", (2, None)) for size in (2**22, 2**23)),
    *(((dim, "M", 3), (0, 3 * size)) for dim in ("N", None, 1) for size in (2**30, 2**31, 2**33)),
    *((((3, 3), 2), target) for target in ((6,), (0, 2), (4, -1), (-1,))),
    (("N", "M", 3), ("M", 6)),
    (("N", "N", 3), ("N", 6)),
    (("N", "S", 6), ("S", 0, -1)),
    (("N", "S", 6), ("S", "N", -1)),
    (("S", "N", (2, 8), 6), ("N", 3, -1)),
    (("S", "N", "N", 6), ("K", 3, -1)),
    (("M*N", "N", 6), ("N*N", "M", -1)),
    (("M*N", "N", 6), ("N", "M", -1)),
    (("M*N", 2), ("N * M", -1)),
    (("M*N", 2), (-1, "N * M")),
    ((6, 4), (-1, -1)),
    (("M*N",), ()),
    (("N", "N"), ("2*N",)),
    ((), (0,)),
    (("N",), ("2*N",)),
    ((0,), (0, -1)),
    (("N", "M*N"), (-1,)),
    (((3, None),), ()),
]


def said(answer: Callable[[], Shape]) -> tuple[Any, ...]:
    """All that an answer says, with its types, or all that a refusal does."""
    try:
        shape = answer()
    except orx.ReshapeError as refusal:
        return str(refusal), refusal.code, refusal.axis, refusal.data, refusal.target, refusal.fields
    return repr(shape), shape.dims, [type(dim) for dim in shape.dims or ()], [*map(made_of, shape.conditions)]


def made_of(condition: Any) -> tuple[Any, ...]:
    return type(condition).__name__, condition, condition.kind, condition.sides


def wrong(plain: Callable[..., Shape | None], family: Family, questions: Iterable[Question]) -> Iterator[str]:
    """Questions with a plain answer that is not the one of the full way; most have none, and many are refused."""
    row = find_spec(family.spec)
    with patch.object(inference, "plain_answer", return_value=None):
        for data, target in questions:
            found = plain(data, target, row, family.zero_copies)
            if found is not None:
                full = said(partial(orx.infer, data, target, row, **family.attributes))
                if said(partial(copy, found)) != full:
                    yield f"{data} by {target} in {family}: {found!r}, and in full {full[0]}"


@pytest.mark.parametrize("family", FEW, ids=str)
def test_over_the_small_world(family: Family) -> None:
    assert next(wrong(plain_answer, family, (*EDGES, *part(WORLD, 5))), None) is None


def test_enough_of_these_are_plain() -> None:
    row = find_spec("onnx")
    plain = [question for question in WORLD if plain_answer(*question, row, True) is not None]

    assert len(plain) > len(WORLD) // 25


SIZES = st.sampled_from([1, 2, 3, 4, 6, 12])
PAIRS = st.builds(
    lambda low, more: (low, None if more is None else low + more),
    st.sampled_from([0, 1, 2, 3, 2**31, 2**62]),
    st.none() | st.sampled_from([0, 1, 2, 3, 46, 1023, 2046, 2047, 2048]),
)
NAMES = st.sampled_from(["N", "M", "K", "2*N", "M*N", "N * M", "K*K", "past + 1", "2*(past + 1)"])
LARGE = st.sampled_from([0, 2**31, 2**32 - 1, 2**32, 2**62, 2**63 - 1, 2**63])
UNNAMED = st.lists(SIZES | SIZES | SIZES | st.none() | PAIRS | PAIRS, max_size=12)
NAMED = st.lists(SIZES | NAMES, max_size=12)
MIXED = st.lists(SIZES | NAMES | NAMES | PAIRS | st.none() | LARGE, max_size=12)


@st.composite
def plain_questions(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Data, and a target of which most entries copy or repeat what is there; the numbers of the others often divide."""
    data = draw(UNNAMED | NAMED | MIXED)
    target: list[Any] = []
    for dim in data:
        entries = [0, 0, 0, dim if isinstance(dim, int | str) else 1]
        target += draw(st.sampled_from([[entry] for entry in entries] + ([[2, dim // 2]] if dim in {4, 6, 12} else [])))
    for _ in range(draw(st.integers(0, 2))):
        if target:
            del target[draw(st.integers(0, len(target) - 1))]
    if draw(st.booleans()):
        target = draw(st.permutations(target))
    if draw(st.booleans()):
        target.insert(draw(st.integers(0, len(target))), -1)
    return data, target


@settings(deadline=None, max_examples=200)
@given(plain_questions(), st.sampled_from(list(COLUMNS.values())))
def test_on_random_questions(dims: tuple[list[Any], list[Any]], column: tuple[str, dict[str, Any]]) -> None:
    data, target = dims
    spec, attributes = column
    answer = partial(orx.infer, data, target, spec, **attributes)
    found = said(answer)

    with patch.object(inference, "plain_answer", return_value=None):
        assert found == said(answer)


# Each row breaks one line: the line, and what it becomes.
MUTANTS = [
    ("not (copies and spec.empty_copy_beside_inferred)", "True"),
    ("not (copies and spec.empty_copy_beside_inferred)", "not spec.empty_copy_beside_inferred"),
    ("names + copied if strict else names", "copied"),
    ("names + copied if strict else names", "names + copied"),
    ("changing + sorted(beside)", "sorted(changing + beside)"),
    ("said.insert(0, settled)", "said.append(settled)"),
    ("elif len(free) == 1 and ", "elif free and "),
    (" and free[0] not in copied and free[0] not in names:", " and free[0] not in names:"),
    (" and free[0] not in copied and free[0] not in names:", " and free[0] not in copied:"),
    ("elif free or numbers != asked:", "elif numbers != asked:"),
    ("elif free or numbers != asked:", "elif free:"),
    ("word == -1 and inferred is None", "word == -1"),
    ("elif word or not copies or axis >= len(data):", "elif word or not copies:"),
    ("elif word or not copies or axis >= len(data):", "elif word or axis >= len(data):"),
    ("elif word or not copies or axis >= len(data):", "elif not copies or axis >= len(data):"),
    ("if product == here:", "if False:"),
    ("sizes *= product[0]", "pass"),
    ("if copies and (here is None or not set(product[1]).issubset(here[1])):", "if False:"),
    ("if copies and (here is None or not set(product[1]).issubset(here[1])):", "if copies:"),
    ("if copies and (here is None or not set(product[1]).issubset(here[1])):", "if copies and here is None:"),
    ("if copies and (here is None or not set(product[1]).issubset(here[1])):", "if True:"),
    ("if sizes < UNBOUNDED else None", ""),
    ("if type(dim) is int and dim > 0:", "if isinstance(dim, int) and dim > 0:"),
    ("if type(dim) is int and dim > 0:", "if type(dim) is int:"),
    ("beside *= dim", "pass"),
    ("beside *= product[0]", "pass"),
    ("unknown *= max(low, 1) if high == UNBOUNDED else high", "unknown *= max(low, 1)"),
    ("unknown *= max(low, 1) if high == UNBOUNDED else high", "pass"),
    ("() if low else place_of(axis)[1]", "()"),
    ("() if low else place_of(axis)[1]", "place_of(axis)[1]"),
    ("max(low, 1) if strict else low", "low"),
    ("max(low, 1) if strict else low", "max(low, 1)"),
    ("_MOST_NUMBERS if symbolic else INT64_MAX", "INT64_MAX"),
    ("_MOST_NUMBERS if symbolic else INT64_MAX", "_MOST_NUMBERS + 1"),
    ("volume * unknown > INT64_MAX", "False"),
    ("INT64_MAX // (volume * unknown)", "INT64_MAX // volume"),
    ("min(_MOST_NUMBERS // volume, INT64_MAX // (volume * unknown))", "INT64_MAX // (volume * unknown)"),
    ("0 <= low < high <= UNBOUNDED", "low < high <= UNBOUNDED"),
    ("0 <= low < high <= UNBOUNDED", "0 <= low <= high <= UNBOUNDED"),
    ("if name not in free:", "if False:"),
    ("free.remove(name)", "pass"),
    ("written(size, tuple(sorted(free)))", "written(size, tuple(free))"),
    ("int(name in positive)", "0"),
    ("int(name in positive)", "1"),
    ("interval(low, min(high, UNBOUNDED))", "interval(low, high)"),
    ("_divided(numbers, asked, tuple(sorted(free)), ranges)", "_divided(numbers, asked, tuple(free), ranges)"),
    ("(ranges and len(symbols) > 1)", "False"),
    ("low, high = -(-least // divisor), ", "low, high = least // divisor, "),
    ("most if most == UNBOUNDED else most // divisor", "most // divisor"),
    ("if low >= high or low * divisor >= UNBOUNDED:", "if low >= high:"),
    ("if low >= high or low * divisor >= UNBOUNDED:", "if low > high or low * divisor >= UNBOUNDED:"),
    ("left or not low <= value <= min(high, room)", "not low <= value <= min(high, room)"),
    ("left or not low <= value <= min(high, room)", "left or value > min(high, room)"),
    ("left or not low <= value <= min(high, room)", "left or not low <= value <= room"),
    ("left or not low <= value <= min(high, room)", "left or not low <= value <= high"),
]


@pytest.mark.parametrize(("line", "becomes"), MUTANTS)
def test_a_planted_bug_is_found(line: str, becomes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = mutated(MODULES[:-1], "plain", line, becomes, monkeypatch)

    assert any(broken(mutant.plain_answer, family, asked) for asked in (EDGES, WORLD) for family in FEW)


def broken(plain: Callable[..., Shape | None], family: Family, questions: Iterable[Question]) -> bool:
    """Whether an answer is wrong, or none comes."""
    try:
        return any(wrong(plain, family, questions))
    except Exception:  # noqa: BLE001 - a mutant may also crash
        return True


def test_without_a_bug_the_copy_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not broken(mutated(MODULES[:-1], "plain", "", "", monkeypatch).plain_answer, FEW[0], EDGES)
