"""case(seed): files, and a command on them."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz.commands import drawn
from tests.fuzz.formats import KINDS, Files


@dataclass(frozen=True, slots=True)
class Case:
    """What a judge lays out and runs."""

    seed: int
    kind: str
    files: Files
    words: list[str]
    output: str | None
    """The file that the words ask for."""
    is_old: bool
    """Whether a file of that name is there before."""


def case(seed: int, kinds: frozenset[str] | None = None) -> Case:
    """The case of a seed, of one of these kinds."""
    random = Random(seed)  # noqa: S311 - no secrets
    names = [name for name in KINDS if kinds is None or name in kinds]
    kind = random.choices(names, [KINDS[name][0] for name in names])[0]
    files = KINDS[kind][1](random)
    name = next(iter(files), "")
    words, output = drawn(kind, name, files.get(name, b""), random)
    is_old = output is not None and output not in files and random.random() < 0.2 and "/" not in output
    return Case(seed, kind, files, words, output, is_old)
