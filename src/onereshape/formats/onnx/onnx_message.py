"""The bytes of an ONNX file, which are one protobuf message."""

from __future__ import annotations

import os
from pathlib import Path

from onereshape.formats.refusals import unreadable

LARGEST = 2**31 - 1
"""Bytes of a protobuf message."""


def message_bytes(path: str, what: str) -> bytes:
    """The content of a file that should be a message."""
    with Path(path).open("rb") as file:
        check_size(os.fstat(file.fileno()).st_size, path, what)
        return file.read()


def check_size(size: int, path: str, what: str) -> None:
    """Refuses a file that is empty, or larger than a protobuf message can be."""
    if size > LARGEST:
        raise unreadable(path, f"is no ONNX {what}: {size} bytes are more than a protobuf message can have")
    if size == 0:
        raise unreadable(path, "is empty")
