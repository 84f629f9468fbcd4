"""Puts questions to an engine in child processes, so that a crash or a hang is an answer like any other."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from typing import IO, Any, Self

from onereshape.conformance.engines import Engine
from onereshape.conformance.questions import Answer, Question

SECONDS = 60.0
"""How long one answer may take, and how long at least an import."""
Progress = Callable[[int], None]


class BrokenEngine(Exception):  # noqa: N818 - a state of the engine
    """An engine that is installed, and cannot even be imported."""


def ask_all(
    engine: Engine, questions: Sequence[Question], *, seconds: float = SECONDS, progress: Progress | None = None
) -> list[Answer]:
    """An answer to each question; a question that ends its process is answered for it, and a new one goes on."""
    answers: list[Answer] = []
    while len(answers) < len(questions):
        with _Child(engine, questions[len(answers) :], seconds) as child:
            child.wait_until_ready()
            while len(answers) < len(questions):
                given = child.next()
                if given is None:  # it ended in good order, after an answer that may have harmed it
                    break
                answers.append(given)
                if progress is not None:
                    progress(len(answers))
                if answers[-1].kind in {"crash", "hang"}:
                    break
    return answers


class _Child:
    """One process, its answers as they come."""

    def __init__(self, engine: Engine, questions: Sequence[Question], seconds: float) -> None:
        self.said = False
        """Whether it has given an answer."""
        self._seconds = seconds
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        # -P: the working folder may hold the sources of an engine, which are not what is installed.
        command = [sys.executable, "-P", "-m", "onereshape.conformance.child", engine.name]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            env=os.environ | {"JAX_PLATFORMS": "cpu", "PYTHONWARNINGS": "ignore"},
        )
        asked = json.dumps([question.to_json() for question in questions])
        threading.Thread(target=self._talk, args=(asked,), daemon=True).start()

    def _talk(self, questions: str) -> None:
        """Writes the questions and reads the answers, beside whoever waits for them."""
        written, read = _both(self._process)
        try:
            with written:
                written.write(questions)
        except (BrokenPipeError, ValueError):  # it died before it read them all
            pass
        with read:
            for line in read:
                self._lines.put(line)
        self._lines.put(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._errors.close()

    def wait_until_ready(self) -> None:
        given = self._receive(max(self._seconds, SECONDS))  # an import is no answer
        if isinstance(given, Answer):
            raise BrokenEngine(f"{given.kind}: {given.why}")

    def next(self) -> Answer | None:
        """The next answer; None where the process ended in good order after the last one."""
        given = self._receive(self._seconds)
        if given is None or isinstance(given, Answer):
            return given
        self.said = True
        return Answer.from_json(given)

    def _receive(self, seconds: float) -> dict[str, Any] | Answer | None:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            return Answer("hang", why=f"no answer in {seconds:g} s")
        if line is not None and line.endswith("\n"):
            fields: dict[str, Any] = json.loads(line)
            return fields
        code = self._process.wait()
        return None if code == 0 and self.said else Answer("crash", why=self._last_words(code))

    def _last_words(self, code: int) -> str:
        how = f"exit code {code}" if code >= 0 else _signal_name(-code)
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        return f"{how}: {lines[-1].strip()[:200]}" if lines else how


def _both(process: subprocess.Popen[str]) -> tuple[IO[str], IO[str]]:
    if process.stdin is None or process.stdout is None:  # never: both were asked for
        raise BrokenEngine("no pipes")
    return process.stdin, process.stdout


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
