"""Shapes as values: equality is an equivalence, equal ones hash alike, and nothing that is given out can be changed."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import onereshape as orx
from onereshape.arrays.cpu_copy import gains
from onereshape.arrays.gpu_boxes import boxes_of
from onereshape.arrays.view_or_copy import copy_plan, view_strides
from onereshape.backends.convert import unchanged
from onereshape.graphs import words
from onereshape.graphs.batch_rules import marks
from onereshape.graphs.facts import kinds, reshaping, wellformed
from onereshape.graphs.facts.reshape_claims import sure_axes
from onereshape.graphs.folding import folded_operators
from onereshape.ground import temporary
from onereshape.ground.dtypes import stored_as
from onereshape.repair.fitting import exported
from onereshape.repair.fitting.families import lengths, writing
from onereshape.repair.simpler.agreement import agreement
from onereshape.rule import dims
from onereshape.rule.condition import at_least
from onereshape.rule.shape import Shape
from onereshape.rule.sizes import algebra, cut, symbol
from onereshape.rule.target import read_numbers
from onereshape.terms import conform
from onereshape.terms.records import coordinates
from tests.sources import tree

PAIRS = st.tuples(st.integers(0, 2), st.none() | st.integers(2, 3))
DIMS = st.lists(st.integers(0, 2) | st.sampled_from(["N", "2*N"]) | st.none() | PAIRS, max_size=2)
CONDITIONS = st.lists(st.sampled_from(["N >= 1", "N = 2"]), max_size=2, unique=True)
SHAPES = st.builds(Shape, st.none() | DIMS, CONDITIONS)
VALUES = SHAPES | SHAPES | DIMS | DIMS.map(tuple) | DIMS.map(lambda dims: Shape(dims).to_json()) | st.none()


@settings(deadline=None, max_examples=100)
@given(st.lists(VALUES, max_size=8), DIMS, CONDITIONS)
def test_equality_is_an_equivalence(values: list[Any], sizes: Any, conditions: Any) -> None:
    """Over Shapes, tuples and lists alike, those that are made of the same dims among them."""
    values += [Shape(sizes), Shape(sizes, conditions), tuple(sizes), sizes, Shape(sizes).to_json(), Shape(tuple(sizes))]
    for one in values:
        assert one == one  # noqa: PLR0124
        assert not (one != one)  # noqa: PLR0124, SIM202
    for one, two in product(values, values):
        assert (one == two) is (two == one)
        assert (one != two) is not (one == two)
        if one == two and not isinstance(one, list):
            assert hash(one) == hash(two)
        for three in values:
            assert not (one == two and two == three) or one == three


@given(SHAPES)
def test_copies_are_equal(shape: Shape) -> None:
    for other in (copy.copy(shape), copy.deepcopy(shape), pickle.loads(pickle.dumps(shape))):  # noqa: S301
        assert (other, other.dims, other.conditions) == (shape, shape.dims, shape.conditions)


QUESTIONS: list[tuple[Any, Any, str, Any]] = [
    (["N", (1, 8), None], [0, 0, 0, 1], "onnx", {}),
    (["N", 6], [4, -1], "onnx", {}),
    ([[1, 8], [2, 3]], [[1, 4], -1], "openvino", {"special_zero": True}),
    ([2, 3], [6], "onnx", {}),
    ([2, 3], [5], "onnx", {}),
    ([0, 3], [0, -1], "onnx", {}),
    (["N", 7], [4, 9], "onnx", {}),
    ([(7, 8)], [3, -1], "onnx", {}),
    (["M", 3], None, "onnx", {}),
    (None, [0, -1], "onnx", {}),
    (["a", "b", "c", "d", "e", "f"], ["a", "b", 0], "onnx", {"allowzero": 1}),
]


def said(call: Any) -> Any:
    try:
        answer = call()
    except orx.ReshapeError as error:
        return str(error), error
    return repr(answer), answer


def spoil(value: Any, depth: int = 0) -> None:
    """Changes whatever of an answer can be changed."""
    if depth > 3 or isinstance(value, type):
        return
    for name in {*getattr(type(value), "__slots__", ()), *getattr(value, "__dict__", ())}:
        if name.startswith("__") or not hasattr(value, name):
            continue
        spoil(getattr(value, name), depth + 1)
        try:
            setattr(value, name, "spoilt")
        except AttributeError:
            continue
    if isinstance(value, list):
        for each in value:
            spoil(each, depth + 1)
        value[:] = ["spoilt"]
    elif isinstance(value, dict):
        for each in list(value.values()):
            spoil(each, depth + 1)
        value.clear()


@pytest.mark.parametrize(("data", "target", "spec", "attributes"), QUESTIONS)
def test_nothing_that_was_given_out_changes_later_answers(data: Any, target: Any, spec: str, attributes: Any) -> None:
    def ask() -> Any:
        return orx.infer(data, target, spec, **attributes)

    for call in (ask, lambda: ask().to_json(), lambda: orx.resolve(data, target, spec, **attributes)):
        before, answer = said(call)
        spoil(answer)
        after, again = said(call)
        assert after == before
        if isinstance(answer, orx.ReshapeError):  # one that were raised again would carry the old traceback on
            assert again is not answer
    kept = orx.spec("onnx")
    spoil(kept)
    assert kept.name == "onnx-25"


def test_nothing_of_a_translation_changes_later_ones() -> None:
    def call() -> Any:
        return orx.translate(orx.Reshape("onnx"), "openvino", target=[0, 4], data=["N", 4])

    def refused() -> Any:
        return orx.translate(orx.Reshape("onnx", allowzero=1), "onnx-13", target=[0, 4], data=["N", 4])

    for each in (call, refused):
        before, answer = said(each)
        spoil(answer)
        assert said(each)[0] == before


def test_a_shape_cannot_be_changed() -> None:
    shape = orx.infer(["N", 6], [4, -1], "onnx")
    for name in ("dims", "conditions", "rank", "other"):
        with pytest.raises(AttributeError):
            setattr(shape, name, ())
    with pytest.raises(AttributeError):
        del shape.dims
    with pytest.raises(TypeError):
        shape[0] = 3  # type: ignore[index]
    with pytest.raises((AttributeError, TypeError)):
        shape.conditions.append("x")  # type: ignore[attr-defined]

    assert orx.infer(["N", 6], [4, -1], "onnx") == Shape([4, "3*N/2"], ["N is divisible by 2"])


def _spec() -> Any:
    return orx.spec("onnx")


def _plan() -> Any:
    return copy_plan((4, 8, 2), (8, 32, 4), 4)


def _axis() -> coordinates.ResizedAxis:
    return coordinates.ResizedAxis(2, 4, Fraction(2))


def _operation() -> Any:
    half: Any = cut(symbol("S"), 2)
    ((monomial, _),) = half.terms
    return monomial[0]


_AFFINE: Any = import_module("onereshape.repair.fitting.families.affine")  # whose name a family has
_PRODUCTS: Any = import_module("onereshape.repair.fitting.families.products")
SHARED: dict[str, Callable[[], Any]] = {
    "arrays.cpu_copy.gains": lambda: gains((2, 3), (4, 8), 4),
    "arrays.gpu_boxes.boxes_of": lambda: boxes_of(_plan(), 16),
    "arrays.view_or_copy.copy_plan": _plan,
    "arrays.view_or_copy.view_strides": lambda: view_strides((2, 3), (12, 4), 4, (6,)),
    "rule.condition.at_least": lambda: at_least("N", 1),
    "backends.convert.unchanged._words": lambda: unchanged._words(unchanged.schema("Relu", 13)),
    "rule.dims._factor": lambda: dims._factor("past + 1"),
    "rule.dims._parse_size": lambda: dims._parse_size("2*N"),
    "rule.dims.is_ours": lambda: dims.is_ours("data[0]"),
    "rule.dims.named": lambda: dims.named("2*N"),
    "rule.dims.place_of": lambda: dims.place_of(3),
    "ground.dtypes.stored_as": lambda: stored_as("|V1"),
    "ground.temporary._kernel": temporary._kernel,
    "rule.inference._answer": lambda: orx.infer(["N", (1, 8)], [0, 4, -1], "onnx"),
    "graphs.batch_rules.marks._homes": lambda: marks._homes((1, 6), marks.Mark(0), (6,), 1),
    "graphs.folding.folded_operators._held": lambda: folded_operators._held("Relu", 18),
    "graphs.facts.kinds._outputs": lambda: kinds._outputs("Relu", 18, 1),
    "graphs.facts.reshape_claims.sure_axes": lambda: sure_axes((), (1,), (1,), copies=True),
    "graphs.facts.reshaping._answer": lambda: reshaping._answer(
        (symbol("N"), 6), (4, -1), _spec(), None, unknown=False
    ),
    "graphs.facts.reshaping._row": lambda: reshaping._row(18),
    "graphs.facts.wellformed._fits": lambda: wellformed._fits("Relu", "", 18, 1, (), 1, ()),
    "graphs.facts.wellformed._schema": lambda: wellformed._schema("Relu", "", 18),
    "repair.fitting.exported._number": lambda: exported._number(symbol("S") + 1, (("S", 3),)),
    "repair.fitting.exported._numbers": lambda: exported._numbers(symbol("S") + 1, ((("S", 3),),)),
    "repair.fitting.exported.by_values": lambda: exported.by_values((symbol("S"), 3), ((("S", 3),),)),
    "repair.fitting.exported.as_sizes": lambda: exported.as_sizes((symbol("S"), 3)),
    "repair.fitting.families.affine._sized_starts": lambda: _AFFINE._sized_starts(
        symbol("S"), (symbol("T"),), ((("S", 3), ("T", 5)),), numbers=True
    ),
    "repair.fitting.families.lengths._same": lambda: lengths._same(symbol("S"), symbol("S") + 0, ((("S", 12),),)),
    "repair.fitting.families.products._splits": lambda: _PRODUCTS._splits(
        symbol("H") * symbol("W"), (), ((("H", 4), ("W", 6)),)
    ),
    "repair.fitting.families.writing._sizes_of": lambda: writing._sizes_of((symbol("S"),), ((("S", 3),), (("S", 5),))),
    "repair.fitting.families.lengths.has_rivals": lambda: lengths.has_rivals(symbol("S"), 3, ((("S", 12),),)),
    "graphs.words._constant_words": lambda: words._constant_words((2, 3), (6,), None, zero_copies=True),
    "repair.simpler.agreement.agreement": lambda: agreement((2, 3), (), ()),
    "terms.conform._sides": lambda: conform._sides(conform.schema("Conv", 22)),
    "terms.conform.defaults": lambda: conform.defaults(conform.schema("RNN", 22)),
    "terms.records.coordinates.coordinates": lambda: coordinates.coordinates(_axis(), "half_pixel"),
    "terms.records.coordinates.reads": lambda: coordinates.reads(_axis(), ("half_pixel",)),
    "terms.records.coordinates.nearest": lambda: coordinates.nearest(_axis(), "half_pixel", "floor"),
    "rule.sizes.algebra._text": lambda: algebra._text(_operation()),
    "rule.target.read_numbers": lambda: read_numbers((0, -1), _spec(), True),
}
"""Every function that remembers its answers, and one that it gives."""
ENGINES = {
    "arrays.cpu_copy.kernel_plan",
    "arrays.cuda_driver._attribute",
    "arrays.cuda_driver._driver",
    "arrays.cuda_driver._nvrtc",
    "arrays.cuda_driver.function_of",
    "backends.convert.unchanged.schema",
    "backends.conformance.onednn_library.library",
    "backends.conformance.openvino_engines._core",
    "prove.engines.served_openvino._core",
    "formats.stores.zarr_arrays._made",
    "ground.bodies._defaults",
    "ground.bodies._made",
    "ground.bodies._parsed",
    "ground.bodies._plain",
    "terms.conform.schema",
}
"""Those whose answers are objects of other libraries that never leave our own calls."""
INSIDE = {
    "arrays.gpu_shapes._even",
    "arrays.gpu_shapes.best",
    "graphs.size_limits.trials.tried",
    "repair.fitting.families.numbers._compared",
    "repair.fitting.families.frequencies._tried",
    "repair.fitting.families.lengths._sizes",
    "repair.fitting.families.resized._taps",
    "repair.fitting.wholes._known",
}
"""Those whose answers stay in their file, which only reads them."""


def test_every_cache_is_known() -> None:
    found = set()
    source = Path(orx.__file__).parent
    for path in source.rglob("*.py"):
        for node in ast.walk(tree(path)):
            decorators = [ast.unparse(each) for each in getattr(node, "decorator_list", ())]
            if any(re.match(r"(functools\.)?(lru_)?cache\b", each) for each in decorators):
                found.add(".".join([*path.relative_to(source).with_suffix("").parts, node.name]))  # type: ignore[attr-defined]
    assert found == set(SHARED) | ENGINES | INSIDE


@pytest.mark.parametrize("name", SHARED)
def test_what_is_remembered_cannot_be_changed(name: str) -> None:
    answer = SHARED[name]()

    assert answer is not None
    before = repr(answer)
    hash(answer)  # nothing in it is a list, a dict or an array
    spoil(answer)
    assert repr(SHARED[name]()) == before
