"""Does an optimised model answer as its original?  Decided by onnxruntime alone, without any code of ours.

Both models run as they stand, with no optimisation of the engine's own, on inputs that are drawn as the manifest beside
a folder of models says (`tests/arbiter.py`); of a folder without one, floats are normal, integers 0 or 1, and a dim
without a number is 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from tests.arbiter import Entry, _declared, drawn, entries, equal
from tests.running import session

Array = np.ndarray[Any, Any]
Feed = dict[str, Array]
SEED = 7041
REACHES = (1.0, 1.0, 1.0, 4.0, 0.05)
"""By what the floats of each drawn input are multiplied."""
FREE = 2
"""The size of a dim that has none."""
VISIBLE = 1e-3
"""The share of an output's scale above which a difference is one that a planted change may be known by."""
BEYOND = 20
"""How many times larger it must be than what the optimiser itself makes of the answers."""


class Judgement(NamedTuple):
    """One pair: what became of the answers, why, and how far they are apart."""

    kind: str
    """`right`, `unlike`, `other outputs`, `does not run`, `does not load`; `unjudged`: the original does not run."""
    why: str
    difference: float
    """The largest difference of the floats, as a share of the scale of their output."""


class Judge:
    """The answers of an original to what was drawn for it, beside which other models are put."""

    def __init__(self, entry: Entry) -> None:
        rng = np.random.default_rng(SEED)
        self.feeds = [self._feed(rng, entry, reach) for reach in REACHES]
        self.unjudged = ""
        self.scales: dict[str, float] = {}
        self.answers: list[Feed] = []
        try:
            running = session(str(entry.path))
            self.answers = [answers_of(running, feed) for feed in self.feeds]
            again = answers_of(running, self.feeds[0])
        except Exception as error:  # noqa: BLE001 - whatever the engine raises
            self.unjudged = f"the original does not run: {first_line(error)}"
            return
        if not all(equal(again[name], array) for name, array in self.answers[0].items() if array.dtype.kind != "U"):
            self.unjudged = "the original answers otherwise when it is asked again"
        for name in self.answers[0]:
            arrays = [each[name] for each in self.answers]
            self.scales[name] = max(scale_of(array) for array in arrays)

    @staticmethod
    def _feed(rng: np.random.Generator, entry: Entry, reach: float) -> Feed:
        found = {}
        for name, how in entry.inputs.items():
            dims, dtype = _declared(entry, name)
            array = drawn(rng, ([dim or FREE for dim in dims], dtype), how)
            plain = array.dtype.kind == "f" and how.get("kind", "normal") in {"normal", "image"}
            found[name] = (array * reach).astype(array.dtype) if plain else array
        return found

    def judged(self, made: str | bytes) -> Judgement:
        """What becomes of the answers in the other model; an output whose values are NaN in both is the same."""
        if self.unjudged:
            return Judgement("unjudged", self.unjudged, 0.0)
        try:
            running = session(made)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises
            return Judgement("does not load", first_line(error), 0.0)
        unlike, largest = "", 0.0
        for number, (feed, wanted) in enumerate(zip(self.feeds, self.answers, strict=True)):
            try:
                answers = answers_of(running, feed)
            except Exception as error:  # noqa: BLE001
                return Judgement("does not run", first_line(error), 0.0)
            if set(answers) != set(wanted):
                return Judgement("other outputs", f"{sorted(answers)} for {sorted(wanted)}", 0.0)
            for name, array in wanted.items():
                mine = answers[name]
                if mine.shape != array.shape or mine.dtype != array.dtype:
                    why = f"{name} is {mine.dtype}{list(mine.shape)}, not {array.dtype}{list(array.shape)}"
                    return Judgement("other outputs", why, 0.0)
                share = self._difference(name, mine, array)
                largest = max(largest, share)
                if not unlike and not equal(mine, array):
                    unlike = f"{name} differs by {share:.2g} of its scale, on input {number}"
        return Judgement("unlike" if unlike else "right", unlike, largest)

    def _difference(self, name: str, mine: Array, wanted: Array) -> float:
        """The largest difference of an output as a share of its scale; infinite where a value is finite in one only."""
        if wanted.dtype.kind != "f":
            return 0.0
        finite = np.isfinite(wanted)
        if not np.array_equal(finite, np.isfinite(mine)):
            return float("inf")
        apart = np.abs(mine.astype(np.float64) - wanted.astype(np.float64))[finite]
        return float(apart.max(initial=0) / max(self.scales[name], 1e-30))

    def changed(self, made: bytes, before: float) -> float | None:
        """The difference that a planted change makes, None if it makes none that is surely no rounding.

        `before` is the difference without it.  A model that does not run, or has other dims, is no planted change.
        """
        found = self.judged(made)
        shows = found.kind in {"right", "unlike"} and found.difference > max(VISIBLE, BEYOND * before)
        return found.difference if shows else None


def scale_of(array: Array) -> float:
    """The largest finite magnitude."""
    if array.dtype.kind != "f":
        return 1.0
    finite = array[np.isfinite(array)]
    return float(np.abs(finite.astype(np.float64)).max(initial=0))


def answers_of(running: Any, feed: Feed) -> Feed:
    """All outputs by name; an input that the model no longer has is not fed."""
    taken = {each.name for each in running.get_inputs()}
    names = [each.name for each in running.get_outputs()]
    given = {name: array for name, array in feed.items() if name in taken}
    return dict(zip(names, running.run(names, given), strict=True))


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def listed(folder: Path) -> list[Entry]:
    """The models of a folder: those of its manifest, else all of its .onnx files."""
    if (folder / "manifest.json").exists():
        return entries(folder)
    return [_described(path) for path in sorted(folder.glob("**/*.onnx"))]


def _described(path: Path) -> Entry:
    graph = onnx.load(path, load_external_data=False).graph
    weights = {each.name for each in graph.initializer}
    inputs = {each.name: {"axis": None} for each in graph.input if each.name not in weights}
    return Entry(path, inputs, {each.name: None for each in graph.output})
