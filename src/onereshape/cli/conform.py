"""`onereshape conform`: the case table against the engines installed here.

The table and the engines are imported when the command runs: no other command should wait for them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onereshape.cli.limit_options import add_limits, limited_by
from onereshape.ground.atomic import replacing_in_turn
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.ground.text import shown
from onereshape.rule.specs import DEFAULT

if TYPE_CHECKING:
    from onereshape.backends.conformance.engines import Engine
    from onereshape.backends.conformance.result import Result

EXAMPLE = """\
examples:
  $ onereshape conform --engine onnxruntime
  $ onereshape conform --engine openvino-evaluate --case zero_and_neg1 --case vol_mismatch_with_0
  $ onereshape conform --engine my_backend:reshape --spec openvino
"""
NOTES = """\
The last example asks a function of your own, called as reshape(data, target, special_zero=True) with NumPy arrays and
the flag that the specification has; it returns an array, or refuses by raising any exception.

Every engine runs in processes of its own: a crash or a hang is an answer. Array libraries (numpy, torch, jax) follow no
specification; they are compared with ONNX's literal 0. Where no oneDNN is found, its recorded answers are shown, marked
as such.

Exit code 1: an engine differs from its specification. Array libraries and recorded answers never change the exit code.

engines: onnx-reference-24, onnx-reference-13, onnx-inference-24, onnx-inference-13, onnxruntime-24,
onnxruntime-24-constant, onnxruntime-13, onnxruntime-1, openvino-inference, openvino-evaluate, openvino-cpu,
openvino-cpu-constant, openvino-cpu-static, onednn-compile, onednn-graph, numpy, torch, jax
"""

_CLEAR = "\r\x1b[K"
"""Empties a terminal's line."""
_WIDEST = 60
"""Signs of an engine's name beside the progress."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "--engine",
        metavar="ENGINE",
        action="append",
        default=[],
        help="ask only this engine, all of this package, or a function MODULE:FUNCTION; may be repeated",
    )
    parser.add_argument(
        "--case", metavar="NAME", action="append", default=[], help="put only this case; may be repeated"
    )
    parser.add_argument(
        "--spec", metavar="SPEC", help=f"what a MODULE:FUNCTION is held against (default: {DEFAULT}, the newest)"
    )
    add_limits(parser)
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help="write the result as a page to FILE.md, and the answers beside it as FILE.json",
    )


def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any], int]:
    """The answer for people, the answer for machines, and the exit code."""
    from onereshape.backends.conformance.case_table import CASES  # noqa: PLC0415 - here and below: see above
    from onereshape.backends.conformance.engines import ENGINES, find_cases, find_engines  # noqa: PLC0415
    from onereshape.backends.conformance.record import shipped  # noqa: PLC0415
    from onereshape.backends.conformance.report import as_text  # noqa: PLC0415
    from onereshape.backends.conformance.result import run  # noqa: PLC0415

    engines = find_engines(args.engine, args.spec or DEFAULT) if args.engine else ENGINES
    cases = find_cases(args.case, CASES) if args.case else CASES
    _check(args, engines)
    shows = not args.quiet and sys.stderr is not None and sys.stderr.isatty()
    with limited_by(args):
        result = run(engines, cases, progress=_progress if shows else None, recorded=shipped())
    if shows:
        sys.stderr.write(_CLEAR)
    for column in result.columns:
        if column.engine.kind == "own" and not column.is_asked:
            raise ReshapeError("bad-usage", why=f"{column.engine.name} cannot be asked: {column.state}")
    lines = as_text(result).split("\n")
    if args.markdown is not None:
        lines.append(_write(result, args.markdown))
    return lines, result.to_json(), int(result.differs)


def _check(args: argparse.Namespace, engines: tuple[Engine, ...]) -> None:
    """Refuses what cannot be done, before anything is run."""
    if args.engine and not any(engine.is_installed for engine in engines):
        names = ", ".join(dict.fromkeys(engine.package for engine in engines))
        raise ReshapeError("bad-usage", why=f"{names} cannot be asked: not installed here")
    if args.spec is not None and not any(engine.kind == "own" for engine in engines):
        raise ReshapeError("bad-usage", why="--spec says what a MODULE:FUNCTION is held against, and none is asked")
    if args.markdown is None:
        return
    if not args.markdown.endswith(".md"):
        raise ReshapeError("bad-usage", why=f"{args.markdown} does not end in .md")
    if not Path(args.markdown).parent.is_dir():
        raise FormatError("unwritable", path=args.markdown, why="its folder does not exist")
    if args.case or any(engine.kind == "own" for engine in engines):
        raise ReshapeError("bad-usage", why="--markdown writes the whole table: leave out --case and MODULE:FUNCTION")


def _write(result: Result, path: str) -> str:
    from onereshape.backends.conformance.page import as_markdown  # noqa: PLC0415
    from onereshape.backends.conformance.record import write_record  # noqa: PLC0415

    record = Path(path).with_suffix(".json")
    with replacing_in_turn([str(record), path]) as (answers, page):  # the page says which record is its own
        answers.write(write_record(result).encode())
        page.write(as_markdown(result, record.name).encode(errors="surrogateescape"))
    return f"written to {path} and {record}"


def _progress(engine: str, done: int, total: int) -> None:
    sys.stderr.write(f"{_CLEAR}{shown(engine, _WIDEST)}: {done} of {total}")
    sys.stderr.flush()
