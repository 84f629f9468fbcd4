"""Which array library an object comes from, found through the object: no library is imported to be asked.

A library has a module of this room with these functions: `dims`, `type_name` and `layout` of an array, `integers` of a
shape tensor, `tracing` (and `traced`, where dims may be symbols), `reshaped`, and `quickest`, the function that
reshapes arrays of a layout seen before.  Objects of other libraries are taken by their array-API namespace, where they
have one.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

_ROOTS = {"torch": "torch", "jax": "jax", "jaxlib": "jax", "cupy": "cupy"}


def _root(kind: type) -> str | None:
    """The library of a class or of a class that it is derived from: a subclass of `torch.Tensor -> torch`."""
    for base in kind.__mro__:
        root = base.__module__.partition(".")[0]
        if root in _ROOTS:
            return _ROOTS[root]
    return None


_found: dict[type, ModuleType] = {}


def library_of(data: Any) -> ModuleType | None:
    """The module that reshapes data, `torch.Tensor -> torch_arrays`; None if data is no array of a known library."""
    kind = type(data)
    if kind in _found:
        return _found[kind]
    found = _library_of(data, _root(kind))
    if found is not None:
        _found[kind] = found
    return found


def _library_of(data: Any, root: str | None) -> ModuleType | None:
    found: ModuleType | None = None
    if root == "torch" and hasattr(data, "data_ptr"):
        from onereshape.arrays import torch_arrays as found  # noqa: PLC0415 - its library is there: it made the object
    elif root == "jax" and hasattr(data, "aval"):
        from onereshape.arrays import jax_arrays as found  # noqa: PLC0415
    elif root == "cupy" and hasattr(data, "__cuda_array_interface__"):
        from onereshape.arrays import cupy_arrays as found  # noqa: PLC0415
    elif hasattr(data, "__array_namespace__"):
        from onereshape.arrays import namespace_arrays as found  # noqa: PLC0415
    return found
