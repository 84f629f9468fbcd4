"""Every operator of ONNX in every form that it ever had: freed and proven, or refused for what it does."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnxruntime.capi import onnxruntime_pybind11_state as capi

from onereshape.graphs.batch_rules.marks import Mark
from onereshape.ground.errors import FixError
from onereshape.repair.batch.apply import apply_batch
from onereshape.repair.batch.search import BatchPlan, batch_plan
from onereshape.repair.batch_work import marks_of
from onereshape.terms.prove import prove_batch
from tests.laws.batching_law import Engine
from tests.repair.operator_forms import Given, Node, drawn, every_node, versions, written

SAMPLES = 3

NO_SAMPLES = frozenset(
    "BlackmanWindow Constant ConstantOfShape HammingWindow HannWindow ImageDecoder MelWeightMatrix RandomNormal "
    "RandomUniform Range SequenceEmpty".split()
)
"""Operators that take sizes, numbers or nothing, and no data that could be a sample's."""

NO_RULE = frozenset({"SequenceMap"})
"""Operators that are named as ones without a rule."""

LISTS = frozenset("SequenceConstruct SplitToSequence".split())
"""Operators that give sequences; the law of batching runs them."""
_NO_SEQUENCE = "how many tensors are in x0 is not known"

_REPEATED = "its input c1 would have to be repeated, which needs opset 6"
REFUSED: dict[str, dict[int, str]] = {
    **{op: {1: _REPEATED, 6: ""} for op in "Add And Div Equal Greater Less Max Mean Min Mul Or Pow".split()},
    **{op: {1: _REPEATED, 6: ""} for op in "Sub Sum Xor".split()},
    "Concat": {1: _REPEATED, 6: ""},
    **{op: {11: _NO_SEQUENCE} for op in "ConcatFromSequence SequenceAt SequenceErase SequenceInsert".split()},
    "SequenceLength": {11: _NO_SEQUENCE},
    "DynamicQuantizeLinear": {
        11: "it takes one scale from all samples together, so that what a sample gives depends on those beside it"
    },
    "EyeLike": {9: "it puts ones on a diagonal along axis 0, which is N"},
    "MaxRoiPool": {
        1: "its regions say by their first number of which image they are, so that it would count the samples"
    },
    "MaxUnpool": {9: "its indices count through all samples"},
    "NonMaxSuppression": {
        10: "it lists the boxes that are left of all samples one after the other, and how many each has depends on it"
    },
    "NonZero": {
        9: "it lists the places of all samples that are not 0 one after the other, and how many each has depends on it"
    },
    "Scan": {8: "before opset 9 it takes its inputs otherwise", 9: ""},
    "StringSplit": {20: "it fills the pieces of each text up to those of the one with the most, of all samples"},
    "Shape": {1: "the output y0 would give the size of the whole batch"},
    "Size": {1: "the output y0 would give the size of the whole batch"},
    "Unique": {11: "it compares the samples with one another, and keeps one of those that are equal"},
}
"""Why an operator is refused, by the opset since which it is; nothing where it is not."""

UNPROVEN = {
    **dict.fromkeys("Bernoulli Multinomial RandomNormalLike RandomUniformLike".split(), "there is no record"),
    **dict.fromkeys(("Scatter", "Upsample"), "has no such operator"),
}
"""What draws at random is the same in no two runs; an operator that was taken back is none in the opsets after."""

RANDOM = frozenset("Bernoulli Multinomial RandomNormalLike RandomUniformLike".split())


def nodes_by_operator() -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = defaultdict(list)
    for node in every_node():
        found[node.op].append(node)
    return dict(found)


NODES = nodes_by_operator()


def reason_of(node: Node) -> str:
    rows = REFUSED.get(node.op, {})
    return rows.get(max((since for since in rows if since <= node.opset), default=0), "")


def test_no_operator_is_forgotten() -> None:
    """Nor any of its versions."""
    asked = {op: {node.opset for node in nodes} for op, nodes in NODES.items()}

    assert {op: set(since) - asked.get(op, set()) for op, since in versions().items() if set(since) - asked[op]} == {}


@pytest.mark.parametrize("op", sorted(NODES.keys() - NO_SAMPLES))
def test_every_form_is_freed_or_refused_for_what_it_does(op: str) -> None:
    for node in NODES[op]:
        proto, given = written(node)
        model, axes = ir.from_proto(proto), {name: each.axis for name, each in given.items()}
        plan, refusal = planned(model, axes)
        if plan is None:
            why = reason_of(node)
            assert (refusal.code == "no-batching-rule") == (op in NO_RULE), f"{node}: {refusal.sentence}"
            assert op in NO_RULE or (why and refusal.sentence.endswith(f": {why}")), f"{node}: {refusal.sentence}"
            continue
        assert not reason_of(node), node
        assert op not in NO_RULE, node
        marks = [plan.marks.get(value) for value in model.graph.outputs]
        places = {
            name: mark and (mark.axis, int(str(mark.outer)))
            for value in model.graph.outputs
            for name, mark in marks_of(value, plan)
        }
        apply_batch(model, plan, axes)
        proof = prove_batch(ir.from_proto(proto), model, axes, places=places, seed=5)
        if proof.verdict != "proven" or not proof.always:
            assert UNPROVEN[op] in proof.reason, f"{node}: {proof}"
        alone = engine_of(proto)
        if op not in RANDOM | LISTS and alone is not None:
            check_runs(node, alone, Engine(ir.to_proto(model)), given, marks)


def planned(model: ir.Model, axes: Mapping[str, int]) -> tuple[BatchPlan | None, FixError]:
    """The plan, or why there is none."""
    try:
        return batch_plan(model, axes, "N", 1), FixError("cannot-free")
    except FixError as refusal:
        return None, refusal


def engine_of(proto: onnx.ModelProto) -> Engine | None:
    """onnxruntime, where it has the form: most of before opset 7 are gone, and the newest are not there yet."""
    try:
        return Engine(proto)
    except (capi.Fail, capi.InvalidArgument, capi.InvalidGraph, capi.NotImplemented, capi.RuntimeException):
        return None


def check_runs(
    node: Node, alone: Engine, repaired: Engine, given: Mapping[str, Given], marks: Sequence[Mark | None]
) -> None:
    """The repaired model gives for all samples what the original gives for each."""
    feeds = drawn(given, SAMPLES)
    pieces = [
        alone({name: np.take(feeds[name], [sample], axis=each.axis) for name, each in given.items()})
        for sample in range(SAMPLES)
    ]
    for place, (answer, mark) in enumerate(zip(repaired(feeds), marks, strict=True)):
        rows = [piece[place] for piece in pieces]
        wanted = rows[0] if mark is None else np.concatenate(rows, axis=mark.axis)
        assert answer.shape == wanted.shape, node
        if answer.dtype == object:
            np.testing.assert_array_equal(answer, wanted, err_msg=str(node))
            continue
        np.testing.assert_allclose(answer, wanted, rtol=1e-4, atol=1e-5, err_msg=str(node))


def test_what_takes_no_samples_reads_none() -> None:
    assert {op for op, nodes in NODES.items() if not any(written(node)[1] for node in nodes)} == NO_SAMPLES
