"""Trial: one comparison of two models under way, and what was found in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import NamedTuple

import numpy as np
import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.prove.certificate import Certificate, OutputAnswer, RefusedSize, Status
from onereshape.prove.counterexample import Counterexample, Role
from onereshape.prove.engines.engine import Array, Refusal, Session, engine_name, engine_of, folder_of
from onereshape.prove.runs.compare import CLEARLY, FLOATS, Carried, Distance, Meter, comparable, samples
from onereshape.prove.runs.comparison import Freedom, Progress
from onereshape.prove.runs.examples import Comparing
from onereshape.prove.values.input_roles import fed
from onereshape.terms.proof import said_at

Feeds = dict[str, Array]
Answers = Mapping[str, Array]
Sizes = Mapping[str, int]


def batch_of(freed: Freed) -> tuple[dict[str, int], str]:
    """The axes that carry a batch, and its name."""
    axes = {name: axis for name, dims in freed.items() for axis in dims}
    return axes, next(name for dims in freed.values() for name in dims.values())


class Stop(Exception):  # noqa: N818 - an end, good or bad
    """Ends a trial with a status and a reason: nothing more needs to be run."""

    def __init__(self, status: Status, reason: str, example: Counterexample | None = None) -> None:
        self.status: Status = status
        self.reason = reason
        self.example = example
        """The input that shows the difference, where the status is `differs`."""
        super().__init__(reason)


class NoRoom(Stop):
    """A run needed more memory than there is: it says nothing of what the model answers."""

    def __init__(self, reason: str, why: str) -> None:
        self.why = why
        super().__init__("failed", reason)


class Beside(NamedTuple):
    """Another export, beside which the repaired model was put."""

    model: ir.Model
    freed: Sizes
    """The sizes of the freed dims."""
    sizes: Sizes
    """The sizes of all named dims, freed or not."""
    values: Feeds
    """The values of inputs that serve as sizes."""


@dataclass(slots=True)
class Trial:
    """A comparison of two models under way, and all that was found so far."""

    original: ir.Model
    repaired: ir.Model
    kind: Freedom
    size: int
    outputs: Mapping[str, Carried | None]
    base_dir: str
    seed: int
    progress: Progress | None
    gates: bool = True
    """Whether values beyond the usual are tried."""
    steps: int = 0
    done: int = 0
    distances: dict[str, Distance] = field(default_factory=dict)
    contrasts: dict[str, float] = field(default_factory=dict)
    widened: dict[str, float] = field(default_factory=dict)
    scales: dict[str, float] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """The dims of the original's outputs."""
    seen: dict[str, list[Sizes]] = field(default_factory=dict)
    """The sizes at which an output had anything to compare."""
    elements: dict[str, int] = field(default_factory=dict)
    """The number of elements of an output that were compared."""
    entries: dict[str, int] = field(default_factory=dict)
    """The number of elements of an output, finite or not."""
    own: Sizes = field(default_factory=dict)
    """The exported sizes of freed dims other than a batch."""
    compared: list[Sizes] = field(default_factory=list)
    ran: list[Sizes] = field(default_factory=list)
    """The sizes at which the repaired model ran, compared or not."""
    refused: list[RefusedSize] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    extremes: list[str] = field(default_factory=list)
    examples: dict[str, tuple[float, Callable[[], Counterexample | None]]] = field(default_factory=dict)
    """Of each output that was ever too far from the original's: how far, and the maker of a counterexample."""
    shown: dict[str, Counterexample] = field(default_factory=dict)
    """The counterexamples of doubted outputs."""
    doubts: dict[str, str] = field(default_factory=dict)
    """Outputs that are too far from the original's, but so little that roundings may do it: the difference in words."""
    wavering: set[str] = field(default_factory=set)
    """Doubted outputs in which rounding decides the original's answer, so that they may be far from it."""
    first: Feeds = field(default_factory=dict)
    """The values that the original was fed first."""
    settings: list[tuple[Sizes, Feeds]] = field(default_factory=list)
    """The sizes of named dims that the original took, and the values of inputs that serve as sizes."""
    fitted: list[Beside] = field(default_factory=list)
    """The exports on which the repair was fitted."""
    witnesses: list[Beside] = field(default_factory=list)
    """The exports that the repair did not use."""

    def step(self, text: str) -> None:
        """Tells the caller's progress function the next step, in words."""
        if self.progress is not None:
            self.progress(min(self.done, self.steps), self.steps + 1, text)  # the last one is the term run
        self.done += 1

    def opened(self) -> Session:
        """The repaired model in the engine."""
        base_dir = folder_of(self.repaired) or self.base_dir
        try:
            return Session(self.repaired, base_dir)
        except Refusal as refusal:
            stop = Stop("failed", f"{engine_of(self.repaired)} cannot load the repaired model: {refusal.why}")
        if self.kind != "same":
            raise stop
        try:  # an optimiser may not load what it wrote, if it is to optimise it again
            session = Session(self.repaired, base_dir, optimize=False)
        except Refusal:
            raise stop from None
        self.held.append(f"{session.engine} loads it only where it is told not to optimise it")
        return session

    def run(self, session: Session, feeds: Feeds, at: Sizes, *, listed: bool = True) -> Answers:
        """The repaired model's answers."""
        try:
            found = session.run(feeds)
        except Refusal as refusal:
            why = f"{session.engine} cannot run the repaired model{said_at(at)}: {refusal.why}"
            raise (NoRoom(why, refusal.why) if refusal.kind == "memory" else Stop("failed", why)) from None
        if listed:
            note(self.ran, at)
        if self.shapes and (odd := self.shapes.keys() ^ found.keys()):
            where, name = said_at(at), min(odd)
            values = ("given", "not given") if name in self.shapes else ("not given", "given")
            who = "the original" if name in self.shapes else "the repaired model"
            example = Counterexample(
                name, "tensors", ("original", "repaired"), values, None, dict(at), self._beside(feeds), feeds
            )
            raise Stop("differs", f"only {who} gives {name!r}{where}: its sequence has other tensors", example)
        return found

    def _beside(self, feeds: Feeds) -> Feeds:
        """What the original was fed where a model gave other tensors."""
        return feeds if self.kind == "same" else self.first

    def example(self, name: str) -> Counterexample | None:
        """The input that shows best that an output differs."""
        return self.examples[name][1]() if name in self.examples else None


def note(sizes: list[Sizes], at: Sizes) -> None:
    """Lists sizes once."""
    if dict(at) not in sizes:
        sizes.append(dict(at))


def compare(trial: Trial, meters: Mapping[str, Meter], got: Answers, wanted: Answers, comparing: Comparing) -> None:
    """Puts answers beside what is wanted, which has its samples first; `comparing` says what was fed."""
    at = comparing.at
    for name, meter in meters.items():
        mine, want = got[name], wanted[name]
        if mine.dtype != want.dtype:
            why = f"output {name!r} is {mine.dtype} and was {want.dtype}"
            raise Stop("differs", why, comparing.unlike(name, "type"))
        split = samples(mine, meter.carried, len(want))
        rows = [want] if meter.carried else [want[place : place + 1] for place in range(len(want))]
        if split is None or split.shape != rows[0].shape:
            dims = _dims(want, meter)
            why = f"output {name!r} has dims {list(mine.shape)}{said_at(at)}, and should have {dims}"
            raise Stop("differs", why, comparing.unlike(name, "dims", (str(dims), str([*mine.shape]))))
        check_declared(trial, name, mine, at, comparing.pairs[0].after.feeds)
        found = comparable(want)
        trial.elements[name] = trial.elements.get(name, 0) + found
        trial.entries[name] = trial.entries.get(name, 0) + want.size
        if found:
            note(trial.seen.setdefault(name, []), at)
            note(trial.compared, at)
        for row in rows:
            distance = meter.distance(split, row)
            trial.distances[name] = trial.distances.get(name, Distance()).worse(distance)
            if distance.units > max(1, trial.examples[name][0] if name in trial.examples else 0):
                trial.examples[name] = distance.units, partial(comparing.element, meter)
        if meter.carried:
            contrast(trial, meter, want)
        trial.scales[name] = max(trial.scales.get(name, 0.0), meter.largest)


def check_declared(trial: Trial, name: str, array: Array, at: Sizes, feeds: Answers) -> None:
    """The dims that the repaired model declares for an output are those that it has, if the original's were true."""
    declared = next((value.shape for value in trial.repaired.graph.outputs if value.name == name), None)
    carried = trial.outputs.get(name)
    shape = trial.shapes[name] if carried is None or carried.new is None else (1, *trial.shapes[name])
    for axis, (dim, size) in enumerate(zip(declared or (), array.shape, strict=False)):
        if isinstance(dim, int) and dim != size and shape[axis] == dim:
            why = f"output {name!r} is declared to have {dim} at axis {axis}, and has {size}{said_at(at)}"
            raise Stop("differs", why, said_dims("declared", name, declared or (), array, at, feeds))


def said_dims(  # noqa: PLR0913, PLR0917 - what an example has
    who: Role, name: str, dims: Iterable[object], array: Array, at: Sizes, feeds: Answers
) -> Counterexample:
    """The example of an output that has not the dims that were said of it."""
    values = f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]", str([*array.shape])
    return Counterexample(name, "dims", (who, "repaired"), values, None, dict(at), None, feeds)


def contrast(trial: Trial, meter: Meter, group: Array) -> None:
    """Notes the largest difference between the samples of `group`, an output's answers, in tolerances."""
    trial.contrasts[meter.name] = max(trial.contrasts.get(meter.name, 0.0), meter.contrast(group))


def certificate(trial: Trial, status: Status, reason: str, example: Counterexample | None = None) -> Certificate:
    """The certificate of a trial, with a status and its reason, and what shows a difference."""
    answered = [
        OutputAnswer(
            name,
            carried.axis if (carried := trial.outputs.get(name)) else None,
            found.absolute,
            trial.scales.get(name, 0.0),
            matters(trial, name) and is_blind(trial, name),
            trial.elements.get(name, 0),
            trial.widened.get(name, 1.0),
            carried.outer if carried else 1,
            carried.new if carried else None,
        )
        for name, found in trial.distances.items()
    ]
    return Certificate(
        status,
        reason,
        trial.kind,
        tuple(trial.compared),
        tuple(sizes for sizes in trial.ran if sizes not in trial.compared),
        tuple(answered),
        tuple(trial.refused),
        tuple(trial.held),
        tuple(trial.extremes),
        (dict(trial.own), *(each.freed for each in trial.fitted)) if trial.fitted else (),
        tuple(each.freed for each in trial.witnesses),
        trial.seed,
        _engines(trial),
        FLOATS.relative,
        FLOATS.absolute,
        counterexample=example,
    )


def _engines(trial: Trial) -> str:
    """The engines and their versions: one, or two where each model has its own."""
    return " beside ".join(map(engine_name, dict.fromkeys(map(engine_of, (trial.original, trial.repaired)))))


def check_interface(original: ir.Model, other: ir.Model, what: str) -> None:
    """Stops, unless the inputs and outputs have the same names, and the inputs the same types: no input is for both.

    The types of outputs are seen in a run.
    """
    for role, mine, theirs in (
        ("inputs", fed(original), fed(other)),
        ("outputs", original.graph.outputs, other.graph.outputs),
    ):
        names = [[value.name for value in values] for values in (mine, theirs)]
        if names[0] != names[1]:
            raise Stop("failed", f"the {what} has the {role} {names[1]}, and the original has {names[0]}")
        for before, after in zip(mine, theirs, strict=True) if role == "inputs" else ():
            if before.dtype != after.dtype:
                why = f"{after.name!r} is {after.dtype} in the {what}, and {before.dtype} in the original"
                raise Stop("failed", why)


def amount(found: Distance) -> str:
    """A difference as a sentence names it."""
    return f"{found.absolute:.3g}" if found.absolute < inf else "a value that is not finite"


def matters(trial: Trial, name: str) -> bool:
    """Whether an output can show that the samples are kept apart; the labels of maps cannot."""
    if trial.kind == "batch":
        return trial.outputs.get(name) is not None
    return any(name == value.name or name.startswith(f"{value.name}[") for value in trial.original.graph.outputs)


def is_blind(trial: Trial, name: str) -> bool:
    """Whether an output hardly differs between the samples that were compared."""
    return trial.contrasts.get(name, 0.0) <= CLEARLY * trial.widened.get(name, 1.0)


def _dims(want: Array, meter: Meter) -> list[int]:
    """The dims that an output should have, from its samples."""
    if meter.carried is None:
        return list(want.shape[1:])
    if meter.carried.new is not None:
        return list(want.shape)
    axis = meter.carried.axis
    whole = np.moveaxis(want, 0, axis + 1).shape
    return [*whole[:axis], whole[axis] * whole[axis + 1] * whole[axis + 2], *whole[axis + 3 :]]
