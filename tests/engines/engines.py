"""The engines: each is a way to ask one implementation, held against one specification of ours.

Every function that answers runs the real engine, or its own shape inference, on a model that is prepared once and kept
where the engine allows it.  Only the exceptions with which an engine refuses count as a refusal; anything else is a
mistake of these tests and surfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import Any

from onereshape import ReshapeError, resolve
from onereshape.backends.conformance.onednn_library import library
from tests.engines.answers import Answer, Ask, Dims, dims_of, elements
from tests.engines.onednn_engines import onednn_graph, onednn_survives
from tests.engines.onnx_engines import (
    onnx_inference,
    onnx_reference,
    onnxruntime_attribute,
    onnxruntime_constant,
    onnxruntime_input,
)
from tests.engines.openvino_engines import (
    keeps_the_volume,
    openvino_cpu,
    openvino_cpu_constant,
    openvino_cpu_static,
    openvino_evaluate,
    openvino_inference,
)


@dataclass(frozen=True, slots=True)
class Engine:
    """One way to ask one engine, and what of ours it is held against."""

    name: str
    spec: str
    columns: Mapping[bool, str]
    """For each meaning of 0 that it knows (True: copied) its column in engine_answers.json."""
    package: str
    answer: Ask | None
    """None: it is not installed with the tests, and only its recorded answers are known."""
    is_safe: Callable[[Dims, Dims, bool], bool] = lambda _data, _target, _zero_copies: True
    """Whether the engine survives being asked."""


def installed(engine: Engine) -> str:
    """The release that answers here."""
    return library().release if engine.package == "onednn" else version(engine.package)


def ours(engine: Engine, data: Dims, target: Dims, *, zero_copies: bool) -> Dims | None:
    """What `resolve` answers under the specification and the flag that the engine stands for."""
    try:
        return resolve(data, target, engine.spec, **_attributes(engine.spec, zero_copies=zero_copies))
    except ReshapeError as refusal:
        if refusal.usage:
            raise
        return None


@cache
def _attributes(spec: str, *, zero_copies: bool) -> dict[str, Any]:
    """The flag, spelled out here so that a wrong polarity in our table of specifications is seen."""
    if spec in {"onnx-1", "onnx-13"}:
        assert zero_copies
        return {}
    return {"allowzero": int(not zero_copies)} if spec.startswith("onnx") else {"special_zero": zero_copies}


def numpy_reshape(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """`numpy.reshape`, which the reference evaluator and many exporters lean on."""
    assert not zero_copies
    try:
        return dims_of(elements(data).reshape(target), data)
    except ValueError:
        return None


ENGINES: tuple[Engine, ...] = (
    Engine(
        "onnx-reference-24", "onnx-24", {True: "onnx_ref24_az0", False: "onnx_ref24_az1"}, "onnx", onnx_reference(24)
    ),
    Engine("onnx-reference-13", "onnx-13", {True: "onnx_ref13"}, "onnx", onnx_reference(13)),
    Engine("onnx-inference-24", "onnx-24", {True: "onnx_si24_az0", False: "onnx_si24_az1"}, "onnx", onnx_inference(24)),
    Engine("onnx-inference-13", "onnx-13", {True: "onnx_si13"}, "onnx", onnx_inference(13)),
    Engine("onnx-inference-1", "onnx-1", {True: "onnx_si1"}, "onnx", onnx_inference(1)),
    Engine(
        "onnxruntime-24",
        "onnx-24",
        {True: "ort24_az0_dyn", False: "ort24_az1_dyn"},
        "onnxruntime",
        onnxruntime_input(24),
    ),
    Engine(
        "onnxruntime-24-constant",
        "onnx-24",
        {True: "ort24_az0_const", False: "ort24_az1_const"},
        "onnxruntime",
        onnxruntime_constant(24),
    ),
    Engine("onnxruntime-13", "onnx-13", {True: "ort13_dyn"}, "onnxruntime", onnxruntime_input(13)),
    Engine("onnxruntime-1", "onnx-1", {True: "ort1"}, "onnxruntime", onnxruntime_attribute(1)),
    Engine(
        "openvino-inference",
        "openvino",
        {True: "ov_core_sztrue", False: "ov_core_szfalse"},
        "openvino",
        openvino_inference,
    ),
    Engine(
        "openvino-evaluate",
        "openvino",
        {True: "ov_eval_sztrue", False: "ov_eval_szfalse"},
        "openvino",
        openvino_evaluate,
        keeps_the_volume,
    ),
    Engine(
        "openvino-cpu", "openvino", {True: "ov_cpu_sztrue_dyn", False: "ov_cpu_szfalse_dyn"}, "openvino", openvino_cpu
    ),
    Engine(
        "openvino-cpu-constant",
        "openvino",
        {True: "ov_cpu_sztrue_const", False: "ov_cpu_szfalse_const"},
        "openvino",
        openvino_cpu_constant,
    ),
    Engine(
        "openvino-cpu-static",
        "openvino",
        {True: "ov_cpu_sztrue_static", False: "ov_cpu_szfalse_static"},
        "openvino",
        openvino_cpu_static,
        keeps_the_volume,
    ),
    Engine("numpy", "onnx-24", {False: "numpy"}, "numpy", numpy_reshape),
    Engine("torch", "onnx-24", {False: "torch"}, "torch", None),
    Engine(
        "onednn-inference",
        "onednn-static",
        {True: "oneDNN3.12_infer_sztrue", False: "oneDNN3.12_infer_szfalse"},
        "onednn",
        None,
    ),
    Engine(
        "onednn-graph",
        "onednn-static",
        {True: "oneDNN3.12_graph_sztrue", False: "oneDNN3.12_graph_szfalse"},
        "onednn",
        onednn_graph,
        onednn_survives,
    ),
)
