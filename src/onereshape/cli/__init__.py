"""The command line: what is typed, what is answered, and the exit code.

Each command is a module with its options and a function from them to an answer, once for people and once for machines.
Exit codes: 0 answered, 1 the operator refuses, 2 could not run (bad usage, unreadable file, a mistake of ours).
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO

import onereshape
from onereshape.apart.pages import keep_pages
from onereshape.arrays import cpu_copy
from onereshape.cli import certify, check, conform, convert, fix, infer, run
from onereshape.cli.collecting import leave_garbage
from onereshape.cli.quiet import quiet
from onereshape.cli.signals import Stopped, stopping
from onereshape.cli.typed import flag_hint, join_negative_shapes
from onereshape.errors import ReshapeError
from onereshape.specs import FLAGS
from onereshape.text import exact_json, page

_COMMANDS = {
    "infer": infer,
    "run": run,
    "check": check,
    "fix": fix,
    "certify": certify,
    "convert": convert,
    "conform": conform,
}
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_ASKING = {"infer", "run"}
"""The commands that have the options of a flag."""
_TRACEBACK = "ONERESHAPE_TRACEBACK"
"""The variable that asks for the traceback of what nobody foresaw."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; no traceback is ever shown for what a user or a file did."""
    if argv is None:  # the process is ours
        keep_pages()
    code = _main(list(sys.argv[1:] if argv is None else argv))
    if argv is None:  # and ends
        leave_garbage()
    return code


def _main(words: list[str]) -> int:
    _fill_streams()
    try:
        with quiet(), stopping():
            code = _run(words)
        if sys.stdout is not None:
            sys.stdout.flush()
    except Stopped as stop:
        return 128 + stop.signal
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # whoever read our output has read enough
        _silence(sys.stdout)
        return _BROKEN_PIPE
    except OSError as error:  # of standard output: those of files are ReshapeErrors by now
        _silence(sys.stdout)
        try:
            _print(f"onereshape: standard output: {error.strerror or error}", sys.stderr)
        except OSError:  # nor can this be said
            _silence(sys.stderr)
        return 2
    return code


def _run(words: list[str]) -> int:
    as_json = "--json" in words or "--format json" in " ".join(words).replace("=", " ")
    try:
        parser = _parser()
        args = parser.parse_args(join_negative_shapes(words))
        if args.command is None:
            parser.error(f"a command is missing: one of {', '.join(_COMMANDS)}")
        text, machine, *code = _COMMANDS[args.command].answer(args)
    except SystemExit as stop:  # --help and --version
        return 0 if stop.code is None else int(stop.code)
    except ReshapeError as error:
        _report(error, words[0] if words else None, as_json=as_json)
        return 2 if error.usage else 1
    except MemoryError:
        _report(ReshapeError("bad-usage", why="there is not enough memory for this"), None, as_json=as_json)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the net: what gets here is a mistake of ours, whatever it is
        if os.environ.get(_TRACEBACK, "0") not in {"", "0"}:
            _print(traceback.format_exc().rstrip(), sys.stderr)
        _report(_unforeseen(error), None, as_json=as_json)
        return 2
    _print(exact_json(machine) if args.json else text, sys.stdout)
    return code[0] if code else 0


def _unforeseen(error: Exception) -> ReshapeError:
    """What is said of an exception that is none of ours: its type, and the last line of our code on its way."""
    home = Path(onereshape.__file__).parent
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if home in Path(frame.filename).parents]
    place = (
        f"{Path(lines[-1].filename).relative_to(home).as_posix()}:{lines[-1].lineno}" if lines else "an unknown place"
    )
    return ReshapeError("unforeseen", type=type(error).__name__, place=place, variable=_TRACEBACK)


def _report(error: ReshapeError, command: str | None, *, as_json: bool) -> None:
    if as_json:
        _print(exact_json({"error": error.to_json()}), sys.stdout)
        return
    more = list(getattr(error, "__notes__", ()))
    if command in _ASKING and error.code == "missing-attribute":
        more.append(f"hint    {flag_hint(FLAGS[error.fields['attribute']])}")
    _print([*f"onereshape: {error}".split("\n"), *(f"  {line}" for line in more)], sys.stderr)


class _Parser(argparse.ArgumentParser):
    """argparse, with its errors as ours."""

    def error(self, message: str) -> NoReturn:
        raise ReshapeError("bad-usage", why=f"{message} (see {self.prog} --help)")


class _Version(argparse.Action):
    """Prints our version and those that matter in a bug report; looked up without importing anything."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        from onereshape.installed import runtime, version_of  # noqa: PLC0415 - takes long

        parts = [f"{name} {version_of(name)}" for name in ("numpy", "ml_dtypes", "onnx", "onnx-ir")]
        _print(f"onereshape {onereshape.__version__}", sys.stdout)
        _print(f"{', '.join(parts)}, Python {platform.python_version()}", sys.stdout)
        kernels = (
            f"C++, up to {cpu_copy.threads()} threads" if cpu_copy.available() else "NumPy's (no C++ kernels built)"
        )
        _print(f"copies: {kernels}", sys.stdout)
        _print(f"certificates: {' '.join(runtime())}, openvino {version_of('openvino')}", sys.stdout)
        parser.exit()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="onereshape",
        description="One Reshape for ONNX, OpenVINO and oneDNN Graph: exact in every dialect and version.",
        epilog="Exit codes: 0 answered, 1 the operator refuses, 2 could not run (bad usage, unreadable file).",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the versions and exit")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in _COMMANDS.items():
        added = commands.add_parser(
            name,
            help=command.HELP,
            description=f"{command.HELP[0].upper()}{command.HELP[1:]}.",
            epilog=command.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_options(added)
    return parser


def _print(text: str | Iterable[str], stream: TextIO | None) -> None:
    """Prints what the stream's encoding can hold, and the rest as escapes: a file name can be any bytes."""
    if stream is None:  # closed before we began
        return
    encoding = stream.encoding or "utf-8"
    print(page(text).encode(encoding, "backslashreplace").decode(encoding), file=stream)


def _fill_streams() -> None:
    """Gives the numbers of closed streams to nothing: a file of ours by such a number would hold what others print."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _silence(stream: TextIO | None) -> None:
    """Sends the rest of a stream that failed to nowhere, so that Python does not complain of it at exit."""
    if stream is None:
        return
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        return
