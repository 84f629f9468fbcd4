"""The law of records: what is drawn for a layer answers in onnxruntime as the layer does in openvino."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
import onnx_ir as ir
import openvino as ov
from onnxruntime.capi import onnxruntime_pybind11_state as refusals
from openvino import opset4

from onereshape.formats.ir_as_onnx.drawing import DOMAIN
from onereshape.formats.ir_as_onnx.to_onnx import image
from onereshape.formats.openvino.openvino_ir import load
from tests.formats.layers.making import Case, Maker
from tests.running import session

CONFIG = {"INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
CORE = ov.Core()
Arrays = list[np.ndarray[Any, Any]]


class Form(NamedTuple):
    """A case, with its dims said or unsaid."""

    case: Case
    unsaid: bool

    def __str__(self) -> str:
        return f"{self.case.kind} {self.case.name}{' (unsaid dims)' if self.unsaid else ''}"


class Drawn(NamedTuple):
    """A model of openvino, what is fed to it, and what is drawn for it."""

    form: Form
    model: ov.Model
    arrays: Arrays
    drawn: ir.Model

    def wrong(self, theirs: Arrays | None) -> str | None:
        """What differs from what openvino answers."""
        if theirs is None:
            return None if (self.form.case.kind, self.form.case.name) in UNASKED else f"{self.form}: nothing runs it"
        return self._apart(theirs, max(self.form.case.loose, rough(self.form.case.kind)))

    def unspecified(self) -> str | None:
        """What differs from openvino's own reference, which is asked where the plugin is rough."""
        asked = self.form.case.kind in ROUGH
        return self._apart(_specified(self.model, self.arrays), self.form.case.loose) if asked else None

    def _apart(self, theirs: Arrays, loose: float) -> str | None:
        case = self.form.case
        found = apart(theirs[: case.seen], ours(self.drawn, self.arrays)[: case.seen], loose, order=not case.sorted)
        return None if found is None else f"{self.form}: {found}"


def forms(case: Case, *, said_only: bool = False) -> list[Form]:
    """A case with its dims said, and unsaid."""
    return [Form(case, unsaid) for unsaid in ((False,) if case.said or said_only else (False, True))]


def broken(asked: Iterable[Form], folder: Path) -> list[str]:
    """What is wrong with some cases, asked together; what openvino answers otherwise then is asked alone."""
    found, waiting = [], []
    for form in asked:
        drawn = _drawn(form, folder)
        if isinstance(drawn, Drawn):
            waiting.append(drawn)
        elif drawn is not None:
            found.append(f"{form}: {drawn}")
    together = theirs([(each.model, each.arrays) for each in waiting if not each.form.case.specified])
    for each in waiting:
        if each.form.case.specified:
            why = each.wrong(_specified(each.model, each.arrays))
        else:
            why = each.wrong(next(together)) and each.wrong(_asked(each.model, each.arrays))
            why = why or each.unspecified()
        found += [why] if why else []
    return found


def _drawn(form: Form, folder: Path) -> Drawn | str | None:
    """What is drawn for a case, or what is wrong, or nothing where nothing is drawn and this is right."""
    case, unsaid = form
    seed = zlib.crc32(f"{case.kind} {case.name}".encode())
    maker = Maker(seed, unsaid=unsaid)
    path = _written(case, maker, folder / f"{seed}{'_unsaid' if unsaid else ''}.xml")
    if case.kind not in {layer.get("type") for layer in ET.parse(path).iter("layer")}:  # noqa: S314 - our own file
        return "the model has no such layer"
    drawn = image(load(str(path)))
    undrawn = [node for node in drawn.graph if node.domain == DOMAIN]
    if undrawn:
        why = str(undrawn[0].attributes["why"].value) if "why" in undrawn[0].attributes else ""
        if unsaid and "known" in why:
            return None
        return None if case.undrawn is not None and case.undrawn in why else f"it is not drawn: {why!r}"
    if case.undrawn is not None:
        return None if unsaid else "it is drawn"
    return Drawn(form, CORE.read_model(path), maker.arrays, drawn)


def _written(case: Case, maker: Maker, path: Path) -> Path:
    made = case.build(maker)
    results = [*made.outputs()] if isinstance(made, ov.Node) else [*made]
    ov.serialize(ov.Model(results, maker.parameters, "case"), path)
    if case.swap:
        text = path.read_text(encoding="utf-8")
        for before, after in case.swap:
            assert before in text, f"{case.name}: {before} is not there"
            text = text.replace(before, after)
        path.write_text(text, encoding="utf-8")
    return path


def theirs(asked: Sequence[tuple[ov.Model, Arrays]]) -> Iterator[Arrays | None]:
    """What openvino's CPU plugin answers to several models, which it compiles as one.

    Almost all of the time that a small model takes does not depend on what is in it.
    """
    fed = [each for _, arrays in asked for each in arrays]
    try:
        answers = iter(alone(merged([model.clone() for model, _ in asked]), fed))
    except RuntimeError:
        return (_asked(*each) for each in asked)
    return ([*islice(answers, len(model.outputs))] for model, _ in asked)


def merged(models: Sequence[ov.Model]) -> ov.Model:
    """Several models as one, which takes their nodes; its inputs and outputs have no names, and are in their order."""
    for port in (port for model in models for port in (*model.inputs, *model.outputs)):
        port.get_tensor().set_names(set())
    results = [each for model in models for each in model.get_results()]
    sinks = [each for model in models for each in model.get_sinks()]
    return ov.Model(results, sinks, [each for model in models for each in model.get_parameters()], "several")


def alone(model: ov.Model, arrays: Arrays) -> Arrays:
    """What openvino's CPU plugin answers."""
    compiled = CORE.compile_model(model, "CPU", CONFIG)
    request = compiled.create_infer_request()
    for place, array in enumerate(arrays):
        request.set_input_tensor(place, ov.Tensor(np.ascontiguousarray(array).reshape(array.shape)))
    request.infer()
    return [np.array(request.get_output_tensor(place).data) for place in range(len(compiled.outputs))]


def _asked(model: ov.Model, arrays: Arrays) -> Arrays | None:
    """The same; what the plugin of this machine has no kernel for is asked of openvino's own reference, if it can."""
    try:
        return alone(model, arrays)
    except RuntimeError as error:
        if "executor is not found" not in str(error):
            raise
    try:
        return _specified(model, arrays)
    except RuntimeError as error:
        if "Evaluation failed" not in str(error):
            raise
    return None


UNASKED = {("AvgPool", "dilated")}
"""Cases that openvino may not run at all: on Arm its plugin has no kernel for them, and its reference none anywhere."""


ROUGH = {"SoftPlus": opset4.softplus}
"""Layers that the plugin of some machine approximates: Arm's SoftPlus is good to 4e-4."""


@cache
def rough(kind: str) -> float:
    """How far this machine's plugin is from openvino's own reference, in such a layer."""
    if kind not in ROUGH:
        return 0.0
    given, x = np.linspace(-20, 20, 4001, dtype=np.float32), opset4.parameter([4001], np.float32)
    model = ov.Model([ROUGH[kind](x)], [x], "rough")
    return float(np.max(np.abs(alone(model, [given])[0] - _specified(model, [given])[0])))


def _specified(model: ov.Model, arrays: Arrays) -> Arrays:
    """What openvino's own reference answers."""
    found = [ov.Tensor(each.get_element_type(), ov.Shape([0])) for each in model.outputs]
    assert model.evaluate(found, [ov.Tensor(array) for array in arrays])
    return [np.array(each.data) for each in found]


def ours(model: ir.Model, arrays: Arrays) -> Arrays:
    """What onnxruntime answers, with nothing fused."""
    proto = ir.to_proto(model)
    try:
        loaded = session(proto)
    except refusals.NotImplemented:  # the newest version is of more types only
        next(each for each in proto.opset_import if not each.domain).version = 21
        loaded = session(proto)
    names = [each.name for each in loaded.get_inputs()]
    return list(loaded.run(None, dict(zip(names, arrays, strict=True))))


def apart(theirs: Arrays, ours: Arrays, loose: float, *, order: bool = True) -> str | None:
    """What differs between two answers."""
    for place, (their, our) in enumerate(zip(theirs, ours, strict=True)):
        if their.dtype != our.dtype or their.shape != our.shape:
            return f"output {place} is {their.dtype}{their.shape}, and drawn {our.dtype}{our.shape}"
        first, second = (each if order else np.sort(each, -1) for each in (their, our))
        if first.dtype.kind == "f":
            close = np.allclose(first, second, rtol=loose, atol=loose, equal_nan=True)
        else:
            close = np.array_equal(first, second)
        if not close:
            return f"output {place} is {_shown(first)}, and drawn {_shown(second)}"
    return None


def _shown(array: np.ndarray[Any, Any]) -> str:
    return str(array.ravel()[:8].tolist())
