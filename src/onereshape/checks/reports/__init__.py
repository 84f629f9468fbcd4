"""report(): one page that shows what is wrong with a model, what a repair changes, and what was compared."""

from __future__ import annotations

import os

from onereshape.formats.given import Given
from onereshape.formats.model import Model, data_files
from onereshape.formats.overwriting import refuse_overwriting
from onereshape.graphs.exports import Exports, given_exports
from onereshape.graphs.request import Batch, Free, Progress, given_model
from onereshape.ground.atomic import replacing
from onereshape.ground.errors import ReshapeError
from onereshape.ground.isolation.budget import WHOLE, limited, whole


def report(  # noqa: PLR0913 - the options of the command
    model: Given,
    path: str | os.PathLike[str] | None = None,
    *,
    batch: Batch = None,
    free: Free = None,
    like: Exports = None,
    witness: Exports = None,
    per_sample: bool = False,
    unwitnessed: bool = False,
    certify: bool = True,
    seed: int = 0,
    timeout: float = WHOLE,
    memory: int | None = None,
    progress: Progress | None = None,
) -> str:
    """One HTML page about a model, also written to `path`: it is one file, loads nothing and runs no script.

    It has what `check` finds with the asked dims and, where some are asked for, what `fix` changes, with its
    certificate; the options are those of `fix`, and a refusal is shown as one.  The neighbourhood of each such node is
    drawn, with the way of the size to it; a table has all Reshapes.  The model that is given stays as it is.

    >>> text = report("tests/data/corpus/hand_pixelshuffle.ts.onnx", batch=True, certify=False)
    >>> text[:15], "<script" in text
    ('<!doctype html>', False)
    """
    import onereshape  # noqa: PLC0415 - for its version, which is above all rooms
    from onereshape.checks.reports.gathering import Asking, gathered  # noqa: PLC0415
    from onereshape.checks.reports.page import page  # noqa: PLC0415

    found = given_model(model)
    if path is not None:
        _check_path(os.fspath(path), found, like, witness)
    asking = Asking(
        batch=None if batch is False else batch,
        free=free,
        like=like,
        witness=witness,
        per_sample=per_sample,
        unwitnessed=unwitnessed,
        certify=certify,
        seed=seed,
        timeout=timeout,
        memory=memory,
        progress=progress,
    )
    with limited(whole(timeout, memory)):
        text = page(gathered(found, asking), onereshape.__version__)
    if path is not None:
        with replacing(os.fspath(path)) as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    return text


def _check_path(path: str, model: Model, *others: Exports) -> None:
    """Refuses to write over what is read."""
    if not isinstance(path, str):
        raise ReshapeError("bad-usage", why=f"the path of a page is a str or a pathlib.Path, not {type(path).__name__}")
    refuse_overwriting([path], model.path, data_files(model))
    for given in others:
        for other in given_exports(given, "like"):
            refuse_overwriting([path], other.path, data_files(other))
