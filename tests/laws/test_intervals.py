"""Law 2 on small intervals: the answer is the hull of what all sizes within them give, no wider and no narrower."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import pytest

import onereshape as orx
from onereshape.rule.dims import interval
from onereshape.rule.inference import AGREES
from onereshape.rule.inferring.small_intervals import MOST_RULED
from tests.laws.mutants import mutated
from tests.laws.test_inference import MODULES, holds
from tests.rule.asking import COLUMNS

Case = tuple[tuple[int, ...], tuple[int, ...]]
DATA: list[Any] = [1, 2, 3, 4, 6, (1, 2), (2, 4), (1, 3), (3, 5), (4, 6), (2, 3), (1, 6)]
TARGET: list[Any] = [1, 2, 3, 8, 0, 0, (1, 2), (2, 4), (3, 5), (1, 6)]
WITH_ZEROS: list[Any] = [*DATA, 0, (0, 2), (0, 1), (0, 3), (0, 4)]
WITH_WORDS: list[Any] = [*TARGET, (0, 2), (-1, 2), (-1, 0), (0, 4), (0, 1)]


def sizes(dim: Any) -> list[int]:
    return [dim] if isinstance(dim, int) else list(range(dim[0], dim[1] + 1))


def cases(data: list[Any], target: list[Any]) -> list[Case]:
    """Every data and every target that the intervals allow."""
    return list(product(product(*map(sizes, data)), product(*map(sizes, target))))


def questions(seed: int, dims: list[Any], entries: list[Any], count: int) -> list[tuple[list[Any], list[Any]]]:
    random = Random(seed)  # noqa: S311 - no secrets
    asked: list[tuple[list[Any], list[Any]]] = [
        ([(0, 2), (1, 2), (1, 2)], [0, 1, (1, 3), (1, 5)]),  # beside a copied 0 anything fits
        ([(0, 4), (0, 1), (2, 3), (2, 4)], [0]),  # only a copied 0 fits
    ]
    while len(asked) < count:
        data = random.choices(dims, k=random.randint(1, 4))
        target = random.choices(entries, k=random.randint(0, 3))
        if random.random() < 0.6:
            target.insert(random.randint(0, len(target)), -1)
        several = sum(isinstance(each, tuple) for each in (*data, *target)) > 0
        if several and len(cases(data, target)) <= MOST_RULED:
            asked.append((data, target))
    return asked


def outputs(
    data: list[Any], target: list[Any], spec: str, attributes: Any
) -> list[tuple[Case, tuple[int, ...] | None]]:
    found: list[tuple[Case, tuple[int, ...] | None]] = []
    for case in cases(data, target):
        try:
            found.append((case, orx.resolve(*case, spec, **attributes)))
        except orx.ReshapeError:
            found.append((case, None))
    return found


def allowed(conditions: tuple[str, ...], case: Case, output: Any) -> bool:
    data, target = case
    names = {f"data[{axis}]": size for axis, size in enumerate(data)}
    names |= {f"target[{axis}]": size for axis, size in enumerate(target)}
    return all(holds(condition, names, output or "refused") for condition in conditions)


def problem(data: list[Any], target: list[Any], spec: str, attributes: Any, infer: Any = orx.infer) -> str | None:
    """What is wrong with the answer to a question."""
    found = outputs(data, target, spec, attributes)
    try:
        answer = infer(data, target, spec, **attributes)
    except orx.ReshapeError as refusal:
        return f"refused: {refusal.code}" if any(output is not None for _, output in found) else None
    if AGREES in answer.conditions:
        return None
    fits = [output for case, output in found if output is not None and allowed(answer.conditions, case, output)]
    if not fits:
        return f"{answer!r}, and nothing fits"
    hull = tuple(interval(min(column), max(column)) for column in zip(*fits, strict=True))
    return None if answer.dims == hull else f"{answer!r}, and the hull is {hull}"


@pytest.mark.parametrize(
    ("seed", "dims", "entries"),
    [(1, DATA, TARGET), (2, DATA, WITH_WORDS), (3, WITH_ZEROS, TARGET), (4, WITH_ZEROS, WITH_WORDS)],
)
def test_an_answer_is_the_hull_of_all_cases(seed: int, dims: list[Any], entries: list[Any]) -> None:
    wrong = {}
    for data, target in questions(seed, dims, entries, 100):
        for spec, attributes in COLUMNS.values():
            what = problem(data, target, spec, attributes)
            if what is not None:
                wrong[f"{data} by {target} {spec} {attributes}"] = what
    assert wrong == {}


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("return tightened(balance, shape) if symbols.limits or balance.open else shape", "return shape"),
        ("over % under == 0", "True"),
        ("if over == under or (inferred", "if (over == under and not inferred) or (inferred and over > under"),
        ("names[name] = range(low, high + 1)", "names[name] = range(low, high)"),
        ("others = (-1,) * options.minus_one + (0,) * options.zero", "others = ()"),
        ("plain = plain and low > 0", "pass"),
        ("plain = plain and not others", "pass"),
        ("yield all(bound.values()), output", "yield True, output"),
        ("raise Never(_NONE)", "return None"),
    ],
)
def test_a_planted_bug_is_found(line: str, becomes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "inference" if line.startswith("return tightened") else "small_intervals"
    infer = mutated(MODULES, module, line, becomes, monkeypatch).infer

    def broken(data: list[Any], target: list[Any], spec: str, attributes: Any) -> bool:
        try:
            return problem(data, target, spec, attributes, infer) is not None
        except Exception:  # noqa: BLE001 - it breaks down
            return True

    worlds = [(DATA, TARGET), (WITH_ZEROS, WITH_WORDS)]
    asked = [question for dims, entries in worlds for question in questions(4, dims, entries, 60)]
    assert any(broken(*question, *flag) for question in asked for flag in COLUMNS.values())


def test_a_size_that_products_do_not_reach() -> None:
    """By limits alone the last dim is from 1 to 3."""
    answer = orx.infer([(1, 2), (2, 4), (3, 5), (2, 4), 8], [(3, 5), 0, 1, 0, 8, -1], "openvino", special_zero=True)
    assert answer.dims == ((3, 5), (2, 4), 1, (2, 4), 8, (1, 2))


def test_intervals_without_a_product_that_fits_are_refused() -> None:
    with pytest.raises(orx.ReshapeError, match="none of the sizes within these limits fits"):
        orx.infer([(5, 6), (5, 7)], [(8, 9), (2, 3)], "onnx")


def test_long_intervals_are_not_tried() -> None:
    assert orx.infer([(1, 5000), (1, 5000)], [-1, (1, 9)], "onnx").dims == ((1, 25_000_000), (1, 9))
    assert orx.infer([(2**31, 2**31 + 3), (2**31, 2**32)], [-1, (1, 3)], "onnx").dims is not None
