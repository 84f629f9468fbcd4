"""Law 1: over the small world `resolve` is the one shape that fits the written definition, or its refusal."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice

import pytest

import onereshape as orx
from tests.budget import part
from tests.laws.definition import FAMILIES, WORLD, Dims, Family, defined
from tests.laws.mutants import mutated

WHOLE_WORLD = {"onnx-1", "onnx-13", "onnx-25", "openvino", "onednn-static", "onednn-reshape"}

Resolve = Callable[..., Dims]


def answer(resolve: Resolve, data: Dims, target: Dims, family: Family) -> Dims | str:
    try:
        return resolve(data, target, family.spec, **family.attributes)
    except Exception as refusal:  # noqa: BLE001 - a mutant may also crash
        return str(getattr(refusal, "code", repr(refusal)))


def first_difference(resolve: Resolve, family: Family, world: list[tuple[Dims, Dims]]) -> str | None:
    for data, target in world:
        ours = answer(resolve, data, target, family)
        theirs = defined(data, target, family.zero_copies, family.empty_copies_leave_the_division)
        if ours != theirs:
            return f"{data} by {target}: resolve gives {ours}, the definition {theirs}"
    return None


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_resolve_is_the_definition(family: Family) -> None:
    """On its lists of up to two, and for one version of each dialect family on a part of all; `make worlds`: on all."""
    short = [case for case in WORLD if max(map(len, case)) <= 2]
    world = [*short, *part(WORLD, 8)] if family.spec in WHOLE_WORLD else short

    assert first_difference(orx.resolve, family, world) is None


def test_every_specification_is_a_family() -> None:
    from onereshape.rule.specs import SPECS

    assert {family.spec for family in FAMILIES} == {row.name for row in SPECS}


def test_the_definition_refuses_and_answers() -> None:
    """Guards the definition itself: each kind of answer occurs in the small world."""
    answers = [defined(*case, copies, False) for case in WORLD for copies in (True, False)]
    kinds = {tuple if isinstance(answer, tuple) else answer for answer in answers}

    assert kinds == {
        tuple,
        "below-minus-one",
        "two-inferred",
        "copy-beyond-rank",
        "zero-with-inferred",
        "empty-copy-with-inferred",
        "indivisible",
        "volume",
    }


# Each row breaks one line of the implementation: (module, the line, what it becomes).
MUTANTS = [
    ("target", "elif number == -1 and inferred", "elif number in (-1, -2) and inferred"),
    ("target", "            if zero_copies:", "            if not zero_copies:"),
    ("target", "if inferred is not None and zero is not None:", "if False:"),
    ("target", "elif number == -1 and inferred is None:", "elif number == -1:"),
    ("target", "entries.append(Copied(axis))", "entries.append(Copied(max(axis - 1, 0)))"),
    ("target", "entries.append(Fixed(number))", "entries.append(Fixed(max(number, 2)))"),
    ("target", "return flag.default == flag.copies", "return flag.default != flag.copies"),
    ("target", "return (number == 1) == flag.copies", "return number == 1"),
    ("semantics", "if axis >= len(data):", "if axis > len(data):"),
    ("semantics", "elif asked != volume:", "elif asked > volume:"),
    ("semantics", "elif asked != volume:", "elif asked < volume:"),
    ("semantics", "elif asked != volume:", "elif volume and asked != volume:"),
    ("semantics", "output.append(1)", "output.append(2)"),
    ("semantics", "if others == 0:", "if others == 0 and volume:"),
    ("semantics", "if not target.spec.empty_copy_beside_inferred:", "if target.spec.empty_copy_beside_inferred:"),
    ("semantics", "if i not in copied", "if i in copied"),
    ("semantics", "    if remainder:", "    if remainder > 1:"),
    ("semantics", "divmod(volume, others)", "divmod(volume + others - 1, others)"),
    ("specs", "empty_copy_beside_inferred=True", "empty_copy_beside_inferred=False"),
    ("specs", '"special_zero",\n    copies=True', '"special_zero",\n    copies=False'),
    ("specs", "default=False,\n    values", "default=True,\n    values"),
    ("specs", "_ALLOWZERO if version >= 14", "_ALLOWZERO if version > 14"),
]


MODULES = ("specs", "target", "semantics")


@pytest.mark.parametrize(("module", "line", "becomes"), MUTANTS)
def test_a_planted_bug_is_found(module: str, line: str, becomes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    resolve = mutated(MODULES, module, line, becomes, monkeypatch).resolve
    world = random.Random(1).sample(WORLD, 5000)  # noqa: S311 - a fixed sample, in which every bug shows

    assert any(first_difference(resolve, family, [case]) for case in world for family in FAMILIES)


def test_without_a_bug_the_copies_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutants are killed for their bug, not for being copies."""
    resolve = mutated(MODULES, "semantics", "", "", monkeypatch).resolve
    world = list(islice(WORLD, 0, None, 97))

    assert not any(first_difference(resolve, family, world) for family in FAMILIES)
