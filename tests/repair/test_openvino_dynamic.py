"""An IR that OpenVINO itself answers otherwise while its dims are dynamic is refused, and that is said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.prove.engines.engine import Session
from tests.openvino_models import CASES

DYNAMIC = "openvino itself answers otherwise while dims are dynamic: with these sizes fixed the model agrees"

WORDS = "openvino itself answers otherwise while dims are dynamic"


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that is wrong wherever it does not know the sizes before."""
    run = Session.run

    def answers(session: Session, feeds: Mapping[str, Any]) -> dict[str, Any]:
        found = run(session, feeds)
        dims = [dim for value in session._source[0].graph.inputs for dim in value.shape or ()]
        return found if all(isinstance(dim, int) for dim in dims) else {name: -each for name, each in found.items()}

    monkeypatch.setattr(Session, "run", answers)


@pytest.mark.usefixtures("wrong")
def test_a_plugin_that_is_wrong_with_dynamic_dims_is_named(tmp_path: Path) -> None:
    path = CASES["attention"].save(tmp_path / "model.xml")
    with pytest.raises(FixError) as caught:
        orx.fix(path, batch=True)

    assert "output 'y' differs by " in str(caught.value)
    assert str(caught.value).endswith(f"; {DYNAMIC}  [not-certified]")
    assert DYNAMIC.startswith(WORDS)


def test_a_repair_that_is_wrong_is_not_excused_so(tmp_path: Path) -> None:
    """Another model in its place: it differs with fixed sizes too."""
    path = CASES["attention"].save(tmp_path / "model.xml")
    repaired = orx.fix(path, batch=True).model
    orx.save(repaired, tmp_path / "out.xml")
    weights = bytearray((tmp_path / "out.bin").read_bytes())
    weights[3:1024:4] = bytes(byte ^ 0x80 for byte in weights[3:1024:4])
    (tmp_path / "out.bin").write_bytes(weights)
    found = orx.certify(path, tmp_path / "out.xml", batch=True)

    assert found.status == "differs"
    assert WORDS not in found.reason


@pytest.mark.usefixtures("wrong")
def test_an_onnx_model_is_not_excused_so() -> None:
    with pytest.raises(FixError) as caught:
        orx.fix("tests/data/corpus/hand_cls_token_expand.ts.onnx", batch=True)

    assert " differs by " in str(caught.value)
    assert WORDS not in str(caught.value)
