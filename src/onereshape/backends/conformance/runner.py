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
    """An engine's answers, one to each question, and its release; empty where only its package tells the release."""

    answers: list[Answer]
    version: str


def ask_all(engine: Engine, questions: Sequence[EngineQuestion], *, progress: Counted | None = None) -> EngineAnswer:
    """The answers to all questions; one that ends its process is a `crash` or a `hang`, and a new process goes on."""
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
    """Loads an engine: its number in the child, and its release. An import may take longer than an answer."""
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
