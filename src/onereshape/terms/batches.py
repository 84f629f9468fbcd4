"""A batch on terms: the repaired model on many samples beside the original on each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final

import numpy as np
import onnx_ir as ir

from onereshape.terms.call import Precondition, Value, tensors_of
from onereshape.terms.every_batch import Beside, Parted, Print, Trace, divisors, samples_first
from onereshape.terms.feeding import feed, inputs_of
from onereshape.terms.first_difference import first_difference
from onereshape.terms.hashing import Array, Hashing, Words
from onereshape.terms.orders import Orders, each_order
from onereshape.terms.program import Observer, Outcome, Program, side_by_side
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor

BatchAxis = tuple[int, int]
"""The axis that carries N, and how many times the samples follow one another along it."""

NEW_AXIS: Final = (0, 0)
"""The place of samples along a new first axis, which the original, of one sample, has not."""
LOST_AXIS: Final = (0, -1)
"""A new first axis that the repaired model has not at one sample either: it removes every axis of size 1."""

"""How the reason ends where a batch is not made of its samples alone."""
_SIZES: Final = (2, 3, 7)
"""The N that are tried where nothing is shown for every N; the next number where a dim has that size."""
_SORTED: Final = (2, 3)
"""The N that are tried where samples are sorted, and every order is gone through."""
_FEW: Final = 4
"""Up to this N a batch is held against all of its samples, above it against three of them."""


class Differs(Exception):  # noqa: N818 - an end
    """Two models make different terms; `why` names the output and the sizes."""

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
    """The sizes of dims that have a name and are not the batch."""
    given: Mapping[str, Array]
    places: Mapping[str, BatchAxis | None] | None
    compared: list[dict[str, int]] = field(default_factory=list)
    elements: dict[str, int] = field(default_factory=dict)
    found: dict[str, BatchAxis | None] = field(default_factory=dict)
    mixed: bool = False
    """Whether a tensor in between is not made of the samples' own."""

    def feeds(self, program: Program, labels: Sequence[int]) -> dict[str, Tensor]:
        return feed(program.model, self.hashing, self.axes, labels, self.sizes, self.given)

    def at(self, samples: int) -> dict[str, int]:
        return {self.symbol: samples, **self.sizes}

    def note(self, samples: int, *, first: bool = False) -> None:
        if (at := self.at(samples)) not in self.compared:
            self.compared.insert(0 if first else len(self.compared), at)


def check_interface(original: ir.Model, other: ir.Model) -> None:
    """Differs, unless the inputs and the outputs of both models have the same names and element types."""
    for role, mine, theirs in (
        ("inputs", inputs_of(original), inputs_of(other)),
        ("outputs", original.graph.outputs, other.graph.outputs),
    ):
        one, two = ({value.name: value.dtype for value in values} for values in (mine, theirs))
        unlike = [name for name in one if name in two and None not in (one[name], two[name]) and one[name] != two[name]]
        if one.keys() != two.keys() or unlike:
            raise Differs(f"the {role} are not those of the original")


@dataclass(slots=True)
class Ones:
    """Runs at one sample: the repaired model's outputs and prints, and the original's outputs, by the label."""

    outputs: dict[int, dict[str, Words]] = field(default_factory=dict)
    traces: dict[int, Sequence[Print]] = field(default_factory=dict)
    first: Outcome | None = None
    """The outcome for label 0."""
    wanted: dict[int, dict[str, Words]] = field(default_factory=dict)
    """The original's outputs for each label that was asked."""
    preconditions: list[Precondition] = field(default_factory=list)
    """The original's, in all of its runs."""
    dims: set[int] = field(default_factory=set)
    """Every size of a dim in the original's run at its own batch size."""


def at_own_size(trial: Trial, ones: Ones, size: int) -> None:
    """Runs both models at the original's batch size; Differs where an output has other dims or terms."""
    labels = range(size)
    wanted, notes = trial.original.run(trial.feeds(trial.original, labels), _noting(ones.dims))
    got, others = _first(trial, ones) if size == 1 else trial.repaired.run(trial.feeds(trial.repaired, labels))
    check_preconditions(notes.preconditions, others.preconditions)
    check_names(wanted, got)
    for name, value in wanted.items():
        mine, theirs = tensor(value, name), tensor(got[name], name)
        words = _with_axis(trial, name, mine.hashed(trial.hashing), (NEW_AXIS,))
        if mine.dtype != theirs.dtype or words.shape != theirs.shape:
            raise Differs(
                f"output {name!r} has dims {list(theirs.shape)} at {trial.symbol} = {size}, and should have "
                f"{list(words.shape)}"
            )
        if not np.array_equal(words, theirs.hashed(trial.hashing)):
            before, after = (trial.feeds(each, labels) for each in (trial.original, trial.repaired))
            where = first_difference(trial.original, trial.repaired, before, after)
            begins = f", from {where} on" if where else ""
            raise Differs(f"output {name!r} is another expression at {trial.symbol} = {size}{begins}")
        trial.elements[name] = trial.elements.get(name, 0) + mine.size
    trial.note(size, first=True)
    if size == 1:
        _note_wanted(trial, ones, 0, (wanted, notes))


def _noting(dims: set[int]) -> Observer:
    """An observer that adds the sizes of all dims of a run to a set."""

    def observe(_node: ir.Node, results: Sequence[Value]) -> Sequence[Value]:
        dims.update(dim for each in tensors_of(tuple(results)) for dim in each.shape)
        return results

    return observe


def _note_wanted(trial: Trial, ones: Ones, label: int, outcome: Outcome) -> None:
    """Keeps the words of the original's outputs for one sample, and its preconditions."""
    outputs, notes = outcome
    ones.wanted[label] = {name: _with_axis(trial, name, words) for name, words in _hashed(trial, outputs).items()}
    ones.preconditions += notes.preconditions


def check_preconditions(before: Iterable[Precondition], after: Iterable[Precondition]) -> None:
    """The repaired model answers wherever the original does: its preconditions are the original's."""
    known = np.concatenate([words for _, words in before] or [np.empty(0, np.uint64)])
    for node, words in after:
        # By sorting: the other way NumPy 2.0 takes differences of words for int64.
        if not np.all(np.isin(words, known, kind="sort")):
            raise NotProven(f"{node}: it takes only indices that are there, where the original takes others too")


def check_names(wanted: Iterable[str], got: Iterable[str]) -> None:
    """Differs, unless both models give outputs of the same names, which number the tensors of a sequence."""
    if odd := {*wanted} ^ {*got}:
        raise Differs(f"{min(odd)!r} is given by one model only: a sequence has other tensors")


def tensor(value: Value, name: str) -> Tensor:
    """An output as a tensor; NotProven for a sequence, and for nothing at all."""
    if not isinstance(value, Tensor):
        raise NotProven(f"output {name!r} is no tensor")
    return value


def _with_axis(trial: Trial, name: str, words: Words, new: Sequence[BatchAxis] = (NEW_AXIS, LOST_AXIS)) -> Words:
    """The words of the original's output for one sample; a first axis of 1 is added where a repaired model has one."""
    return words[None] if trial.places is not None and trial.places.get(name) in new else words


def _hashed(trial: Trial, outputs: Mapping[str, Value]) -> dict[str, Words]:
    return {name: tensor(value, name).hashed(trial.hashing) for name, value in outputs.items()}


def _first(trial: Trial, ones: Ones) -> Outcome:
    """Runs the repaired model on sample 0, if it was not run yet."""
    if ones.first is None:
        trace = Trace(trial.hashing)
        ones.first = trial.repaired.run(trial.feeds(trial.repaired, [0]), trace.observe)
        ones.outputs[0], ones.traces[0] = _hashed(trial, ones.first[0]), trace.prints
    return ones.first


def _beside_ones(trial: Trial, ones: Ones, samples: int) -> Outcome:
    """Runs the repaired model on a batch: its outcome; Parted where its samples mix.

    Samples that were not run alone yet are run beside it, so that nothing is done behind the node where they part.
    """
    labels = _looked_at(samples)
    new = {label: Trace(trial.hashing) for label in labels if label not in ones.outputs}
    beside = Beside(
        trial.hashing, samples, {each: new[each].prints if each in new else ones.traces[each] for each in labels}
    )
    alone = [trial.repaired.steps(trial.feeds(trial.repaired, [label]), new[label].observe) for label in new]
    batch = trial.repaired.steps(trial.feeds(trial.repaired, range(samples)), beside.observe, samples)
    *singles, whole = side_by_side(*alone, batch)
    for (label, trace), (found, _) in zip(new.items(), singles, strict=True):
        ones.outputs[label], ones.traces[label] = _hashed(trial, found), trace.prints
    return whole


def why_not_for_all(trial: Trial, ones: Ones) -> str:
    """Why what holds for the original's size may not hold for every N; nothing if it does."""
    try:
        _first(trial, ones)
        taken = {dim for each in ones.traces[0] for dim in each.shape} | _declared(trial)
        samples = next(each for each in count(2) if each not in taken)
        found, notes = _beside_ones(trial, ones, samples)
    except NotProven as stop:
        return stop.why
    except Parted as stop:
        trial.mixed = True
        return f"from {stop.node} on the samples are not kept apart"
    if notes.not_for_all:
        return notes.not_for_all[0]
    if found.keys() != ones.outputs[0].keys():
        return "a sequence has other tensors than for one sample"
    for name, words in _hashed(trial, found).items():
        wanted = {label: ones.outputs[label][name] for label in _looked_at(samples)}
        if not _matches(trial, name, words, samples, wanted):
            return f"output {name!r} is not made of the samples' own"
        trial.elements[name] = trial.elements.get(name, 0) + words.size
    trial.note(samples)
    return ""


def _looked_at(samples: int) -> list[int]:
    """The samples that a batch is held against, of many the first two and the last: `3 -> 0, 1, 2`, `7 -> 0, 1, 6`.

    What tells one of the others reads its number or a threshold, which its rule notes.
    """
    return [*range(samples)] if samples <= _FEW else [0, 1, samples - 1]


def _declared(trial: Trial) -> set[int]:
    """The sizes of all fixed dims of the original's inputs."""
    shapes = [value.shape for value in inputs_of(trial.original.model)]
    return {dim for shape in shapes for dim in shape or () if isinstance(dim, int)}


def _matches(trial: Trial, name: str, words: Words, samples: int, wanted: Mapping[int, Words]) -> bool:
    """Whether an output at N samples is made of its words for each sample, along the axis that `places` names."""
    one = wanted[0]
    if len({each.shape for each in wanted.values()}) > 1 or one.ndim != words.ndim:
        return False
    asked = None if trial.places is None else trial.places.get(name)
    asked = (0, 1) if asked in (NEW_AXIS, LOST_AXIS) else asked
    if trial.places is not None and asked is None:
        options: list[BatchAxis | None] = [None]
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


def _is_made(words: Words, samples: int, wanted: Mapping[int, Words], place: BatchAxis | None) -> bool:
    one = wanted[0]
    if place is None:
        return words.shape == one.shape and all(np.array_equal(words, each) for each in wanted.values())
    axis, outer = place
    grown = (*one.shape[:axis], one.shape[axis] * samples, *one.shape[axis + 1 :])
    if words.shape != grown or one.shape[axis] % outer:
        return False
    split = samples_first(words, axis, outer, samples)
    return all(np.array_equal(split[label], each.ravel()) for label, each in wanted.items())


def at_some_sizes(trial: Trial, ones: Ones, size: int) -> None:
    """Runs the repaired model at several N; Differs where an output is not made of the original's for each sample."""
    taken = ones.dims | _declared(trial)
    sizes: list[int] = [1] if size > 1 or not trial.compared else []
    for each in _SIZES:
        sizes.append(next(number for number in count(each) if number not in taken and number not in sizes))
    if size > 1:
        _pieces(trial, ones, size, max(sizes))
    for samples in sizes:
        for label in range(samples):
            _wanted(trial, ones, label)
        got, notes = trial.repaired.run(trial.feeds(trial.repaired, range(samples)))
        check_preconditions(ones.preconditions, notes.preconditions)
        check_names(ones.wanted[0], got)
        other = _check_made(trial, ones, got, samples)
        if other is not None:
            if size == 1 and _sorts(trial.repaired.model) and _in_any_order(trial, ones):
                return
            raise Differs(_blame(trial, ones, other, samples))
        trial.note(samples)


def _check_made(trial: Trial, ones: Ones, got: Mapping[str, Value], samples: int) -> str | None:
    """The name of an output that is not made of the original's for each sample; None where all outputs are."""
    for name, value in got.items():
        words = tensor(value, name).hashed(trial.hashing)
        rows = {label: ones.wanted[label][name] for label in range(samples)}
        if not _matches(trial, name, words, samples, rows):
            return name
        trial.elements[name] = trial.elements.get(name, 0) + words.size
    return None


def _sorts(model: ir.Model) -> bool:
    return any(node.op_type == "TopK" for node in model.graph.all_nodes())


def _in_any_order(trial: Trial, ones: Ones) -> bool:
    """Whether the samples are kept apart whatever order sorts of them find: by length, say, and back again."""
    for samples in _SORTED:
        for label in range(samples):
            _wanted(trial, ones, label)
        feeds = trial.feeds(trial.repaired, range(samples))

        def run(orders: Orders, feeds: Mapping[str, Tensor] = feeds) -> Outcome:
            return trial.repaired.run(feeds, orders=orders)

        try:
            for got, notes in each_order(samples, run):
                check_preconditions(ones.preconditions, notes.preconditions)
                if _check_made(trial, ones, got, samples) is not None:
                    return False
        except NotProven:
            return False
    trial.compared[:] = [trial.at(1)]
    for samples in _SORTED:
        trial.note(samples)
    return True


def _blame(trial: Trial, ones: Ones, name: str, samples: int) -> str:
    """The sentence of a Differs: the output, the N, and the first node behind which samples are not kept apart."""
    where = ""
    try:
        _beside_ones(trial, ones, samples)
    except Parted as stop:
        where = f": the samples part from what they are alone at {stop.node}"
    except NotProven:
        pass
    return f"output {name!r} is not made of the samples' own terms at {trial.symbol} = {samples}{where}"


def _wanted(trial: Trial, ones: Ones, label: int) -> None:
    """Runs the original on one sample, if it was not run yet."""
    if label not in ones.wanted:
        _note_wanted(trial, ones, label, trial.original.run(trial.feeds(trial.original, [label])))


def _pieces(trial: Trial, ones: Ones, size: int, most: int) -> None:
    """Runs the original, of batch `size`, on several batches; Differs if a sample's part depends on its neighbours."""
    pieces = [[*range(start, start + size)] for start in range(0, most, size)]
    pieces.append(
        [(each * 2 + 1) % (size + most) if place % 2 else each for place, each in enumerate(reversed(range(size)))]
    )
    for labels in pieces:
        outputs, notes = trial.original.run(trial.feeds(trial.original, labels))
        ones.preconditions += notes.preconditions
        for name, words in _hashed(trial, outputs).items():
            place = _place_of(trial, name)
            rows = [words] * size if place is None else list(samples_first(words, *place, size))
            for label, row in zip(labels, rows, strict=True):
                dims = _one_shape(words.shape, place, size)
                before = ones.wanted.setdefault(label, {}).setdefault(name, row.reshape(dims))
                if not np.array_equal(before.ravel(), row.ravel()):
                    raise Differs(f"output {name!r} of the original is not the same for a sample among other samples")


def _place_of(trial: Trial, name: str) -> BatchAxis | None:
    if trial.places is not None:
        return trial.places.get(name)
    if name not in trial.found:
        raise NotProven(f"it is not known where output {name!r} carries the samples")
    return trial.found[name]


def _one_shape(shape: tuple[int, ...], place: BatchAxis | None, size: int) -> tuple[int, ...]:
    if place is None:
        return shape
    return (*shape[: place[0]], shape[place[0]] // size, *shape[place[0] + 1 :])
