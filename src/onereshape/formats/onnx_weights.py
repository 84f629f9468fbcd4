"""ONNX models with their external data in another folder: the files are copied there, all of them or none."""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

from onereshape.formats.atomic import replacing
from onereshape.formats.model import Model, unwritable
from onereshape.formats.model_files import save
from onereshape.formats.onnx_graphs import external_tensors


def save_with_weights(model: Model, path: str) -> None:
    """Writes the model, and beside it copies of the files that hold its weights; a file that is there is kept.

    The tensors of the model are read from the copies from then on.
    """
    if model.format != "onnx":
        save(model, path)
        return
    folder = Path(path).absolute().parent
    tensors = list(external_tensors(model.ir))
    files = {str(tensor.location): Path(os.fspath(tensor.path)) for tensor in tensors}
    homes = [tensor.base_dir for tensor in tensors]
    try:
        with ExitStack() as open_files:
            for location, source in files.items():
                there = folder / location
                if not _free(there, source):
                    continue
                there.parent.mkdir(parents=True, exist_ok=True)
                with source.open("rb") as stream:
                    shutil.copyfileobj(stream, open_files.enter_context(replacing(str(there))))
            for tensor in tensors:
                tensor.base_dir = folder
            save(model, path)
    except OSError as error:
        raise unwritable(path, error.strerror or str(error)) from None
    except BaseException:
        for tensor, home in zip(tensors, homes, strict=True):
            tensor.base_dir = home
        raise


def _free(there: Path, source: Path) -> bool:
    """Whether the weights must still be copied there; refuses to write over another file."""
    if not there.exists():
        return True
    if not there.samefile(source):
        raise unwritable(str(there), "is there already, and the weights would be copied to that name")
    return False
