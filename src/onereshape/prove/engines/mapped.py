"""Large weights as a file that the engine maps into its memory: written once, for all models that share them.

A repaired model has the weights of its original.  So both go to the engine without them, as a short message that says
where they are in the file; the engine's process has them in memory once, and the system may even take them out of it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary, finalize

import onnx

from onereshape.formats.onnx.onnx_bulk import Bulk, bulk_of
from onereshape.formats.onnx.onnx_lists import Lists

_NAME: Final = "weights"
_ALIGNED: Final = 4096
"""Bytes of a page: weights that begin at one can be mapped."""


class WeightsFile:
    """A temporary file, and where weights are in it; gone when nobody has any of them any more."""

    __slots__ = ("__weakref__", "_size", "folder")

    def __init__(self) -> None:
        self.folder = str(Path(tempfile.mkdtemp(prefix="onereshape-")).resolve())
        self._size = 0
        finalize(self, _remove, self.folder, os.getpid())

    def add(self, content: bytes | memoryview) -> int:
        """Writes weights behind the others: where they begin."""
        start = -(-self._size // _ALIGNED) * _ALIGNED
        path = Path(self.folder) / _NAME
        path.touch()
        with path.open("r+b") as file:
            file.seek(start)
            file.write(content)
        self._size = start + len(content)
        return start


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a fork has the same file, and may end before
        shutil.rmtree(folder, ignore_errors=True)


_LOCK = Lock()
_PLACES: WeakKeyDictionary[Bulk, tuple[WeightsFile, int]] = WeakKeyDictionary()
"""The file of weights that were written, and where they begin in it."""


def put_out(proto: onnx.ModelProto, lists: Lists) -> tuple[str, Lists]:
    """Has a message say where its large weights are: their folder, and the lists that are still to be put in.

    An OSError where there is no room for them.
    """
    marked = [(tensor, bulk) for tensor in proto.graph.initializer if (bulk := bulk_of(tensor, lists)) is not None]
    with _LOCK:
        file = _file_of([bulk for _, bulk in marked])
    for tensor, bulk in marked:
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, said in (("location", _NAME), ("offset", _PLACES[bulk][1]), ("length", len(bulk.content))):
            tensor.external_data.add(key=key, value=str(said))
    return file.folder, {mark: each for mark, each in lists.items() if not isinstance(each, Bulk)}


def _file_of(weights: Sequence[Bulk]) -> WeightsFile:
    """The one file that has all of these weights; those that it lacks are written."""
    files = {id(found[0]): found[0] for bulk in weights if (found := _PLACES.get(bulk)) is not None}
    file = next(iter(files.values())) if len(files) == 1 else WeightsFile()
    for bulk in weights:
        if bulk not in _PLACES or _PLACES[bulk][0] is not file:
            _PLACES[bulk] = file, file.add(bulk.content)
    return file
