"""The law of batching, asked of a model as an OpenVINO IR, with openvino as the engine.

The cases are those of the ONNX rules: OpenVINO reads each, its IR is drawn, freed and written, and both IRs are run.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import openvino

from onereshape.errors import FixError
from onereshape.formats.model import Model
from onereshape.formats.model_files import load
from onereshape.models import layered
from onereshape.models.batch import apply
from onereshape.models.images import imaged
from tests.laws.batching_law import TIMES, Array, Misfit, Unfit, Verdict, difference, fault, fault_of_rows, planned
from tests.laws.batching_sketch import Sketch

CORE = openvino.Core()
_SEQUENCES = {"RNNSequence", "GRUSequence", "LSTMSequence"}
_CONFIG = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}


class IrEngine:
    """OpenVINO's CPU plugin on one model."""

    def __init__(self, model: openvino.Model) -> None:
        self._compiled = CORE.compile_model(model, "CPU", _CONFIG)

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        request = self._compiled.create_infer_request()
        for port in self._compiled.inputs:
            given = next(np.ascontiguousarray(feeds[name]) for name in port.names if name in feeds)
            request.set_tensor(port, openvino.Tensor(given.reshape(np.shape(given))))
        request.infer()
        return [np.array(request.get_output_tensor(place).data) for place in range(len(self._compiled.outputs))]


class PinnedEngine:
    """The same, with all dims made known before each run: what the plugin does only to dynamic dims is not seen."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __call__(self, feeds: Mapping[str, Array]) -> list[Array]:
        model = self._model.openvino()
        model.reshape({port: np.shape(feeds[name]) for port in model.inputs for name in port.names if name in feeds})
        return IrEngine(model)(feeds)


def as_ir(proto: Any, folder: Path) -> Model:
    """The IR that OpenVINO makes of an ONNX model."""
    path = folder / "model.xml"
    try:
        openvino.serialize(CORE.read_model(io.BytesIO(proto.SerializeToString())), path)
    except RuntimeError as error:
        raise Unfit(str(error)) from None
    return load(str(path))


def judge_ir(case: Sketch) -> Verdict:
    """The law on one case."""
    with tempfile.TemporaryDirectory() as folder:
        return _judged(case, as_ir(case.proto(), Path(folder)))


def _judged(case: Sketch, read: Model) -> Verdict:
    given, freed = imaged(read), case.freed()
    model = given.ir
    if {value.name for value in model.graph.inputs} != set(case.draw(1)):
        raise Unfit("OpenVINO drops an input")
    try:
        plan = planned(case, model)
    except FixError as refusal:
        return Verdict("refused", refusal.sentence)
    feeds = case.draw(max(TIMES))
    pieces = [case.piece(feeds, number) for number in range(max(TIMES))]
    try:
        original = IrEngine(read.openvino())
        answers = [original(piece) for piece in pieces]
    except (RuntimeError, TypeError) as error:
        raise Unfit(str(error)) from None
    marks = [plan.marks.get(value) for value in model.graph.outputs]
    apply.apply_batch(model, plan, freed)
    try:
        written = layered.written_ir(read, replace(given, content=model))
        ours = IrEngine(written.openvino())
    except FixError as refusal:
        return Verdict("refused", refusal.sentence)
    except RuntimeError as error:
        if "doesn't support" in str(error):  # a limit of the plugin for dims that are not known
            raise Unfit(str(error)) from None
        return Verdict("broken", f"does not load: {error}")
    asked = [case.piece(feeds, 0, times) for times in TIMES]

    def faulty(engine: Any) -> Verdict | None:
        return fault(case, engine, asked, answers, marks) or fault_of_rows(case, original, engine, pieces, marks)

    try:
        found = faulty(ours)
        if found is not None and not (_steady(read, freed, pieces[0], answers[0]) and _known(written, faulty)):
            raise Unfit("OpenVINO alone answers otherwise as soon as a dim is dynamic")
    except Misfit as misfit:
        return Verdict("wrong", str(misfit))
    return found or Verdict("freed", str(marks))


def _known(written: Model, faulty: Callable[[Any], Verdict | None]) -> bool:
    """Whether it is wrong with known dims too; asked of sequences only, whose lengths OpenVINO forgets otherwise."""
    kinds = {operation.get_type_name() for operation in written.openvino().get_ops()}
    return not kinds & _SEQUENCES or faulty(PinnedEngine(written)) is not None


def _steady(read: Model, freed: Mapping[str, int], piece: Mapping[str, Array], answer: list[Array]) -> bool:
    """Whether the original itself, with nothing but its dims declared free, answers a piece as it did."""
    model = read.openvino()
    shapes = {}
    for port in model.inputs:
        dims = port.get_partial_shape()
        axis = next((freed[name] for name in port.names if name in freed), None)
        if axis is not None:
            dims[axis] = openvino.Dimension()
        shapes[port] = dims
    try:
        model.reshape(shapes)
        again = IrEngine(model)(piece)
    except RuntimeError:
        return True
    return all(difference(one, other, False) is None for one, other in zip(again, answer, strict=True))
