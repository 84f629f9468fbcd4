"""infer(): the rule of Reshape when dims of data, or entries of the target, are missing.

The answer is sound: whatever sizes the symbols take, if they satisfy the conditions then the Reshape succeeds and its
output is among the shapes that the answer admits; an error is raised only if no sizes work.  `balance` finds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, SupportsIndex

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.rule.condition import Condition, equals
from onereshape.rule.dims import Dim, GivenDim, Interval, Product, Size, Symbols, is_ours, place_of, read_dim, shown
from onereshape.rule.inferring.balance import Balance, EntrySize, Open, Question
from onereshape.rule.inferring.bounds import read_bounds
from onereshape.rule.inferring.conditions import Never, Settled
from onereshape.rule.inferring.plain import plain_answer
from onereshape.rule.inferring.small_intervals import tightened
from onereshape.rule.semantics import output_dims, read_data
from onereshape.rule.shape import Shape
from onereshape.rule.specs import Spec, spec as find_spec
from onereshape.rule.target import read_flag, read_numbers

AGREES = Condition("agrees")
"""The condition where no more can be said."""

_MOST_BITS = 8192
"""Of the coefficients of a question, all together: a size has 63, and Python prints no more than 4,300 digits."""
_SHORT = _MOST_BITS // 133
"""So many sizes have no more bits than that: a coefficient that is read has at most 40 digits."""
_FEW = 4
"""From how many symbols on none of them is tried as 0."""


def infer(
    data: Iterable[GivenDim] | None,
    target: Iterable[GivenDim] | None,
    spec: str | Spec,
    *,
    bounds: Mapping[str, tuple[int, int | None]] | None = None,
    **attributes: SupportsIndex | Iterable[SupportsIndex],
) -> Shape:
    """The output dims as far as they are known, with the conditions under which they are right.

    `data` is None for an unknown rank, `target` is None if nothing of it is known; `bounds` limits symbols.

    >>> infer(["N", 6], [-1, 3], "onnx")
    Shape [2*N, 3]
    >>> infer(["N"], [4, -1], "onnx")
    Shape [4, N/4] if N is divisible by 4
    >>> infer([None, (1, 8), 6], [0, -1, 3], "openvino", special_zero=True)
    Shape [?, 2..16, 3]
    """
    row = find_spec(spec)
    copies = read_flag(row, attributes)
    dims = data if type(data) is tuple else None if data is None else read_list(data, "data")
    entries = target if type(target) is tuple else None if target is None else read_list(target, "target")
    if dims is not None and entries is not None and bounds is None:
        answer = plain_answer(dims, entries, row, copies)
        if answer is not None:
            return answer
    if dims is not None and entries is not None and _all_int(dims) and _all_int(entries):
        if bounds is not None:
            read_bounds(bounds, ())
        dims = read_data(dims)
        try:
            return Shape(output_dims(dims, read_numbers(entries, row, copies)))
        except ReshapeError as error:
            error.data = dims
            raise
    limits: dict[str, tuple[int, int]] = {}
    sizes = None if dims is None else _read_dims(dims, limits)
    words = None if entries is None else _read_words(entries, row)
    if bounds is not None:
        limits |= read_bounds(bounds, (*(sizes or ()), *(words or ())))
    if words is None or entries is None:
        return Shape(None, (AGREES,))
    try:
        return _answer(Question(row, copies, sizes, words), tuple(limits.items()))
    except Never as never:
        code, axis, fields = "impossible-volume", None, dict[str, object](why=str(never))
    except ReshapeError as error:
        code, axis, fields = error.code, error.axis, error.fields
    data_shown = None if dims is None else shown(dims)
    raise ReshapeError(code, data=data_shown, target=shown(entries), spec=row, axis=axis, **fields)


def _all_int(dims: tuple[Any, ...]) -> bool:
    for dim in dims:  # noqa: SIM110 - three times as fast as all()
        if type(dim) is not int:
            return False
    return True


def read_list(dims: Iterable[Any], what: str) -> tuple[Any, ...]:
    """Dims as a tuple, whatever they came in."""
    if type(dims) is list:
        return tuple(dims)
    if isinstance(dims, str | bytes) or not isinstance(dims, Iterable):
        raise ReshapeError("not-a-list", what=what, value=repr(dims))
    try:
        return tuple(dims)
    except TypeError:  # a 0-d array
        raise ReshapeError("not-a-list", what=what, value=repr(dims)) from None


def _read_dims(dims: tuple[Any, ...], limits: dict[str, tuple[int, int]]) -> tuple[Size, ...]:
    """The sizes of data; an unknown dim gets a name of ours, and its limits are noted."""
    sizes: list[Size] = []
    for axis, dim in enumerate(dims):
        size = dim if type(dim) is int else read_dim(dim, "data", axis, 0)
        if type(size) is int:
            if not 0 <= size <= INT64_MAX:
                _refuse_dim(dims, axis, size)
        elif isinstance(size, Interval):
            place = place_of(axis)
            limits[place.symbols[0]] = size
            size = place
        sizes.append(size)
    return tuple(sizes)


def _refuse_dim(dims: tuple[Any, ...], axis: int, size: int) -> None:
    if size < 0:
        raise ReshapeError("negative-dim", data=shown(dims), axis=axis, value=size)
    raise ReshapeError("overflow", data=shown(dims), what=f"data[{axis}]", value=size, limit=INT64_MAX)


def _read_words(entries: tuple[Any, ...], spec: Spec) -> tuple[EntrySize, ...]:
    words: list[EntrySize] = []
    for axis, entry in enumerate(entries):
        size = entry if type(entry) is int else read_dim(entry, "target", axis, -1)
        if isinstance(size, Interval):
            low, high = size
            words.append(Open(minus_one=low == -1, zero=low <= 0 <= high, low=max(low, 1), high=high))
            continue
        if type(size) is int and not -1 <= size <= INT64_MAX:
            read_numbers((*[1] * axis, size), spec, zero_copies=True)  # refuses it
        words.append(size)
    return tuple(words)


@lru_cache(maxsize=4096)
def _answer(question: Question, limits: tuple[tuple[str, tuple[int, int]], ...]) -> Shape:
    """Remembered, because the layers of a model ask the same question again and again."""
    symbols = Symbols()
    few = len(question.dims or ()) + len(question.words) <= _SHORT
    for name, (low, high) in limits:
        if low == high:
            question = question.at(name, low)
            few = False
            continue
        symbols.limits[name] = (low, high)
        if is_ours(name):
            symbols.unnamed.add(name)
    return _weakest(question, symbols) if not few and _is_endless(question) else _ask(question, symbols)


def _is_endless(question: Question) -> bool:
    """Whether the numbers of a question with names multiply to more digits than can be said."""
    sizes = [*(question.dims or ()), *question.words]
    numbers = [size[0] if isinstance(size, Product) else size for size in sizes if not isinstance(size, Open)]
    named = any(isinstance(size, Product) for size in sizes)
    return named and sum(max(number.bit_length() - 1, 0) for number in numbers) > _MOST_BITS


def _ask(question: Question, symbols: Symbols) -> Shape:
    """The answer to a question whose integers may be mistakes, or all that there is."""
    words = question.words
    if -1 in words and (words.count(-1) > 1 or (0 in words and not question.copies)):
        numbers = tuple(word if isinstance(word, int) else 1 for word in words)
        read_numbers(numbers, question.spec, question.copies)  # refuses what no data can mend
    if question.dims is not None and _all_int(question.dims) and _all_int(words):
        target = read_numbers(words, question.spec, question.copies)
        return Shape(output_dims(question.dims, target))  # type: ignore[arg-type]
    return _solve(question, symbols)


def _solve(question: Question, symbols: Symbols) -> Shape:
    """The answer, also where only a symbol that is 0 can give one."""
    try:
        balance = Balance(question, symbols)
        shape = balance.answer()
        return tightened(balance, shape) if symbols.limits or balance.open else shape
    except Settled as settled:
        return _given(question, symbols, settled.name, settled.value)
    except Never as never:
        return _with_a_zero(question, symbols, never)


def _given(question: Question, symbols: Symbols, name: str, value: int) -> Shape:
    """The answer with a value for a symbol, which becomes a condition."""
    low, high = symbols.of(name)
    if not low <= value <= high:
        raise Never(f"{name} would have to be {value}")
    shape = _ask(question.at(name, value), symbols)
    return Shape(shape.dims, (equals(name, value), *shape.conditions))


def _with_a_zero(question: Question, symbols: Symbols, never: Never) -> Shape:
    """The answer where sizes from 1 on have none: for the first symbol that can be 0."""
    products = [size for size in (*(question.dims or ()), *question.words) if isinstance(size, Product)]
    names = dict.fromkeys(name for product in products for name in product[1] if symbols.of(name)[0] == 0)
    if len(names) > _FEW:
        return _weakest(question, symbols)
    for name in names:
        try:
            return _given(question, symbols, name, 0)
        except (Never, ReshapeError):
            continue
    raise never


def _weakest(question: Question, symbols: Symbols) -> Shape:
    """The Shape that holds whenever the Reshape succeeds: each dim by its own entry of the target alone."""
    output: list[Dim] = []
    for axis, word in enumerate(question.words):
        here = question.dims[axis] if question.dims is not None and axis < len(question.dims) else None
        if isinstance(word, int) and word >= 0:
            output.append(word if word or not question.copies else None if here is None else symbols.dim(here))
        elif isinstance(word, Product) and (not question.copies or symbols.range(word)[0] > 0):
            output.append(symbols.dim(word))
        else:
            output.append(None)
    return Shape(output, (AGREES,))
