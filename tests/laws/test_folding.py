"""The law of folding: what is calculated before a model runs is what onnxruntime calculates when it runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import helper
from onnx.numpy_helper import from_array

from onereshape.graphs.folding.folding import Folding
from onereshape.graphs.operators import RECORDS
from tests import running
from tests.laws import folding_layout, folding_sums, folding_world
from tests.laws.folding_world import Array, Case

FAMILIES = (
    *(folding_world.unary, folding_world.several, folding_world.clips, folding_world.casts),
    *(folding_world.remainders_and_powers, folding_world.pairs, folding_layout.picks_by_rows, folding_layout.others),
    *(folding_layout.shapes, folding_layout.growing, folding_layout.pads, folding_layout.slices),
    *(folding_layout.splits, folding_layout.picks),
    *(folding_sums.reductions, folding_sums.running, folding_sums.normalized, folding_sums.products),
    *(folding_sums.quantized, folding_sums.places),
)
FOLDED = {op for op, record in RECORDS.items() if record.folds}
MOST = 48
"""Cases of each operator, spread over all that there are; `whole_world` has them all."""


@cache
def whole_world() -> dict[str, list[tuple[Case, int]]]:
    """All cases by operator, each with an opset."""
    found: dict[str, list[tuple[Case, int]]] = defaultdict(list)
    for family in FAMILIES:
        for case in family():
            found[case.op] += [(case, opset) for opset in case.opsets()]
    return found


def world(op: str) -> list[tuple[Case, int]]:
    cases = whole_world()[op]
    most = min(MOST, len(cases))
    return [cases[place * len(cases) // most] for place in range(most)]


def model_of(case: Case, opset: int) -> Any:
    """The operator alone, on constants."""
    names = ["" if array is None else f"i{place}" for place, array in enumerate(case.inputs)]
    outputs = [f"o{place}" for place in range(2 if case.op == "TopK" else case.outputs)]
    graph = helper.make_graph(
        [helper.make_node(case.op, names, outputs, **case.attributes)],
        "folded",
        [],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [from_array(array, name) for name, array in zip(names, case.inputs, strict=True) if array is not None],
    )
    imports = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def theirs(model: Any, *feeds: Mapping[str, Array]) -> list[list[Array] | None]:
    """onnxruntime's answers to each of these inputs, or to none; None where it cannot run this."""
    try:
        session = running.session(model)
    except Exception:  # noqa: BLE001 - it has no kernel for these types
        return [None] * max(len(feeds), 1)
    return [_answer(session, each) for each in feeds or ({},)]


def _answer(session: Any, feeds: Mapping[str, Array]) -> list[Array] | None:
    try:
        return [np.asarray(each) for each in session.run(None, dict(feeds))]
    except Exception:  # noqa: BLE001 - it refuses the values
        return None


def ours(model: Any, opset: int) -> list[Array | None]:
    graph = ir.from_proto(model).graph
    folding = Folding(lambda _: None, opset)
    return [folding.array(value) for value in graph.outputs]


def difference(found: Array, expected: Array) -> str | None:
    if found.dtype != expected.dtype or found.shape != expected.shape:
        return f"{found.dtype}{found.shape} for {expected.dtype}{expected.shape}"
    if expected.dtype.kind != "f":
        same = found == expected
    else:
        near = {"float16": 1e-2, "float32": 1e-5, "float64": 1e-6}[expected.dtype.name]
        with np.errstate(all="ignore"):
            same = np.isclose(found, expected, rtol=near, atol=near, equal_nan=True)
    return None if np.all(same) else f"{found[~same].tolist()[:4]} for {expected[~same].tolist()[:4]}"


@cache
def answers(op: str) -> list[tuple[Case, int, Any, list[Array]]]:
    found = []
    for case, opset in world(op):
        model = model_of(case, opset)
        (expected,) = theirs(model)
        if expected is not None:
            found.append((case, opset, model, expected))
    return found


def faults(op: str) -> tuple[list[str], int]:
    """Where what is folded is not what onnxruntime gives; and how many cases were folded."""
    wrong, count = [], 0
    for case, opset, model, expected in answers(op):
        found = ours(model, opset)
        count += found[0] is not None
        for one, other in zip(found, expected, strict=True):
            if one is not None and (why := difference(one, other)) is not None:
                given = [None if array is None else (array.dtype.name, array.tolist()) for array in case.inputs]
                wrong.append(f"{op}-{opset} of {given}, {case.attributes}: {why}")
    return wrong, count


def test_the_world_holds_what_may_be_folded_and_nothing_else() -> None:
    assert set(whole_world()) == FOLDED


@pytest.mark.parametrize("op", sorted(FOLDED))
def test_what_is_folded_is_what_onnxruntime_gives(op: str) -> None:
    wrong, count = faults(op)

    assert not wrong, "\n".join(wrong)
    assert count >= 3
    assert count * 3 >= len(answers(op)), "most of what onnxruntime can do is known"


@pytest.mark.parametrize("op", "Hardmax LogSoftmax LpNormalization NonZero ReduceSumSquare Slice Softmax".split())
def test_the_reference_alone_is_found_out(op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """These are our own because onnx.reference is wrong there."""
    monkeypatch.setitem(RECORDS, op, RECORDS[op]._replace(fold=None))

    assert faults(op)[0]


@pytest.mark.parametrize(
    ("op", "opset"), [("RandomNormal", 17), ("Multinomial", 17), ("Add", 6), ("Gelu", 17), ("Unique", 17)]
)
def test_what_is_not_held_is_not_folded(op: str, opset: int) -> None:
    one, other = np.array([[1, 2]], np.float32), np.array([3], np.float32)
    case = {
        "RandomNormal": folding_world.case(op, shape=[2]),
        "Multinomial": folding_world.case(op, one, sample_size=2),
        "Add": folding_world.case(op, one, other),
        "Gelu": folding_world.case(op, one),
        "Unique": folding_world.case(op, one),
    }[op]

    assert ours(model_of(case, opset), opset) == [None]


def test_integers_beyond_what_is_said_are_not_known() -> None:
    for case in (
        folding_world.case("Div", np.array([4], np.int64), np.array([0], np.int64)),
        folding_world.case("Mod", np.array([4], np.int64), np.array([0], np.int64)),
        folding_world.case("Pow", np.array([10], np.int64), np.array([19], np.int64)),
        folding_world.case("Cast", np.array([np.nan], np.float32), to=onnx.TensorProto.INT64),
        folding_world.case("Cast", np.array([2.0**63], np.float32), to=onnx.TensorProto.INT64),
        folding_world.case("Cast", np.array([300], np.float32), to=onnx.TensorProto.UINT8),
    ):
        assert ours(model_of(case, 17), 17) == [None]


@pytest.mark.parametrize("target", [(-2, 3), (-5,), (-1, -1), (4, -1), (7,), (2, 3, 0)])
def test_a_target_that_is_none_is_not_folded(target: tuple[int, ...]) -> None:
    """NumPy takes any number below 0 for -1."""
    model = model_of(folding_world.case("Reshape", np.zeros(6, np.float32), np.array(target, np.int64)), 17)

    assert theirs(model) == [None]
    assert ours(model, 17) == [None]
