"""No edit that changes an answer is proven: hundreds are planted into repaired models.

TERMS_EDITS=20 python -m pytest tests/laws/test_terms_edits.py    plants so many of each kind into each model
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.repair.batch import apply, search
from onereshape.terms.limits import Limits
from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch
from tests.arbiter import Entry, drawn, entries
from tests.laws.batching_law import Engine, difference
from tests.laws.batching_sketch import Sketch
from tests.laws.batching_world import WORLD
from tests.laws.terms_edits import KINDS, Graph, edits, gate
from tests.running import session

EACH = int(os.environ.get("TERMS_EDITS", "1"))
"""Edits of each kind in each model."""
CORPUS = entries(Path(__file__).parents[1] / "data" / "corpus")
MIXING = {"neg_minibatch_std.dynamo.onnx", "neg_minibatch_std.ts.onnx"}
SMALL = (
    "bh_attention.ts channel_shuffle.ts cls_token_expand.ts groupnorm.ts index_batch.ts query_repeat.ts "
    "window_attention.ts yolo_head.dynamo"
).split()
SOME = [
    each
    for each in CORPUS
    if each.path.name not in MIXING and (EACH > 1 or each.path.stem.removeprefix("hand_") in SMALL)
]
"""All models, or some small ones: each edit takes a proof."""


class Repaired(NamedTuple):
    """A model of the corpus, and what `fix` made of it."""

    entry: Entry
    original: onnx.ModelProto
    proto: onnx.ModelProto


def repaired(entry: Entry) -> Repaired:
    return Repaired(entry, onnx.load(entry.path), _fixed(entry.path, tuple(entry.batch.items())))


@cache
def _fixed(path: Path, batch: tuple[tuple[str, int], ...]) -> onnx.ModelProto:
    made: onnx.ModelProto = ir.to_proto(orx.fix(path, batch=dict(batch), certify=False).model.ir)
    return made


def proof(one: Repaired, proto: onnx.ModelProto, original: onnx.ModelProto | None = None) -> Proof:
    places = {name: None if axis is None else (axis, 1) for name, axis in one.entry.outputs.items()}
    return prove_batch(
        ir.from_proto(original or one.original),
        ir.from_proto(proto),
        one.entry.batch,
        places=places,
        seed=7,
        limits=Limits(20.0),
    )


def feeds(one: Repaired, samples: int) -> dict[str, Any]:
    found = {}
    for name, how in one.entry.inputs.items():
        value = next(each for each in one.original.graph.input if each.name == name)
        kind = value.type.tensor_type
        dims = [dim.dim_value for dim in kind.shape.dim]
        declared = dims, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        count = samples if how["axis"] is not None else 1
        rows = [drawn(np.random.default_rng([samples, row]), declared, how) for row in range(count)]
        found[name] = np.concatenate(rows, how["axis"]) if how["axis"] is not None else rows[0]
    return found


def _loads(proto: onnx.ModelProto) -> bool:
    try:
        session(proto)
    except Exception:  # noqa: BLE001 - a gate of integers
        return False
    return True


def changes(one: Repaired, proto: onnx.ModelProto) -> bool:
    """Whether onnxruntime shows that an answer is another one, or that there is none."""
    try:
        mine = session(proto)
    except Exception:  # noqa: BLE001 - a model that does not load is no repair
        return False
    right = session(one.proto)
    for samples in (2, 3, 5):
        given = feeds(one, samples)
        wanted = right.run(None, given)
        try:
            got = mine.run(None, given)
        except Exception:  # noqa: BLE001 - it does not run at this size
            return True
        for old, new in zip(wanted, got, strict=True):
            if old.shape != new.shape or not np.allclose(old, new, 1e-2, 1e-3, equal_nan=True):
                return True
    return False


@pytest.mark.parametrize("entry", SOME, ids=lambda entry: entry.path.name)
def test_no_edit_that_changes_an_answer_is_proven(entry: Entry) -> None:
    one = repaired(entry)
    assert proof(one, one.proto).verdict == "proven"
    believed, planted = [], 0
    for kind, proto in edits(one.proto, np.random.default_rng(len(one.proto.graph.node)), EACH):
        if not (_loads(proto) if kind == "a gate" else changes(one, proto)):
            continue
        planted += 1
        if proof(one, proto).verdict == "proven":
            believed.append(kind)

    assert believed == []
    assert planted >= 3 * EACH


@pytest.mark.parametrize("entry", SOME, ids=lambda entry: entry.path.name)
def test_a_gate_in_both_models_is_not_proven(entry: Entry) -> None:
    one = repaired(entry)
    batched = _batched(one)[:: 1 if EACH > 1 else 3]
    for value, axis in batched:
        gated = [Graph(one.original), Graph(one.proto)]
        for graph in gated:
            graph.between(value, *gate(graph, value, axis))
        session(gated[1].proto)
        assert proof(one, gated[1].proto, gated[0].proto).verdict != "proven", value
    assert batched


def _batched(one: Repaired) -> list[tuple[str, int]]:
    """Values of floats that carry N, by name and axis, that both models have and that are read."""
    inferred = onnx.shape_inference.infer_shapes(one.proto, data_prop=True)
    there = {name for node in one.original.graph.node for name in node.output}
    read = {name for node in one.proto.graph.node for name in node.input}
    found = []
    for value in (*inferred.graph.value_info, *inferred.graph.input):
        names = [dim.dim_param for dim in value.type.tensor_type.shape.dim]
        kept = value.name in there or value.name in one.entry.inputs
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT and "N" in names and kept and value.name in read:
            found.append((value.name, names.index("N")))
    return found[:12]


@dataclass(frozen=True)
class Freed:
    """A case of the world of batching, and the model that was made of it."""

    case: Sketch
    original: onnx.ModelProto
    proto: onnx.ModelProto

    @cached_property
    def answers(self) -> list[tuple[dict[str, Any], list[Any]]]:
        """Inputs of one to three times what the original takes, and what onnxruntime makes of them."""
        drawn_, engine = self.case.draw(3), Engine(self.proto)
        fed = [self.case.piece(drawn_, 0, times) for times in (1, 2, 3)]
        return [(each, engine(each)) for each in fed]

    def prove(self, proto: onnx.ModelProto) -> Proof:
        axes, size = dict(self.case.freed()), self.case.size
        return prove_batch(ir.from_proto(self.original), ir.from_proto(proto), axes, size=size, seed=3)

    def changes(self, proto: onnx.ModelProto) -> bool:
        """Whether onnxruntime gives another answer for more samples than the original takes, or none."""
        try:
            mine = Engine(proto)
        except Exception:  # noqa: BLE001 - a model that does not load is no repair
            return False
        for given, wanted in self.answers:
            try:
                got = mine(given)
            except Exception:  # noqa: BLE001
                return True
            if any(difference(new, old, random=False) is not None for old, new in zip(wanted, got, strict=True)):
                return True
        return False


def freed(case: Sketch) -> Freed | None:
    """The batched form of a case, if it has one that onnxruntime runs."""
    proto = case.proto()
    model, axes = ir.from_proto(proto), case.freed()
    try:
        plan = search.batch_plan(model, axes, "N", case.size)
        case.declare(model, Engine(proto)(case.piece(case.draw(1), 0)))
        apply.apply_batch(model, plan, axes)
        made = Freed(case, proto, ir.to_proto(model))
        Engine(made.proto)(case.piece(case.draw(3), 0, 3))
    except Exception:  # noqa: BLE001 - refused, or none that onnxruntime runs
        return None
    return None if case.random else made


def places(made: Proof) -> list[tuple[str, int | None]]:
    """Where the outputs carry the samples."""
    return [(each.name, each.axis) for each in made.outputs]


def _few(cases: list[Sketch]) -> list[Freed]:
    """One, or as many as are asked for, from all over the first ones."""
    spread = [case for start in range(5) for case in cases[start : 12 * EACH : 5]]
    return list(islice(filter(None, map(freed, spread)), EACH))


OPERATORS = sorted(WORLD)
BLOCKS = 8


@pytest.mark.parametrize("block", range(BLOCKS))
def test_no_edit_of_a_small_model_that_changes_an_answer_is_proven(block: int) -> None:
    believed: list[str] = []
    planted: Counter[str] = Counter()
    for op in OPERATORS[block::BLOCKS]:
        for each in _few(WORLD[op]):
            for kind, proto in edits(each.proto, np.random.default_rng(block), EACH):
                if kind == "a gate" or not each.changes(proto):
                    continue
                planted[kind] += 1
                made = each.prove(proto)
                # What all samples share may be given once: then the proof says that it carries no samples.
                if made.verdict == "proven" and places(made) == places(each.prove(each.proto)):
                    believed.append(f"{op}: {kind}: {onnx.printer.to_text(proto)}")

    assert believed == []
    assert planted.total() >= 10 * EACH


def test_there_is_a_place_for_every_kind() -> None:
    kinds = Counter(
        kind
        for entry in SOME
        for kind in {name for name, _ in edits(repaired(entry).proto, np.random.default_rng(0), 1)}
    )

    assert {kind for kind in KINDS if kinds[kind] < 2} == set()
