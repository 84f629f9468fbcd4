"""case(seed): a hostile graph and how to draw its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.hostile import (  # noqa: F401 - they enter their makers
    contractions,
    contributed,
    control,
    features,
    filling,
    indexing,
    layout,
    lists,
    pointwise,
    sequences,
    shipped,
    signals,
    spatial,
    texts,
)
from tests.hostile.dice import Dice
from tests.hostile.engine import Array, Engine, Failed, type_of
from tests.hostile.givens import Given, Said, drawn
from tests.hostile.makers import MAKERS, makes
from tests.hostile.quirks import captured
from tests.hostile.sketch import Misfit, Sketch, Value

OPSETS = {
    9: 2,
    10: 2,
    11: 3,
    12: 3,
    13: 3,
    14: 2,
    15: 1,
    16: 2,
    17: 3,
    18: 4,
    19: 2,
    20: 2,
    21: 3,
    22: 2,
    23: 2,
    24: 2,
    25: 2,
}
_TRIES = 70
WILD = frozenset("NonZero Unique EyeLike MaxRoiPool MaxUnpool NonMaxSuppression".split())
"""Operators that few samples survive: not in a graph that is to be freed."""


@dataclass(frozen=True, slots=True)
class Case:
    """A graph, and what a judge must know of it."""

    seed: int
    proto: Any
    givens: Mapping[str, Given]
    size: int
    """Samples that one run of the original takes; 1 where the file does not say."""
    named: Mapping[str, int]
    """The sizes that the named dims had when the graph was made."""
    batch_said: Said
    random: bool
    """Whether the answers are drawn by the graph itself."""

    @property
    def batch(self) -> dict[str, int]:
        """Where the samples are, by input."""
        return {name: each.axis for name, each in self.givens.items() if each.axis is not None}

    @property
    def ops(self) -> list[str]:
        nodes = self.proto.graph.node
        return [f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in nodes]

    def draw(self, rng: np.random.Generator, samples: int, sizes: Mapping[str, int]) -> dict[str, list[Array]]:
        """The inputs of so many samples, apart."""
        return {name: drawn(rng, each, samples, sizes) for name, each in self.givens.items()}

    def feed(self, parts: Mapping[str, list[Array]], samples: list[int]) -> dict[str, Array]:
        """Inputs that hold some of the samples."""
        fed = {}
        for name, given in self.givens.items():
            if given.axis is None:
                fed[name] = parts[name][0]
            elif samples:
                fed[name] = np.concatenate([parts[name][sample] for sample in samples], given.axis)
            else:
                fed[name] = np.take(parts[name][0], [], given.axis)
        return fed


def case(seed: int) -> Case:
    """The graph of a seed."""
    attempt = 0
    while True:
        found = _case(seed, Dice(seed, attempt))
        try:
            Engine(found.proto)
        except Failed:  # the engine takes each operator, but not all together
            attempt += 1
            continue
        return found


def _case(seed: int, dice: Dice) -> Case:
    g = Sketch(dice, dice.weighed(OPSETS), dice.pick([1, 1, 1, 2, 2, 3, 4]))
    style = dice.weighed({"number": 6, "name": 3, "none": 0.7})
    said: dict[str, Said] = {"number": g.size, "name": dice.pick(["N", "batch", "B"]), "none": None}
    g.batch_said = said[style]
    g.naming = dice.pick([0, 0, 0, 0.5, 1]) if style == "number" else dice.pick([0, 0, 0.3, 1])
    _begin(g)
    wanted = dice.number(2, 12)
    for _ in range(_TRIES):
        if sum(node.op_type not in {"Constant", "Shape"} for node in g.nodes) >= wanted:
            break
        _step(g)
    return Case(seed, _model(g), dict(g.givens), g.size, dict(g.named), g.batch_said, g.random)


def _begin(g: Sketch) -> None:
    """The first inputs."""
    dice = g.dice
    for number in range(dice.pick([1, 1, 1, 2])):
        rank = dice.pick([1, 2, 2, 3, 3, 3, 4, 4, 4])
        axis = 0 if dice.chance(0.5) else dice.number(0, rank - 1)
        dims = [g.size if place == axis else dice.pick([1, 2, 3, 4, 4, 6]) for place in range(rank)]
        dtype = np.float32 if number == 0 else dice.pick([np.float32, np.float32, np.int64, np.bool_, np.float64])
        value = g.given(dice.constant(dims, dtype), axis)
        g.keep(value)
    if dice.chance(0.3):
        table(g, "Constant")


@makes("Constant", weight=1.5)
def table(g: Sketch, _: str) -> None:
    """A constant that operators work on, with rows of the samples or without."""
    value = g.pick("f")
    dims = [1 if axis != value.batch and g.dice.chance(0.3) else size for axis, size in enumerate(value.dims)]
    array = g.dice.constant(dims[g.dice.pick([0, 0, 0, 1]) :])
    if value.batch is not None and array.ndim == value.rank and g.dice.chance(0.6):
        array = np.repeat(np.take(array, [0], value.batch), dims[value.batch], value.batch)
    g.keep(Value(g.const_node(array) if g.dice.chance(0.3) else g.const(array), array))


_WEIGHTS = {name: sum(maker.weight for maker in makers) for name, makers in MAKERS.items()}


def _step(g: Sketch) -> None:
    """One operator more, if it suits."""
    op = g.dice.weighed(_WEIGHTS)
    fit = [maker for maker in MAKERS[op] if maker.since <= g.opset <= maker.until]
    if not fit or (g.tame and op in WILD):
        return
    maker = g.dice.weighed({each: each.weight for each in fit})
    before = g.mark()
    try:
        maker.make(g, op)
    except Misfit:
        g.back(before)


def _model(g: Sketch) -> Any:
    """The model; what it declares of its outputs is what they were."""
    used = {name for node in g.nodes for name in node.input}
    ends = [value for value in g.values if value.name not in used and value.name not in {*g.givens, *g.constants}]
    inner = [value for value in g.values if value.name in used and value.name not in {*g.givens, *g.constants}]
    if inner and g.dice.chance(0.3):
        ends.append(g.dice.pick(inner))
    if not ends:
        ends = [g.op("Identity", g.values[0])]
    fixed = all(isinstance(said, int) for given in g.givens.values() for said in given.said)
    outputs = [_declared(g, value, fixed) for value in ends[-6:]]
    inputs = [
        helper.make_tensor_value_info(each.name, type_of(g.arrays[each.name]), list(each.said))
        for each in g.givens.values()
    ]
    constants = [numpy_helper.from_array(array, name) for name, array in g.constants.items()]
    graph = helper.make_graph(g.nodes, "hostile", inputs, outputs, constants)
    if fixed and g.dice.chance(0.25):  # what exporters know of the values between
        graph.value_info.extend(_declared(g, value, fixed) for value in inner)
    return pruned(g._model(graph))


def _declared(g: Sketch, value: Value, fixed: bool) -> Any:
    dims = list(value.dims) if fixed and g.dice.chance(0.85) else None
    return helper.make_tensor_value_info(value.name, type_of(value.array), dims)


def pruned(model: Any) -> Any:
    """The model without nodes and constants that no output needs."""
    graph = model.graph
    needed = {value.name for value in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(node.input)
            needed.update(captured(node))
    nodes, constants = kept[::-1], [tensor for tensor in graph.initializer if tensor.name in needed]
    infos = [info for info in graph.value_info if any(info.name in node.output for node in nodes)]
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.initializer.extend(constants)
    graph.value_info.extend(infos)
    return model


def text(proto: Any) -> str:
    """The model, for people."""
    return str(onnx.printer.to_text(proto))
