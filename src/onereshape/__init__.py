"""One Reshape for ONNX, OpenVINO and oneDNN Graph: exactly right in all of them.

>>> import onereshape as orx
>>> orx.resolve([2, 3, 4], [0, -1], "onnx-14")
(2, 12)
"""

from typing import TYPE_CHECKING, Any

from onereshape.errors import ReshapeError
from onereshape.inference import infer
from onereshape.operator import Reshape, reshape
from onereshape.semantics import resolve
from onereshape.specs import spec
from onereshape.translate import translate

if TYPE_CHECKING:
    from onereshape.formats.model_files import load, save

__version__ = "0.1.0"

__all__ = [
    "Reshape",
    "ReshapeError",
    "__version__",
    "infer",
    "load",
    "reshape",
    "resolve",
    "save",
    "spec",
    "translate",
]


def __getattr__(name: str) -> Any:
    """What only users of files need is imported when it is first asked for."""
    if name in {"load", "save"}:
        from onereshape.formats import model_files  # noqa: PLC0415

        return getattr(model_files, name)
    raise AttributeError(f"module 'onereshape' has no attribute {name!r}")
