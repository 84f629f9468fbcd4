"""The law of batching: every batched model gives what the original gives on the pieces, or is refused in a sentence.

python -m tests.laws.test_batching OPERATOR ...    judges all cases of these operators, not some of them
"""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from random import Random
from typing import Any

import onnx_ir as ir
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import tests.laws.batching_mutants_control
import tests.laws.batching_mutants_lists
import tests.laws.batching_mutants_sequences  # noqa: F401 - the bugs of these are planted too
from onereshape.graphs.batch_rules.marks import homes
from onereshape.graphs.operators import RECORDS, indexing, layout, reshape
from onereshape.ground.errors import FixError
from onereshape.repair.batch.apply import apply_batch
from onereshape.repair.batch.search import batch_plan
from tests.budget import WHOLE, part
from tests.laws.batching_compositions import composition
from tests.laws.batching_law import TIMES, Engine, Unfit, Verdict, difference, judge
from tests.laws.batching_mutants import MUTANTS, Mutant
from tests.laws.batching_sketch import Sketch
from tests.laws.batching_wild import wild
from tests.laws.batching_world import WORLD, whole_world

RULES = {op for op, record in RECORDS.items() if record.batch is not None}


def told(case: Sketch, verdict: Verdict) -> str:
    return f"{verdict.kind}: {verdict.text}\n  {case.trap} {case}"


def asked(op: str) -> list[Sketch]:
    """All traps of an operator and one in two of its other cases, or all."""
    traps = [case for case in WORLD[op] if case.trap]
    return [*traps, *part((case for case in WORLD[op] if not case.trap), 2)]


@pytest.mark.parametrize("op", sorted(RULES))
def test_every_rule_keeps_the_law(op: str) -> None:
    """No other answer than the original's, no model that does not run, no needless refusal, none but in a sentence."""
    judged = [(case, judge(case)) for case in asked(op)]
    refused = [pair for pair in judged if pair[1].kind == "refused"]
    needless = [told(*pair) for pair in refused if pair[0].free]
    unlawful = [told(*pair) for pair in judged if not pair[1].lawful]
    unclear = [told(*pair) for pair in refused if not is_sentence(pair[1].text)]

    assert len(WORLD[op]) >= 12
    assert not unlawful, "\n".join(unlawful)
    assert not needless, "\n".join(needless)
    assert not unclear, "\n".join(unclear)


def is_sentence(text: str) -> bool:
    """Whether a refusal can be read: two spaces are a name that is missing."""
    return text[0].isalnum() and "{" not in text and "  " not in text and len(text.split()) > 5


def test_nothing_is_tested_that_has_no_rule() -> None:
    assert set(WORLD) == set(RULES)


@settings(
    deadline=None, max_examples=120, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.randoms(use_true_random=False))
def test_compositions_keep_the_law(rng: Random) -> None:
    case = composition(rng)
    verdict = judge(case)

    assert verdict.lawful, told(case, verdict)


@pytest.mark.parametrize("seeds", [range(start, start + 40) for start in range(0, 160 if WHOLE else 80, 40)], ids=str)
def test_wild_models_keep_the_law(seeds: range) -> None:
    freed = 0
    for seed in seeds:
        case = wild(Random(seed))  # noqa: S311 - the same each time
        try:
            verdict = judge(case)
        except Unfit:
            continue
        assert verdict.lawful, f"{seed} {told(case, verdict)}"
        freed += verdict.kind == "freed"

    assert freed >= 8, "the law is not kept by refusing"


def test_most_compositions_are_freed_or_mix_their_samples() -> None:
    """So the law is not kept by refusing."""
    verdicts = [judge(composition(Random(seed))) for seed in range(100)]  # noqa: S311 - the same each time
    freed = sum(verdict.kind == "freed" for verdict in verdicts)
    mixing = sum("mixes the samples" in verdict.text for verdict in verdicts)

    assert freed >= 35
    assert freed + mixing >= 60


def test_any_home_that_a_reshape_offers_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the homes is a matter of taste: with the least natural first, the law holds as well."""
    for module in (layout, indexing, reshape):
        monkeypatch.setattr(module, "homes", lambda *asked: reversed(list(homes(*asked))))
    ops = ("Reshape", "Squeeze", "Gather", "Concat", "Split", "Slice")
    unlawful = [told(case, verdict) for op in ops for case in WORLD[op][::2] if not (verdict := judge(case)).lawful]

    assert not unlawful, "\n".join(unlawful)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_found(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    """In cases that keep the law without it, as the test of every rule says."""
    mutant.plant(monkeypatch)
    cases = (case for op in mutant.ops.split() for case in WORLD[op])

    assert any(not (verdict := judge(case)).lawful or (verdict.kind == "refused" and case.free) for case in cases)


def _open() -> list[Sketch]:
    """The cases that name the size of the batch."""
    return [case for op in WORLD for case in WORLD[op] if _is_open(case)]


def _is_open(case: Sketch) -> bool:
    return any(each.axis is not None and isinstance(each.dims[each.axis], str) for each in case.inputs.values())


def test_a_model_that_names_its_batch_gives_what_it_gave() -> None:
    """It says itself what several samples give; so it is freed to mean the same, or refused."""
    cases = _open()
    changed = [
        told(case, Verdict("changed", str(times))) for case in cases for times in (0, *TIMES) if not _kept(case, times)
    ]

    assert len(cases) >= 6
    assert not changed, "\n".join(changed)


def _kept(case: Sketch, times: int) -> bool:
    proto = case.proto()
    model, freed = ir.from_proto(proto), case.freed()
    try:
        plan = batch_plan(model, freed, "N", case.size)
    except FixError:
        return True
    feeds = case.piece(case.draw(max(TIMES)), 0, times)
    try:
        expected = Engine(proto)(feeds)
    except Exception:
        if times:
            raise
        return True  # not every model takes 0 samples
    apply_batch(model, plan, freed)
    found = Engine(ir.to_proto(model))(feeds)
    return all(difference(*pair, random=False) is None for pair in zip(found, expected, strict=True))


def test_numbers_of_samples_that_pick_their_own_are_left_alone() -> None:
    cases = [case for case in _open() if case.free]
    plans = [batch_plan(ir.from_proto(case.proto()), case.freed(), "N", case.size) for case in cases]

    assert len(plans) >= 2
    assert [plan.edits for plan in plans] == [()] * len(plans)


def test_some_cases_are_refused() -> None:
    """So the sentences are read."""
    assert any(judge(case).kind == "refused" for case in WORLD["Reshape"])


def test_a_plan_changes_nothing() -> None:
    def text(model: ir.Model) -> Any:
        return ir.to_proto(model).SerializeToString(deterministic=True)

    for op in ("Reshape", "Squeeze", "Gather", "Concat", "Slice"):
        for case in WORLD[op][:12]:
            model = ir.from_proto(case.proto())
            before = text(model)
            with suppress(FixError):
                batch_plan(model, case.freed(), "N", case.size)
            assert text(model) == before


def main(operators: list[str]) -> None:
    """All cases."""
    counts: Counter[str] = Counter()
    for case in whole_world():
        if not operators or case.about in operators:
            verdict = judge(case)
            needless = verdict.kind == "refused" and case.free
            counts["needless" if needless else verdict.kind] += 1
            if needless or not verdict.lawful:
                print(told(case, verdict))
    print(f"{counts.total()} cases: {', '.join(f'{count} {kind}' for kind, count in counts.items())}")


if __name__ == "__main__":
    main(sys.argv[1:])
