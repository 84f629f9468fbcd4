"""Every shape rule that is believed, held against onnxruntime over its small world; and bugs that the law must find.

    python -m tests.laws.test_shapes [OPERATOR ...]    asks every case in all its forms

The suite asks all cases of an operator that has few, and of the others the first of every version and one in six
(`make worlds`: every case), each as it is and in one other of its forms, and plants its bugs under these.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.graphs.facts import walk
from onereshape.graphs.facts.asking import Asking, Dims
from onereshape.graphs.facts.elements import Holding
from onereshape.graphs.record import RECORDS
from onereshape.graphs.shapes import facts_of
from tests.budget import part
from tests.laws.shape_cases import NEWEST, versions
from tests.laws.shape_law import Case, const, judge, model_of, runs, x
from tests.laws.shape_world import CASES

BLOCKS = 40
FEW = 30
"""Cases of an operator that are all asked."""
SUBTLE = {"MatMul", "Reshape"}
"""Operators of which a part does not find every planted bug."""


def asked() -> Iterator[tuple[int, Case]]:
    """The cases that the suite asks, with their places in the world."""
    of: dict[tuple[str, str], list[tuple[int, Case]]] = defaultdict(list)
    for place, case in enumerate(CASES):
        of[case.domain, case.op].append((place, case))
    for (_, op), cases in of.items():
        first = {case.opset: (place, case) for place, case in reversed(cases)}.values()
        yield from cases if len(cases) <= FEW or op in SUBTLE else dict([*first, *part(cases, 6)]).items()


ASKED = list(asked())


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_is_said_of_an_output_is_so(block: int) -> None:
    untrue = [each for place, case in ASKED[block::BLOCKS] for each in judge(case, place)[0]]

    assert untrue == []


def test_the_world_is_what_is_believed() -> None:
    """Every operator whose record has a shape, and a Constant, which needs no rule."""
    assert set(worlds()) == {op for op, record in RECORDS.items() if record.shape is not None} | {"Constant"}


@cache
def worlds() -> dict[str, list[Case]]:
    """The cases of each operator that are asked, by the name of its record."""
    found = defaultdict(list)
    for _, case in ASKED:
        found[f"{case.domain}::{case.op}" if case.domain else case.op].append(case)
    return dict(found)


LACKING = {("RandomNormal", 22), ("RandomNormalLike", 22), ("RandomUniform", 22), ("RandomUniformLike", 22)} | {
    (op, 22) for op in ("Bernoulli", "GlobalLpPool", "MaxRoiPool", "Multinomial", "RoiAlign")
} | {("Scatter", 11)}  # fmt: skip
"""Versions that onnxruntime has no kernel for."""


def test_no_operator_is_held_by_runs_that_never_happened() -> None:
    """Every version of every operator runs at some size."""
    ran: set[tuple[str, int]] = set()
    for case in CASES:
        if (case.op, case.opset) not in ran and runs(case):
            ran.add((case.op, case.opset))
    asked = {(case.op, case.opset) for case in CASES}

    assert asked - ran == LACKING


# Bugs that the law must find

Shapes = Sequence[Dims | None]
Rule = Callable[[Asking], Shapes]


def found(op: str, attribute: str | None = None) -> bool:
    """Whether the law finds something wrong in the cases of an operator, or in those with an attribute."""
    cases = [case for case in worlds()[op] if attribute is None or attribute in case.attributes]
    return any(judge(case, place)[0] for place, case in enumerate(cases)) or any(judge(case)[0] for case in cases)


def _always(change: Callable[[list[Any]], Sequence[Any]]) -> Callable[[Rule], Rule]:
    """A rule whose answers are changed."""

    def changed(dims: Dims | None) -> Dims | None:
        return None if dims is None else tuple(change(list(dims)))

    def planted(rule: Rule) -> Rule:
        def wrong(asking: Asking) -> Shapes:
            found, output = rule(asking), asking.node.outputs[0]
            if output in asking.scope.parts:
                asking.scope.parts[output] = tuple(map(changed, asking.scope.parts[output]))
            return [*map(changed, found)]

        return wrong

    return planted


def _static_squeeze(asking: Asking) -> Shapes:
    return [tuple(dim for dim in asking.dims() if dim != 1)]


def _even(asking: Asking, rule: Rule) -> Shapes:
    dims, count = asking.dims(), asking.count
    if not asking.has(1) or not all(isinstance(dim, int) for dim in dims):
        return rule(asking)
    axis = asking.axis(len(dims), 0)
    return [tuple(dim // count if place == axis else dim for place, dim in enumerate(dims))] * count  # type: ignore[operator]


def _first(asking: Asking, rule: Rule) -> Shapes:
    first, (said, *_) = asking.dims(0), rule(asking)
    return [said if said is None or len(said) != len(first) else (first[0], *said[1:])]


def _by_target(asking: Asking, rule: Rule) -> Shapes:
    (said, *_), target = rule(asking), asking.integers(1)
    return [said if said is None or target is None else (*said[: len(said) - len(target)], *target)]


PLANTED: dict[str, tuple[str, Callable[[Rule], Rule]]] = {
    "a Concat is one longer": ("Concat", _always(lambda dims: [dims[0] + 1, *dims[1:]])),
    "a Squeeze without axes drops what is 1 now": ("Squeeze", lambda _: _static_squeeze),
    "a Slice is never empty": ("Slice", _always(lambda dims: [dim or 1 for dim in dims])),
    "a Split is even": ("Split", lambda rule: lambda asking: _even(asking, rule)),
    "a pool drops its last window": ("MaxPool", _always(lambda dims: [*dims[:-1], dims[-1] - 1])),
    "an average does so too": ("AveragePool", _always(lambda dims: [*dims[:-1], dims[-1] - 1])),
    "a norm does so too": ("LpPool", _always(lambda dims: [*dims[:-1], dims[-1] - 1])),
    "a Resize rounds up": ("Resize", _always(lambda dims: [*dims[:-1], dims[-1] + 1])),
    "an Upsample does so too": ("Upsample", _always(lambda dims: [*dims[:-1], dims[-1] + 1])),
    "a Range begins at 0": ("Range", _always(lambda dims: [dim + 1 if isinstance(dim, int) else dim for dim in dims])),
    "Unique keeps the rank": ("Unique", _always(lambda dims: [*dims, 1])),
    "Compress keeps the size": ("Compress", lambda _: lambda asking: [asking.dims()]),
    "an Einsum without broadcasts": ("Einsum", lambda rule: lambda asking: _first(asking, rule)),
    "an Expand has the dims of its target": ("Expand", lambda rule: lambda asking: _by_target(asking, rule)),
    "a PRelu has the dims of its slope": ("PRelu", lambda _: lambda asking: [asking.dims(1)]),
    "NonZero has as many rows as entries": ("NonZero", _always(lambda dims: dims[::-1])),
    "a Dropout has a mask for each entry of a row": ("Dropout", lambda rule: lambda asking: [*rule(asking)[:1], ()]),
}


def _plant(op: str, plant: Callable[[Rule], Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    record = RECORDS[op]
    assert record.shape is not None
    monkeypatch.setitem(RECORDS, op, record._replace(shape=plant(record.shape), elements=None))


@pytest.mark.parametrize("bug", PLANTED)
def test_a_planted_bug_is_found(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op, plant = PLANTED[bug]
    _plant(op, plant, monkeypatch)

    assert found(op)


SCALARS = frozenset({"Size", "SequenceLength", "OptionalHasElement"})
"""Operators of which no output has a dim."""


@pytest.mark.parametrize("op", sorted(set(worlds()) - {"Constant", "SequenceEmpty", "ai.onnx.ml::ZipMap"}))
def test_an_answer_that_is_one_off_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of every operator: a dim more, and all dims one longer.

    What a ZipMap gives has no dims, an empty sequence no tensors.
    """
    changes = [lambda dims: [*dims, 1], lambda dims: [dim + 1 for dim in dims]]
    for change in changes[: 1 if op in SCALARS else 2]:
        with monkeypatch.context() as patch:
            _plant(op, _always(change), patch)

            assert found(op)


@pytest.mark.parametrize("op", ["Add", "Where", "MatMul", "Max"])
def test_where_two_names_meet_the_first_is_not_the_answer(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    meet = Asking.meet
    monkeypatch.setattr(Asking, "meet", lambda *given: given[1] if given[1] != 1 else meet(*given))

    assert found(op)


@pytest.mark.parametrize("op", ["Equal", "Shape", "Cast", "ArgMax", "QuantizeLinear"])
def test_a_type_that_is_taken_from_the_first_input_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walk, "kinds_of", lambda node, _, __, kind, ___: [kind(0)] * len(node.outputs))

    assert found(op)


# Attributes


@cache
def heard(op: str) -> frozenset[str]:
    """Which attributes the rule of an operator reads, of those that its cases have."""
    names: set[str] = set()

    class Listening(Asking):
        """A node that notes what it is asked."""

        def attribute(self, name: str, default: Any = None) -> Any:
            asked, domain = self.node.op_type, self.node.domain
            if name in self.node.attributes and op == (f"{domain}::{asked}" if domain else asked):
                names.add(name)
            return super().attribute(name, default)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(walk, "Asking", Listening)
        for case in worlds()[op]:
            facts_of(ir.from_proto(model_of(case)))
    return frozenset(names)


NEEDED = {
    (op, name)
    for ops, names in {
        "AveragePool LpPool MaxPool": "kernel_shape",
        "Cast": "to",
        "Crop": "border",
        "DepthToSpace SpaceToDepth": "blocksize",
        "Einsum": "equation",
        "If": "then_branch else_branch",
        "Loop": "body",
        "Scan": "body num_scan_inputs",
        "MaxRoiPool": "pooled_shape",
        "Pad": "pads",
        "RandomNormal RandomUniform": "shape",
        "Slice": "starts ends axes",
        "TopK": "k",
        "Unsqueeze": "axes",
        "Upsample": "scales",
        "Attention LinearAttention": "q_num_heads kv_num_heads",
        "TfIdfVectorizer": "ngram_indexes",
        "com.microsoft::MatMulNBits": "N",
        "com.microsoft::GroupQueryAttention": "num_heads kv_num_heads",
        "com.microsoft::NhwcMaxPool com.microsoft::QLinearAveragePool": "kernel_shape",
        "ai.onnx.ml::FeatureVectorizer": "inputdimensions",
        "ai.onnx.ml::OneHotEncoder": "cats_int64s",
        "ai.onnx.ml::LabelEncoder": "values_floats values_int64s values_strings",
        "ai.onnx.ml::LinearClassifier": "intercepts",
        "ai.onnx.ml::SVMClassifier": "classlabels_ints prob_a",
        "ai.onnx.ml::TreeEnsembleClassifier": "classlabels_int64s",
    }.items()
    for op in ops.split()
    for name in names.split()
}
"""Without which a rule says nothing."""
CONFIRMING = {
    ("Conv", "kernel_shape"): "the weights have it",
    ("ConvTranspose", "kernel_shape"): "the weights have it",
    ("GRU", "hidden_size"): "the weights have it",
    ("LSTM", "hidden_size"): "the weights have it",
    ("RNN", "hidden_size"): "the weights have it",
    ("CenterCropPad", "axes"): "without them the sizes are too few",
    ("Resize", "axes"): "without them the sizes are too few",
    ("Resize", "coordinate_transformation_mode"): "one mode is not followed",
    ("RMSNormalization", "axis"): "its one output has the dims of data",
    ("SimplifiedLayerNormalization", "axis"): "so here",
}


@pytest.mark.parametrize("op", sorted(op for op, cases in worlds().items() if any(each.attributes for each in cases)))
def test_a_rule_that_does_not_hear_an_attribute_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    missed = []
    for name in sorted(name for name in heard(op) if (op, name) not in NEEDED | set(CONFIRMING)):

        def deaf(view: Any, asked: str, default: Any = None, *, name: str = name, true: Any) -> Any:
            return default if asked == name else true(view, asked, default)

        with monkeypatch.context() as patch:
            for view in (Asking, Holding):
                true = view.attribute
                patch.setattr(view, "attribute", lambda *given, true=true, deaf=deaf: deaf(*given, true=true))
            if not found(op, name):
                missed.append(name)

    assert missed == []


def test_the_attributes_that_may_be_missed_are_read() -> None:
    assert [(op, name) for op, name in NEEDED | set(CONFIRMING) if name not in heard(op)] == []


def test_an_operator_without_a_shape_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ir.from_proto(model_of(Case("Erf", 18, (x("N", 3),))))
    assert facts_of(model).dims[model.graph[0].outputs[0]] == ("N", 3)
    monkeypatch.setitem(RECORDS, "Erf", RECORDS["Erf"]._replace(shape=None))

    assert model.graph[0].outputs[0] not in facts_of(model).dims


@pytest.mark.parametrize("field", ["shape", "elements"])
@pytest.mark.parametrize("error", [AttributeError, TypeError, ImportError, NameError])
def test_a_mistake_is_not_taken_for_a_refusal(
    error: type[Exception], field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rule that is written wrong must not turn findings into silence."""

    def broken(*_: object) -> None:
        raise error("no such thing")

    model = ir.from_proto(model_of(Case("Squeeze", 18, (const([[7]]),))))
    monkeypatch.setitem(RECORDS, "Squeeze", RECORDS["Squeeze"]._replace(**{field: broken}))  # type: ignore[arg-type]
    with pytest.raises(error, match="no such thing"):
        facts_of(model)


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
