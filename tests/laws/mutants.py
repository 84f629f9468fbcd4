"""Planted bugs: modules of ours as they would be with one line changed."""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

HOMES = ("rule", "rule.inferring", "backends")
"""The rooms of what is planted in."""


def mutated(modules: Sequence[str], module: str, line: str, becomes: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The last of `modules`, on fresh copies of all of them, with that line changed in one."""
    copy = types.ModuleType("none")
    for name in modules:
        found = next(found for home in HOMES if (found := find_spec(f"onereshape.{home}.{name}")) is not None)
        assert found.origin is not None
        source = Path(found.origin).read_text(encoding="utf-8")
        if name == module:
            assert line in source, f"{module}.py no longer has the line {line!r}"
            source = source.replace(line, becomes)
        copy = types.ModuleType(found.name)
        monkeypatch.setitem(sys.modules, copy.__name__, copy)
        exec(compile(source, found.origin, "exec"), copy.__dict__)  # noqa: S102 - our own source
    return copy
