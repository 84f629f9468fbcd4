"""Writes docs/reference/commands.md from the parsers of the command line: `python docs/write_commands.py`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from onereshape.cli.commands import COMMANDS, module_of
from onereshape.cli.parsing import Parser, parser_of

HEAD = """\
# Commands

Every command and every option. This page is written from the parsers themselves by `python docs/write_commands.py`,
and a test fails where it is out of date. `onereshape COMMAND --help` prints the same.

Exit codes: 0 is done and nothing found, 1 is findings or a refusal, 2 is "could not run": a usage error or a file that
cannot be read. Ctrl-C gives 130. `--json` is on every command; [JSON](json.md) describes what it prints.

- **Shapes** may be typed as other programs print them: `2,3,4`, `[2, 3, 4]`, `{4,512,7,7}`, `2x3x4`, `x:1,3,224,224`,
  `torch.Size([2, 3])`, `f32[1,3]`, `tensor<1x?xf32>`, `[None, 3]`, `['N', 3]`.
- **Nodes** are named by their name, by their place (`graph/If#0/then_branch/Reshape#1`), or by what is short for it
  (`Reshape#1`).
- **Inputs** after `--batch`: `x:0` is axis 0 of the input x. `x` alone finds the axis. If x is also a file, write `x:0`
  or `./x`.
- **Pipes**: `-` is standard input or output. With `-o -` messages go to standard error. A model with weights in other
  files, and an OpenVINO IR, cannot be written to a pipe.
- **Quiet**: `-q` prints errors only. Colours and progress bars are for terminals; `NO_COLOR` is honoured.
- **Completion**: `source <(onereshape completion bash)`; see [completion](#completion) for zsh and fish.

| command | what it does |
| --- | --- |
"""


def options(parser: Parser) -> Iterator[tuple[str, str]]:
    """How each argument is typed, and what it says of itself."""
    for each in parser.told:
        if each.help is not argparse.SUPPRESS:
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
    return words + (" ..." if action.nargs in {"*", "+"} else "")


def section(name: str) -> str:
    """One command."""
    parser, module = parser_of(name), module_of(name)
    what = COMMANDS[name].help
    rows = "".join(f"| `{_cell(how)}` | {_cell(_shown(about))} |\n" for how, about in options(parser))
    example = module.EXAMPLE.strip("\n")
    notes = str(getattr(module, "NOTES", "")).strip()
    return "\n".join(
        [
            f"## {name}\n",
            f"{_shown(what[0].upper() + what[1:])}.\n",
            f"```console\n{parser.usage}\n\n{example}\n```\n",
            f"| argument | meaning |\n| --- | --- |\n{rows}",
            *([_prose(notes)] if notes else []),
        ]
    )


def _prose(notes: str) -> str:
    """Paragraphs; one that is set out by hand stays as it is."""
    parts = []
    for part in notes.split("\n\n"):
        is_set = part.startswith(" ") or "\n  " in part
        parts.append(f"```text\n{part}\n```" if is_set else _shown(" ".join(part.split())))
    return "\n\n".join(parts) + "\n"


def _cell(words: str) -> str:
    """Words in a cell of a table."""
    return words.replace("|", "\\|").replace("\n", " ")


def _shown(words: str) -> str:
    """Plain words, in which Markdown must see no marks of its own, other than code."""
    parts = words.split("`")
    plain = [part.replace("*", "\\*").replace("<", "&lt;").replace("_", "\\_") for part in parts[::2]]
    return "`".join(part for pair in zip(plain, [*parts[1::2], ""], strict=False) for part in pair).removesuffix("`")


def page() -> str:
    """The whole page."""
    table = "".join(f"| [{name}](#{name}) | {_cell(_shown(each.help))} |\n" for name, each in COMMANDS.items())
    return HEAD + table + "\n" + "\n".join(map(section, COMMANDS)).rstrip("\n") + "\n"


if __name__ == "__main__":
    Path(__file__).parent.joinpath("reference", "commands.md").write_text(page(), encoding="utf-8")
