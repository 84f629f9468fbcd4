"""The command line: what is typed, what is answered, and the exit code.

Each command is a module with its options and a function from them to an answer, once for people and once for machines.
Exit codes: 0 answered, 1 the operator refuses, 2 could not run (bad usage, unreadable file, a mistake of ours).  What
is answered is left to the other rooms.  Begin with `commands`, the table of commands, then `fix`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from onereshape.cli.collecting import leave_garbage
from onereshape.cli.commands import COMMANDS, module_of, no_command
from onereshape.cli.quiet import quiet
from onereshape.cli.stopping import Stopped, stopping
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import exact_json, page

if TYPE_CHECKING:
    import argparse

JSON_VERSION = 1
"""The version of the layout of all JSON answers; a field that goes, or means something else, makes it 2."""
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_ASKING = {"infer", "run"}
"""The commands that have the options of a flag."""
_TRACEBACK = "ONERESHAPE_TRACEBACK"
"""The variable that asks for the traceback of what nobody foresaw."""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code; no traceback is ever shown for what a user or a file did."""
    code = _main(list(sys.argv[1:] if argv is None else argv), ours=argv is None)
    if argv is None:  # the process is ours, and ends
        leave_garbage()
    return code


def _main(words: list[str], *, ours: bool) -> int:
    _fill_streams()
    try:
        with quiet(), stopping():
            code = _run(words, ours=ours)
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


def _run(words: list[str], *, ours: bool) -> int:
    as_json = "--json" in words or "--format json" in " ".join(words).replace("=", " ")
    command = words[0] if words and words[0] in COMMANDS else None
    try:
        if command is None:
            return _overall(words)
        args = _read(command, words[1:])
        if ours:
            _keep_pages()
        text, machine, *code = module_of(command).answer(args)
    except SystemExit as stop:  # --help
        return 0 if stop.code is None else int(stop.code)
    except ReshapeError as error:
        _report(error, command, as_json=as_json)
        return 2 if error.usage else 1
    except MemoryError:
        _report(ReshapeError("bad-usage", why="there is not enough memory for this"), None, as_json=as_json)
        return 2
    except BrokenPipeError:
        raise
    except Exception as error:  # noqa: BLE001 - the net: what gets here is a mistake of ours, whatever it is
        _report(_unforeseen(error), None, as_json=as_json)
        return 2
    if args.json:
        _print(exact_json({"json_version": JSON_VERSION, **machine}), sys.stdout)
    elif not args.quiet:
        _print(text, sys.stderr if args.piped else sys.stdout)
    return code[0] if code else 0


def _overall(words: list[str]) -> int:
    """Answers what is asked of the whole program."""
    if words[:1] == ["help"] and words[1:]:
        if words[1] not in COMMANDS:
            raise no_command(words[1:])
        _read(words[1], ["--help"])
    if words[:1] in (["--help"], ["-h"], ["help"]):
        from onereshape.cli.overview import overview  # noqa: PLC0415 - here and below: no other command needs it

        _print(overview(), sys.stdout)
        return 0
    if words[:1] in (["--version"], ["-V"]):
        from onereshape.cli.overview import versions  # noqa: PLC0415

        _print(versions(), sys.stdout)
        return 0
    raise no_command(words)


def _read(command: str, words: list[str]) -> argparse.Namespace:
    """What was typed after the command."""
    from onereshape.cli.parsing import parser_of  # noqa: PLC0415
    from onereshape.cli.typed import join_negative_shapes  # noqa: PLC0415

    args = parser_of(command).read(join_negative_shapes(words))
    args.typed = words
    return args


def _keep_pages() -> None:
    from onereshape.ground.isolation.pages import keep_pages  # noqa: PLC0415

    keep_pages()


def _unforeseen(error: Exception) -> ReshapeError:
    """What is said of an exception that is none of ours: its type, and the last line of our code on its way."""
    import traceback  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    if os.environ.get(_TRACEBACK, "0") not in {"", "0"}:
        _print("".join(traceback.format_exception(error)).rstrip(), sys.stderr)
    home = Path(__file__).parent.parent
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if home in Path(frame.filename).parents]
    place = (
        f"{Path(lines[-1].filename).relative_to(home).as_posix()}:{lines[-1].lineno}" if lines else "an unknown place"
    )
    return ReshapeError("unforeseen", type=type(error).__name__, place=place, variable=_TRACEBACK)


def _report(error: ReshapeError, command: str | None, *, as_json: bool) -> None:
    if as_json:
        _print(exact_json({"json_version": JSON_VERSION, "error": error.to_json()}), sys.stdout)
        return
    more = list(getattr(error, "__notes__", ()))
    if command in _ASKING and error.code == "missing-attribute":
        from onereshape.cli.spec_options import flag_hint  # noqa: PLC0415
        from onereshape.rule.specs import FLAGS  # noqa: PLC0415

        more.append(f"hint    {flag_hint(FLAGS[str(error.fields['attribute'])])}")
    _print([*f"onereshape: {error}".split("\n"), *(f"  {line}" for line in more)], sys.stderr)


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
