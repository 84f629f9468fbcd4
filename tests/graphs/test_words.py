"""The constants that make one shape out of another, for every size that the symbols can take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import pytest
from hypothesis import given, settings, strategies as st

from onereshape import ReshapeError, infer, resolve
from onereshape.graphs.words import constant_words
from onereshape.rule.dims import parse
from onereshape.rule.sizes import Size, product as product_of, symbol

Dims = Sequence[Size]


def sizes(*dims: int | str) -> list[Size]:
    products = ((dim, ()) if isinstance(dim, int) else parse(dim) for dim in dims)
    return [product_of([number, *map(symbol, names)]) for number, names in products]


SIZES = sizes(0, 1, 2, "N", "M", "2*N", "N*M")


def at(dims: Dims, binding: Mapping[str, int]) -> list[int]:
    """The dims with numbers for the symbols."""
    bound = []
    for dim in dims:
        size = dim if isinstance(dim, int) else dim.bind(binding)
        assert isinstance(size, int)
        bound.append(size)
    return bound


def bindings(least: int) -> Iterator[dict[str, int]]:
    for numbers in product(range(least, 4), repeat=2):
        yield dict(zip("NM", numbers, strict=True))


def works(data: Dims, output: Dims, words: Sequence[int], copies: bool, binding: Mapping[str, int]) -> bool:
    try:
        found = resolve(at(data, binding), words, "onnx-14", allowzero=int(not copies))
    except ReshapeError:
        return False
    return list(found) == at(output, binding)


def always_works(data: Dims, output: Dims, words: Sequence[int], copies: bool, least: int = 1) -> bool:
    return all(works(data, output, words, copies, binding) for binding in bindings(least))


def shapes(longest: int) -> Iterator[tuple[Size, ...]]:
    for rank in range(longest + 1):
        yield from product(SIZES, repeat=rank)


def hold(data: Dims, output: Dims, copies: bool, keep: Sequence[int] | None = None) -> None:
    """What is found is right for all sizes, empty ones too if any constant is; if none is found, none is."""
    words = constant_words(data, output, zero_copies=copies, keep=keep)
    others = [list(other) for other in product([-1, 0, 1, 2], repeat=len(output))]
    if words is None:
        assert not any(always_works(data, output, other, copies) for other in others), (data, output)
        return
    assert always_works(data, output, words, copies), (data, output, words)
    if keep is None:
        assert always_works(data, output, words, copies, least=0) or not any(
            always_works(data, output, other, copies, least=0) for other in others
        ), (data, output, words)
        return
    right = [other for other in others if always_works(data, output, other, copies)]
    fewest = min(_changes(keep, other) for other in right)
    assert _changes(keep, words) == fewest, (data, output, keep, words)
    for binding in bindings(0):
        if 0 in binding.values() and right.count(list(keep)) and works(data, output, keep, copies, binding):
            assert works(data, output, words, copies, binding), (data, output, keep, words)


def _changes(before: Sequence[int], after: Sequence[int]) -> int:
    return sum(old != new for old, new in zip(before, after, strict=True))


@pytest.mark.parametrize("copies", [True, False], ids=["copied", "literal"])
def test_small_world(copies: bool) -> None:
    for data, output in product(shapes(2), shapes(2)):
        hold(data, output, copies)


FACTORS: st.SearchStrategy[Size] = st.sampled_from([1, 2, symbol("N"), symbol("M")])


@st.composite
def reshapes(draw: st.DrawFn) -> tuple[Dims, Dims]:
    """Data and an output of three or four dims with the same factors, and now and then with others."""
    factors = draw(st.lists(FACTORS, max_size=4))

    def placed() -> list[Size]:
        dims: list[Size] = [1 for _ in range(draw(st.integers(1, 3)))]
        for factor in factors:
            axis = draw(st.integers(0, len(dims) - 1))
            dims[axis] = dims[axis] * factor
        return dims

    data, output = placed(), placed()
    if draw(st.integers(0, 9)) == 0:
        output[0] = draw(st.sampled_from(SIZES))
    return data, output


@settings(max_examples=150, deadline=None, derandomize=True)
@given(reshapes(), st.booleans(), st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=3, max_size=3))
def test_law_of_larger_shapes(pair: tuple[Dims, Dims], copies: bool, keep: list[int]) -> None:
    data, output = pair
    largest = max(dim if isinstance(dim, int) else 0 for dim in output)
    hold(data, output, copies)
    if largest <= 2 and keep.count(-1) <= 1 and constant_words(data, output, zero_copies=copies) is not None:
        hold(data, output, copies, keep[: len(output)])


@settings(max_examples=300, deadline=None, derandomize=True)
@given(reshapes(), st.booleans())
def test_infer_agrees(pair: tuple[Dims, Dims], copies: bool) -> None:
    data, output = pair
    words = constant_words(data, output, zero_copies=copies)
    if words is None:
        return
    found = infer([_dim(dim) for dim in data], words, "onnx-14", allowzero=int(not copies))

    assert found.dims == tuple(_dim(dim) for dim in output)
    assert all(">= 1" in condition for condition in found.conditions)


def _dim(size: Size) -> int | str:
    return size if isinstance(size, int) else str(size)


CASES = [
    # data, output, keep, words
    (("N", "S", 768), ("N", "S", 12, 64), None, [0, 0, 12, 64]),
    (("N", "S", 12, 64), ("N", "S", 768), None, [0, 0, 768]),
    (("N", "S", 768), ("N*S", 768), None, [-1, 768]),
    (("N*S", 768), ("N", "S", 768), None, None),
    (("12*N", "S", 64), ("N", 12, "S", 64), None, None),
    (("12*N", 197, 64), ("N", 12, 197, 64), None, [-1, 12, 197, 64]),
    (("N", 12, 64), ("N", 12, 64), [1, -1, 64], [0, -1, 64]),
    (("N", 12, 64), ("N", 12, 64), [1, 12, 64], [0, 12, 64]),
    (("N", 12, 64), ("N", 12, 64), [1, 0, -1], [0, 0, -1]),
    (("N", 12, 64), ("N", 768), [1, 768], [0, 768]),
    (("N", 12, 64), ("N", 768), [-1, 768], [-1, 768]),
    (("N", 12, 64), ("12*N", 64), [-1, 64], [-1, 64]),
    (("N", 12, 64), ("12*N", 64), [12, -1], [-1, 64]),
    (("N", "S", 64), ("N", "64*S"), [1, -1], [0, -1]),
    (("N", "S", 64), ("N", "64*S"), None, [0, -1]),
    (("N",), ("N", 1), [1, -1], [0, -1]),
    ((1, "N"), ("N", 1), [-1, 1], [-1, 1]),
    (("N",), ("N/4", 4), None, [-1, 4]),
    (("N",), ("M",), None, None),
    (("past + 1", 64), (1, "past + 1", 64), None, [1, -1, 64]),
    (("past + 1", 64), ("past + 1", 8, 8), None, [0, 8, 8]),
    ((), (), None, []),
    ((), (1, 1), None, [1, 1]),
]


@pytest.mark.parametrize(("data", "output", "keep", "words"), CASES)
def test_cases(
    data: tuple[int | str, ...], output: tuple[int | str, ...], keep: list[int] | None, words: list[int] | None
) -> None:
    assert constant_words(sizes(*data), sizes(*output), zero_copies=True, keep=keep) == words


def test_data_of_unknown_rank_copies_nothing() -> None:
    assert constant_words(None, sizes("N", 64), zero_copies=True) == [-1, 64]
    assert constant_words(None, sizes(2, 3), zero_copies=True) == [2, 3]
    assert constant_words(None, sizes("N", "M"), zero_copies=True) is None


def test_words_of_another_length_are_not_kept() -> None:
    assert constant_words(sizes("N", 6), sizes("N", 2, 3), zero_copies=True, keep=[1, -1]) == [0, 2, 3]
