"""like_plan(): from exports of one model at several sizes, the model of any size.

The exports tell which constants follow the sizes, and by their values how.  A constant that differs and of which nobody
knows how it goes on is refused, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import opset_of
from onereshape.graphs.constants import DEFAULTS
from onereshape.graphs.edit import Change, Edit, apply_edits, declare
from onereshape.graphs.export_sizes import Names, sizes_text, symbols_of
from onereshape.graphs.facts.scope import Dims
from onereshape.graphs.rewrite import Rewriter
from onereshape.graphs.unneeded import bury
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.attributes import Said
from onereshape.repair.fitting.clauses import clauses_of, known_clauses
from onereshape.repair.fitting.differing import Use, differing
from onereshape.repair.fitting.exported import Binding, Exported, Fit, Limit, alike, mixed, multiples, nearby, sizes_at
from onereshape.repair.fitting.families import readings_of
from onereshape.repair.fitting.families.strides import from_where
from onereshape.repair.fitting.fitted import Fitted, Sized, fitted
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.least import least
from onereshape.repair.fitting.multiplied import multiplied
from onereshape.repair.fitting.opsets import check_written
from onereshape.repair.fitting.pools import Pool
from onereshape.repair.fitting.rested import plainest
from onereshape.repair.fitting.signs import signs
from onereshape.rule.condition import Clause
from onereshape.rule.sizes import Formula, Size, symbol


@dataclass(frozen=True, slots=True)
class LikePlan:
    """What the exports say: the dims that are free, and what must be rewritten."""

    changes: tuple[Change, ...]
    edits: tuple[Edit, ...]
    freed: Mapping[str, Mapping[int, str]]
    """Input -> axis -> the symbol of its size."""
    bindings: tuple[Binding, ...]
    """The sizes of the symbols in each export, the model's own first."""
    dims: Mapping[ir.Value, tuple[Size | None, ...]]
    """The dims of values, None for one that is not known."""
    clauses: tuple[Clause, ...]
    """What must hold of the sizes."""
    left: tuple[ir.Value, ...] = ()
    """What was baked: it lost its users when each place got a constant of its own."""

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must hold of the sizes, in words."""
        return tuple(clause.text for clause in self.clauses)

    def promised(self, binding: Binding) -> dict[str, tuple[int | None, ...]]:
        """Output -> its dims at sizes of the symbols, None where one is not known: `{"S": 12} -> {"y": (1, 12)}`."""
        return {
            value.name or "": tuple(
                None if size is None else (sizes_at(size, [binding]) or (None,))[0] for size in dims
            )
            for value, dims in self.dims.items()
            if value.is_graph_output()
        }


def like_plan(model: ir.Model, others: Sequence[ir.Model], names: Names) -> LikePlan:
    """Decides what follows the sizes in which exports differ; a node that they do not share is written apart."""
    models = [model, *others]
    symbols = symbols_of(models, names)
    uses = differing(models)
    places = [(use.node, use.slot) for use in uses if isinstance(use.slot, int)]
    left = [value for node, slot in places if (value := node.inputs[slot]) is not None]
    uses = [_own(model, number, use) for number, use in enumerate(uses)]
    sized = fitted(model, _inputs(model, symbols.freed), uses, symbols.bindings)
    edits: list[Edit] = []
    clauses: list[Clause] = []
    known, seen = tuple(sized.known.sizes()), dict[object, tuple[Fit, ...]]()
    for each in sized.fitted:
        exported = Exported(each.use.arrays, tuple(symbols.bindings), each.dims, known, sized.known.steps)
        edit, limits = _edit(each, exported, seen, sized.known, opset_of(model.graph))
        edits.append(edit)
        kept = signs(each.use.node, each.use.slot, each.entries or (), sized.known, sized.scope)
        clauses += clauses_of((*limits, *kept), symbols.bindings, sized.known.steps)
    edits += [_pooled(each) if isinstance(each, Pool) else _said_so(each) for each in sized.rewritten]
    clauses += known_clauses(sized.known)
    ends = (Limit(size, most, "what is cut there ends") for size, most in sized.known.ends)
    starts = least(sized.order, sized.scope, sized.known)
    clauses += clauses_of((*ends, *starts), symbols.bindings, sized.known.steps)
    dims = _known_dims(sized, frozenset(symbols.bindings[0]))
    changes = {(change.tensor, change.after, change.node): change for edit in edits for change in edit.changes}
    return LikePlan(
        tuple(changes.values()),
        tuple(edits),
        symbols.freed,
        symbols.bindings,
        dims,
        tuple({clause.text: clause for clause in clauses}.values()),
        tuple(dict.fromkeys(left)),
    )


def apply_like(model: ir.Model, plan: LikePlan) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    sources: dict[str, tuple[str, int]] = {}
    inputs = {value.name: value for value in model.graph.inputs}
    for name, axes in plan.freed.items():
        declare(inputs[name], axes)
        for axis, called in axes.items():
            sources.setdefault(called, (name, axis))
    for node in model.graph.all_nodes():
        for value in node.outputs:
            if value.shape is not None:
                known = plan.dims.get(value)
                value.shape = None if known is None else ir.Shape([_written(size) for size in known])
    for value in model.graph.outputs:
        if value.shape is None and (known := plan.dims.get(value)) is not None:
            value.shape = ir.Shape([_written(size) for size in known])
    before = set(model.graph.all_nodes())
    apply_edits(model, plan.edits, sources)
    bury(model, list(plan.left))
    check_written((node for node in model.graph.all_nodes() if node not in before), opset_of(model.graph))


def _written(size: Size | None) -> int | ir.SymbolicDim:
    return size if isinstance(size, int) else ir.SymbolicDim(None if size is None else str(size))


def _own(model: ir.Model, number: int, use: Use) -> Use:
    """Gives a place a constant of its own, since the next one that shares it may stand for something else."""
    if isinstance(use.slot, int):
        name = f"{use.name}/{number}"
        while name in model.graph.initializers:
            name += "_"
        tensor = ir.Tensor(use.arrays[0], name=name)
        value = ir.Value(
            name=name, shape=ir.Shape(use.arrays[0].shape), type=ir.TensorType(tensor.dtype), const_value=tensor
        )
        model.graph.register_initializer(value)
        if model.ir_version < DEFAULTS:
            model.graph.inputs.append(value)
        use.node.replace_input_with(use.slot, value)
    return use


def _inputs(model: ir.Model, freed: Names) -> dict[ir.Value, Dims]:
    """The dims of the inputs, with those that are free as symbols."""
    found: dict[ir.Value, Dims] = {}
    for value in model.graph.inputs:
        if value.shape is None or value.is_initializer():
            continue
        dims: list[Size] = []
        for axis, dim in enumerate(value.shape):
            called = freed.get(value.name or "", {}).get(axis)
            known = dim if isinstance(dim, int) else symbol(dim.value or f"{value.name}[{axis}]")
            dims.append(known if called is None else symbol(called))
        found[value] = tuple(dims)
    return found


def _known_dims(sized: Sized, names: frozenset[str]) -> dict[ir.Value, tuple[Size | None, ...]]:
    """The dims that depend on nothing but the free symbols."""

    def plain(size: Size) -> Size | None:
        return size if isinstance(size, int) or size.symbols <= names else None

    seen: dict[int, tuple[Size | None, ...]] = {}  # by the id of the dims: most layers have those of another
    found: dict[ir.Value, tuple[Size | None, ...]] = {}
    for value, dims in sized.scope.dims.items():
        known = seen.get(id(dims))
        if known is None:
            known = seen[id(dims)] = tuple(map(plain, dims)) if Formula in map(type, dims) else dims
        found[value] = known
    return found


# Edits


def _edit(
    found: Fitted, exported: Exported, seen: dict[object, tuple[Fit, ...]], known: Known, opset: int
) -> tuple[Edit, tuple[Limit, ...]]:
    use, bindings = found.use, exported.bindings
    if found.entries is not None:
        entries = found.entries
        return _replaced(use, _entries_words(entries), lambda writer: _vector(writer, use, entries)), ()
    readings = readings_of(exported, seen)
    if not readings:
        raise _refused(use, _unknown(use, found, bindings))
    fit, steps = plainest(readings, known) or (None, {})
    if fit is None:
        raise _doubtful(use, readings, exported)
    known.restrict(steps)
    quotients = dict.fromkeys((*fit.kept, *multiplied(found, bindings)))
    for quotient in quotients:
        known.keep(*quotient)
    limits = (*fit.limits, *(limit for quotient in quotients for limit in from_where(quotient, bindings, known.steps)))
    if fit.opset > opset:
        why = f"the constant {use.name} {fit.words}, which takes opset {fit.opset} to write, and this is {opset}"
        raise _refused(use, why)
    return _replaced(use, fit.words, fit.make), limits


def _pooled(pool: Pool) -> Edit:
    node = pool.node
    label = node.name or f"{node.op_type} of {node.outputs[0].name}"
    parts, windows = (f"[{', '.join(map(str, each))}]" for each in (pool.parts, pool.windows))
    message = f"its window is {windows}, for {parts} results at all sizes"
    before = str(list(node.attributes.get_ints("kernel_shape") or ()))
    change = Change(
        "baked-dim", label, node.op_type, node.outputs[0].name or "", f"attribute of {label}", message, before, windows
    )
    return Edit((change,), pool.write, node, None)


def _said_so(found: Said) -> Edit:
    node = found.node
    label = node.name or f"{node.op_type} of {node.outputs[0].name}"
    changes = []
    for name, numbers in found.attributes.items():
        after = "left out" if numbers is None else str(list(numbers))
        message = f"its attribute {name} follows a size, and is the same without it: {after}"
        where = f"attribute of {label}"
        changes.append(
            Change("baked-dim", label, node.op_type, node.outputs[0].name or "", where, message, name, after)
        )
    return Edit(tuple(changes), found.write, node, None)


def _replaced(use: Use, words: str, make: Callable[[Rewriter], ir.Value]) -> Edit:
    node, slot = use.node, use.slot
    if not isinstance(slot, int):
        raise TypeError(slot)
    label = node.name or f"{node.op_type} of {node.outputs[0].name}"
    value = node.inputs[slot]
    before = _shown(use)
    message = f"{use.name} is {before} in the exports: {words}"
    change = Change("baked-dim", label, node.op_type, use.name, f"constant {use.name}", message, before, words)

    def apply(writer: Rewriter) -> None:
        node.replace_input_with(slot, make(writer))

    return Edit((change,), apply, node, slot, uses=() if value is None else (value,))


def _vector(writer: Rewriter, use: Use, entries: Sequence[Size]) -> ir.Value:
    """Numbers of sizes, in the shape and the type that they had."""
    first = use.arrays[0]
    found = writer.vector(entries) if first.size else writer.integers([])
    if first.ndim != 1:
        found = writer.front("Reshape", [found, writer.integers(first.shape)])
    kind = ir.DataType.from_numpy(first.dtype)
    return found if kind == ir.DataType.INT64 else writer.front("Cast", [found], {"to": int(kind)})


def _entries_words(entries: Sequence[Size]) -> str:
    return f"[{', '.join(map(str, entries))}]"


def _shown(use: Use) -> str:
    """What the exports have at a place, in a message."""
    if use.arrays[0].size <= 8 and all(array.shape == use.arrays[0].shape for array in use.arrays):
        return " and ".join(str(array.tolist()) for array in use.arrays)
    return " and ".join(f"{list(array.shape)} numbers" for array in use.arrays)


def _unknown(use: Use, found: Fitted, bindings: Sequence[Binding]) -> str:
    growing = [axis for axis, size in enumerate(found.dims) if isinstance(size, Formula)]
    at = " and ".join(sizes_text(binding) for binding in bindings)
    empty = next((binding for binding in bindings if 0 in binding.values()), None)
    if empty is not None:
        return f"nothing tells how the constant {use.name} goes on: {sizes_text(empty)} shows nothing of it"
    if not growing:
        how = f"the constant {use.name} differs ({_shown(use)} at {at})"
        return f"{how} in a way that no formula of the sizes explains, or the weights are not equal"
    axis = growing[0]
    return f"the constant {use.name} has {found.dims[axis]} entries along axis {axis}, and nothing tells how it goes on"


def _doubtful(use: Use, readings: Sequence[Fit], exported: Exported) -> FixError:
    one, two, *_ = sorted(readings, key=lambda each: each.odd)
    what = f"the constant {use.name} (in the exports: {_shown(use)})"
    known = exported.bindings
    others = [*mixed(known), *nearby(known, exported.steps), *multiples(known)]
    sizes = next((each for each in others if _differ(one, two, each)), None)
    where = "other sizes" if sizes is None else sizes_text(sizes)
    node, op = use.node.name or use.node.outputs[0].name, use.node.op_type
    return FixError(
        "ambiguous", node=node, op=op, what=what, one=f"one that {one.words}", two=f"one that {two.words}", sizes=where
    )


def _differ(one: Fit, two: Fit, binding: Binding) -> bool:
    """Whether two readings differ at given sizes; not where one of them has a size that is no whole number."""
    try:
        return not alike(one.at(binding), two.at(binding))
    except ValueError:
        return False


def _refused(use: Use, why: str) -> FixError:
    return FixError("cannot-free", node=use.node.name or use.node.outputs[0].name, op=use.node.op_type, why=why)
