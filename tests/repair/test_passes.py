"""Repairs as passes of onnx_ir: among its own passes, all or nothing, and with the words of `fix`."""

from __future__ import annotations

import inspect
from pathlib import Path

import onnx_ir as ir
import pytest
from onnx_ir.passes import common

import onereshape as orx
from onereshape.formats.model import Model
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.passes import FreeBatch, Simplify
from tests.models import model

YOLO = "tests/data/corpus/hand_yolo_head.ts.onnx"
MIXED = "tests/data/corpus/neg_minibatch_std.ts.onnx"
CALLING = (
    "g (float[1, 4] x) => (float[1, 4] y) { y = local.f(x) }"
    ' <domain: "local", opset_import: ["" : 21]> f (a) => (b) { s = Constant<value_ints = [1, 4]>() b = Reshape(a, s) }'
)


def text(given: ir.Model) -> bytes:
    found: bytes = ir.to_proto(given).SerializeToString(deterministic=True)
    return found


def test_one_line_among_the_passes_of_onnx_ir() -> None:
    given = ir.load(YOLO)
    free = FreeBatch()
    line = ir.passes.Sequential(
        common.NameFixPass(),
        common.DeduplicateInitializersPass(),
        free,
        Simplify(),
        common.RemoveUnusedNodesPass(),
        common.TopologicalSortPass(),
        common.CheckerPass(),
    )
    result = line(given)

    assert line.in_place
    assert (result.model is given, result.modified) == (True, True)
    assert free.fixed is not None
    assert free.fixed.certificate.status == "proven"
    assert orx.check(given, batch=True) == []
    assert orx.certify(YOLO, given, batch=True).status == "proven"


def test_what_is_free_already_is_not_modified() -> None:
    given = ir.load(YOLO)
    assert FreeBatch({"x": 0})(given).modified
    before, graph = text(given), given.graph
    again = FreeBatch()

    assert not again(given).modified
    assert not Simplify()(given).modified
    assert again.fixed is not None
    assert again.fixed.changes == ()
    assert (given.graph is graph, text(given)) == (True, before)


@pytest.mark.parametrize("steps", [1, 3])
def test_a_manager_comes_to_an_end(steps: int) -> None:
    given = ir.load(YOLO)

    assert ir.passes.PassManager([FreeBatch(certify=False), Simplify(certify=False)], steps=steps)(given).modified
    assert orx.check(given, batch=True) == []


def test_a_refusal_changes_nothing() -> None:
    given = ir.load(MIXED)
    before, graph, nodes = text(given), given.graph, [*given.graph]
    free = FreeBatch()
    with pytest.raises(FixError, match="mixes the samples"):
        free(given)
    with pytest.raises(ir.passes.PassError, match=r"running the 'FreeBatch\(batch=True\)' pass") as wrapped:
        ir.passes.Sequential(common.TopologicalSortPass(), free)(given)
    with pytest.raises(ReshapeError, match="the model has no input 'other'"):
        FreeBatch({"other": 0})(given)

    assert isinstance(wrapped.value.__cause__, FixError)
    assert free.fixed is None
    assert (text(given), given.graph, [*given.graph]) == (before, graph, nodes)
    assert FreeBatch(per_sample=True)(given).modified


def test_a_model_that_is_not_certified_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from onereshape.repair import batch_work

    found = batch_work.__dict__["batch_work"]

    def broken(given: Model, *args: object, **kwargs: object) -> object:
        work = found(given, *args, **kwargs)
        node = next(node for node in given.ir.graph if node.op_type == "Sigmoid")
        node.op_type = "Tanh"
        return work

    monkeypatch.setattr(batch_work, "batch_work", broken)
    given = ir.load(YOLO)
    before = text(given)
    with pytest.raises(FixError, match="not-certified"):
        FreeBatch()(given)

    assert text(given) == before


def test_functions_are_put_where_they_are_called() -> None:
    given = ir.from_proto(model(CALLING))
    given.metadata_props["kept"] = "yes"
    given.producer_name = "me"

    assert FreeBatch()(given).modified
    assert not given.functions
    assert (given.metadata_props["kept"], given.producer_name) == ("yes", "me")
    assert orx.certify(model(CALLING), given, batch=True).status == "proven"


def test_other_dims() -> None:
    folder = "tests/data/sizes/bert.dynamo."
    given = ir.load(f"{folder}A.onnx")
    free = FreeBatch(batch=None, like=ir.load(f"{folder}C.onnx"), witness=Path(f"{folder}B.onnx"))

    assert free(given).modified
    assert free.fixed is not None
    assert free.fixed.freed["input_ids"] == {1: "input_ids_1"}
    assert repr(FreeBatch(None, {"x": {1: "S"}})) == "FreeBatch(free={'x': {1: 'S'}})"


def test_the_options_are_those_of_fix() -> None:
    ours = {**inspect.signature(FreeBatch.__init__).parameters}
    theirs = {**inspect.signature(orx.fix).parameters}

    assert {name for name in theirs if name not in ours} == {"model", "progress", "copy"}
    assert all(ours[name].default == theirs[name].default for name in theirs if name in ours and name != "batch")
