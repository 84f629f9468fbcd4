"""translate(): one dialect's Reshape in another's words, where the two provably mean the same.

A translation is kept only if both operators give the same output, or both refuse, on every input that was asked about:
on all data, or on all data of the dims that are given.  Types of data are looked at only if a type is given.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, NamedTuple, SupportsIndex

from onereshape.arrays.operator import Reshape
from onereshape.ground.dtypes import ElementType, named
from onereshape.ground.errors import ReshapeError, TranslateError
from onereshape.rule.dims import Dim, GivenDim, Interval, Product, Symbols, parse, read_dim, shown
from onereshape.rule.inference import infer, read_list
from onereshape.rule.shape import Shape
from onereshape.rule.specs import DEFAULT, SPECS, Spec, spec as find_spec
from onereshape.rule.target import Copied, read_target

TargetWords = tuple[int, ...]

_S32_MAX = 2**31 - 1

_MOST_NAMED = 10
"""A proof by cases looks at every set of dims that may be 0."""


def translate(
    op: Reshape,
    spec: str | Spec,
    *,
    target: Iterable[SupportsIndex] | None = None,
    data: Iterable[GivenDim] | None = None,
    dtype: str | ElementType | None = None,
) -> Reshape:
    """The same Reshape under another specification, or a `TranslateError` that says what cannot be said.

    `target` is the constant second input, if there is one; the result is then bound to its own words for it.  `data`
    are dims as `infer` takes them, `dtype` is any dialect's name of data's type.

    >>> translate(Reshape("onnx-24", allowzero=1), "openvino", target=[0, 4])
    Reshape('openvino', special_zero=False).bind([0, 4])
    >>> translate(Reshape("openvino", special_zero=True), "onednn-static", target=[0, -1], data=[2, 3, 4])
    Reshape('onednn-static', shape=(0, -1), special_zero=True)
    """
    row = find_spec(spec)
    if target is not None:
        op = op.bind(target)
    dims = None if data is None else DataDims.read(data)
    if dtype is not None:
        _check_type(dtype, op.spec, row)
    if op.target is None:
        return _run_time(op, row, dims)
    _refuse_the_impossible(op, dims)
    found = _constant(op, row, dims)
    if found is None:
        raise _refusal(op, row, dims)
    return found


def _check_type(dtype: str | ElementType, source: Spec, row: Spec) -> None:
    element_type = named(dtype) if isinstance(dtype, str) else dtype
    if element_type is None:
        raise ReshapeError("bad-attribute", attribute="dtype", value=repr(dtype), allowed="names of element types")
    for side in (source, row):
        if element_type.named_in(side.dialect) not in side.data_types:
            could = [other.name for other in SPECS if element_type.named_in(other.dialect) in other.data_types]
            raise _untranslatable(f"data of type {element_type.name}", row, f"{side} does not take it", could)


# A target known only at run time: both sides read the same integers, only the flag can differ


def _run_time(op: Reshape, row: Spec, dims: DataDims | None) -> Reshape:
    if row.target_in == "attribute":
        why = "its target is an attribute, so it must be constant: give target="
        raise _untranslatable("a target known only at run time", row, why, [])
    if row.flag is None and not op.zero_copies:
        could = [other.name for other in SPECS if other.flag is not None and other.target_in == "input"]
        raise _untranslatable("a literal 0 at run time", row, "there a 0 always copies", could)
    if op.zero_copies and _rules_differ(op.spec, row) and not _never_empty(dims):
        why = f"only {op.spec if op.spec.empty_copy_beside_inferred else row} takes one whose dim is 0"
        raise _untranslatable("a 0 beside -1 at run time", row, f"{why}: give data= if no dim is", [])
    if row.shape_types == ("s32",) and op.spec.shape_types != ("s32",) and not _small(dims):
        why = "its shape tensor is s32: give data= of less than 2^31 elements, or target="
        raise _untranslatable("a size beyond s32 at run time", row, why, [])
    return Reshape(row, **_flag(row, copies=op.zero_copies))


def _rules_differ(one: Spec, other: Spec) -> bool:
    return one.empty_copy_beside_inferred != other.empty_copy_beside_inferred


def _never_empty(dims: DataDims | None) -> bool:
    return dims is not None and all(low >= 1 for low, _ in dims.ranges())


def _small(dims: DataDims | None) -> bool:
    """Whether every target with an entry beyond s32 is refused anyway."""
    return dims is not None and _never_empty(dims) and prod(high for _, high in dims.ranges()) <= _S32_MAX


# A constant target


def _refuse_the_impossible(op: Reshape, dims: DataDims | None) -> None:
    """A Reshape that is refused whatever comes has nothing to translate; its own error says why."""
    read_target(_words(op), op.spec, zero_copies=op.zero_copies)
    if dims is not None:
        infer(dims.given, _words(op), op.spec, **_flag(op.spec, copies=op.zero_copies))


def _constant(op: Reshape, row: Spec, dims: DataDims | None) -> Reshape | None:
    """The first wording that is proven to mean the same."""
    for words, copies in _wordings(op, dims):
        if row.flag is None and not copies and 0 in words:
            continue
        try:
            candidate = _worded(row, words, copies=copies or row.flag is None)
        except ReshapeError:  # an entry that the shape tensor's type cannot hold
            continue
        if _same(op, candidate, dims):
            return candidate
    return None


def _wordings(op: Reshape, dims: DataDims | None) -> Iterator[tuple[TargetWords, bool]]:
    """Words and whether a 0 in them copies: the same, then what the output says if dims are given."""
    yield _words(op), op.zero_copies
    if dims is None:
        return
    output = dims.infer(op).dims or ()
    literal = [dim if isinstance(dim, int) else None for dim in output]
    copied = [
        0 if not number and axis < len(dims.names) and dim == dims.names[axis] else number
        for axis, (dim, number) in enumerate(zip(output, literal, strict=True))
    ]
    for inferred in (None, *range(len(output))):
        for words, copies in ((literal, False), (copied, True)):
            said = [-1 if axis == inferred else word for axis, word in enumerate(words)]
            known = [word for word in said if word is not None]
            if len(known) == len(said) and (copies or inferred is None or 0 not in known):
                yield tuple(known), copies


def _same(op: Reshape, other: Reshape, dims: DataDims | None) -> bool:
    """Whether two operators are proven to mean the same on all data, or on all data of these dims."""
    one, two = (read_target(_words(each), each.spec, zero_copies=each.zero_copies) for each in (op, other))
    if one.entries == two.entries:
        copied = any(isinstance(entry, Copied) for entry in one.entries)
        if not _rules_differ(op.spec, other.spec) or not copied or one.inferred is None:
            return True
    if dims is None or sum(isinstance(name, str) for name in dims.names) > _MOST_NAMED:
        return False
    return all(_answer(op, case) == _answer(other, case) for case in dims.cases())


def _answer(op: Reshape, dims: DataDims) -> Shape | None:
    """What an operator answers, None where it refuses; for names from 1 on the conditions are exact."""
    try:
        return dims.infer(op)
    except ReshapeError:
        return None


class DataDims(NamedTuple):
    """Dims of data in which every unknown dim has a name, so that answers can be compared."""

    given: tuple[Dim, ...]
    """As `translate` got them, for its messages."""
    names: tuple[int | str, ...]
    bounds: dict[str, Interval]

    @staticmethod
    def read(data: Iterable[GivenDim]) -> DataDims:
        """The dims as `infer` takes them; a dim without a name gets one that none of them has.

        >>> DataDims.read([None, "_0", (1, 8)]).names
        ('__0', '_0', '__2')
        """
        given = read_list(data, "data")
        infer(given, None, DEFAULT)  # refuses what is no dim
        sizes = [read_dim(dim, "data", axis, 0) for axis, dim in enumerate(given)]
        taken = {name for size in sizes if isinstance(size, Product) for name in size.symbols}
        prefix = "_"
        while any(name.startswith(prefix) for name in taken):
            prefix += "_"
        bounds = {f"{prefix}{axis}": size for axis, size in enumerate(sizes) if isinstance(size, Interval)}
        names = [
            f"{prefix}{axis}" if isinstance(size, Interval) else size if isinstance(size, int) else str(size)
            for axis, size in enumerate(sizes)
        ]
        return DataDims(given, tuple(names), bounds)

    def infer(self, op: Reshape) -> Shape:
        """What an operator with a constant target answers."""
        bounds = {name: self.bounds[name] for name in self.names if isinstance(name, str) and name in self.bounds}
        return infer(self.names, _words(op), op.spec, bounds=bounds, **_flag(op.spec, copies=op.zero_copies))

    def ranges(self) -> Iterator[tuple[int, int]]:
        """The smallest and the largest size of each dim."""
        symbols = Symbols()
        symbols.limits.update(self.bounds)
        for name in self.names:
            yield (name, name) if isinstance(name, int) else symbols.range(parse(name))

    def cases(self) -> Iterator[DataDims]:
        """The dims with 0 for some of their names: every data is in one of these, with at least 1 for the others."""
        sizes = [name if isinstance(name, int) else parse(name) for name in self.names]
        symbols = dict.fromkeys(symbol for size in sizes if isinstance(size, Product) for symbol in size.symbols)
        maybe = [symbol for symbol in symbols if symbol not in self.bounds or self.bounds[symbol].low == 0]
        for count in range(len(maybe) + 1):
            for empty in itertools.combinations(maybe, count):
                case = sizes
                for symbol in empty:
                    case = [size.at(symbol, 0) if isinstance(size, Product) else size for size in case]
                yield self._replace(names=tuple(size if isinstance(size, int) else str(size) for size in case))


# Words


def _words(op: Reshape) -> TargetWords:
    return op.target or ()


def _flag(row: Spec, *, copies: bool) -> dict[str, Any]:
    """The attribute that says what a 0 means; left out where it is the default."""
    if row.flag is None or (row.flag.default is not None and (row.flag.default == row.flag.copies) == copies):
        return {}
    return {row.flag.name: row.flag.value(copies=copies)}


def _worded(row: Spec, words: TargetWords, *, copies: bool) -> Reshape:
    flag = _flag(row, copies=copies)
    if row.target_in == "attribute":
        return Reshape(row, shape=words, **flag)
    return Reshape(row, **flag).bind(words)


def _refusal(op: Reshape, row: Spec, dims: DataDims | None) -> TranslateError:
    words = _words(op)
    zero = words.index(0) if 0 in words else None
    if zero is not None and not op.zero_copies and row.flag is None:
        axis, why = zero, "it is a literal 0, and there a 0 always copies"
    elif zero is not None and op.zero_copies and -1 in words and _rules_differ(op.spec, row):
        takes, refuses = (op.spec, row) if op.spec.empty_copy_beside_inferred else (row, op.spec)
        axis, why = zero, f"if the dim it copies is 0, {takes} infers the -1 beside it and {refuses} refuses"
    else:
        axis = max(range(len(words)), key=lambda index: words[index])
        why = f"its shape tensor is {row.shape_types[0]}"
    could = [other.name for other in SPECS if _constant(op, other, dims) is not None]
    return _untranslatable(
        f"target[{axis}] = {words[axis]}", row, why, could, axis=axis, target=words, data=dims and shown(dims.given)
    )


def _untranslatable(what: str, row: Spec, why: str, could: list[str], **shown_: Any) -> TranslateError:
    text = f"; it can be said in {', '.join(could)}" if could else ""
    return TranslateError("untranslatable", spec=row, what=what, to=str(row), why=why, could=text, **shown_)
