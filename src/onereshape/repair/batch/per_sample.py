"""A model run sample by sample: one Scan over the batch, and in its body the whole graph for one sample.

It is right whatever the graph does, since each sample is all there is when it is run; and it is slow, since nothing is
calculated for several of them at once.  What depends on other inputs alone stays outside, and is calculated once.
Constants that only the body reads are in it, so that an engine prepares them there as it did before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import domain_of, opset_of, subgraphs
from onereshape.graphs.backtracking import used
from onereshape.graphs.edit import Change, declare
from onereshape.graphs.rewrite import Rewriter
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import FixError
from onereshape.rule.sizes import Size, depends, symbol as size_named

_FIRST_SCAN = 9
"""The opset since which a Scan goes along any axis of its inputs."""
_AXES_ARE_INPUTS = 13
"""The opset since which Squeeze and Unsqueeze take their axes as an input."""


@dataclass(frozen=True, slots=True)
class Stacked:
    """An output, and where its samples lie side by side."""

    value: ir.Value
    axis: int
    dims: tuple[int | None, ...]
    """What is known of its dims for one sample."""
    inner: int = 1
    """What a sample has on that axis: 1, or all that its axis 0 had where no axis was of size 1."""
    rest: tuple[int, ...] = ()
    """The dims after axis 0, where that is so."""
    new: bool = False
    """Whether the axis is a new one, ahead of those that a sample has."""

    words: tuple[str, ...] = ()
    """Its dims for one sample, as they are said."""

    def note(self, symbol: str) -> str:
        """The note on an output with a new axis: `output y is [N, 8], with a new axis for the batch ...`"""
        after, before = [symbol, *self.words], [f"{first}*{symbol}" for first in self.words[:1]]
        other = (
            f" (--no-new-axis: [{', '.join([*before, *self.words[1:]])}])" if before and None not in self.dims else ""
        )
        name = self.value.name
        return f"output {name} is [{', '.join(after)}], with a new axis for the batch that one sample had not{other}"


@dataclass(frozen=True, slots=True)
class PerSample:
    """A decided Scan over the batch."""

    axes: Mapping[str, int]
    symbol: str
    nodes: tuple[ir.Node, ...]
    """What runs once for each sample, in the order of the graph."""
    stacked: tuple[Stacked, ...]
    """The outputs of the model that these nodes make."""
    doubts: tuple[str, ...]
    """Outputs whose dims may be others for another sample, as far as shapes tell."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is said of outputs that get a new axis."""
        return tuple(each.note(self.symbol) for each in self.stacked if each.new)

    @property
    def changes(self) -> tuple[Change, ...]:
        """The one change that is reported: so many nodes run once for each sample, in a Scan."""
        name, axis = next(iter(self.axes.items()))
        places = ", ".join(f"{each.value.name} at axis {each.axis}" for each in self.stacked)
        message = f"{len(self.nodes)} nodes run once for each of {self.symbol} samples, which then stand in {places}"
        after = f"Scan over {self.symbol}"
        return (
            Change("per-sample", "graph", "graph", name, f"axis {axis} of input {name}", message, "one sample", after),
        )


def per_sample_plan(
    model: ir.Model, axes: Mapping[str, int], symbol: str, size: int, *, new_axis: bool = True
) -> PerSample:
    """Decides what runs sample by sample, and where the outputs carry N; changes nothing.

    `new_axis`: an output that has no axis for its sample gets one, else samples follow one another along axis 0.
    """
    graph = model.graph
    inputs = {value.name or "": value for value in graph.inputs}
    first = next(iter(axes))
    if size != 1:
        why = f"--per-sample runs a model of one sample N times, and this one takes {size} at once"
        raise FixError("cannot-free", node=first, op="input", why=why)
    if opset_of(graph) < _FIRST_SCAN:
        why = (
            f"--per-sample needs a Scan along any axis, which opset {_FIRST_SCAN} has, and the model is of opset "
            f"{opset_of(graph)}: convert it first (onereshape convert --to onnx-{_AXES_ARE_INPUTS})"
        )
        raise FixError("cannot-free", node=first, op="input", why=why)
    nodes = _inside(graph, {inputs[name] for name in axes})
    made = {value for node in nodes for value in node.outputs}
    outputs = [value for value in graph.outputs if value in made]
    if not outputs:
        why = "no output of the model depends on it"
        raise FixError("cannot-free", node=first, op="input", why=why)
    stacked, doubts = _stacking(model, axes, symbol, outputs, new_axis=new_axis)
    return PerSample(axes, symbol, tuple(nodes), stacked, doubts)


def _inside(graph: ir.Graph, batched: set[ir.Value]) -> list[ir.Node]:
    """The nodes that a sample reaches, and those that make constants for nobody else, in the order of the graph."""
    ours = _reached(graph, batched)
    fed = _reached(graph, {value for value in graph.inputs if not value.is_initializer()})
    readers = _readers(graph)
    for node in reversed(list(graph)):
        if node not in fed and not any(value.is_graph_output() for value in node.outputs):
            users = set[ir.Node]().union(*(readers.get(value, ()) for value in node.outputs))
            if users and users <= ours:
                ours.add(node)
    return [node for node in graph if node in ours]


def _reached(graph: ir.Graph, values: set[ir.Value]) -> set[ir.Node]:
    """The nodes of a graph that are calculated from `values`, directly or through other nodes."""
    known, found = set(values), set[ir.Node]()
    for node in graph:
        if any(value in known for value in used(node)):
            found.add(node)
            known.update(node.outputs)
    return found


def _readers(graph: ir.Graph) -> dict[ir.Value, set[ir.Node]]:
    """Value -> the nodes of a graph that read it, by themselves or in the graphs inside them."""
    found: dict[ir.Value, set[ir.Node]] = {}
    for node in graph:
        for value in used(node):
            if value is not None:
                found.setdefault(value, set()).add(node)
    return found


def _stacking(
    model: ir.Model, axes: Mapping[str, int], symbol: str, outputs: Sequence[ir.Value], *, new_axis: bool
) -> tuple[tuple[Stacked, ...], tuple[str, ...]]:
    """Each output with the axis of its samples, and the names of outputs whose dims may differ between samples."""
    one = facts_of(model, {name: {axis: 1} for name, axis in axes.items()})
    many = facts_of(model, {name: {axis: symbol} for name, axis in axes.items()})
    batch, found, doubts = size_named(symbol), list[Stacked](), list[str]()
    for value in outputs:
        if isinstance(value.type, ir.SequenceType | ir.OptionalType):
            why = "it is no tensor, so that those of several samples cannot be put side by side"
            raise FixError("cannot-free", node=value.name, op="output", why=why)
        dims = one.sizes.get(value)
        if dims is None or any(depends(size, one.unnamed) for size in dims):
            doubts.append(value.name or "")
        if dims is None:
            if value.shape is None:
                why = "its rank is not known, so neither is the axis on which samples could be put side by side"
                raise FixError("cannot-free", node=value.name, op="output", why=why)
            dims = tuple(dim if isinstance(dim, int) else size_named("?") for dim in value.shape)
        if not dims and not new_axis:
            why = "it has no axis on which samples could be put side by side"
            raise FixError("cannot-free", node=value.name, op="output", why=why)
        grown = [axis for axis, size in enumerate(many.sizes.get(value, ())) if size == batch]
        grown += _named(value, symbol)
        states = _states(model.graph, axes, dims)
        words = tuple(one.in_words(str(size)) for size in dims)
        found.append(replace(_place(value, dims, grown, states, new_axis=new_axis), words=words))
    return tuple(found), tuple(doubts)


def _place(
    value: ir.Value, dims: Sequence[Size], grown: Sequence[int], states: Sequence[int], *, new_axis: bool
) -> Stacked:
    """The axis of an output: that which is N in the model, a state's, the first of size 1, a new one or axis 0."""
    ones = [axis for axis, size in enumerate(dims) if size == 1]
    known = tuple(size if isinstance(size, int) else None for size in dims)
    open_ = {axis for axis, size in enumerate(dims) if not isinstance(size, int)}
    likely = [axis for axis in grown if axis in open_ or axis in ones]
    likely += [axis for axis in (*states, *ones) if axis in ones]
    if likely:
        return Stacked(value, likely[0], known)
    if new_axis:
        return Stacked(value, 0, known, new=True)
    numbers = [size for size in dims if isinstance(size, int) and size > 0]
    if len(numbers) < len(dims):
        why = "it has no axis of size 1 on which samples could be put side by side, and its dims are not all known"
        raise FixError("cannot-free", node=value.name, op="output", why=why)
    return Stacked(value, 0, known, numbers[0], tuple(numbers[1:]))


def _named(value: ir.Value, symbol: str) -> Iterator[int]:
    """The axes that a value declares to be N."""
    for axis, dim in enumerate(value.shape or ()):
        if isinstance(dim, ir.SymbolicDim) and dim.value == symbol:
            yield axis


def _states(graph: ir.Graph, axes: Mapping[str, int], dims: Sequence[Size]) -> list[int]:
    """The batch axes of inputs with the same dims, beyond axis 0: what a model takes in again carries N alike."""
    found = []
    for value in graph.inputs:
        axis = axes.get(value.name or "", 0)
        shape = list(value.shape or ())
        if axis and len(shape) == len(dims):
            others = [(mine, own) for place, (mine, own) in enumerate(zip(shape, dims, strict=True)) if place != axis]
            if all(mine == own for mine, own in others if isinstance(mine, int)):
                found.append(axis)
    return found


def apply_per_sample(model: ir.Model, plan: PerSample) -> None:
    """Rewrites the model, of which the plan was made, in place."""
    graph, build = model.graph, Rewriter(model)
    called = build.unused("onereshape/samples")  # while the graph still has all names
    graph.remove(plan.nodes)
    lanes = [value for value in graph.inputs if value.name in plan.axes and _is_read(value, plan.nodes)]
    slices, before = list[ir.Value](), list[ir.Node]()
    for value in lanes:
        slice_, node = _entered(build, value, plan.axes[value.name or ""])
        _replace(plan.nodes, value, node.outputs[0])
        slices.append(slice_)
        before.append(node)
    for inner in (each for node in plan.nodes for each in _values(node)):
        declare(inner, dict.fromkeys(_named(inner, plan.symbol), 1))
    outer = [_outside(build, each.value) for each in plan.stacked]
    ends, after, shapes = list[ir.Value](), list[ir.Node](), list[ir.Shape]()
    for each in plan.stacked:
        left = _left(build, each)
        after += left
        ends.append(left[0].outputs[0] if left else each.value)
        dims = each.dims if not left else (*each.dims[: each.axis], *each.dims[each.axis + 1 :])
        shapes.append(ir.Shape(dims))
    body = ir.Graph(slices, ends, nodes=[*before, *plan.nodes, *after], name=build.unused("onereshape/sample"))
    attributes = [
        ir.AttrGraph("body", body),
        ir.AttrInt64("num_scan_inputs", len(lanes)),
        ir.AttrInt64s("scan_input_axes", [plan.axes[lane.name or ""] for lane in lanes]),
        ir.AttrInt64s("scan_output_axes", [each.axis for each in plan.stacked]),
    ]
    scan = ir.Node(domain_of(graph), "Scan", lanes, attributes, name=called, outputs=outer)
    graph.append(scan)
    _hand_over(graph, scan, body)
    for each, value in zip(plan.stacked, outer, strict=True):
        _declared(each, value, plan.symbol)
        if each.inner != 1:
            _joined(build, scan, each, value)
    for end, shape in zip(ends, shapes, strict=True):
        end.shape = shape  # onnxruntime asks for those of a body's outputs
    for value in graph.inputs:
        declare(value, {axis: plan.symbol for name, axis in plan.axes.items() if name == value.name})


def _outside(build: Rewriter, value: ir.Value) -> ir.Value:
    """What is in the place of an output that is made in the body, under its name."""
    found = ir.Value(name=value.name, type=value.type)
    value.name = build.unused(f"{value.name}/sample")
    for index, output in enumerate(build.graph.outputs):
        if output is value:
            build.graph.outputs[index] = found
    return found


def _hand_over(graph: ir.Graph, scan: ir.Node, body: ir.Graph) -> None:
    """Moves the constants that only the body reads into it."""
    readers = _readers(graph)
    for name, value in [*graph.initializers.items()]:
        if readers.get(value) == {scan} and not value.is_graph_input() and not value.is_graph_output():
            del graph.initializers[name]
            body.register_initializer(value)


def _values(node: ir.Node) -> Iterator[ir.Value]:
    """The values that a node makes, in the graphs inside it too."""
    yield from node.outputs
    for _, graph in subgraphs(node):
        for inner in graph.all_nodes():
            yield from inner.outputs


def _is_read(value: ir.Value, nodes: Sequence[ir.Node]) -> bool:
    return any(value is each for node in nodes for each in used(node))


def _replace(nodes: Sequence[ir.Node], old: ir.Value, new: ir.Value) -> None:
    """Has the nodes, and the graphs inside them, read another value."""
    for user, index in tuple(old.uses()):
        user.replace_input_with(index, new)
    for node in nodes:
        for _, graph in subgraphs(node):
            for inner in (graph, *graph.subgraphs()):
                for index, value in enumerate(inner.outputs):
                    if value is old:
                        inner.outputs[index] = new


def _entered(build: Rewriter, value: ir.Value, axis: int) -> tuple[ir.Value, ir.Node]:
    """What a Scan hands to its body of an input, and the node that makes a batch of one of it."""
    dims = list(value.shape or ())
    slice_ = ir.Value(name=build.unused(f"{value.name}/one"), type=value.type)
    slice_.shape = ir.Shape([*dims[:axis], *dims[axis + 1 :]])
    node = _with_axis(build, "Unsqueeze", slice_, axis)
    node.outputs[0].shape = ir.Shape([*dims[:axis], 1, *dims[axis + 1 :]])
    return slice_, node


def _left(build: Rewriter, each: Stacked) -> list[ir.Node]:
    """The node that takes the axis of the sample away, where the Scan makes a new one there."""
    return [] if each.new or each.inner != 1 else [_with_axis(build, "Squeeze", each.value, each.axis)]


def _with_axis(build: Rewriter, op: str, value: ir.Value, axis: int) -> ir.Node:
    """A Squeeze or an Unsqueeze of one axis."""
    domain = domain_of(build.graph)
    name = build.unused(f"onereshape/{op}")
    if build.opset >= _AXES_ARE_INPUTS:
        node = ir.Node(domain, op, [value, build.integers([axis])], name=name)
    else:
        node = ir.Node(domain, op, [value], [ir.AttrInt64s("axes", [axis])], name=name)
    node.outputs[0].name, node.outputs[0].type = name, value.type
    return node


def _declared(each: Stacked, value: ir.Value, name: str) -> None:
    """Declares an output as the original did, with N at its place; what was declared with another rank was wrong."""
    shape, each.value.shape = each.value.shape, None
    if shape is None or len(shape) != len(each.dims):
        return
    if each.new:
        value.shape = ir.Shape([ir.SymbolicDim(name), *shape])
        return
    value.shape = ir.Shape(list(shape))
    inner = "" if each.inner == 1 else f"{each.inner}*"
    declare(value, {each.axis: f"{inner}{name}"})


def _joined(build: Rewriter, scan: ir.Node, each: Stacked, value: ir.Value) -> None:
    """The samples of an output that had no axis for them, one after another along its axis 0."""
    name = value.name
    value.name = build.unused(f"{name}/samples")
    node = ir.Node(domain_of(build.graph), "Reshape", [value, build.integers([-1, *each.rest])])
    node.name = build.unused("onereshape/Reshape")
    last = node.outputs[0]
    last.name, last.type, last.shape, value.shape = name, value.type, value.shape, None
    build.graph.insert_after(scan, node)
    for index, output in enumerate(build.graph.outputs):
        if output is value:
            build.graph.outputs[index] = last
