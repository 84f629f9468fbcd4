"""The walk over a model, node by node: what each operator's record says of the dims, types and elements of its outputs.

A node that a rule cannot read leaves its outputs unknown and stops nothing; any other error is a mistake and comes out.
Values cross the borders of functions, what calls of a function disagree on is unknown, and what a Loop carries is only
what holds in every iteration.  The model is not touched, and what it declares inside is ignored.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import DOMAIN
from onereshape.graphs.constants import DEFAULTS, constant_tensor, dims_of_tensor
from onereshape.graphs.facts.asking import Asking
from onereshape.graphs.facts.elements import (
    FOLLOWED,
    REFUSALS,
    ElementArray,
    Holding,
    array_of,
    constant_array,
    fitting,
    unwrapped,
)
from onereshape.graphs.facts.kinds import kinds_of
from onereshape.graphs.facts.order import inner_graphs, ordered, values_of
from onereshape.graphs.facts.scope import Dims, Scope, Shapes
from onereshape.graphs.facts.undrawn import declared
from onereshape.graphs.facts.walk_limits import (
    BEYOND,
    DEEPEST_CALL,
    MOST_DIMS,
    MOST_FORMULAS,
    TOO_LONG,
    TooLargeError,
    WalkLimits,
)
from onereshape.graphs.facts.wellformed import is_wellformed
from onereshape.graphs.node_view import Refused
from onereshape.graphs.registry import RECORDS
from onereshape.ground.bodies import Body, NoBodyError, body_of, is_written
from onereshape.ground.errors import ReshapeError
from onereshape.rule.condition import Condition
from onereshape.rule.sizes import Formula, Size, symbol

_FOLLOWED = (ir.DataType.FLOAT, *(kind for kind in ir.DataType if kind.name in FOLLOWED - {"FLOAT"}))
"""The types of elements that are followed, the commonest first."""

_ODD = "its inputs do not go together"


def unlike(names: Iterable[str]) -> str:
    """A prefix that no given name begins with: `_d`, or `_d_` where a name is `_d1`."""
    prefix = "_d"
    taken = [*names]
    while any(name.startswith(prefix) for name in taken):
        prefix += "_"
    return prefix


class Walk:
    """One walk over a model; its records are those of `RECORDS`."""

    plain = False
    """Whether every formula is taken for a size, as in a model that is known to run: `S - 1` is 0 or more there."""

    def __init__(self, model: ir.Model, prefix: str) -> None:
        self.model = model
        self._functions = model.functions
        self.limits = WalkLimits(len(model.graph))
        self.conditions: dict[ir.Node, tuple[Condition, ...]] = {}
        """What must hold for what is said of a node to be so."""
        self.errors: dict[ir.Node, ReshapeError] = {}
        self.unread: dict[ir.Node, str] = {}
        """The nodes whose outputs are not known, though all that they read is, and why."""
        self.bodies: dict[ir.Node, tuple[Body, Scope]] = {}
        """The operators that are functions of others, and what is known inside of each."""
        self.calls = 0
        """How many functions are being called."""
        self._called: dict[Hashable, Scope] = {}
        """What was found in calls of functions, by all that decides it."""
        self.loops = 0
        """How many loops are being walked."""
        self.unnamed: set[str] = set()
        """The names that stand for something unknown."""
        self.prefix = prefix
        self._together: dict[frozenset[Size], Size] = {}
        self._shared: dict[Dims, Dims] = {}
        """Dims that are followed, each once: most layers have those of the layer before."""
        self.fixed = model.ir_version < DEFAULTS
        self._merged: dict[ir.Value, Dims | None] = {}
        self._kinds: dict[ir.Value, ir.DataType | None] = {}
        self._held: dict[ir.Value, ElementArray | None] = {}
        self._lost: set[ir.Function] = set()
        """Functions with a call that is not followed."""

    def run(self, dims: Mapping[ir.Value, Dims]) -> Scope:
        """Walks the graph, and the functions that it calls, with these dims of its inputs."""
        scope = Scope(self, self.model.graph.opset_imports)
        scope.dims.update(dims)
        self.graph(self.model.graph, scope)
        for value, found in self._merged.items():
            if found is not None:
                scope.dims[value] = found
        scope.kinds.update((value, kind) for value, kind in self._kinds.items() if kind is not None)
        scope.elements.update(self._held)
        return scope

    def alone(self, function: ir.Function) -> Scope:
        """Walks the body of a function of whose caller nothing is known."""
        scope = Scope(self, function.opset_imports)
        self.graph(function.graph, scope)
        return scope

    def is_fixed(self, value: ir.Value) -> bool:
        """Whether nobody can give an initializer another value."""
        return value.is_initializer() and (self.fixed or not value.is_graph_input())

    def constant(self, tensor: Any) -> ElementArray | None:
        """The elements of a constant, as far as they are followed."""
        found = constant_array(tensor)
        return found if found is None or self.limits.elements(found.size) else None

    def require(self, node: ir.Node, *conditions: Condition) -> None:
        """Notes what must hold for what is said of a node to be so."""
        if conditions:
            self.conditions[node] = tuple(dict.fromkeys((*self.conditions.get(node, ()), *conditions)))

    def new(self) -> Size:
        """A size of which nothing is known."""
        name = f"{self.prefix}{len(self.unnamed)}"
        self.unnamed.add(name)
        return symbol(name)

    def together(self, one: Size, other: Size) -> Size:
        """The size that two have together where they are broadcast."""
        pair = frozenset({one, other})
        if pair not in self._together:
            self._together[pair] = self.new()
        return self._together[pair]

    def nodes(self, graph: ir.Graph) -> Iterable[ir.Node]:
        """The nodes of a graph that are walked over, in their order."""
        return ordered(graph)

    def graph(self, graph: ir.Graph, scope: Scope) -> None:
        """Walks the nodes of a graph."""
        for node in self.nodes(graph):
            try:
                self.visit(node, scope)
            except REFUSALS as error:
                if isinstance(error, TooLargeError):
                    self.limits.give_up(node, str(error))
                elif isinstance(error, ArithmeticError):
                    self.limits.give_up(node, TOO_LONG)
                self.unread[node] = error.why if isinstance(error, Refused) else _ODD
                for value in node.outputs:
                    scope.forget(value)
            except Exception as error:
                error.add_note(f"while inferring the shapes of {node.op_type} {node.name or ''}".rstrip())
                raise

    def visit(self, node: ir.Node, scope: Scope) -> None:
        """Finds out what is known of the outputs of one node."""
        op, domain = node.op_type, node.domain
        if domain == "ai.onnx":
            domain = ""
        if self._functions and node.op_identifier() in self._functions:
            self._call(node, scope, self._functions[node.op_identifier()])
            return
        if domain == "" and op == "Constant":
            self._constant(node, scope)
            return
        record = RECORDS.get(op if domain == "" else f"{domain}::{op}")
        if record is None or record.shape is None:
            self._unruled(node, scope)
        else:
            self._recorded(node, scope, record, scope.opset if domain == "" else scope.imports.get(domain, 1))

    def _unruled(self, node: ir.Node, scope: Scope) -> None:
        """A node whose operator has no rule for its shape; of a layer of an IR the file may say it."""
        if is_written(node.op_type, node.domain):
            self._composed(node, scope)
            return
        found = declared(node, scope) if node.domain == DOMAIN else None
        if found is None:
            self.unread[node] = "it has no rule for its shape"
            for graph in inner_graphs(node):
                self.graph(graph, scope)
            return
        for value, dims in zip(node.outputs, found, strict=True):
            if dims is not None:
                scope.dims[value] = self._followed(node, dims, scope)
            if value.dtype is not None:
                scope.kinds[value] = value.dtype

    def _recorded(self, node: ir.Node, scope: Scope, record: Any, version: int) -> None:
        """A node whose operator has a rule for its shape."""
        asking = Asking(node, scope)
        outputs = node.outputs
        kinds = kinds_of(node, record.kinds, version, asking.kind, asking.attribute)
        for value, kind in zip(outputs, kinds, strict=False):
            if kind is not None:
                scope.kinds[value] = kind
        if not is_wellformed(node, version):
            self.unread[node] = "it has not the inputs, outputs or attributes that its operator asks for"
            return
        found: Shapes = record.shape(asking)
        for value, dims in zip(outputs, found, strict=False):
            if dims is not None:
                scope.dims[value] = self._followed(node, dims, scope)
        if record.elements is not None:
            self._elements(node, record, scope)

    def _followed(self, node: ir.Node, dims: Sequence[Size], _: Scope) -> Dims:
        """The dims, without what is too large to go on with."""
        if len(dims) > MOST_DIMS:
            raise TooLargeError(f"{node.outputs[0].name} has {len(dims)} dims, more than {MOST_DIMS}")
        known = tuple(dims)
        shared = self._shared.get(known)
        if shared is not None:
            return shared
        lost = [axis for axis, size in enumerate(dims) if not self.limits.size(size)]
        if not lost:
            self._shared[known] = known
            return known
        self.limits.give_up(node, TOO_LONG)
        return tuple(self.new() if axis in lost else size for axis, size in enumerate(dims))

    # What tensors hold

    def _elements(self, node: ir.Node, record: Any, scope: Scope) -> None:
        kinds = [scope.kinds.get(value) for value in node.outputs]
        for kind in kinds:
            if kind is not None and kind not in _FOLLOWED:
                return
        inputs: list[ElementArray | None] = []
        for value in node.inputs if record.from_dims is None else ():
            held = None if value is None else scope.held(value)
            if held is None and value is not None:
                return
            inputs.append(held)
        holding = Holding(node, inputs, scope.dims_of, scope.opset, scope.attribute, plain=self.plain)
        try:
            found: Sequence[ElementArray | None] = record.elements(holding)
        except TooLargeError as error:
            self.limits.unread.setdefault(node, str(error))
            return
        except ArithmeticError:
            self.limits.unread.setdefault(node, TOO_LONG)
            return
        except REFUSALS:
            return
        for value, kind, array in zip(node.outputs, kinds, found, strict=False):
            if array is not None and self._follows(node, array):
                scope.elements[value] = self._kept(node, array, kind)
                scope.dims[value] = array.shape

    def _kept(self, node: ir.Node, array: ElementArray, kind: ir.DataType | None) -> ElementArray:
        kept = fitting(array, kind)
        if kept is not array and any(
            isinstance(each, int) and now is None for each, now in zip(array.flat, kept.flat, strict=True)
        ):
            self.limits.unread.setdefault(node, BEYOND)
        self.require(node, *unwrapped(kept, kind))
        return kept

    def _follows(self, node: ir.Node, array: ElementArray) -> bool:
        """Whether the elements are few enough to go on with."""
        formulas = 0
        for each in array.flat:
            if isinstance(each, Formula):
                formulas += 1
                if each.name is None and not self.limits.formula(each):
                    self.limits.unread.setdefault(node, TOO_LONG)
                    return False
        if formulas <= MOST_FORMULAS and self.limits.elements(array.size):
            return True
        what = f"{formulas} formulas" if formulas > MOST_FORMULAS else f"{array.size} elements"
        self.limits.unread.setdefault(node, f"it holds {what}, which is more than is followed")
        return False

    def _constant(self, node: ir.Node, scope: Scope) -> None:
        output = node.outputs[0]
        tensor = constant_tensor(output)
        if tensor is None:
            tensor = _given_constant(node, scope)
        if tensor is None or not hasattr(type(tensor), "shape"):
            return
        scope.dims[output] = dims_of_tensor(tensor)
        scope.kinds[output] = tensor.dtype
        scope.constants[output] = tensor

    # Functions

    def _call(self, node: ir.Node, scope: Scope, function: ir.Function) -> None:
        """A function of the model, as often and as deep as is sensible."""
        if self.calls >= DEEPEST_CALL or not self.limits.visit(1 + len(function.graph)):
            self.limits.give_up(node, "the functions of the model call one another too often, or too deep")
            self._lose(function)
            return
        attributes = {name: each.value for name, each in function.attributes.items() if each.value is not None}
        for name, each in node.attributes.items():
            attributes[name] = scope.attribute(node, name) if each.is_ref() else each.value
        key = _signature(function, node, scope, attributes)
        inner = None if key is None else self._called.get(key)
        if inner is None:
            inner = Scope(self, function.opset_imports, attributes)
            for outside, inside in zip(node.inputs, function.inputs, strict=False):
                if outside is not None:
                    _hand_over(scope, outside, inner, inside)
            unnamed = len(self.unnamed)
            self.calls += 1
            try:
                self.graph(function.graph, inner)
            finally:
                self.calls -= 1
            self._merge(inner, function.graph)
            if key is not None and len(self.unnamed) == unnamed:  # what is unknown may be another in the next call
                self._called[key] = inner
        for inside, output in zip(function.outputs, node.outputs, strict=False):
            _hand_over(inner, inside, scope, output)

    def _composed(self, node: ir.Node, scope: Scope) -> None:
        """An operator that is a function of others, by its body."""
        dims = [None if value is None else scope.dims_of(value) for value in node.inputs]
        ranks = [
            None if value is None else (scope.kind_of(value), None if known is None else len(known))
            for value, known in zip(node.inputs, dims, strict=True)
        ]
        numbers = [_numbers(each) for each in dims]
        try:
            body = body_of(node, 1, ranks, dims=numbers)
        except NoBodyError as error:
            raise Refused(error.why) from None
        if body is None or not self.limits.visit(1 + len(body.function.graph)):
            raise Refused("it has no rule for its shape")
        inner = Scope(self, body.function.opset_imports, {})
        for outside, inside in zip(node.inputs, body.function.inputs, strict=False):
            if outside is not None:
                _hand_over(scope, outside, inner, inside)
        self.graph(body.function.graph, inner)
        self._note_outside(node, body.function)
        for inside, output in zip(body.results(body.function.outputs), node.outputs, strict=False):
            if inside is not None:
                _hand_over(inner, inside, scope, output)
        self.bodies[node] = body, inner

    def _note_outside(self, node: ir.Node, function: ir.Function) -> None:
        """What was noted of nodes in a body is noted of the node that has the body."""
        for inside in function.graph:
            self.require(node, *self.conditions.pop(inside, ()))
            if (error := self.errors.pop(inside, None)) is not None:
                self.unread[node] = error.sentence
            for noted in (self.unread, self.limits.unread, self.limits.given_up):
                if (why := noted.pop(inside, None)) is not None:
                    noted.setdefault(node, why)

    def _merge(self, inner: Scope, graph: ir.Graph) -> None:
        """Keeps of the values of a function what all its calls agree on."""
        inner.read_constants()
        for value in values_of(graph):
            found, held, kind = inner.dims.get(value), inner.elements.get(value), inner.kinds.get(value)
            if value in self._merged:
                found = self._agreed(self._merged[value], found)
                held = _same(self._held[value], held)
                kind = kind if kind == self._kinds[value] else None
            self._merged[value], self._held[value], self._kinds[value] = found, held, kind

    def _lose(self, function: ir.Function) -> None:
        """Nothing holds in every call of a function, and of those that it calls, where one call is not followed."""
        pending = [function]
        while pending:
            lost = pending.pop()
            if lost in self._lost:
                continue
            self._lost.add(lost)
            for value in values_of(lost.graph):
                self._merged[value] = self._held[value] = self._kinds[value] = None
            called = (self.model.functions.get(node.op_identifier()) for node in lost.graph.all_nodes())
            pending += [each for each in called if each is not None]

    def _agreed(self, one: Dims | None, other: Dims | None) -> Dims | None:
        if one is None or other is None or len(one) != len(other):
            return None
        return tuple(a if a == b else self.new() for a, b in zip(one, other, strict=True))


def _signature(function: ir.Function, node: ir.Node, scope: Scope, attributes: Mapping[str, Any]) -> Hashable | None:
    """What decides all that is known in a call; None where it is not told by comparing."""
    if not all(isinstance(each, int | str | None) for each in attributes.values()):
        return None
    given: list[Hashable] = [function, *sorted(attributes.items(), key=lambda each: each[0])]
    for value in node.inputs:
        if value is None:
            given.append(None)
        else:
            held = scope.held(value)
            elements = None if held is None else (held.shape, tuple(held.reshape(-1).tolist()))
            given.append((scope.dims_of(value), scope.kind_of(value), elements))
    return tuple(given)


def _hand_over(one: Scope, value: ir.Value, other: Scope, to: ir.Value) -> None:
    """What is known of a value, across the border of a function."""
    if (dims := one.dims_of(value)) is not None:
        other.dims[to] = dims
    if (kind := one.kind_of(value)) is not None:
        other.kinds[to] = kind
    if (held := one.held(value)) is not None:
        other.elements[to] = held


def _numbers(dims: Dims | None) -> Dims | None:
    """Dims that are all numbers; None where some are not, of which nothing is checked."""
    return dims if dims is not None and all(isinstance(size, int) for size in dims) else None


def _same(one: ElementArray | None, other: ElementArray | None) -> ElementArray | None:
    if one is None or other is None or one.shape != other.shape:
        return None
    pairs = zip(one.flat, other.flat, strict=True)
    return array_of((a if a is not None and a == b else None for a, b in pairs), one.shape)


def _given_constant(node: ir.Node, scope: Scope) -> Any:
    """The tensor of a Constant whose attribute the caller of the function gives."""
    for name, attribute in node.attributes.items():
        if attribute.is_ref() and scope.attributes is not None:
            found = scope.attribute(node, name)
            if name == "value":
                return found
            if found is not None and name in {"value_int", "value_ints", "value_float", "value_floats"}:
                return ir.tensor(np.array(found, np.int64 if "int" in name else np.float32))
    return None
