"""The child process in which an engine is asked: `python -m onereshape.conformance.child ENGINE`.

Questions come as one JSON list on standard input.  A first line of JSON says that the engine could be imported, then
each answer is a line, written as soon as it is known: whatever the engine does to this process, the parent knows which
question it was asked last.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any, NoReturn, TextIO

import numpy as np

from onereshape.conformance.engines import Engine, find_engines
from onereshape.conformance.questions import Answer, Output, Question, Refused

Ask = Callable[[Question], Output]
_LONGEST = 200
"""Characters of an engine's message that are kept."""


def answer(ask: Ask, question: Question) -> Answer:
    """One question put to an engine; an exception that is not a refusal is a failure of the way it was asked."""
    try:
        output = ask(question)
    except Refused as refusal:
        return Answer("refused", why=_first_line(str(refusal)))
    except Exception as error:  # noqa: BLE001 - a result like any other
        return Answer("failed", why=_first_line(f"{type(error).__name__}: {error}"))
    return Answer("dims" if _is_sound(output, question) else "wrong elements", tuple(output.dims))


def _is_sound(output: Output, question: Question) -> bool:
    """Whether the elements are those of data in the same order; an inference has none."""
    if not output.executed:
        return True
    if output.elements is None or prod(dim for dim in output.dims if isinstance(dim, int)) != prod(question.data):
        return False
    return np.array_equal(output.elements, question.elements.ravel())


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0][:_LONGEST] if lines else ""


def own(function: Callable[..., Any]) -> Ask:
    """A function of the user's, from (data, target, the specification's flag) to an array, as an engine."""

    def ask(question: Question) -> Output:
        try:
            output = np.asarray(function(question.elements, question.shape_tensor, **question.attributes))
        except Exception as error:  # noqa: BLE001 - whatever it raises is how it refuses
            raise Refused(f"{type(error).__name__}: {error}") from None
        return Output(output.shape, output.ravel())

    return ask


def _load(engine: Engine) -> Ask:
    module, _, name = engine.ask.partition(":")
    if engine.kind == "own":
        sys.path.append("")  # the working folder, after everything that is installed
    function: Callable[..., Any] = getattr(import_module(module), name)
    return own(function) if engine.kind == "own" else function


def serve(engine: Engine, questions: list[dict[str, Any]], out: TextIO) -> None:
    """Answers until the questions end, or until memory may have been overwritten."""
    ask = _load(engine)
    _say({"ready": engine.name}, out)
    for fields in questions:
        given = answer(ask, Question.from_json(fields))
        _say(given.to_json(), out)
        if given.kind == "wrong elements":  # whoever reads beyond data may also have written: a new process goes on
            return


def _say(line: dict[str, Any], out: TextIO) -> None:
    out.write(json.dumps(line) + "\n")
    out.flush()


def main() -> NoReturn:
    """Runs as the parent asks, keeping standard output for the answers alone."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _leave_no_core_file()
    try:
        (engine,) = find_engines(sys.argv[1:], "onnx")
        serve(engine, json.load(sys.stdin), out)
    except Exception as error:  # noqa: BLE001 - the last line is what the parent shows
        sys.stderr.write(f"\n{_first_line(f'{type(error).__name__}: {error}')}\n")
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)  # an engine that fails while it is torn down must not be blamed on a question


def _leave_no_core_file() -> None:
    try:
        import resource  # noqa: PLC0415 - not on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        return


if __name__ == "__main__":
    main()
