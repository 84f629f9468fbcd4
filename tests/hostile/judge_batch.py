"""fix --batch: the repaired model must answer for each sample what the original answers for it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tests.hostile.engine import Array, Engine, Failed
from tests.hostile.generator import Case
from tests.hostile.noise import TURNS, Pair, noisy, shaken
from tests.hostile.quirks import clouded
from tests.hostile.verdict import Verdict, difference, perturbed, steady
from tests.hostile.worlds import fragile, opened

ROOM = "batch"


class Home(NamedTuple):
    """Where an output carries its samples: in an axis, inside `outer` others; axis None: nowhere."""

    axis: int | None
    outer: int = 1

    def row(self, answer: Array, unit: int) -> Array:
        """The first sample of an answer for several equal ones, with its axis cut into three."""
        assert self.axis is not None
        dims = answer.shape
        inner = dims[self.axis] // (self.outer * unit)
        apart = answer.reshape(*dims[: self.axis], self.outer, unit, inner, *dims[self.axis + 1 :])
        return np.take(apart, [0], self.axis + 1)

    def joined(self, answers: Sequence[Array], unit: int) -> Array:
        """The answers of samples, as one."""
        if self.axis is None:
            return answers[0]
        whole = np.concatenate([self.row(each, unit) for each in answers], self.axis + 1)
        dims, axis = whole.shape, self.axis
        return whole.reshape(*dims[:axis], dims[axis] * dims[axis + 1] * dims[axis + 2], *dims[axis + 3 :])


def homes(answer: Array, unit: int) -> list[Home]:
    """All places where an output could carry its samples."""
    found = [Home(None)]
    for axis, size in enumerate(answer.shape):
        if size % unit == 0:
            each = size // unit
            found += [Home(axis, outer) for outer in range(1, max(1, each) + 1) if not each or each % outer == 0]
    return found


class Truth:
    """The original on every sample alone."""

    def __init__(self, case: Case, engine: Engine, sizes: Mapping[str, int], seed: list[int], count: int) -> None:
        self.case, self.engine, self.sizes, self.seed = case, engine, sizes, seed
        self.unit = case.size if isinstance(case.batch_said, int) else 1
        self.parts = case.draw(np.random.default_rng(seed), count, sizes)
        self.answers: dict[int, list[Array]] = {}
        for sample in range(count):
            try:
                self.answers[sample] = self._alone(self.parts, sample)
            except Failed:
                continue

    def _alone(self, parts: Mapping[str, list[Array]], sample: int, engine: Engine | None = None) -> list[Array]:
        return (engine or self.engine)(self.case.feed(parts, [sample] * self.unit))

    def clouded(self, samples: list[int]) -> bool:
        """Whether the engine may answer one way or the other."""
        whole = opened(self.case)
        feeds = (self.case.feed(self.parts, [sample] * self.unit) for sample in samples)
        return any(clouded(self.case.proto.graph, whole.run(feed)) for feed in feeds)

    def shaken(self, samples: list[int]) -> list[list[list[Array]]]:
        """The answers for inputs with other last bits, several times."""
        rng = np.random.default_rng([*self.seed, 1])
        found = []
        for turn in range(TURNS):
            engine = Engine(noisy(self.case.proto, turn))
            parts = {name: [perturbed(rng, each) for each in arrays] for name, arrays in self.parts.items()}
            try:
                found.append([self._alone(parts, sample, engine) for sample in samples])
            except Failed:
                continue
        return found


def judge_batch(case: Case, fixed: Any, seed: int, *, empty: bool = True) -> Verdict:
    """The law on a model that was written; `empty`: at no samples too."""
    original = Engine(case.proto)
    rng = np.random.default_rng([seed, 7])
    worlds = [dict(case.named)] * 2
    if case.named:
        worlds += [dict.fromkeys(case.named, 1), {name: int(rng.integers(1, 7)) for name in case.named}]
    else:
        worlds.append({})
    possible: dict[int, list[Home]] = {}
    ours: Engine | None = None
    for number, sizes in enumerate(worlds):
        truth = Truth(case, original, sizes, [seed, number], int(rng.choice([3, 5, 5, 7])))
        if not truth.answers:
            continue
        try:
            ours = ours or Engine(fixed, ours=True)
        except Failed as failure:
            return Verdict(ROOM, "broken", str(failure))
        fault = judge_fault(case, truth, ours, possible, rng)
        if fault is not None:
            return fault
    if ours is None:
        return Verdict(ROOM, "no truth")
    fault = _whole(case, original, ours, rng) or (_empty(case, original, ours, rng) if empty else None)
    return fault or Verdict(ROOM, "right")


def judge_fault(  # noqa: C901 - one walk over counts, outputs and places
    case: Case, truth: Truth, ours: Engine, possible: dict[int, list[Home]], rng: np.random.Generator
) -> Verdict | None:
    """Where the repaired model answers otherwise than the original does for each sample."""
    good = list(truth.answers)
    unit = truth.unit
    counts = dict.fromkeys([1, min(2, len(good)), min(3, len(good)), len(good)])
    for count in counts:
        chosen = [good[place] for place in rng.permutation(len(good))[:count]]
        said = f"{count} samples, {dict(truth.sizes)}"
        try:
            found = ours(case.feed(truth.parts, chosen))
        except Failed as failure:
            return Verdict(ROOM, "broken", f"{said}: {failure}")
        for place, output in enumerate(found):
            answers = [truth.answers[sample][place] for sample in chosen]
            if isinstance(output, list):
                continue
            before = possible.setdefault(place, homes(answers[0], unit))
            if case.random:
                continue
            left = []
            why = ""
            for home in before:
                told = _unlike(home, output, answers, unit)
                if told is None:
                    left.append(home)
                elif not why or " for " not in told.partition("elements")[0]:
                    why = told
            if not left and before:
                if not _steady(before, output, answers, truth, chosen, place, ours):
                    continue
                return Verdict(ROOM, "wrong", f"output {place} at {said}: {why}")
            possible[place] = left
    return None


def _unlike(home: Home, output: Array, answers: list[Array], unit: int) -> str | None:
    try:
        if home.axis is None:
            return next((why for each in answers if (why := difference(output, each)) is not None), None)
        return difference(output, home.joined(answers, unit))
    except (ValueError, IndexError):  # answers of other dims
        return "dims"


def _steady(  # noqa: PLR0913, PLR0917 - what one difference is judged by
    before: list[Home],
    output: Array,
    answers: list[Array],
    truth: Truth,
    chosen: list[int],
    place: int,
    ours: Engine,
) -> bool:
    """Whether no place of the samples would be right for inputs that differ in their last bits."""
    if truth.clouded(chosen):
        return False
    originals = truth.shaken(chosen)
    rng = np.random.default_rng([*truth.seed, 2])
    feeds = truth.case.feed(truth.parts, chosen)

    @cache
    def ours_again() -> list[Array]:
        return [each[place] for each in shaken(ours, feeds, rng, ours=True)]

    for home in before:
        try:
            if home.axis is None:
                pairs = [(each, [run[at][place] for run in originals]) for at, each in enumerate(answers)]
            else:
                again = [home.joined([each[place] for each in run], truth.unit) for run in originals]
                pairs = [(home.joined(answers, truth.unit), again)]
        except (ValueError, IndexError):
            continue
        if all(not steady(output, expected, lambda again=again: again, ours_again) for expected, again in pairs):  # type: ignore[misc]
            return False
    return True


def _whole(case: Case, original: Engine, ours: Engine, rng: np.random.Generator) -> Verdict | None:
    """At the exported size, both models give the same, whatever the samples have to do with each other."""
    if not isinstance(case.batch_said, int) or case.size == 1 or case.random:
        return None
    parts = case.draw(rng, case.size, dict(case.named))
    feeds = case.feed(parts, list(range(case.size)))
    try:
        expected = original(feeds)
    except Failed:
        return None
    return _same(case, expected, ours, feeds, rng, "at the exported size")


def _empty(case: Case, original: Engine, ours: Engine, rng: np.random.Generator) -> Verdict | None:
    """No samples at all, where the original takes that."""
    if isinstance(case.batch_said, int) or case.random or fragile(case):
        return None
    parts = case.draw(rng, 3, dict(case.named))
    feeds = case.feed(parts, [])
    try:
        values = opened(case).run(feeds)
        original(feeds)  # as it is: the engine plans its memory otherwise where it is to give all values
        for count in (2, 3):  # the original must mean the same as the repaired model where there are samples
            several = case.feed(parts, list(range(count)))
            pairs = zip(original(several), ours(several), strict=True)
            if any(difference(one, other) is not None for one, other in pairs):
                return None
    except Failed:
        return None
    expected = [values.get(output.name) for output in case.proto.graph.output]
    return _same(case, expected, ours, feeds, rng, "at 0 samples")


def _same(  # noqa: PLR0913, PLR0917 - what one difference is judged by
    case: Case,
    expected: Sequence[Any],
    ours: Engine,
    feeds: dict[str, Array],
    rng: np.random.Generator,
    said: str,
) -> Verdict | None:
    try:
        found = ours(feeds)
    except Failed as failure:
        return Verdict(ROOM, "broken", f"{said}: {failure}")
    for place, (one, other) in enumerate(zip(found, expected, strict=True)):
        why = None if other is None else difference(one, other)
        if why is not None and clouded(case.proto.graph, opened(case).run(feeds)):
            continue
        if why is not None and Pair(case.proto, ours, feeds).differs(place, one, other, rng):
            return Verdict(ROOM, "wrong", f"output {place} {said}: {why}")
    return None
