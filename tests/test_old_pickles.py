"""What was pickled when modules had other names still loads, and is the same."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import pytest

import onereshape as orx

KEPT = json.loads((Path(__file__).parent / "data" / "old_pickles.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", KEPT)
def test_it_loads(name: str) -> None:
    back = pickle.loads(base64.b64decode(KEPT[name]["pickle"]))  # noqa: S301 - our own bytes

    said = str(back) if isinstance(back, Exception) else "" if back is orx.reshape else repr(back)
    assert said == KEPT[name]["repr"]
