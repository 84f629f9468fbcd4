"""Indices, pads and loops for every N: what reads a place of a dim that grows is not for all, and only that."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import onnx_ir as ir
import pytest

from onereshape.ground.errors import FixError
from onereshape.repair.batch import apply, search
from onereshape.terms.feeding import feed
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.prove import prove_batch
from tests.laws.batching_indexing import elements, gathers, gathers_nd, scatters_nd
from tests.laws.batching_sketch import INT, Sketch
from tests.terms.indexing_law import HASHING

SAMPLES = 7

NODES: dict[str, tuple[str, set[int]]] = {
    "pad": ("p = Constant<value_ints=[0, 1, 0, 0]>() y = Pad(x, p)", {1}),
    "trilu": ("y = Trilu(x)", {0, 1}),
    "crop": ("p = Constant<value_ints=[3]>() y = CenterCropPad<axes=[1]>(x, p)", {1}),
    "turn": (
        "l = Constant<value_ints=[2, 2, 2, 2, 2, 2, 2]>() y = ReverseSequence<batch_axis=0, time_axis=1>(x, l)",
        {1},
    ),
    "gather": ("i = Constant<value_ints=[0, 2]>() y = Gather<axis=1>(x, i)", {1}),
    "scatter": (
        "i = Constant<value = int64[1, 1] {1}>() u = Constant<value = float[1, 7] {1, 1, 1, 1, 1, 1, 1}>() "
        "y = ScatterND(x, i, u)",
        {0},
    ),
    "part of elements": ("i = Constant<value = int64[1, 2] {1, 0}>() y = GatherElements<axis=1>(x, i)", {0, 1}),
    "compress": ("c = Constant<value = bool[2] {0, 1}>() y = Compress<axis=1>(x, c)", {1}),
    "sequence": ("q = SplitToSequence<axis=1>(x) o = Constant<value_int=0>() y = SequenceAt(q, o)", {1}),
    "scan": (
        "y = Scan<num_scan_inputs=1, scan_input_axes=[1], body=b (float[d] e) => (float[d] r) { r = Relu(e) }>(x)",
        {1},
    ),
    "body of a scan": (
        "y = Scan<num_scan_inputs=1, body=b (float[d] e) => (float[s] r) "
        "{ p = Constant<value_ints=[1, 0]>() r = Pad(e, p) }>(x)",
        {0, 1},
    ),
    "loop": (
        "d = Shape(x) o = Constant<value_int=0>() m = Gather(d, o) t = Constant<value = bool {1}>() "
        "y = Loop<body=b (int64 i, bool c, float[p, q] v) => (bool g, float[p, q] w) "
        "{ g = Identity(c) w = Relu(v) }>(m, t, x)",
        {0},
    ),
}


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", NODES)
def test_what_reads_a_place_of_a_growing_dim_is_not_for_all(name: str, axis: int) -> None:
    text, reading = NODES[name]
    model = ir.from_proto(
        onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18]> one (float[7, 7] x) => (y) {{ {text} }}')
    )
    feeds = feed(model, HASHING, {"x": axis}, range(SAMPLES), {}, {})
    _, notes = Program(model, HASHING, Limits()).run(feeds, None, SAMPLES)
    assert bool(notes.not_for_all) == (axis in reading), notes.not_for_all


def _ends(kind: str) -> Iterator[Sketch]:
    """The entry of each sample that a number of it says, as exporters write it: beside a 0 for the batch."""
    for op in ("GatherND", "ScatterND"):
        s = Sketch(f"{op} by {kind}", 13)
        x = s.x((1, 4, 3))
        last = s.op("Cast", s.op("Sub", s.x((1,), dtype=np.dtype(kind), low=1), s.const([1], kind)), to=7)
        index = s.op("Concat", s.const([[0]], INT), s.op("Reshape", last, s.ints(-1, 1)), axis=1)
        yield s.out(s.op(op, x, index, *([s.x((1, 3))] if op == "ScatterND" else [])))
        s = Sketch(f"{op} by rows", 13)
        x, index = s.op("Reshape", s.x((1, 4, 3)), s.ints(-1, 3)), s.x((1, 2, 2), dtype=INT, low=0, high=3)
        yield s.out(s.op(op, x, index, *([s.x((1, 2))] if op == "ScatterND" else [])))


def _cases() -> Iterator[Sketch]:
    yield from _ends("int64")
    yield from _ends("int32")
    for family in (gathers, elements, gathers_nd, scatters_nd):
        yield from (case for number, case in enumerate(family()) if number % 3 == 0)


def test_repairs_that_pick_by_place_are_proven_for_every_number_of_samples() -> None:
    proven = 0
    for case in _cases():
        proto = case.proto()
        model, freed = ir.from_proto(proto), case.freed()
        try:
            plan = search.batch_plan(model, freed, "N", case.size)
        except FixError:
            continue
        marks = {value.name or "": plan.marks.get(value) for value in model.graph.outputs}
        apply.apply_batch(model, plan, freed)
        axes = {name: given.axis for name, given in case.inputs.items() if given.axis is not None}
        places = {name: None if mark is None else (mark.axis, int(str(mark.outer))) for name, mark in marks.items()}
        proof = prove_batch(ir.from_proto(proto), model, axes, size=case.size, places=places, seed=5)
        assert proof.verdict == "proven", (case.about, proof.reason)
        if case.opset >= 9:  # before, samples are counted by the turns of a Loop, at some numbers of them
            assert proof.always, (case.about, proof.not_always)
        proven += 1
    assert proven > 80
