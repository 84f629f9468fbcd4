"""A batch on terms: the repaired model on many samples beside the original on each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Duty, Value
from onereshape.terms.feeding import feed, inputs_of
from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.natural import Beside, Print, Trace, divisors, samples_first
from onereshape.terms.parting import parting
from onereshape.terms.program import Program
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor

Place = tuple[int, int]
"""The axis that carries N, and how many times the samples follow one another along it."""

NEW_AXIS: Final = (0, 0)
"""The place of samples along a new first axis, which the original, of one sample, has not."""

_SIZES: Final = (2, 3, 7)
"""Numbers of samples where not all are covered, or the next ones that no dim has."""


_FEW: Final = 4
"""Samples that are all looked at."""


class Differs(Exception):  # noqa: N818 - an end
    """The terms are not the same."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


@dataclass(slots=True)
class Trial:
    """Two models under comparison, and what was found."""

    original: Program
    repaired: Program
    hashing: Hashing
    axes: Mapping[str, int]
    symbol: str
    sizes: Mapping[str, int]
    """Of dims that have a name and are not the batch."""
    given: Mapping[str, Array]
    places: Mapping[str, Place | None] | None
    compared: list[dict[str, int]] = field(default_factory=list)
    elements: dict[str, int] = field(default_factory=dict)
    found: dict[str, Place | None] = field(default_factory=dict)

    def feeds(self, program: Program, labels: Sequence[int]) -> dict[str, Tensor]:
        return feed(program.model, self.hashing, self.axes, labels, self.sizes, self.given)

    def at(self, samples: int) -> dict[str, int]:
        return {self.symbol: samples, **self.sizes}

    def note(self, samples: int) -> None:
        if (at := self.at(samples)) not in self.compared:
            self.compared.append(at)


def check_interface(original: ir.Model, other: ir.Model) -> None:
    """Both models take and give the same."""
    for role, mine, theirs in (
        ("inputs", inputs_of(original), inputs_of(other)),
        ("outputs", original.graph.outputs, other.graph.outputs),
    ):
        one, two = ({value.name: value.dtype for value in values} for values in (mine, theirs))
        unlike = [name for name in one if name in two and None not in (one[name], two[name]) and one[name] != two[name]]
        if one.keys() != two.keys() or unlike:
            raise Differs(f"the {role} are not those of the original")


@dataclass(slots=True)
class _Ones:
    """The repaired model at one sample: its outputs and all it makes, for each label that was asked."""

    outputs: dict[int, dict[str, Words]] = field(default_factory=dict)
    traces: dict[int, Sequence[Print]] = field(default_factory=dict)


def at_own_size(trial: Trial, size: int) -> _Ones:
    """Both models at the original's size."""
    labels = range(size)
    wanted, _ = trial.original.run(trial.feeds(trial.original, labels))
    ones, trace = _Ones(), Trace(trial.hashing)
    got, _ = trial.repaired.run(trial.feeds(trial.repaired, labels), trace.observe)
    check_duties(trial.original.duties, trial.repaired.duties)
    for name, value in wanted.items():
        mine, theirs = tensor(value, name), tensor(got[name], name)
        words = _with_axis(trial, name, mine.hashed(trial.hashing))
        if mine.dtype != theirs.dtype or words.shape != theirs.shape:
            raise Differs(
                f"output {name!r} has dims {list(theirs.shape)} at {trial.symbol} = {size}, and should have "
                f"{list(words.shape)}"
            )
        if not np.array_equal(words, theirs.hashed(trial.hashing)):
            where = parting(
                trial.original,
                trial.repaired,
                *(trial.feeds(each, labels) for each in (trial.original, trial.repaired)),
            )
            raise Differs(f"output {name!r} is another expression at {trial.symbol} = {size}{where}")
        trial.elements[name] = mine.size
    trial.note(size)
    if size == 1:
        ones.outputs[0], ones.traces[0] = _hashed(trial, got), trace.prints
    return ones


def check_duties(before: Iterable[Duty], after: Iterable[Duty]) -> None:
    """The repaired model answers wherever the original does: it demands nothing of data that the original does not."""
    known = np.concatenate([words for _, words in before] or [np.empty(0, np.uint64)])
    for node, words in after:
        if not np.all(np.isin(words, known)):
            raise NotProven(f"{node}: it takes only indices that are there, where the original takes others too")


def tensor(value: Value, name: str) -> Tensor:
    """An output, which is a tensor."""
    if not isinstance(value, Tensor):
        raise NotProven(f"output {name!r} is no tensor")
    return value


def _with_axis(trial: Trial, name: str, words: Words) -> Words:
    """What the original gives for one sample, with the axis that the repaired model has and it has not."""
    return words[None] if trial.places is not None and trial.places.get(name) == NEW_AXIS else words


def _hashed(trial: Trial, outputs: Mapping[str, Value]) -> dict[str, Words]:
    return {name: tensor(value, name).hashed(trial.hashing) for name, value in outputs.items()}


def _one(trial: Trial, ones: _Ones, label: int) -> None:
    """Runs the repaired model on one sample."""
    if label in ones.outputs:
        return
    trace = Trace(trial.hashing)
    found, _ = trial.repaired.run(trial.feeds(trial.repaired, [label]), trace.observe)
    ones.outputs[label], ones.traces[label] = _hashed(trial, found), trace.prints


def _beside_ones(trial: Trial, ones: _Ones, samples: int) -> tuple[str, dict[str, Value], list[str]]:
    """Runs the repaired model on a batch: where it parts from its samples alone, what it gives, and its doubts."""
    for label in _looked_at(samples):
        _one(trial, ones, label)
    beside = Beside(trial.hashing, samples, {label: ones.traces[label] for label in _looked_at(samples)})
    found, doubts = trial.repaired.run(trial.feeds(trial.repaired, range(samples)), beside.observe, samples)
    return beside.parted, found, doubts


def not_for_all(trial: Trial, ones: _Ones) -> str:
    """Why what holds for the original's size may not hold for every N; nothing if it does."""
    try:
        _one(trial, ones, 0)
        samples = next(each for each in count(2) if each not in _dims(ones.traces[0], trial))
        parted, found, doubts = _beside_ones(trial, ones, samples)
    except NotProven as stop:
        return stop.why
    if parted:
        return f"from {parted} on the samples are not kept apart"
    if doubts:
        return doubts[0]
    for name, words in _hashed(trial, found).items():
        wanted = {label: ones.outputs[label][name] for label in _looked_at(samples)}
        if not _matches(trial, name, words, samples, wanted):
            return f"output {name!r} is not made of the samples' own"
        trial.elements[name] = trial.elements.get(name, 0) + words.size
    trial.note(samples)
    return ""


def _looked_at(samples: int) -> list[int]:
    """The samples that a batch is held against: of many the first two and the last.

    What tells one of the others reads its number or a threshold, which are doubted.
    """
    return [*range(samples)] if samples <= _FEW else [0, 1, samples - 1]


def _dims(prints: Iterable[Print], trial: Trial) -> set[int]:
    """All dims that the run at one sample has."""
    found = {dim for each in prints for dim in each.shape}
    for value in inputs_of(trial.original.model):
        found |= {dim for dim in value.shape or () if isinstance(dim, int)}
    return found


def _matches(trial: Trial, name: str, words: Words, samples: int, wanted: Mapping[int, Words]) -> bool:
    """Whether an output at N samples is made of what it is for each of them, where it is said to be."""
    one = wanted[0]
    if len({each.shape for each in wanted.values()}) > 1 or one.ndim != words.ndim:
        return False
    asked = None if trial.places is None else trial.places.get(name)
    asked = (0, 1) if asked == NEW_AXIS else asked
    if trial.places is not None and asked is None:
        options: list[Place | None] = [None]
    elif asked is not None:
        options = [asked]
    elif one.shape == words.shape:
        options = [None]
    else:
        grown = [axis for axis in range(one.ndim) if words.shape[axis] != one.shape[axis]]
        options = [(grown[0], outer) for outer in divisors(one.shape[grown[0]])]
    for place in options:
        if _is_made(words, samples, wanted, place):
            trial.found[name] = place
            return True
    return False


def _is_made(words: Words, samples: int, wanted: Mapping[int, Words], place: Place | None) -> bool:
    one = wanted[0]
    if place is None:
        return words.shape == one.shape and all(np.array_equal(words, each) for each in wanted.values())
    axis, outer = place
    grown = (*one.shape[:axis], one.shape[axis] * samples, *one.shape[axis + 1 :])
    if words.shape != grown or one.shape[axis] % outer:
        return False
    split = samples_first(words, axis, outer, samples)
    return all(np.array_equal(split[label], each.ravel()) for label, each in wanted.items())


def at_some_sizes(trial: Trial, size: int) -> None:
    """The repaired model at several N, beside the original on each sample."""
    trace = Trace(trial.hashing)
    trial.original.run(trial.feeds(trial.original, range(size)), trace.observe)
    taken = _dims(trace.prints, trial)
    sizes: list[int] = [1] if size > 1 or not trial.compared else []
    for each in _SIZES:
        sizes.append(next(number for number in count(each) if number not in taken and number not in sizes))
    wanted, duties = _samples(trial, size, max(sizes))
    for samples in sizes:
        got, _ = trial.repaired.run(trial.feeds(trial.repaired, range(samples)))
        check_duties(duties, trial.repaired.duties)
        for name, value in got.items():
            words = tensor(value, name).hashed(trial.hashing)
            rows = {label: wanted[label][name] for label in range(samples)}
            if not _matches(trial, name, words, samples, rows):
                raise Differs(_blame(trial, name, samples))
            trial.elements[name] = trial.elements.get(name, 0) + words.size
        trial.note(samples)


def _blame(trial: Trial, name: str, samples: int) -> str:
    """Where the samples first are not kept apart."""
    where = ""
    try:
        parted, *_ = _beside_ones(trial, _Ones(), samples)
        where = f": the samples part from what they are alone at {parted}" if parted else ""
    except NotProven:
        pass
    return f"output {name!r} is not made of the samples' own terms at {trial.symbol} = {samples}{where}"


def _samples(trial: Trial, size: int, most: int) -> tuple[dict[int, dict[str, Words]], list[Duty]]:
    """What the original gives for each sample alone, or among others of its batch, whichever they are; its demands."""
    found: dict[int, dict[str, Words]] = {}
    duties: list[Duty] = []
    if size == 1:
        for label in range(most):
            outputs, _ = trial.original.run(trial.feeds(trial.original, [label]))
            found[label] = {name: _with_axis(trial, name, words) for name, words in _hashed(trial, outputs).items()}
            duties += trial.original.duties
        return found, duties
    pieces = [[*range(start, start + size)] for start in range(0, most, size)]
    pieces.append(
        [(each * 2 + 1) % (size + most) if place % 2 else each for place, each in enumerate(reversed(range(size)))]
    )
    for labels in pieces:
        outputs, _ = trial.original.run(trial.feeds(trial.original, labels))
        duties += trial.original.duties
        for name, words in _hashed(trial, outputs).items():
            place = _place_of(trial, name)
            rows = [words] * size if place is None else list(samples_first(words, *place, size))
            for label, row in zip(labels, rows, strict=True):
                dims = _one_shape(words.shape, place, size)
                before = found.setdefault(label, {}).setdefault(name, row.reshape(dims))
                if not np.array_equal(before.ravel(), row.ravel()):
                    raise Differs(f"output {name!r} of the original is not the same for a sample among other samples")
    return found, duties


def _place_of(trial: Trial, name: str) -> Place | None:
    if trial.places is not None:
        return trial.places.get(name)
    if name not in trial.found:
        raise NotProven(f"it is not known where output {name!r} carries the samples")
    return trial.found[name]


def _one_shape(shape: tuple[int, ...], place: Place | None, size: int) -> tuple[int, ...]:
    if place is None:
        return shape
    return (*shape[: place[0]], shape[place[0]] // size, *shape[place[0] + 1 :])
