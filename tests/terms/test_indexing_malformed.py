"""Nodes that fit nothing: the term run refuses them, and ends in no other way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from onereshape.terms.refusal import NotProven
from tests.terms.indexing_law import Case, answered, on_terms

KINDS: dict[str, tuple[str, dict[str, list[Any]]]] = {
    "Gather": ("fi", {"axis": [-3, -1, 0, 1, 4]}),
    "GatherElements": ("fi", {"axis": [-3, -1, 0, 1, 4]}),
    "GatherND": ("fi", {"batch_dims": [-1, 0, 1, 2]}),
    "ScatterND": ("fif", {"reduction": ["none", "add", "max", "other"]}),
    "ScatterElements": ("fif", {"axis": [-3, -1, 0, 1], "reduction": ["none", "mul", "min"]}),
    "TensorScatter": ("ffi", {"axis": [-2, 0, 1, 5], "mode": ["linear", "circular", "other"]}),
    "Pad": ("fifi", {"mode": ["constant", "reflect", "edge", "wrap", "other"]}),
    "Trilu": ("fi", {"upper": [0, 1]}),
    "CenterCropPad": ("fi", {"axes": [[0], [1, 0], [0, 0], [-1]]}),
    "ReverseSequence": ("fi", {"batch_axis": [0, 1, 2], "time_axis": [0, 1, -1]}),
    "OneHot": ("iif", {"axis": [-4, -1, 0, 1, 3]}),
    "Compress": ("fb", {"axis": [-3, -1, 0, 1]}),
    "NonZero": ("f", {}),
    "Unique": ("f", {"axis": [-3, -1, 0, 1], "sorted": [0, 1]}),
    "SplitToSequence": ("fi", {"axis": [-3, -1, 0, 1], "keepdims": [0, 1]}),
}


def _array(rng: Generator, kind: str) -> Any:
    dims = [int(each) for each in rng.choice([0, 1, 2, 2, 3], rng.integers(0, 4))]
    if kind == "b":
        return rng.random(dims) < 0.5
    if kind == "i":
        return rng.integers(-3, 4, dims)
    return rng.integers(0, 3, dims).astype(np.float32)


@pytest.mark.parametrize("op", KINDS)
def test_nothing_but_a_refusal_ends_it(op: str) -> None:
    rng = np.random.default_rng(9)
    kinds, attributes = KINDS[op]
    for _ in range(125):
        inputs = [(f"x{place}", _array(rng, kind)) for place, kind in enumerate(kinds)]
        inputs = inputs[: rng.integers(1, len(inputs) + 1)] if rng.random() < 0.2 else inputs
        chosen = {name: values[rng.integers(len(values))] for name, values in attributes.items() if rng.random() < 0.7}
        known = frozenset(name for name, _ in inputs if rng.random() < 0.7)
        case = Case(op, inputs, chosen, 24, known)
        try:
            found = on_terms(case)
        except NotProven:
            continue
        if op != "SplitToSequence" and (answers := answered(case)) is not None:
            assert [each.shape for each in found] == [answers[0].shape], case
