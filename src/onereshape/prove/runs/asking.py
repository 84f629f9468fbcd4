"""Asking the original: in which manner and settings it answers anything, and what it answers there.

All of it is asked before the repaired model is opened: two models in memory at once are one too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Final, Protocol

import numpy as np

from onereshape.ground.errors import FixError
from onereshape.prove.engines.engine import Refusal, Session
from onereshape.prove.evidence import CLEARLY, RefusedSize, Sizes
from onereshape.prove.runs.compare import comparable, samples
from onereshape.prove.runs.extremes import Asker, Extreme
from onereshape.prove.runs.reference import Reference, answered, check_repeats, meters_of, opened, whole_meters
from onereshape.prove.runs.settings import Chooser, Setting, held
from onereshape.prove.runs.trial import Answers, Feeds, Trial, untestable
from onereshape.prove.values.draw import Manner, dims_of
from onereshape.prove.values.input_roles import fed


class Drawer(Protocol):
    """Draws `number` feeds for a model; a generator with the same seed yields the same feeds."""

    def __call__(self, rng: np.random.Generator, manner: Manner, setting: Setting, number: int) -> list[Feeds]: ...


More = Callable[[Sequence[Feeds]], list[Feeds]]
"""Makes further values from the values that were drawn first."""

_PROBES: Final = 2
"""Runs that show whether values drawn in some manner are of any use."""
_MANNERS: Final = (Manner(), Manner(scale=0.125), Manner(cautious=True))
_LARGE: Final = (Manner(scale=30.0), Manner(scale=255.0))
"""Manners for gates that usual values do not open, and for pictures whose levels are bytes."""
_DEFAULTS: Final = (4, 16, 64, 224, 1024, 16000)
"""Sizes for dims that have only a name; the next is tried where the model refuses to run."""
_MANY: Final = 1 << 20
"""Elements of outputs that show nothing, with which no larger sizes are tried."""
_MOST_REFUSALS: Final = 256
"""After which no other values are looked for: a model whose inputs must fit each other may refuse all that is drawn."""
_MOST_ELEMENTS: Final = 1 << 24
"""The most elements of all inputs together, where sizes are tried that may not suit."""


@dataclass(frozen=True, slots=True)
class OriginalQuestion:
    """How the original is asked."""

    make: Drawer
    counts: Sequence[int]
    """The number of values in each setting."""
    taken: Sequence[int] = ()
    """A size in each setting that no other dim should have."""
    more: More = lambda _: []
    """Values beside those of the first setting."""
    mixed: More = lambda _: []
    """Values made of those beyond the usual, to be asked in their place."""


@dataclass(frozen=True, slots=True)
class Opening:
    """The manner and setting in which the original is asked first, and its answers."""

    manner: Manner
    setting: Setting
    answers: Sequence[Answers]


@dataclass(slots=True)
class OriginalAnswers:
    """What the original answered, open to be asked for more until it is closed."""

    session: Session | None
    manner: Manner
    references: Sequence[Reference]
    """For each setting."""

    @property
    def first(self) -> Reference:
        """The first setting."""
        return self.references[0]

    def close(self) -> None:
        """Lets the engine have its memory back."""
        self.session = None


def consult(trial: Trial, chooser: Chooser, question: OriginalQuestion) -> OriginalAnswers:
    """The original's answers, on values drawn in the first manner in which they show anything."""
    session = opened(trial.original, trial.base_dir, "original model")
    for name, kind in session.outputs.items():
        if not kind.startswith(("tensor(", "seq(", "optional(")):
            raise untestable("output-kind", output=name, kind=kind)
    opening = opening_of(trial, session, chooser, question.make)
    if chooser.varies:
        references = _in_turn(trial, session, chooser, question, opening)
        trial.evidence += held([each.setting for each in references])
    else:
        references = _at_once(trial, session, question, opening)
    trial.first = references[0].pieces(trial.size)[0]
    return OriginalAnswers(session, opening.manner, references)


def unusual(
    trial: Trial, chooser: Chooser, question: OriginalQuestion, asked: OriginalAnswers
) -> Sequence[Sequence[Extreme]]:
    """The original on values beyond the usual: in inputs that each sample has for itself, and in those that all share.

    It must give the same answer twice, or nothing can be said of another's.
    """
    session = asked.session or opened(trial.original, trial.base_dir, "original model")
    check_repeats(trial, asked.first, answered(session, asked.first.feeds[0], "original model"))

    def extreme(manner: Manner) -> Feeds:
        return question.make(np.random.default_rng([trial.asked.seed, 99]), manner, asked.first.setting, 1)[0]

    asker = Asker(trial, session, chooser, asked.manner, extreme, asked.first)
    return asker.extremes(question.mixed), asker.shared()


def _at_once(trial: Trial, session: Session, question: OriginalQuestion, opening: Opening) -> list[Reference]:
    """The references of a model with a single setting, one for each count, which share answers and meters."""
    setting, most = opening.setting, max(_PROBES, *question.counts)
    drawn = question.make(np.random.default_rng(trial.asked.seed), opening.manner, setting, most)
    more = question.more(drawn)
    answers = [*opening.answers]
    for number, feeds in enumerate([*drawn, *more]):
        trial.step(f"original, {number + 1} of {len(drawn) + len(more)}")
        if number >= len(answers):
            answers.append(answered(session, feeds, "original model"))
    meters = meters_of(trial, answers)
    few = max(_PROBES, question.counts[0])
    references = [Reference(setting, [*drawn[:few], *more], [*answers[:few], *answers[most:]], meters)]
    for turn, count in [*enumerate(question.counts)][1:]:
        places = slice(first := min(turn, most - count), first + count)  # another sample is the first in each
        references.append(Reference(setting, drawn[places], answers[places], meters))
    return references


def _in_turn(
    trial: Trial, session: Session, chooser: Chooser, question: OriginalQuestion, opening: Opening
) -> list[Reference]:
    """The references of a model with several settings, one for each count."""
    manner, setting, known = opening.manner, opening.setting, opening.answers
    trial.step(f"original, 1 of {len(question.counts)}")
    rng = np.random.default_rng(trial.asked.seed)
    drawn = question.make(rng, manner, setting, max(question.counts[0], len(known)))
    feeds = [*drawn, *question.more(drawn)]
    answers = [*known, *(answered(session, each, "original model") for each in feeds[len(known) :])]
    found = [Reference(setting, feeds, answers, meters_of(trial, answers))]
    for turn, count in [*enumerate(question.counts)][1:]:
        others = chooser.others(turn, manner, setting, question.taken[turn : turn + 1])
        trial.step(f"original, {turn + 1} of {len(question.counts)}")
        make = partial(question.make, np.random.default_rng([trial.asked.seed, turn]), manner, number=count)
        found.append(_refer(trial, session, others, make))
    return found


def _refer(
    trial: Trial, session: Session, settings: Iterator[Setting], make: Callable[[Setting], list[Feeds]]
) -> Reference:
    """The answers in the first of these settings that suits; in the last one, that of the first turn, in any case."""
    why, last = "", None
    for setting in settings:
        feeds = make(setting)
        try:
            answers: list[Answers] = [session.run(each) for each in feeds]
        except Refusal as refusal:
            sizes, why = dict(setting.sizes), refusal.why
            if trial.kind == "same":
                trial.evidence.append(RefusedSize(sizes, why))
            continue
        last = (setting, feeds, answers)
        if _suited(trial, answers):
            break
    if last is not None:
        return Reference(*last, meters_of(trial, last[-1]))
    raise FixError("engine-refused", engine=session.engine, what="run the original model", why=why)


def opening_of(trial: Trial, session: Session, chooser: Chooser, make: Drawer) -> Opening:
    """The first manner and setting in which the original runs and shows something; else the best in which it runs."""
    fallback: dict[tuple[bool, bool], Opening] = {}
    refusal, refused, largest = Refusal(""), 0, 0
    for default, known, last in _attempts(chooser):
        if fallback and known:
            continue
        most = _MOST_REFUSALS if last else _MOST_REFUSALS * 3 // 4
        # Where it runs already, and shows nothing, other sizes and large values are tried, and not everything again.
        kinds = (Manner(),) if last else (Manner(), *_LARGE) if fallback else (*_MANNERS, *_LARGE)
        for manner, setting in _beginnings(trial, chooser, default, kinds, known):
            if (manner.scale > 1 and any(shows for shows, _ in fallback)) or refused >= most:
                continue
            if default > _DEFAULTS[0] and largest > _MANY:
                break
            feeds = make(np.random.default_rng(trial.asked.seed), manner, setting, _PROBES)
            try:
                answers: list[Answers] = [session.run(each) for each in feeds]
            except Refusal as why:
                refusal, refused = why, refused + 1
                continue
            shows, suits = _shows(trial, answers), _suited(trial, answers)
            largest = max(largest, sum(array.size for array in answers[0].values()))
            if shows and (suits or not chooser.varies):
                return Opening(manner, setting, answers)
            fallback.setdefault((shows, suits), Opening(manner, setting, answers))
        if any(shows for shows, _ in fallback):
            break
    if fallback:
        return fallback[max(fallback)]
    often = f" (one of {refused} that it refused)" if refused >= _MOST_REFUSALS * 3 // 4 else ""
    raise FixError("engine-refused", engine=session.engine, what="run the original model", why=refusal.why + often)


def _attempts(chooser: Chooser) -> Iterator[tuple[int, Sizes, bool]]:
    """Sizes for dims that have only a name, such as operators tell of some, and in the end 1, which shows little."""
    if not chooser.names:
        yield _DEFAULTS[0], {}, False
        return
    for default in _DEFAULTS:
        yield from ((default, known, False) for known in ({}, *chooser.told.likely))
    yield from ((default, known, True) for known in chooser.ones() for default in _DEFAULTS)


def _beginnings(
    trial: Trial, chooser: Chooser, default: int, kinds: Sequence[Manner], known: Sizes
) -> Iterator[tuple[Manner, Setting]]:
    for sizes in chooser.first(default, known):
        if default != _DEFAULTS[0] and _elements(trial, {**chooser.fixed, **sizes}, default) > _MOST_ELEMENTS:
            continue
        for place, style in enumerate(chooser.styles()):
            for kind in kinds:
                manner = replace(kind, default=default, style=style)
                rng = np.random.default_rng([trial.asked.seed, place])
                yield manner, Setting(sizes, chooser.values(rng, sizes, manner))


def _elements(trial: Trial, sizes: Sizes, default: int) -> int:
    """How many elements the inputs have at these sizes."""
    return sum(prod(dims_of(value, sizes, default)) for value in fed(trial.original))


def _suited(trial: Trial, answers: Sequence[Answers]) -> bool:
    """Whether the outputs have the dims that the original declares, and a place for its samples."""
    declared = {value.name: value.shape for value in trial.original.graph.outputs}
    for name, array in answers[0].items():
        dims = declared.get(name)
        if any(other[name].shape != array.shape for other in answers):
            return False
        if dims is not None and len(dims) != array.ndim:
            return False
        if any(isinstance(dim, int) and dim != size for dim, size in zip(dims or (), array.shape, strict=False)):
            return False
        if samples(array, trial.outputs.get(name), trial.size) is None:
            return False
    return True


def _shows(trial: Trial, answers: Sequence[Answers]) -> bool:
    """Whether every output has something to compare, and one that matters differs."""
    if not all(any(comparable(answer[name]) for answer in answers) for name in answers[0]):
        return False
    if any(answer[name].shape != first.shape for name, first in answers[0].items() for answer in answers):
        return False
    return any(
        meter.contrast(np.stack([answer[name] for answer in answers])) > CLEARLY
        for name, meter in whole_meters(trial, answers).items()
        if trial.kind == "other" or trial.outputs.get(name) is not None
    )
