"""The law of batching, asked of a model as an OpenVINO IR, with openvino as the engine.

The cases are those of the ONNX rules: OpenVINO reads each, its IR is drawn, freed and written, and both IRs are run.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
import openvino
from openvino import opset1

from onereshape.formats.model import Model, load
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.irs import imaged
from onereshape.ground.errors import FixError
from onereshape.repair import layered
from onereshape.repair.batch import apply
from tests.formats.layers.law import merged
from tests.laws.batching_law import TIMES, Array, Misfit, Run, Unfit, Verdict, difference, fault, fault_of_rows, planned
from tests.laws.batching_sketch import Sketch

Feeds = Mapping[str, Array]
CORE = openvino.Core()
_SEQUENCES = {"RNNSequence", "GRUSequence", "LSTMSequence"}
_CONFIG = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}


class IrEngine:
    """OpenVINO's CPU plugin on one model."""

    def __init__(self, model: openvino.Model) -> None:
        self._compiled = CORE.compile_model(model, "CPU", _CONFIG)

    def __call__(self, feeds: Feeds) -> list[Array]:
        return self.ordered([_fed(port.names, feeds) for port in self._compiled.inputs])

    def ordered(self, given: Sequence[Array]) -> list[Array]:
        """What it answers to inputs in their order."""
        request = self._compiled.create_infer_request()
        for port, array in zip(self._compiled.inputs, given, strict=True):
            request.set_tensor(port, openvino.Tensor(array))
        request.infer()
        return [np.array(request.get_output_tensor(place).data) for place in range(len(self._compiled.outputs))]


def _fed(names: Iterable[str], feeds: Feeds) -> Array:
    """What is fed to an input that has these names."""
    given = next(feeds[name] for name in names if name in feeds)
    return np.ascontiguousarray(given).reshape(np.shape(given))


class PinnedEngine:
    """The same, with all dims made known before each run: what the plugin does only to dynamic dims is not seen."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __call__(self, feeds: Feeds) -> list[Array]:
        model = self._model.openvino()
        model.reshape({port: np.shape(feeds[name]) for port in model.inputs for name in port.names if name in feeds})
        return IrEngine(model)(feeds)


class Recalled:
    """What one of several models that are run together answered."""

    def __init__(self, asked: Sequence[Feeds], answers: Sequence[list[Array]]) -> None:
        self._known = [*zip(asked, answers, strict=False)]

    def __call__(self, feeds: Feeds) -> list[Array]:
        return next(answer for known, answer in self._known if _same(known, feeds))


def _same(one: Feeds, other: Feeds) -> bool:
    return all(np.array_equal(one[name], array) for name, array in other.items())


class Trial(NamedTuple):
    """A case as an IR, and what is written for it."""

    case: Sketch
    read: Model
    written: Model
    marks: list[Mark | None]
    feeds: Feeds

    @property
    def pieces(self) -> list[Feeds]:
        """What the original is asked."""
        return [self.case.piece(self.feeds, number) for number in range(max(TIMES))]

    @property
    def asked(self) -> list[dict[str, Array]]:
        """What the batched model is asked."""
        return [self.case.piece(self.feeds, 0, times) for times in TIMES]

    def fault(self, original: Run, ours: Run, answers: list[list[Array]]) -> Verdict | None:
        """What is wrong with the batched model."""
        return fault(self.case, ours, self.asked, answers, self.marks) or fault_of_rows(
            self.case, original, ours, self.pieces, self.marks
        )


def judge_irs(cases: Sequence[Sketch]) -> list[Verdict]:
    """The law on some cases, which OpenVINO compiles and runs as one model; what is not right then is judged alone."""
    with tempfile.TemporaryDirectory() as folder:
        tried = [_tried(case, Path(folder, f"{place}.xml")) for place, case in enumerate(cases)]
        trials = [each for each in tried if isinstance(each, Trial)]
        runs = iter(_together(trials))
        return [_judged(each, next(runs)) if isinstance(each, Trial) else each for each in tried]


def judge_ir(case: Sketch) -> Verdict:
    """The law on one case."""
    return judge_irs([case])[0]


def _tried(case: Sketch, path: Path) -> Trial | Verdict:
    try:
        openvino.serialize(CORE.read_model(io.BytesIO(case.proto().SerializeToString())), path)
    except RuntimeError as error:
        return Verdict("unfit", str(error))
    read = load(str(path))
    given = imaged(read)
    model = given.ir
    if {value.name for value in model.graph.inputs} != set(case.draw(1)):
        return Verdict("unfit", "OpenVINO drops an input")
    try:
        plan = planned(case, model)
        marks = [plan.marks.get(value) for value in model.graph.outputs]
        apply.apply_batch(model, plan, case.freed())
        written = layered.written_ir(read, replace(given, content=model))
    except FixError as refusal:
        return Verdict("refused", refusal.sentence)
    return Trial(case, read, written, marks, case.draw(max(TIMES)))


def _together(trials: Sequence[Trial]) -> list[tuple[Run, Run] | None]:
    """The original and the batched model of each trial, run as one; nothing where OpenVINO does not do that."""
    asked: list[Sequence[Feeds]] = []
    for trial in trials:
        case, pieces, several = trial.case, trial.pieces, trial.case.size > 1
        asked.append([*pieces, *([case.first_row_of_another(*pieces[:2])] if several else [])])
        asked.append([*trial.asked, *([case.row(pieces[0], 1)] if several else [])])
    try:
        models = [model.openvino() for each in trials for model in (each.read, each.written)]
        runs = [Recalled(*each) for each in zip(asked, _answered(models, asked), strict=True)]
    except (RuntimeError, TypeError):
        return [None] * len(trials)
    return [*zip(runs[::2], runs[1::2], strict=True)]


def _answered(models: Sequence[openvino.Model], asked: Sequence[Sequence[Feeds]]) -> list[list[list[Array]]]:
    """What each model answers to each of its feeds; one that has fewer than others is asked the last again."""
    inputs = [[[*port.names] for port in model.inputs] for model in models]
    counts = [len(model.outputs) for model in models]
    run = IrEngine(merged(models))
    found: list[list[list[Array]]] = [[] for _ in models]
    for number in range(max(map(len, asked), default=0)):
        feeds = [each[min(number, len(each) - 1)] for each in asked]
        given = [_fed(names, each) for each, ports in zip(feeds, inputs, strict=True) for names in ports]
        answers = iter(run.ordered(given))
        for each, count in zip(found, counts, strict=True):
            each.append([*islice(answers, count)])
    return found


def _judged(trial: Trial, runs: tuple[Run, Run] | None) -> Verdict:
    freed = Verdict("freed", str(trial.marks))
    with suppress(Misfit):
        if runs is not None and trial.fault(*runs, [runs[0](piece) for piece in trial.pieces]) is None:
            return freed
    try:
        return _fault_alone(trial) or freed
    except Unfit as unfit:
        return Verdict("unfit", str(unfit))


def _fault_alone(trial: Trial) -> Verdict | None:
    pieces = trial.pieces
    try:
        original = IrEngine(trial.read.openvino())
        answers = [original(piece) for piece in pieces]
    except (RuntimeError, TypeError) as error:
        raise Unfit(str(error)) from None
    try:
        ours = IrEngine(trial.written.openvino())
    except RuntimeError as error:
        if "doesn't support" in str(error):  # a limit of the plugin for dims that are not known
            raise Unfit(str(error)) from None
        return Verdict("broken", f"does not load: {error}")

    def faulty(engine: Run) -> Verdict | None:
        return trial.fault(original, engine, answers)

    try:
        found = faulty(ours)
        steady = found is None or _steady(trial.read, trial.case.freed(), pieces, answers)
        if found is not None and not (steady and _known(trial.written, faulty)):
            raise Unfit("OpenVINO alone answers otherwise as soon as a dim is dynamic")
    except Misfit as misfit:
        return Verdict("wrong", str(misfit))
    return found


def _known(written: Model, faulty: Callable[[Run], Verdict | None]) -> bool:
    """Whether it is wrong with known dims too; asked only of layers that OpenVINO itself runs wrongly otherwise.

    It forgets the lengths of sequences; and on some machines the type that a Convert makes.
    """
    kinds = {operation.get_type_name() for operation in written.openvino().get_ops()}
    odd = _SEQUENCES | ({"Convert"} if _narrows() else set())
    return not kinds & odd or faulty(PinnedEngine(written)) is not None


@cache
def _narrows() -> bool:
    """Whether this machine's plugin multiplies floats by a converted mask in the type of the mask: Arm's does."""
    x, mask = (opset1.parameter([-1], kind) for kind in (np.float32, np.uint8))
    model = openvino.Model([opset1.multiply(x, opset1.convert(mask, "f32"))], [x, mask], "masked")
    (found,) = IrEngine(model).ordered([np.array([1.5], np.float32), np.array([1], np.uint8)])
    return bool(found[0] != 1.5)


def _steady(read: Model, freed: Mapping[str, int], pieces: Sequence[Feeds], answers: Sequence[list[Array]]) -> bool:
    """Whether the original itself, with nothing but its dims declared free, answers every piece as it did.

    Every one: the mask of a piece may be all zeros, and tell nothing.
    """
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
        free = IrEngine(model)
        again = [free(piece) for piece in pieces]
    except RuntimeError:
        return True
    pairs = (pair for both in zip(again, answers, strict=True) for pair in zip(*both, strict=True))
    return all(difference(*pair, False) is None for pair in pairs)
