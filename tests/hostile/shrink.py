"""shrunk(case): the smallest graph that still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.hostile.engine import Array, Engine, Failed, type_of, with_all_values
from tests.hostile.generator import Case, pruned
from tests.hostile.judge import judged_case

Fails = Callable[[Case], bool]


def shrunk(case: Case, room: str, kind: str) -> Case:
    """Nodes, outputs and inputs are dropped as long as the verdict of the room stays."""

    def fails(other: Case) -> bool:
        try:
            Engine(other.proto)
            found = judged_case(other, frozenset({room}))
        except Failed:
            return False
        return any(each.kind == kind for each in found.verdicts)

    again = True
    while again:
        again = False
        for other in _smaller(case):
            if _weight(other) < _weight(case) and fails(other):
                case, again = other, True
                break
    return case


def _weight(case: Case) -> tuple[int, ...]:
    graph = case.proto.graph
    choices = sum(len(given.choices) for given in case.givens.values())
    return len(graph.node), len(graph.input), len(graph.output), choices, len(graph.value_info)


def _smaller(case: Case) -> Iterator[Case]:
    """The graphs that are one step smaller, the boldest steps first."""
    values = _values(case)
    graph = case.proto.graph
    if len(graph.output) > 1:
        for output in graph.output:
            yield _with_outputs(case, [output])
    for node in graph.node:
        for name in node.output:
            if name in values and [each.name for each in graph.output] != [name]:
                yield _with_outputs(case, [helper.make_tensor_value_info(name, type_of(values[name]), None)])
    for number in range(len(graph.node)):
        yield from _without(case, number, values)
    for number in range(len(graph.value_info)):
        other = _copy(case)
        del other.graph.value_info[number]
        yield _made(case, other)
    for given in case.givens.values():
        if given.choices and len(given.choices) > 1:
            yield replace(case, givens={**case.givens, given.name: replace(given, choices=given.choices[:1])})


def _values(case: Case) -> dict[str, Array]:
    """All values at the exported size."""
    rng = np.random.default_rng(0)
    engine = Engine(with_all_values(case.proto))
    for _ in range(20):
        feeds = case.feed(case.draw(rng, case.size, dict(case.named)), list(range(case.size)))
        try:
            found = dict(zip(engine.outputs, engine(feeds), strict=True)) | feeds
        except Failed:
            continue
        return {name: each for name, each in found.items() if isinstance(each, np.ndarray)}
    return {}


def _copy(case: Case) -> Any:
    other = onnx.ModelProto()
    other.CopyFrom(case.proto)
    return other


def _with_outputs(case: Case, outputs: list[Any]) -> Case:
    other = _copy(case)
    del other.graph.output[:]
    other.graph.output.extend(outputs)
    return _made(case, other)


def _without(case: Case, number: int, values: dict[str, Array]) -> Iterator[Case]:
    """The graph without a node: an input of it takes its place, or a constant."""
    node = case.proto.graph.node[number]
    if len(node.output) != 1 or node.output[0] not in values:
        return
    name, ends = node.output[0], {each.name for each in case.proto.graph.output}
    value = values[name]
    inner = [each for each in node.input if each in values and values[each].dtype == value.dtype and name not in ends]
    for source in inner:
        other = _copy(case)
        del other.graph.node[number]
        for later in other.graph.node:
            for place, read in enumerate(later.input):
                if read == name:
                    later.input[place] = source
        yield _made(case, other)
    if value.dtype.kind == "i" and value.ndim < 2 and name not in ends and node.op_type != "Constant":
        other = _copy(case)
        del other.graph.node[number]
        other.graph.initializer.append(numpy_helper.from_array(value, name))
        yield _made(case, other)


def _made(case: Case, proto: Any) -> Case:
    """A case of a smaller model, without the inputs that it no longer reads."""
    proto = pruned(proto)
    read = {name for node in proto.graph.node for name in node.input}
    for number in reversed(range(len(proto.graph.input))):
        if proto.graph.input[number].name not in read:
            del proto.graph.input[number]
    kept = {value.name for value in proto.graph.input}
    return replace(case, proto=proto, givens={name: given for name, given in case.givens.items() if name in kept})
