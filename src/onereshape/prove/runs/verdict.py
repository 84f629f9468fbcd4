"""The status that follows when everything has run and nothing differs, and the sentence for it."""

from __future__ import annotations

from collections.abc import Sequence

from onereshape.ground.isolation.budget import limits
from onereshape.prove.certificate import Status
from onereshape.prove.runs.trial import Sizes, Trial, is_blind, matters
from onereshape.terms.proof import said, said_all


def verdict(trial: Trial) -> tuple[Status, str]:
    """The status of a trial in which nothing differs, and a sentence that tells compared sizes from sizes only run."""
    named = [name for name in trial.distances if matters(trial, name)]
    if not named:
        return "untested", "no output carries the batch" if trial.kind == "batch" else "no output was compared"
    silent = _silent(trial)
    quiet = [name for name in named if any(name in names for names in silent.values())]
    if 2 * len(quiet) > len(named):
        found = "; ".join(f"{why}: {', '.join(names)}" for why, names in silent.items() if names)
        some = f"only {len(named) - len(quiet)} of {len(named)} outputs depend"
        what = "the sample" if trial.kind == "batch" else "what is fed"
        return "untested", f"{'no output depends' if quiet == named else some} on {what} ({found})"
    compared, only = said_all(trial.compared), [sizes for sizes in trial.ran if sizes not in trial.compared]
    notes = [f"not tested, {why}: {', '.join(names)}" for why, names in silent.items() if names]
    notes += [*_gaps(trial), *trial.held]
    if trial.fitted:
        return _fitted(trial, notes, only)
    shut = _shut(trial)
    if shut:
        where = "the exported size" if len(trial.own) == 1 else "the exported sizes"
        if len(shut) == len(trial.own):
            parts = [f"compared at {compared} ({where})"]
        else:
            parts = [f"compared at {compared}, but with no other {', '.join(shut)} than the exported"]
        parts += [*notes, f"ran at {said_all(only)}: what it answers there was compared with nothing"]
        return "unwitnessed", "; ".join([*parts, *_ran(trial, [])])
    largest = max(found.absolute for found in trial.distances.values())
    parts = [f"compared at {compared}", f"the largest difference is {largest:.3g}", *notes]
    return "certified", "; ".join([*parts, *_ran(trial, only)])


def until_then(trial: Trial) -> str:
    """What was shown when the time was over."""
    after = f"after {limits().seconds:g} s"
    if not trial.compared:
        return f"{after}: nothing was compared"
    largest = max(found.absolute for found in trial.distances.values())
    return f"{after}: compared at {said_all(trial.compared)}; the largest difference is {largest:.3g}"


def _ran(trial: Trial, only: Sequence[Sizes]) -> list[str]:
    """The sizes, in words, at which nothing was compared: those that only ran, and those that did not run."""
    stopped = [each.sizes for each in trial.refused if trial.kind == "other"]  # else it is the original that stopped
    return [
        *([f"only ran at {said_all(only)}"] if only else []),
        *([f"did not run at {said_all(stopped)}"] if stopped else []),
    ]


def _fitted(trial: Trial, notes: Sequence[str], only: Sequence[Sizes]) -> tuple[Status, str]:
    """The status and the sentence for a model that was fitted on several exports."""
    fitted = [trial.own, *(each.freed for each in trial.fitted)]
    for sizes in fitted:
        if not any(sizes.items() <= at.items() for at in trial.compared):
            return "untested", f"fitted on {said_all(fitted)}, and it had nothing to compare at {said(sizes)}"
    witnesses = [each.freed for each in trial.witnesses]
    unused = [at for at in trial.compared if any(each.items() <= at.items() for each in witnesses)]
    largest = f"the largest difference is {max(found.absolute for found in trial.distances.values()):.3g}"
    shut = _shut(trial)
    if not unused:
        parts = [f"fitted on {said_all(fitted)}, and agrees there", largest, *notes, "compared with no other size"]
        return "fitted", "; ".join([*parts, *_ran(trial, only)])
    shown = f"fitted on {said_all(fitted)}, and agrees there too"
    if shut:
        shown += f"; no other {', '.join(shut)} than there was compared"
    return "certified", "; ".join([f"compared at {said_all(unused)}", shown, largest, *notes, *_ran(trial, only)])


def _shut(trial: Trial) -> list[str]:
    """The freed dims that were compared at no other size than those that the repair has read."""
    used = [trial.own, *(each.freed for each in trial.fitted)]
    return [symbol for symbol in trial.own if all(at[symbol] in {has[symbol] for has in used} for at in trial.compared)]


def _silent(trial: Trial) -> dict[str, list[str]]:
    """Outputs that show nothing, by the reason."""
    same = "the same for all samples" if trial.kind == "batch" else "the same whatever is fed"
    found: dict[str, list[str]] = {"empty in every run": [], "never finite": [], same: []}
    for name in trial.distances:
        if not trial.elements.get(name):
            found["never finite" if trial.entries.get(name) else "empty in every run"].append(name)
        elif matters(trial, name) and is_blind(trial, name):
            found[same].append(name)
    return found


def _gaps(trial: Trial) -> list[str]:
    """Outputs that had nothing to compare at some of the sizes."""
    found = []
    for name, seen in trial.seen.items():
        missing = [sizes for sizes in trial.compared if sizes not in seen]
        if missing:
            found.append(f"{name} was empty or not finite at {said_all(missing)}")
    return found
