"""Where the batch goes through control flow: If, Loop and Scan.

A condition that all samples share takes them all the same way.  One that each sample has for itself becomes a choice
between both branches, sample by sample.  What a loop carries has N at one and the same place in every turn; how often
it turns must be the same for all samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import onnx_ir as ir

from onereshape.formats.onnx_graphs import ONNX
from onereshape.models.batch.bodies import Body, carrying, followed, found_inside
from onereshape.models.batch.marks import Mark
from onereshape.models.batch.view import BatchAnswer, BatchView
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused, counted
from onereshape.models.rewrite import Rewriter
from onereshape.models.search import inside

_BRANCHES = ("then_branch", "else_branch")
_TOTAL = frozenset(
    "Abs Acos Acosh Add And Asin Asinh Atan Atanh AveragePool BatchNormalization Cast Ceil Celu Clip Concat Constant "
    "Conv Cos Cosh Elu Equal Erf Exp Flatten Floor GRU Gelu Gemm GlobalAveragePool GlobalMaxPool Greater "
    "GreaterOrEqual HardSigmoid HardSwish Identity InstanceNormalization IsInf IsNaN LSTM LayerNormalization LeakyRelu "
    "Less LessOrEqual Log LogSoftmax MatMul Max MaxPool Mean Min Mish Mul Neg Not Or PRelu Pow RNN Reciprocal "
    "Relu Round Selu Shape Sigmoid Sign "
    "Sin Sinh Softmax Softplus Softsign Sqrt Sub Sum Tan Tanh ThresholdedRelu Transpose Where Xor".split()
)
"""Operators that run whatever their tensors hold, and give the same each time: they may be run for nothing."""
_BY_DIMS = frozenset(
    "Expand ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Reshape Slice "
    "Squeeze Unsqueeze".split()
)
"""Those that do so where nothing but their first input depends on data."""
_NO_NUMBERS = (None, ir.DataType.STRING)
_FLOATS = (ir.DataType.FLOAT, ir.DataType.DOUBLE, ir.DataType.FLOAT16, ir.DataType.BFLOAT16)


def batch_if(view: BatchView) -> Iterator[BatchAnswer]:
    """If: the branch that is always taken; both, under a condition that all share; a choice, under one for each."""
    branches = [_graph(view, name, 0, len(view.node.outputs)) for name in _BRANCHES]
    if view.mark(0) is not None:
        yield _apart(view, branches)
        return
    taken = view.integers(0)
    if taken is not None and len(taken) == 1:
        branches = branches[:1] if taken[0] else branches[1:]
    bodies = [followed(view, graph) for graph in branches]
    marks, edits = _agreed(view, bodies)
    for index, mark in enumerate(marks):
        _check_output(view, index, mark)
    yield BatchAnswer(tuple(marks), edits, inside=found_inside(view, *bodies))


def _graph(view: BatchView, name: str, inputs: int, outputs: int) -> ir.Graph:
    """A graph inside a node, which has so many inputs, and outputs for all that are asked for."""
    graph = view.attribute(name)
    if not isinstance(graph, ir.Graph) or len(graph.inputs) != inputs or len(graph.outputs) < outputs:
        raise Refused(f"its {name} has not the inputs and outputs that it needs")
    return graph


def _agreed(view: BatchView, bodies: Sequence[Body]) -> tuple[list[Mark | None], tuple[Edit, ...]]:
    """Where the outputs of all branches carry N, and what makes them do so."""
    edits: list[Edit] = [edit for body in bodies for edit in body.edits]
    marks: list[Mark | None] = []
    for place in range(len(view.node.outputs)):
        found = next((mark for body in bodies if (mark := body.mark(place)) is not None), None)
        if found is not None and len(ranks := {len(body.dims(place)) for body in bodies}) > 1:
            name, (one, other) = view.node.outputs[place].name, sorted(ranks)
            raise Refused(f"its branches give {name} with {one} and {other} dims, and which one is taken is not known")
        marks.append(found)
        for body in bodies:
            edits += carrying(view, body, place, found)
    return marks, tuple(edits)


def _check_output(view: BatchView, index: int, mark: Mark | None) -> None:
    """Refuses an output of which it is not sure that it has the size of the batch."""
    if mark is None or not view.node.outputs[index].name:
        return
    here, wanted = view.output_dims(index)[mark.axis], mark.size(view.size)
    if here != wanted:
        name = view.node.outputs[index].name
        known = f"it is {here}" if isinstance(here, int) else "that is not known"
        raise Refused(f"its output {name} must have size {wanted} at axis {mark.axis}, and {known}")


# A condition for each sample


def _apart(view: BatchView, branches: Sequence[ir.Graph]) -> BatchAnswer:
    """Both branches, and for each sample the one that its condition says."""
    dims, mark = view.dims(0), view.mark(0)
    if view.size != 1 or mark is None or not mark.bare or any(dim != 1 for dim in dims):
        raise Refused("its condition is one for several samples together")
    if view.opset < 9:
        raise Refused("its condition differs from sample to sample, and a choice by that needs opset 9")
    for name, graph in zip(_BRANCHES, branches, strict=True):
        _check_total(view, name, graph)
    bodies = [followed(view, graph) for graph in branches]
    edits: list[Edit] = [edit for body in bodies for edit in body.edits]
    marks: list[Mark] = []
    for place in range(len(view.node.outputs)):
        one, other = (body.dims(place) for body in bodies)
        if one != other:
            raise Refused(
                "its condition differs from sample to sample, and its branches give "
                f"{_shown(one)} and {_shown(other)}, which cannot stand side by side"
            )
        home = next((found for body in bodies if (found := body.mark(place)) is not None), None)
        home = home or next((Mark(axis) for axis, dim in enumerate(one) if dim == 1), None)
        if home is None or not home.bare:
            raise Refused("its condition differs from sample to sample, and what it gives has no axis for them")
        for body in bodies:
            if body.mark(place) is not None:  # what all samples share is broadcast
                edits += carrying(view, body, place, home)
        marks.append(home)
    ranks = [len(bodies[0].dims(place)) for place in range(len(marks))]
    choice = _choice(view, branches, [*zip(marks, ranks, strict=True)])
    return BatchAnswer(tuple(marks), (*edits, choice), inside=found_inside(view, *bodies))


def _choice(view: BatchView, branches: Sequence[ir.Graph], homes: Sequence[tuple[Mark, int]]) -> Edit:
    node = view.node

    def apply(build: Rewriter) -> None:
        ends = [build.inline(node, graph) for graph in branches]
        chosen = []
        for (mark, rank), one, other in zip(homes, *ends, strict=True):
            along = build.integers([-1 if axis == mark.axis else 1 for axis in range(rank)])
            condition = build.insert(node, "Reshape", [view.value(0), along])
            chosen.append(build.insert(node, "Where", [condition, one, other]))
        build.replace_outputs(node, chosen)

    message = f"{view.label} chooses a branch by {view.value(0).name}, which differs from sample to sample"
    return view.edit(None, message, "If", "both branches, and a Where", apply)


def _check_total(view: BatchView, name: str, graph: ir.Graph) -> None:
    """Refuses a branch that must not run where its condition does not say so: it may fail, or draw numbers."""
    for node in graph:
        if node.domain not in ONNX or not _is_total(view, node):
            raise Refused(
                f"its condition differs from sample to sample, and {node.name or node.op_type} ({node.op_type}) in its "
                f"{name} cannot be run for samples that take the other one"
            )


def _is_total(view: BatchView, node: ir.Node) -> bool:
    """Whether a node runs whatever its tensors hold: all dims are numbers, and no sizes are read from data."""
    state, given = view.state, [value for value in node.inputs if value is not None]
    for value in (*given, *node.outputs):
        dims = state.dims(value)
        if dims is None or not all(isinstance(dim, int) for dim in dims) or state.dtype(value) in _NO_NUMBERS:
            return False
    if node.op_type == "Div":  # integers may not be divided by 0
        return state.dtype(given[0]) in _FLOATS
    if node.op_type in _BY_DIMS:
        return all(map(partial(_is_known, view), given[1:]))
    return node.op_type in _TOTAL and not (
        node.op_type in {"LSTM", "GRU", "RNN"} and len(node.inputs) > 4 and node.inputs[4] is not None
    )


def _is_known(view: BatchView, value: ir.Value) -> bool:
    held = view.state.integers(value)
    return held is not None and all(each is not None for each in held.flat)


def _shown(dims: Sequence[object]) -> str:
    return "[" + ", ".join(map(str, dims)) + "]"


# Loops


class _Carried(NamedTuple):
    """The values that a loop hands from turn to turn."""

    slots: range
    """The inputs of the node that they start as."""
    inside: Sequence[ir.Value]
    """What they are in the body."""
    ends: range
    """The outputs of the body that are the next ones."""


def _stable(view: BatchView, graph: ir.Graph, carried: _Carried, given: dict[ir.Value, Mark | None]) -> Body:
    """The body with the marks that hold in every turn: what one of them makes differ, differs in all."""
    own = dict(zip(carried.inside, (view.mark(slot) for slot in carried.slots), strict=True))
    while True:
        body = followed(view, graph, {**given, **own})
        after = {value: own[value] or body.mark(end) for value, end in zip(own, carried.ends, strict=True)}
        if after == own:
            return body
        own = after


def _carried_marks(view: BatchView, body: Body, carried: _Carried) -> tuple[list[Mark | None], list[Edit]]:
    """Where what is carried has N, and what makes it have N there from the start and after each turn."""
    marks = [body.state.marks.get(value) for value in carried.inside]
    edits: list[Edit] = []
    for slot, value, end, mark in zip(carried.slots, carried.inside, carried.ends, marks, strict=True):
        if mark is not None:
            dims = body.state.dims(value)
            if dims is None or mark.axis >= len(dims) or dims[mark.axis] != mark.size(view.size):
                raise Refused(f"{value.name}, which it carries, has not the size of the batch in every turn")
            if view.mark(slot) is None:
                edits.append(view.spread(slot, mark))
        edits += carrying(view, body, end, mark)
    return marks, edits


def _uneven(value: ir.Value) -> Refused:
    return Refused(f"how often it turns depends on the sample: {value.name} carries the batch")


def batch_loop(view: BatchView) -> Iterator[BatchAnswer]:
    """Loop: as many turns for all samples; what it gives for each turn has N one axis further."""
    for slot in (0, 1):
        if view.mark(slot) is not None:
            raise _uneven(view.value(slot))
    count = len(view.node.inputs) - 2
    if count < 0:
        raise Refused("it has neither a number of turns nor a condition")
    graph = _graph(view, "body", count + 2, max(count, len(view.node.outputs)) + 1)
    carried = _Carried(range(2, count + 2), graph.inputs[2:], range(1, count + 1))
    body = _stable(view, graph, carried, {})
    if body.mark(0) is not None:
        raise _uneven(graph.outputs[0])
    marks, edits = _carried_marks(view, body, carried)
    for place in range(count + 1, len(view.node.outputs) + 1):
        mark, output = body.mark(place), view.node.outputs[place - 1]
        dims = view.state.dims(output)
        if mark is not None and output.name and (dims is None or dims[mark.axis + 1] != mark.size(view.size)):
            raise Refused(f"whether it turns at all is not known, and if not, {output.name} has dims of its own")
        marks.append(None if mark is None else mark.at(mark.axis + 1))
    yield _answer(view, body, marks, edits)


def batch_scan(view: BatchView) -> Iterator[BatchAnswer]:
    """Scan: along an axis that is not the batch, so that each step sees all samples; or through the samples alone."""
    if view.opset < 9:
        raise Refused("before opset 9 it takes its inputs otherwise")
    node, steps = view.node, int(view.attribute("num_scan_inputs", 0))
    states = len(node.inputs) - steps
    if not 1 <= steps <= len(node.inputs):
        raise Refused(f"it steps through {steps} of its {len(node.inputs)} inputs")
    graph = _graph(view, "body", len(node.inputs), max(states, len(node.outputs)))
    axes = [
        counted(axis, view.rank(states + place)) for place, axis in enumerate(_listed(view, "scan_input_axes", steps))
    ]
    given: dict[ir.Value, Mark | None] = {}
    for slot, along in enumerate(axes, states):
        mark = view.mark(slot)
        if mark is not None and mark.axis == along:
            yield _one_by_one(view, graph, axes)
            return
        if mark is not None:
            given[graph.inputs[slot]] = mark.at(mark.axis - (along < mark.axis))
    carried = _Carried(range(states), graph.inputs[:states], range(states))
    body = _stable(view, graph, carried, given)
    for value, end in zip(carried.inside, carried.ends, strict=True):
        before, after = body.state.dims(value), body.state.dims(graph.outputs[end])
        if before is not None and after is not None and before != after:  # no Scan, though engines may let it pass
            raise Refused(
                f"its state {value.name} has dims {_shown(before)} before a step and {_shown(after)} after it"
            )
    marks, edits = _carried_marks(view, body, carried)
    for place, axis in enumerate(_listed(view, "scan_output_axes", len(graph.outputs) - states)):
        mark = body.mark(states + place)
        if mark is not None:
            mark = mark.at(mark.axis + (counted(axis, len(body.dims(states + place)) + 1) <= mark.axis))
        marks.append(mark)
    yield _answer(view, body, marks, edits)


def _one_by_one(view: BatchView, graph: ir.Graph, axes: Sequence[int]) -> BatchAnswer:
    """A step for each sample: nothing goes from one to the next, and what each gives has its place."""
    states = len(view.node.inputs) - len(axes)
    for slot, along in enumerate(axes, states):
        if view.mark(slot) != Mark(along):
            raise Refused(
                f"it steps through the samples, and {view.value(slot).name} has them elsewhere, or not at all"
            )
    name = view.value(states).name
    if states:
        raise Refused(f"it steps along axis {axes[0]} of {name}, which is {view.batch}, with a state", mixes=True)
    state = view.state
    if any(value in state.marks or value in state.sized for value in inside(view.node)):
        raise Refused(f"it steps through the samples of {name}, and each step reads all of them", mixes=True)
    given = _listed(view, "scan_output_axes", len(graph.outputs))
    turned = {*_listed(view, "scan_input_directions", len(axes))}
    if len(turned.union(_listed(view, "scan_output_directions", len(graph.outputs)))) > 1:
        raise Refused(f"it steps through the samples of {name}, and gives them in another order", mixes=True)
    body = followed(view, graph)
    marks = [Mark(counted(axis, len(body.dims(place)) + 1)) for place, axis in enumerate(given)]
    return _answer(view, body, marks, ())


def _answer(view: BatchView, body: Body, marks: Sequence[Mark | None], edits: Sequence[Edit]) -> BatchAnswer:
    marks = tuple(marks[: len(view.node.outputs)])
    for index, mark in enumerate(marks):
        _check_output(view, index, mark)
    return BatchAnswer(marks, (*body.edits, *edits), inside=found_inside(view, body))


def _listed(view: BatchView, name: str, count: int) -> list[int]:
    found = view.attribute(name)
    if found is not None and len(found) != count:
        raise Refused(f"its {name} are {len(found)} for {count} tensors")
    return [0] * count if found is None else [int(axis) for axis in found]
