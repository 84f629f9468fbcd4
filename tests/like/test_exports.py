"""Real exports at two sizes: what is fitted on them is right at a third, or is refused for a true reason."""

from __future__ import annotations

from pathlib import Path

import onnx_ir as ir
import pytest

from onereshape.errors import FixError
from onereshape.models.like.plan import apply_like, like_plan
from tests.sizes_arbiter import Exports, exports_of, sizes_verdict

MODULES = exports_of(Path(__file__).parent.parent / "data" / "sizes")
REFUSED = {"hand_interp_half.ts": "the exports do not tell which is right"}
"""Modules that two exports do not tell enough of, and a word of the reason."""
LIMITED = {"hand_pad_to_multiple.dynamo": "S leaves"}
"""Modules that do not run at a size which their condition excludes, and how it begins."""
FITTED = [each for each in MODULES if not each.impossible and each.name not in {*REFUSED, *LIMITED}]


def freed(exports: Exports) -> tuple[bytes, tuple[str, ...]]:
    model, other = (ir.load(exports.files[letter]) for letter in "AC")
    plan = like_plan(model, [other], exports.free)
    apply_like(model, plan)
    return ir.to_proto(model).SerializeToString(), plan.conditions


@pytest.mark.parametrize("exports", FITTED, ids=lambda each: each.name)
def test_what_is_fitted_on_two_sizes_is_right_at_a_third(exports: Exports) -> None:
    assert sizes_verdict(exports, freed(exports)[0]) == ("right", "")


@pytest.mark.parametrize("exports", [each for each in MODULES if each.name in REFUSED], ids=lambda each: each.name)
def test_what_two_exports_do_not_tell_is_refused(exports: Exports) -> None:
    with pytest.raises(FixError) as refusal:
        freed(exports)

    assert REFUSED[exports.name] in refusal.value.sentence


@pytest.mark.parametrize("exports", [each for each in MODULES if each.name in LIMITED], ids=lambda each: each.name)
def test_a_size_that_a_condition_excludes_does_not_run(exports: Exports) -> None:
    model, conditions = freed(exports)

    assert any(condition.startswith(LIMITED[exports.name]) for condition in conditions)
    assert sizes_verdict(exports, model)[0] == "fails"


def test_most_of_them_are_fitted() -> None:
    assert len(FITTED) >= 20
