"""Records: one for each operator, in one family, found by its name and its domain."""

from __future__ import annotations

from collections import Counter

import onnx
import onnx_ir as ir
import pytest

from onereshape.graphs import registry
from onereshape.graphs.operators import FAMILIES, RECORDS
from onereshape.graphs.record import NOTHING, record_named, record_of
from onereshape.graphs.registry import operator_of
from onereshape.graphs.takes import INDEX, SIZES


def node(domain: str, op: str) -> ir.Node:
    return ir.Node(domain, op, [ir.Value(name="x")])


def test_every_operator_is_in_one_family() -> None:
    counts = Counter(op for family in FAMILIES for op in family.RECORDS)

    assert set(counts) == set(RECORDS)
    assert [op for op, count in counts.items() if count > 1] == []


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_an_operator_of_onnx_is_found_by_its_name(domain: str) -> None:
    assert operator_of(node(domain, "Reshape")) == "Reshape"
    assert record_of(node(domain, "Reshape")) is RECORDS["Reshape"]


def test_an_operator_of_another_domain_is_another() -> None:
    assert operator_of(node("com.acme", "Reshape")) == "com.acme::Reshape"
    assert record_of(node("com.acme", "Reshape")) is NOTHING


def test_what_is_not_known_has_nothing() -> None:
    assert record_named("SequenceMap") is NOTHING
    assert not any(NOTHING)


def test_control_flow_has_a_shape_and_is_followed_for_the_batch_alone() -> None:
    """Another free size that reaches it is refused, and nothing of it is folded."""
    for op in ("If", "Loop", "Scan"):
        record = record_named(op)
        assert record.shape is not None
        assert record.batch is not None
        assert record == NOTHING._replace(shape=record.shape, batch=record.batch, takes=record.takes)


def test_records_that_were_never_read_are_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing would be freed, and nobody would know why."""
    monkeypatch.setattr(registry, "RECORDS", registry.Registry())
    with pytest.raises(RuntimeError, match="must be imported"):
        record_named("Reshape")


@pytest.mark.parametrize("op", sorted(RECORDS))
def test_a_record_does_not_contradict_itself(op: str) -> None:
    record = RECORDS[op]

    assert record.moves or not (record.keeps or record.picks)
    assert record.elements is not None or not (record.beside or record.from_dims is not None)
    assert record.shape is not None, "every record says what its outputs look like"
    assert record.batch is not None or not (record.slots or record.several)
    assert record.grows is not None or record.limits is None
    assert record.span is None or not record.moves, "it has the span of its first input"
    assert record.folds or (record.work is None and record.fold is None)
    assert not (record.moves and record.carries), "it carries its first input"
    assert record.keeps or record.carries == {0} or not record.in_order
    assert record.stretch is None or record.takes == {0: "number", 1: "number"}


def versions(op: str) -> list[onnx.defs.OpSchema]:
    domain, _, name = op.rpartition("::")
    return [each for each in onnx.defs.get_all_schemas_with_history() if (each.domain, each.name) == (domain, name)]


@pytest.mark.parametrize("op", sorted(op for op, record in RECORDS.items() if record.takes or record.carries))
def test_what_is_said_of_an_input_is_said_of_one_that_there_is(op: str) -> None:
    record = RECORDS[op]
    count = max(each.max_input for each in versions(op))

    assert all(position < count for position in (*record.takes, *record.carries))
    assert not record.takes.keys() & record.carries, "what is calculated with is not handed on"


@pytest.mark.parametrize("op", sorted(op for op, record in RECORDS.items() if record.takes))
def test_sizes_and_indices_are_integers(op: str) -> None:
    newest = max(versions(op), key=lambda each: each.since_version)
    allowed = {each.type_param_str: set(each.allowed_type_strs) for each in newest.type_constraints}
    for position, take in RECORDS[op].takes.items():
        given = newest.inputs[position].type_str
        if take in SIZES or take in INDEX:
            assert allowed.get(given, {given}) & {"tensor(int64)", "tensor(int32)"}


def test_every_word_is_said_of_some_operator() -> None:
    said = {take for record in RECORDS.values() for take in record.takes.values()}

    assert said == {*INDEX, *SIZES, "scales", "truth", "number", "positive", "category"}
