"""Law 2: `infer` is `resolve` on known dims, and sound where dims are missing.

The text of the conditions is read back here, so that what a person reads is what is tested.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from math import prod
from typing import Any, NamedTuple

import pytest

import onereshape as orx
from onereshape.rule import inference
from onereshape.rule.inferring import balance
from onereshape.rule.shape import Shape
from tests.budget import part
from tests.laws.definition import FAMILIES, WORLD, Dims, Family, defined
from tests.laws.mutants import mutated

NAMES = {"onnx-13", "onnx-25-allowzero=1", "openvino-special_zero=True", "openvino-special_zero=False"}
FEW = [family for family in FAMILIES if str(family) in NAMES]
"""One of each meaning; oneDNN's rows mean the same as ONNX's."""
SIZES = range(5)

DATA_DIMS: list[Any] = [0, 1, 2, 3, 4, None, "N", "M", "2*N", "N*M", (1, 3), (0, 2), (3, None)]
TARGET_DIMS: list[Any] = [-1, 0, 1, 2, 4, None, "N", "M", "2*N", (0, 2), (-1, 1), (2, 4)]


def lists(dims: list[Any], longest: int) -> list[tuple[Any, ...]]:
    return [entries for rank in range(longest + 1) for entries in itertools.product(dims, repeat=rank)]


Binding = tuple[Dims, Dims, dict[str, int]]


def values(dim: Any, least: int) -> range:
    """What an unnamed dim or entry may be in the small world."""
    if dim is None:
        return range(least, 5)
    if isinstance(dim, tuple):
        return range(dim[0], (4 if dim[1] is None else dim[1]) + 1)
    return range(dim, dim + 1)


@cache
def _factors(text: str) -> tuple[tuple[bool, str | int], ...]:
    """The names, numbers and parentheses of a product or quotient as it is printed; it is divided by some of them."""
    found: list[tuple[bool, str | int]] = []
    divides = False
    for word in re.findall(r"\*|/|\(.*?\)(?!data)|size\(data\)(?:/data\[\d\])*|rank\(data\)|[^*/]+", text):
        if word in {"*", "/"}:
            divides = word == "/"
        else:
            found.append((divides, int(word) if word.lstrip("-").isdigit() else word))
    return tuple(found)


def evaluate(text: str, names: dict[str, int]) -> Fraction | None:
    """A product or quotient as it is printed; None where it divides by 0."""
    top = bottom = 1
    for divides, factor in _factors(text):
        value: Fraction | int | None
        if isinstance(factor, int):
            value = factor
        else:
            value = evaluate(factor[1:-1], names) if factor.startswith("(") else names[factor]
        if value is None or (divides and value == 0):
            return None
        over, under = value.numerator, value.denominator
        top, bottom = (top * under, bottom * over) if divides else (top * over, bottom * under)
    return Fraction(top, bottom)


def bindings(data: tuple[Any, ...] | None, target: tuple[Any, ...]) -> Iterator[Binding]:
    """Every way to fill a question with sizes: data dims, target entries, and a name for each."""
    for filled in UNKNOWN_RANKS if data is None else [data]:
        named = sorted(set(re.findall("[A-Z]", " ".join(dim for dim in (*filled, *target) if isinstance(dim, str)))))
        free = [values(dim, 0) for dim in filled if not isinstance(dim, str)]
        opened = [values(dim, -1) for dim in target if not isinstance(dim, str)]
        for sizes in itertools.product(SIZES, repeat=len(named)):
            names = dict(zip(named, sizes, strict=True))
            for known, entries in itertools.product(itertools.product(*free), itertools.product(*opened)):
                dims = fill(filled, known, names)
                asked = fill(target, entries, names)
                more = {f"data[{axis}]": dim for axis, dim in enumerate(dims)}
                more |= {f"target[{axis}]": entry for axis, entry in enumerate(asked)}
                more |= {"rank(data)": len(dims), "size(data)": prod(dims)}
                yield dims, asked, names | more


UNKNOWN_RANKS: list[tuple[Any, ...]] = [(), (None,), (None, None)]


def fill(dims: tuple[Any, ...], sizes: tuple[int, ...], names: dict[str, int]) -> Dims:
    rest = iter(sizes)
    return tuple(int(evaluate(dim, names) or 0) if isinstance(dim, str) else next(rest) for dim in dims)


class Read(NamedTuple):
    """A condition, as a person reads its text."""

    left: str
    relation: str
    rights: tuple[str, ...]
    sizes: dict[str, set[int]]
    """What data has beside some axes, and those axes."""
    dims: tuple[str, ...]


@cache
def _read(condition: str) -> Read:
    sizes = re.findall(r"size\(data\)(?:/data\[\d\])+", condition)
    axes = {size: {int(axis) for axis in re.findall(r"\d", size)} for size in sizes}
    dims = tuple(re.findall(r"data\[\d\]", condition))
    if found := re.fullmatch(r"(.+) is divisible by (.+)", condition):
        return Read(found[1], "divisible", (found[2],), axes, dims)
    if found := re.fullmatch(r"(.+) (=|>=|<=) (.+)", condition):
        return Read(found[1], found[2], tuple(found[3].split(" or ")), axes, dims)
    raise AssertionError(f"the law cannot read {condition!r}")


def holds(condition: str, names: dict[str, int], resolved: Dims | str) -> bool:
    """Whether a condition is true, read from its text."""
    if condition in {balance.FITS, inference.AGREES}:
        return isinstance(resolved, tuple)
    read = _read(condition)
    for size, axes in read.sizes.items():
        if max(axes) >= names["rank(data)"]:
            return False
        names = names | {size: prod(names[f"data[{i}]"] for i in range(names["rank(data)"]) if i not in axes)}
    if read.relation == "divisible":
        top, bottom = (evaluate(text, names) for text in (read.left, *read.rights))
        return bool(bottom) and top is not None and (top / (bottom or 1)).denominator == 1
    if any(name not in names for name in read.dims):
        return False
    left, rights = evaluate(read.left, names), [evaluate(text, names) for text in read.rights]
    compare = {"=": left in rights, ">=": left >= rights[0], "<=": left <= rights[0]}  # type: ignore[operator]
    return compare[read.relation]


def admits(answer: Shape, output: Dims, names: dict[str, int]) -> bool:
    """Whether a shape is among those that the answer allows."""
    if answer.dims is None:
        return True
    if len(answer.dims) != len(output):
        return False
    for dim, size in zip(answer.dims, output, strict=True):
        if isinstance(dim, str):
            if evaluate(dim, names) != size:
                return False
        elif isinstance(dim, tuple):
            if size < dim[0] or (dim[1] is not None and size > dim[1]):
                return False
        elif dim is not None and dim != size:
            return False
    return True


def resolved(data: Dims, target: Dims, family: Family) -> Dims | str:
    return defined(data, target, family.zero_copies, family.empty_copies_leave_the_division)


def unsound(infer: Any, family: Family, data: tuple[Any, ...] | None, target: tuple[Any, ...]) -> str | None:
    """The first way in which an answer is wrong."""
    question = f"{data} by {target} in {family}"
    try:
        answer = infer(data, target, family.spec, **family.attributes)
    except orx.ReshapeError as refusal:
        for dims, asked, _ in bindings(data, target):
            if isinstance(resolved(dims, asked, family), tuple):
                return f"{question}: refused ({refusal.sentence}), but {dims} by {asked} is possible"
        return None
    for dims, asked, names in bindings(data, target):
        output = resolved(dims, asked, family)
        if all(holds(condition, names, output) for condition in answer.conditions):
            if isinstance(output, str):
                return f"{question}: {answer!r}, but {dims} by {asked} is refused ({output})"
            if not admits(answer, output, names):
                return f"{question}: {answer!r}, but {dims} by {asked} is {output}"
    return None


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_on_known_dims_it_is_resolve(family: Family) -> None:
    short = [case for case in WORLD if max(map(len, case)) <= 2]
    world = [*short, *part(WORLD, 8)] if family in FEW else short
    for data, target in world:
        try:
            answer: Any = orx.infer(data, target, family.spec, **family.attributes)
            assert answer.conditions == ()
            answer = answer.dims
        except orx.ReshapeError as refusal:
            answer = refusal.code
        assert answer == resolved(data, target, family), (data, target)


KNOWN: list[tuple[tuple[Any, ...], tuple[Any, ...]]] = [
    (("N", "M"), ("N", "M", 2)),  # either symbol may be the one that is 0
    (("N", "M", 2), ("M", "N", 4)),
    (("N*M", 3), (2, "N", "M")),
    ((0, "N"), (0, -1)),  # a copied dim that is 0, beside -1
    ((None, 2), ((0, 2), 2)),
    (((3, None),), ((2, 4),)),
    ((2,), ((-1, 1), -1)),
    ((4, 4), (-1, (2, 4))),
    ((3,), ((-1, 1), (2, 4))),
    ((0,), (0, "M")),
    (((1, 3), None), ("N", 4, 2)),
    ((3, 3), (1, (-1, 1))),
    ((0,), (4, (0, 2))),
    ((4,), ("M",)),
    ((0,), ((0, 2), -1)),
    ((), (-1, "2*N")),
    (((0, 2), (1, 3)), (2, -1)),
    ((None,), ((0, 2), 2)),
    ((None, (3, None)), (2,)),
    (((3, None),), ((0, 2),)),
    ((3,), (0, (-1, 1))),
    ((0, 3), ("2*N", -1)),
]
"""Questions that are known to find the planted bugs."""
QUESTIONS = [
    *((data, target) for data in [None, *lists(DATA_DIMS, 1)] for target in lists(TARGET_DIMS, 2)),
    *itertools.islice(itertools.product(lists(DATA_DIMS, 2)[14:], lists(TARGET_DIMS, 2)), 0, None, 29),
    *itertools.islice(itertools.product(lists(DATA_DIMS, 2), lists(TARGET_DIMS, 3)[157:]), 0, None, 2003),
    *KNOWN,
]
"""All of rank 0 and 1, and an even sample of rank 2 and of longer targets; `python -m tests.laws.test_inference` asks
every question of rank 2."""


@pytest.mark.parametrize("family", FEW, ids=str)
def test_it_is_sound(family: Family) -> None:
    wrong = (unsound(orx.infer, family, data, target) for data, target in (*KNOWN, *part(QUESTIONS, 4)))

    assert next((found for found in wrong if found), None) is None


# Each row breaks one line of the implementation: (module, the line, what it becomes).
MUTANTS = [
    ("dims", "left.remove(symbol)", "pass"),
    ("dims", "low *= least", "low *= max(least, 1)"),
    ("dims", "high * most", "high * max(most - 1, 1)"),
    ("narrowing", "needed = 1 if endless - unbounded else -(-least // others)", "needed = least // others + 1"),
    ("narrowing", "min(largest, most // (floor // max(smallest, 1)))", "min(largest, most // floor)"),
    ("narrowing", "high -= volume % high != 0", "high -= 1"),
    ("balance", "        elif self.copies:", "        elif False:"),
    ("balance", "set(word[1]) <= set(here[1])", "True"),
    ("balance", "if not same:", "if False:"),
    ("balance", "minus_one = word.minus_one and self.inferred is None and not literal", "minus_one = False"),
    ("balance", "zero = word.zero and (", "zero = word.zero and False and ("),
    ("balance", "if not self.spec.empty_copy_beside_inferred or not self.copies:", "if not self.copies:"),
    ("balance", "if not self.spec.empty_copy_beside_inferred or not self.copies:", "if True:"),
    ("conditions", "(right[1] or right[0] % left[0] == 0)", "right[0] % left[0] == 0"),
    ("conditions", "high >= least and most >= low", "high > least and most >= low"),
    ("balance", "return (0, 0)\n        return self.conditions.symbols.range(_product(here))", "return (0, 0)"),
    ("balance", "takes and any(options.zero for options in self.open.values())", "False"),
    ("balance", "ANY_SIZE if empty else (0, most)", "(0, 0)"),
    ("balance", "if others:  # only the -1 can be 0", "if True:"),
    ("balance", 'self.conditions.require(Condition("divisible", top, bottom))', "pass"),
    ("conditions", 'self.require(Condition("divisible", names, divisor))', "pass"),
    ("conditions", "low = -(-least // divisor) * divisor", "low = (least // divisor + 1) * divisor"),
    ("conditions", 'self.require(Condition("equal", left, right))', "pass"),
    ("conditions", 'self.require(Condition("equal", unknown, number))', "pass"),
    ("balance", "self.conditions.require(_entry(axis, word.low))", "pass"),
    ("balance", "if options.minus_one or copies:", "if options.minus_one:"),
    ("balance", "if not fixed[0]:  # nothing to complete", "if False:  # nothing to complete"),
    ("inference", "return _with_a_zero(question, symbols, never)", "raise"),
    ("inference", "return Shape(shape.dims, (equals(name, value), *shape.conditions))", "return shape"),
    ("inference", "low=max(low, 1)", "low=max(low, 2)"),
    ("inference", "minus_one=low == -1", "minus_one=False"),
    (
        "balance",
        "self.conditions.positive(fixed)\n        return self._quotient(volume, fixed, axis)\n\n    def _division",
        "return self._quotient(volume, fixed, axis)\n\n    def _division",
    ),
]


@pytest.mark.parametrize(("module", "line", "becomes"), MUTANTS)
def test_a_planted_bug_is_found(module: str, line: str, becomes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    infer = mutated(MODULES, module, line, becomes, monkeypatch).infer
    questions = [*KNOWN, *random.Random(1).sample(QUESTIONS, 1200)]  # noqa: S311 - a fixed order

    assert any(broken(infer, family, data, target) for data, target in questions for family in FEW)


MODULES = (
    "dims",
    "condition",
    "bounds",
    "shape",
    "narrowing",
    "conditions",
    "balance",
    "small_intervals",
    "plain",
    "inference",
)


def broken(infer: Any, family: Family, data: tuple[Any, ...] | None, target: tuple[Any, ...]) -> bool:
    """Whether an answer is wrong, or none comes."""
    try:
        return unsound(infer, family, data, target) is not None
    except Exception:  # noqa: BLE001 - a mutant may also crash
        return True


def test_without_a_bug_the_copies_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    infer = mutated(MODULES, "dims", "", "", monkeypatch).infer

    assert not any(broken(infer, FEW[0], data, target) for data, target in QUESTIONS[::97])


if __name__ == "__main__":
    for family_ in FEW:
        for data_, target_ in itertools.product(lists(DATA_DIMS, 2), lists(TARGET_DIMS, 2)):
            if found_ := unsound(orx.infer, family_, data_, target_):
                print(found_)
