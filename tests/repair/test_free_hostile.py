"""What is said of modules whose numbers come from a size: a word that is larger than what was compared is a lie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.prove.certificate import Certificate
from onereshape.repair.fix import fix
from onereshape.repair.step import Fixed
from tests.models import write
from tests.prove.certifying import other
from tests.repair.sized_modules import MODULES, Array, Module
from tests.running import session

EXPORTED, WITNESSED, OTHERS = 6, 10, (4, 8, 14)


def answer(proto: onnx.ModelProto, x: Array) -> Array | None:
    """What onnxruntime answers; None where it refuses."""
    loaded = session(proto, optimized=True)
    try:
        found: Array = loaded.run(None, {"x": x})[0]
    except Exception:  # noqa: BLE001 - onnxruntime's errors have no class in common
        return None
    return found


def right(proto: onnx.ModelProto, module: Module, size: int) -> bool:
    """Whether a model answers as the module means it."""
    x = module.drawn(size)
    found, want = answer(proto, x), module.truth(x)
    return found is not None and found.shape == want.shape and np.allclose(found, want, rtol=1e-4, atol=1e-5)


def sizes(found: Certificate | None) -> set[int]:
    """The sizes that a certificate calls compared."""
    return {size for each in found.compared for size in each.values()}


def proto_of(model: Any) -> onnx.ModelProto:
    proto: onnx.ModelProto = ir.to_proto(model.ir)
    return proto


def attempted(path: str, **asked: Any) -> Fixed | FixError:
    """The result of `fix` on the model at `path`, or its FixError."""
    try:
        return fix(path, **asked)
    except FixError as refusal:
        return refusal


@pytest.mark.parametrize("name", MODULES)
def test_the_truth_is_that_of_the_exports(name: str) -> None:
    for size in (EXPORTED, WITNESSED, *OTHERS):
        assert right(MODULES[name].exported(size), MODULES[name], size)


@pytest.mark.parametrize("name", MODULES)
def test_the_worst_repair_is_never_certified(name: str) -> None:
    """All numbers stay those of the export; it runs elsewhere, in most cases, and is wrong there."""
    module = MODULES[name]
    original, repaired = (ir.from_proto(proto) for proto in (module.exported(EXPORTED), module.renamed(EXPORTED)))
    assert not any(right(module.renamed(EXPORTED), module, size) for size in OTHERS) or name == "interpolation to 12"

    alone = other(original, repaired, freed=module.freed)
    assert alone.status in {"unwitnessed", "failed"}
    assert sizes(alone) == {EXPORTED}
    assert "certified" not in alone.reason

    witnessed = other(original, repaired, freed=module.freed, witnesses=(ir.from_proto(module.exported(WITNESSED)),))
    assert witnessed.holds == right(module.renamed(EXPORTED), module, WITNESSED)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("simplify", [False, True])
def test_without_a_witness_nothing_says_certified(name: str, simplify: bool, tmp_path: Path) -> None:
    module = MODULES[name]
    path = write(module.exported(EXPORTED), tmp_path / "m.onnx")
    with pytest.raises(FixError) as refusal:
        fix(path, free=module.freed, simplify=simplify)
    assert refusal.value.code in {"cannot-free", "unwitnessed", "not-certified"}
    if refusal.value.code != "unwitnessed":
        return

    fixed = fix(path, free=module.freed, simplify=simplify, unwitnessed=True)
    assert (fixed.certificate.status, fixed.certificate.holds) == ("unwitnessed", False)
    assert sizes(fixed.certificate) == {EXPORTED}
    assert right(proto_of(fixed.model), module, EXPORTED)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("unwitnessed", [False, True])
def test_what_is_certified_is_right_at_the_sizes_it_names(name: str, unwitnessed: bool, tmp_path: Path) -> None:
    """A witness that contradicts is not outvoted by who would take the file without one."""
    module = MODULES[name]
    path = write(module.exported(EXPORTED), tmp_path / "m.onnx")
    witness = write(module.exported(WITNESSED), tmp_path / "w.onnx")
    fixed = attempted(path, free=module.freed, witness=witness, unwitnessed=unwitnessed)
    if isinstance(fixed, FixError):
        assert fixed.code in {"cannot-free", "not-certified"}
        return

    assert fixed.certificate.holds
    assert sizes(fixed.certificate) == {EXPORTED, WITNESSED}
    assert all(right(proto_of(fixed.model), module, size) for size in (EXPORTED, WITNESSED))


PAIRS = [
    ("encoder.ts", 8, 13),
    ("decoder.dynamo", 13, 8),
    ("positions.ts", 8, 13),
    ("unet.ts", 16, 24),
    ("windows.ts", 24, 16),
]


@pytest.mark.parametrize(("name", "here", "there"), PAIRS)
def test_a_right_repair_is_certified_by_its_other_export(name: str, here: int, there: int) -> None:
    """What is refused above is not refused for want of better."""
    path, witness = (Path(__file__).parent.parent / "data" / "models" / f"{name}.{size}.onnx" for size in (here, there))
    inputs = orx.load(path).ir.graph.inputs
    free = {str(value.name): {1: "S"} if len(value.shape or ()) == 2 else {2: "H", 3: "W"} for value in inputs}

    assert getattr(attempted(str(path), free=free), "code", "") == "unwitnessed"
    assert fix(path, free=free, unwitnessed=True).certificate.status == "unwitnessed"
    found = fix(path, free=free, witness=witness).certificate
    assert (found.status, len(found.compared)) == ("proven", 2)
    assert set(found.witnesses[0].items()) <= set(found.compared[1].items())


def test_the_words_of_a_batch_are_those_of_what_was_compared() -> None:
    fixed = orx.fix(Path(__file__).parent.parent / "data" / "corpus" / "hand_squeeze_all.ts.onnx", batch=True)

    assert [each["N"] for each in fixed.certificate.compared] == [1, 2, 3]
    assert fixed.certificate.ran == ()
