"""An engine in the child process in which it is asked (`isolation.room`): `load` once, then `put` for each question."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from onereshape.backends.conformance.engines import Engine, find_engines
from onereshape.backends.conformance.questions import Answer, EngineQuestion, EngineRefused, Missing, Output
from onereshape.ground.isolation.kept import KEPT, keep
from onereshape.ground.isolation.messages import Arrays, Plain
from onereshape.rule.specs import DEFAULT

Ask = Callable[[EngineQuestion], Output]
_LONGEST = 200
"""Characters of an engine's message that are kept."""


def answer(ask: Ask, question: EngineQuestion) -> Answer:
    """One question put to an engine; an exception that is not a refusal is a failure of the way it was asked."""
    try:
        output = ask(question)
    except EngineRefused as refusal:
        return Answer("refused", why=_first_line(str(refusal)))
    except Exception as error:  # noqa: BLE001 - a result like any other
        return Answer("failed", why=_first_line(f"{type(error).__name__}: {error}"))
    return Answer("dims" if _is_sound(output, question) else "wrong elements", tuple(output.dims))


def _is_sound(output: Output, question: EngineQuestion) -> bool:
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

    def ask(question: EngineQuestion) -> Output:
        try:
            output = np.asarray(function(question.elements, question.shape_tensor, **question.attributes))
        except Exception as error:  # noqa: BLE001 - whatever it raises is how it refuses
            raise EngineRefused(f"{type(error).__name__}: {error}") from None
        return Output(output.shape, output.ravel())

    return ask


def _load(engine: Engine) -> tuple[Ask, str]:
    """Imports an engine: the function that asks it, and the release that the module of a `shipped` library tells."""
    name, _, ask = engine.ask.partition(":")
    if engine.kind == "own":
        sys.path.append("")  # the working folder, after everything that is installed
    module = import_module(name)
    function: Callable[..., Any] = getattr(module, ask)
    return (own(function), "") if engine.kind == "own" else (function, module.version() if engine.shipped else "")


def load(told: Plain, _arrays: Arrays) -> tuple[Plain, Arrays]:
    """Imports an engine and answers its number for `put` and its release, or why there is none: `missing`, `broken`."""
    try:
        (engine,) = find_engines([told["engine"]], DEFAULT)
        ask, version = _load(engine)
        return {"number": keep(ask), "version": version}, {}
    except Missing as missing:
        return {"missing": str(missing)}, {}
    except Exception as error:  # noqa: BLE001 - whatever an import can raise
        return {"broken": _first_line(f"{type(error).__name__}: {error}")}, {}


def put(told: Plain, _arrays: Arrays) -> tuple[Plain, Arrays]:
    """Puts one question to an engine that was loaded."""
    return answer(KEPT[told["number"]], EngineQuestion.from_json(told["question"])).to_json(), {}
