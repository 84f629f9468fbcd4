"""Files of other kinds that are taken for models: what each is, by its first bytes, and what to do about it.

They are asked after a reader has failed: what a format of ours begins with is never judged here.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_ONNX = "export the model to ONNX instead"
_UNPACK = "unpack it, and name the model in it"

LFS: Final = b"version https://git-lfs.github.com/"
"""How a file begins that only says which file Git LFS keeps elsewhere."""
_KINDS: Final[tuple[tuple[bytes, str], ...]] = (
    (re.escape(LFS), "is a Git LFS pointer, not the file itself: `git lfs pull` fetches it"),
    (
        rb"(?s:.{4})ORTM",
        "is in onnxruntime's own format (.ort), which nothing else reads: repair the .onnx that it was made from",
    ),
    (rb"(?s:.{4})TFL3", "is a TensorFlow Lite model: tf2onnx makes an ONNX model of it"),
    (
        rb"(?i:(?:\xef\xbb\xbf)?\s*<(?:!doctype html|html|head))",
        "is a page of HTML, which a server gave instead of the file: fetch it again",
    ),
    (rb"PK\x03\x04(?s:.{,80})data\.pkl", f"is a checkpoint of torch: {_ONNX} (torch.onnx.export)"),
    (rb"\x80[\x02-\x05]", f"is a Python pickle, which could run any code and is never loaded: {_ONNX}"),
    (rb"PK\x03\x04", f"is a zip archive: {_UNPACK}"),
    (rb"(?s:.{257})ustar|7z\xbc\xaf\x27\x1c|\xfd7zXZ|BZh[1-9]|\x28\xb5\x2f\xfd|Rar!", f"is an archive: {_UNPACK}"),
    (rb"\x89HDF\r\n\x1a\n", f"is an HDF5 file, as Keras writes it: {_ONNX}"),
    (rb"GGUF", "is a GGUF file, which holds weights and no graph"),
    (rb"(?s:.{4})\0{4}\{", "is a safetensors file, which holds weights and no graph"),
    (rb"\x93NUMPY", "is an array of NumPy, and no model: `onereshape run` reshapes it"),
    (rb"[fp]trt", "is an engine of TensorRT, built for one device: repair the .onnx that it was made from"),
)
"""The first bytes of each kind of file, and the words for a message."""


def foreign(start: bytes) -> str | None:
    r"""The kind of a file by its first bytes, and what to do about it, as a part of a sentence; None if not known.

    >>> foreign(b"version https://git-lfs.github.com/spec/v1\noid sha256:")
    'is a Git LFS pointer, not the file itself: `git lfs pull` fetches it'
    """
    return next((said for kind, said in _KINDS if re.match(kind, start)), None)


def pointer(file: Path) -> str:
    """What is to be said beside the size of a file of weights, where Git LFS keeps the weights elsewhere."""
    try:
        with file.open("rb") as stream:
            return " (a Git LFS pointer: `git lfs pull` fetches the file)" if stream.read(len(LFS)) == LFS else ""
    except OSError:
        return ""
