"""Whether `check --batch`, `fix --batch` and `report --batch` say the same of the .onnx files that people install.

    python bench/released_contradictions.py CACHE [--only TEXT] [--most MB]

CACHE is a folder that bench/released.py filled.  Printed is, for each file, what the three say that cannot all be true;
`open` is what `check` leaves open, as only runs tell it, and `fix` refuses.  Files of more than --most MB (20) are left
out.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import onereshape as orx  # noqa: E402
from bench.released_files import found, path_of  # noqa: E402
from onereshape.checks.check import RUNS  # noqa: E402

_LEAD = re.compile(r'<p class="lead">(.*?)</p>', re.DOTALL)
_FINDINGS = re.compile(r'<section [^>]*id="findings".*?</section>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
OPEN = "open: "
"""How a line begins that is no contradiction: only runs could tell."""
_LONGEST = 60
"""Signs of a refusal that a page shows for sure."""


class Said(NamedTuple):
    """The answers of `check`, `fix` and `report` about the batch of one file."""

    found: list[Any] | orx.FixError
    """The findings, or why `check` refuses."""
    fixed: Any
    """What `fix` returns, or its FixError."""
    changed: bool
    """Whether `fix` writes another model."""
    lead: str
    """The sentence at the top of the page."""
    left: str
    """The findings that the page shows."""


def asked(path: Path, **options: Any) -> Said:
    """What all three say of a file."""
    given = orx.load(path)
    found: Any
    fixed: Any
    try:
        found = [*orx.check(given, batch=True)]
    except orx.FixError as refusal:
        found = refusal
    try:
        fixed = orx.fix(given, batch=True, **options)
    except orx.FixError as refusal:
        fixed = refusal
    try:
        page = orx.report(given, batch=True, **options)
    except orx.FixError as refusal:
        lead, left = f"no page: {refusal.sentence}", ""
    else:
        head, listed = _LEAD.search(page), _FINDINGS.search(page)
        lead, left = (unescape(_TAG.sub("", each[0])) if each else "" for each in (head, listed))
    return Said(found, fixed, not isinstance(fixed, orx.FixError) and fixed.model is not given, lead, left)


def contradictions(said: Said) -> Iterator[str]:
    """What of it cannot all be true."""
    if isinstance(said.fixed, orx.FixError):
        yield from _refused(said, said.fixed)
    else:
        yield from _answered(said)


def _refused(said: Said, refusal: orx.FixError) -> Iterator[str]:
    why = refusal.sentence
    if isinstance(said.found, orx.FixError):
        if said.found.sentence != why:
            yield f"check refuses ({said.found.sentence}), and fix for another reason ({why})"
    else:
        if not any(each.severity != "note" for each in said.found):
            yield f"check finds nothing, and fix refuses ({why})"
        only_runs = OPEN if refusal.code == "engine-refused" else ""
        for each in said.found:
            if each.fixable and _is_about(each):
                yield f"{only_runs}check says that fix can repair {each.code} at {each.node}, and it refuses ({why})"
        may = [each for each in said.found if each.fixable is None and _is_about(each)]
        if may:
            yield f"{OPEN}check says that fix may repair {may[0].code} at {may[0].node}, and it refuses ({why})"
    if not said.lead.startswith(("Refused.", "no page")) or _short(why) not in _plain(said.lead):
        yield f"fix refuses ({why}), and the page says: {said.lead}"
    if RUNS in said.left:
        yield f"fix refuses ({why}), and the page leaves it open"


def _answered(said: Said) -> Iterator[str]:
    what = "repairs it" if said.changed else "says that nothing is to be repaired"
    if isinstance(said.found, orx.FixError):
        yield f"check refuses ({said.found.sentence}), and fix {what}"
        return
    told = [each for each in said.found if _is_about(each)]
    for each in told:
        if each.code == "cannot-free" and each.fixable is False:
            yield f"check says that it cannot be freed ({each.message}), and fix {what}"
        elif not said.changed and each.severity == "error" and each.message not in said.fixed.notes:
            yield f"check says {each.code} at {each.node} ({each.message}), and fix {what}"
        elif not said.changed and each.fixable:
            yield f"check says that fix can repair {each.code} at {each.node}, and fix {what}"
    yield from _unmentioned(told, said.fixed.notes)
    if said.changed and not any(each.fixable is not False for each in told):
        yield f"check finds nothing that fix repairs, and fix {what}"
    if said.changed != said.lead.startswith("Repaired") or (said.lead.startswith("Nothing to repair.") is said.changed):
        yield f"fix {what}, and the page says: {said.lead}"
    if not said.changed and RUNS in said.left:
        yield f"fix {what}, and the page shows what only runs could tell"
    if "cannot-free" in said.left:
        yield f"fix {what}, and the page shows what cannot be freed"


def _unmentioned(told: list[Any], notes: tuple[str, ...]) -> Iterator[str]:
    """Sizes that the model does not take, of which `fix` names the first and counts the rest."""
    limits = [each for each in told if each.code == "size-condition" and each.severity != "note"]
    if limits and not any(each.message in notes for each in limits):
        each = limits[0]
        yield f"check says {each.code} at {each.node} ({each.message}), and fix does not mention it"


def _is_about(finding: Any) -> bool:
    """Whether a finding is about the batch, and not about what could be simpler."""
    simpler = {"foldable-target", "redundant-allowzero", "identity", "chain", "gave-up"}
    return finding.code not in simpler


def _short(text: str) -> str:
    return _plain(text)[:_LONGEST]


def _plain(text: str) -> str:
    return " ".join(text.split())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--most", type=float, default=20, metavar="MB")
    typed = parser.parse_args()
    count = bad = 0
    for each in found(typed.cache):
        path = path_of(typed.cache, each.digest)
        if typed.only not in f"{each.package} {each.member} {each.digest}" or path.stat().st_size > typed.most * 1e6:
            continue
        count += 1
        try:
            said = [*contradictions(asked(path))]
        except orx.ReshapeError as error:
            said = [f"{OPEN}not asked: {error.sentence}"]
        bad += any(not line.startswith(OPEN) for line in said)
        for line in said:
            print(f"{each.package}  {each.member}  {each.digest[:8]}  {line}", flush=True)
    print(f"{bad} of {count} files contradicted")


if __name__ == "__main__":
    main()
