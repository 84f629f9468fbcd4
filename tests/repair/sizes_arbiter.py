"""Is a model that was freed from its sizes right at each of them?  Decided without any code of ours.

A folder holds a module's exports at several sizes, with equal weights; `manifest.json` names the sizes and says how to
draw inputs.  onnxruntime runs the freed model and the true export of each size, on the same values.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

from tests.arbiter import ABSOLUTE, RELATIVE, Array, drawn
from tests.running import session

DRAWS = 3


class Exports(NamedTuple):
    """The exports of one module."""

    name: str
    files: dict[str, Path]
    """By letter: A and C are shown to a repair, B is not."""
    sizes: dict[str, dict[str, int]]
    inputs: dict[str, dict[str, Any]]
    impossible: bool

    @property
    def free(self) -> dict[str, dict[int, str]]:
        """Input -> axis -> the name of its size."""
        return {
            name: {int(axis): size for axis, size in each["free"].items()}
            for name, each in self.inputs.items()
            if each.get("free")
        }


def exports_of(folder: Path) -> list[Exports]:
    """All modules of a folder."""
    found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return [
        Exports(
            name,
            {letter: folder / file for letter, file in each["files"].items()},
            each["sizes"],
            each["inputs"],
            bool(each.get("impossible")),
        )
        for name, each in found.items()
    ]


def sizes_verdict(exports: Exports, freed: bytes) -> tuple[str, str]:
    """`right`, `wrong` (it answers otherwise), `fails` (it does not run) or `fixed` (a size stayed); and why."""
    candidate = session(freed, optimized=True)
    names = {given.name: given.shape for given in candidate.get_inputs()}
    still = [
        f"{name}[{axis}]" for name, axes in exports.free.items() for axis in axes if isinstance(names[name][axis], int)
    ]
    if still:
        return "fixed", f"{', '.join(still)} is a number"
    for letter, file in exports.files.items():
        truth = session(file, optimized=True)
        declared = {given.name: given for given in onnx.load(file, load_external_data=False).graph.input}
        rng = np.random.default_rng(2)
        for _ in range(DRAWS):
            feed = {name: drawn(rng, _declared(declared[name]), each["gen"]) for name, each in exports.inputs.items()}
            wanted = truth.run(None, feed)
            try:
                found = candidate.run(None, feed)
            except Exception as error:  # noqa: BLE001 - whatever the engine raises
                return "fails", f"at {letter}: {str(error).splitlines()[0]}"
            for value, one, other in zip(truth.get_outputs(), found, wanted, strict=True):
                if not near(one, other):
                    return "wrong", f"{value.name} at {letter}"
    return "right", ""


def near(one: Array, other: Array) -> bool:
    """Whether an answer is another, to rounding of its scale; anything but floats exactly."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, other))
    finite = np.isfinite(other)
    if not np.array_equal(finite, np.isfinite(one)) or not finite.any():
        return bool(np.array_equal(one, other, equal_nan=True))
    wanted = other[finite].astype(np.float64)
    off = np.abs(one[finite] - wanted)
    return bool(np.all(off <= RELATIVE * np.abs(wanted) + ABSOLUTE * np.sqrt(np.mean(wanted**2))))


def _declared(given: onnx.ValueInfoProto) -> tuple[list[int], Any]:
    found = given.type.tensor_type
    return [dim.dim_value for dim in found.shape.dim], onnx.helper.tensor_dtype_to_np_dtype(found.elem_type)
