"""Trial: one comparison of two models under way, what was found in it, and what follows from that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Literal

import numpy as np
import onnx_ir as ir

from onereshape.models.certificates.certificate import Certificate, OutputAnswer, RefusedSize, Status
from onereshape.models.certificates.compare import CLEARLY, FLOATS, Carried, Distance, Meter, samples
from onereshape.models.certificates.engine import Array, Refusal, Session, engine_name
from onereshape.models.certificates.suits import fed

Feeds = dict[str, Array]
Answers = Mapping[str, Array]
Sizes = Mapping[str, int]
Freed = Mapping[str, Mapping[int, str]]
"""Input -> axis -> the name of the dim."""
Progress = Callable[[int, int, str], None]


class Stop(Exception):  # noqa: N818 - an end, good or bad
    """Nothing more needs to be run."""

    def __init__(self, status: Status, reason: str) -> None:
        self.status: Status = status
        self.reason = reason
        super().__init__(reason)


@dataclass(slots=True)
class Trial:
    """What is compared, and what was found so far."""

    original: ir.Model
    repaired: ir.Model
    kind: Literal["batch", "other", "same"]
    size: int
    outputs: Mapping[str, Carried | None]
    base_dir: str
    seed: int
    progress: Progress | None
    steps: int = 0
    done: int = 0
    distances: dict[str, Distance] = field(default_factory=dict)
    contrasts: dict[str, float] = field(default_factory=dict)
    widened: dict[str, float] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The dims of the original's outputs."""
    sizes: list[Sizes] = field(default_factory=list)
    refused: list[RefusedSize] = field(default_factory=list)
    witness: Sizes | None = None

    def step(self, text: str) -> None:
        """Says what is done next."""
        if self.progress is not None:
            self.progress(min(self.done, self.steps), self.steps, text)
        self.done += 1

    def opened(self) -> Session:
        """The repaired model in the engine."""
        try:
            return Session(self.repaired, self.base_dir)
        except Refusal as refusal:
            raise Stop("failed", f"onnxruntime cannot load the repaired model: {refusal.why}") from None

    def run(self, session: Session, feeds: Feeds, at: Sizes) -> Answers:
        """The repaired model's answers."""
        try:
            found = session.run(feeds)
        except Refusal as refusal:
            raise Stop("failed", f"onnxruntime cannot run the repaired model at {said(at)}: {refusal.why}") from None
        if dict(at) not in self.sizes:
            self.sizes.append(dict(at))
        return found


def compare(trial: Trial, meters: Mapping[str, Meter], got: Answers, wanted: Answers, at: Sizes) -> None:
    """Puts answers beside what is wanted, which has its samples first."""
    for name, meter in meters.items():
        mine, want = got[name], wanted[name]
        if mine.dtype != want.dtype:
            raise Stop("differs", f"output {name!r} is {mine.dtype} and was {want.dtype}")
        split = samples(mine, meter.carried, len(want))
        rows = [want] if meter.carried else [want[place : place + 1] for place in range(len(want))]
        if split is None or split.shape != rows[0].shape:
            dims = _dims(want, meter)
            raise Stop("differs", f"output {name!r} has dims {list(mine.shape)} at {said(at)}, and should have {dims}")
        check_declared(trial, name, mine, at)
        for row in rows:
            trial.distances[name] = trial.distances.get(name, Distance()).worse(meter.distance(split, row))
        if meter.carried:
            contrast(trial, meter, want)
        trial.scales[name] = max(trial.scales.get(name, 0.0), meter.largest)


def check_declared(trial: Trial, name: str, array: Array, at: Sizes) -> None:
    """The dims that the repaired model declares for an output are those that it has, if the original's were true."""
    declared = next(value.shape for value in trial.repaired.graph.outputs if value.name == name)
    for axis, (dim, size) in enumerate(zip(declared or (), array.shape, strict=False)):
        if isinstance(dim, int) and dim != size and trial.shapes[name][axis] == dim:
            why = f"output {name!r} is declared to have {dim} at axis {axis}, and has {size} at {said(at)}"
            raise Stop("differs", why)


def contrast(trial: Trial, meter: Meter, group: Array) -> None:
    """Notes how different the samples are that were put beside each other."""
    trial.contrasts[meter.name] = max(trial.contrasts.get(meter.name, 0.0), meter.contrast(group))


def verdict(trial: Trial) -> tuple[Status, str]:
    """What follows when everything has run and nothing differs."""
    named = [name for name in trial.distances if _matters(trial, name)]
    blind = [name for name in named if _is_blind(trial, name)]
    if not named:
        return "untested", "no output carries the batch" if trial.kind == "batch" else "no output was compared"
    if len(blind) == len(named):
        return "untested", f"no output depends on the sample (same for all: {', '.join(blind)})"
    tested = "; ".join(said(sizes) or "the sizes of the original" for sizes in trial.sizes)
    largest = max(found.absolute for found in trial.distances.values())
    reason = f"ran at {tested}; the largest difference is {largest:.3g}"
    return "certified", reason + (f"; not tested, the same for all samples: {', '.join(blind)}" if blind else "")


def certificate(trial: Trial, status: Status, reason: str) -> Certificate:
    """Everything that was found, in the form that stays."""
    answered = [
        OutputAnswer(
            name,
            carried.axis if (carried := trial.outputs.get(name)) else None,
            found.absolute,
            trial.scales.get(name, 0.0),
            _matters(trial, name) and _is_blind(trial, name),
            trial.widened.get(name, 1.0),
        )
        for name, found in trial.distances.items()
    ]
    return Certificate(
        status,
        reason,
        trial.kind,
        tuple(trial.sizes),
        tuple(answered),
        tuple(trial.refused),
        trial.witness,
        trial.seed,
        engine_name(),
        FLOATS.relative,
        FLOATS.absolute,
    )


def check_interface(original: ir.Model, other: ir.Model, what: str) -> None:
    """Both models take and give the same."""
    for role, mine, theirs in (
        ("inputs", fed(original), fed(other)),
        ("outputs", original.graph.outputs, other.graph.outputs),
    ):
        names = [[value.name for value in values] for values in (mine, theirs)]
        if names[0] != names[1]:
            raise Stop("differs", f"the {what} has the {role} {names[1]}, and the original has {names[0]}")
        for before, after in zip(mine, theirs, strict=True):
            if before.dtype != after.dtype:
                raise Stop(
                    "differs", f"{after.name!r} is {after.dtype} in the {what}, and {before.dtype} in the original"
                )


def said(sizes: Sizes) -> str:
    """Sizes as a sentence names them."""
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


def amount(found: Distance) -> str:
    """A difference as a sentence names it."""
    return f"{found.absolute:.3g}" if found.absolute < inf else "a value that is not finite"


def _matters(trial: Trial, name: str) -> bool:
    return trial.kind != "batch" or trial.outputs.get(name) is not None


def _is_blind(trial: Trial, name: str) -> bool:
    return trial.contrasts.get(name, 0.0) <= CLEARLY * trial.widened.get(name, 1.0)


def _dims(want: Array, meter: Meter) -> list[int]:
    """The dims that an output should have, from its samples."""
    if meter.carried is None:
        return list(want.shape[1:])
    axis = meter.carried.axis
    whole = np.moveaxis(want, 0, axis + 1).shape
    return [*whole[:axis], whole[axis] * whole[axis + 1] * whole[axis + 2], *whole[axis + 3 :]]
