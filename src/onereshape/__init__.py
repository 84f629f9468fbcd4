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
    from onereshape.delayed import delay

    delay()

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onereshape.errors import FixError, FormatError, ReshapeError, TranslateError
    from onereshape.formats.model import Model, load, save
    from onereshape.inference import infer
    from onereshape.models.certificates.certificate import Certificate
    from onereshape.models.certify import certify
    from onereshape.models.check import check
    from onereshape.models.edit import Change
    from onereshape.models.findings.finding import Finding
    from onereshape.models.fix import fix
    from onereshape.models.show import show
    from onereshape.models.step import Fixed
    from onereshape.operator import Reshape, reshape
    from onereshape.reports import report
    from onereshape.semantics import resolve
    from onereshape.shape import Shape
    from onereshape.specs import spec
    from onereshape.translation import translate

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
    "Certificate": "onereshape.models.certificates.certificate",
    "Change": "onereshape.models.edit",
    "Finding": "onereshape.models.findings.finding",
    "FixError": "onereshape.errors",
    "Fixed": "onereshape.models.step",
    "FormatError": "onereshape.errors",
    "Model": "onereshape.formats.model",
    "Reshape": "onereshape.operator",
    "ReshapeError": "onereshape.errors",
    "Shape": "onereshape.shape",
    "TranslateError": "onereshape.errors",
    "certify": "onereshape.models.certify",
    "check": "onereshape.models.check",
    "fix": "onereshape.models.fix",
    "infer": "onereshape.inference",
    "load": "onereshape.formats.model",
    "report": "onereshape.reports",
    "reshape": "onereshape.operator",
    "resolve": "onereshape.semantics",
    "save": "onereshape.formats.model",
    "show": "onereshape.models.show",
    "spec": "onereshape.specs",
    "translate": "onereshape.translation",
}
"""Where each name is: imported when it is first asked for, so that nobody waits for what they do not use."""

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
