"""NextStep: what to do about a finding, as a command that can be pasted into a shell and as a call of Python."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from onereshape.formats.given import STREAM
from onereshape.formats.model import Model
from onereshape.formats.model_formats import format_of
from onereshape.formats.typed import command_word, path_word
from onereshape.ground.text import LONGEST, printable

Verb = Literal["check", "fix", "show"]
InputAxes = tuple[tuple[str, int], ...]
"""Names of inputs, each with an axis: `(("x", 0),)`."""

_OPTIONS = {"unwitnessed": "--unwitnessed", "per_sample": "--per-sample", "simplify": "--simplify"}
_OUTPUTS = {True: "dynamic", False: "simpler"}
"""What is added to the name of a model: whether a dim of it was freed."""


@dataclass(frozen=True, slots=True)
class NextStep:
    """A command with its options."""

    verb: Verb
    batch: Literal[True] | InputAxes | None = None
    """True: the batch, wherever it is likely to be."""
    free: tuple[tuple[str, int, str], ...] = ()
    """Inputs, axes and the names that the dims are to have."""
    options: tuple[str, ...] = ()
    """Options that the call sets to True: `simplify`, `per_sample`, `unwitnessed`."""
    node: str | None = None
    """The Reshape that is shown."""

    def with_option(self, name: str) -> NextStep:
        """The step with another option: `simplify` is typed `--simplify`, and called `simplify=True`."""
        return replace(self, options=(*self.options, name))

    def of(self, model: Model) -> str | None:
        """The command, or the call where the model is no file; None where it would be endless."""
        word = command_word(model)
        text = self.called() if word is None else self.typed(model, word)
        return text if len(text) <= LONGEST else None

    def typed(self, model: Model, word: str) -> str:
        """The command for a file, or for standard input."""
        words = ["onereshape", self.verb, word]
        if self.verb == "fix":
            words += ["-o", repaired_word(model, freed=bool(self.batch or self.free))]
        if self.batch:
            axes = () if self.batch is True else self.batch
            words += option("--batch", [f"{name}:{axis}" for name, axis in axes])
        if self.free:
            words += option("--free", [f"{name}:{axis}={called}" for name, axis, called in self.free])
        words += [_OPTIONS[name] for name in self.options]
        words += [] if self.node is None else [f"--node={self.node}" if self.node.startswith("-") else "--node"]
        words += [] if self.node is None or self.node.startswith("-") else [self.node]
        return " ".join(map(quoted, words))

    def called(self) -> str:
        """The call of Python."""
        given = ["model"]
        if self.batch:
            given.append("batch=True" if self.batch is True else f"batch={dict(self.batch)!r}")
        if self.free:
            dims: dict[str, dict[int, str]] = {}
            for name, axis, called in self.free:
                dims.setdefault(name, {})[axis] = called
            given.append(f"free={dims!r}")
        given += [f"{name}=True" for name in self.options]
        return f"orx.{self.verb}({', '.join(given)})"


def repaired_word(model: Model, *, freed: bool) -> str:
    """Where a repaired model goes: beside the other, under another name."""
    row, added = format_of(model.format), _OUTPUTS[freed]
    if model.typed == STREAM:
        return f"{added}{row.suffixes[0]}"
    path = Path(model.path)
    ending = next((path.name[-len(each) :] for each in row.suffixes if path.name.lower().endswith(each)), "")
    stem = path.name.removesuffix(ending)
    return path_word(str(path.with_name(f"{stem}-{added}{ending or row.suffixes[0]}")))


def option(name: str, words: Sequence[str]) -> list[str]:
    """An option with its words; one that would be read as an option stands behind a `=`.

    >>> option("--batch", ["x:0", "-y:1"]), option("--batch", [])
    (['--batch', 'x:0', '--batch=-y:1'], ['--batch'])
    """
    plain = [word for word in words if not word.startswith("-")]
    dashed = [f"{name}={word}" for word in words if word.startswith("-")]
    return [name, *plain, *dashed] if plain or not dashed else dashed


def quoted(word: str) -> str:
    r"""A word as a shell reads it, in signs that a terminal and a build server leave alone.

    >>> print(quoted("model.onnx"), quoted("my model.onnx"), quoted("a\n\x1bb'"))
    model.onnx 'my model.onnx' $'a\n\x1bb\''
    """
    if printable(word) == word and not re.search(r"##", word):
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, word)) + "'"


def _escaped(sign: str) -> str:
    r"""A sign as it is written within `$'...'`: a -> `a`, a quote -> `\'`, a line break -> `\n`, a bell -> `\x07`."""
    code = ord(sign)
    if sign in "\\'":
        return f"\\{sign}"
    if 0xDC80 <= code <= 0xDCFF:  # a byte of a path that is no UTF-8
        return f"\\x{code - 0xDC00:02x}"
    if sign == "\n":
        return "\\n"
    if sign == "#" or code < 0x20 or code == 0x7F:
        return f"\\x{code:02x}"
    if sign.isprintable() and printable(sign) == sign:
        return sign
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
