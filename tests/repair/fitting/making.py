"""What the tests of families share: the nodes of a fit, run; and a family of counts that stands for all leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, agrees, dims_at
from onereshape.rule.sizes import Size
from tests.running import session


def exported(
    make: Callable[..., Array], dims: tuple[Size, ...], *bindings: Binding, known: tuple[Size, ...] = ()
) -> Exported:
    """A constant of each of several exports, made from their sizes."""
    return Exported(tuple(make(**binding) for binding in bindings), bindings, dims, known)


def run(fit: Fit, binding: Binding, opset: int = 18) -> Array:
    """What the nodes of a fit compute."""
    names = sorted(binding)
    inputs = [
        ir.Value(name=f"in_{name}", shape=ir.Shape([None]), type=ir.TensorType(ir.DataType.FLOAT)) for name in names
    ]
    graph = ir.Graph(inputs, [], nodes=[], opset_imports={"": opset}, name="g")
    model = ir.Model(graph, ir_version=8)
    writer = Rewriter(model, {name: (f"in_{name}", 0) for name in names})
    value = fit.make(writer)
    made = ir.Node("", "Identity", [value], num_outputs=1)
    graph.append(made)
    out = made.outputs[0]
    out.name = "out"
    graph.outputs.append(out)
    array = fit.at(binding)
    out.type, out.shape = ir.TensorType(ir.DataType.from_numpy(array.dtype)), ir.Shape([None] * array.ndim)
    feeds = {f"in_{name}": np.zeros(size, np.float32) for name, size in binding.items()}
    found: Array = session(model, optimized=True).run(None, feeds)[0]
    return found


def counts(exported: Exported) -> Fit | None:
    """A start plus a step along each axis that grows; what is the same all along has no step."""
    first = exported.arrays[0]
    if first.dtype.kind == "b":
        return None
    corner = tuple(slice(0, 1) if axis in exported.growing else slice(None) for axis in range(first.ndim))
    base = first[corner]
    steps = {}
    for axis in exported.growing:
        longest = max(exported.arrays, key=lambda array, axis=axis: array.shape[axis])  # type: ignore[misc]
        if longest.shape[axis] < 2:
            return None
        second = tuple(slice(1, 2) if other == axis else part for other, part in enumerate(corner))
        steps[axis] = longest[second] - longest[corner]

    def at(binding: Binding) -> Array:
        shape = dims_at(exported.dims, binding)
        found = np.broadcast_to(base, shape).astype(first.dtype)
        for axis, step in steps.items():
            along = [-1 if other == axis else 1 for other in range(first.ndim)]
            found = found + step * np.arange(shape[axis]).astype(first.dtype).reshape(along)
        return found.astype(first.dtype)

    def make(writer: Rewriter) -> ir.Value:
        value = writer.front("Expand", [writer.constant(base), writer.vector(exported.dims)])
        for axis, step in steps.items():
            along = [-1 if other == axis else 1 for other in range(first.ndim)]
            kind = int(ir.DataType.from_numpy(first.dtype))
            numbers = writer.front("Cast", [writer.count(exported.dims[axis])], {"to": kind})
            numbers = writer.front("Reshape", [numbers, writer.integers(along)])
            value = writer.front("Add", [value, writer.front("Mul", [numbers, writer.constant(step)])])
        return value

    fit = Fit("counts", at, make)
    return fit if agrees(fit, exported) else None
