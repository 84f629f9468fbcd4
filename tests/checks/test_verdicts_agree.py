"""`check --batch`, `fix --batch` and `report --batch` say nothing of one model that cannot all be true."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from bench.released_contradictions import OPEN, Said, asked, contradictions

import onereshape as orx
from onereshape.checks.check import RUNS
from tests.checks.agreeing_models import MODELS, saved

REFUSED = {
    "fixed, samples meet": "mixes-samples",
    "fixed, a sum along it": "mixes-samples",
    "fixed to several, samples meet": "mixes-samples",
    "no batch, one vector": "no-batch",
    "no batch, a picture": "no-batch",
    "samples that must divide": "cannot-free",
    "samples meet": "mixes-samples",
    "samples meet, beside a length": "mixes-samples",
    "samples are chosen": "mixes-samples",
    "boxes in a row, by other steps": "mixes-samples",
}
LEFT = {
    "right, a 0 that copies",
    "right, nothing to see",
    "right, without a name",
    "absorbed, and set apart",
    "absorbed, and set apart, beside a length",
    "a length that must divide",
    "a length that is fixed",
    "boxes by pairs",
    "boxes in a row",
    "boxes in a row, by their number",
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Said]:
    folder = tmp_path_factory.mktemp("models")
    return {name: asked(saved(name, folder)) for name in MODELS}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_contradicts(name: str, told: dict[str, Said]) -> None:
    assert [*contradictions(told[name])] == []


@pytest.mark.parametrize("name", MODELS)
def test_what_becomes_of_each(name: str, told: dict[str, Said]) -> None:
    """So that the models are of the kinds that they are called."""
    fixed = told[name].fixed
    if name in REFUSED:
        assert isinstance(fixed, orx.FixError)
        assert fixed.code == REFUSED[name]
    else:
        assert not isinstance(fixed, orx.FixError)
        assert told[name].changed == (name not in LEFT)


def test_fix_says_which_sizes_the_model_does_not_take(told: dict[str, Said]) -> None:
    said = {name: told[name].fixed.notes for name in MODELS if name.startswith("a length")}

    assert said == {
        "a length that must divide": ("graph/Reshape#0 runs only where S is divisible by 2: not at S = 1",),
        "a length that is fixed": ("S is forced to 8 by graph/Reshape#0: shape = [0, 2, 4]",),
        "a length that must divide, beside a fixed batch": (
            "graph/Reshape#0 runs only where S is divisible by 4: not at S = 1",
        ),
    }


@pytest.mark.parametrize("name", MODELS)
def test_sample_by_sample_the_page_says_what_fix_says(name: str, tmp_path: Path) -> None:
    if REFUSED.get(name) not in {"mixes-samples", "cannot-free"}:
        return
    said = asked(saved(name, tmp_path), per_sample=True)
    lines = [line for line in contradictions(said) if not line.startswith("check")]  # which is asked without it

    assert lines == []


def planted(said: Said) -> dict[str, Said]:
    """Contradictions by name: answers of `check`, `fix` and `report` of which two cannot both be true."""
    refusal = orx.FixError("mixes-samples", node="n", op="Softmax", why="it does")
    finding = orx.check("tests/data/corpus/hand_yolo_head.ts.onnx", batch=True)[0]
    cannot = replace(finding, code="cannot-free", fixable=False)
    may = replace(finding, severity="warning", fixable=None)
    lead = f"Refused. {refusal.sentence}"
    return {
        "nothing is found": said._replace(found=[]),
        "nothing is found, and it is refused": Said([], refusal, False, lead, ""),
        "cannot, and does": said._replace(found=[cannot]),
        "can, and does not": Said([finding], refusal, False, lead, ""),
        "may, and does not": Said([may], refusal, False, lead, ""),
        "an error of what is right": said._replace(changed=False, lead="Nothing to repair.", left=""),
        "what is repaired for another reason": said._replace(found=refusal),
        "another page": said._replace(lead="Nothing to repair."),
        "a page that refuses": said._replace(lead=lead),
        "a page that repairs": Said([cannot], refusal, False, "Repaired and proven.", ""),
        "a page that leaves it open": Said([cannot], refusal, False, lead, RUNS),
        "a page with what cannot be": said._replace(left="cannot-free"),
    }


@pytest.mark.parametrize("name", [*planted(Said([], None, False, "", ""))])
def test_a_contradiction_is_seen(name: str, told: dict[str, Said]) -> None:
    said = planted(told["fixed, in a target"])[name]
    lines = [*contradictions(said)]

    assert lines
    assert all(line.startswith(OPEN) for line in lines) == (name == "may, and does not")
