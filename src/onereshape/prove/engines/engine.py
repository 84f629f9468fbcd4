"""Running a model with its engine: the one place that opens sessions, feeds them and reads what they say.

An ONNX model is run by ONNX Runtime, the image of an OpenVINO IR by OpenVINO as the IR that it is.  The engine runs
apart, in a child process (`served` and `served_openvino` are its side of it).  A model goes there as bytes.  Large
weights that were read go there as a file of their own, which is written once for all models that have them (`mapped`);
weights in other files stay where they are; any other large model is a temporary file, which the engine need not have in
memory beside what it makes of it.  What the engine refuses, and whatever ends it, becomes a `Refusal` with one line of
text.  What is fed, and what the answers mean, is left to others.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Final

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import net_of
from onereshape.formats.ir_as_onnx.ir_writing import written
from onereshape.formats.onnx.onnx_bulk import Bulk
from onereshape.formats.onnx.onnx_lists import message, whole
from onereshape.formats.openvino.openvino_xml import encoded
from onereshape.formats.refusals import cause
from onereshape.ground.errors import ReshapeError
from onereshape.ground.isolation.budget import OutOfTime, limits
from onereshape.ground.isolation.messages import bytes_array
from onereshape.ground.isolation.room import Child, Ended, Ending, ask, here
from onereshape.ground.numpy_types import Array
from onereshape.prove.engines.mapped import put_out
from onereshape.prove.engines.turning import endless

__all__ = ["Array", "Refusal", "Session", "engine_name", "engine_of", "folder_of", "prepare"]

_LARGEST: Final = 2**31 - 1
"""Bytes of a protobuf message, the form in which a model reaches the engine."""
_LARGE: Final = 1 << 24
"""Bytes of a model that goes to the engine as a file."""
_SERVED: Final = {
    "onnxruntime": "onereshape.prove.engines.served",
    "openvino": "onereshape.prove.engines.served_openvino",
}
"""The module that has an engine, in the child."""
_NAMES: dict[str, str] = {}
"""The name and the version of each engine that was asked."""
_SHARE: Final = 16
"""A certificate holds so many answers at once, each of which has that part of the memory."""
_PATIENCE: Final = 2
"""How often a model may give no answer in time before it is no longer asked."""


class Refusal(Exception):  # noqa: N818 - it is the engine's answer, and its name
    """The engine does not load a model, or does not run it on what was fed."""

    def __init__(self, why: str, kind: Ending | None = None) -> None:
        self.why = why
        self.kind = kind
        """How its process ended, where that was no answer."""
        super().__init__(why)


class Session:
    """A model in the engine.  Its memory is free when the last reference to it is gone.

    A run that ends the engine's process is refused; the next one loads the model again, into another process.
    """

    __slots__ = (
        "__weakref__",
        "_child",
        "_late",
        "_names",
        "_number",
        "_served",
        "_source",
        "engine",
        "inputs",
        "outputs",
    )

    def __init__(self, model: ir.Model, base_dir: str, *, optimize: bool = True) -> None:
        """Loads the model, whose external data are in the folder `base_dir`, or raises a Refusal."""
        self._source = model, base_dir, optimize
        self._names: set[str] = set()
        why = endless(model, limits().seconds)
        self._late: list[str] = [] if why is None else [why] * _PATIENCE
        self._load()

    def _load(self) -> None:
        model, base_dir, optimize = self._source
        self.engine = engine_of(model)
        openvino = self.engine == "openvino"
        told, arrays = _for_openvino(model) if openvino else _for_onnxruntime(model, base_dir, optimize)
        self._served = _SERVED[self.engine]
        self._child = _child(self._served)
        with _as_file(arrays) if not openvino else nullcontext("") as path:
            found, _ = self._ask("load", {**told, "path": path}, arrays)
        self._number = found["number"]
        self.inputs: Mapping[str, str] = found["inputs"]
        self.outputs: Mapping[str, str] = found["outputs"]
        weakref.finalize(self, self._child.free, self._number).atexit = False

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs, or a Refusal; of a sequence each tensor; of maps a row for each, and their labels beside them.

        A sequence that has another number of tensors than before is refused: nobody could put them side by side.
        """
        if len(self._late) >= _PATIENCE:
            raise Refusal(self._late[0])
        if not self._child.lives:
            self._load()
        found = self._ask("run", {"number": self._number}, dict(feeds))[1]
        if self._names and self._names != {*found}:
            odd = min(self._names ^ {*found})
            raise Refusal(f"a sequence has other tensors than on other values: {odd!r} is in one of both only")
        self._names = {*found}
        return found

    def _ask(
        self, what: str, told: dict[str, Any], arrays: dict[str, Array]
    ) -> tuple[dict[str, Any], dict[str, Array]]:
        limit = limits()
        try:
            found, outputs = self._child.ask(f"{self._served}:{what}", told, arrays, limit, most=limit.memory // _SHARE)
        except Ended as ended:
            if ended.kind == "hang":
                self._late.append(f"it {ended}")
            raise Refusal(f"it {ended}", ended.kind) from None
        if "refused" in found:
            raise Refusal(str(found["refused"]))
        return found, outputs


def engine_of(model: ir.Model) -> str:
    """The name of the engine that runs a model: `onnxruntime`, or `openvino` for the image of an IR."""
    return "onnxruntime" if net_of(model.graph) is None else "openvino"


def prepare(engine: str) -> None:
    """Has a process load an engine, while this one has other things to do."""
    try:
        here(_SERVED[engine])
    except Ended:  # whoever asks it is told
        return


def engine_name(engine: str) -> str:
    """The engine and its version, as a certificate names it."""
    try:
        _NAMES[engine] = str(ask(f"{_SERVED[engine]}:name", {}, {})[0]["name"])
    except OutOfTime:
        return _NAMES.get(engine, engine)
    except Ended as ended:
        return f"{engine}, which {ended}"
    return _NAMES[engine]


def _child(served: str) -> Child:
    try:
        return here(served)
    except Ended as ended:
        raise Refusal(f"it {ended}") from None


def _for_onnxruntime(model: ir.Model, base_dir: str, optimize: bool) -> tuple[dict[str, Any], dict[str, Array]]:
    tensors = [*_tensors(model)]
    external = any(isinstance(tensor, ir.ExternalTensor) for tensor in tensors)
    content, folder = _content(model, tensors, mapped=not external)
    told = {"folder": folder or str(Path(base_dir).resolve()), "external": external or bool(folder)}
    return told | {"optimize": optimize}, {"model": bytes_array(content)}


@contextmanager
def _as_file(arrays: dict[str, Array]) -> Iterator[str]:
    """The temporary file of a model that is large, which is then no array any more; no name, where it is small."""
    if arrays["model"].nbytes < _LARGE:
        yield ""
        return
    with ExitStack() as stack:
        try:
            path = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="onereshape-"))) / "model.onnx"
            arrays["model"].tofile(path)
        except OSError:  # no room there: as bytes then
            yield ""
            return
        del arrays["model"]
        yield str(path)


def _for_openvino(model: ir.Model) -> tuple[dict[str, Any], dict[str, Array]]:
    """The IR that an image is; its dims need not be said, as OpenVINO infers them."""
    net = net_of(model.graph)
    assert net is not None  # noqa: S101 - see engine_of
    try:
        found = written(model)
        content = encoded(found.root, net.weights.path)
    except ReshapeError as error:
        raise Refusal(error.sentence) from None
    layers = net.body.layers
    told = {
        "weights": "" if net.weights.size is None else str(net.weights.file.resolve()),
        "start": found.start,
        "inputs": {layers[number].get("name"): name for name, number in net.parameters.items()},
        "outputs": {
            layers[number].get("name"): value.name
            for number, value in zip(net.results, model.graph.outputs, strict=True)
        },
    }
    return told, {"model": bytes_array(content), "added": bytes_array(found.added)}


def folder_of(model: ir.Model) -> str:
    """The folder in which the model itself says that its external data are, empty where it does not."""
    external = (tensor for tensor in _tensors(model) if isinstance(tensor, ir.ExternalTensor))
    return next((str(tensor.base_dir) for tensor in external), "")


def _tensors(model: ir.Model) -> Iterator[ir.TensorProtocol]:
    """Every tensor of the model: initializers, also those of subgraphs, and attributes."""
    graphs: Iterable[Any] = (*model.graphs(), *model.functions.values())
    for graph in graphs:
        yield from (value.const_value for value in getattr(graph, "initializers", {}).values() if value.const_value)
        for node in graph:
            for attribute in node.attributes.values():
                if attribute.type == ir.AttributeType.TENSOR and not attribute.is_ref():
                    yield attribute.value  # as_tensor() takes a hundred times as long


def _content(model: ir.Model, tensors: Iterable[ir.TensorProtocol], *, mapped: bool) -> tuple[bytes, str]:
    """The message of a model, and the folder that its large weights are put into; "" where they are in the message."""
    inside = sum(tensor.nbytes for tensor in tensors if not isinstance(tensor, ir.ExternalTensor))
    if inside > _LARGEST:
        raise Refusal(
            f"its weights are {inside} bytes, and a model that has them inside takes less than 2 GiB; "
            f"save them as external data first"
        )
    try:
        proto, lists = message(model)
        folder = ""
        if mapped and sum(len(each.content) for each in lists.values() if isinstance(each, Bulk)) >= _LARGE:
            with suppress(OSError):  # no room there: within the message then
                folder, lists = put_out(proto, lists)
        content = whole(proto.SerializeToString(), lists)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir or protobuf say
        raise Refusal(f"the model cannot be serialised: {cause(error)}") from None
    return content, folder
