"""What is said of the whole program: its help, and its version."""

from __future__ import annotations

import platform

import onereshape
from onereshape.arrays.threads import kernels_built, threads
from onereshape.cli.commands import COMMANDS
from onereshape.cli.parsing import wrapped
from onereshape.ground.installed import runtime, version_of

_EXAMPLES = """\
examples:
  $ onereshape check model.onnx --batch
  $ onereshape fix model.onnx -o dynamic.onnx --batch
  $ onereshape infer --data N,6 --target 4,-1"""
_CODES = """\
  0  answered: nothing is wrong
  1  errors were found, or the operation is refused
  2  it could not run: a wrong command line, or a file that cannot be read
"""


def overview() -> str:
    """The help of the whole program."""
    about = "One Reshape for ONNX, OpenVINO and oneDNN Graph: check, repair and convert models, and reshape arrays."
    rows = "\n".join(f"  {name}  {command.help}" for name, command in COMMANDS.items())
    more = "onereshape COMMAND --help says more of a command; onereshape --version shows the versions."
    parts = ["usage: onereshape COMMAND ...", wrapped(about), f"commands:\n{wrapped(rows)}", _EXAMPLES]
    return "\n\n".join([*parts, f"exit codes:\n{wrapped(_CODES)}", wrapped(more)])


def versions() -> list[str]:
    """Our version and those that matter in a bug report; looked up without importing anything."""
    parts = [f"{name} {version_of(name)}" for name in ("numpy", "ml_dtypes", "onnx", "onnx-ir")]
    kernels = f"C++, up to {threads()} threads" if kernels_built() else "NumPy's (no C++ kernels built)"
    return [
        f"onereshape {onereshape.__version__}",
        f"{', '.join(parts)}, Python {platform.python_version()}",
        f"copies: {kernels}",
        f"certificates: {' '.join(runtime())}, openvino {version_of('openvino')}",
    ]
