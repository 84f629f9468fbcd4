"""prove_batch() and prove_same(): two models are run on terms, and the terms are put beside each other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Duty, Value
from onereshape.terms.feeding import feed, inputs_of
from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.natural import Beside, Print, Trace, divisors, samples_first
from onereshape.terms.parting import parting
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program
from onereshape.terms.proof import OutputTerms, Proof, Verdict
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor

Place = tuple[int, int]
"""The axis that carries N, and how many times the samples follow one another along it."""

_SIZES: Final = (2, 3, 7)
"""Numbers of samples where not all are covered, or the next ones that no dim has."""


class Differs(Exception):  # noqa: N818 - an end
    """The terms are not the same."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(why)


@dataclass(slots=True)
class _Trial:
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


def prove_batch(  # noqa: PLR0913 - what a proof depends on
    original: ir.Model,
    repaired: ir.Model,
    axes: Mapping[str, int],
    *,
    symbol: str = "N",
    size: int = 1,
    places: Mapping[str, Place | None] | None = None,
    sizes: Mapping[str, int] | None = None,
    given: Mapping[str, Array] | None = None,
    seed: int,
    limits: Limits | None = None,
) -> Proof:
    """Whether the repaired model gives, for N samples at `axes`, what the original gives for each of them.

    `size` is the batch of the original, `places` says where outputs carry N (None: wherever they do), `sizes` are those
    of the other named dims, and `given` are numbers for inputs that serve as sizes.
    """
    hashing, bound = Hashing(seed), (limits or Limits()).fitting(original, repaired)
    trial = _Trial(
        Program(original, hashing, bound),
        Program(repaired, hashing, bound),
        hashing,
        axes,
        symbol,
        sizes or {},
        given or {},
        places,
    )
    always, not_always = False, ""
    verdict: Verdict
    try:
        check_interface(original, repaired)
        ones = _base(trial, size)
        not_always = _always(trial, ones)
        always = not not_always
        if not always:
            _at_sizes(trial, size)
        verdict, reason = "proven", ""
    except NotProven as stop:
        verdict, reason = "not proven", stop.why
    except Differs as stop:
        verdict, reason = "differs", stop.why
    except (MemoryError, RecursionError):
        verdict, reason = "not proven", "the term run needs more memory than there is"
    return _proof(trial, verdict, reason, always=always and verdict == "proven", not_always=not_always)


def _proof(trial: _Trial, verdict: Verdict, reason: str, *, always: bool, not_always: str) -> Proof:
    outputs = [
        OutputTerms(name, place[0] if (place := trial.found.get(name)) else None, place[1] if place else 1, elements)
        for name, elements in trial.elements.items()
    ]
    held = [f"{name} = {np.asarray(value).tolist()}" for name, value in trial.given.items()]
    return Proof(
        verdict, reason, tuple(trial.compared), always, not_always, tuple(held), tuple(outputs), trial.hashing.seed
    )


def check_interface(original: ir.Model, other: ir.Model) -> None:
    """Both models take and give the same."""
    for role, mine, theirs in (
        ("inputs", inputs_of(original), inputs_of(other)),
        ("outputs", original.graph.outputs, other.graph.outputs),
    ):
        one, two = ({value.name: value.dtype for value in values} for values in (mine, theirs))
        if one != two:
            raise Differs(f"the {role} are not those of the original")


@dataclass(slots=True)
class _Ones:
    """The repaired model at one sample: its outputs and all it makes, for each label that was asked."""

    outputs: dict[int, dict[str, Words]] = field(default_factory=dict)
    traces: dict[int, Sequence[Print]] = field(default_factory=dict)


def _base(trial: _Trial, size: int) -> _Ones:
    """Both models at the original's size."""
    labels = range(size)
    wanted, _ = trial.original.run(trial.feeds(trial.original, labels))
    ones, trace = _Ones(), Trace(trial.hashing)
    got, _ = trial.repaired.run(trial.feeds(trial.repaired, labels), trace.observe)
    check_duties(trial.original.duties, trial.repaired.duties)
    for name, value in wanted.items():
        mine, theirs = tensor(value, name), tensor(got[name], name)
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            raise Differs(
                f"output {name!r} has dims {list(theirs.shape)} at {trial.symbol} = {size}, and should have "
                f"{list(mine.shape)}"
            )
        if not np.array_equal(mine.hashed(trial.hashing), theirs.hashed(trial.hashing)):
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


def _hashed(trial: _Trial, outputs: Mapping[str, Value]) -> dict[str, Words]:
    return {name: tensor(value, name).hashed(trial.hashing) for name, value in outputs.items()}


def _one(trial: _Trial, ones: _Ones, label: int) -> None:
    """Runs the repaired model on one sample."""
    if label in ones.outputs:
        return
    trace = Trace(trial.hashing)
    found, _ = trial.repaired.run(trial.feeds(trial.repaired, [label]), trace.observe)
    ones.outputs[label], ones.traces[label] = _hashed(trial, found), trace.prints


def _always(trial: _Trial, ones: _Ones) -> str:
    """Why what holds for the original's size may not hold for every N; nothing if it does."""
    try:
        _one(trial, ones, 0)
        samples = next(each for each in count(2) if each not in _dims(ones.traces[0], trial))
        for label in range(samples):
            _one(trial, ones, label)
        beside = Beside(trial.hashing, samples, [ones.traces[label] for label in range(samples)])
        found, doubts = trial.repaired.run(trial.feeds(trial.repaired, range(samples)), beside.observe, samples)
    except NotProven as stop:
        return stop.why
    if beside.parted:
        return f"from {beside.parted} on the samples are not kept apart"
    if doubts:
        return doubts[0]
    for name, words in _hashed(trial, found).items():
        wanted = {label: outputs[name] for label, outputs in ones.outputs.items()}
        if not _matches(trial, name, words, samples, wanted):
            return f"output {name!r} is not made of the samples' own"
        trial.elements[name] = trial.elements.get(name, 0) + words.size
    trial.note(samples)
    return ""


def _dims(prints: Iterable[Print], trial: _Trial) -> set[int]:
    """All dims that the run at one sample has."""
    found = {dim for each in prints for dim in each.shape}
    for value in inputs_of(trial.original.model):
        found |= {dim for dim in value.shape or () if isinstance(dim, int)}
    return found


def _matches(trial: _Trial, name: str, words: Words, samples: int, wanted: Mapping[int, Words]) -> bool:
    """Whether an output at N samples is made of what it is for each of them, where it is said to be."""
    one = wanted[0]
    if len({each.shape for each in wanted.values()}) > 1 or one.ndim != words.ndim:
        return False
    asked = None if trial.places is None else trial.places.get(name)
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
    return all(np.array_equal(split[label], wanted[label].ravel()) for label in range(samples))


def _at_sizes(trial: _Trial, size: int) -> None:
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


def _blame(trial: _Trial, name: str, samples: int) -> str:
    """Where the samples first are not kept apart."""
    where = ""
    try:
        ones = _Ones()
        for label in range(samples):
            _one(trial, ones, label)
        beside = Beside(trial.hashing, samples, [ones.traces[label] for label in range(samples)])
        trial.repaired.run(trial.feeds(trial.repaired, range(samples)), beside.observe, samples)
        where = f": the samples part from what they are alone at {beside.parted}" if beside.parted else ""
    except NotProven:
        pass
    return f"output {name!r} is not made of the samples' own terms at {trial.symbol} = {samples}{where}"


def _samples(trial: _Trial, size: int, most: int) -> tuple[dict[int, dict[str, Words]], list[Duty]]:
    """What the original gives for each sample alone, or among others of its batch, whichever they are; its demands."""
    found: dict[int, dict[str, Words]] = {}
    duties: list[Duty] = []
    if size == 1:
        for label in range(most):
            outputs, _ = trial.original.run(trial.feeds(trial.original, [label]))
            found[label] = _hashed(trial, outputs)
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


def _place_of(trial: _Trial, name: str) -> Place | None:
    if trial.places is not None:
        return trial.places.get(name)
    if name not in trial.found:
        raise NotProven(f"it is not known where output {name!r} carries the samples")
    return trial.found[name]


def _one_shape(shape: tuple[int, ...], place: Place | None, size: int) -> tuple[int, ...]:
    if place is None:
        return shape
    return (*shape[: place[0]], shape[place[0]] // size, *shape[place[0] + 1 :])


def prove_same(  # noqa: PLR0913 - what a proof depends on
    original: ir.Model,
    other: ir.Model,
    settings: Sequence[Mapping[str, int]],
    *,
    given: Mapping[str, Array] | None = None,
    seed: int,
    limits: Limits | None = None,
) -> Proof:
    """Whether two models give the same expressions at each of the sizes of their named dims."""
    hashing, bound = Hashing(seed), (limits or Limits()).fitting(original, other)
    trial = _Trial(
        Program(original, hashing, bound), Program(other, hashing, bound), hashing, {}, "", {}, given or {}, None
    )
    verdict: Verdict
    try:
        check_interface(original, other)
        for sizes in settings:
            trial.sizes = sizes
            _compare(trial, sizes)
        verdict, reason = ("proven", "") if trial.compared else ("not proven", "there are no sizes to compare at")
    except NotProven as stop:
        verdict, reason = "not proven", stop.why
    except Differs as stop:
        verdict, reason = "differs", stop.why
    except (MemoryError, RecursionError):
        verdict, reason = "not proven", "the term run needs more memory than there is"
    return _proof(trial, verdict, reason, always=False, not_always="")


def _compare(trial: _Trial, sizes: Mapping[str, int]) -> None:
    """Both models at the same sizes."""
    here = f" at {', '.join(f'{name} = {size}' for name, size in sizes.items())}" if sizes else ""
    feeds: list[Any] = [trial.feeds(program, []) for program in (trial.original, trial.repaired)]
    wanted, _ = trial.original.run(feeds[0])
    got, _ = trial.repaired.run(feeds[1])
    check_duties(trial.original.duties, trial.repaired.duties)
    for name, value in wanted.items():
        mine, theirs = tensor(value, name), tensor(got[name], name)
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            why = f"output {name!r} has dims {list(theirs.shape)}{here}, and should have {list(mine.shape)}"
            raise Differs(why)
        if not np.array_equal(mine.hashed(trial.hashing), theirs.hashed(trial.hashing)):
            raise Differs(
                f"output {name!r} is another expression{here}{parting(trial.original, trial.repaired, *feeds)}"
            )
        trial.elements[name] = trial.elements.get(name, 0) + mine.size
    trial.compared.append(dict(sizes))
