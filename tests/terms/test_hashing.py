"""The hashes: the kernels give what NumPy does, and nothing that is no collision of 64 bits collides."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onereshape.terms import hashing as module
from onereshape.terms.hashing import Hashing, Words
from tests.terms.strided import drawn, narrowed, shapes, strided

_terms: Any = import_module("onereshape.terms._terms") if module.available() else None

SEED = 0x1234_5678_9ABC_DEF0
FAST, PLAIN = Hashing(SEED), Hashing(SEED, kernels=False)
GUARD = np.uint64(0xDEAD_BEEF_DEAD_BEEF)

needs_kernels = pytest.mark.skipif(not module.available(), reason="installed without a compiler")


def same(fast: Words, plain: Words) -> None:
    assert fast.dtype == plain.dtype == np.uint64
    assert fast.shape == plain.shape
    assert np.array_equal(fast, plain)


@pytest.fixture(params=range(_terms.levels() if module.available() else 1))
def _level(request: pytest.FixtureRequest) -> Iterator[None]:
    """With narrow vectors too, where the processor has wide ones."""
    _terms.use_level(request.param)
    yield
    _terms.use_level(_terms.levels() - 1)


@needs_kernels
@pytest.mark.usefixtures("_level")
class TestTheKernelsAreTheDefinition:
    @pytest.mark.parametrize("seed", range(50))
    def test_mix_and_blend(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shape = shapes(rng)
        operands = [strided(rng, narrowed(rng, shape)) for _ in range(int(rng.integers(1, 6)))]
        key = int(rng.integers(1 << 63)) * 2 + 1
        same(FAST.mix(key, *operands), PLAIN.mix(key, *operands))
        same(FAST.blend(key, *operands), PLAIN.blend(key, *operands))

    @pytest.mark.parametrize("seed", range(50))
    def test_fold(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        shape = (*shapes(rng), int(rng.integers(1, 40)))
        words = strided(rng, shape)
        axes = [int(axis) for axis in rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)]]
        axes = [axis - len(shape) if rng.random() < 0.3 else axis for axis in axes]
        same(FAST.fold(words, axes), PLAIN.fold(words, axes))

    @pytest.mark.parametrize("seed", range(30))
    def test_running(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        words = strided(rng, (*shapes(rng), int(rng.integers(0, 9))))
        axis = int(rng.integers(-words.ndim, words.ndim))
        same(FAST.running(words, axis), PLAIN.running(words, axis))

    @pytest.mark.parametrize(
        "dtype",
        [
            *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
            *(np.float16, np.float32, np.float64, np.complex64, np.complex128, np.bool_),
            *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn),
        ],
        ids=lambda dtype: np.dtype(dtype).name,
    )
    def test_constants(self, dtype: Any) -> None:
        kind = np.dtype(dtype).name.upper()
        for seed in range(10):
            rng = np.random.default_rng(seed)
            shape = (*shapes(rng), int(rng.integers(1, 9)))
            array = strided(rng, shape, np.uint8).astype(dtype) if dtype is np.bool_ else strided(rng, shape, dtype)
            same(FAST.constants(array, kind), PLAIN.constants(array, kind))
            axes = [int(axis) for axis in rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)]]
            same(FAST.fold_constants(array, kind, axes), PLAIN.fold(PLAIN.constants(array, kind), axes))

    def test_constants_that_are_texts(self) -> None:
        array = np.array([["a", b"\xff"], ["", "a"]], object)
        same(FAST.constants(array, "STRING"), PLAIN.constants(array, "STRING"))
        same(FAST.fold_constants(array, "STRING", [1]), PLAIN.fold_constants(array, "STRING", [1]))

    @pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0, 2), (1, 1), (5000,), (2, 3000), (3000, 2)])
    def test_no_dims_empty_dims_and_long_ones(self, shape: tuple[int, ...]) -> None:
        rng = np.random.default_rng(1)
        words = drawn(rng, shape)
        same(FAST.mix(1, words, words), PLAIN.mix(1, words, words))
        same(FAST.blend(1, words, words), PLAIN.blend(1, words, words))
        for count in range(len(shape) + 1):
            same(FAST.fold(words, range(count)), PLAIN.fold(words, range(count)))
        values = drawn(rng, shape, np.float32)
        same(FAST.constants(values, "FLOAT"), PLAIN.constants(values, "FLOAT"))
        for axis in range(len(shape)):
            same(FAST.running(words, axis), PLAIN.running(words, axis))

    def test_a_byte_order_that_is_said(self) -> None:
        values = np.arange(6, dtype=np.int32)
        said = values.view(values.dtype.newbyteorder("<" if sys.byteorder == "little" else ">"))
        same(FAST.constants(said, "INT32"), PLAIN.constants(values, "INT32"))
        swapped = values.astype(values.dtype.newbyteorder())
        same(FAST.constants(swapped, "INT32"), PLAIN.constants(values, "INT32"))

    def test_of_nothing(self) -> None:
        same(FAST.mix(7), PLAIN.mix(7))
        same(FAST.blend(7), PLAIN.blend(7))
        same(FAST.leaves(7, 0), PLAIN.leaves(7, 0))

    def test_leaves_and_single_words(self) -> None:
        same(FAST.leaves(7, 3000), PLAIN.leaves(7, 3000))
        word: Any = np.uint64((1 << 64) - 1)
        number: Any = np.int64(-3)
        same(FAST.constants(number, "INT64"), PLAIN.constants(number, "INT64"))
        same(FAST.mix(7, word, np.arange(3, dtype=np.uint64)), PLAIN.mix(7, word, np.arange(3, dtype=np.uint64)))

    def test_more_words_than_there_were_multipliers(self) -> None:
        words = drawn(np.random.default_rng(1), (70_000,))
        same(Hashing(3).fold(words, [0]), Hashing(3, kernels=False).fold(words, [0]))

    @pytest.mark.parametrize("seed", range(5))
    def test_operands_are_left_as_they_are(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        one, two = strided(rng, (4, 5)).copy(), strided(rng, (1, 5)).copy()
        before = one.copy(), two.copy()
        FAST.mix(1, one, two)
        FAST.blend(1, one, two)
        FAST.fold(one, [0])
        assert np.array_equal(one, before[0])
        assert np.array_equal(two, before[1])

    @pytest.mark.parametrize("seed", range(30))
    def test_nothing_around_an_operand_counts(self, seed: int) -> None:
        """What lies beside a view, in its gaps and beyond its ends, changes nothing."""
        rng = np.random.default_rng(seed)
        shape = tuple(int(dim) for dim in rng.integers(1, 12, 3))
        words = drawn(rng, shape)
        around = np.full([2 * dim + 6 for dim in shape], GUARD)
        inside = around[tuple(slice(3, 3 + 2 * dim, 2) for dim in shape)]
        inside[...] = words
        same(FAST.mix(1, inside, inside), PLAIN.mix(1, words, words))
        same(FAST.blend(1, inside), PLAIN.blend(1, words))
        for axes in ([0], [1], [2], [0, 2], [0, 1, 2]):
            same(FAST.fold(inside, axes), PLAIN.fold(words, axes))
        same(FAST.running(inside, 1), PLAIN.running(words, 1))
        values = inside.view(np.int64)
        same(FAST.fold_constants(values, "INT64", [0, 2]), PLAIN.fold(PLAIN.constants(values, "INT64"), [0, 2]))

    def test_what_is_no_operand_is_refused(self) -> None:
        words = np.zeros((2, 3), np.uint64)
        calls: list[Callable[[], Words]] = [
            lambda: FAST.mix(1, words, words[:, :2]),
            lambda: FAST.blend(1, words, words.reshape(3, 2)),
            lambda: _terms.fold(words, [0, 0], FAST.multipliers(9), 1),
            lambda: _terms.fold(words, [2], FAST.multipliers(9), 1),
            lambda: _terms.fold(words, [1], FAST.multipliers(2), 1),
            lambda: _terms.fold(words, [1], FAST.multipliers(9)[::2], 1),
            lambda: _terms.mix(1, FAST.multipliers(1), words, words),
            lambda: _terms.running(words, -1, FAST.multipliers(9), 1),
            lambda: _terms.leaves(-1, 1, 1),
        ]
        for call in calls:
            with pytest.raises(ValueError, match=r"operands|axes|axis|multipliers|none"):
                call()
        swapped = np.zeros(3, np.dtype(np.uint64).newbyteorder())
        others: list[Any] = [np.zeros(3, np.int64), np.zeros(3, np.uint32), np.zeros(3), swapped, np.array([None])]
        for wrong in others:
            with pytest.raises(TypeError):
                FAST.mix(1, wrong)
            with pytest.raises(TypeError):
                FAST.fold(wrong, [0])


@pytest.mark.parametrize("seed", range(60))
def test_windows_slide(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kernel, stride, dilation, more = (int(each) for each in rng.integers(1, 5, 4))
    dims = list(shapes(rng))
    axis = int(rng.integers(0, len(dims) + 1))
    words = strided(rng, (*dims[:axis], (kernel - 1) * dilation + more, *dims[axis:]))
    found = FAST.slide(words, axis, kernel, stride, dilation, 1)
    same(found, PLAIN.slide(words, axis, kernel, stride, dilation, 1))
    assert found.shape[axis] == (more - 1) // stride + 1
    for place in range(found.shape[axis]):
        seen = words.take(place * stride + dilation * np.arange(kernel), axis)
        same(found.take([place], axis).squeeze(axis), PLAIN._folded(seen, [axis], PLAIN.taps("tap", 1, kernel)))


@pytest.mark.parametrize("hashing", [FAST, PLAIN], ids=["kernels", "numpy"])
@pytest.mark.parametrize("window", [(0, 1, 1), (2, 0, 1), (2, 1, -1), (5, 1, 1), (3, 1, 2)])
def test_windows_that_are_not_there(hashing: Hashing, window: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="window"):
        hashing.slide(np.zeros((4, 4), np.uint64), 1, *window, 0)


def test_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation without a compiler has NumPy's."""
    monkeypatch.setitem(sys.modules, "onereshape.terms._terms", None)
    monkeypatch.setattr(module, "_terms", None)
    assert not module.available()
    words = np.arange(6, dtype=np.uint64).reshape(2, 3)
    same(Hashing(SEED).mix(1, words), PLAIN.mix(1, words))


# What must not collide


def unlike(*words: Words) -> None:
    """All words are different from one another."""
    together = np.concatenate([each.ravel() for each in words])
    assert len(np.unique(together)) == len(together)


LARGE = 1 << 18


def test_leaves_and_constants_do_not_collide() -> None:
    everything = np.arange(1 << 16, dtype=np.uint16)
    unlike(
        FAST.leaves(FAST.key("input", "x", 0), LARGE),
        FAST.leaves(FAST.key("input", "x", 1), LARGE),
        FAST.constants(np.arange(LARGE, dtype=np.uint32).view(np.float32), "FLOAT"),
        FAST.constants(everything.view(np.float16), "FLOAT16"),
        FAST.constants(everything.view(ml_dtypes.bfloat16), "BFLOAT16"),
        FAST.constants(np.arange(LARGE), "INT64"),
        FAST.constants(np.array([False, True]), "BOOL"),
    )


def test_grids_do_not_collide() -> None:
    """Words that differ by integers in two places, as linear forms of indices do."""
    small = FAST.constants(np.arange(512), "INT64")
    high = FAST.constants(np.arange(512) << 53, "INT64")
    for words in (small, high):
        grid = [FAST.mix(key, words[:, None], words[None, :]) for key in (1, 2)]
        unlike(*grid)
    whole = FAST.blend(1, small[:, None], small[None, :])
    assert np.array_equal(whole, whole.T)
    unlike(whole[np.triu_indices(512)])


@pytest.mark.parametrize("bit", [0, 31, 32, 61, 62, 63])
def test_powers_of_two_do_not_cancel(bit: int) -> None:
    """Less(a, b) is not Less(a + 2^63, b + 2^63): odd multipliers alone would not tell them apart."""
    rng = np.random.default_rng(bit)
    with np.errstate(over="ignore"):
        words = np.arange(-2, 3).astype(np.uint64)[:, None] * (np.uint64(1) << np.uint64(bit)) * FAST.unit
        base = drawn(rng, (1, 3)).copy()
        cases = np.stack([base[0] + words[list(each), 0] for each in product(range(5), repeat=3)])
    cases = np.unique(cases, axis=0)
    unlike(FAST.mix(5, *cases.T))
    unlike(FAST.fold(cases, [1]))
    unlike(FAST.fold(cases.reshape(-1, 1, 3), [1, 2]))
    assert len(np.unique(FAST.running(cases, 1)[:, -1])) == len(cases)


def test_nothing_linear_survives_mixing() -> None:
    """f(a + d) - f(a) is another for every a, and so are the sums over squares."""
    words = drawn(np.random.default_rng(2), (3, LARGE // 4))
    with np.errstate(over="ignore"):
        makers: list[Callable[[Words], Words]] = [
            lambda a: FAST.mix(3, a),
            lambda a: FAST.mix(3, words[0], a),
            lambda a: FAST.mix(3, a, words[0]),
            lambda a: FAST.blend(3, a, words[0]),
        ]
        for make in makers:
            for step in (1, int(FAST.unit), 1 << 63):
                unlike(make(words[1] + np.uint64(step)) - make(words[1]))
        square = [FAST.mix(3, a, b) for a in words[:2] for b in words[1:]]
        unlike(square[0] - square[1] - square[2] + square[3])


def test_every_bit_of_an_operand_counts() -> None:
    """Each bit turned over turns about half of the bits of the answer."""
    words = drawn(np.random.default_rng(2), (2, 4096))
    makers: list[Callable[[Words], Words]] = [
        lambda a: FAST.mix(3, a),
        lambda a: FAST.mix(3, a, words[1]),
        lambda a: FAST.mix(3, words[1], a),
        lambda a: FAST.blend(3, a, words[1]),
    ]
    for make in makers:
        before = make(words[0])
        for bit in range(64):
            turned = np.bitwise_count(make(words[0] ^ (np.uint64(1) << np.uint64(bit))) ^ before)
            assert 31 < turned.mean() < 33
            assert turned.min() > 5


def test_folds_inside_folds_know_their_order() -> None:
    """A matrix and its transpose have another content, row by row."""
    words = drawn(np.random.default_rng(4), (40, 5, 5))
    twice = FAST.fold(FAST.fold(words, [2]), [1])
    other = FAST.fold(FAST.fold(words.transpose(0, 2, 1), [2]), [1])
    unlike(twice, other)


def test_zeros_at_the_end_count() -> None:
    """The product of [a, 0] is not that of [a], though the word of the integer 0 is 0."""
    zeros = FAST.constants(np.zeros((2000,), np.int64), "INT64")
    unlike(np.stack([FAST.fold(zeros[:count], [0]) for count in range(2000)]))
    unlike(FAST.running(zeros, 0))


def test_places_count() -> None:
    """Each permutation and each length of the same content is another."""
    words = FAST.leaves(1, 5)
    every = np.array(list(product(range(5), repeat=5)))
    unlike(FAST.fold(words[every], [1]))
