"""The options that say which dims of a model are to vary."""

from __future__ import annotations

import argparse


def add_dims(parser: argparse.ArgumentParser) -> None:
    """The options that say which dims are to be free."""
    parser.add_argument(
        "--batch",
        metavar="INPUT[:AXIS]",
        nargs="*",
        action="extend",
        help="the batch is to vary: the dim that the inputs share, or just these inputs",
    )
    parser.add_argument(
        "--free",
        metavar="INPUT:AXIS=NAME",
        nargs="+",
        action="extend",
        help="other dims are to vary, under these names",
    )
