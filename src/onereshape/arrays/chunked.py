"""Arrays made of blocks that are not there yet: found by the name of their library, which is not imported to be asked.

The module of such a library has `read(data)`, which refuses what is no array of it or cannot be reshaped yet, and
`reshape(data, output, copy, check, **options)`: the array in its new dims.  `check` looks at a block of objects, which
may hold anything.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {"dask": "onereshape.arrays.dask_arrays"}


_found: dict[type, ModuleType | None] = {}


def chunked_library(data: Any) -> ModuleType | None:
    """The module that reshapes data made of blocks: `dask.array.Array -> dask_arrays`; None for any other data."""
    kind = type(data)
    if kind not in _found:
        name = _MODULES.get(kind.__module__.partition(".")[0])
        _found[kind] = None if name is None else import_module(name)
    return _found[kind]
