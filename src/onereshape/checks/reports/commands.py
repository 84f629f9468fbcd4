"""The commands that repeat what a page shows: as they are typed, or as calls of Python where the model is no file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from onereshape.checks.findings.next_step import option, quoted, repaired_word
from onereshape.checks.reports.gathering import Asking
from onereshape.formats.model import Model
from onereshape.formats.model_data import ModelData
from onereshape.formats.typed import command_word, path_word
from onereshape.graphs.exports import Exports
from onereshape.ground.isolation.budget import WHOLE


def report_command(model: Model, asking: Asking) -> str:
    """The command that writes the page again."""
    word = command_word(model)
    if word is None:
        return _called("report", asking)
    return _typed(["onereshape", "report", word, *_options(asking), "-o", "report.html"])


def fix_command(model: Model, asking: Asking) -> str:
    """The command that repairs the model and certifies the repair."""
    word = command_word(model)
    if word is None:
        return _called("fix", asking)
    return _typed(["onereshape", "fix", word, *_options(asking), "-o", repaired_word(model, freed=True)])


def show_command(model: Model) -> str:
    """The command that shows all Reshapes of the model."""
    word = command_word(model)
    return "orx.show(model)" if word is None else _typed(["onereshape", "show", word])


def _options(asking: Asking) -> Iterator[str]:
    if asking.batch is True:
        yield "--batch"
    elif isinstance(asking.batch, Mapping):
        yield from option("--batch", [f"{name}:{axis}" for name, axis in asking.batch.items()])
    if asking.free is not None:
        dims = ((name, axis, called) for name, axes in asking.free.items() for axis, called in axes.items())
        yield from option("--free", [f"{name}:{axis}={called}" for name, axis, called in dims])
    for name, others in (("--like", asking.like), ("--witness", asking.witness)):
        for other in _paths(others):
            yield from (name, path_word(other))
    flags = (("--per-sample", asking.per_sample), ("--unwitnessed", asking.unwitnessed))
    yield from (flag for flag, given in (*flags, ("--no-certify", not asking.certify)) if given)
    if asking.seed:
        yield from ("--seed", str(asking.seed))
    if asking.timeout != WHOLE:
        yield from ("--timeout", f"{asking.timeout:g}")
    if asking.memory is not None:
        yield from ("--memory", str(asking.memory))


def _called(verb: str, asking: Asking) -> str:
    """The call of Python; other models are called by their paths, or only named."""
    usual = Asking()
    names = ("batch", "free", "per_sample", "unwitnessed", "certify", "seed", "timeout", "memory")
    given = [f"{name}={getattr(asking, name)!r}" for name in names if getattr(asking, name) != getattr(usual, name)]
    for name in ("like", "witness"):
        others = list(_paths(getattr(asking, name)))
        given += [f"{name}={others!r}"] if others else []
    return f"orx.{verb}({', '.join(['model', *given])})"


def _paths(others: Exports) -> Iterator[str]:
    every = others if isinstance(others, list | tuple) else [] if others is None else [others]
    for other in every:
        if isinstance(other, ModelData):
            yield other.path if command_word(other) else "OTHER"
        else:
            yield os.fspath(other) if isinstance(other, str | os.PathLike) else "OTHER"


def _typed(words: Sequence[str]) -> str:
    return " ".join(map(quoted, words))
