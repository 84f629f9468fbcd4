"""Where the batch goes through branches: If.

A condition that all samples share takes them all the same way.  One that each sample has for itself becomes a choice
between both branches, sample by sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.graphs.batch_rules.bodies import BatchBody, carrying, followed, found_inside
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter

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
    branches = [graph_of(view, name, 0, len(view.node.outputs)) for name in _BRANCHES]
    if view.mark(0) is not None:
        yield _apart(view, branches)
        return
    taken = view.integers(0)
    if taken is not None and len(taken) == 1:
        branches = branches[:1] if taken[0] else branches[1:]
    bodies = [followed(view, graph) for graph in branches]
    marks, edits = _agreed(view, bodies)
    for index, mark in enumerate(marks):
        check_output(view, index, mark)
    yield BatchAnswer(tuple(marks), edits, inside=found_inside(view, *bodies))


def graph_of(view: BatchView, name: str, inputs: int, outputs: int) -> ir.Graph:
    """A graph inside a node, which has so many inputs, and outputs for all that are asked for."""
    graph = view.attribute(name)
    if not isinstance(graph, ir.Graph) or len(graph.inputs) != inputs or len(graph.outputs) < outputs:
        raise Refused(f"its {name} has not the inputs and outputs that it needs")
    return graph


def _agreed(view: BatchView, bodies: Sequence[BatchBody]) -> tuple[list[Mark | None], tuple[Edit, ...]]:
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


def check_output(view: BatchView, index: int, mark: Mark | None) -> None:
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
    """An If with a condition for each sample: both branches are run, and a Where picks by the condition."""
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
                f"{shown(one)} and {shown(other)}, which cannot stand side by side"
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


def shown(dims: Sequence[object]) -> str:
    """Dims in a message."""
    return "[" + ", ".join(map(str, dims)) + "]"
