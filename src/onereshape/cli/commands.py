"""The table of commands: what each is called, the module that answers it, and one line of help.

No module of a command is imported before the command is typed: `onereshape --help` needs this table alone.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import shown


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    module: str
    """A module of `cli` with EXAMPLE, add_options and answer; NOTES and USAGE where it has them."""
    help: str


COMMANDS: dict[str, Command] = {
    "show": Command("show", "show every Reshape of a model: data, target, output, and what must hold"),
    "check": Command("check", "find what is wrong in a model, and what keeps a size from varying"),
    "fix": Command("fix", "free the batch or another dim of a model, and certify the result"),
    "certify": Command("certify", "say whether a repaired model answers as the original does"),
    "report": Command("report", "write a page that shows what is wrong with a model, and what a repair changes"),
    "infer": Command("infer", "say the output dims of a Reshape, and where each comes from"),
    "run": Command("run", "reshape a tensor file (.npy, .npz, ONNX .pb) or a Zarr store (.zarr)"),
    "convert": Command("convert", "write the Reshapes of a model in another dialect or opset"),
    "conform": Command("conform", "compare the engines installed here with the specifications"),
    "completion": Command("completion", "print a script that completes commands and options in a shell"),
}
"""In the order in which people meet them."""

OVERALL = ("--help", "--version")
"""What is asked of the whole program."""

_TENSORS = (".npy", ".npz", ".pb", ".zarr")


def module_of(name: str) -> ModuleType:
    """The module that answers a command, imported now."""
    return import_module(f"onereshape.cli.{COMMANDS[name].module}")


def no_command(words: list[str]) -> ReshapeError:
    """What is said where no command is typed, or none that exists."""
    if not words:
        return _none_at_all()
    first = words[0]
    if first.startswith("-"):
        return _option_first(words)
    near = difflib.get_close_matches(first.lower(), COMMANDS, n=1)
    if near and not Path(first).exists():
        why = f"{first!r} is not a command (did you mean {near[0]}?)"
    elif _is_file(first):
        why = f"a command is missing before {first}: did you mean: onereshape {_meant(first)}"
    else:
        why = f"{first!r} is not a command: they are {', '.join(COMMANDS)}"
    return ReshapeError("bad-usage", why=f"{why} (see onereshape --help)")


def _none_at_all() -> ReshapeError:
    error = ReshapeError("bad-usage", why="a command is missing (see onereshape --help)")
    width = max(map(len, COMMANDS))
    error.add_note("the commands are:")
    for name, command in COMMANDS.items():
        error.add_note(f"  {name:<{width}}  {command.help}")
    error.add_note("for example: onereshape check model.onnx")
    return error


def _option_first(words: list[str]) -> ReshapeError:
    """An option that no command stands before."""
    near = difflib.get_close_matches(words[0].lower(), OVERALL, n=1)
    if near or words[0] == "-v":
        why = f"there is no option {words[0]} without a command (did you mean {near[0] if near else '--version'}?)"
        return ReshapeError("bad-usage", why=f"{why} (see onereshape --help)")
    file = next((word for word in words if _is_file(word)), None)
    meant = f": did you mean: onereshape check {' '.join(map(shown, words))}" if file else ""
    return ReshapeError("bad-usage", why=f"a command is missing before {words[0]}{meant} (see onereshape --help)")


def _is_file(word: str) -> bool:
    from onereshape.formats.model_formats import SUFFIXES  # noqa: PLC0415 - only a mistake needs it

    return word.lower().endswith((*SUFFIXES, *_TENSORS)) or Path(word).exists()


def _meant(word: str) -> str:
    """The command that somebody most likely wants for a file."""
    return f"run {shown(word)} --target 0,-1" if word.lower().endswith(_TENSORS) else f"check {shown(word)}"
