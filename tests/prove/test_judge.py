"""What follows from evidence: the table of statuses, whatever the order of the records, and words for each of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from onereshape.prove import judge as judging, words
from onereshape.prove.certificate import KINDS, joined, judged
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.evidence import (
    Asked,
    AskedEngine,
    Carried,
    Compared,
    Contrast,
    Differs,
    EarlierStep,
    Evidence,
    Exported,
    Failed,
    FittedOn,
    Formula,
    Held,
    Kind,
    Measured,
    Neighbours,
    Noise,
    NotRun,
    Ran,
    RefusedSize,
    Rounding,
    Terms,
    TimeOver,
    Untestable,
    Unusual,
    Witnessed,
)
from onereshape.prove.judge import WEAKEST_FIRST, Status, judge
from onereshape.prove.seen import Seen
from onereshape.terms.equivalence import Equivalence
from onereshape.terms.proof import Proof

FEEDS = {"x": np.zeros(1, np.float32)}
EXAMPLE = Counterexample("y", "value", ("original", "repaired"), ("0.5", "0.25"), ((0,), (0,)), {}, FEEDS, FEEDS)


def asked(kind: Kind) -> list[Evidence]:
    return [
        Asked(kind, 7, 1e-3, 1e-4, {"y": Carried(0)}),
        AskedEngine(("onnxruntime",), ("onnxruntime 1.0",)),
        Contrast("y", 1e6),
    ]


def compared(elements: int = 4, **sizes: int) -> list[Evidence]:
    return [Ran(sizes), Compared(sizes, (Measured("y", 0.0, 1.0, elements, 4),))]


def terms(verdict: Any, beside: Any = "original", *, always: bool = True, **sizes: int) -> Terms:
    return Terms(Proof(verdict, "no", (sizes or {"N": 1},), always, "", (), (), 1), beside)


def formula(verdict: Any) -> Formula:
    return Formula(Equivalence(verdict, "" if verdict == "equivalent" else "why", ({},), 1e-6, "", 1))


DIFFERS = Differs("value", {"output": "y", "difference": 0.25, "at": {"N": 2}}, EXAMPLE)
ROUNDING = Rounding("value", {"output": "y", "difference": 0.01, "at": {"N": 2}}, EXAMPLE, "y")
FAILED = Failed("not-loaded", {"engine": "onnxruntime", "why": "no"})
UNTESTABLE = Untestable("no-samples", {})
LATE = TimeOver("after 3 s")
BATCH = [*asked("batch"), *compared(N=2)]
SAME = [*asked("same"), *compared()]
OWN = [*asked("other"), Exported({"S": 4}), *compared(S=4), Ran({"S": 8})]
WITNESSED = [*OWN, *compared(S=9), Witnessed({"S": 9})]
FITTED = [*OWN, *compared(S=6), FittedOn({"S": 6})]
BOTH = [*FITTED, *compared(S=9), Witnessed({"S": 9})]
TIED = [
    *(*asked("other"), Exported({"H": 4, "W": 6}), *compared(H=4, W=6), *compared(H=5, W=6), *compared(H=9, W=6)),
    *(FittedOn({"H": 5, "W": 6}), Witnessed({"H": 9, "W": 6})),
]
"""Three exports that have the same W."""
SILENT = [*asked("batch"), *compared(0, N=2)]
NOWHERE = asked("batch")
"""Nothing was run."""

REASONS: dict[str, str] = json.loads((Path(__file__).parent / "reasons.json").read_text())
"""The sentence of each case."""

CASES: dict[str, tuple[list[Evidence], Status]] = {
    "answers that agree": (BATCH, "certified"),
    "and the same terms": ([*BATCH, terms("proven")], "proven"),
    "and the same terms at one size": ([*BATCH, terms("proven", always=False)], "proven"),
    "and terms that say nothing": ([*BATCH, terms("not proven")], "certified"),
    "and other terms": ([*BATCH, terms("other")], "not proven"),
    "and the same terms in one of two settings": ([*BATCH, terms("proven"), terms("other", N=2)], "not proven"),
    "a difference": ([*BATCH, DIFFERS], "differs"),
    "a difference of the same terms": ([*BATCH, terms("proven"), DIFFERS], "differs"),
    "a little difference": ([*BATCH, ROUNDING], "differs"),
    "a little difference of the same terms": ([*BATCH, ROUNDING, terms("proven")], "proven"),
    "a little difference of terms at that size": ([*BATCH, ROUNDING, terms("proven", always=False, N=2)], "proven"),
    "a little difference of terms at another size": ([*BATCH, ROUNDING, terms("proven", always=False, N=3)], "differs"),
    "a little difference of unknown terms": ([*BATCH, ROUNDING, terms("not proven")], "differs"),
    "two little differences, one of them where no terms were": (
        [
            *(*BATCH, ROUNDING, replace(ROUNDING, fields={**ROUNDING.fields, "at": {"N": 4}})),
            terms("proven", always=False, N=2),
        ],
        "differs",
    ),
    "a refusal": ([*BATCH, FAILED], "failed"),
    "a refusal of the same terms": ([*BATCH, FAILED, terms("proven")], "failed"),
    "time": ([*BATCH, LATE], "out-of-time"),
    "time, and the same terms": ([*BATCH, LATE, terms("proven")], "out-of-time"),
    "time, and a difference": ([*BATCH, LATE, DIFFERS], "differs"),
    "no element": (SILENT, "untested"),
    "no element, and the same terms": ([*SILENT, terms("proven")], "proven"),
    "no element, and other terms": ([*SILENT, terms("other")], "not proven"),
    "no element, and terms that say nothing": ([*SILENT, terms("not proven")], "untested"),
    "nothing to test with": ([*BATCH, UNTESTABLE], "untested"),
    "nothing to test with, and the same terms": ([*BATCH, UNTESTABLE, terms("proven")], "proven"),
    "no run": ([*NOWHERE, UNTESTABLE], "untested"),
    "no run, and the same terms": ([*NOWHERE, UNTESTABLE, terms("proven")], "untested"),
    "no run, and other terms": ([*NOWHERE, UNTESTABLE, terms("other")], "untested"),
    "the same answer for all": ([each for each in BATCH if not isinstance(each, Contrast)], "untested"),
    "a tolerance that hides all": ([*BATCH, Noise("y", 1e6)], "untested"),
    "the same model": (SAME, "certified"),
    "the same formula": ([*SAME, terms("other"), formula("equivalent")], "equivalent"),
    "the same formula, and terms that say nothing": ([*SAME, terms("not proven"), formula("equivalent")], "equivalent"),
    "another formula": ([*SAME, terms("not proven"), formula("not equivalent")], "not proven"),
    "an unknown formula of other terms": ([*SAME, terms("other"), formula("unknown")], "not proven"),
    "an unknown formula of unknown terms": ([*SAME, terms("not proven"), formula("unknown")], "certified"),
    "the same formula, and a difference": ([*SAME, formula("equivalent"), DIFFERS], "differs"),
    "the exported size alone": (OWN, "unwitnessed"),
    "the exported size alone, and the same terms": ([*OWN, terms("proven", S=4)], "unwitnessed"),
    "the exported size alone, and other terms": ([*OWN, terms("other", S=4)], "not proven"),
    "a witness": (WITNESSED, "certified"),
    "a witness, and the same terms here": ([*WITNESSED, terms("proven", S=4)], "certified"),
    "a witness, and the same terms": (
        [*WITNESSED, terms("proven", S=4), terms("proven", "witness", S=9)],
        "proven",
    ),
    "a witness that differs in one of two dims, and the same terms": (
        [
            *(*asked("other"), Exported({"H": 4, "W": 6}), *compared(H=4, W=6), *compared(H=5, W=6)),
            *(Witnessed({"H": 5, "W": 6}), terms("proven", H=4, W=6), terms("proven", "witness", H=5, W=6)),
        ],
        "unwitnessed",
    ),
    "a witness with nothing to compare, and the same terms": (
        [*OWN, *compared(0, S=9), Witnessed({"S": 9}), terms("proven", S=4), terms("proven", "witness", S=9)],
        "proven",
    ),
    "a witness, and other terms there": ([*WITNESSED, terms("proven", S=4), terms("other", "witness")], "certified"),
    "a witness, and other terms here": ([*WITNESSED, terms("other", S=4), terms("proven", "witness")], "not proven"),
    "two exports": (FITTED, "fitted"),
    "two exports, and the same terms": ([*FITTED, terms("proven", S=4)], "fitted"),
    "two exports that folded other constants": ([*FITTED, terms("other", S=4)], "fitted"),
    "two exports, one with nothing to compare": ([*OWN, *compared(0, S=6), FittedOn({"S": 6})], "untested"),
    "two exports and a witness": (BOTH, "certified"),
    "two exports and a witness, and the same terms": (
        [*BOTH, terms("proven", S=4), terms("proven", "witness", S=9)],
        "proven",
    ),
    "two exports, and a dim that is the same in both": (
        [
            *asked("other"),
            Exported({"S": 4, "W": 6}),
            *compared(S=4, W=6),
            *compared(S=5, W=6),
            FittedOn({"S": 5, "W": 6}),
        ],
        "fitted",
    ),
    "two exports and a witness, and a dim that is the same in all of them": (
        [*TIED, terms("not proven", H=4, W=6), terms("proven", "witness", H=9, W=6)],
        "unwitnessed",
    ),
    "two exports and a witness, a dim that is the same in all of them, and the same terms": (
        [*TIED, terms("proven", H=4, W=6), terms("proven", "witness", H=9, W=6)],
        "unwitnessed",
    ),
    "two exports and a witness, a dim that only the fitted one moves, and the same terms": (
        [
            *(*asked("other"), Exported({"H": 4, "W": 6}), *compared(H=4, W=6), *compared(H=4, W=7)),
            *(*compared(H=5, W=6), FittedOn({"H": 4, "W": 7}), Witnessed({"H": 5, "W": 6})),
            *(terms("proven", H=4, W=6), terms("proven", "witness", H=5, W=6)),
        ],
        "proven",
    ),
    "two steps": ([*BATCH, terms("proven"), EarlierStep((*FITTED,))], "fitted"),
    "two steps, the second one weaker": ([*SILENT, EarlierStep((*FITTED,))], "untested"),
    "two steps, the first one other": ([*BATCH, EarlierStep((*FITTED, DIFFERS))], "differs"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_table_of_what_follows(name: str) -> None:
    evidence, status = CASES[name]
    found = judged(evidence)

    assert found.status == judge(evidence) == status
    assert found.reason == REASONS[name]
    assert found.summary
    assert (found.counterexample is not None) == (status == "differs")


@pytest.mark.parametrize("place", range(len(judging._TABLE) - 1))
def test_each_row_of_the_table_is_needed(place: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = judging._TABLE
    monkeypatch.setattr(judging, "_TABLE", (*rows[:place], *rows[place + 1 :]))

    assert any(judge(evidence) != status for evidence, status in CASES.values())


@pytest.mark.parametrize("place", range(len(judging._TABLE) - 2))
def test_the_order_of_rows_is_needed_or_no_evidence_fits_both(place: int) -> None:
    """Two rows that are exchanged judge a case otherwise, unless no case fits both."""
    rows = [*judging._TABLE]
    one, two = rows[place : place + 2]
    seen = [Seen(evidence) for evidence, _ in CASES.values()]
    fits = any(one[1](each) and two[1](each) for each in seen)
    other = any(
        next(status for status, fit in [*rows[:place], two, one, *rows[place + 2 :]] if fit(each))
        != next(status for status, fit in rows if fit(each))
        for each in seen
    )
    assert other == (fits and one[0] != two[0])


@settings(max_examples=200)
@given(st.data())
def test_the_status_is_a_function_of_evidence(data: st.DataObject) -> None:
    """Any order of the same records, any of them twice: the same status."""
    evidence, status = CASES[data.draw(st.sampled_from([*CASES]))]
    again = data.draw(st.permutations([*evidence, *data.draw(st.lists(st.sampled_from(evidence), max_size=5))]))

    assert judge(again) == status


def of_kind(kind: Kind) -> list[Evidence]:
    """All records of cases of one kind, but what was asked; no two of them say what was exported."""
    known = [evidence for evidence, _ in CASES.values() if asked(kind)[0] in evidence]
    cases = [each for each in known if all(one in OWN for one in each if isinstance(one, Exported))]
    return [each for evidence in cases for each in evidence if not isinstance(each, Asked)]


@settings(max_examples=200)
@given(st.data())
def test_whatever_was_seen_has_a_status_and_words(data: st.DataObject) -> None:
    kind: Kind = data.draw(st.sampled_from(("batch", "same", "other")))
    evidence = [asked(kind)[0], *data.draw(st.lists(st.sampled_from(of_kind(kind)), max_size=12))]
    found = judged(evidence)

    assert judge(evidence[::-1]) == found.status
    assert found.status in WEAKEST_FIRST
    for text in (found.reason, found.summary, *(text for row in found.account for text in row)):
        assert text
        assert "None" not in text
    found.to_json()


ONE_OF_EACH: list[Evidence] = [
    Asked("other", 9041, 0.03125, 0.0625),
    AskedEngine(("engine",), ("engine-9042",)),
    Exported({"S": 9043}),
    Witnessed({"S": 9045}),
    Ran({"S": 9046}),
    RefusedSize({"S": 9047}, "refused"),
    NotRun(({"S": 9048},), "no room"),
    Contrast("contrasted-9049", 3.0),
    Noise("noisy-9050", 4.0),
    Held("size", ("held-9051",), "4"),
    Unusual("unusual-9052"),
    Neighbours("neighbours-9053"),
    Differs("type", {"output": "differs-9054", "got": "int8", "wanted": "int4"}, None),
    Rounding("value", {"output": "rounding-9055", "difference": 0.5, "at": {}}, None, "y"),
    Failed("not-loaded", {"engine": "failed-9056", "why": "no"}),
    Untestable("undrawable", {"why": "untestable-9057"}),
    TimeOver("after 9058 s"),
    terms("proven", S=9059),
    terms("other", "witness", S=3),
    formula("unknown"),
    Compared({"S": 9060}, (Measured("y", 0.0, 1.0, 4, 4),)),
    EarlierStep((Asked("same", 1, 0.5, 0.5), Failed("not-loaded", {"engine": "earlier-9061", "why": "no"}))),
]
MARK = re.compile(r"90[4-6]\d")


def test_words_name_every_piece_of_evidence_once() -> None:
    text = "\n".join(f"{kind}: {said}" for kind, said in judged(ONE_OF_EACH).account)

    marks = [mark for each in ONE_OF_EACH for mark in MARK.findall(repr(each.__reduce_ex__(2)))]
    assert sorted(MARK.findall(text)) == sorted({*marks})
    for each in ONE_OF_EACH:
        without = [other for other in ONE_OF_EACH if other is not each]
        assert judged(without).account != judged(ONE_OF_EACH).account, each
        assert judged([*ONE_OF_EACH, each]).account == judged(ONE_OF_EACH).account, each


def test_every_kind_of_evidence_is_told_to_machines() -> None:
    told: Any = judged([*ONE_OF_EACH, FittedOn({"S": 9044})]).to_json()["evidence"]
    kinds = {type(each) for each in ONE_OF_EACH} | {FittedOn}

    assert len({each["record"] for each in told}) == len(kinds) == len(KINDS)


def codes() -> Iterator[str]:
    """The codes of sentences that the source has."""
    for path in Path("src/onereshape/prove").rglob("*.py"):
        yield from re.findall(
            r'(?:failed|untestable|Differs|Rounding|Failed|Untestable)\(\s*"([a-z-]+)"', path.read_text()
        )


def test_every_sentence_is_said_and_every_code_has_one() -> None:
    assert {*codes()} | {"value", "texts", "type", "dims"} == words.SENTENCES.keys()


def test_a_step_that_changed_nothing_has_no_certificate() -> None:
    found = judged(BATCH)

    assert joined(None, None) is None
    assert joined(found, None) is found
    assert joined(None, found) is found


def test_two_steps_join_their_evidence() -> None:
    found = joined(judged([*FITTED, terms("proven", S=4)]), judged([*BATCH, terms("proven")]))

    assert found is not None
    assert found.status == "fitted"
    assert found.basis == judged([*FITTED, terms("proven", S=4)])
    assert found.summary == "fitted in two steps: fitted on S = 4, 6; then the batch at N = 2"
    first, then = (
        "other dims, fitted: fitted on S = 4, 6",
        "; then the batch, beside that model sample by sample, proven: ",
    )
    assert found.reason.startswith(first)
    assert then in found.reason
