"""The bytes of an ONNX file, which are one protobuf message."""

from __future__ import annotations

import os
from pathlib import Path

from onereshape.formats.model import unreadable

LARGEST = 2**31 - 1
"""Bytes of a protobuf message."""


def message_bytes(path: str, what: str) -> bytes:
    """The content of a file that should be a message."""
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > LARGEST:
            raise unreadable(path, f"is no ONNX {what}: {size} bytes are more than a protobuf message can have")
        if size == 0:
            raise unreadable(path, "is empty")
        return file.read()
