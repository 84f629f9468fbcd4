"""onnxruntime, with nothing of its own added: no optimization, one thread, no log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

Array = np.ndarray[Any, Any]

_OPTIONS = ort.SessionOptions()
_OPTIONS.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
_OPTIONS.intra_op_num_threads = _OPTIONS.inter_op_num_threads = 1
_OPTIONS.log_severity_level = 4


class Failed(Exception):  # noqa: N818 - an answer of the engine
    """The engine does not take a model, or its inputs."""


class Sign:
    """Whether the engine is at work on an original: a process that dies then is the engine's own fault."""

    raised: Any = None
    """A number that another process reads."""

    @contextmanager
    def up(self, *, up: bool) -> Iterator[None]:
        if self.raised is None or not up:
            yield
            return
        self.raised.value = 1
        try:
            yield
        finally:
            self.raised.value = 0


SIGN = Sign()


class Engine:
    """One model, ready to run; `ours`: it was rewritten, so that its engine may not die where the original ran."""

    def __init__(self, proto: Any, *, ours: bool = False) -> None:
        self.proto = proto
        self._ours = ours
        try:
            with SIGN.up(up=not ours):
                self._session = ort.InferenceSession(
                    proto.SerializeToString(), _OPTIONS, providers=["CPUExecutionProvider"]
                )
        except Exception as error:  # noqa: BLE001 - whatever the engine raises
            raise Failed(f"does not load: {line(error)}") from None
        self.outputs = [each.name for each in self._session.get_outputs()]

    def __call__(self, feeds: Mapping[str, Array]) -> list[Any]:
        try:
            with SIGN.up(up=not self._ours):
                found = self._session.run(None, dict(feeds))
        except Exception as error:  # noqa: BLE001
            raise Failed(line(error)) from None
        return [each if isinstance(each, list) else np.asarray(each) for each in found]


def line(error: BaseException) -> str:
    """What the engine says, without its own places."""
    return " ".join(str(error).split())[:300]


def type_of(array: Array) -> int:
    return int(onnx.helper.np_dtype_to_tensor_dtype(array.dtype))


def with_all_values(proto: Any) -> Any:
    """The model with every value of its graph as an output."""
    opened = onnx.ModelProto()
    opened.CopyFrom(proto)
    listed = {each.name for each in opened.graph.output}
    for node in opened.graph.node:
        for name in node.output:
            if name and name not in listed:
                opened.graph.output.append(onnx.ValueInfoProto(name=name))
    return opened
