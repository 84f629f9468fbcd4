"""The law: what was fitted on some exports is, at every size, the model that the same maker exports there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import onnx_ir as ir
import onnxruntime

from onereshape.ground.errors import FixError
from onereshape.repair.fitting.plan import apply_like, like_plan
from tests.arbiter import equal
from tests.repair.fitting.exporting import Array, Case, Sizes
from tests.running import session

WINDOWS = "since no window is longer than what it goes over"


class Verdict(NamedTuple):
    """What became of a case."""

    status: str
    """`right`, `refused`, `wrong` or `fails`."""
    why: str = ""
    conditions: tuple[str, ...] = ()
    """But for those of the windows of pools and convolutions, which a case has only to make something of its sizes."""


def fitted(case: Case, exporter: str) -> tuple[bytes, tuple[str, ...]]:
    """The model of any size, and its conditions; or a refusal is raised."""
    (first, names), *others = (case.at(sizes, exporter) for sizes in case.exports)
    model = ir.from_proto(first)
    plan = like_plan(model, [ir.from_proto(proto) for proto, _ in others], names)
    apply_like(model, plan)
    return ir.to_proto(model).SerializeToString(), tuple(plan.conditions)


def verdict(case: Case, exporter: str) -> Verdict:
    """Fits a case, and compares it with its maker at all sizes."""
    try:
        model, stated = fitted(case, exporter)
    except FixError as refusal:
        return Verdict("refused", f"[{refusal.code}] {refusal.sentence}")
    conditions = tuple(each for each in stated if not each.endswith(WINDOWS))
    try:
        candidate = session(model, optimized=True)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises
        return Verdict("fails", str(error).splitlines()[0], conditions)
    for sizes in (*case.exports, *case.unseen):
        feed, wanted = truth(case, exporter, sizes)
        try:
            found = candidate.run(None, feed)
        except Exception as error:  # noqa: BLE001
            return Verdict("fails", f"at {dict(sizes)}: {str(error).splitlines()[0]}", conditions)
        for one, other in zip(found, wanted, strict=True):
            if not equal(one, other):
                shapes = "" if one.shape == other.shape else f", {list(one.shape)} for {list(other.shape)}"
                return Verdict("wrong", f"at {dict(sizes)}{shapes}", conditions)
    return Verdict("right", "", conditions)


_LIMIT = re.compile(r"(\w+) (<=|>=) (\d+)")


def beyond(case: Case, exporter: str) -> list[str]:
    """What a model answers wrongly where a condition of a single size does not hold, just beyond it and farther off.

    To answer with what is no number is to stop: a ramp of one entry has no step.
    """
    model, conditions = fitted(case, exporter)
    candidate = session(model, optimized=True)
    wrong = []
    for name, sign, number in _limits(conditions):
        for size in (number + 1, 2 * number - 1, 2 * number) if sign == "<=" else range(1, number):
            sizes = {**case.exports[-1], name: size}
            with suppress(Exception):  # it stops, as it should, or there is no such export
                feed, wanted = truth(case, exporter, sizes)
                found = candidate.run(None, feed)
                if not all(equal(*each) or np.isnan(each[0]).any() for each in zip(found, wanted, strict=True)):
                    wrong.append(f"at {sizes}, though {name} {sign} {number}")
    return wrong


def _limits(conditions: tuple[str, ...]) -> Iterator[tuple[str, str, int]]:
    for found in filter(None, map(_LIMIT.match, conditions)):
        yield found[1], found[2], int(found[3])


_truths: dict[tuple[object, ...], tuple[dict[str, Array], list[Array]]] = {}


def truth(case: Case, exporter: str, sizes: Sizes) -> tuple[dict[str, Array], list[Array]]:
    """Inputs, and what the export at these sizes makes of them; asked of the engine once."""
    key = (case.name, exporter, *sizes.items())
    if key not in _truths:
        proto, _ = case.at(sizes, exporter)
        engine = session(proto, optimized=True)
        rng = np.random.default_rng(5)
        feed = {given.name: _drawn(rng, given) for given in engine.get_inputs()}
        _truths[key] = feed, engine.run(None, feed)
    return _truths[key]


_KINDS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8, "tensor(bool)": np.bool_}


def _drawn(rng: np.random.Generator, given: onnxruntime.NodeArg) -> Array:
    if given.type == "tensor(float)":
        return np.asarray(rng.standard_normal(given.shape), np.float32)
    drawn = rng.integers(0, 2 if given.type == "tensor(bool)" else 5, given.shape)
    return np.asarray(drawn, _KINDS[given.type])
