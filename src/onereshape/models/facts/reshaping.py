"""The rule of Reshape in a model: its dims in the notation of `infer`, and the way back.

Every factor of a dim (a name, or whatever else is there: `past + 1`, `floor(N/2)`) gets a name of ours.  A quotient of
ours is exact where its condition says so, and 4*(N/4) is N again.  Where N and N/4 meet, the factor is N/4, and N is 4
of it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.condition import Condition, Written
from onereshape.dims import Dim, is_ours, parse
from onereshape.errors import ReshapeError
from onereshape.inference import infer
from onereshape.models.facts.asking import Asking, Dims, Shapes
from onereshape.models.facts.reshape_claims import sure_axes
from onereshape.sizes import Atom, Formula, Size, bounds, is_size, over, product, symbol
from onereshape.specs import NEWEST_OPSET, Spec, spec as find_spec
from onereshape.target import read_integers

_MOST_UNKNOWN_DIMS = 1024
"""The longest target of unknown values that still gives a rank; onnx's own inference stops there too."""
_PLACE = re.compile(r"_\.\d+")


class Answer(NamedTuple):
    """The output dims, None for each that is not known or for an unknown rank, and the conditions."""

    dims: tuple[Size | None, ...] | None
    conditions: tuple[Condition, ...] = ()


def shape_reshape(asking: Asking) -> Shapes:
    """The dims of a Reshape's output; what must hold for them, or why there are none, is noted."""
    walk, node = asking.scope.walk, asking.node
    row = _row(asking.opset)
    data = asking.known(0)
    try:
        flag, words = _read(asking, row)
        unknown = data is not None and any(
            isinstance(size, Formula) and not size.symbols.isdisjoint(walk.unnamed) for size in data
        )
        answer = _answer(data, words, row, flag, unknown=unknown)
    except ReshapeError as error:
        walk.errors[node] = error
        return [None]
    walk.require(node, *answer.conditions)
    if answer.dims is None:
        return [None]
    # A word that may be -1 asks for something else there; without such, all are parts of data, and so none is below 0.
    doubtful = any(isinstance(word, Formula) and not is_size(word) for word in words or ())
    dims = tuple(map(asking.size if doubtful else asking.told, answer.dims))
    if data is None or words is None or all(isinstance(word, int | None) for word in words):
        return [dims]  # numbers mean the same at all sizes
    tried = tuple(symbol(f"?{place}") if word is None else word for place, word in enumerate(words))
    sure = sure_axes(data, tried, dims, copies=not flag)
    return [tuple(size if axis in sure else asking.new() for axis, size in enumerate(dims))]


@lru_cache(maxsize=64)
def _row(opset: int) -> Spec:
    return find_spec(f"onnx-{min(opset, NEWEST_OPSET)}")


def _read(asking: Asking, row: Spec) -> tuple[int | None, tuple[Size | None, ...] | None]:
    """The flag `allowzero`, and the entries of the target as far as they are known, None for an unknown length."""
    flag = asking.attribute("allowzero")
    if row.target_in == "attribute":
        words = asking.attribute("shape")
        if words is None:
            raise ReshapeError("target-missing", spec=row, place="the attribute 'shape'")
        return flag, tuple(read_integers(words, "target"))
    value = asking.value(1)
    dims = asking.known(1)
    if dims is not None and len(dims) != 1:
        raise ReshapeError("shape-rank", spec=row, rank=len(dims))
    kind = _constant_kind(value)
    if kind is not None and kind not in row.shape_types:
        raise ReshapeError("shape-type", spec=row, type=kind, types=" ".join(row.shape_types))
    known = asking.elements(1)
    if known is None and dims is not None and isinstance(dims[0], int) and dims[0] <= _MOST_UNKNOWN_DIMS:
        known = [None] * dims[0]
    return flag, None if known is None else tuple(known)


def _constant_kind(value: ir.Value) -> str | None:
    if value.const_value is not None:
        return value.const_value.dtype.name.lower()
    maker = value.producer()
    if maker is None or maker.op_type != "Constant":
        return None
    tensor = maker.attributes.get("value")
    if tensor is None or tensor.is_ref() or not isinstance(tensor.value, ir.TensorProtocol):
        return None
    return tensor.value.dtype.name.lower()


@lru_cache(maxsize=8192)
def _answer(
    data: Dims | None, words: tuple[Size | None, ...] | None, row: Spec, flag: int | None, *, unknown: bool
) -> Answer:
    """Remembered, because the layers of a model ask the same question again and again."""
    attributes = {} if flag is None else {"allowzero": flag}
    bridge = _Bridge(data or (), words or ())
    conditions: list[Condition] = []
    given = None if data is None else [bridge.write(size) for size in data]
    asked = None if words is None else [bridge.write_entry(word, conditions) for word in words]
    used = {name for dim in (*(given or ()), *(asked or ())) if isinstance(dim, str) for name in parse(dim).symbols}
    try:
        if not unknown or 0 not in (asked or ()):  # refuses what needs an empty tensor; an unknown one may be empty
            infer(given, asked, row, bounds=bridge.limits(used, least=1), **attributes)
        answer = infer(given, asked, row, bounds=bridge.limits(used, least=0), **attributes)
    except ReshapeError as error:
        error.data, error.target, error.fields = map(bridge.plain, (error.data, error.target, error.fields))
        raise
    dims = None if answer.dims is None else tuple(bridge.read(dim) for dim in answer.dims)
    return Answer(dims, (*conditions, *bridge.plain(answer.conditions)))


class _Bridge:
    """The dims of one Reshape in our notation, and the way back."""

    def __init__(self, data: Iterable[Size], target: Iterable[Size | None]) -> None:
        self._factors: list[Formula] = []
        self._places: dict[Formula, int] = {}
        self._divisors: dict[Size, int] = {}
        for size in (*data, *target):
            if isinstance(size, Formula):
                content, factors = _parts(size)
                if len(factors) == 1:
                    self._divisors[factors[0]] = lcm(self._divisors.get(factors[0], 1), content.denominator)

    def write(self, size: Size) -> Dim:
        """A dim as an integer times named factors; what is no such product is one factor."""
        if isinstance(size, int):
            return size
        number, factors = _parts(size)
        names: list[str] = []
        for factor in factors:
            divisor = self._divisors.get(factor, 1)
            number *= divisor
            names.append(self._name(_part(factor, divisor)))
        if number.denominator != 1:
            return self._name(size)
        return "*".join(names if number == 1 else (str(number), *names))

    def write_entry(self, word: Size | None, conditions: list[Condition]) -> Dim:
        """An entry of the target: a size."""
        if word is None:
            return None
        if isinstance(word, Formula) and not is_size(word):
            conditions.append(Condition("least", Written(1, (str(word),)), 0))
        return self.write(word)

    def read(self, dim: Dim) -> Size | None:
        """A dim of an answer; an interval is only an unknown dim to the model."""
        if isinstance(dim, int):
            return dim
        if not isinstance(dim, str):
            return None
        top, _, bottom = dim.partition("/")
        return over(self._size(top), self._size(bottom.strip("()") or "1"))

    def limits(self, used: set[str], *, least: int) -> dict[str, tuple[int, None]]:
        """Of the names in use, those whose factors are at least 1 if all symbols are at least `least`."""
        positive = set()
        for place, factor in enumerate(self._factors):
            lowest = bounds(factor, least)[0]
            if lowest is not None and lowest > 0:
                positive.add(f"_.{place}")
        return dict.fromkeys(sorted(positive & used), (1, None))

    def plain(self, said: Any) -> Any:
        """What `infer` said, in the model's names."""
        if isinstance(said, dict):
            return {key: self.plain(value) for key, value in said.items()}
        if isinstance(said, tuple):
            return tuple(self.plain(value) for value in said)
        if isinstance(said, Condition):
            return said.renamed(lambda name: name if is_ours(name) else self._called(name))
        if not isinstance(said, str):
            return said
        if _PLACE.fullmatch(said):
            return str(self._factor(said))
        return _PLACE.sub(lambda name: self._called(name[0]), said)

    def _called(self, name: str) -> str:
        """A factor as it stands in a formula."""
        factor = self._factor(name)
        called = factor.name
        if called is not None:
            return called if called.isidentifier() else f"({called})"
        plain = len(factor.terms) == 1 and factor.terms[0][1] == 1 and len(factor.terms[0][0]) == 1
        return str(factor) if plain else f"({factor})"

    def _factor(self, name: str) -> Formula:
        return self._factors[int(name[2:])]

    def _name(self, factor: Formula) -> str:
        if factor not in self._places:
            self._places[factor] = len(self._factors)
            self._factors.append(factor)
        return f"_.{self._places[factor]}"

    def _size(self, text: str) -> Size:
        number, names = parse(text)
        return product([number, *(self._factor(name) for name in names)])


def _parts(formula: Formula) -> tuple[Fraction, list[Formula]]:
    """A formula as a number times factors: atoms, and a sum without a common factor."""
    top, bottom = 0, 1
    common = Counter(formula.terms[0][0])
    for monomial, coefficient in formula.terms:
        top = gcd(top, coefficient.numerator)
        bottom = lcm(bottom, coefficient.denominator)
        common &= Counter(monomial)
    factors = [_formula(atom) for atom in common.elements()]
    rest = over(formula * bottom, top)
    for factor in factors:
        rest = over(rest, factor)
    return Fraction(top, bottom), [*factors, rest] if isinstance(rest, Formula) else factors


def _part(factor: Formula, divisor: int) -> Formula:
    """A factor divided by a number, which leaves a formula."""
    return (
        Formula(tuple((monomial, Fraction(coefficient, divisor)) for monomial, coefficient in factor.terms))
        if divisor > 1
        else factor
    )


def _formula(atom: Atom) -> Formula:
    return Formula((((atom,), 1),))
