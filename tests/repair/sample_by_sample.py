"""A repaired model on several samples against the original on each, by runs of onnxruntime alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from tests.running import session

Array = np.ndarray[Any, Any]
COUNTS = (1, 2, 3, 5)


def compared(
    original: bytes, repaired: bytes, sizes: Mapping[str, int], places: Sequence[tuple[int, int]] = ()
) -> tuple[int, list[str]]:
    """How often both gave something, and what differs; every input carries the samples on its axis 0.

    So does every output, where `places` do not say another axis, and how many rows of all samples it has.
    """
    rng, alone, many = np.random.default_rng(0), session(original), session(repaired)
    inputs = [each for each in onnx.load_from_string(original).graph.input if each.name]
    found, wrong = 0, list[str]()
    for count in COUNTS:
        samples = [{each.name: _drawn(rng, each, sizes) for each in inputs} for _ in range(count)]
        whole = {name: np.concatenate([each[name] for each in samples]) for name in samples[0]}
        ran = [_run(alone, each) for each in samples]
        wanted = [each for each in ran if not isinstance(each, str)]
        if len(wanted) < len(ran):  # what the original does not take, nobody asks for
            continue
        given = _run(many, whole)
        if isinstance(given, str):
            wrong.append(f"{count} samples at {dict(sizes)}: {given}")
            continue
        found += 1
        for place, array in enumerate(given):
            axis, rows = places[place] if places else (0, 1)
            expected = _joined([each[place] for each in wanted], axis, rows, new=array.ndim > wanted[0][place].ndim)
            if array.shape != expected.shape or not np.allclose(array, expected, 1e-4, 1e-5, equal_nan=True):
                wrong.append(f"output {place} of {count} samples at {dict(sizes)}")
    return found, wrong


def _joined(parts: Sequence[Array], axis: int, rows: int, *, new: bool) -> Array:
    """What single samples gave, as a batch has it: on an axis of their own, or in each row of an axis."""
    if new:  # it may have an axis for them now
        return np.stack(parts, axis)
    before, after = parts[0].shape[:axis], parts[0].shape[axis + 1 :]
    split = [each.reshape(*before, rows, each.shape[axis] // rows, *after) for each in parts]
    whole = np.concatenate(split, axis + 1)
    return whole.reshape(*before, rows * whole.shape[axis + 1], *after)


def _run(model: Any, feeds: Mapping[str, Any]) -> list[Any] | str:
    """The outputs of a model for these inputs, or the first line of the engine's error."""
    try:
        return list(model.run(None, feeds))
    except Exception as error:  # noqa: BLE001 - whatever the engine raises
        return str(error).splitlines()[0]


def _drawn(rng: np.random.Generator, value: onnx.ValueInfoProto, sizes: Mapping[str, int]) -> Array:
    kind = value.type.tensor_type
    dims = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in kind.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    return rng.integers(0, 2, dims).astype(dtype) if dtype.kind in "iub" else rng.standard_normal(dims).astype(dtype)
