"""The walk of the shape engine over a copy of a model, node by node.

The rules for the operators are the engine's, and ours for Reshape.  The walk is ours: a node that a rule cannot read
leaves its outputs unknown and stops nothing, what a function's body found is kept, values cross the borders of
functions, and what a Loop carries is only what holds in every iteration.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
from onnx_shape_inference import _engine, _functions
from onnx_shape_inference._context import SYM_DATA_KEY  # type: ignore[import-untyped]
from onnx_shape_inference._symbolic_shapes import dim_to_expr  # type: ignore[import-untyped]

from onereshape.models.inference.content_rules import RULES as CONTENT_RULES
from onereshape.models.inference.contents import Contents
from onereshape.models.inference.copies import Copy, inner_graphs
from onereshape.models.inference.asked import Asked
from onereshape.models.inference.exact_rules import RULES
from onereshape.models.inference.formulas import Formulas
from onereshape.models.inference.limits import DEEPEST_CALL, LARGEST, MOST_DIMS, TOO_LONG, Limits, TooLargeError
from onereshape.models.inference.held import HELD
from onereshape.models.inference.reshape_claims import sure_axes
from onereshape.models.inference.wellformed import is_wellformed
from onereshape.shape_rule import ReshapeRule

_REFUSALS = (ValueError, IndexError, ArithmeticError)
"""What a rule raises for a node that it cannot read, such as one with an axis that its data do not have.

Any other error is a mistake, of ours or of the engine's, and must not pass for "unknown".
"""
_MOST_ROUNDS = 4
"""How often the body of a Loop is walked until what it carries stays the same; then nothing is known of that."""
_DEEPEST_LOOP = 3
"""Loops within loops beyond which there is one round only."""
_BLIND = CONTENT_RULES.keys() - frozenset(
    "Expand Tile Range ConstantOfShape Reshape Split Slice Squeeze Unsqueeze ReduceProd ReduceSum".split()
)
"""Operators whose shape does not depend on what tensors hold: the engine is not shown it, and `contents` follows it."""


class _Context(engine.ShapeInferenceContext):  # type: ignore[misc]
    """The engine's context: it notes no refusal, since the rule does, and reads a constant once."""

    signed_names: Container[str] = ()
    blind = False
    """Whether nothing is said of what tensors hold."""

    def create_child(self, opset_imports: Any = None, *, resolved_attrs: Any = None) -> _Context:
        """The context of a function's body."""
        known = dict(self.opset_imports if opset_imports is None else opset_imports)
        known.setdefault("", known.get("ai.onnx", self.opset))
        child = _Context(known, policy=self.policy, resolved_attrs=resolved_attrs, allocator=self._allocator)
        child.signed_names = self.signed_names
        return child

    def is_generated_symbol(self, name: str) -> bool:
        """Whether a name may stand for any number, so that an entry of a target that has it may be -1."""
        return name in self.signed_names or super().is_generated_symbol(name)

    @contextmanager
    def blinded(self, *, when: bool) -> Iterator[None]:
        """Says nothing of what tensors hold, for as long as a rule runs that need not know it."""
        self.blind = when
        try:
            yield
        finally:
            self.blind = False

    def record_error(self, node: ir.Node, message: str) -> None:
        """Does not raise: the outputs stay unknown."""

    def add_symbolic_equality(self, a: Any, b: Any) -> None:
        """Not kept: each one is sought among all before it, and nobody asks for them."""

    def add_symbolic_upper_bound(self, lhs: Any, rhs: Any) -> None:
        """Not kept, for the same reason."""

    def get_symbolic_value(self, value: ir.Value) -> list[int | ir.SymbolicDim] | None:
        """The elements of a tensor, across the borders of functions too."""
        if self.blind:
            return None
        if (known := self._symbolic_values.get(value)) is None:
            text = value.metadata_props.get(SYM_DATA_KEY)
            if text is not None:
                known = [each if isinstance(each, int) else ir.SymbolicDim(each) for each in json.loads(text)]
            else:
                known = super().get_symbolic_value(value)
            if known is not None:
                self._symbolic_values[value] = known
        return known  # type: ignore[no-any-return]

    def forget(self, value: ir.Value) -> None:
        """Takes back what was found of a value."""
        value.shape = None
        self.forget_elements(value)

    def forget_elements(self, value: ir.Value) -> None:
        """Takes back what was found of the elements of a value."""
        value.const_value = None
        value.metadata_props.pop(SYM_DATA_KEY, None)
        self._symbolic_values.pop(value, None)


class Walk:
    """One walk; `found` is called with each value whose shape is settled, once per call of the function it is in."""

    def __init__(self, copy: Copy, formulas: Formulas, found: Callable[[_Context, ir.Value], None]) -> None:
        engine.registry.collect()
        self.rule = ReshapeRule()
        self.context = _Context(copy.opset_imports, policy="override")
        self.context.signed_names = formulas.signed_names
        self._copy = copy
        self._found = found
        self._formulas = formulas
        self.limits = Limits(len(copy.nodes))
        self._contents = Contents(formulas, self.limits)
        self._bodies = {function.graph for function in copy.functions.values()}
        self._depth = 0
        self._calls = 0
        """How many functions are being called."""
        self._outputs: dict[Any, Any] = {}
        self._schemas: dict[Any, Any] = {}

    def run(self) -> None:
        """Walks the graph, and the functions that it calls."""
        self._graph(self.context, self._copy.graph)
        self._keep(self.context, self._copy.graph)

    def _graph(self, ctx: _Context, graph: ir.Graph, active_functions: Any = None, **_: Any) -> bool:
        """Walks a graph; the engine calls it for the bodies of functions."""
        for value in graph.initializers.values():
            if value.const_value is not None:
                value.shape = ir.Shape(value.const_value.shape.numpy())
        for value in graph.inputs:
            ctx.name_anonymous_dims(value)
        for node in graph:
            try:
                self._node(ctx, node, active_functions)
                self._bound(ctx, node)
            except _REFUSALS as error:
                if isinstance(error, TooLargeError):
                    self.limits.give_up(node, str(error))
                for value in node.outputs:
                    ctx.forget(value)
            except Exception as error:
                error.add_note(f"while inferring the shapes of {node.op_type} {node.name or ''}".rstrip())
                raise
        if graph in self._bodies:
            self._keep(ctx, graph)
        return False

    def _node(self, ctx: _Context, node: ir.Node, active: Any) -> None:
        for value in node.outputs:
            self._contents.forget(value)
        if (tensor := self._copy.large.get(node)) is not None:
            ctx.set_shape_and_dtype(node.outputs[0], ir.Shape(tensor.shape), tensor.dtype)
            return
        if ctx.resolved_attrs and any(attribute.is_ref() for attribute in node.attributes.values()):
            with _functions._resolve_ref_attrs(node, ctx.resolved_attrs):  # noqa: SLF001 - the engine has no other door
                self._resolved(ctx, node, active)
        else:
            self._resolved(ctx, node, active)

    def _resolved(self, ctx: _Context, node: ir.Node, active: Any) -> None:
        key = node.op_identifier()
        options = {
            "process_graph_fn": self._graph,
            "warn_on_missing": False,
            "active_functions": active,
            "inference_cache": self._outputs,
        }
        if key in self._copy.functions:
            self._call(ctx, node, options)
            return
        if node.domain == "" and node.op_type == "Loop" and is_wellformed(node, ctx.get_opset_version("")):
            self._loop(ctx, node, active)
            return
        _engine._propagate_types_to_subgraph_inputs(ctx, node)  # noqa: SLF001
        for graph in inner_graphs(node):
            self._graph(ctx, graph, active)
        version = ctx.get_opset_version(node.domain)
        if not is_wellformed(node, version):
            return
        rule = self._rule(node, version)
        if rule is not None:
            with ctx.blinded(when=node.domain == "" and node.op_type in _BLIND):
                rule(ctx, node)
            if rule is self.rule:
                self._drop_unless_sure(ctx, node)
            try:
                self._contents.follow(ctx, node)
            except TooLargeError as error:
                self.limits.unread.setdefault(node, str(error))
            except (*_REFUSALS, TypeError):  # as sympy says that it cannot compare
                pass
            if key[:2] == ("", "If"):
                _drop_half_known(ctx, node)
        else:
            functions = self._copy.functions
            _functions.infer_via_op_schema_function(
                ctx, node, opset_version=version, model_functions=functions, op_function_cache=self._schemas, **options
            )

    def _call(self, ctx: _Context, node: ir.Node, options: dict[str, Any]) -> None:
        """A function of the model, as often and as deep as is sensible."""
        if self._calls >= DEEPEST_CALL or not self.limits.visit():
            self.limits.give_up(node, "the functions of the model call one another too often, or too deep")
            return
        self._calls += 1
        try:
            _functions.infer_function_call_output_shapes(ctx, node, self._copy.functions, **options)
        finally:
            self._calls -= 1

    def _bound(self, ctx: _Context, node: ir.Node) -> None:
        """Makes unknown what is too large to go on with."""
        for value in node.outputs:
            dims = () if value.shape is None else value.shape.dims
            if len(dims) > MOST_DIMS:
                self.limits.give_up(node, f"{value.name} has {len(dims)} dims, more than {MOST_DIMS}")
                ctx.forget(value)
            elif lost := [axis for axis, dim in enumerate(dims) if not self._follows(dim)]:
                self.limits.give_up(node, TOO_LONG)
                value.shape = ir.Shape([ctx.new_symbolic_dim() if axis in lost else d for axis, d in enumerate(dims)])

    def _follows(self, dim: Any) -> bool:
        if isinstance(dim, int):
            return 0 <= dim <= LARGEST
        return dim.value is None or self.limits.formula(dim.value)

    def _rule(self, node: ir.Node, version: int) -> Callable[[_Context, ir.Node], None] | None:
        """The shape rule of an operator: ours, where there is one; none for an operator whose rule is not held."""
        if (node.domain, node.op_type) not in HELD:
            return None
        if node.domain == "" and node.op_type == "Reshape":
            return self.rule
        if node.domain == "" and (own := RULES.get(node.op_type)) is not None:
            return lambda ctx, node: own(Asked(ctx, node, self._formulas))
        theirs = engine.registry.get(node.domain, node.op_type, version)
        return None if theirs is None else partial(self._asked_of, theirs)

    def _asked_of(self, rule: Callable[[_Context, ir.Node], None], ctx: _Context, node: ir.Node) -> None:
        """Asks a rule of the engine, which asserts what it takes for granted; what breaks it is said, not swallowed."""
        try:
            rule(ctx, node)
        except (AssertionError, TypeError) as error:
            self.limits.give_up(node, f"the rule of {node.op_type} does not take it ({type(error).__name__})")
            raise ValueError from error

    def _drop_unless_sure(self, ctx: _Context, node: ir.Node) -> None:
        """Takes back dims of a Reshape that are others at sizes at which it succeeds all the same."""
        data, output = node.inputs[0], node.outputs[0]
        if data is None or data.shape is None or output.shape is None or len(node.inputs) < 2 or node.inputs[1] is None:
            return
        target = ctx.get_symbolic_value(node.inputs[1])
        if target is None or all(isinstance(entry, int) for entry in target):
            return  # numbers mean the same at all sizes
        exprs = [tuple(map(dim_to_expr, dims)) for dims in (data.shape, target, output.shape)]
        flag = node.attributes.get("allowzero")
        sure: frozenset[int] = frozenset()
        if all(expr is not None for dims in exprs for expr in dims):
            sure = sure_axes(*exprs, copies=flag is None or flag.value == 0)
        dims = list(output.shape)
        if len(sure) < len(dims):
            ctx.forget(output)
            output.shape = ir.Shape([dim if axis in sure else ctx.new_symbolic_dim() for axis, dim in enumerate(dims)])

    def _loop(self, ctx: _Context, node: ir.Node, active: Any) -> None:
        """A Loop: its body is walked until the shapes that it is given are those of every iteration."""
        body = node.attributes["body"].as_graph()
        carried = list(zip(node.inputs[2:], body.inputs[2:], body.outputs[1:], strict=False))
        _enter(ctx, node, body)
        widened: set[str] = set()
        self._depth += 1
        rounds = _MOST_ROUNDS if self._depth <= _DEEPEST_LOOP else 1
        try:
            for left in reversed(range(rounds)):
                if left == 0:
                    for _, inside, _ in carried:
                        inside.shape = None
                self._graph(ctx, body, active)
                if left == 0 or not _widen(ctx, carried, widened):
                    break
                self._forget(ctx, body)
        finally:
            self._depth -= 1
        engine.registry.get("", "Loop", ctx.get_opset_version(""))(ctx, node)
        _leave(ctx, node, [inside for _, inside, _ in carried], widened)

    def _forget(self, ctx: _Context, graph: ir.Graph) -> None:
        """Takes back what was found in a graph, for another round."""
        for node in graph:
            self.rule.errors.pop(node, None)
            self.rule.conditions.pop(node, None)
            for value in node.outputs:
                ctx.forget(value)
            for inner in inner_graphs(node):
                self._forget(ctx, inner)

    def _keep(self, ctx: _Context, graph: ir.Graph) -> None:
        for value in dict.fromkeys(_values(graph)):  # a constant that many use is still one
            self._found(ctx, value)


def _values(graph: ir.Graph) -> Iterator[ir.Value]:
    """All values of a graph and of those in it."""
    yield from graph.inputs
    yield from graph.initializers.values()
    for node in graph:
        yield from (value for value in node.inputs if value is not None and value.producer() is None)
        yield from node.outputs
        for inner in inner_graphs(node):
            yield from _values(inner)


def _drop_half_known(ctx: _Context, node: ir.Node) -> None:
    """Of an If the engine takes the shape of one branch where it does not know the other's."""
    branches = [graph.outputs for graph in inner_graphs(node)]
    for output, *ends in zip(node.outputs, *branches, strict=False):
        if any(end.shape is None for end in ends):
            ctx.forget(output)


def _enter(ctx: _Context, node: ir.Node, body: ir.Graph) -> None:
    """Gives the body of a Loop the shapes of its first iteration."""
    for value in body.inputs[:2]:
        value.shape = ir.Shape([])
    for start, inside in zip(node.inputs[2:], body.inputs[2:], strict=False):
        inside.shape = None
        if start is not None and start.shape is not None:
            inside.shape = ctx.name_anonymous_dims_in_shape(start.shape)
        if start is not None and inside.type is None:
            inside.type = start.type


def _leave(ctx: _Context, node: ir.Node, carried: list[ir.Value], widened: set[str]) -> None:
    """The shapes after the last iteration, of which there may be none: those that held in every one."""
    for inside, output in zip(carried, node.outputs, strict=False):
        shape = inside.shape
        ctx.forget(output)
        if shape is not None:  # a dim that changes has another size than inside
            unlike = [isinstance(dim, ir.SymbolicDim) and dim.value in widened for dim in shape]
            dims = [ctx.new_symbolic_dim() if new else dim for dim, new in zip(shape, unlike, strict=True)]
            output.shape = ir.Shape(dims)
    some = _iterates(node)
    for output in node.outputs[len(carried) :]:  # the trip count is a limit only: the condition may end it before
        if output.shape is not None:
            inner = output.shape.dims[1:] if some else [ctx.new_symbolic_dim() for _ in output.shape.dims[1:]]
            output.shape = ir.Shape([ctx.new_symbolic_dim(), *inner])


def _iterates(node: ir.Node) -> bool:
    """Whether a Loop has an iteration for sure; if none, onnxruntime makes dims up that are known only inside."""
    limit, condition = (None if value is None else ir.convenience.get_const_tensor(value) for value in node.inputs[:2])
    some = node.inputs[0] is None or (limit is not None and limit.numpy().reshape(-1)[0] > 0)
    begins = node.inputs[1] is None or (condition is not None and bool(condition.numpy().reshape(-1)[0]))
    return bool(some and begins)


def _widen(ctx: _Context, carried: list[Any], widened: set[str]) -> bool:
    """Makes unknown what an iteration changes of the shapes that it was given; whether there was such."""
    changed = False
    for _, inside, after in carried:
        if inside.shape is None:
            continue
        if after.shape is None or len(after.shape) != len(inside.shape):
            inside.shape = None
            changed = True
            continue
        dims = list(inside.shape)
        for axis, (before, now) in enumerate(zip(inside.shape, after.shape, strict=True)):
            if before != now and not (isinstance(before, ir.SymbolicDim) and before.value in widened):
                dims[axis] = fresh = ctx.new_symbolic_dim()
                widened.add(fresh.value)
                changed = True
        inside.shape = ir.Shape(dims)
    return changed
