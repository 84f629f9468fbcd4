"""Law 2 on random questions, of higher ranks and larger sizes than the small world has."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from math import prod
from random import Random
from typing import Any

from hypothesis import assume, given, settings, strategies as st

import onereshape as orx
from onereshape.rule.inference import AGREES
from onereshape.rule.shape import Shape
from tests.laws.test_inference import admits, evaluate, holds
from tests.rule.asking import COLUMNS, Dims, answered

NAMES = ["K", "M", "N", "past + 1"]
OPAQUE = r"\(past \+ 1\)|past \+ 1"
SIZES = [0, 1, 2, 3, 4, 5, 6, 8, 12]
FLAGS = st.sampled_from(list(COLUMNS.values()))

PAIRS: st.SearchStrategy[tuple[int, int | None]] = st.builds(
    lambda low, more: (low, None if more is None else low + more), st.integers(0, 6), st.none() | st.integers(0, 6)
)
EXPRESSIONS = st.sampled_from(["N", "M", "K", "2*N", "6*M", "M*N", "K*K", "past + 1", "2*(past + 1)", "N*(past + 1)"])
DATA = st.lists(st.sampled_from(SIZES) | EXPRESSIONS | EXPRESSIONS | st.none() | PAIRS, max_size=5)
LIMITS = st.dictionaries(st.sampled_from(NAMES), PAIRS, max_size=2)


@st.composite
def targets(draw: st.DrawFn, data: list[Any] | None) -> list[Any]:
    """Entries that often fit: symbols of data, divisors, at most one -1."""
    known = [dim for dim in data or () if isinstance(dim, str)] or ["N"]
    opened = st.none() | PAIRS | PAIRS.map(lambda pair: (-1, pair[1]))
    entry = st.sampled_from([0, 0, 1, 2, 3, 4, 6, 12]) | st.sampled_from(known) | st.sampled_from(known) | opened
    target = draw(st.lists(entry, max_size=5))
    if draw(st.booleans()):
        target.insert(draw(st.integers(0, len(target))), -1)
    return target


def names_of(*lists: list[Any] | None) -> list[str]:
    text = " ".join(dim for dims in lists for dim in dims or () if isinstance(dim, str))
    return sorted(set(re.findall(r"past \+ 1|[A-Z]", text)))


def filled(dims: list[Any], least: int, names: dict[str, int], rng: Random) -> Dims:
    sizes = []
    for dim in dims:
        low, high = (least, None) if dim is None else dim if isinstance(dim, tuple) else (0, 0)
        if isinstance(dim, str):
            sizes.append(int(evaluate(dim, names) or 0))
        elif isinstance(dim, int):
            sizes.append(dim)
        else:
            sizes.append(rng.randint(low, low + 8 if high is None else high))
    return tuple(sizes)


def sampled(data: Any, target: Any, bounds: Any, rng: Random) -> Iterator[tuple[Dims, Dims, dict[str, int]]]:
    """Sizes for everything that is missing; one open entry often completes the volume."""
    for _ in range(20):
        dims_given = [None] * rng.randint(0, 3) if data is None else data
        names = {}
        for name in names_of(dims_given, target):
            low, high = bounds.get(name, (0, 6))
            names[name] = rng.randint(low, low + 6 if high is None else high)
        names["P"] = names.get("past + 1", 0)
        dims = filled(dims_given, 0, names, rng)
        asked = list(filled(target, -1, names, rng))
        opened = [axis for axis, entry in enumerate(target) if entry is None or isinstance(entry, tuple)]
        if opened:
            axis = rng.choice(opened)
            others = prod(size for index, size in enumerate(asked) if index != axis and size > 0)
            low, high = (-1, None) if target[axis] is None else target[axis]
            if prod(dims) % others == 0 and low <= prod(dims) // others <= (prod(dims) if high is None else high):
                asked[axis] = prod(dims) // others
        more = {f"data[{axis}]": dim for axis, dim in enumerate(dims)}
        more |= {f"target[{axis}]": entry for axis, entry in enumerate(asked)}
        yield dims, tuple(asked), names | more | {"rank(data)": len(dims), "size(data)": prod(dims)}


def plain(answer: Shape) -> Shape:
    """The opaque symbol under a letter, because the reader of conditions takes no parentheses within parentheses."""
    assert answer.dims is not None
    dims = [re.sub(OPAQUE, "P", dim) if isinstance(dim, str) else dim for dim in answer.dims]
    return Shape(dims, [re.sub(OPAQUE, "P", condition) for condition in answer.conditions])


def resolved(data: Dims, target: Dims, spec: str, attributes: Any) -> Dims | str:
    try:
        return orx.resolve(data, target, spec, **attributes)
    except orx.ReshapeError as refusal:
        return refusal.code


@settings(deadline=None, max_examples=200)
@given(st.data(), st.none() | DATA | DATA | DATA, LIMITS, FLAGS, st.randoms(use_true_random=False))
def test_an_answer_is_right_at_every_size(draws: Any, data: Any, bounds: Any, flag: Any, rng: Random) -> None:
    """Where the conditions hold the Reshape succeeds with a shape that was answered; what is refused never succeeds."""
    target = draws.draw(targets(data))
    bounds = {name: pair for name, pair in bounds.items() if name in names_of(data, target)}
    spec, attributes = flag
    answer: Shape | None = None
    try:
        answer = orx.infer(data, target, spec, bounds=bounds, **attributes)
    except orx.ReshapeError as refusal:
        assert not refusal.usage  # noqa: PT017 - the refusal is only half of the test
    answer = None if answer is None else plain(answer)
    for dims, asked, names in sampled(data, target, bounds, rng):
        output = resolved(dims, asked, spec, attributes)
        if answer is None:
            assert isinstance(output, str), (dims, asked)
        elif all(holds(condition, names, output) for condition in answer.conditions):
            assert isinstance(output, tuple), (answer, dims, asked, output)
            assert admits(answer, output, names), (answer, dims, asked, output)


@settings(deadline=None, max_examples=150)
@given(st.data(), DATA, FLAGS, st.sampled_from(["KMN", "NMK", "MNK"]))
def test_renamed_symbols_rename_the_answer(draws: Any, data: list[Any], flag: Any, order: str) -> None:
    target = draws.draw(targets(data))
    spec, attributes = flag
    new = dict(zip("KMN", (f"{letter}_{letter.lower()}2" for letter in order), strict=True))

    def renamed(dims: list[Any]) -> list[Any]:
        return [re.sub(r"\b[KMN]\b", lambda m: new[m[0]], dim) if isinstance(dim, str) else dim for dim in dims]

    before = answered(data, target, spec, **attributes)
    after = answered(renamed(data), renamed(target), spec, **attributes)
    if isinstance(before, str):
        assert after == before
        return
    assert before[0] is not None
    assert after[0] is not None
    if any(str(said).endswith(" = 0") for said in before[1:]):  # of several that could be 0, the first by name is
        assert any(str(said).endswith(" = 0") for said in after[1:])
        return
    assert list(map(in_order, renamed(before[0]))) == list(map(in_order, after[0]))
    assert sorted(map(in_order, renamed(list(before[1:])))) == sorted(map(in_order, after[1:]))


def in_order(dim: Any) -> Any:
    """A text with the factors of each product in one order."""
    if not isinstance(dim, str):
        return dim
    return re.sub(
        r"[\w\[\]]+(?:\*(?:[\w\[\]]+|\(past \+ 1\)))+", lambda found: "*".join(sorted(found[0].split("*"))), dim
    )


@settings(deadline=None, max_examples=150)
@given(st.data(), st.lists(st.sampled_from([1, 2, 3, 4, 6, "N", "M", "K", "2*N", "6*M", "M*N"]), max_size=5), FLAGS)
def test_a_reshape_on_the_way_to_a_flat_one_changes_nothing(draws: Any, data: list[Any], flag: Any) -> None:
    """By way of any target the flat dim is the same expression, or the same size wherever the target fits."""
    spec, attributes = flag
    target = [entry for entry in draws.draw(targets(data)) if isinstance(entry, int | str)]
    assume(not isinstance(answered(data, target, spec, **attributes), str))
    between = orx.infer(data, target, spec, **attributes)
    assume(AGREES not in between.conditions)
    (direct,) = orx.infer(data, [-1], spec, **attributes)
    if all(condition.endswith(" >= 1") for condition in between.conditions):
        assert orx.infer(between.to_json(), [-1], spec, **attributes).dims == (direct,)
    for sizes in product(SIZES, repeat=len(names_of(data, target))):
        names = dict(zip(names_of(data, target), sizes, strict=True))
        if all(holds(condition, names, ()) for condition in between.conditions):
            known = [int(evaluate(str(dim), names) or 0) for dim in between]
            assert orx.infer(known, [-1], spec, **attributes).dims == (evaluate(str(direct), names),)
