"""`onereshape completion`: a script that has a shell complete commands, options, and what they take.

The scripts are made from the parsers themselves; once one is loaded, no Python is started to complete a word.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from onereshape.cli.commands import COMMANDS
from onereshape.cli.parsing import Parser, one_of, parser_of
from onereshape.cli.shells import SCRIPTS
from onereshape.ground.text import Ready
from onereshape.rule.specs import BY_NAME, DEFAULT, NEWEST_OPSET

EXAMPLE = """\
examples:
  $ source <(onereshape completion bash)
  $ onereshape completion bash > ~/.local/share/bash-completion/completions/onereshape
  $ onereshape completion zsh > ~/.zfunc/_onereshape
  $ onereshape completion fish > ~/.config/fish/completions/onereshape.fish
"""
NOTES = """\
The first example is for the shell that is open now; the others last. In zsh the folder must be in $fpath before
compinit is called: fpath=(~/.zfunc $fpath).
"""

_FILES = frozenset({"MODEL", "OUT", "IN", "FILE", "OTHER", "PAGE", "ORIGINAL REPAIRED"})
"""What stands for a file in the help."""


@dataclass(frozen=True, slots=True)
class Word:
    """An option, or what a command takes without one."""

    names: tuple[str, ...]
    help: str
    takes: str
    """`nothing`, `files`, `text`, or `words`."""
    words: tuple[str, ...] = ()


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("shell", metavar="|".join(SCRIPTS), type=one_of(tuple(SCRIPTS)), help="the shell")


def answer(args: argparse.Namespace) -> tuple[str, dict[str, Any]]:
    """The script, and the same for machines."""
    words = {name: list(_words(parser_of(name))) for name in COMMANDS}
    script = SCRIPTS[args.shell]({name: command.help for name, command in COMMANDS.items()}, words)
    return Ready(script.rstrip("\n")), {"shell": args.shell, "script": script}


def _words(parser: Parser) -> Iterator[Word]:
    for action in parser.told:
        names, about = tuple(action.option_strings), " ".join((action.help or "").split())
        if action.nargs == 0 or (names and action.nargs == "*"):
            yield Word(names, about, "nothing")
        elif words := _known(str(action.metavar)):
            yield Word(names, about, "words", words)
        else:
            yield Word(names, about, "files" if action.metavar in _FILES else "text")


def _known(metavar: str) -> tuple[str, ...]:
    """The words that what is called so in the help can be; none where it can be any."""
    if metavar == "SPEC":
        opsets = [f"onnx-{opset}" for opset in range(1, NEWEST_OPSET + 1)]
        return tuple(dict.fromkeys([DEFAULT, *opsets, *BY_NAME]))
    if metavar == "ENGINE":
        from onereshape.backends.conformance.engines import ENGINES  # noqa: PLC0415 - takes long

        return tuple(dict.fromkeys([*(each.package for each in ENGINES), *(each.name for each in ENGINES)]))
    return tuple(metavar.split("|")) if "|" in metavar else ()
