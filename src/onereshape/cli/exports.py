"""The options that name other exports of a model."""

from __future__ import annotations

import argparse

from onereshape.formats.given import STREAM


def add_exports(parser: argparse.ArgumentParser) -> None:
    """Adds --like, exports that the repair is fitted on, and --witness, exports that it does not use."""
    parser.add_argument(
        "--like",
        metavar="OTHER",
        action="append",
        type=read_export,
        help="another export of the model: the dims that differ are free, by what all exports say (repeatable)",
    )
    parser.add_argument(
        "--witness",
        metavar="OTHER",
        action="append",
        type=read_export,
        help="an export at other sizes that the repair does not use, to agree with there (repeatable)",
    )


def read_export(text: str) -> str:
    """The path of an export as it was typed; `-` is refused."""
    if text == STREAM:
        raise argparse.ArgumentTypeError("it takes a file: only MODEL can be read from standard input")
    return text
