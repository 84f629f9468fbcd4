"""`onereshape check`: what is wrong with the Reshapes of models.

What it needs is imported when the command runs: no other command should wait for it.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import onereshape
from onereshape.cli.batch_axes import TwoMeaningsError, batch_axes, needs_model
from onereshape.cli.collecting import collecting_rarely
from onereshape.cli.colours import paint
from onereshape.cli.dims_options import add_dims
from onereshape.cli.parsing import one_of
from onereshape.cli.streams import loaded, shown_source
from onereshape.cli.typed import asked_dims
from onereshape.formats.given import STREAM
from onereshape.formats.model_formats import typed_formats
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import Ready

if TYPE_CHECKING:
    from onereshape.checks.findings.formats import Report

EXAMPLE = """\
examples:
  $ onereshape check model.onnx
  $ onereshape check model.onnx --batch
  $ onereshape check model.onnx --batch pixel_values:0 state:1
  $ onereshape check model.onnx --free input_ids:1=S attention_mask:1=S
"""
NOTES = """\
Nothing is run. Findings are in the order of the graph. Each is an error, a warning or a note, says whether
`onereshape fix` can repair it, and ends with the command to type next. A command for several findings is printed once.
More than three findings of one cause are one line, with the first three nodes and the sentence of the first.

--batch asks what keeps the batch from varying: at the axes that are named, or at those that `onereshape fix --batch`
would take. --free asks the same of other dims.

MODEL may be - for standard input. Exit code 1: there are errors (with --strict, or warnings).
"""


_FORMATS = ("text", "json", "github", "sarif")


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("models", metavar="MODEL", nargs="*", help=typed_formats())
    add_dims(parser)
    parser.add_argument(
        "--format",
        metavar="|".join(_FORMATS),
        type=one_of(_FORMATS),
        default="text",
        help="text for people (the default), one JSON object, annotations of GitHub, or SARIF 2.1.0",
    )
    parser.add_argument("--json", action="store_true", help="the same as --format json; errors are JSON too")
    parser.add_argument("--all", action="store_true", help="a line for each finding, also where many have one cause")
    parser.add_argument("--strict", action="store_true", help="warnings change the exit code as errors do")


@collecting_rarely()
def answer(args: argparse.Namespace) -> tuple[str | list[str], dict[str, Any], int]:
    """The answer for people, the answer for machines, and the exit code."""
    from onereshape.checks.findings import formats  # noqa: PLC0415

    batch, free, more = asked_dims(args.batch, args.free, both=True, models=args.models)
    paths = [*args.models, *more]
    if not paths:
        raise ReshapeError("bad-usage", why="a model is missing: onereshape check MODEL (see onereshape check --help)")
    if paths.count(STREAM) > 1:
        raise ReshapeError("bad-usage", why="standard input holds one model: - is typed twice")
    reports = [_report(path, batch, free, more) for path in paths]
    if len(reports) == 1 and reports[0].error is not None:
        raise reports[0].error
    args.json = args.json or args.format == "json"
    machine = formats.as_json(reports) if args.json else {}
    text: str | list[str]
    if args.json:
        text = []
    elif args.format == "github":
        text = formats.as_github(reports)
    elif args.format == "sarif":
        text = formats.as_sarif(reports, onereshape.__version__)
    else:
        painted = paint()
        text = formats.as_text(reports, every=args.all)
        if painted is not None:
            text = Ready(formats.as_text(reports, painted, every=args.all))
    failed = any(report.error is not None for report in reports)
    bad = {"error", "warning"} if args.strict else {"error"}
    is_bad = any(found.severity in bad for report in reports for found in report.findings)
    return text, machine, 2 if failed else int(is_bad)


def _report(path: str, batch: Any, free: Any, typed_after: list[str]) -> Report:
    """What was found in one model; `typed_after` are the files that were typed after --batch."""
    from onereshape.checks.check import check  # noqa: PLC0415
    from onereshape.checks.findings.formats import Report  # noqa: PLC0415

    called = shown_source(path)
    try:
        if not needs_model(batch, typed_after):
            return Report(called, tuple(check(loaded(path), batch=batch, free=free)))
        model = loaded(path)
        return Report(called, tuple(check(model, batch=batch_axes(model, batch, typed_after), free=free)))
    except TwoMeaningsError:  # of the command line, whatever else is wrong with the model
        raise
    except ReshapeError as error:
        return Report(called, error=error)
