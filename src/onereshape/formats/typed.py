"""Words by which a command means a model."""

from __future__ import annotations

from pathlib import Path

from onereshape.formats.given import STREAM
from onereshape.formats.model_data import ModelData


def path_word(path: str) -> str:
    """A path as it is typed: no option, and not `-`."""
    return f"./{path}" if path.startswith("-") else path


def command_word(model: ModelData) -> str | None:
    """The word by which a command names a model: its path, or `-`; None where no such file exists any more."""
    return model.typed if model.typed == STREAM or (model.typed and Path(model.typed).is_file()) else None
