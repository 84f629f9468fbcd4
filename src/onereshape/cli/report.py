"""`onereshape report`: one page about a model, with a picture of every node that is wrong or was changed.

What it needs is imported when the command runs: no other command should wait for it.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from onereshape.cli.bar import bar
from onereshape.cli.batch_axes import batch_axes
from onereshape.cli.collecting import collecting_rarely
from onereshape.cli.dims_options import add_dims
from onereshape.cli.exports import add_exports
from onereshape.cli.limit_options import add_limits, certifying, in_time, read_memory, read_seed
from onereshape.cli.streams import loaded
from onereshape.cli.typed import asked_dims
from onereshape.formats.model_formats import typed_formats
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import Ready, shown

EXAMPLE = """\
examples:
  $ onereshape report model.onnx -o report.html
  $ onereshape report model.onnx --batch -o report.html
  $ onereshape report model.onnx --free input_ids:1=S --like longer.onnx -o report.html
  $ onereshape report model.onnx --batch --no-certify -o - > report.html
"""
NOTES = """\
The page is one file that loads nothing and runs no script. It has what `onereshape check` finds; with --batch, --free
or --like also what `onereshape fix` changes, with its certificate, or why it refuses; a picture of each such node with
the dims around it; and all Reshapes. The repaired model itself is not written: the page has the command that does.

Exit code 0: the page was written, whatever it says.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help=typed_formats())
    parser.add_argument("-o", "--output", metavar="PAGE", help="where the page is written; - for standard output")
    add_dims(parser)
    add_exports(parser)
    parser.add_argument("--per-sample", action="store_true", help="as `onereshape fix` takes it")
    parser.add_argument("--unwitnessed", action="store_true", help="as `onereshape fix` takes it")
    parser.add_argument("--no-certify", action="store_true", help="run nothing: the repair has no certificate")
    parser.add_argument("--seed", type=read_seed, default=0, help="of the inputs that are drawn (default 0)")
    add_limits(parser, all_of_it=True)


@collecting_rarely()
@in_time
def answer(args: argparse.Namespace) -> tuple[str | list[str], dict[str, Any]]:
    """The answer for people and the answer for machines."""
    from onereshape.checks.reports import report  # noqa: PLC0415

    words = [] if args.model is None else [args.model]
    batch, free, more = asked_dims(args.batch, args.free, both=True, models=words)
    path = _model(args, more)
    if args.output is None:
        raise ReshapeError("bad-usage", why="name the page to write: -o report.html, or -o - for standard output")
    if args.output == "-" and args.json:
        raise ReshapeError("bad-usage", why="-o - prints the page, and --json prints an answer: name a file")
    model = loaded(path)
    with bar(certifying(args), seen=not args.quiet) as progress:
        page = report(
            model,
            None if args.output == "-" else args.output,
            batch=batch_axes(model, batch, more),
            free=free,
            like=args.like,
            witness=args.witness,
            per_sample=args.per_sample,
            unwitnessed=args.unwitnessed,
            certify=not args.no_certify,
            seed=args.seed,
            timeout=args.timeout,
            memory=read_memory(args.memory),
            progress=progress,
        )
    if args.output == "-":
        return _printed(page), {}
    size = len(page.encode("utf-8", "backslashreplace"))
    machine = {"input": path, "written": args.output, "bytes": size}
    return [f"{size:,} bytes, written to {shown(args.output)}"], machine


def _model(args: argparse.Namespace, more: list[str]) -> str:
    words = [word for word in (args.model, *more) if word is not None]
    if len(words) == 1:
        return str(words[0])
    why = f"one model makes one page, and {shown(words[1])} is a second" if words else "a model is missing"
    raise ReshapeError("bad-usage", why=f"{why} (see onereshape report --help)")


def _printed(page: str) -> Ready:
    """The page in the signs that standard output takes: any other as HTML writes it."""
    encoding = (sys.stdout.encoding if sys.stdout is not None else None) or "utf-8"
    return Ready(page.rstrip("\n").encode(encoding, "xmlcharrefreplace").decode(encoding))
