"""ONNX models with their external data in another folder: the files are copied there, all of them or none."""

from __future__ import annotations

import filecmp
import os
import shutil
from pathlib import Path

from onereshape.formats.model import Model, save
from onereshape.formats.onnx.onnx_graphs import external_tensors
from onereshape.formats.refusals import unwritable
from onereshape.ground.atomic import replacing_in_turn

_CHUNK = 1 << 20


def save_with_weights(model: Model, path: str) -> None:
    """Writes the model, and beside it copies of the files that hold its weights; a file that is there is kept,
    and must be the same.

    The tensors of the model are read from the copies from then on.
    """
    if model.format != "onnx":
        save(model, path)
        return
    folder = Path(path).absolute().parent
    tensors = list(external_tensors(model.ir))
    files = {folder / str(tensor.location): Path(os.fspath(tensor.path)) for tensor in tensors}
    if any(os.path.realpath(there) == os.path.realpath(path) for there in files):
        raise unwritable(path, "is a name that the weights of this model have")
    homes = [tensor.base_dir for tensor in tensors]
    copied: dict[Path, Path] = {}
    before = _number(path)
    try:
        copied |= {there: source for there, source in files.items() if _free(there, source)}
        _copy(copied)  # before the model, which is there only when they are
        for tensor in tensors:
            tensor.base_dir = folder
        save(model, path)
    except BaseException as error:
        if _number(path) == before:  # an interrupt may come when the model is in place, and then needs them
            for there in copied:
                there.unlink(missing_ok=True)
        for tensor, home in zip(tensors, homes, strict=True):
            tensor.base_dir = home
        if isinstance(error, OSError):
            raise unwritable(path, error.strerror or str(error)) from None
        raise


def _number(path: str) -> int | None:
    """What changes when a file is replaced."""
    try:
        return Path(path).stat().st_ino
    except OSError:
        return None


def _copy(files: dict[Path, Path]) -> None:
    if not files:
        return
    for there in files:
        there.parent.mkdir(parents=True, exist_ok=True)
    with replacing_in_turn([str(there) for there in files]) as copies:
        for source, copy in zip(files.values(), copies, strict=True):
            with source.open("rb") as stream:
                shutil.copyfileobj(stream, copy, _CHUNK)


def _free(there: Path, source: Path) -> bool:
    """Whether the weights must still be copied there; refuses to write over another file."""
    if not there.exists():
        return True
    if not there.samefile(source) and not filecmp.cmp(there, source, shallow=False):
        raise unwritable(str(there), "is there already, and the weights would be copied to that name")
    return False
