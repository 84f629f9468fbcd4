"""What is installed beside us: versions, looked up without importing anything, and what to type for what is missing."""

from __future__ import annotations

from importlib import metadata
from importlib.util import find_spec
from typing import Final

NOT_INSTALLED: Final = "not installed"
RUNTIME_MISSING: Final = (
    "it is not installed: pip install 'onereshape[onnxruntime]' (or onnxruntime-gpu, which brings the same module)"
)
"""The hint where onnxruntime is needed and not installed."""
OPENVINO_MISSING: Final = "it is not installed: pip install 'onereshape[openvino]'"
"""The hint where openvino is needed and not installed."""
_RUNTIMES: Final = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-directml")
"""The usual distributions of the module onnxruntime: to ask for these by name is fast."""


def version_of(distribution: str) -> str:
    """The version of a distribution, or that there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return NOT_INSTALLED


def runtime() -> tuple[str, str]:
    """The distribution that brings the module onnxruntime, and its version: `onnxruntime, 1.22`; all if several do."""
    found = [name for name in _RUNTIMES if version_of(name) != NOT_INSTALLED]
    if not found and find_spec("onnxruntime") is not None:  # a build by another name, or one that nobody installed
        found = sorted(set(metadata.packages_distributions().get("onnxruntime", ())))
        if not found:
            return "onnxruntime", "of an unknown version"
    if not found:
        return "onnxruntime", NOT_INSTALLED
    return " and ".join(found), " and ".join(map(version_of, found))
