"""Exports of one constant for the tests of the families, and what the nodes of a fit compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.graphs.rewrite import Rewriter
from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Binding, Exported, Fit, alike, dims_at
from onereshape.rule.sizes import Size
from tests.running import session

OPSETS = (11, 13, 17)


def exported(true: Callable[..., Array], dims: Sequence[Size], *bindings: Mapping[str, int]) -> Exported:
    """The constant that a function of the sizes gives, in these exports."""
    return Exported(tuple(true(*binding.values()) for binding in bindings), bindings, tuple(dims))


def computed(fit: Fit, binding: Binding, opset: int, kind: np.dtype[Any]) -> Array:
    """What the nodes of a fit compute in a model whose input has a dim of each name."""
    names = list(binding)
    source = ir.Value(name="x", shape=ir.Shape(names), type=ir.TensorType(ir.DataType.FLOAT))
    idle = ir.node("Identity", [source])
    idle.outputs[0].name = "y"
    graph = ir.Graph([source], [idle.outputs[0]], nodes=[idle], opset_imports={"": opset}, name="g")
    model = ir.Model(graph, ir_version=7)
    value = fit.make(Rewriter(model, {name: ("x", axis) for axis, name in enumerate(names)}))
    last = ir.node("Identity", [value])
    last.outputs[0].name = "out"
    last.outputs[0].type = ir.TensorType(ir.DataType.from_numpy(kind))
    graph.append(last)
    graph.outputs.append(last.outputs[0])
    shape = [binding[name] for name in names]
    return np.asarray(session(model, optimized=True).run(["out"], {"x": np.zeros(shape, np.float32)})[0])


def holds(fit: Fit | None, case: Exported, true: Callable[..., Array], *others: Mapping[str, int]) -> Fit:
    """A fit that is right at other sizes, calculated by NumPy and by the nodes alike."""
    assert fit is not None
    for binding in (*case.bindings, *others):
        wanted = true(*binding.values())
        found = fit.at(binding)
        assert found.shape == dims_at(case.dims, binding)
        assert alike(found, wanted), (binding, found, wanted)
        plain = np.abs(wanted.astype(np.float64)) < 1e30  # beside the lowest number everything is alike
        assert alike(found[plain], wanted[plain]), (binding, found, wanted)
        for opset in OPSETS:
            assert alike(computed(fit, binding, opset, wanted.dtype), found), (binding, opset)
    return fit


def spoilt(case: Exported, place: tuple[int, ...] = (-1,), which: int = 1, more: Any = 1) -> Exported:
    """The same with one entry of one export changed, the last one if no place is given."""
    arrays = list(case.arrays)
    array = arrays[which].copy()
    where = place if len(place) == array.ndim else (-1,) * array.ndim
    array[where] = not array[where] if array.dtype.kind == "b" else array[where] + more
    arrays[which] = array
    return case._replace(arrays=tuple(arrays))


def drawn(dims: Sequence[Size], *bindings: Mapping[str, int], seed: int = 0) -> Exported:
    """Weights: the same numbers without any order in each export, as far as it goes."""
    most = np.max([dims_at(tuple(dims), binding) for binding in bindings], axis=0)
    table = np.random.default_rng(seed).normal(size=most).astype(np.float32)
    cuts = [table[tuple(map(slice, dims_at(tuple(dims), binding)))].copy() for binding in bindings]
    return Exported(tuple(cuts), bindings, tuple(dims))
