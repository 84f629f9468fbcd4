"""The law of what small tensors hold: on numbers, every rule gives what onnxruntime gives, or does not know.

On sizes, its formulas are what onnxruntime calculates at each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper

from onereshape.graphs.facts.elements import FOLLOWED, ElementArray as Elements, Holding, array_of, elementwise
from onereshape.graphs.record import RECORDS
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import Formula
from tests.laws.folding_world import Array, Case
from tests.laws.test_folding import model_of, theirs, whole_world

RULES = sorted(op for op, record in RECORDS.items() if record.elements is not None)
MOST = 60
_KINDS = {ir.DataType[name].numpy() for name in FOLLOWED}


@cache
def cases(op: str) -> list[tuple[Case, int, Any, list[Array]]]:
    """Those of the world of folding that are of types that are followed, with onnxruntime's answers."""
    fit = [
        (case, opset)
        for case, opset in whole_world()[op]
        if op in {"Shape", "Size"} or all(array is None or array.dtype in _KINDS for array in case.inputs)
    ]
    most = min(MOST, len(fit))
    chosen = [fit[place * len(fit) // most] for place in range(most)]
    models = [(case, opset, model_of(case, opset)) for case, opset in chosen]
    return [(*each, expected) for each in models if (expected := theirs(each[2])[0]) is not None]


def faults(op: str) -> tuple[list[str], int]:
    """Where a rule says another number or other dims, and how many answers it knew whole."""
    wrong, known = [], 0
    for case, opset, proto, expected in cases(op):
        model = ir.from_proto(proto)
        facts = facts_of(model)
        for value, answer in zip(model.graph.outputs, expected, strict=True):
            found = facts.held(value)
            if found is None:
                continue
            known += all(element is not None for element in found.flat)
            same = found.shape == answer.shape and all(
                one is None or one == other or (one != one and other != other)  # noqa: PLR0124 - no number
                for one, other in zip(found.flat, answer.flat, strict=True)
            )
            if not same:
                given = [None if array is None else (array.dtype.name, array.tolist()) for array in case.inputs]
                wrong.append(f"{op}-{opset} of {given}, {case.attributes}: {found.tolist()} for {answer.tolist()}")
    return wrong, known


@pytest.mark.parametrize("op", RULES)
def test_every_rule_gives_what_onnxruntime_gives(op: str) -> None:
    wrong, known = faults(op)

    assert not wrong, "\n".join(wrong)
    assert known >= 3


Answer = list[Elements | None]


def _of_two(function: Callable[[Any, Any], Any]) -> Callable[[Holding], Answer]:
    return lambda holding: [elementwise(function, [holding.given(0), holding.given(1)])]


def _swapped(holding: Holding) -> Answer:
    lists = np.broadcast_arrays(*holding.all())
    flat = zip(*(array.reshape(-1).tolist() for array in lists), strict=True)
    return [array_of((three if one else two for one, two, three in flat), lists[0].shape)]


PLANTED: dict[str, Callable[[Holding], Answer]] = {
    "Div": _of_two(lambda one, other: one // other if other else None),
    "Mod": _of_two(lambda one, other: one - other * int(one / other) if other else None),
    "Add": _of_two(lambda one, other: one + other + 1),
    "Squeeze": lambda holding: [holding.given(0).squeeze()],
    "Where": _swapped,
    "Equal": _of_two(lambda one, other: one >= other),
    "Less": _of_two(lambda one, other: one <= other),
    "Min": _of_two(max),
    "Gather": lambda holding: [np.take(holding.given(0), [0])],
    "Slice": lambda holding: [holding.given(0)],
    "Transpose": lambda holding: [np.transpose(holding.given(0))],
    "Tile": lambda holding: [np.repeat(holding.given(0), 2)],
    "ReduceProd": lambda holding: [array_of([sum(holding.given(0).flat)])],
    "Cast": lambda holding: [holding.given(0)],
}


@pytest.mark.parametrize("op", sorted(PLANTED))
def test_a_planted_bug_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECORDS, op, RECORDS[op]._replace(elements=PLANTED[op]))

    assert faults(op)[0]


# Formulas of sizes: random calculations, at several sizes

SIZES = ((1, 1), (2, 3), (4, 7), (5, 1), (3, 2))
_STEPS: dict[str, int] = {
    **dict.fromkeys("Neg ReduceProd Cast Reverse Gather Expand Identity Split".split(), 1),
    **dict.fromkeys("Add Sub Mul Div Mod Min Max Equal Concat".split(), 2),
    "Where": 3,
}


def calculation(rng: Random) -> Any:
    """A model that calculates with the dims of x in ten steps, each of them an output; all vectors."""
    nodes = [helper.make_node("Shape", ["x"], ["v0"])]
    constants = {
        f"c{place}": np.array(each, np.int64) for place, each in enumerate(([0], [1], [2], [-1], [6], [2, 3, 1]))
    }
    numbers, truths = ["v0", *constants], [] if rng.random() < 0.5 else ["t"]
    if truths:
        nodes.append(helper.make_node("Equal", ["v0", "c1"], ["t"]))
    for place in range(1, 11):
        op, name = rng.choice(sorted(_STEPS)), f"v{place}"
        given = rng.choices(numbers, k=_STEPS[op])
        if op in {"Div", "Mod"}:
            given[1] = rng.choice(("c2", "c4", "v0"))
        if op == "Where":
            given[0] = rng.choice(truths or ["t0"])
            if not truths:
                nodes.append(helper.make_node("Equal", ["v0", "c2"], ["t0"]))
                truths.append("t0")
        nodes += _step(op, given, name, rng)
        (truths if op == "Equal" else numbers).append(name)
    outputs = [name for node in nodes for name in node.output if name[0] in "vt"]
    graph = helper.make_graph(
        nodes,
        "calculation",
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["N", "M", 3])],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [onnx.numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _step(op: str, given: list[str], name: str, rng: Random) -> list[Any]:
    if op == "Concat":
        return [helper.make_node(op, given, [name], axis=0)]
    if op == "ReduceProd":
        return [helper.make_node(op, given, [name], keepdims=1)]
    if op == "Cast":
        return [
            helper.make_node(op, given, [f"{name}/short"], to=6),
            helper.make_node(op, [f"{name}/short"], [name], to=7),
        ]
    if op == "Reverse":
        return [helper.make_node("Slice", [given[0], "c3", "end", "c0", "c3"], [name])]
    if op == "Gather":
        return [helper.make_node(op, [given[0], rng.choice(("c0", "c3"))], [name])]
    if op == "Expand":
        return [helper.make_node(op, [given[0], rng.choice(("c1", "v0"))], [name])]
    if op == "Split":
        return [helper.make_node("Slice", [given[0], "c0", "c1"], [name])]
    return [helper.make_node(op, given, [name])]


@pytest.mark.parametrize("seeds", [range(start, start + 40) for start in range(0, 200, 40)], ids=str)
def test_formulas_of_sizes_are_what_onnxruntime_calculates(seeds: range) -> None:
    compared = 0
    for seed in seeds:
        model = calculation(Random(seed))  # noqa: S311 - the same each time
        model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-(2**62)]), "end"))
        read = ir.from_proto(model)
        facts = facts_of(read)
        for value in read.graph.outputs:
            found, name = facts.held(value), value.name
            if found is not None:
                compared += _compared(onnx.utils.Extractor(model).extract_model(["x"], [name]), found)

    assert compared > 1000


def _compared(model: Any, found: Elements) -> int:
    """How many elements are known, and are the same; a vector that does not fit another has no answer at all."""
    count, shapes = 0, [(n, m, 3) for n, m in SIZES]
    answers = theirs(model, *({"x": np.zeros(shape, np.float32)} for shape in shapes))
    for (n, m, _), answer in zip(shapes, answers, strict=True):
        if answer is not None:
            elements = [_at(element, {"N": n, "M": m}) for element in found.flat]
            pairs = list(zip(elements, answer[0].reshape(-1).tolist(), strict=True))
            assert all(one is None or one == other for one, other in pairs), (n, m, pairs, str(model.graph.node))
            count += sum(one is not None for one, _ in pairs)
    return count


def _at(element: Any, sizes: dict[str, int]) -> Any:
    return element.bind(sizes) if isinstance(element, Formula) else element
