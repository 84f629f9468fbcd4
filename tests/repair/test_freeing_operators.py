"""Every rule for free sizes against onnxruntime: a freed model answers as the same model written at another size."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.graphs.free_rules.meeting import Meeting, same_dims
from onereshape.graphs.record import RECORDS
from onereshape.graphs.registry import operator_of
from onereshape.graphs.shapes import facts_of
from onereshape.repair.dims.freeing import apply_free, free_plan
from tests.laws.batching_law import Engine
from tests.learned import DOMAIN, version
from tests.models import model
from tests.repair.freeing_operators import CASES
from tests.repair.freeing_sized import Sized

Array = np.ndarray[Any, Any]


def written(case: Sized, size: int) -> onnx.ModelProto:
    """The model at a size."""
    imports = f'"" : {case.opset}, "{DOMAIN}" : {version(case.op.rpartition("::")[2])}'
    return model(case.text(size), f"<ir_version: 10, opset_import: [{imports}]>")


def drawn(proto: onnx.ModelProto) -> dict[str, Array]:
    """Values for all inputs; integers are rows of a table, or classes."""
    rng = np.random.default_rng(0)
    feeds: dict[str, Array] = {}
    for value in proto.graph.input:
        kind = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        numbers = (
            rng.standard_normal(dims) if kind.kind == "f" else rng.integers(0, 2 if kind.kind == "b" else 20, dims)
        )
        feeds[value.name] = numbers.astype(kind)
    return feeds


def judge(case: Sized) -> None:
    """Frees the model at its own size, and asks it and its witnesses."""
    copy = ir.from_proto(written(case, case.sizes[0]))
    plan = free_plan(copy, case.asked)
    apply_free(copy, plan, case.asked)
    ours = Engine(ir.to_proto(copy))
    for size in case.sizes:
        witness = written(case, size)
        feeds = drawn(witness)
        answers = zip(ours(feeds), Engine(witness)(feeds), strict=True)
        for place, (found, expected) in enumerate(answers):
            promised = (plan.promised({"S": size}) or {}).get(witness.graph.output[place].name)
            if promised is not None:
                pairs = zip(promised, expected.shape, strict=True)
                assert all(said in {None, dim} for said, dim in pairs), f"{size}: {promised} for {expected.shape}"
            if case.drawn:
                assert found.shape == expected.shape
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=f"at {size}")


def name(case: Sized) -> str:
    """How a case is called among those of its operator."""
    return f"{case.op}-{[each for each in CASES if each.op == case.op].index(case)}"


@pytest.mark.parametrize("case", CASES, ids=name)
def test_a_freed_operator_answers_as_it_would_at_another_size(case: Sized) -> None:
    judge(case)


def test_every_rule_for_free_sizes_has_cases() -> None:
    assert {case.op for case in CASES} == {op for op, record in RECORDS.items() if record.free is not None}


@pytest.mark.parametrize("case", CASES, ids=name)
def test_the_free_size_reaches_the_operator(case: Sized) -> None:
    """Something that it is given, or gives, is another at another size: dims, or elements."""
    known: list[dict[str, Any]] = []
    for size in case.sizes[:2]:
        copy = ir.from_proto(written(case, size))
        facts = facts_of(copy)
        values = [
            value for node in copy.graph if operator_of(node) == case.op for value in (*node.inputs, *node.outputs)
        ]
        known.append({str(value.name): (facts.dims.get(value), facts.entries(value)) for value in values if value})

    assert known[0]
    assert known[0] != known[1]


def found(op: str) -> bool:
    """Whether the law finds something wrong in the cases of an operator."""
    for case in CASES:
        if case.op == op:
            try:
                judge(case)
            except Exception:  # noqa: BLE001 - another answer, or whatever the engine says where it gives none
                return True
    return False


def test_a_size_of_1_that_gives_way_everywhere_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    meet = Meeting.meet
    monkeypatch.setattr(Meeting, "meet", lambda own, entries, **_: meet(own, entries, broadcasts=True))

    assert found("RNN")


@pytest.mark.parametrize("op", ["ScatterElements", "MaxPool", "Concat", "GridSample", "Gather", "Reshape"])
def test_a_rule_that_keeps_the_dims_is_found(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not found(op)
    monkeypatch.setitem(RECORDS, op, RECORDS[op]._replace(free=same_dims))

    assert found(op)
