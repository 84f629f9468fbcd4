"""The commands that repeat what a page shows, as they are typed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath

from onereshape.apart.limits import SECONDS
from onereshape.formats.model import Model
from onereshape.formats.model_files import suffix
from onereshape.models.exports import Exports
from onereshape.reports.gathering import Asking
from onereshape.text import printable


def report_command(model: Model, asking: Asking) -> str:
    """The page itself."""
    return _typed(["onereshape", "report", model.path, *_options(asking), "-o", "report.html"])


def fix_command(model: Model, asking: Asking) -> str:
    """The repair, with its certificate."""
    ending = suffix(model.path)
    stem = PurePath(model.path).name
    stem = stem[: len(stem) - len(ending)] if ending else stem
    written = f"{stem}-repaired{ending or '.onnx'}"
    return _typed(["onereshape", "fix", model.path, *_options(asking), "-o", written])


def show_command(model: Model) -> str:
    """All Reshapes."""
    return _typed(["onereshape", "show", model.path])


def _options(asking: Asking) -> Iterator[str]:
    if asking.batch is True:
        yield "--batch"
    elif isinstance(asking.batch, Mapping):
        yield "--batch"
        yield from (f"{name}:{axis}" for name, axis in asking.batch.items())
    if asking.free is not None:
        yield "--free"
        yield from (f"{name}:{axis}={called}" for name, axes in asking.free.items() for axis, called in axes.items())
    for option, others in (("--like", asking.like), ("--witness", asking.witness)):
        for other in _paths(others):
            yield from (option, other)
    flags = (("--per-sample", asking.per_sample), ("--unwitnessed", asking.unwitnessed))
    yield from (option for option, given in (*flags, ("--no-certify", not asking.certify)) if given)
    if asking.seed:
        yield from ("--seed", str(asking.seed))
    if asking.timeout != SECONDS:
        yield from ("--timeout", f"{asking.timeout:g}")
    if asking.memory is not None:
        yield from ("--memory", str(asking.memory))


def _paths(others: Exports) -> Iterator[str]:
    every = (
        [] if others is None else others if isinstance(others, Sequence) and not isinstance(others, str) else [others]
    )
    for other in every:
        yield (
            other.path
            if isinstance(other, Model)
            else os.fspath(other)
            if isinstance(other, str | os.PathLike)
            else "OTHER"
        )


def _typed(words: Sequence[str]) -> str:
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """A word that a shell reads as it is, also where it holds what nobody sees."""
    if word == printable(word):
        return shlex.quote(word)
    return "$'" + printable(word.replace("\\", "\\\\")).replace("'", "\\'") + "'"
