"""Modules of others that a command rarely needs: they are loaded when something is asked of them, not when imported.

onnx-ir imports sympy, which it needs for formulas of dims; that takes longer than `check` of a small model does.  Only
the command delays it: in a program that imports onereshape, all imports are as they were.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import LazyLoader
from types import ModuleType

_DELAYED = frozenset({"sympy", "onnx_ir._symbolic_shapes"})
"""Modules that are loaded late; that of onnx_ir, where there is one, uses sympy as soon as it is imported."""


class _Finder:
    """Finds what is delayed where it would be found anyway."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        found = PathFinder.find_spec(name, path, target) if name in _DELAYED else None
        if found is not None and found.loader is not None:
            found.loader = LazyLoader(found.loader)
        return found


def delay() -> None:
    """Has them loaded late from now on."""
    sys.meta_path.insert(0, _Finder)
