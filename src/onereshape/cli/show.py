"""`onereshape show`: every Reshape of a model, as a table.

What it needs is imported when the command runs: no other command should wait for it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from onereshape.cli.collecting import collecting_rarely
from onereshape.cli.streams import loaded, shown_source
from onereshape.formats.model_formats import typed_formats
from onereshape.ground.text import Ready, shown

if TYPE_CHECKING:
    from onereshape.checks.show import ReshapeRow

EXAMPLE = """\
examples:
  $ onereshape show model.onnx
  $ onereshape show model.onnx --node decoder/Reshape_3
  $ onereshape show model.xml --json
"""
NOTES = """\
Nothing is run. The dims are inferred from the inputs and the constants of the whole model, as formulas of the inputs'
dims; a size without a name is called by the first place that has it, such as x[1]. The first column is what --node
takes: the node's name, or its place where several nodes share a name.

MODEL may be - for standard input.
"""

_WIDEST = 60
"""Signs up to which the cells of a column are aligned in a pipe."""
_NARROWEST = (16, 10, 10, 10, 8, 12)
"""Signs of each column that a narrow terminal leaves it."""
_LEAST = 5
"""The column that a terminal without room for these goes without."""
_GAP = "  "


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", help=typed_formats())
    parser.add_argument("--node", metavar="NAME", help="this Reshape alone: its name, or its place")


@collecting_rarely()
def answer(args: argparse.Namespace) -> tuple[list[str] | Ready, dict[str, Any]]:
    """The answer for people and the answer for machines."""
    from onereshape.checks.show import TITLES, cells_of, show  # noqa: PLC0415
    from onereshape.graphs.request import given_model  # noqa: PLC0415

    model = given_model(loaded(args.model))
    rows: Sequence[ReshapeRow] = show(model)
    shared = Counter(row.name for row in rows)
    if args.node is not None:
        from onereshape.formats.naming import node_named  # noqa: PLC0415

        place = node_named(model, args.node).place
        rows = [row for row in rows if row.place == place]
    machine = {"input": args.model, "format": model.format, "reshapes": [row.to_json() for row in rows]}
    if args.json:
        return [], machine
    cells = [cells_of(row, row.place if shared[row.name] > 1 else None) for row in rows]
    count = f"{len(rows)} Reshape{'' if len(rows) == 1 else 's'} in {shown(shown_source(args.model))}"
    if not rows:
        return [count], machine
    if sys.stdout is not None and sys.stdout.isatty():
        return _painted(_fitting([TITLES, *cells], shutil.get_terminal_size().columns), count), machine
    return [*_aligned([[shown(cell) for cell in line] for line in [TITLES, *cells]], _WIDEST), "", count], machine


def _aligned(lines: Sequence[Sequence[str]], widest: int) -> list[str]:
    """Cells under one another; one that is wider than `widest` moves the rest of its line."""
    columns = [column for column in range(len(lines[0])) if any(line[column] for line in lines[1:])]
    widths = {column: min(widest, max(len(line[column]) for line in lines)) for column in columns}
    return [_GAP.join(line[column].ljust(widths[column]) for column in columns).rstrip() for line in lines]


def _fitting(lines: Sequence[Sequence[str]], width: int) -> list[str]:
    """Cells aligned in the width of a terminal: the widest columns give way, and long cells are cut in their middle."""
    told = [[shown(cell) for cell in line] for line in lines]
    columns = [column for column in range(len(told[0])) if any(line[column] for line in told[1:])]
    widths = {column: max(len(line[column]) for line in told) for column in columns}
    if sum(min(widths[column], _NARROWEST[column]) + len(_GAP) for column in columns) - len(_GAP) > width:
        columns = [column for column in columns if column != _LEAST]
        told = [[cell if column in columns else "" for column, cell in enumerate(line)] for line in told]
        widths = {column: widths[column] for column in columns}
    room = width - len(_GAP) * (len(columns) - 1)
    while sum(widths.values()) > room:
        over = [column for column in columns if widths[column] > _NARROWEST[column]]
        if not over:
            break
        widest = max(over, key=lambda column: widths[column])
        others = max((widths[column] for column in over if column != widest), default=0)
        least = max(_NARROWEST[widest], others, widths[widest] - (sum(widths.values()) - room))
        widths[widest] = min(least, widths[widest] - 1)
    return _aligned([[cut(cell, widths.get(column, 0)) for column, cell in enumerate(line)] for line in told], width)


def cut(text: str, width: int) -> str:
    """A text without its middle, where it is longer than that.

    >>> cut("encoder/layer.0/Reshape", 13)
    'encode…eshape'
    """
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _painted(lines: list[str], count: str) -> list[str] | Ready:
    """The lines with the colours of a terminal that has them and wants them."""
    from rich.console import Console  # noqa: PLC0415
    from rich.style import Style  # noqa: PLC0415

    console = Console(file=sys.stdout)
    if console.no_color or console.color_system is None:
        return [*lines, "", count]
    return Ready("\n".join([Style.parse("bold").render(lines[0]), *lines[1:], "", count]))
