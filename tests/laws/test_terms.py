"""Every record of the term run, held against onnxruntime over the small world of shapes; and edits that are found.

    python -m tests.laws.test_terms [OPERATOR ...]    asks every case, and more changes of each

The suite asks some cases of each operator, spread over all that there are.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from onereshape.terms.call import Call, Record, Value
from onereshape.terms.records import RECORDS
from onereshape.terms.tensor import Tensor
from tests.laws.shape_law import Case, const, x
from tests.laws.shape_world import CASES
from tests.laws.terms_law import Refused, Run, confused, runs, signature, unseen, varied

TERMS: Final = Path(__file__).parents[1] / "terms"
FEW: Final = 4
"""Cases of each operator and version, in the suite."""

ELSEWHERE: Final[dict[str, str]] = {
    "test_control.py": "SequenceMap",
}
"""Files of tests/terms that hold operators which the world of shapes does not have."""

MORE: Final = [
    Case("CumProd", 26, (x("N", 3), const(1)), attributes, reference=True)
    for attributes in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1})
]
"""Cases of operators that onnxruntime does not have."""
WORLD: Final = [*CASES, *MORE]

_ROWS: Final = ("should have [N F]",)
"""A vector, which some operators take for a row."""

REFUSALS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys("Imputer LinearClassifier LinearRegressor Normalizer Scaler SVMRegressor".split(), _ROWS),
    **dict.fromkeys(("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor"), _ROWS),
    "AveragePool": ("begin behind the tensor", "rounds up without padding"),
    "BatchNormalization": ("training",),
    "Constant": ("which its opset does not take",),
    "ConvTranspose": ("not said how it is padded",),
    "Dropout": ("training", "what its mask is"),
    "Einsum": ("do not go together",),
    "FeatureVectorizer": ("other widths than it says",),
    "If": ("branches give other dims",),
    "Loop": ("runs not once",),
    "LpPool": ("begin behind the tensor",),
    "MaxPool": ("begin behind the tensor", "rounds up without padding", "has gaps"),
    "MaxUnpool": ("may be of other planes",),
    "NonZero": ("do not agree on what it makes of one number",),
    "PRelu": ("does not broadcast to its data",),
    "Range": ("counts in fractions",),
    "Resize": ("rounded to another dim", "scales a region"),
    "SVMClassifier": (*_ROWS, "depends on the engine"),
    "Slice": ("goes backwards to the largest number",),
    "StringNormalizer": ("leaves texts out",),
    "Upsample": ("rounded to another dim",),
}
"""What onnxruntime runs and terms do not: what the specification leaves open, what engines do beyond it, randomness."""

NEVER: Final = {"MaxUnpool"}
"""Operators of which no case runs on terms as it is."""


def known(case: Case) -> bool:
    return (case.domain, case.op) in RECORDS


def some(cases: Iterable[Case], few: int) -> tuple[list[Case], list[Case]]:
    """So many of each version of an operator, at even distances, and one with other values of its attributes."""
    found: dict[Any, list[Case]] = defaultdict(list)
    for case in cases:
        found[case.domain, case.op, case.opset].append(case)
    chosen = [
        each[place * len(each) // min(few, len(each))]
        for each in found.values()
        for place in range(min(few, len(each)))
    ]
    chosen.sort(key=lambda case: max((len(each.dims) for each in case.inputs if each is not None), default=0))
    last = {(case.domain, case.op): case for case in chosen}
    return chosen, [each for case in last.values() for each in varied(case)]


def judge(
    cases: Sequence[Case], others: Sequence[Case], tries: int
) -> tuple[list[str], Counter[str], Counter[tuple[str, str]]]:
    """What is wrong, how many runs there were of each operator, and what was refused and is not listed.

    Others, with attributes that need not make sense, are refused as they are.
    """
    wrong: list[str] = []
    ran: Counter[str] = Counter()
    refused: Counter[tuple[str, str]] = Counter()
    groups: dict[Any, list[Run]] = defaultdict(list)
    for place, case in enumerate([*cases, *others]):
        for found in runs(case, 1):
            if isinstance(found, Refused):
                if place < len(cases) and not any(why in found.why for why in REFUSALS.get(found.op, ())):
                    refused[found.op, found.why] += 1
            elif isinstance(found, str):
                wrong.append(found)
            else:
                ran[case.op] += 1
                groups[signature(case)].append(found)
                wrong += unseen(found, np.random.default_rng(place), tries)
    for each in groups.values():
        wrong += confused(each)
    return wrong, ran, refused


def test_every_record_is_held() -> None:
    world = {(case.domain, case.op) for case in WORLD}
    listed = {op: name for name, ops in ELSEWHERE.items() for op in ops.split()}
    others = {op for domain, op in RECORDS if (domain, op) not in world}

    assert others == set(listed)
    texts = {name: (TERMS / name).read_text(encoding="utf-8") for name in ELSEWHERE}
    assert [op for op, name in listed.items() if op not in texts[name]] == []


BLOCKS: Final = 12


@pytest.mark.parametrize("block", range(BLOCKS))
def test_what_changes_an_answer_changes_its_terms(block: int) -> None:
    ops = sorted({(case.domain, case.op) for case in WORLD if known(case)})
    mine = set(ops[block::BLOCKS])
    wrong, ran, refused = judge(*some((case for case in WORLD if (case.domain, case.op) in mine), FEW), 2)

    assert wrong == []
    assert not refused
    assert {op for _, op in mine} - set(ran) <= NEVER


def _without(word: int) -> Callable[[Record], Record]:
    """A record whose answer does not depend on one of its operands."""

    def change(record: Record) -> Record:
        def rule(call: Call) -> Sequence[Value]:
            inputs = list(call.inputs)
            given = inputs[word]
            assert isinstance(given, Tensor)
            if not given.known:
                inputs[word] = replace(given, words=np.zeros_like(given.array))
            return record.rule(replace(call, inputs=tuple(inputs)))

        return replace(record, rule=rule)

    return change


def _blind(record: Record) -> Record:
    """A record that does not read its attributes."""

    def rule(call: Call) -> Sequence[Value]:
        return record.rule(replace(call, attributes={}))

    return replace(record, rule=rule)


def _sameness(record: Record) -> Record:
    """A record that takes the first sample for all."""

    def rule(call: Call) -> Sequence[Value]:
        return [
            each.moved(lambda array: np.broadcast_to(array[:1], array.shape))
            if isinstance(each, Tensor) and each.rank and each.size
            else each
            for each in record.rule(call)
        ]

    return replace(record, rule=rule)


MUTANTS: Final[list[tuple[str, Callable[[Record], Record]]]] = [
    ("MatMul", _without(1)),
    ("Conv", _without(1)),
    ("Where", _without(2)),
    ("GatherElements", _without(1)),
    ("LayerNormalization", _without(0)),
    ("LeakyRelu", _blind),
    ("Gemm", _blind),
    ("Elu", _blind),
    ("Softmax", _sameness),
    ("Relu", _sameness),
    ("CumSum", _blind),
    ("Trilu", _blind),
]


@pytest.mark.parametrize(("op", "change"), MUTANTS, ids=[f"{op}{place}" for place, (op, _) in enumerate(MUTANTS)])
def test_the_law_finds_a_record_that_sees_less(
    op: str, change: Callable[[Record], Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RECORDS, ("", op), change(RECORDS["", op]))
    cases = [case for case in WORLD if (case.domain, case.op) == ("", op)]

    assert judge(*some(cases, 16), 8)[0] != []


if __name__ == "__main__":
    asked = [case for case in WORLD if known(case) and (not sys.argv[1:] or case.op in sys.argv[1:])]
    found, counted, others = judge(asked, [each for case in asked[::7] for each in varied(case)], 12)
    for line in [*found, *(f"{op} is refused {count} times: {why}" for (op, why), count in others.items())]:
        print(line)
    print(f"{counted.total()} runs of {len(counted)} operators, {len(found)} wrong, {others.total()} refused")
    sys.exit(bool(found or others))
