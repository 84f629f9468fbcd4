"""The engines that the case table is put to: a row each, and nothing of theirs imported.

An engine is one way to ask one implementation.  Engines of a specification are held against it; array libraries follow
none, and are held against the one that is nearest to them: ONNX with a literal 0.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import util
from typing import Literal

from onereshape.backends.conformance.case_table import Case, question
from onereshape.backends.conformance.questions import EngineQuestion
from onereshape.ground.errors import ReshapeError
from onereshape.rule.specs import spec as find_spec


@dataclass(frozen=True, slots=True)
class Engine:
    """A way to ask one implementation of Reshape: its package, the specification it follows, the function that asks."""

    name: str
    spec: str
    """The specification that its answers are held against."""
    package: str
    ask: str
    """The function that asks it, as MODULE:FUNCTION; the module is imported only in a child process."""
    about: str
    kind: Literal["engine", "library", "own"] = "engine"
    infers: bool = False
    """Whether it infers dims without executing."""
    lacks: tuple[str, ...] = ()
    """Types of data that it cannot hold, and so cannot be asked about."""
    shipped: bool = False
    """Whether it is a library that no package of its own name installs: its process looks for it, and where there is
    none the answers that were recorded of it, and are shipped, stand for it."""

    @property
    def is_installed(self) -> bool:
        """Whether its package is installed; of an engine that is `shipped` or the user's own, loading tells."""
        return self.kind == "own" or self.shipped or util.find_spec(self.package) is not None

    @property
    def version(self) -> str:
        """The release of its package that is installed; empty for a function of the user's own."""
        from importlib import metadata  # noqa: PLC0415 - takes long

        if self.kind == "own":
            return ""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return "of unknown version"

    def question(self, case: Case, zero: str) -> EngineQuestion | None:
        """The case as a question to this engine, or None where the engine cannot be asked."""
        if not (case.is_held or self.infers) or case.data_type in self.lacks:
            return None
        if self.kind == "library" and (zero != "literal" or not case.has_plain_shape):
            return None
        return question(case, zero, self.spec)


_HERE = "onereshape.backends.conformance"
_ONNX, _OPENVINO, _ONEDNN, _ARRAYS = (f"{_HERE}.{name}_engines" for name in ("onnx", "openvino", "onednn", "array"))
_NOT_IN_ONEDNN = ("complex64", "string")

ENGINES: tuple[Engine, ...] = (
    Engine("onnx-reference-24", "onnx-24", "onnx", f"{_ONNX}:reference", "the reference evaluator, opset 24"),
    Engine("onnx-reference-13", "onnx-13", "onnx", f"{_ONNX}:reference", "the reference evaluator, opset 13"),
    Engine(
        "onnx-inference-24",
        "onnx-24",
        "onnx",
        f"{_ONNX}:inference",
        "strict shape inference, opset 24, static data and a constant target",
        infers=True,
    ),
    Engine(
        "onnx-inference-13",
        "onnx-13",
        "onnx",
        f"{_ONNX}:inference",
        "strict shape inference, opset 13, static data and a constant target",
        infers=True,
    ),
    Engine(
        "onnxruntime-24",
        "onnx-24",
        "onnxruntime",
        f"{_ONNX}:runtime",
        "the CPU provider, opset 24, data and target known only at run time",
    ),
    Engine(
        "onnxruntime-24-constant",
        "onnx-24",
        "onnxruntime",
        f"{_ONNX}:runtime_constant",
        "the CPU provider, opset 24, static data and a constant target",
    ),
    Engine(
        "onnxruntime-13",
        "onnx-13",
        "onnxruntime",
        f"{_ONNX}:runtime",
        "the CPU provider, opset 13, data and target known only at run time",
    ),
    Engine(
        "onnxruntime-1",
        "onnx-1",
        "onnxruntime",
        f"{_ONNX}:runtime",
        "the CPU provider, opset 1, where the target is an attribute",
    ),
    Engine(
        "openvino-inference",
        "openvino",
        "openvino",
        f"{_OPENVINO}:inference",
        "the shape inference of the core, static data and a constant pattern",
        infers=True,
    ),
    Engine(
        "openvino-evaluate",
        "openvino",
        "openvino",
        f"{_OPENVINO}:evaluate",
        "Model.evaluate, data and pattern known only at run time",
    ),
    Engine(
        "openvino-cpu",
        "openvino",
        "openvino",
        f"{_OPENVINO}:cpu",
        "the CPU plugin, data and pattern known only at run time (their ranks before)",
    ),
    Engine(
        "openvino-cpu-constant",
        "openvino",
        "openvino",
        f"{_OPENVINO}:cpu_constant",
        "the CPU plugin, data known only at run time and a constant pattern",
    ),
    Engine(
        "openvino-cpu-static",
        "openvino",
        "openvino",
        f"{_OPENVINO}:cpu_static",
        "the CPU plugin, static data and a constant pattern",
    ),
    Engine(
        "onednn-compile",
        "onednn-static",
        "onednn",
        f"{_ONEDNN}:compiled",
        "the graph API, a StaticReshape compiled and the dims of its output asked for",
        infers=True,
        lacks=_NOT_IN_ONEDNN,
        shipped=True,
    ),
    Engine(
        "onednn-graph",
        "onednn-static",
        "onednn",
        f"{_ONEDNN}:executed",
        "the graph API, a StaticReshape compiled and executed",
        lacks=_NOT_IN_ONEDNN,
        shipped=True,
    ),
    Engine("numpy", "onnx-24", "numpy", f"{_ARRAYS}:ask_numpy", "numpy.reshape", "library"),
    Engine("torch", "onnx-24", "torch", f"{_ARRAYS}:ask_torch", "torch.reshape", "library", lacks=("string",)),
    Engine("jax", "onnx-24", "jax", f"{_ARRAYS}:ask_jax", "jax.numpy.reshape", "library", lacks=("string",)),
)


def find_engines(names: Iterable[str], spec: str) -> tuple[Engine, ...]:
    """The engines of these names, of an engine or of a package; MODULE:FUNCTION is one of the user's own."""
    found: list[Engine] = []
    for name in names:
        if ":" in name:
            row = find_spec(spec)
            about = "a function of yours: (data, target, flag) to an array"
            found.append(Engine(name, row.name, name.partition(":")[0], name, about, "own"))
            continue
        named = [engine for engine in ENGINES if name in {engine.name, engine.package}]
        if not named:
            raise _unknown("engine", name, {key for engine in ENGINES for key in (engine.name, engine.package)})
        found += named
    return tuple(dict.fromkeys(found))


def find_cases(names: Iterable[str], cases: tuple[Case, ...]) -> tuple[Case, ...]:
    """The cases of these names, in the order of the table."""
    wanted = set(names)
    unknown = sorted(wanted - {case.name for case in cases})
    if unknown:
        raise _unknown("case", unknown[0], {case.name for case in cases})
    return tuple(case for case in cases if case.name in wanted)


def _unknown(what: str, name: str, names: set[str]) -> ReshapeError:
    near = difflib.get_close_matches(name, sorted(names), n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the names are {', '.join(sorted(names))}"
    return ReshapeError("bad-usage", why=f"there is no {what} {name!r}: {hint}")
