"""Target: what a Reshape asks for, in one form for every dialect.

The integers of a dialect and its flag become a tuple of entries, each *fixed* to a size, *copied* from an axis of data,
or *inferred* from the number of elements.  Reading checks what can be said without data; the rest is in `semantics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.ground.integers import exact, is_bool
from onereshape.rule.specs import FLAGS, SPECS, Spec


@dataclass(frozen=True, slots=True)
class Fixed:
    """The output dim is this size."""

    size: int


@dataclass(frozen=True, slots=True)
class Copied:
    """The output dim is data's dim at this axis."""

    axis: int


@dataclass(frozen=True, slots=True)
class Inferred:
    """The output dim is what keeps the number of elements."""


Entry = Fixed | Copied | Inferred


class Target(NamedTuple):
    """A target that every dialect can be read into, with the words it was read from."""

    entries: tuple[Entry, ...]
    words: tuple[int, ...]
    """The integers as the user gave them, for messages."""
    spec: Spec

    @property
    def inferred(self) -> int | None:
        """The index of the inferred entry."""
        return next((axis for axis, entry in enumerate(self.entries) if isinstance(entry, Inferred)), None)


def read_target(words: Iterable[Any], spec: Spec, *, zero_copies: bool, data: tuple[int, ...] | None = None) -> Target:
    """The integers of a target, as a `Target`; `data` is only for the messages.

    >>> from onereshape.rule.specs import spec
    >>> read_target([0, 4, -1], spec("onnx"), zero_copies=True).entries
    (Copied(axis=0), Fixed(size=4), Inferred())
    """
    numbers = read_integers(words, "target")
    try:
        return read_numbers(numbers, spec, zero_copies)
    except ReshapeError as error:
        error.data = data
        raise


@lru_cache(maxsize=1024)
def read_numbers(numbers: tuple[int, ...], spec: Spec, zero_copies: bool) -> Target:
    """`read_target` for integers that were read before."""
    entries: list[Entry] = []
    inferred = zero = None
    for axis, number in enumerate(numbers):
        if 0 < number <= INT64_MAX:
            entries.append(Fixed(number))
        elif number == 0:
            if zero_copies:
                entries.append(Copied(axis))
            else:
                zero = axis
                entries.append(Fixed(0))
        elif number == -1 and inferred is None:
            inferred = axis
            entries.append(Inferred())
        else:
            raise _bad_entry(numbers, axis, inferred, spec)
    if inferred is not None and zero is not None:
        raise ReshapeError("zero-with-inferred", target=numbers, spec=spec, axis=inferred, zero=zero)
    return Target(tuple(entries), numbers, spec)


def _bad_entry(numbers: tuple[int, ...], axis: int, inferred: int | None, spec: Spec) -> ReshapeError:
    number = numbers[axis]
    if number > INT64_MAX:
        what = f"target[{axis}]"
        return ReshapeError("overflow", target=numbers, spec=spec, what=what, value=number, limit=INT64_MAX)
    if number == -1:
        return ReshapeError("two-inferred", target=numbers, spec=spec, axis=axis, first=inferred)
    return ReshapeError("below-minus-one", target=numbers, spec=spec, axis=axis, value=number)


def read_integers(values: Iterable[Any], what: str) -> tuple[int, ...]:
    """Exact Python integers out of a list, a tuple or a 1-D array of them; nothing is rounded or parsed."""
    if type(values) is list:
        values = tuple(values)
    elif type(values) is not tuple:
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise ReshapeError("not-a-list", what=what, value=repr(values))
        try:
            values = tuple(values)
        except TypeError:  # a 0-d array says that it can be iterated, and then refuses
            raise ReshapeError("not-a-list", what=what, value=repr(values)) from None
    for entry in values:
        if type(entry) is not int:
            return tuple(_read_integer(entry, what, axis) for axis, entry in enumerate(values))
    return values


def _read_integer(entry: Any, what: str, axis: int) -> int:
    number = exact(entry)
    if number is None:
        raise ReshapeError("not-an-integer", what=what, axis=axis, value=repr(entry))
    return number


def read_flag(spec: Spec, attributes: Mapping[str, Any]) -> bool:
    """Whether a 0 copies, from the attributes as the user gave them; refuses every other attribute."""
    flag = spec.flag
    if attributes:
        _check_names(spec, attributes)
    if flag is None:
        return True
    if flag.name not in attributes:
        if flag.default is None:
            raise ReshapeError("missing-attribute", spec=spec, attribute=flag.name)
        return flag.default == flag.copies
    value = attributes[flag.name]
    number = int(value) if is_bool(value) else exact(value)
    if number not in {0, 1}:
        raise ReshapeError("bad-attribute", attribute=flag.name, value=repr(value), allowed=" or ".join(flag.values))
    return (number == 1) == flag.copies


def _check_names(spec: Spec, attributes: Mapping[str, Any]) -> None:
    for name in attributes:
        if name == "shape" and spec.target_in == "attribute":
            raise ReshapeError("target-twice")
        if (spec.flag is None or name != spec.flag.name) and name not in spec.ignored_attributes:
            raise ReshapeError("unknown-attribute", spec=spec, attribute=name, hint=_hint(spec, name))


def _hint(spec: Spec, name: str) -> str:
    if name in FLAGS:
        flagged = (row for row in SPECS if row.dialect == spec.dialect and row.flag is FLAGS[name])
        if (since := next(flagged, None)) is not None:
            return f" (since {since})"
    if name in FLAGS and spec.flag is not None:
        return f"; what a 0 means is said by {spec.flag.name!r}, with the opposite value"
    if name == "shape" and spec.target_in == "input":
        return "; its target is an input"
    return ""
