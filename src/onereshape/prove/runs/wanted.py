"""Wanted: one run of the repaired model, and the answers that are wanted of it, whoever gives them.

The original gives them to the same values, or sample by sample; another export gives them at sizes of its own.  What is
wanted has its samples first; an output without a batch is one sample, in each of the rows that were asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from onereshape.prove.counterexample import Counterexample, Role
from onereshape.prove.engines.engine import Array
from onereshape.prove.evidence import Compared, Contrast, Differs, Measured, Noise, Rounding, Sizes
from onereshape.prove.runs.compare import Distance, Meter, comparable, samples
from onereshape.prove.runs.examples import Comparing, FedRun, SampleTwice
from onereshape.prove.runs.reference import LITTLE, Reference, noise
from onereshape.prove.runs.steadiness import SLIGHTLY
from onereshape.prove.runs.trial import Answers, Feeds, Stop, Trial, untestable

_NOISE = 10
"""How many times as far as the original is from itself the repaired model may be from it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is fed to the repaired model, and what its answers are put beside."""

    sizes: Sizes
    feeds: Mapping[str, Array]
    answers: Mapping[str, Array]
    """What is wanted, samples first."""
    meters: Mapping[str, Meter]
    origins: Sequence[tuple[FedRun, int]]
    """For each sample the run that gave its answer, and its number there."""
    who: Role = "original"

    def beside(self, got: Answers) -> Comparing:
        """These answers beside others, sample by sample."""
        whole = FedRun(self.feeds, got, len(self.origins))
        pairs = [SampleTwice(run, whole, was, now) for now, (run, was) in enumerate(self.origins)]
        return Comparing(pairs, self.sizes, (self.who, "repaired"))


def whole(asked: FedRun, meters: Mapping[str, Meter], sizes: Sizes, who: Role = "original") -> Wanted:
    """What another model answered to the same values, as one sample."""
    answers = {name: array[None] for name, array in asked.answers.items()}
    return Wanted(sizes, asked.feeds, answers, meters, [(asked, 0)], who)


def together(pieces: Sequence[FedRun], meters: Mapping[str, Meter], axes: Mapping[str, int], sizes: Sizes) -> Wanted:
    """What the original answered to pieces, for all of them as one batch."""
    answers = {name: rows(meter, pieces) for name, meter in meters.items()}
    origins = [(piece, place) for piece in pieces for place in range(piece.samples)]
    return Wanted(sizes, joined([piece.feeds for piece in pieces], axes), answers, meters, origins)


def alone(piece: FedRun, place: int, meters: Mapping[str, Meter], axes: Mapping[str, int], sizes: Sizes) -> Wanted:
    """What the original answered to a piece, for one of its samples alone."""
    feeds = dict(piece.feeds) | {name: piece.feeds[name].take([place], axis) for name, axis in axes.items()}
    answers = {
        name: array[place : place + 1] if meters[name].carried else array
        for name, array in ((name, rows(meter, [piece])) for name, meter in meters.items())
    }
    return Wanted(sizes, feeds, answers, meters, [(piece, place)])


def rows(meter: Meter, pieces: Iterable[FedRun]) -> Array:
    """The answers of an output to pieces, samples first."""
    found = (samples(piece.answers[meter.name], meter.carried, piece.samples) for piece in pieces)
    return np.concatenate([array for array in found if array is not None])


def joined(pieces: Sequence[Mapping[str, Array]], axes: Mapping[str, int]) -> Feeds:
    """The pieces as one batch, joined at each input's batch axis: three `[2, 4] -> [6, 4]`."""
    together = {name: np.concatenate([piece[name] for piece in pieces], axis) for name, axis in axes.items()}
    return dict(pieces[0]) | together


def compare(trial: Trial, wanted: Wanted, got: Answers) -> dict[str, Distance]:
    """Puts answers beside what is wanted, and says how far they are apart; a Stop where they are of another kind."""
    comparing, measured = wanted.beside(got), []
    found: dict[str, Distance] = {}
    for name, meter in wanted.meters.items():
        mine, want = got[name], wanted.answers[name]
        if mine.dtype != want.dtype:
            told: dict[str, object] = {"output": name, "got": str(mine.dtype), "wanted": str(want.dtype)}
            raise Stop(Differs("type", told, comparing.unlike(name, "type")))
        split = samples(mine, meter.carried, len(want))
        parts = [want] if meter.carried else [want[place : place + 1] for place in range(len(want))]
        if split is None or split.shape != parts[0].shape:
            values = str(_dims(want, meter)), str([*mine.shape])
            told = {"output": name, "got": values[1], "at": dict(wanted.sizes), "wanted": values[0]}
            raise Stop(Differs("dims", told, comparing.unlike(name, "dims", values)))
        check_declared(trial, name, mine, wanted.sizes, wanted.feeds)
        distance = Distance()
        for part in parts:
            distance = distance.worse(meter.distance(split, part))
        found[name] = distance
        if meter.carried:
            contrast(trial, meter, want)
        measured.append(
            Measured(name, distance.absolute, meter.largest, comparable(want), want.size, trial.counts(name))
        )
    trial.evidence.append(Compared(dict(wanted.sizes), tuple(measured)))
    return found


def settle(  # noqa: PLR0913, PLR0917 - what is far apart, and what may explain it
    trial: Trial,
    wanted: Wanted,
    got: Answers,
    distances: Mapping[str, Distance],
    references: Sequence[Reference],
    wavers: Callable[[str], bool] = lambda _: False,
) -> None:
    """Stops where an output is too far from what is wanted, and farther than the original is from itself.

    `wavers` says whether rounding decides what an output is, wherever it was too far: then the terms decide.
    """
    doubts, widened, far = trial.doubts, trial.widened, []
    for name, found in distances.items():
        known = doubts.get(name)
        if found.units > widened.get(name, 1.0) and not (known and (known.far or _is_little(found, wanted, name))):
            far.append(name)
    own = noise(trial, references) if far else {}
    for name in far:
        found, itself = distances[name], own.get(name, Distance())
        if itself.most > 1:
            raise untestable("noisy", output=name, difference=itself.absolute)
        factor = max(1.0, _NOISE * itself.units)
        if factor > widened.get(name, 1.0):
            trial.evidence.append(Noise(name, factor))
        if found.most > 1 or found.units > max(factor, widened.get(name, 1.0)):
            told: dict[str, object] = {"output": name, "difference": found.absolute, "at": dict(wanted.sizes)}
            told["scale"] = wanted.meters[name].largest
            little = _is_little(found, wanted, name)
            waver = trial.kind == "batch" and not little and wavers(name)
            if waver:
                told["moved"] = SLIGHTLY
            example = wanted.beside(got).element(wanted.meters[name])
            code = value_code(wanted.answers[name])
            if trial.kind != "batch" or not (little or waver):
                raise Stop(Differs(code, told, example))
            trial.evidence.append(Rounding(code, told, example, name, far=waver))


def value_code(answers: Array) -> str:
    """The sentence for answers that are others: texts are not apart by a number."""
    return "texts" if answers.dtype.kind == "O" else "value"


def _is_little(found: Distance, wanted: Wanted, name: str) -> bool:
    """Whether an output differs by what roundings may do; integers are equal or not."""
    return 0 < found.absolute <= LITTLE * wanted.meters[name].largest


def check_declared(trial: Trial, name: str, array: Array, at: Sizes, feeds: Answers) -> None:
    """The dims that the repaired model declares for an output are those that it has, if the original's were true."""
    declared = trial.declared.get(name)
    carried, was = trial.outputs.get(name), () if trial.first is None else trial.first.answers[name].shape
    shape = was if carried is None or carried.new is None else (1, *was)
    for axis, (dim, size) in enumerate(zip(declared or (), array.shape, strict=False)):
        if isinstance(dim, int) and dim != size and shape[axis] == dim:
            told = {"output": name, "wanted": dim, "axis": axis, "got": size, "at": dict(at)}
            raise Stop(Differs("declared", told, said_dims("declared", name, declared or (), array, at, feeds)))


def said_dims(  # noqa: PLR0913, PLR0917 - what an example has
    who: Role, name: str, dims: Iterable[object], array: Array, at: Sizes, feeds: Answers
) -> Counterexample:
    """The example of an output that has not the dims that were said of it."""
    values = f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]", str([*array.shape])
    return Counterexample(name, "dims", (who, "repaired"), values, None, dict(at), None, feeds)


def contrast(trial: Trial, meter: Meter, group: Array) -> None:
    """Notes the largest difference between the samples of `group`, an output's answers, in tolerances."""
    trial.evidence.append(Contrast(meter.name, meter.contrast(group)))


def _dims(want: Array, meter: Meter) -> list[int]:
    """The dims that an output should have, from its samples."""
    if meter.carried is None:
        return list(want.shape[1:])
    if meter.carried.new is not None:
        return list(want.shape)
    axis = meter.carried.axis
    found = np.moveaxis(want, 0, axis + 1).shape
    return [*found[:axis], found[axis] * found[axis + 1] * found[axis + 2], *found[axis + 3 :]]
