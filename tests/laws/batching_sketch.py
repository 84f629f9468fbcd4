"""Sketch: a small model for some samples, with what its inputs may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import prod
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper

Array = np.ndarray[Any, Any]
Dims = Sequence[int | str]

FLOAT, INT, BOOL = np.dtype(np.float32), np.dtype(np.int64), np.dtype(np.bool_)
TEXT = np.dtype(object)


OPSETS = (7, 9, 11, 12, 13, 15, 17, 18, 20, 22, 24)


@cache
def opsets(op: str, least: int = 7, most: int = 24) -> tuple[int, ...]:
    """Those of the opsets that have the operator."""
    return tuple(each for each in OPSETS if least <= each <= most and _since(op) <= each) or (_since(op),)


def _since(op: str) -> int:
    return _versions().get(op, 1)


@cache
def _versions() -> dict[str, int]:
    found: dict[str, int] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain:
            found[schema.name] = min(schema.since_version, found.get(schema.name, 99))
    return found


class Given(NamedTuple):
    """An input of the model."""

    dims: tuple[int | str, ...]
    axis: int | None
    """Where the samples are."""
    dtype: np.dtype[Any]
    low: int
    high: int


@dataclass
class Sketch:
    """A graph that is being written; every method that adds a tensor returns its name."""

    about: str
    """The operator that it tests."""
    opset: int = 17
    size: int = 1
    free: bool = True
    """Whether a refusal would be needless."""
    named: dict[str, int] = field(default_factory=dict)
    """The sizes of dims that have a name."""
    reference: bool = False
    """Whether onnxruntime cannot run it."""
    random: bool = False
    """Whether only the dims of its outputs can be compared."""
    annotated: bool = False
    """Whether the model says the dims of all its tensors, as exporters write them."""
    trap: str = ""
    """The name of a case that stands for itself."""
    inputs: dict[str, Given] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    nodes: list[Any] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)

    def x(  # noqa: PLR0913 - all of a place, as the tables have it
        self,
        dims: Dims,
        axis: int | None = 0,
        outer: int = 1,
        inner: int = 1,
        *,
        dtype: Any = FLOAT,
        low: int = -4,
        high: int = 5,
    ) -> str:
        """A tensor of these dims that has the samples at an axis, between outer and inner entries of each."""
        name, kind = f"x{len(self.inputs)}" if self.inputs else "x", np.dtype(dtype)
        if outer == inner == 1 or axis is None:
            self.inputs[name] = Given(tuple(dims), axis, kind, low, high)
            return name
        apart = (*dims[:axis], outer, self.size, inner, *dims[axis + 1 :])
        self.inputs[name] = Given(apart, axis + 1, kind, low, high)
        return str(self.op("Reshape", name, self.ints(*(-1 if isinstance(dim, str) else dim for dim in dims))))

    def const(self, array: Any, dtype: Any = None) -> str:
        """An initializer."""
        name = f"c{len(self.constants)}"
        self.constants[name] = np.asarray(array, dtype)
        return name

    def ints(self, *numbers: int) -> str:
        """An initializer of integers."""
        return self.const(np.array(numbers, np.int64))

    def const_node(self, array: Any, dtype: Any = None) -> str:
        """A Constant node."""
        return str(self.op("Constant", value=onnx.numpy_helper.from_array(np.asarray(array, dtype))))

    def floats(self, *dims: int, low: float = 0.25) -> str:
        """An initializer of floats that are all different."""
        count = int(np.prod(dims, dtype=np.int64))
        return self.const((low + np.arange(count) * 0.375 % 5.5).reshape(dims), np.float32)

    def op(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """A node; the name of its output, or their names."""
        made = [f"{kind}{len(self.nodes)}_{place}" for place in range(outputs)]
        kept = {name: value for name, value in attributes.items() if value is not None}
        self.nodes.append(helper.make_node(kind, inputs, made, name=f"n{len(self.nodes)}", **kept))
        return made[0] if outputs == 1 else made

    def dim(self, value: str, axis: int) -> str:
        """One dim of a tensor, as a vector of one element, computed at run time."""
        return str(self.op("Gather", self.op("Shape", value), self.ints(axis), axis=0))

    def out(self, *names: str) -> Sketch:
        """Declares the outputs; the sketch is done."""
        self.outputs += names
        return self

    def __str__(self) -> str:
        lines = []
        for node in self.nodes:
            said = ", ".join(f"{each.name}={_shown(helper.get_attribute_value(each))}" for each in node.attribute)
            lines.append(
                f"{', '.join(node.output)} = {node.op_type}({', '.join(node.input)}{'; ' if said else ''}{said})"
            )
        given = ", ".join(f"{name}: {each.dtype}{list(each.dims)} at {each.axis}" for name, each in self.inputs.items())
        held = ", ".join(
            f"{name} = {array.dtype}{list(array.shape)}" + (f" {array.tolist()}" if array.size < 9 else "")
            for name, array in self.constants.items()
        )
        end = " ".join(self.outputs)
        return f"opset {self.opset}, {self.size} samples; {given}; {held}\n    " + "\n    ".join([*lines, f"-> {end}"])

    # What the law needs

    def proto(self) -> Any:
        """The model; its outputs have a type and no dims yet."""
        given = {
            name: helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), list(each.dims))
            for name, each in self.inputs.items()
        }
        graph = helper.make_graph(
            self.nodes,
            "sketch",
            list(given.values()),
            [given.get(name, onnx.ValueInfoProto(name=name)) for name in self.outputs],
            [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()],
        )
        newest = any(node.op_type == "TreeEnsemble" for node in self.nodes)
        versions = {"": self.opset, "com.microsoft": 1, "ai.onnx.ml": 5 if newest else 3}
        imports = [helper.make_opsetid(*each) for each in versions.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8 if self.opset < 21 else 10)
        return onnx.shape_inference.infer_shapes(model, data_prop=True) if self.annotated else model

    def declare(self, model: ir.Model, answers: Sequence[Array]) -> None:
        """Writes what the outputs are into the model."""
        for value, answer in zip(model.graph.outputs, answers, strict=True):
            if answer.dtype == object and answer.size and isinstance(answer.flat[0], dict):
                continue  # a sequence of maps, of which onnx-ir has no type
            value.type = ir.TensorType(ir.DataType.from_numpy(answer.dtype))
            value.shape = ir.Shape([None] * answer.ndim if self.named else answer.shape)

    def freed(self) -> dict[str, int]:
        """Where the samples are, by input."""
        return {name: each.axis for name, each in self.inputs.items() if each.axis is not None}

    def draw(self, times: int) -> dict[str, Array]:
        """Inputs for so many times the samples of the model."""
        seed = np.random.default_rng(crc32(str(self).encode()))
        feeds = {}
        for name, each in self.inputs.items():
            dims = [self.named[dim] if isinstance(dim, str) else dim for dim in each.dims]
            if each.axis is not None:
                dims[each.axis] *= times
            feeds[name] = _drawn(seed, dims, each)
        return feeds

    def piece(self, feeds: Mapping[str, Array], start: int, count: int = 1) -> dict[str, Array]:
        """The part of the inputs for some of the model's runs."""
        bounds = range(start * self.size, (start + count) * self.size)
        return self._taken(feeds, bounds)

    def row(self, feeds: Mapping[str, Array], row: int) -> dict[str, Array]:
        """The part of the inputs for one sample."""
        return self._taken(feeds, range(row, row + 1))

    def first_row_of_another(self, feeds: Mapping[str, Array], other: Mapping[str, Array]) -> dict[str, Array]:
        """Inputs whose first sample is taken from others."""
        mixed = dict(feeds)
        for name, axis in self.freed().items():
            rest = np.take(feeds[name], range(1, self.size), axis=axis)
            mixed[name] = np.concatenate([np.take(other[name], [0], axis=axis), rest], axis=axis)
        return mixed

    def _taken(self, feeds: Mapping[str, Array], samples: range) -> dict[str, Array]:
        axes = self.freed()
        return {
            name: np.ascontiguousarray(np.take(array, samples, axis=axes[name])) if name in axes else array
            for name, array in feeds.items()
        }


def _drawn(seed: np.random.Generator, dims: Sequence[int], each: Given) -> Array:
    if each.dtype.kind == "f":
        return seed.uniform(each.low, each.high, dims).astype(each.dtype)
    if each.dtype.kind == "O":
        return np.array([f"w{number}" for number in seed.integers(0, 4, prod(dims))], object).reshape(dims)
    if each.dtype.kind == "b":
        return seed.integers(0, 2, dims).astype(np.bool_)
    return seed.integers(each.low, each.high, dims).astype(each.dtype)


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return str(onnx.numpy_helper.to_array(value).tolist()) if isinstance(value, onnx.TensorProto) else str(value)
