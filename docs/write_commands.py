"""Writes docs/reference/commands.md from the parsers of the command line: `python docs/write_commands.py`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from onereshape import cli

HEAD = """\
# Commands

Every command and every option. This page is written from the parsers themselves by `python docs/write_commands.py`, and a test
fails where it is out of date. `onereshape COMMAND --help` prints the same.

Exit codes: 0 is done and nothing found, 1 is findings or a refusal, 2 is "could not run": a usage error or a file that cannot be
read. Ctrl-C gives 130. `--json` is on every command; [JSON](json.md) describes what it prints.

"""


def commands() -> dict[str, argparse.ArgumentParser]:
    """The parser of each command."""
    found = next(each for each in cli._parser()._actions if isinstance(each, argparse._SubParsersAction))  # noqa: SLF001
    return dict(found.choices)


def options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """How each argument is typed, and what it says of itself."""
    for each in parser._actions:  # noqa: SLF001
        if each.help is argparse.SUPPRESS or isinstance(each, argparse._HelpAction):  # noqa: SLF001
            continue
        yield typed(each), (each.help or "") % {"prog": parser.prog, **vars(each)}


def typed(action: argparse.Action) -> str:
    """One argument as it is typed: `-o, --output OUT`."""
    value = value_of(action)
    if not action.option_strings:
        return value
    return ", ".join(action.option_strings) + (f" {value}" if value else "")


def value_of(action: argparse.Action) -> str:
    """What follows an option, or stands for an argument."""
    if action.nargs == 0:
        return ""
    choices = "{" + ",".join(map(str, action.choices)) + "}" if action.choices else None
    name = action.metavar or choices or action.dest.upper()
    words = name if isinstance(name, str) else " ".join(name)
    return words + {"*": " ...", "+": " ...", "?": ""}.get(str(action.nargs), "")


def section(name: str, parser: argparse.ArgumentParser) -> str:
    """One command."""
    rows = "".join(f"| `{_cell(how)}` | {_cell(_shown(what))} |\n" for how, what in options(parser))
    about = (parser.description or "").strip()
    more = (parser.epilog or "").strip("\n")
    end = f"\n```console\n{_plain(more)}\n```\n" if more else ""
    return f"## {name}\n\n{about}\n\n| argument | meaning |\n| --- | --- |\n{rows}{end}\n"


def _cell(words: str) -> str:
    """Words in a cell of a table."""
    return words.replace("|", "\\|").replace("\n", " ")


def _shown(words: str) -> str:
    """Plain words, in which Markdown must see no marks of its own."""
    return words.replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_")


def _plain(words: str) -> str:
    return words.replace("```", "'''")


def page() -> str:
    """The whole page."""
    return HEAD + "\n".join(section(name, parser) for name, parser in commands().items()).rstrip("\n") + "\n"


if __name__ == "__main__":
    Path(__file__).parent.joinpath("reference", "commands.md").write_text(page(), encoding="utf-8")
