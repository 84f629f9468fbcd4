"""Facts: what is known of every value of a model, by one walk over it.

The model stays as it was, and what it declares inside is ignored: only its inputs and its constants count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.graphs.facts.elements import INTEGERS, ElementArray
from onereshape.graphs.facts.order import inner_graphs
from onereshape.graphs.facts.scope import Dims, Parts, Scope
from onereshape.graphs.facts.walk import Walk
from onereshape.ground.bodies import Body
from onereshape.ground.errors import ReshapeError
from onereshape.rule.condition import Condition
from onereshape.rule.dims import Dim, as_name, parse
from onereshape.rule.sizes import Formula, Size


class GivenUp(NamedTuple):
    """A place at which something stays unknown, and why."""

    at: ir.Node | ir.Value
    """A node, or an input of the model."""
    why: str


class Facts:
    """What one walk found, by the values and nodes of the model."""

    def __init__(
        self, walk: Walk | None, scope: Scope | None, declared: Iterable[str], given_up: list[GivenUp]
    ) -> None:
        self.sizes: Mapping[ir.Value, Dims] = {} if scope is None else scope.dims
        """The dims of a value; one whose rank is not known is not there."""
        self.parts: Mapping[ir.Value, Parts] = {} if scope is None else scope.parts
        """The tensors in sequences of which the number is known."""
        self.kinds: Mapping[ir.Value, ir.DataType] = {} if scope is None else scope.kinds
        """The element types, as far as they are known."""
        self.conditions: Mapping[ir.Node, tuple[Condition, ...]] = {} if walk is None else walk.conditions
        """What must hold for what is said of a node, and of all that follows from it, to be so."""
        self.errors: Mapping[ir.Node, ReshapeError] = {} if walk is None else walk.errors
        """The Reshapes that no input can satisfy."""
        self.unread: Mapping[ir.Node, str] = {} if walk is None else walk.unread
        """The nodes whose outputs are not known, though all that they read is, and why."""
        self.unnamed: frozenset[str] = frozenset() if walk is None else frozenset(walk.unnamed)
        """The names in sizes that stand for something unknown, each for one and the same thing wherever it is."""
        self.given_up = tuple(given_up)
        """What was not followed, since it is too large."""
        self._walk, self._scope = walk, scope
        self._declared = frozenset(declared)
        self._texts = _Texts(self._declared)
        self._bodies: dict[ir.Function, Scope] = {}

    @property
    def fixed(self) -> bool:
        """Whether nobody can give an initializer another value, though it is an input too."""
        return self._walk is not None and self._walk.fixed

    def entries(self, value: ir.Value) -> tuple[Dim, ...] | None:
        """The elements of an integer tensor in the notation of `infer`, None for one that is not known."""
        found = self.held(value)
        return None if found is None else tuple(map(self._texts.dim, found.reshape(-1).tolist()))

    def held(self, value: ir.Value) -> ElementArray | None:
        """What a value holds: constants, and what is computed from them and from dims; None where that is not known."""
        return None if self._scope is None else self._scope.held(value)

    def dims_of(self, value: ir.Value) -> Dims | None:
        """The dims of a value, None for an unknown rank."""
        return None if self._scope is None else self._scope.dims_of(value)

    def unknown(self, value: ir.Value) -> str:
        """Why the rank of a value is not known: the first node on the way to it that could not be read."""
        seen: set[ir.Value] = set()
        first = value
        while first not in seen:
            seen.add(first)
            maker = first.producer()
            given = () if maker is None else (each for each in maker.inputs if each is not None)
            first = next((each for each in given if self.dims_of(each) is None), first)
        maker = first.producer()
        said = f"the rank of {value.name} is not known"
        if maker is None:
            return f"{said}, as {first.name} declares none"
        why = {maker: self.errors[maker].sentence} if maker in self.errors else self.unread
        label = maker.name or f"{maker.op_type} of {maker.outputs[0].name}"
        return f"{said}, which begins at {label} ({maker.op_type}): {why.get(maker, 'only its run tells')}"

    def in_words(self, text: str) -> str:
        """A text about sizes, where what stands for a size without a name is the first place that has it: `x[1]`."""
        if not self.unnamed or self._walk is None or self._walk.prefix not in text:
            return text
        places: dict[str, str] = {}
        for value, dims in self.sizes.items():
            for axis, size in enumerate(dims):
                if isinstance(size, Formula) and size.name in self.unnamed:
                    places.setdefault(size.name, f"{value.name}[{axis}]")
        known = "|".join(map(re.escape, self.unnamed))
        return re.sub(rf"(?<!\w)({known})(?!\w)", lambda found: places.get(found[1], "?"), text)

    def within(self, function: ir.Function) -> Scope | None:
        """What holds in the body of a function whoever calls it."""
        if self._walk is None:
            return None
        if function not in self._bodies:
            self._bodies[function] = self._walk.alone(function)
        return self._bodies[function]

    def composed(self, node: ir.Node) -> tuple[Body, Facts] | None:
        """The body of a node whose operator has no record and is a function of others, and what is known inside."""
        found = None if self._walk is None else self._walk.bodies.get(node)
        return None if found is None else (found[0], Facts(self._walk, found[1], self._declared, []))

    def of_copy(self, copy: ir.Model) -> Facts:
        """The facts of a copy of the model: what is known, moved to the values and nodes of the copy."""
        if self._walk is None or self._scope is None:
            return self
        values, nodes = _pairs(self._walk.model, copy)
        walk, scope = Walk(copy, self._walk.prefix), Scope(self._walk, self._scope.imports)
        walk.unnamed = self._walk.unnamed
        walk.conditions = {nodes[node]: said for node, said in self._walk.conditions.items()}
        walk.errors = {nodes[node]: error for node, error in self._walk.errors.items()}
        walk.bodies = {nodes[node]: found for node, found in self._walk.bodies.items() if node in nodes}
        walk.unread = {nodes[node]: why for node, why in self._walk.unread.items() if node in nodes}
        scope.walk = walk
        scope.dims = {values[value]: dims for value, dims in self._scope.dims.items() if value in values}
        scope.parts = {values[value]: parts for value, parts in self._scope.parts.items() if value in values}
        scope.kinds = {values[value]: kind for value, kind in self._scope.kinds.items() if value in values}
        scope.elements = {values[value]: held for value, held in self._scope.elements.items() if value in values}
        scope.constants = {values[value]: each for value, each in self._scope.constants.items() if value in values}
        given_up = [GivenUp(nodes[at] if isinstance(at, ir.Node) else values[at], why) for at, why in self.given_up]
        return Facts(walk, scope, self._declared, given_up)

    @property
    def dims(self) -> Mapping[ir.Value, tuple[Dim, ...]]:
        """The dims in the notation of `infer`."""
        return _WrittenSizes(self.sizes, lambda value: self.sizes[value], self._texts.dim)

    @property
    def values(self) -> Mapping[ir.Value, tuple[Dim, ...]]:
        """The elements of integer tensors with one dim or none, in that notation; None for one that is not known."""
        if self._scope is not None:
            self._scope.read_constants()
        elements = {} if self._scope is None else self._scope.elements
        known = {value: array for value, array in elements.items() if array is not None and self._counts(value, array)}
        return _WrittenSizes(known, lambda value: known[value].reshape(-1).tolist(), self._texts.dim)

    def _counts(self, value: ir.Value, array: ElementArray) -> bool:
        kind = self.kinds.get(value)
        told = not array.size or any(each is not None for each in array.flat)
        return told and array.ndim <= 1 and (kind is None or kind.name in INTEGERS)


class _WrittenSizes(Mapping[ir.Value, tuple[Dim, ...]]):
    """Sizes by value, written when they are asked for."""

    def __init__(
        self, known: Mapping[ir.Value, Any], get: Callable[[ir.Value], Iterable[Any]], write: Callable[[Any], Dim]
    ) -> None:
        self._known = known
        self._get = get
        self._write = write

    def __getitem__(self, value: ir.Value) -> tuple[Dim, ...]:
        return tuple(map(self._write, self._get(value)))

    def __iter__(self) -> Iterator[ir.Value]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Texts:
    """Formulas in words that no declared name has: a dim called `N + 1` is not N + 1."""

    def __init__(self, declared: Iterable[str]) -> None:
        self._taken = {
            text: name for name in declared if not name.isidentifier() for text in parse(as_name(name)).symbols
        }

    def dim(self, size: Size | None) -> Dim:
        """A size in the notation of `infer`."""
        if not isinstance(size, Formula):
            return size
        text = str(size)
        if not self._taken or size.name is not None:
            return text
        read = {self._taken.get(name) for name in parse(text).symbols} - {None}
        return text if read <= size.symbols else f"{text} + 0"


def _pairs(model: ir.Model, copy: ir.Model) -> tuple[dict[ir.Value, ir.Value], dict[ir.Node, ir.Node]]:
    """Which value, and which node, of a copy stands for which of the model."""
    values: dict[ir.Value, ir.Value] = {}
    nodes: dict[ir.Node, ir.Node] = {}
    functions = zip(model.functions.values(), copy.functions.values(), strict=True)
    pending = [(model.graph, copy.graph), *((one.graph, other.graph) for one, other in functions)]
    while pending:
        one, other = pending.pop()
        values.update(zip(one.inputs, other.inputs, strict=True))
        values.update(zip(one.initializers.values(), other.initializers.values(), strict=True))
        for mine, theirs in zip(one, other, strict=True):
            nodes[mine] = theirs
            values.update(zip(mine.outputs, theirs.outputs, strict=True))
            pending += zip(inner_graphs(mine), inner_graphs(theirs), strict=True)
    return values, nodes
