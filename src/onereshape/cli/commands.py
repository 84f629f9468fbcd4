"""The table of commands: what each is called, the module that answers it, and one line of help.

No module of a command is imported before the command is typed: `onereshape --help` needs this table alone.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from onereshape.errors import ReshapeError
from onereshape.text import shown


@dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    module: str
    """A module of `cli` with EXAMPLE, add_options and answer; NOTES and USAGE where it has them."""
    help: str


COMMANDS: dict[str, Command] = {
    "show": Command("show", "show every Reshape of a model: data, target, output, and what must hold"),
    "check": Command("check", "find what is wrong in a model, or fixes a size that should vary"),
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

_MODELS = (".onnx", ".onnxtxt", ".gz", ".xml", ".json")
_TENSORS = (".npy", ".npz", ".pb", ".zarr")


def module_of(name: str) -> ModuleType:
    """The module that answers a command, imported now."""
    return import_module(f"onereshape.cli.{COMMANDS[name].module}")


def no_command(words: list[str]) -> ReshapeError:
    """What is said where no command is typed, or none that exists."""
    first = next((word for word in words if not word.startswith("-")), None)
    if first is None or first != words[0]:
        error = ReshapeError("bad-usage", why=f"a command is missing{f' before {words[0]}' if words else ''}")
        width = max(map(len, COMMANDS))
        error.add_note("the commands are:")
        for name, command in COMMANDS.items():
            error.add_note(f"  {name:<{width}}  {command.help}")
        error.add_note(f"for example: onereshape {' '.join(_meant(first))}")
        return error
    near = difflib.get_close_matches(first.lower(), COMMANDS, n=1)
    if near and not Path(first).exists():
        why = f"{first!r} is not a command (did you mean {near[0]}?)"
    elif _is_file(first):
        why = f"a command is missing before {first}: did you mean: onereshape {' '.join(_meant(first))}"
    else:
        why = f"{first!r} is not a command: they are {', '.join(COMMANDS)}"
    return ReshapeError("bad-usage", why=f"{why} (see onereshape --help)")


def _is_file(word: str) -> bool:
    return word.lower().endswith((*_MODELS, *_TENSORS)) or Path(word).exists()


def _meant(word: str | None) -> list[str]:
    """The command that somebody most likely wants for a file."""
    if word is not None and word.lower().endswith(_TENSORS):
        return ["run", shown(word), "--target", "0,-1"]
    return ["check", "model.onnx" if word is None else shown(word)]
