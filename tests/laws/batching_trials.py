"""Wild: a model that grows by trial: each node is tried on the arrays of one run before it is kept.

So whoever adds to it need not know what fits what.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import onnx
from onnx import helper

from tests.laws.batching_law import Unfit
from tests.laws.batching_sketch import FLOAT, INT, Sketch
from tests.running import session

Array = np.ndarray[Any, Any]
MOST = 200
"""Elements of a tensor."""


class Wild:
    """The model so far: each tensor with what it is in one run."""

    def __init__(self, rng: Random, opset: int, size: int) -> None:
        self.rng, self.opset = rng, opset
        self.sketch = Sketch("wild", opset, size)
        self.arrays: dict[str, Array] = {}
        self.seed = np.random.default_rng(rng.randrange(2**32))

    def input(self, dtype: Any, low: int, high: int, axis: int | None) -> str:
        """An input of the model, with the samples at an axis or without them."""
        dims: list[int | str] = [self.rng.choice((1, 2, 3, 4)) for _ in range(self.rng.choice((1, 2, 2, 3, 3, 4)))]
        if axis is not None:
            axis %= len(dims)
            dims[axis] = self.sketch.size
        shape = [int(dim) for dim in dims]
        if not self.sketch.named and self.rng.random() < 0.15:
            place = self.rng.randrange(len(dims))
            if place != axis:
                dims[place], self.sketch.named["S"] = "S", shape[place]
        name = self.sketch.x(dims, axis, dtype=dtype, low=low, high=high)
        drawn = self.seed.uniform(low, high, shape) if dtype == FLOAT else self.seed.integers(low, high, shape)
        self.arrays[name] = drawn.astype(dtype)
        return name

    def numbers(self, count: int, low: int, high: int) -> str:
        """An input of integers that all samples share: sizes, axes or indices that the caller gives."""
        name = self.sketch.x((count,), None, dtype=INT, low=low, high=high)
        self.arrays[name] = self.seed.integers(low, high, count)
        return name

    def const(self, array: Any, dtype: Any = None) -> str:
        name = self.sketch.const(array, dtype)
        self.arrays[name] = self.sketch.constants[name]
        return name

    def ints(self, *numbers: int) -> str:
        return self.const(np.array(numbers, np.int64))

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """A node, if onnxruntime runs it; the name of its first output."""
        kept = {name: value for name, value in attributes.items() if value is not None}
        names = [f"o{place}" for place in range(outputs)]
        node = helper.make_node(kind, inputs, names, **kept)
        given = {name: self.arrays[name] for name in inputs if name}
        found = _run(node, given, self.opset)
        if any(array.size > MOST or array.ndim > 6 for array in found):
            raise Unfit
        made = self.sketch.op(kind, *inputs, outputs=outputs, **kept)
        for name, array in zip([made] if outputs == 1 else made, found, strict=True):
            self.arrays[name] = array
        return str(made if outputs == 1 else made[0])

    def pick(self, kind: str = "f", least: int = 0) -> str:
        """A tensor of these types, one of the latest more often than not."""
        fit = [name for name, array in self.arrays.items() if array.dtype.kind in kind and array.ndim >= least]
        if not fit:
            raise Unfit
        return self.rng.choice(fit[-6:] if self.rng.random() < 0.6 else fit)

    def beside(self, *names: str, kind: str = "") -> str:
        """A tensor that broadcasts with others, of the type of the first."""
        arrays = [self.arrays[name] for name in names]
        wanted = kind or arrays[0].dtype.kind
        fit = [each for each, array in self.arrays.items() if array.dtype.kind == wanted and _meet(array, *arrays)]
        if not fit:
            raise Unfit
        return self.rng.choice(fit[-6:] if self.rng.random() < 0.5 else fit)

    def axis(self, name: str) -> int:
        rank = self.arrays[name].ndim
        if not rank:
            raise Unfit
        return self.rng.randrange(-rank, rank)

    def indices(self, dim: int, least: int = 0) -> str:
        """Integers that pick from so many entries in this run."""
        fit = [
            name
            for name, array in self.arrays.items()
            if array.dtype == np.int64 and array.ndim >= least and (-dim <= array).all() and (array < dim).all()
        ]
        if not fit:
            raise Unfit
        return self.rng.choice(fit[-6:] if self.rng.random() < 0.5 else fit)

    def vector(self, count: int | None = None) -> str:
        """A vector of integers that is already there, or is put together of what is."""
        fit = [
            name
            for name, array in self.arrays.items()
            if array.dtype == np.int64 and array.ndim == 1 and (count is None or array.size == count)
        ]
        if fit and self.rng.random() < 0.6:
            return self.rng.choice(fit)
        if count is None or count < 1:
            raise Unfit
        parts = [self.number() for _ in range(count)]
        return parts[0] if count == 1 else self.op("Concat", *parts, axis=0)

    def number(self) -> str:
        """One integer, in a vector: a dim, a constant, or what was calculated."""
        ones = [name for name, array in self.arrays.items() if array.dtype == np.int64 and array.shape == (1,)]
        if ones and self.rng.random() < 0.4:
            return self.rng.choice(ones)
        if self.rng.random() < 0.3:
            return self.ints(self.rng.choice((-1, 0, 1, 1, 2, 3)))
        name = self.pick("fib", 1)
        return self.op("Gather", self.op("Shape", name), self.ints(self.axis(name)), axis=0)

    def listed(self, kind: str, since: int, name: str, numbers: Sequence[int], *inputs: str, **attributes: Any) -> str:
        """A node whose list is an attribute before an opset, and an input from then on."""
        if self.opset < since:
            given: dict[str, Any] = {name: list(numbers), **attributes}
            return self.op(kind, *inputs, **given)
        return self.op(kind, *inputs, self.ints(*numbers), **attributes)


def _meet(*arrays: Array) -> bool:
    try:
        np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return False
    return True


def _run(node: Any, given: dict[str, Array], opset: int) -> list[Array]:
    graph = helper.make_graph(
        [node],
        "tried",
        [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in given.items()
        ],
        [onnx.ValueInfoProto(name=name) for name in node.output],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    try:
        return [np.asarray(each) for each in session(model).run(None, given)]
    except Exception:  # noqa: BLE001 - whatever it says, the node does not fit
        raise Unfit from None
