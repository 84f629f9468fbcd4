"""Every shape rule that is believed, held against onnxruntime over its small world; and bugs that the law must find.

    python -m tests.laws.test_shapes [OPERATOR ...]    asks every case in all its forms

The suite asks each case as it is and in one other of its forms.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import onnx_ir as ir
import onnx_shape_inference as engine  # type: ignore[import-untyped]
import pytest

from onereshape.models.inference import exact_rules, walk
from onereshape.models.inference.asked import Asked
from onereshape.models.inference.held import HELD
from onereshape.models.shapes import facts_of as shapes_of
from tests.laws.shape_law import Case, judge, model_of, x
from tests.laws.shape_cases import NEWEST, versions
from tests.laws.shape_world import CASES

BLOCKS = 60


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_is_said_of_an_output_is_so(block: int) -> None:
    untrue = [each for place, case in enumerate(CASES) if place % BLOCKS == block for each in judge(case, place)[0]]

    assert untrue == []


def test_the_world_is_what_is_believed() -> None:
    assert {(case.domain, case.op) for case in CASES} == HELD


LACKING = {("RandomNormal", 22), ("RandomNormalLike", 22), ("RandomUniform", 22), ("RandomUniformLike", 22)} | {
    (op, 22) for op in ("Bernoulli", "GlobalLpPool", "MaxRoiPool", "Multinomial", "RoiAlign")
} | {("Scatter", 11)}  # fmt: skip
"""Versions that onnxruntime has no kernel for."""


def test_no_operator_is_held_by_runs_that_never_happened() -> None:
    """Every version of every operator runs at some size."""
    ran: set[tuple[str, int]] = set()
    for place, case in enumerate(CASES):
        if (case.op, case.opset) not in ran and judge(case, place)[1]:
            ran.add((case.op, case.opset))
    asked = {(case.op, case.opset) for case in CASES}

    assert asked - ran == LACKING


Rule = Callable[[Asked], None]


def _always(change: Callable[[Any], Any]) -> Callable[[Rule], Rule]:
    """A rule whose answers are changed."""

    def planted(rule: Rule) -> Rule:
        def wrong(asked: Asked) -> None:
            rule(asked)
            for value in asked.node.outputs:
                if value.shape is not None:
                    value.shape = ir.Shape(change(list(value.shape)))

        return wrong

    return planted


def _engine(op: str) -> Callable[[Rule], Rule]:
    """The engine's own rule, which ours took the place of."""

    def planted(_: Rule) -> Rule:
        return lambda asked: engine.registry.get("", op, asked.context.opset)(asked.context, asked.node)

    return planted


def _static_squeeze(asked: Asked) -> None:
    asked.say([dim for dim in asked.dims() or [] if dim != 1])


NOT_WRONG = frozenset({"Concat", "LpPool", "Upsample", "Range"})
"""Operators of which the engine's rule is right in this world; that of Concat is only too slow."""
PLANTED: dict[str, tuple[str, Callable[[Rule], Rule]]] = {
    **{f"the engine's {op}": (op, _engine(op)) for op in exact_rules.RULES if op not in NOT_WRONG},
    "a Concat is one longer": ("Concat", _always(lambda dims: [dims[0] + 1, *dims[1:]])),
    "a Squeeze without axes drops what is 1 now": ("Squeeze", lambda _: _static_squeeze),
    "a Slice is never empty": ("Slice", _always(lambda dims: [dim or 1 for dim in dims])),
    "a Split is even": ("Split", lambda rule: lambda asked: _even(asked, rule)),
    "a pool drops its last window": ("MaxPool", _always(lambda dims: [*dims[:-1], dims[-1] - 1])),
    "a Resize rounds up": ("Resize", _always(lambda dims: [*dims[:-1], dims[-1] + 1])),
    "a Range begins at 0": ("Range", _always(lambda dims: [dim + 1 if isinstance(dim, int) else dim for dim in dims])),
    "Unique keeps the rank": ("Unique", _always(lambda dims: [*dims, 1])),
    "Compress keeps the size": ("Compress", lambda _: lambda asked: asked.say(asked.dims())),
    "an Einsum without broadcasts": ("Einsum", lambda rule: lambda asked: _first(asked, rule)),
}


def _even(asked: Asked, rule: Rule) -> None:
    dims, count = asked.dims() or [], len(asked.node.outputs)
    if not asked.has(1) or not all(isinstance(dim, int) for dim in dims):
        return rule(asked)
    axis = asked.attribute("axis", 0)
    for output in range(count):
        asked.say([dim // count if place == axis % len(dims) else dim for place, dim in enumerate(dims)], output)
    return None


def _first(asked: Asked, rule: Rule) -> None:
    rule(asked)
    first, said = asked.dims(0) or [], asked.node.outputs[0].shape
    if said is not None and len(said) == len(first):
        asked.say([first[0], *list(said)[1:]])


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, plant = PLANTED[bug]
    monkeypatch.setitem(exact_rules.RULES, op, plant(exact_rules.RULES[op]))

    assert any(judge(case)[0] for case in CASES if case.op == op)


def test_an_operator_that_is_not_held_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ir.from_proto(model_of(Case("Erf", 18, (x("N", 3),))))
    assert shapes_of(model).dims[model.graph[0].outputs[0]] == ("N", 3)
    monkeypatch.setattr(walk, "HELD", HELD - {("", "Erf")})

    assert model.graph[0].outputs[0] not in shapes_of(model).dims


@pytest.mark.parametrize("error", [AttributeError, TypeError, ImportError, NameError])
def test_a_mistake_is_not_taken_for_a_refusal(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of the engine whose functions are called otherwise must not turn findings into silence."""

    def broken(*_: object) -> None:
        raise error("no such thing")

    model = ir.from_proto(model_of(Case("Squeeze", 18, (x("N", 1),))))
    monkeypatch.setitem(exact_rules.RULES, "Squeeze", broken)
    with pytest.raises(error):
        shapes_of(model)


def main(operators: list[str]) -> None:
    """All cases, in all forms."""
    count = runs = 0
    for case in _chosen(operators):
        untrue, ran = judge(case)
        count, runs = count + 1, runs + ran
        for each in untrue:
            print(f"{each.case}: {each.what}")
    print(f"{count} cases, {runs} runs, opsets {min(versions('Add'))} to {NEWEST}")


def _chosen(operators: list[str]) -> Iterator[Case]:
    return (case for case in CASES if not operators or case.op in operators)


if __name__ == "__main__":
    main(sys.argv[1:])
