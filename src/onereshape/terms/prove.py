"""prove_batch() and prove_same(): two models are run on terms, and the terms are put beside each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.terms.batches import (
    BatchAxis,
    Differs,
    Ones,
    Trial,
    at_own_size,
    at_some_sizes,
    check_interface,
    check_names,
    check_preconditions,
    tensor,
    why_not_for_all,
)
from onereshape.terms.first_difference import first_difference
from onereshape.terms.hashing import Array, Hashing
from onereshape.terms.limits import Limits
from onereshape.terms.program import Program, WeightTensors
from onereshape.terms.proof import OutputTerms, Proof, Verdict
from onereshape.terms.refusal import NotProven


def prove_batch(  # noqa: PLR0913 - what a proof depends on
    original: ir.Model,
    repaired: ir.Model,
    axes: Mapping[str, int],
    *,
    symbol: str = "N",
    size: int = 1,
    places: Mapping[str, BatchAxis | None] | None = None,
    sizes: Mapping[str, int] | None = None,
    given: Mapping[str, Array] | None = None,
    seed: int,
    limits: Limits | None = None,
    for_all: bool = False,
) -> Proof:
    """Whether the repaired model gives, for N samples at `axes`, what the original gives for each of them.

    `size` is the batch of the original, `places` says where outputs carry N (None: wherever they do), `sizes` are those
    of the other named dims, and `given` are numbers for inputs that serve as sizes.  `for_all`: nothing but a proof for
    every N is of use, and what is none ends soon.
    """
    hashing, bound = Hashing(seed), (limits or Limits()).fitting(original, repaired)
    weights: WeightTensors = {}
    trial = Trial(
        Program(original, hashing, bound, weights=weights),
        Program(repaired, hashing, bound, weights=weights),
        hashing,
        axes,
        symbol,
        sizes or {},
        given or {},
        places,
    )
    not_always: str | None = None

    def run() -> None:
        nonlocal not_always
        check_interface(original, repaired)
        ones = Ones()
        if for_all and (why := why_not_for_all(trial, ones)):
            raise NotProven(why)
        at_own_size(trial, ones, size)
        not_always = "" if for_all else why_not_for_all(trial, ones)
        if not_always:
            at_some_sizes(trial, ones, size)

    verdict, reason = _judged(run)
    always = not_always == "" and verdict == "proven"
    return _proof(trial, verdict, reason, always=always, not_always=not_always or "")


def _judged(run: Callable[[], None]) -> tuple[Verdict, str]:
    """The verdict of a comparison, and its reason: `proven` where nothing stops `run`."""
    try:
        run()
    except NotProven as stop:
        return "not proven", stop.why
    except Differs as stop:
        return "other", stop.why
    except (MemoryError, RecursionError):
        return "not proven", "the term run needs more memory than there is"
    return "proven", ""


def _proof(trial: Trial, verdict: Verdict, reason: str, *, always: bool, not_always: str) -> Proof:
    outputs = [
        OutputTerms(name, place[0] if (place := trial.found.get(name)) else None, place[1] if place else 1, elements)
        for name, elements in trial.elements.items()
    ]
    held = [f"{name} = {np.asarray(value).tolist()}" for name, value in trial.given.items()]
    sizes, seed = tuple(trial.compared), trial.hashing.seed
    return Proof(verdict, reason, sizes, always, not_always, tuple(held), tuple(outputs), seed, trial.mixed)


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
    weights: WeightTensors = {}
    first, second = (Program(each, hashing, bound, weights=weights) for each in (original, other))
    trial = Trial(first, second, hashing, {}, "", {}, given or {}, None)

    def run() -> None:
        check_interface(original, other)
        for sizes in settings:
            trial.sizes = sizes
            _compare(trial, sizes)
        if not trial.compared:
            raise NotProven("there are no sizes to compare at")

    return _proof(trial, *_judged(run), always=False, not_always="")


def _compare(trial: Trial, sizes: Mapping[str, int]) -> None:
    """Runs both models at these sizes; Differs where an output has other dims or terms."""
    here = f" at {', '.join(f'{name} = {size}' for name, size in sizes.items())}" if sizes else ""
    feeds: list[Any] = [trial.feeds(program, []) for program in (trial.original, trial.repaired)]
    wanted, notes = trial.original.run(feeds[0])
    got, others = trial.repaired.run(feeds[1])
    check_preconditions(notes.preconditions, others.preconditions)
    check_names(wanted, got)
    for name, value in wanted.items():
        mine, theirs = tensor(value, name), tensor(got[name], name)
        if mine.dtype != theirs.dtype or mine.shape != theirs.shape:
            why = f"output {name!r} has dims {list(theirs.shape)}{here}, and should have {list(mine.shape)}"
            raise Differs(why)
        if not np.array_equal(mine.hashed(trial.hashing), theirs.hashed(trial.hashing)):
            where = first_difference(trial.original, trial.repaired, *feeds)
            raise Differs(f"output {name!r} is another expression{here}{f', from {where} on' if where else ''}")
        trial.elements[name] = trial.elements.get(name, 0) + mine.size
    trial.compared.append(dict(sizes))
