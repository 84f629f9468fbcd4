"""A repaired model on several samples against the original on each, by runs of onnxruntime alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from tests.running import session

COUNTS = (1, 2, 3, 5)


def compared(original: bytes, repaired: bytes, sizes: Mapping[str, int], seed: int = 0) -> tuple[int, list[str]]:
    """How often both gave something, and what differs; every input and output carries the samples on its axis 0."""
    rng, alone, many = np.random.default_rng(seed), session(original), session(repaired)
    inputs = [each for each in onnx.load_from_string(original).graph.input if each.name]
    found, wrong = 0, list[str]()
    for count in COUNTS:
        samples = [{each.name: _drawn(rng, each, sizes) for each in inputs} for _ in range(count)]
        whole = {name: np.concatenate([each[name] for each in samples]) for name in samples[0]}
        wanted = [_run(alone, each) for each in samples]
        if any(isinstance(each, str) for each in wanted):  # what the original does not take, nobody asks for
            continue
        given = _run(many, whole)
        if isinstance(given, str):
            wrong.append(f"{count} samples at {dict(sizes)}: {given}")
            continue
        found += 1
        for place, array in enumerate(given):
            expected = np.concatenate([each[place] for each in wanted])
            if array.shape != expected.shape or not np.allclose(array, expected, 1e-4, 1e-5, equal_nan=True):
                wrong.append(f"output {place} of {count} samples at {dict(sizes)}")
    return found, wrong


def _run(model: Any, feeds: Mapping[str, Any]) -> list[Any] | str:
    """What it gives, or why it does not."""
    try:
        return list(model.run(None, feeds))
    except Exception as error:  # noqa: BLE001 - whatever the engine raises
        return str(error).splitlines()[0]


def _drawn(rng: np.random.Generator, value: onnx.ValueInfoProto, sizes: Mapping[str, int]) -> np.ndarray[Any, Any]:
    kind = value.type.tensor_type
    dims = [sizes[dim.dim_param] if dim.dim_param else dim.dim_value for dim in kind.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    return rng.integers(0, 2, dims).astype(dtype) if dtype.kind in "iub" else rng.standard_normal(dims).astype(dtype)
