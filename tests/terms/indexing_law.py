"""One node in onnxruntime and on terms: the same dims and types, and whatever changes there changes here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from numpy.random import Generator

from onereshape.terms.call import tensors_of
from onereshape.terms.feeding import feed
from onereshape.terms.hashing import Hashing
from onereshape.terms.integers import NOTHING
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, numbers
from tests.running import session

Array = np.ndarray[Any, np.dtype[Any]]
HASHING = Hashing(20240229)


@dataclass(frozen=True)
class Case:
    """A node, what it reads, and which of that is known."""

    op: str
    inputs: Sequence[tuple[str, Array] | None]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    opset: int = 18
    known: frozenset[str] = frozenset()
    outputs: int = 1
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Integers that an input may have: [low, high)."""
    around: Sequence[tuple[str, Array]] = ()
    """What its bodies read, and it does not."""

    def with_input(self, name: str, array: Array) -> Case:
        given = [each if each is None or each[0] != name else (name, array) for each in self.inputs]
        around = [each if each[0] != name else (name, array) for each in self.around]
        return replace(self, inputs=given, around=around)

    @property
    def arrays(self) -> dict[str, Array]:
        return {each[0]: each[1] for each in (*self.inputs, *self.around) if each is not None}

    def model(self, more: Sequence[onnx.NodeProto] = ()) -> onnx.ModelProto:
        node = onnx.helper.make_node(
            self.op,
            ["" if each is None else each[0] for each in self.inputs],
            [f"y{place}" for place in range(self.outputs)],
            **self.attributes,
        )
        fed = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in self.arrays.items()
            if name not in self.known
        ]
        weights = [onnx.numpy_helper.from_array(self.arrays[name], name) for name in sorted(self.known)]
        made = [onnx.ValueInfoProto(name=f"y{place}") for place in range(self.outputs)]
        graph = onnx.helper.make_graph([node, *more], "one", fed, made, weights)
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self.opset)], ir_version=10)


def engine(case: Case) -> list[Array]:
    """What onnxruntime makes."""
    found: list[Array] = _loaded(case.model().SerializeToString()).run(
        None, {name: array for name, array in case.arrays.items() if name not in case.known}
    )
    return found


_loaded = lru_cache(4)(session)
"""A model whose inputs change is loaded once."""


def answered(case: Case) -> list[Array] | None:
    """What onnxruntime makes, or nothing where it refuses."""
    try:
        return engine(case)
    except Exception:  # noqa: BLE001 - onnxruntime's errors have no class in common
        return None


def fed_terms(model: ir.Model) -> dict[str, Tensor]:
    return feed(model, HASHING, {}, [], {}, {})


def on_terms(case: Case, changed: tuple[str, tuple[int, ...]] | None = None) -> list[Any]:
    """What the term run makes; the word of one element may be another."""
    model = ir.from_proto(case.model())
    feeds = fed_terms(model)
    if changed is not None:
        name, place = changed
        words = np.array(feeds[name].words)
        words[place] ^= np.uint64(0x9E3779B97F4A7C15)
        feeds[name] = replace(feeds[name], words=words)
    found, _ = Program(model, HASHING, Limits()).run(feeds)
    return list(found.values())


def words(value: Any) -> list[Array]:
    return [each.hashed(HASHING) for each in tensors_of(value)]


def flat(values: Sequence[Any]) -> list[Array]:
    """Arrays of an engine's outputs, of which some are sequences."""
    return [each for value in values for each in (flat(value) if isinstance(value, list) else [value])]


def check(case: Case, rng: Generator, tries: int = 4) -> bool:
    """Holds the law for a case, which the term run must not refuse; False where onnxruntime does."""
    answers = answered(case)
    if answers is None:
        return False
    wanted = flat(answers)
    found = on_terms(case)
    mine = [each for value in found for each in tensors_of(value)]
    assert [each.shape for each in mine] == [each.shape for each in wanted], case
    assert [each.dtype.numpy() for each in mine] == [each.dtype for each in wanted], case
    for each, there in zip(mine, wanted, strict=True):
        if each.known:
            np.testing.assert_array_equal(each.array, there, str(case))
        if each.integers.low is not None and each.integers.high is not None:
            assert np.all(each.integers.low <= there), case
            assert np.all(there <= each.integers.high), case
    before = [each.hashed(HASHING) for each in mine]
    for name, array in case.arrays.items():
        for _ in range(tries if array.size else 0):
            place = tuple(int(rng.integers(dim)) for dim in array.shape)
            other = array.copy()
            other[place] = _another(rng, case, name, array[place])
            _compare(case.with_input(name, other), None if name in case.known else (name, place), wanted, before)
    return True


def _another(rng: Generator, case: Case, name: str, value: Any) -> Any:
    if name in case.ranges:
        return rng.integers(*case.ranges[name])
    if value.dtype == bool:
        return not value
    return value + int(rng.choice((1, 3, 7)))


def _compare(
    case: Case, changed: tuple[str, tuple[int, ...]] | None, wanted: Sequence[Array], before: Sequence[Array]
) -> None:
    """Whatever changes in onnxruntime changes in terms."""
    answers = answered(case)
    if answers is None:
        return
    there = flat(answers)
    try:
        after = [each for value in on_terms(case, changed) for each in words(value)]
    except NotProven:
        return
    for one, two, mine, yours in zip(wanted, there, before, after, strict=True):
        if one.shape != two.shape:
            assert mine.shape != yours.shape, (case, changed)
            continue
        apart = (one != two) & ~((one != one) & (two != two))  # noqa: PLR0124 - what is no number
        assert not np.any(apart & (mine == yours)), (case, changed)


def numbered(case: Case, name: str) -> tuple[Array, Array]:
    """The words of the first output where an input's are those of its own numbers, and what onnxruntime makes."""
    model = ir.from_proto(case.model())
    feeds = fed_terms(model)
    array = case.arrays[name]
    feeds[name] = replace(feeds[name], words=numbers(array).hashed(HASHING), integers=NOTHING)
    found, _ = Program(model, HASHING, Limits()).run(feeds)
    (value,) = found.values()
    (made,) = words(value)
    return made, HASHING.constants(engine(case)[0], "INT64")
