"""Program: a model that can be run on terms, as often as needed; what follows from constants is made once."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Body, Call, Notes, Record, TermRun, Value, tensors_of
from onereshape.terms.conform import check_results, is_known
from onereshape.terms.every_batch import watch
from onereshape.terms.fixed_node import FixedNode, fixed
from onereshape.terms.hashing import Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.needs import GRAPHS, last_uses, unneeded
from onereshape.terms.orders import Orders
from onereshape.terms.records import RECORDS
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, numbers

Scope = dict[ir.Value, Value]
WeightTensors = dict[int, tuple[ir.TensorProtocol, Tensor]]
"""Tensors of models as numbers, by their identity; they are held, so that no other one gets it."""
Observer = Callable[[ir.Node, Sequence[Value]], Sequence[Value]]
"""Sees the results of each node, and returns them, perhaps with their growth."""
Outcome = tuple[dict[str, Value], Notes]
"""The outputs of a run, and what its nodes noted."""
Steps = Generator[float, None, Outcome]
"""A run that pauses before each node, and says what part it holds of the elements that it may hold."""

_DEEPEST = 64
"""Functions and bodies inside one another."""
_TOGETHER = 0.25
"""What runs in turn may hold together, of what one may: beyond that the first goes ahead, and frees what it held."""


class Program:
    """A model and its constants."""

    def __init__(
        self,
        model: ir.Model,
        hashing: Hashing,
        limits: Limits,
        records: Mapping[tuple[str, str], Record] = RECORDS,
        weights: WeightTensors | None = None,
    ) -> None:
        self.model = model
        self.hashing = hashing
        self.records = records
        """What each operator does to elements, by domain and name; one that is not here is read by its body."""
        self.limits = limits
        self.constants: Scope = {}
        """Values that no input reaches."""
        self.weights: WeightTensors = {} if weights is None else weights
        """What is known of the weights; two models that have the same ones may share it, if their hashes are one."""
        self.known: dict[ir.Node, FixedNode] = {}
        self.orders: dict[Any, tuple[list[ir.Node], dict[int, list[ir.Value]]]] = {}
        """The nodes of a graph, and the values that nobody needs after each."""
        self.unneeded = unneeded(model.graph)
        """Nodes that no output needs: they are run, but what they do to samples is nobody's."""

    def run(
        self,
        feeds: Mapping[str, Tensor],
        observe: Observer | None = None,
        samples: int = 0,
        orders: Orders | None = None,
    ) -> Outcome:
        """The outputs by name, and the notes of all nodes; `samples` is the N of this run."""
        (found,) = side_by_side(self.steps(feeds, observe, samples, orders))
        return found

    def weight(self, tensor: ir.TensorProtocol) -> Tensor:
        """A tensor of the model as numbers."""
        if id(tensor) not in self.weights:
            self.weights[id(tensor)] = tensor, numbers(_array(tensor), tensor.dtype)
        return self.weights[id(tensor)][1]

    def steps(
        self,
        feeds: Mapping[str, Tensor],
        observe: Observer | None = None,
        samples: int = 0,
        orders: Orders | None = None,
    ) -> Steps:
        """A run that pauses before each node, and returns as `run` does."""
        run = _Run(self, observe, TermRun(self.hashing, self.limits.elements, samples, orders))
        graph = self.model.graph
        scope: Scope = {}
        for value in graph.inputs:
            if (name := value.name or "") in feeds:
                scope[value] = feeds[name] if samples else replace(feeds[name], growth=())
            elif not value.is_initializer():
                raise NotProven(f"input {value.name!r} is not fed")
        found = yield from run.steps(graph, scope, self.model.opset_imports, {}, main=True)
        return _named(graph.outputs, found), run.notes


def _named(outputs: Iterable[ir.Value], found: Iterable[Value]) -> dict[str, Value]:
    """The outputs by name; of a sequence each tensor, by its number."""
    named: list[tuple[str, Value]] = []
    for value, each in zip(outputs, found, strict=True):
        if isinstance(each, tuple):
            named += [(f"{value.name}[{place}]", one) for place, one in enumerate(each)]
        else:
            named.append((value.name or "", each))
    if len(dict(named)) < len(named):
        raise NotProven("a tensor of a sequence has the name of an output")
    return dict(named)


def side_by_side(*runs: Steps) -> list[Outcome]:
    """The outcomes of several runs, which go a node at a time in turn: an exception in one ends all.

    While they hold much together only the first goes on; none is ever behind one that comes after it.
    """
    found: dict[int, Outcome] = {}
    under_way, held = dict(enumerate(runs)), dict.fromkeys(range(len(runs)), 0.0)
    with np.errstate(all="ignore"):
        while under_way:
            first = min(under_way)
            for place in [first] if sum(held.values()) > _TOGETHER else [*under_way]:
                try:
                    held[place] = next(under_way[place])
                except StopIteration as end:
                    found[place] = end.value
                    del under_way[place], held[place]
    return [found[place] for place in range(len(runs))]


class _Run:
    """A run of a program under way: the notes and live elements so far."""

    def __init__(self, program: Program, observe: Observer | None, common: TermRun) -> None:
        self.program = program
        self.observe = observe
        self.common = common
        self.notes = Notes()
        self.live = 0
        self.depth = 0

    def graph(
        self, graph: ir.Graph | ir.Function, scope: Scope, opsets: Mapping[str, int], given: Mapping[str, ir.Attr]
    ) -> list[Value]:
        """The outputs of a graph inside a node; the scope has the values of the graphs around it."""
        steps = self.steps(graph, scope, opsets, given, main=False)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                found: list[Value] = end.value
                return found

    def steps(
        self,
        graph: ir.Graph | ir.Function,
        scope: Scope,
        opsets: Mapping[str, int],
        given: Mapping[str, ir.Attr],
        *,
        main: bool,
    ) -> Generator[float, None, list[Value]]:
        """The outputs of any graph, with a pause before each node: the part of what may be held that is held there."""
        self.depth += 1
        if self.depth > _DEEPEST:
            raise NotProven("functions and bodies are more than a term run goes into")
        if graph not in self.program.orders:
            self.program.orders[graph] = (order := list(graph)), last_uses(order, graph.outputs)
        nodes, last = self.program.orders[graph]
        outer = set(scope) if not main else set()
        for place, node in enumerate(nodes):
            yield self.live / max(self.program.limits.elements, 1)
            constant = main and self._is_constant(node, scope)
            held = self.program.constants if constant else scope
            if constant and all(value in held for value in node.outputs):
                continue
            results = self.node(node, scope, opsets, given, constant=constant)
            for value, result in zip(node.outputs, results, strict=True):
                held[value] = result
                self.live += _elements(result)
            self.program.limits.check(f"{node.op_type} {node.name or node.outputs[0].name}", self.live)
            for value in last.get(place, ()):
                if value in scope and value not in outer:
                    self.live -= _elements(scope.pop(value))
        self.depth -= 1
        return [self.value(value, scope) for value in graph.outputs]

    def _is_constant(self, node: ir.Node, scope: Scope) -> bool:
        if any(attribute.type in GRAPHS for attribute in node.attributes.values()):
            return False
        return all(value is None or (value not in scope and self._constant(value)) for value in node.inputs)

    def _constant(self, value: ir.Value) -> bool:
        return value in self.program.constants or value.is_initializer()

    def value(self, value: ir.Value | None, scope: Scope) -> Value:
        """The value of an edge of the graph: in this scope, or as a constant; None for an input that is left out."""
        if value is None:
            return None
        if value in scope:
            return scope[value]
        constants = self.program.constants
        if value not in constants:
            tensor = value.const_value if value.is_initializer() else None  # what others found out is not asked
            if tensor is None:
                raise NotProven(f"{value.name!r} is made by nothing that was run")
            try:
                constants[value] = self.program.weight(tensor)
            except (ValueError, TypeError, OSError):
                raise NotProven(f"the data of {value.name!r} cannot be read") from None
        return constants[value]

    def node(
        self, node: ir.Node, scope: Scope, opsets: Mapping[str, int], given: Mapping[str, ir.Attr], *, constant: bool
    ) -> Sequence[Value]:
        """Runs a node by its record, its body or its function: its results, one for each output."""
        inputs = [self.value(value, scope) for value in node.inputs]
        while inputs and inputs[-1] is None:
            inputs.pop()
        there = {name: found for name, each in node.attributes.items() if (found := _resolved(each, given)) is not None}
        function = self.program.model.functions.get(node.op_identifier())
        if function is not None:
            return _enough(node, self.function(function, inputs, there, node))
        known = self.program.known.get(node)
        if known is None:
            known = self.program.known[node] = fixed(node, opsets, self.program.records)
        letters = known.letters(node, inputs)
        if known.record is None:
            body = known.body(node, inputs, there)
            return body.results(self.function(body.function, inputs, body.attributes, node))[: len(node.outputs)]

        def inner(name: str) -> Body:
            graph = there[name].as_graph()
            return lambda fed: self.body(graph, fed, scope, opsets, given)

        call = Call(
            self.common,
            node.op_type,
            known.name,
            known.schema.since_version if known.schema else 1,
            known.opset,
            tuple(inputs),
            known.settings(there),
            known.used,
            known.written,
            inner,
        )
        before = len(self.notes.not_for_all)
        results = list(known.record.rule(call))[: len(node.outputs)]
        results += [None] * (len(node.outputs) - len(results))
        if known.schema:
            check_results(node, known.schema, results, dict(letters))
        needed = node not in self.program.unneeded
        if self.observe is not None and needed and not constant:
            results = list(self.observe(node, results))
        if self.common.samples and needed:
            watch(call, known.record, results)
        self.notes.preconditions += call.notes.preconditions
        if needed:  # before what the nodes of its graphs noted
            self.notes.not_for_all[before:before] = call.notes.not_for_all
        return results

    def function(
        self, function: ir.Function, inputs: Sequence[Value], attributes: Mapping[str, ir.Attr], node: ir.Node
    ) -> list[Value]:
        """A call of a function, by its body."""
        if function.name == node.op_type and node.op_identifier() in self.program.model.functions:
            _check_own(node)
        if len(inputs) > len(function.inputs):
            raise NotProven(
                f"{node.op_type} {node.name}: has {len(inputs)} inputs, and the function {len(function.inputs)}"
            )
        filled = [*inputs, *[None] * (len(function.inputs) - len(inputs))]
        known = {name: each for name, each in function.attributes.items() if each.value is not None}
        scope = dict(zip(function.inputs, filled, strict=True))
        return self.graph(function, scope, function.opset_imports, {**known, **attributes})

    def body(
        self,
        graph: ir.Graph,
        fed: Sequence[Value],
        scope: Scope,
        opsets: Mapping[str, int],
        given: Mapping[str, ir.Attr],
    ) -> list[Value]:
        """Runs the graph of an attribute on these inputs: its outputs."""
        if len(fed) != len(graph.inputs):
            raise NotProven(f"a body takes {len(graph.inputs)} inputs, and is given {len(fed)}")
        for value, given_value in zip(graph.inputs, fed, strict=True):
            if isinstance(given_value, Tensor):
                _check_declared(value, given_value)
        inner = {**scope, **dict(zip(graph.inputs, fed, strict=True))}
        return self.graph(graph, inner, opsets, given)


def _enough(node: ir.Node, results: list[Value]) -> list[Value]:
    """The results of a function, one for each output of the node that calls it."""
    if len(results) < len(node.outputs):
        raise NotProven(f"{node.op_type} {node.name}: has {len(node.outputs)} outputs, and the function has not")
    return results[: len(node.outputs)]


def _check_own(node: ir.Node) -> None:
    """Refuses a function with the name of an operator: engines run the operator."""
    if is_known(node.op_type, node.domain):
        here = f"{node.op_type} {node.name or node.outputs[0].name}"
        raise NotProven(f"{here}: a function has the name of an operator, and engines run the operator")


def _check_declared(value: ir.Value, given: Tensor) -> None:
    """Refuses a tensor whose rank or element type is not the body's declared input: engines may reshape it silently."""
    if value.shape is not None and len(value.shape) != given.rank:
        raise NotProven(f"a body takes {value.name!r} with {len(value.shape)} dims, and is given {given.rank}")
    if value.dtype is not None and value.dtype != given.dtype:
        raise NotProven(f"a body takes {value.name!r} as {value.dtype.name}, and is given {given.dtype.name}")


def _elements(value: Value) -> int:
    return sum(each.size for each in tensors_of(value))


def _array(tensor: Any) -> Any:
    array = tensor.numpy()
    if tensor.dtype == ir.DataType.STRING:
        return np.array(array, object)
    return array


def _resolved(attribute: ir.Attr, given: Mapping[str, ir.Attr]) -> ir.Attr | None:
    """An attribute, or what the caller of a function gave for it."""
    if not attribute.is_ref():
        return attribute
    found = given.get(attribute.ref_attr_name or "")
    if found is None:
        return None
    return ir.Attr(attribute.name, found.type, found.value)
