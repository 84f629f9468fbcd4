"""Which of our modules knows an array: found by the name of its type's library, which is never imported to be asked.

Each of those modules has `read(data)`, which refuses what is no array of that library or cannot be reshaped yet, and
`reshape(data, output, copy, check, **options)`: the array in its new dims.  `check` looks at a block of objects, which
may hold anything.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

_MODULES = {
    "dask": "onereshape.arrays.dask_arrays",
}


def library_of(data: Any) -> ModuleType | None:
    """The module that knows arrays of this type, or None where there is none."""
    name = _MODULES.get(type(data).__module__.partition(".")[0])
    return None if name is None else import_module(name)
