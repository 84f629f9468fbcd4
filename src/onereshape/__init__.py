"""One Reshape for ONNX, OpenVINO and oneDNN Graph: exactly right in all of them.

>>> import onereshape as orx
>>> orx.resolve([2, 3, 4], [0, -1], "onnx-14")
(2, 12)
"""

from onereshape.errors import ReshapeError
from onereshape.formats.model_files import load, save
from onereshape.inference import infer
from onereshape.operator import Reshape, reshape
from onereshape.semantics import resolve
from onereshape.specs import spec
from onereshape.translate import translate

__version__ = "0.1.0"

__all__ = [
    *("Reshape", "ReshapeError", "__version__", "infer", "load"),
    *("reshape", "resolve", "save", "spec", "translate"),
]
