"""The rule of Reshape in a model: its dims in the notation of `infer`, and the way back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.facts.reshape_claims import sure_axes
from onereshape.ground.errors import ReshapeError
from onereshape.rule.condition import Condition, Written
from onereshape.rule.dims import Dim
from onereshape.rule.factors import MOST_UNKNOWN_DIMS, Factors, product_of
from onereshape.rule.sizes import Atom, Formula, Size, bounds, is_size, over, product, symbol
from onereshape.rule.specs import NEWEST_OPSET, Spec, spec as find_spec
from onereshape.rule.target import read_integers


class ReshapeAnswer(NamedTuple):
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
        unknown = bool(walk.unnamed) and any(
            isinstance(size, Formula) and not size.symbols.isdisjoint(walk.unnamed) for size in data or ()
        )
        answer = _answer(data, words, row, flag, unknown=unknown)
    except ReshapeError as error:
        walk.errors[node] = error
        return [None]
    walk.require(node, *answer.conditions)
    if answer.dims is None:
        return [None]
    formulas = [word for word in words or () if isinstance(word, Formula)]
    # A word that may be -1 asks for something else there; without such, all are parts of data, and so none is below 0.
    doubtful = bool(formulas) and not all(map(is_size, formulas))
    dims = tuple(map(asking.size if doubtful else asking.told, answer.dims))
    if data is None or words is None or not formulas:
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
    kind = _constant_kind(asking, value)
    if kind is not None and kind not in row.shape_types:
        raise ReshapeError("shape-type", spec=row, type=kind, types=" ".join(row.shape_types))
    known = asking.elements(1)
    if known is None and dims is not None and isinstance(dims[0], int) and dims[0] <= MOST_UNKNOWN_DIMS:
        known = [None] * dims[0]
    return flag, None if known is None else tuple(known)


def _constant_kind(asking: Asking, value: ir.Value) -> str | None:
    if value.const_value is not None and (kind := asking.scope.kind_of(value)) is not None:
        return kind.name.lower()
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
) -> ReshapeAnswer:
    """Remembered, because the layers of a model ask the same question again and again."""
    attributes = {} if flag is None else {"allowzero": flag}
    bridge = _Bridge(data or (), words or ())
    conditions: list[Condition] = []
    given = None if data is None else [bridge.write(size) for size in data]
    asked = None if words is None else [bridge.write_entry(word, conditions) for word in words]
    found, said = bridge.factors.infer(given, asked, row, unknown=unknown, **attributes)
    dims = None if found is None else tuple(map(bridge.read, found))
    return ReshapeAnswer(dims, (*conditions, *said))


class _Bridge:
    """The dims of one Reshape in our notation, and the way back."""

    def __init__(self, data: Iterable[Size], target: Iterable[Size | None]) -> None:
        self.factors = Factors[Formula](str, _called, _is_positive)
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
            names.append(self.factors.name(_part(factor, divisor)))
        if number.denominator != 1:
            return self.factors.name(size)
        return product_of(int(number), names)

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
        top, bottom = self.factors.quotient(dim)
        return over(product(top), product(bottom))


def _is_positive(factor: Formula, least: int) -> bool:
    lowest = bounds(factor, least)[0]
    return lowest is not None and lowest > 0


def _called(factor: Formula) -> str:
    """A factor as it stands in a formula."""
    if (name := factor.name) is not None:
        return name if name.isidentifier() else f"({name})"
    plain = len(factor.terms) == 1 and factor.terms[0][1] == 1 and len(factor.terms[0][0]) == 1
    return str(factor) if plain else f"({factor})"


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
