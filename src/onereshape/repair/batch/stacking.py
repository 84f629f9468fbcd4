"""A new first axis for outputs that an export of one sample has without a batch.

A squeeze or a flatten at batch 1 leaves no axis for N: the rules put it inside another one, `[8]` becomes `[8*N]`.
What people expect is one sample's output N times along an axis of its own, `[N, 8]`; where its first axis is 1 for one
sample, `[1, 10, 16]`, along that one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.graphs.batch_rules.marks import Mark, marked, times
from onereshape.graphs.edit import Edit
from onereshape.graphs.rewrite import Rewriter
from onereshape.graphs.words import constant_words
from onereshape.repair.batch.dropping import Cut
from onereshape.repair.batch.search import BatchPlan
from onereshape.rule.sizes import Size, depends, symbol

_RESHAPE = 5
"""The opset from which a Reshape takes its target as an input."""


class Stacked(NamedTuple):
    """An output with its samples along a new axis 0."""

    name: str
    before: str
    """Its dims without a new axis, `[8*N]`; "" where the output was cut off."""
    after: str
    """Its dims now, `[N, 8]`."""
    rank: int
    """The rank of the output of one sample."""
    first: bool = False
    """Whether its own axis 0, which is 1 for one sample, has the samples instead."""

    @property
    def note(self) -> str:
        """The note on the output: `output y is [N, 8], with a new axis for the batch that one sample had not`."""
        other = f" (--no-new-axis: {self.before})" if self.before else ""
        if self.first:
            return f"output {self.name} is {self.after}, with the batch at its axis of 1{other}"
        return f"output {self.name} is {self.after}, with a new axis for the batch that one sample had not{other}"


def stacked(
    model: ir.Model, plan: BatchPlan, opset: int, cuts: Mapping[str, Cut]
) -> tuple[BatchPlan, dict[str, Stacked]] | None:
    """The plan with a new axis for every output that has none, of a model of one sample; and those outputs.

    None where an output that was cut off gets none.
    """
    found: dict[str, Stacked] = {}
    edits: list[Edit] = []
    for place, value in enumerate(model.graph.outputs if plan.size == 1 and opset >= _RESHAPE else ()):
        mark, dims, maker = plan.marks.get(value), plan.dims.get(value), value.producer()
        name, batch = value.name or "", symbol(plan.symbol)
        gone = cuts.get(name)
        if mark is None or (mark.bare and gone is None) or dims is None or maker is None:
            continue
        if sum(each is value for each in model.graph.outputs) > 1:
            continue
        sample, shape = (dims, value.shape) if gone is None else gone
        first = gone is None and dims[0] == 1 and (shape is None or shape[0] == 1)
        whole = (batch, *sample[first:])
        steps = _steps(dims, mark, whole, plan.symbol)
        if steps is None:
            continue
        declared = None if shape is None else ir.Shape([ir.SymbolicDim(plan.symbol), *shape[first:]])
        edits.append(Edit((), _application(place, steps, plan.symbol, declared, len(sample)), maker, None))
        before = "" if gone is not None else plan.facts.in_words(_shown(marked(dims, mark, batch)))
        found[name] = Stacked(name, before, plan.facts.in_words(_shown(whole)), len(sample), first)
    if not cuts.keys() <= found.keys():
        return None
    return (replace(plan, edits=(*plan.edits, *edits)) if edits else plan), found


StackStep = tuple[str, list[Any]]
"""A Reshape to these sizes, a Transpose, or axis 0 split into N and the rest, whatever the other dims are."""


def _steps(dims: tuple[Size, ...], mark: Mark, whole: tuple[Size, ...], called: str) -> list[StackStep] | None:
    """What brings N to the front; None where no target says it."""
    batch = symbol(called)
    live = marked(dims, mark, batch)
    before = times(*dims[: mark.axis], mark.outer)
    if before == 1:  # N is outermost already
        target = _target(live, whole, called)
        if target is None:
            return [("split", [])] if mark.axis == 0 and whole[1:] == dims else None
        return [("Reshape", target)]
    apart = (*dims[: mark.axis], mark.outer, batch, mark.inner, *dims[mark.axis + 1 :])
    home = mark.axis + 1
    order = [home, *(axis for axis in range(len(apart)) if axis != home)]
    first, last = _target(live, apart, called), _target([apart[axis] for axis in order], whole, called)
    if first is None or last is None:
        return None
    return [("Reshape", first), ("Transpose", order), ("Reshape", last)]


def _target(data: Sequence[Size], wanted: Sequence[Size], called: str) -> list[Size] | None:
    """The target of a Reshape of `data` to `wanted`, `[12*N], [N, 12] -> [-1, 12]`; None if it cannot be said.

    Constants if they can say it, else N computed and one other size as -1: `[4*N, S], [N, 4, S] -> [N, 4, -1]`.
    """
    words = constant_words(data, wanted, zero_copies=True)
    if words is not None:
        return [*words]
    if 0 in wanted:
        return None
    others = [axis for axis, size in enumerate(wanted) if not isinstance(size, int) and size != symbol(called)]
    if len(others) > 1 or any(depends(wanted[axis], (called,)) for axis in others):
        return None
    return [-1 if axis in others else size for axis, size in enumerate(wanted)]


def _application(
    place: int, steps: list[StackStep], called: str, declared: ir.Shape | None, rank: int
) -> Callable[[Rewriter], None]:
    def apply(build: Rewriter) -> None:
        value = new = build.graph.outputs[place]
        for op, how in steps:
            if op == "Reshape":
                new = build.after(new, op, [new, build.vector(how)])
            elif op == "split":
                new = _split(build, new, called, rank)
            else:
                new = build.after(new, op, [new], {"perm": how})
        new.shape, new.type = declared, value.type
        value.name, new.name = new.name, value.name
        build.graph.outputs[place] = new

    return apply


def _split(build: Rewriter, value: ir.Value, called: str, rank: int) -> ir.Value:
    """The value with axis 0 as two, N and the rest; the other dims are read from itself."""
    shape = build.after(value, "Shape", [value])
    parts = [build.size(symbol(called)), build.integers([-1])]
    last = shape
    if rank > 1:
        last = build.after(shape, "Gather", [shape, build.integers([*range(1, rank)])], {"axis": 0})
        parts.append(last)
    return build.after(target := build.after(last, "Concat", parts, {"axis": 0}), "Reshape", [value, target])


def _shown(dims: Sequence[Size]) -> str:
    return f"[{', '.join(map(str, dims))}]"
