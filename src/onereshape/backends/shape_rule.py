"""Our Reshape inside onnx-shape-inference: the symbolic shapes of a whole model, its Reshapes answered by `infer`.

This is the one module that knows sympy.  The symbols of that engine are positive, so a Reshape that only empty tensors
could satisfy is refused here; what else a size of 0 would break is among the conditions that the rule keeps.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from math import lcm
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
import sympy  # type: ignore[import-untyped]
from onnx_shape_inference._symbolic_shapes import dim_to_expr, expr_to_dim  # type: ignore[import-untyped]

from onereshape.ground.errors import ReshapeError
from onereshape.rule.condition import Condition, Written
from onereshape.rule.dims import Dim
from onereshape.rule.factors import MOST_UNKNOWN_DIMS, Factors, product_of
from onereshape.rule.specs import NEWEST_OPSET, Spec, spec as find_spec
from onereshape.rule.target import read_integers

# What a rule cannot read stays unknown, and is no business of the user's, who may listen to this logger.
logging.getLogger("onnx_shape_inference").addHandler(logging.NullHandler())

TheirDim = int | ir.SymbolicDim
InferenceRule = Callable[[engine.ShapeInferenceContext, ir.Node], None]

_MOST_RESHAPES = 16
"""How many Reshapes back the elements of a tensor are looked for."""
_MOST_MAKERS = 1024
"""How many of the nodes that compute a target are looked at."""


class ReshapeRule:
    """The rule for Reshape of every version, in the form that the engine calls.

    It keeps what it found, by node, for as long as the node lives: the conditions under which its answers are right (in
    the body of a function, those of all calls), and what it refused.
    """

    def __init__(self) -> None:
        self.conditions: WeakKeyDictionary[ir.Node, tuple[Condition, ...]] = WeakKeyDictionary()
        self.errors: WeakKeyDictionary[ir.Node, ReshapeError] = WeakKeyDictionary()

    def __call__(self, ctx: engine.ShapeInferenceContext, node: ir.Node) -> None:
        """Sets the shape, type and value of the output; a refusal is an error of the engine, with our text."""
        opset = ctx.get_opset_version("" if "" in ctx.opset_imports else "ai.onnx")
        row = find_spec(f"onnx-{min(opset, NEWEST_OPSET)}")
        data, *_ = engine.check_inputs(node, "data", *(["shape"] if row.target_in == "input" else []))
        output = node.outputs[0]
        ctx.set_shape_and_dtype(output, None, data.dtype)
        try:
            dims, conditions = _answer(ctx, node, row)
        except ReshapeError as error:
            self.errors[node] = error
            ctx.record_error(node, str(error))
            return
        if conditions:
            self.conditions[node] = tuple(dict.fromkeys((*self.conditions.get(node, ()), *conditions)))
        if dims is not None:
            ctx.set_shape(output, ir.Shape(dims))
            counts = data.dtype is None or data.dtype.is_integer()
            values = _values(ctx, data) if counts else None  # a flat list, which other rules misread in a matrix
            if values is not None and (dims or [1]) == [len(values)]:
                ctx.set_symbolic_value(output, values)


def register(registry: engine.OpShapeInferenceRegistry = engine.registry) -> ReshapeRule:
    """Puts a rule in the place of the registry's own for Reshape, for good, and returns it."""
    rule = ReshapeRule()
    for version in {1, *registry.version_boundaries("", "Reshape")}:  # of equal versions, the last to come answers
        registry.register("", "Reshape", since_version=version)(rule)
    return rule


def infer_model(model: ir.Model, **options: Any) -> ReshapeRule:
    """The engine's `infer_symbolic_shapes` with our Reshape, for this call only; returns the rule that answered.

    Shapes, and the values that the engine found, are written into the model.  The first refusal is raised as its
    `ShapeInferenceError`; with policy="skip" inference goes on, and the refusals are in the rule's `errors`.
    """
    for version in {1, *engine.registry.version_boundaries("", "Reshape")}:
        before = engine.registry.get("", "Reshape", version)
        if not isinstance(before, _Scoped):
            engine.registry.register("", "Reshape", since_version=version)(_Scoped(before))
    rule = ReshapeRule()
    token = _active.set(rule)
    try:
        engine.infer_symbolic_shapes(model, **options)
    finally:
        _active.reset(token)
    return rule


_active: ContextVar[ReshapeRule | None] = ContextVar("_active", default=None)


class _Scoped(NamedTuple):
    """The rule of the running `infer_model`, else what answered before: the engine takes no registry of one's own."""

    before: InferenceRule | None

    def __call__(self, ctx: engine.ShapeInferenceContext, node: ir.Node) -> None:
        rule = _active.get() or self.before
        if rule is not None:
            rule(ctx, node)


def _answer(
    ctx: engine.ShapeInferenceContext, node: ir.Node, row: Spec
) -> tuple[list[TheirDim] | None, list[Condition]]:
    """The output dims, None for an unknown rank, and the conditions."""
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    if None in attributes.values():  # an attribute of the function around, of which the engine lost the value
        return None, []
    target, conditions = _read_target(ctx, node, row, attributes)
    shape = node.inputs[0].shape  # type: ignore[union-attr]
    bridge = _Bridge(ctx, () if shape is None else shape.dims, target or ())
    data = None if shape is None else [bridge.write(dim) for dim in shape.dims]
    symbolic = any(isinstance(entry, ir.SymbolicDim) for entry in target or ())
    sizes = _sizes_read(node) if symbolic else set()
    words = None if target is None else [bridge.write_entry(entry, sizes, conditions) for entry in target]
    given = () if shape is None else shape.dims
    unknown = any(isinstance(dim, ir.SymbolicDim) and ctx.is_generated_symbol(str(dim.value)) for dim in given)
    found, said = bridge.factors.infer(data, words, row, unknown=unknown, **attributes)
    dims = None if found is None else [bridge.read(dim) for dim in found]
    return dims, [*conditions, *said]


def _read_target(
    ctx: engine.ShapeInferenceContext, node: ir.Node, row: Spec, attributes: dict[str, Any]
) -> tuple[Sequence[TheirDim | None] | None, list[Condition]]:
    """The entries of the target as far as they are known, None for an unknown length, and what that rests on."""
    if row.target_in == "attribute":
        if "shape" not in attributes:
            raise ReshapeError("target-missing", spec=row, place="the attribute 'shape'")
        return read_integers(attributes.pop("shape"), "target"), []
    value: Any = node.inputs[1]
    tensor = ir.convenience.get_const_tensor(value)
    shape = value.shape if tensor is None else tensor.shape
    if shape is not None and len(shape) != 1:
        raise ReshapeError("shape-rank", spec=row, rank=len(shape))
    kind = "int64" if tensor is None else tensor.dtype.name.lower()
    if kind not in row.shape_types:
        raise ReshapeError("shape-type", spec=row, type=kind, types=" ".join(row.shape_types))
    known = ctx.get_symbolic_value(value)  # of a constant, its integers
    if known is None and shape is not None and isinstance(shape[0], int) and shape[0] <= MOST_UNKNOWN_DIMS:
        known = [None] * shape[0]
    overridable = tensor is not None and value.is_graph_input()
    return known, [Condition("default", str(value.name))] if overridable else []


def _values(ctx: engine.ShapeInferenceContext, value: ir.Value | None) -> list[TheirDim] | None:
    """The elements of a tensor as far as the engine knows them; none changes on the way through other Reshapes."""
    known: list[TheirDim] | None = None
    for _ in range(_MOST_RESHAPES):
        if value is None or (known := ctx.get_symbolic_value(value)) is not None:
            break
        maker = value.producer()
        value = None if maker is None or maker.op_type != "Reshape" else maker.inputs[0]
    return known


def _sizes_read(node: ir.Node) -> set[sympy.Expr]:
    """The dims of all tensors whose Shape the target is computed from."""
    seen: set[ir.Node] = set()
    sources: list[ir.Value | None] = []
    pending = list(node.inputs[1:])
    while pending and len(seen) < _MOST_MAKERS:
        value = pending.pop()
        maker = None if value is None else value.producer()
        if maker is not None and maker not in seen:
            seen.add(maker)
            (sources if maker.op_type in {"Shape", "Size"} else pending).extend(maker.inputs)
    shapes = [value.shape for value in sources if value is not None and value.shape is not None]
    return {dim_to_expr(dim) for shape in shapes for dim in shape.dims}


def _from_zero(expr: sympy.Expr) -> sympy.Expr:
    """The expression with symbols that may be 0."""
    return expr.xreplace({s: sympy.Symbol(s.name, integer=True, nonnegative=True) for s in expr.free_symbols})


class _Bridge:
    """The dims of one Reshape in our notation, and the way back.

    A quotient of ours becomes an exact one, where the engine's own rule takes the floor: they agree if it divides, as
    our condition says.
    """

    def __init__(
        self, ctx: engine.ShapeInferenceContext, data: Sequence[TheirDim], target: Sequence[TheirDim | None]
    ) -> None:
        self._ctx = ctx
        self.factors = Factors[sympy.Expr](_called, _called, _is_positive)
        self._spelling: dict[sympy.Expr, TheirDim] = {}
        """The dims as the model writes them: to the engine, `past+1` and `past + 1` differ."""
        self._divisors: dict[sympy.Expr, int] = {}
        for dim in (*data, *target):
            expr = None if dim is None else dim_to_expr(dim)
            if dim is not None and expr is not None:
                self._spelling.setdefault(expr, dim)
                content, rest = expr.primitive()
                self._divisors[rest] = lcm(self._divisors.get(rest, 1), int(content.q))

    def write(self, dim: TheirDim) -> Dim:
        """A dim as an integer times named factors; what is no such product is one factor."""
        expr = dim_to_expr(dim)
        if expr is None or expr.is_Integer:
            return None if expr is None else int(expr)
        number, rest = expr.primitive()
        names: list[str] = []
        for base, power in rest.as_powers_dict().items():
            inner, factor = base.primitive()
            divisor = self._divisors.get(factor, 1)
            number *= (inner * divisor) ** power
            if factor.is_number or power != int(power) or power < 0:
                return self.factors.name(expr)
            names += [self.factors.name(factor / divisor)] * int(power)
        if not number.is_Integer:
            return self.factors.name(expr)
        return product_of(int(number), names)

    def write_entry(self, entry: TheirDim | None, sizes: set[sympy.Expr], conditions: list[Condition]) -> Dim:
        """An entry of the target: a size, unless it is computed from a value that the engine does not know."""
        expr = None if entry is None else dim_to_expr(entry)
        if entry is None or expr is None:
            return None
        if expr.free_symbols and expr not in sizes:
            if any(self._ctx.is_generated_symbol(symbol.name) for symbol in expr.free_symbols - sizes):
                return None  # at run time it may be -1 or 0
            if not _from_zero(expr).is_nonnegative:
                conditions.append(Condition("least", Written(1, (str(expr),)), 0))
        return self.write(entry)

    def read(self, dim: Dim) -> TheirDim:
        """A dim of an answer; an interval is only an unknown dim to the engine."""
        if isinstance(dim, int):
            return dim
        if not isinstance(dim, str):
            return self._ctx.new_symbolic_dim()  # type: ignore[no-any-return]
        top, bottom = self.factors.quotient(dim)
        expr = sympy.Mul(*top) / sympy.Mul(*bottom)
        return self._spelling[expr] if expr in self._spelling else expr_to_dim(expr)


def _is_positive(factor: sympy.Expr, least: int) -> bool:
    return bool((factor if least else _from_zero(factor)).is_positive)


def _called(factor: sympy.Expr) -> str:
    """A factor as it stands in a formula."""
    return str(factor) if factor.is_Symbol or factor.is_Function else f"({factor})"
