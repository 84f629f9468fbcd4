"""How a command line is read: argparse, with its mistakes said in our words, and help that fits the terminal."""

from __future__ import annotations

import argparse
import difflib
import re
import textwrap
from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from typing import Any, NoReturn

from onereshape.cli.commands import COMMANDS, module_of
from onereshape.ground.errors import ReshapeError

_WIDEST = 110
"""Columns beyond which a line is hard to read."""
_ROW = re.compile(r"^  (\S+) {2,}(.*(?:\n {4,}.*)*)", re.MULTILINE)
"""A word, and what it means in this line and in those that are indented further."""
_OPTION = re.compile(r"--[A-Za-z][^=]*|-[A-Za-z]")


class Parser(argparse.ArgumentParser):
    """The parser of a command's words; it keeps its arguments, for its own checks, help and completion."""

    def __init__(self, name: str, **more: Any) -> None:
        self.told: list[argparse.Action] = []
        """Every argument, in the order in which it was added."""
        self._needed: list[argparse.Action] = []
        self.example = ""
        super().__init__(
            prog=f"onereshape {name}",
            formatter_class=_Formatter,
            allow_abbrev=False,
            add_help=False,
            exit_on_error=False,
            **more,
        )

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """Adds an argument and remembers it; a word that must be there is asked for by `read`."""
        is_needed = not names[0].startswith("-") and "nargs" not in settings
        if is_needed:
            settings["nargs"] = "?"
        added = super().add_argument(*names, **settings)
        self.told.append(added)
        if is_needed:
            self._needed.append(added)
        return added

    @property
    def options(self) -> list[str]:
        """Every option as it may be typed."""
        return [name for action in self.told for name in action.option_strings]

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """What was typed; a mistake is a ReshapeError."""
        self._check(words)
        try:
            args, rest = self.parse_known_args(words)
        except argparse.ArgumentError as error:
            said = next((ours for theirs, ours in _SAID.items() if error.message.startswith(theirs)), error.message)
            self.error(f"{error.argument_name}: {said}" if error.argument_name else said)
        if rest:
            self.error(f"{rest[0]!r} is one word too many")
        for action in self._needed:
            if getattr(args, action.dest) is None:
                self.error(f"{action.metavar} is missing")
        return args

    def _check(self, words: Sequence[str]) -> None:
        """Refuses an option that the command does not have, and words in which a required option is missing."""
        before = words[: words.index("--")] if "--" in words else words
        options = self.options
        typed = [found[0] for word in before if (found := _OPTION.match(word))]
        for option in typed:
            if option not in options:
                near = difflib.get_close_matches(option.lower(), options, n=1)
                nearest = f" (did you mean {near[0]}?)" if near else ""
                self.error(f"{self.prog.rpartition(' ')[2]} has no option {option}{nearest}")
        missing = [
            action.option_strings[0]
            for action in self.told
            if action.required and action.option_strings and not {*action.option_strings} & {*typed}
        ]
        if missing and not {"-h", "--help"} & {*typed}:
            self.error(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")

    def error(self, message: str) -> NoReturn:
        """Our error, with an example of how it is done."""
        error = ReshapeError("bad-usage", why=f"{message} (see {self.prog} --help)")
        if self.example:
            error.add_note(f"for example: {self.example}")
        raise error


_SAID = {
    "expected one argument": "its value is missing",
    "expected at least one argument": "its values are missing",
    "ignored explicit argument": "it takes no value",
}
"""How argparse begins a complaint, and what is said instead."""


def one_of(words: Sequence[str]) -> Callable[[str], str]:
    """A reader of one of some words, which the metavar of the option should name as `a|b|c`."""

    def read(text: str) -> str:
        if text in words:
            return text
        near = difflib.get_close_matches(text.lower(), words, n=1)
        nearest = f" (did you mean {near[0]}?)" if near else ""
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(words)}{nearest}")

    return read


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help in the width of the terminal; what is ready stays as it is."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=width())


def width() -> int:
    """The columns that help may take."""
    return max(40, min(get_terminal_size().columns - 2, _WIDEST))


def parser_of(name: str) -> Parser:
    """The parser of a command; its module is imported now."""
    module = module_of(name)
    what = COMMANDS[name].help
    example: str = module.EXAMPLE.rstrip()
    parser = Parser(
        name,
        description=f"{wrapped(f'{what[0].upper()}{what[1:]}.')}\n\n{example}",
        epilog=wrapped(getattr(module, "NOTES", "")),
    )
    parser.example = next((line.strip()[2:] for line in example.split("\n") if line.lstrip().startswith("$ ")), "")
    module.add_options(parser)
    if "--json" not in parser.options:
        about = "answer, and report errors, as one JSON object on stdout"
        parser.add_argument("--json", action="store_true", help=about)
    if "--quiet" not in parser.options:
        parser.add_argument("-q", "--quiet", action="store_true", help="print errors only; the exit code says the rest")
    parser.add_argument("-h", "--help", action="help", help="show this and exit")
    parser.set_defaults(piped=False)  # whether standard output holds a file, and messages go to standard error
    parser.usage = f"{parser.prog} {getattr(module, 'USAGE', _usage(parser))}"
    return parser


def _usage(parser: Parser) -> str:
    """The words that a command needs."""
    needed = []
    for action in parser.told:
        if not action.option_strings:
            needed.append(f"{action.metavar}{'...' if action.nargs in {'*', '+'} else ''}")
        elif action.required:
            needed.append(f"{action.option_strings[0]} {action.metavar}")
    return " ".join([*needed, "[options]"])


def wrapped(text: str) -> str:
    """Paragraphs in the width of the terminal; one whose lines are indented is a list of words and what they mean."""
    parts = text.strip("\n").split("\n\n")
    return "\n\n".join(_listed(part) if part.startswith(" ") else _filled(part) for part in parts)


def _filled(text: str, column: int = 0) -> str:
    """Words beside a column, whose further lines begin under the first."""
    return f"\n{' ' * column}".join(textwrap.wrap(text, max(20, width() - column)))


def _listed(text: str) -> str:
    """Lines of a word and its meaning, as two columns in the width of the terminal; a long meaning takes more lines."""
    rows = [(found[1], found[2].split()) for found in _ROW.finditer(text)]
    column = 4 + max(len(word) for word, _ in rows)
    return "\n".join(f"  {word:<{column - 2}}{_filled(' '.join(meaning), column)}" for word, meaning in rows)
