"""Balance: data and output have the same number of elements, with symbols in place of numbers.

Every dialect keeps this one equation, and all of inference follows from it:

- No dim of the output is open: the equation becomes a condition, is settled by one value of its one symbol, or has no
  solution.
- One is open (a -1, or an entry known only at run time): it is the exact quotient, with divisibility as a condition.
- Several are open: each is narrowed to what the others leave of the number of elements.

A symbol that is 0 changes most rules.  Here every symbol is at least 1 wherever its being 0 would change the answer,
and "N >= 1" is then a condition; `inference` tries 0 where that has no solution.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from onereshape.ground.errors import INT64_MAX, ReshapeError
from onereshape.rule.condition import Condition, OneOf
from onereshape.rule.dims import (
    ANY_SIZE,
    ONE,
    UNBOUNDED,
    Dim,
    Product,
    Quotient,
    Size,
    Symbols,
    divide,
    interval,
    multiply,
)
from onereshape.rule.inferring.conditions import Conditions, Never
from onereshape.rule.inferring.narrowing import AxisLimits, divisors, leave
from onereshape.rule.shape import Shape
from onereshape.rule.specs import Spec

FITS = Condition("fits")
"""The condition on a target whose unknown entries could take several values."""

_new = tuple.__new__

WORTH_A_CONDITION = 2**31
"""Sizes that only int64 forbids are a condition below this limit, and understood above it."""


class Open(NamedTuple):
    """An entry of the target known only at run time: -1, 0 or a size within limits, each if it is possible."""

    minus_one: bool
    zero: bool
    low: int
    high: int


EntrySize = Size | Open


class Question(NamedTuple):
    """A Reshape with dims or entries missing; its integers are no mistakes by themselves."""

    spec: Spec
    copies: bool
    """Whether a 0 copies."""
    dims: tuple[Size, ...] | None
    """None for an unknown rank."""
    words: tuple[EntrySize, ...]

    def at(self, name: str, value: int) -> Question:
        """The question with a value for a symbol."""
        dims = self.dims
        if dims is not None:
            dims = tuple(dim.at(name, value) if isinstance(dim, Product) else dim for dim in dims)
        words = tuple(word.at(name, value) if isinstance(word, Product) else word for word in self.words)
        return Question(self.spec, self.copies, dims, words)


class Balance:
    """A question while it is answered: its equation of volumes, and the limits of its symbols."""

    __slots__ = ("conditions", "copied", "copies", "dims", "inferred", "open", "outputs", "spec", "words")

    def __init__(self, question: Question, symbols: Symbols) -> None:
        self.spec, self.copies, self.dims, self.words = question
        self.conditions = Conditions(symbols, has_dims=self.dims is not None)
        self.inferred = self.words.index(-1) if -1 in self.words else None
        self.open: dict[int, Open] = {}
        self.copied: set[int] = set()
        self.outputs: list[Size | None] = []
        """Each output dim, None if it is open."""

    def answer(self) -> Shape:
        """The shape with its conditions, or `Never`, or `Settled`."""
        free, asked, outputs = [], 1, self.outputs
        names: tuple[str, ...] = ()
        for axis, word in enumerate(self.words):
            if type(word) is int and (word > 0 or (word == 0 and not self.copies)):
                outputs.append(word)
                asked *= word
                continue
            output = self._output(axis, word)
            outputs.append(output)
            if output is None:
                free.append(axis)
            elif type(output) is int:
                asked *= output
            else:
                asked *= output[0]  # type: ignore[index]
                names += output[1]  # type: ignore[index]
        volume = self._volume()
        if len(names) > 1:
            names = tuple(sorted(names))
        fixed = _new(Product, (asked, names if asked else ()))
        if not free:
            self._balance(volume, fixed)
            return self._shape({})
        if len(free) > 1:
            return self._narrow(volume, fixed, free)
        if free[0] == self.inferred:
            return self._infer(volume, fixed, free[0])
        return self._complete(volume, fixed, free[0])

    # Each entry of the target

    def _output(self, axis: int, word: EntrySize) -> Size | None:
        if word == -1:
            return None
        if word == 0:
            return self._copy(axis)
        if isinstance(word, Product):
            return self._symbolic(axis, word)
        return self._run_time(axis, word)  # type: ignore[arg-type]

    def _copy(self, axis: int) -> Size:
        self.copied.add(axis)
        if self.dims is not None:
            if axis >= len(self.dims):
                raise ReshapeError("copy-beyond-rank", axis=axis, rank=len(self.dims))
            return self.dims[axis]
        self.conditions.require(Condition("rank", axis + 1))
        return self._unknown(f"data[{axis}]")

    def _symbolic(self, axis: int, word: Product) -> Product:
        """An entry that is a symbol: where a 0 copies, its being 0 may change the answer."""
        here = self._dim(axis)
        if word == here:
            self.copied.add(axis)  # at 0 it copies a 0: the same at every size
        elif self.copies:
            same = isinstance(here, Product) and set(word[1]) <= set(here[1])  # at 0 it copies a 0 here too
            if not same:
                self.conditions.positive(word)
        return word

    def _run_time(self, axis: int, word: Open) -> int | None:
        literal = not self.copies and 0 in self.words
        minus_one = word.minus_one and self.inferred is None and not literal
        zero = word.zero and ((self.dims is None or axis < len(self.dims)) if self.copies else self.inferred is None)
        if not minus_one and not zero and word.low >= word.high:
            if word.low > word.high:
                raise Never(f"target[{axis}] can be neither -1 nor 0 here")
            self.conditions.require(_entry(axis, word.low))
            return word.low
        self.open[axis] = Open(minus_one, zero, word.low, word.high)
        return None

    def _dim(self, axis: int) -> Size | None:
        return self.dims[axis] if self.dims is not None and axis < len(self.dims) else None

    # The number of elements of data

    def _volume(self) -> Product:
        """Of an unknown rank, the copied dims times the rest."""
        if self.dims is None:
            return multiply([*(Product(1, (f"data[{axis}]",)) for axis in self.copied), self._rest()])
        volume = multiply(self.dims)
        coefficient, names = volume
        if coefficient > INT64_MAX or (
            self.conditions.given.limits and self.conditions.symbols.range(volume)[0] > INT64_MAX
        ):
            raise Never(f"{volume} elements are more than int64 can count")
        if coefficient and names and INT64_MAX // coefficient < WORTH_A_CONDITION:
            self.conditions.at_most(Product(1, names), INT64_MAX // coefficient)
        return volume

    def _rest(self) -> Product:
        """The product of the dims of data that are not copied."""
        if self.dims is not None:
            return multiply(dim for axis, dim in enumerate(self.dims) if axis not in self.copied)
        name = "size(data)" + "".join(f"/data[{axis}]" for axis in sorted(self.copied))
        return self._unknown(name)

    def _unknown(self, name: str) -> Product:
        self.conditions.limit(name, *self.conditions.symbols.of(name))
        self.conditions.symbols.unnamed.add(name)
        return Product(1, (name,))

    # The three cases

    def _balance(self, volume: Product, fixed: Product) -> None:
        """No output dim is open: the numbers of elements must agree."""
        if not volume[0]:
            self.conditions.vanish(fixed)
        elif not fixed[0]:
            self.conditions.vanish(volume)
        else:
            left, right = divide(volume, fixed)
            if left != right:
                self.conditions.equal(left, right, f"{volume} elements cannot be {fixed}")

    def _infer(self, volume: Product, fixed: Product, axis: int) -> Shape:
        """A -1 alone: the exact quotient."""
        volume, fixed = self._division(volume, fixed)
        if not fixed[0]:
            zero = next(index for index in sorted(self.copied) if self.outputs[index] == 0)
            raise ReshapeError("empty-copy-with-inferred", axis=axis, zero=zero)
        self.conditions.positive(fixed)
        return self._quotient(volume, fixed, axis)

    def _division(self, volume: Product, fixed: Product) -> tuple[Product, Product]:
        """What is divided by what for a -1; where an empty copied dim may stand beside it, without the copied dims."""
        if not self.spec.empty_copy_beside_inferred or not self.copies:
            return volume, fixed
        asked = (out for axis, out in enumerate(self.outputs) if out is not None and axis not in self.copied)
        return self._rest(), multiply(asked)

    def _complete(self, volume: Product, fixed: Product, axis: int) -> Shape:
        """One entry known only at run time, and no -1: whatever it is, it completes the number of elements."""
        if not fixed[0]:  # nothing to complete: any size of it will do
            self.conditions.vanish(volume)
            self.conditions.require(FITS)
            return self._shape({axis: interval(*self._sizes(axis, volume))})
        self.conditions.positive(fixed)
        return self._quotient(volume, fixed, axis)

    def _narrow(self, volume: Product, fixed: Product, free: list[int]) -> Shape:
        """Several output dims are open: each is what the others leave of the number of elements."""
        strict = False
        if self.inferred is not None and not self._may_copy_empty():  # no 0 beside the -1
            strict = True
            volume, fixed = self._division(volume, fixed)
            self.conditions.positive(fixed)
        most = self.conditions.symbols.range(volume)[1]
        sizes = {axis: self._sizes(axis, volume, most) for axis in free}
        if strict:
            sizes = {axis: at if axis == self.inferred else (max(at[0], 1), at[1]) for axis, at in sizes.items()}
        sizes = self._left(volume, fixed, sizes)
        for axis, (smallest, largest) in sizes.items():
            if smallest > largest:
                raise Never(f"target[{axis}] has no size left")
        self.conditions.require(FITS)
        return self._shape({axis: interval(*at) for axis, at in sizes.items()})

    def _may_copy_empty(self) -> bool:
        """Whether an entry known only at run time may copy an empty dim beside a -1."""
        takes = self.spec.empty_copy_beside_inferred and self.copies
        return takes and any(options.zero for options in self.open.values())

    def _left(self, volume: Product, fixed: Product, sizes: AxisLimits) -> AxisLimits:
        """The sizes of open dims after a look at the number of elements."""
        least, most = self.conditions.symbols.range(volume)
        low, high = self.conditions.symbols.range(fixed)
        if least > 0:  # then nothing is 0
            if not fixed[0]:
                raise Never(f"{volume} elements, and the target asks for none")
            known, divisor = divide(volume, fixed)
            if known[1] or divisor[1]:
                return leave(least, most, (max(low, 1), high), sizes)
            if divisor[0] > 1:
                raise Never(f"{volume} elements do not divide by {fixed}")
            return divisors(known[0], sizes)
        if self.inferred is not None and most < UNBOUNDED:
            others = low * prod(at[0] for axis, at in sizes.items() if axis != self.inferred)
            if others:  # only the -1 can be 0
                at = sizes[self.inferred]
                return sizes | {self.inferred: (at[0], min(at[1], most // others))}
        return sizes

    def _sizes(self, axis: int, volume: Product, most: int | None = None) -> tuple[int, int]:
        """The sizes that an open output dim may take, by what its entry may be; `most` elements are in the volume."""
        options = self.open.get(axis)
        if options is None:
            return ANY_SIZE
        ranges = [(options.low, options.high)] if options.low <= options.high else []
        if options.minus_one:
            empty = self.spec.empty_copy_beside_inferred and self.copies
            most = self.conditions.symbols.range(volume)[1] if most is None else most
            ranges.append(ANY_SIZE if empty else (0, most))
        if options.zero:
            ranges.append(self._copied_sizes(axis, volume) if self.copies else (0, 0))
        return min(low for low, _ in ranges), max(high for _, high in ranges)

    def _copied_sizes(self, axis: int, volume: Product) -> tuple[int, int]:
        """The sizes of a dim of data that an open entry may copy."""
        here = self._dim(axis)
        if here is None:
            return ANY_SIZE
        if len(self.open) == 1 and self.inferred is None and here != 0:
            others = [output for output in self.outputs if output is not None]
            left, right = divide(volume, multiply([here, *others])) if 0 not in others else (ONE, ONE)
            if not self.conditions.may_equal(left, right):  # only an empty dim could be copied
                return (0, 0)
        return self.conditions.symbols.range(_product(here))

    # The one open dim as a quotient

    def _quotient(self, volume: Product, fixed: Product, axis: int) -> Shape:
        quotient = divide(volume, fixed)
        top, bottom = quotient
        if bottom[1]:
            self.conditions.require(Condition("divisible", top, bottom))
        elif bottom[0] > 1:
            self.conditions.divisible(top, bottom[0])
        options = self.open.get(axis) if self.open else None
        if options is None and not bottom[1]:
            if not top[1]:
                return self._shape({axis: top[0]})
            if not self.conditions.given.limits and not self.conditions.symbols.unnamed:  # only names, of any size
                return self._shape({axis: str(quotient)})
        low, high = self._quotient_sizes(quotient)
        if options is not None:
            self._possible(quotient, low, high, axis, options)
            least, most = self._sizes(axis, volume)
            low, high = self._quotient_sizes(quotient)
            low, high = max(low, least), min(high, most)
            if low > high:
                raise Never(f"target[{axis}] is out of reach")
        return self._shape({axis: self.conditions.symbols.quotient_dim(quotient, low, high)})

    def _quotient_sizes(self, quotient: Quotient) -> tuple[int, int]:
        (factor, names), bottom = quotient
        least, most = self.conditions.symbols.range(Product(1, names))
        if not bottom[1]:  # the names are a multiple of the divisor
            steps = -(-least // bottom[0]), most if most >= UNBOUNDED else most // bottom[0]
            return factor * steps[0], min(factor * steps[1], UNBOUNDED)
        low, high = self.conditions.symbols.range(bottom)
        most = min(most * factor, UNBOUNDED)
        smallest = -(-least * factor // high) if high < UNBOUNDED else min(least * factor, 1)
        return smallest, most if most >= UNBOUNDED else most // max(low, 1)

    def _possible(self, quotient: Quotient, low: int, high: int, axis: int, options: Open) -> None:
        """Asks that an entry known only at run time can mean the quotient."""
        here = self._dim(axis)
        copies = options.zero and self.copies
        if low == high:
            values = [low] if options.low <= low <= options.high else []
            values += [-1] if options.minus_one else []
            if options.zero and (here == low if copies else low == 0):
                values.append(0)
            if not values and not (copies and not isinstance(here, int)):
                raise Never(f"target[{axis}] would have to be {low}")
            known = values and here is not None
            self.conditions.require(_entry(axis, *values) if known else FITS)
            return
        self.conditions.require(FITS)
        if options.minus_one or copies:
            return
        least = 0 if options.zero else options.low
        top, bottom = quotient
        if bottom == ONE and len(top[1]) == 1:
            self.conditions.within(top[0], top[1][0], least, options.high)

    def _shape(self, found: dict[int, Dim]) -> Shape:
        """The Shape of the output: an open axis has the dim `found` for it, any other axis the size it always had."""
        dim = self.conditions.symbols.dim
        outputs = self.outputs
        for axis, size in enumerate(outputs):
            if type(size) is not int:
                outputs[axis] = found[axis] if size is None else dim(size)  # type: ignore[assignment]
        return Shape(outputs, self.conditions.said)  # type: ignore[arg-type]


def _entry(axis: int, *values: int) -> Condition:
    """An entry known only at run time has one of these values."""
    return Condition("among", Product(1, (f"target[{axis}]",)), OneOf(values))


def _product(size: Size) -> Product:
    return Product(size) if isinstance(size, int) else size
