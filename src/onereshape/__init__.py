"""One Reshape for ONNX, OpenVINO and oneDNN Graph: exactly right in all of them.

>>> import onereshape as orx
>>> orx.resolve([2, 3, 4], [0, -1], "onnx-14")
(2, 12)
"""

import sys

# `python -m onereshape` looks into the working folder first, where anyone may have put modules by any name.
_started = getattr(sys, "argv", [])[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].removeprefix("-m")
if _started == "onereshape" and not sys.flags.safe_path:
    del sys.path[0]
_started = _started or "".join(getattr(sys, "argv", [])[:1]).rpartition("/")[2]  # or the script of that name

import signal

if _started == "onereshape" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C while the rest is imported: no traceback; `main` sets it back

if _started == "onereshape":
    from onereshape.ground.delayed import delay

    delay()

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onereshape.arrays.operator import Reshape, reshape
    from onereshape.backends.translation import translate
    from onereshape.checks.check import check
    from onereshape.checks.findings.finding import Finding
    from onereshape.checks.reports import report
    from onereshape.checks.show import show
    from onereshape.formats.model import Model, load, save
    from onereshape.graphs.edit import Change
    from onereshape.ground.errors import FixError, FormatError, ReshapeError, TranslateError
    from onereshape.prove.certificate import Certificate
    from onereshape.prove.certify import certify
    from onereshape.repair.fix import fix
    from onereshape.repair.step import Fixed
    from onereshape.rule.inference import infer
    from onereshape.rule.semantics import resolve
    from onereshape.rule.shape import Shape
    from onereshape.rule.specs import spec

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "Change",
    "Finding",
    "FixError",
    "Fixed",
    "FormatError",
    "Model",
    "Reshape",
    "ReshapeError",
    "Shape",
    "TranslateError",
    "__version__",
    "certify",
    "check",
    "fix",
    "infer",
    "load",
    "report",
    "reshape",
    "resolve",
    "save",
    "show",
    "spec",
    "translate",
]

_LATER = {
    "Certificate": "onereshape.prove.certificate",
    "Change": "onereshape.graphs.edit",
    "Finding": "onereshape.checks.findings.finding",
    "FixError": "onereshape.ground.errors",
    "Fixed": "onereshape.repair.step",
    "FormatError": "onereshape.ground.errors",
    "Model": "onereshape.formats.model",
    "Reshape": "onereshape.arrays.operator",
    "ReshapeError": "onereshape.ground.errors",
    "Shape": "onereshape.rule.shape",
    "TranslateError": "onereshape.ground.errors",
    "certify": "onereshape.prove.certify",
    "check": "onereshape.checks.check",
    "fix": "onereshape.repair.fix",
    "infer": "onereshape.rule.inference",
    "load": "onereshape.formats.model",
    "report": "onereshape.checks.reports",
    "reshape": "onereshape.arrays.operator",
    "resolve": "onereshape.rule.semantics",
    "save": "onereshape.formats.model",
    "show": "onereshape.checks.show",
    "spec": "onereshape.rule.specs",
    "translate": "onereshape.backends.translation",
}
"""Where each name is: imported when it is first asked for, so that nobody waits for what they do not use."""

_DOORS = {
    "onereshape.onnx_backend": "onereshape.backends.onnx_backend",
    "onereshape.passes": "onereshape.repair.passes",
    "onereshape.shape_rule": "onereshape.backends.shape_rule",
    # where older pickles look
    "onereshape.condition": "onereshape.rule.condition",
    "onereshape.dims": "onereshape.rule.dims",
    "onereshape.errors": "onereshape.ground.errors",
    "onereshape.operator": "onereshape.arrays.operator",
    "onereshape.shape": "onereshape.rule.shape",
    "onereshape.specs": "onereshape.rule.specs",
}
"""Modules by the names that others know, and where they are: imported when something in them is asked for."""


class _Door(ModuleType):
    """A module by the name that others know, in whose place the module itself comes."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__") and name != "__all__":
            raise AttributeError(name)  # whoever looks through all modules imports none
        found = sys.modules[self.__name__] = import_module(_DOORS[self.__name__])
        setattr(sys.modules[__name__], self.__name__.rpartition(".")[2], found)
        return getattr(found, name)


for _name in _DOORS:
    globals()[_name.rpartition(".")[2]] = sys.modules.setdefault(_name, _Door(_name))

if not TYPE_CHECKING:  # a type checker would take every name for one that may come

    def __getattr__(name: str) -> object:
        if name not in _LATER:
            raise AttributeError(f"module 'onereshape' has no attribute {name!r}{_nearest(name)}", name=name)
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found


def _nearest(name: str) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - only a typo needs it

    near = [] if name.startswith("_") else get_close_matches(name, __all__, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def __dir__() -> list[str]:
    return __all__
