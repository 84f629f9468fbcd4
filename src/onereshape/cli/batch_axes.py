"""The axes of a batch whose inputs were typed by their names alone: `--batch x`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onereshape.cli.typed import Batch
from onereshape.formats.model import Model
from onereshape.ground.errors import FixError, ReshapeError


class TwoMeaningsError(ReshapeError):
    """A word after `--batch` that is both an input and a file."""


def needs_model(batch: Any, files: Sequence[str]) -> bool:
    """Whether only the model tells what was meant: an axis is missing, or a file may be an input."""
    return (batch is True and bool(files)) or (isinstance(batch, dict) and (bool(files) or None in batch.values()))


def batch_axes(model: Model, batch: Batch, files: Sequence[str]) -> Any:
    """The axis of each input that was named: the one that is likely to carry the batch, else the first.

    `files` are the words after `--batch` that were taken for files; one that is an input too is refused.
    """
    if not needs_model(batch, files):
        return batch
    from onereshape.graphs.irs import imaged  # noqa: PLC0415 - here and below: no other command needs it
    from onereshape.graphs.likely_batch import likely_axes  # noqa: PLC0415
    from onereshape.graphs.request import inputs_of, requested, shapes_of  # noqa: PLC0415

    given = imaged(model)
    if given.format != "onnx":  # whoever frees its dims says why not
        return batch
    inputs = inputs_of(given.ir)
    for word in files:
        if word in inputs and word != model.path:
            raise _two_meanings(word)
    if not isinstance(batch, dict):
        return batch
    try:
        likely = likely_axes(shapes_of(inputs))
    except FixError:
        likely = {}
    axes = {name: likely.get(name, 0) if axis is None else axis for name, axis in batch.items()}
    for name in (name for name in batch if name not in inputs and batch[name] is None):
        try:
            requested(given, {name: 0})
        except FixError as error:
            first = next(iter(inputs), "x")
            error.add_note(f"nor is there a file {name}; write --batch {first}, or with its axis --batch {first}:0")
            raise
    return axes


def _two_meanings(word: str) -> TwoMeaningsError:
    why = (
        f"{word!r} is an input of the model, and a file: write --batch {word}:0 for the input, or ./{word} for the file"
    )
    return TwoMeaningsError("bad-usage", why=why)
