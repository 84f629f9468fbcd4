"""Ways to write that PyTorch code has, as both exporters bake a batch into them: freed as PyTorch answers, or refused.

`tests/data/idioms/export_idioms.py` has the code, and its truth for five samples.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from tests import running

FOLDER = Path(__file__).parent.parent / "data" / "idioms"
_ONE = "an export of one sample may be freed"
_BACK = f"which may be less than its sample begins with, and reach into the one before; {_ONE}"
_EACH = f"from the 2 samples that the model was exported with, and not from each sample its own; {_ONE}"
_BROKEN = "which begins at /Add (Add): it has not the inputs, outputs or attributes that its operator asks for"
_REVERSED = "it reverses axis 0, which is N, so that the samples come out in another order"
REFUSED = {
    "each_by_index.ts.2": f"/Gather_2 (Gather) mixes the samples: it picks by /Add_output_0, {_BACK}",
    "unpool.dynamo.2": f"node_ScatterND_39 (ScatterND) mixes the samples: it picks by val_36, {_BACK}",
    "stacked.ts.2": f"/Gather (Gather): it picks by /Constant_output_0 {_EACH}",
    "stacked.dynamo.2": f"node_select (Gather): it picks by val_0 {_EACH}",
    "reversed_samples.ts.1": f"/Slice (Slice): {_REVERSED}",
    "reversed_samples.ts.2": f"/Slice (Slice) mixes the samples: {_REVERSED}",
    "reversed_samples.dynamo.1": f"node_flip (Slice): {_REVERSED}",
    "reversed_samples.dynamo.2": f"node_flip (Slice) mixes the samples: {_REVERSED}",
    "last_put.ts.1": f"/Reshape_1 (Reshape): the rank of /Reshape_1_output_0 is not known, {_BROKEN}",
    "last_put.ts.2": f"/Reshape (Reshape): the rank of /Reshape_output_0 is not known, {_BROKEN}",
}
"""What the two samples of an export do to each other, and what an exporter wrote that no engine can run."""
CERTIFIED = {"mask_put.dynamo.1", "mask_put.dynamo.2"}
"""How many places a mask has only a run tells, and no term."""
FILES = sorted(path.stem for path in FOLDER.glob("*.onnx"))


def inputs_of(session: ort.InferenceSession) -> list[str]:
    return [each.name for each in session.get_inputs()]


@pytest.mark.parametrize("name", [name for name in FILES if name not in REFUSED])
def test_an_idiom_is_freed_as_pytorch_answers(name: str) -> None:
    fixed = orx.fix(FOLDER / f"{name}.onnx", batch=True)
    session = running.session(fixed.model.ir, optimized=True)
    function = name.split(".", maxsplit=1)[0]
    with np.load(FOLDER / "truth.npz") as arrays:
        truth = {called: arrays[f"{function}.{called}"] for called in ("y", *inputs_of(session))}

    assert fixed.certificate.status == ("certified" if name in CERTIFIED else "proven")
    for count in (1, 2, 3, 5):
        (found,) = session.run(None, {each: truth[each][:count] for each in inputs_of(session)})
        np.testing.assert_allclose(found, truth["y"][:count], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_an_idiom_is_refused_for_what_it_is(name: str) -> None:
    with pytest.raises(FixError) as refusal:
        orx.fix(FOLDER / f"{name}.onnx", batch=True)

    assert refusal.value.sentence == REFUSED[name]


def test_both_exporters_are_asked_with_one_sample_and_with_two() -> None:
    assert len(FILES) >= 50
    assert {tuple(name.split(".")[1:]) for name in FILES} == {(by, n) for by in ("ts", "dynamo") for n in "12"}
