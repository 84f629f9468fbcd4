"""Cases: small models of one layer, which openvino's own opsets make, with what goes into them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset16

Made = Any
"""A node of openvino, or an output of one; its stubs say less than they know."""


class Maker:
    """Makes the inputs of a model, and what is fed to them."""

    def __init__(self, seed: int, *, unsaid: bool) -> None:
        self.random = np.random.default_rng(seed)
        self.unsaid = unsaid
        """Whether the file says no dims of inputs."""
        self.parameters: list[Made] = []
        self.arrays: list[np.ndarray[Any, Any]] = []

    def given(self, *dims: int, kind: Any = np.float32, low: float = -3, high: float = 3) -> Made:
        """An input with random elements, some of them equal."""
        kind = np.dtype(kind)
        if kind.kind == "f":
            drawn = np.round(self.random.uniform(low, high, dims) * 16) / 16 + self.random.normal(0, 0.01, dims)
            array = np.clip(drawn, low, high).astype(kind)
        elif kind.kind == "b":
            array = self.random.integers(0, 2, dims).astype(kind)
        else:
            array = self.random.integers(0 if kind.kind == "u" else int(low), int(high) + 1, dims).astype(kind)
        return self.fed(np.asarray(array))

    def fed(self, array: Any, kind: Any = None) -> Made:
        """An input with these elements."""
        array = np.asarray(array, kind)
        dims = [-1] * array.ndim if self.unsaid else list(array.shape)
        made = opset16.parameter(dims, ov.Type(array.dtype), f"in{len(self.parameters)}")
        self.parameters.append(made)
        self.arrays.append(array)
        return made

    def held(self, array: Any, kind: Any = np.float32) -> Made:
        """A constant."""
        return opset16.constant(np.asarray(array, kind))

    def drawn(self, *dims: int, low: float = -3, high: float = 3) -> Made:
        """A constant of random real numbers."""
        return self.held(self.random.uniform(low, high, dims))


Build = Callable[[Maker], Made | Sequence[Made]]


@dataclass(frozen=True)
class Case:
    """One layer in a model of its own."""

    kind: str
    """Its type, as the file writes it."""
    name: str
    build: Build
    undrawn: str | None = None
    """Words of the reason for which nobody draws it."""
    loose: float = 1e-5
    """How far real numbers may be apart."""
    sorted: bool = False
    """Whether the order of elements is nobody's."""
    seen: int | None = None
    """How many of the outputs are compared: all."""
    said: bool = False
    """Whether openvino answers rightly only where the file says all dims."""
    specified: bool = False
    """Whether openvino's own reference is asked, since its CPU plugin does not do what is specified."""
    swap: tuple[tuple[str, str], ...] = ()
    """Texts of the .xml that are others."""


def case(kind: str, name: str, build: Build, **said: Any) -> Case:
    """A case of a type of layer."""
    return Case(kind, name, build, **said)
