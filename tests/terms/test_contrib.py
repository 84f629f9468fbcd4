"""Operators of com.microsoft on terms, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.refusal import NotProven
from tests.terms.single_nodes import check_apart, check_dependency, check_dims, differ
from tests.terms.vendor_nodes import CASES, Case


def _draw(case: Case, rng: np.random.Generator) -> Callable[[int], Any]:
    def draw(place: int) -> Any:
        each = case.node.inputs[place]
        assert each is not None
        if place in case.draws:
            return case.draws[place](rng)
        if each.dtype.kind == "f":
            return abs(rng.normal()) + 0.02 if np.all(each > 0) else rng.normal()
        return rng.integers(np.iinfo(each.dtype).min, np.iinfo(each.dtype).max)

    return draw


@pytest.mark.parametrize("name", CASES)
def test_dims_and_dependency(name: str) -> None:
    case, rng = CASES[name], np.random.default_rng(7)
    check_dims(case.node)
    check_dependency(case.node, rng, _draw(case, rng), 4)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.mixes])
def test_samples_are_apart(name: str) -> None:
    case = CASES[name]
    check_apart(case.node, case.axes, case.outputs)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.mixes])
def test_samples_that_mix_show(name: str) -> None:
    node = CASES[name].node
    for was, becomes in zip(node.words(), node.words(node.changed(0, 1)), strict=True):
        assert np.all(was != becomes)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.others])
def test_other_attributes_are_other_words(name: str) -> None:
    case = CASES[name]
    for attributes in case.others:
        assert differ(case.node, replace(case.node, attributes=attributes)), attributes


@pytest.mark.parametrize("name", CASES)
def test_other_weights_are_other_words(name: str) -> None:
    """Every input counts: another number anywhere in it is another word somewhere."""
    node = CASES[name].node
    words = node.words()
    for place in node.fed:
        each = node.inputs[place]
        assert each is not None
        where = tuple(0 for _ in each.shape)
        now = node.words(node.changed(place, where))
        assert any(not np.array_equal(was, becomes) for was, becomes in zip(words, now, strict=True)), place


@pytest.mark.parametrize("name", CASES)
def test_malformed_nodes_are_refused(name: str) -> None:
    node = CASES[name].node
    short = (
        replace(node, inputs=node.inputs[:1]) if name not in {"Gelu", "QuickGelu", "Inverse", "NhwcMaxPool"} else None
    )
    for wrong in (
        replace(node, attributes={**node.attributes, "unknown": 1}),
        replace(node, inputs=[*node.inputs, *[np.asarray(0.05, np.float32)] * 14]),
        replace(node, inputs=[np.asarray(node.inputs[0]).astype(np.complex64), *node.inputs[1:]]),
        *([short] if short and node.op not in {"FastGelu", "Trilu", "QuickGelu"} else []),
    ):
        with pytest.raises(NotProven):
            wrong.run()


@pytest.mark.parametrize("name", CASES)
def test_other_dims_are_refused_or_run(name: str) -> None:
    """Whatever the dims: nothing but a refusal leaves a rule."""
    node, rng = CASES[name].node, np.random.default_rng(3)
    for place, each in enumerate(node.inputs):
        if each is None:
            continue
        for _ in range(4):
            dims = tuple(int(dim) for dim in rng.integers(0, 4, rng.integers(0, 5)))
            other = [np.zeros(dims, each.dtype) if index == place else given for index, given in enumerate(node.inputs)]
            with suppress(NotProven):
                replace(node, inputs=other).run()


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.node.attributes])
def test_other_attributes_are_refused_or_run(name: str) -> None:
    node = CASES[name].node
    for attribute in node.attributes:
        for value in (-7, 0, 99, 0.5, "none", [0], [-1, 2], [0.5, 1.5], ["a"]):
            with suppress(NotProven):
                replace(node, attributes={**node.attributes, attribute: value}).run()
