"""Puts questions to an engine in child processes, so that a crash or a hang is an answer like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from onereshape.backends.conformance.engines import Engine
from onereshape.backends.conformance.questions import Answer, EngineQuestion, Missing
from onereshape.ground.isolation.budget import SECONDS, limits
from onereshape.ground.isolation.room import Child, Ended

_CHILD = "onereshape.backends.conformance.engine_child"
Counted = Callable[[int], None]


class BrokenEngine(Exception):  # noqa: N818 - a state of the engine
    """An engine that is installed, and cannot even be imported."""


class EngineAnswer(NamedTuple):
    """What an engine answered, and its release where it says that itself."""

    answers: list[Answer]
    version: str


def ask_all(engine: Engine, questions: Sequence[EngineQuestion], *, progress: Counted | None = None) -> EngineAnswer:
    """An answer to each question; a question that ends its process is answered for it, and a new one goes on."""
    answers: list[Answer] = []
    version = ""
    while len(answers) < len(questions):
        with _started() as child:
            number, version = _loaded(child, engine)
            while len(answers) < len(questions):
                answers.append(_put(child, number, questions[len(answers)]))
                if progress is not None:
                    progress(len(answers))
                # Whoever reads beyond data may also have written there: a new process goes on.
                if answers[-1].kind in {"crash", "hang", "wrong elements"}:
                    break
    return EngineAnswer(answers, version)


def _started() -> Child:
    try:
        return Child()
    except Ended as ended:
        raise BrokenEngine(f"{ended.kind}: {ended.how}") from None


def _loaded(child: Child, engine: Engine) -> tuple[int, str]:
    """The number of an engine, and its release; it has more time than for an answer: an import is none."""
    limit = limits()
    try:
        patient = replace(limit, seconds=max(limit.seconds, SECONDS))
        told, _ = child.ask(f"{_CHILD}:load", {"engine": engine.name}, {}, patient)
    except Ended as ended:
        raise BrokenEngine(f"{ended.kind}: {ended.how}") from None
    if "missing" in told:
        raise Missing(told["missing"])
    if "broken" in told:
        raise BrokenEngine(told["broken"])
    return int(told["number"]), str(told["version"])


def _put(child: Child, number: int, question: EngineQuestion) -> Answer:
    try:
        told, _ = child.ask(f"{_CHILD}:put", {"number": number, "question": question.to_json()}, {}, limits())
        return Answer.from_json(told)
    except Ended as ended:
        return Answer("hang" if ended.kind == "hang" else "crash", why=ended.how)
