"""Sketch: a graph in the making, with real numbers: an operator is added only if the engine takes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.hostile.dice import Dice
from tests.hostile.engine import Array, Engine, Failed, type_of
from tests.hostile.givens import Given, Said
from tests.hostile.quirks import EMPTY, FRAGILE

MOST = 600
"""Elements of a tensor."""
DEEPEST = 6
"""Dims of a tensor."""


class Misfit(Exception):  # noqa: N818 - a move that is taken back
    """An operator that does not suit what there is."""


class Value(NamedTuple):
    """A tensor of the graph."""

    name: str
    array: Array
    batch: int | None = None
    """Where the samples are, as far as the makers of graphs can tell."""

    @property
    def dims(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def kind(self) -> str:
        return str(self.array.dtype.kind)


def _info(name: str, array: Any) -> Any:
    if isinstance(array, list):
        return helper.make_tensor_sequence_value_info(name, type_of(array[0]), None)
    return helper.make_tensor_value_info(name, type_of(array), array.shape)


class Sketch:
    """The graph so far, and the dice."""

    def __init__(self, dice: Dice, opset: int, size: int) -> None:
        self.dice, self.opset, self.size = dice, opset, size
        self.nodes: list[Any] = []
        self.givens: dict[str, Given] = {}
        self.constants: dict[str, Array] = {}
        self.arrays: dict[str, Array] = {}
        self.values: list[Value] = []
        self.cache: dict[str, str] = {}
        """Shapes that were asked for, to be shared."""
        self.functions: list[Any] = []
        self.random = False
        self.named: dict[str, int] = {}
        self.naming = 0.0
        """How often a dim of an input that is no batch has a name."""
        self.batch_said: Said = size
        self.tame = dice.chance(0.65)
        """Whether the samples are kept apart on purpose: a graph that mixes them is refused, and tells little."""
        self.learned = dice.pick([3, 3, 5])
        """The version of ai.onnx.ml."""
        self._count = 0

    @property
    def wobbly(self) -> bool:
        """Whether ranks may change with sizes: an Einsum of another rank ends the whole process."""
        return any(node.op_type == "Squeeze" and not node.attribute and len(node.input) < 2 for node in self.nodes)

    # Taking back

    def mark(self) -> tuple[Any, ...]:
        return len(self.nodes), len(self.givens), len(self.constants), len(self.values), dict(self.cache), self.random

    def back(self, to: tuple[Any, ...]) -> None:
        nodes, givens, constants, values, self.cache, self.random = to
        for node in self.nodes[nodes:]:
            for name in node.output:
                self.arrays.pop(name, None)
        del self.nodes[nodes:], self.values[values:]
        for table, kept in ((self.givens, givens), (self.constants, constants)):
            for name in list(table)[kept:]:
                del table[name]
                del self.arrays[name]

    # What a graph is made of

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def const(self, array: Any, dtype: Any = None) -> str:
        """An initializer."""
        name = self.fresh("c")
        self.constants[name] = self.arrays[name] = np.asarray(array, dtype)
        return name

    def const_node(self, array: Any, dtype: Any = None) -> str:
        """A Constant node."""
        return self.raw("Constant", [], value=numpy_helper.from_array(np.asarray(array, dtype)))[0]

    def given(self, array: Any, axis: int | None = None, **more: Any) -> Value:
        """An input of the graph; the samples are in `axis`."""
        name = self.fresh("x" if not more else "k")
        array = np.asarray(array)
        axis = axis if axis is not None and array.shape[axis] == self.size else None
        said: list[Said] = list(array.shape)
        for place, dim in enumerate(array.shape):
            if place == axis:
                said[place] = self.batch_said
            elif axis is not None and dim > 1 and self.dice.chance(self.naming):
                said[place] = self._name(dim)
        self.givens[name] = Given(name, array.dtype, array.shape, tuple(said), axis, **more)
        self.arrays[name] = array
        return Value(name, array, axis)

    def _name(self, dim: int) -> Said:
        if self.dice.chance(0.15):
            return None
        fit = [name for name, size in self.named.items() if size == dim]
        if fit and self.dice.chance(0.7):
            return fit[0]
        left = [name for name in ("S", "T", "H", "W", "seq", "K", "M", "Q") if name not in self.named]
        if not left:
            return None
        name = self.dice.pick(left)
        self.named[name] = dim
        return name

    def raw(self, kind: str, inputs: Sequence[str], outputs: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        """A node; the names of its outputs."""
        made = [self.fresh(f"{kind.lower()}_") for _ in range(outputs)]
        captured = attributes.pop("captured", ())
        kept = {name: value for name, value in attributes.items() if value is not None}
        node = helper.make_node(kind, list(inputs), made, name=f"n{len(self.nodes)}", domain=domain, **kept)
        for name, array in zip(made, self._run(node, [*inputs, *captured]), strict=True):
            if isinstance(array, np.ndarray) and (array.size > MOST or array.ndim > DEEPEST):
                raise Misfit
            if isinstance(array, list) and not array:
                raise Misfit
            self.arrays[name] = array
        self.nodes.append(node)
        return made

    def _run(self, node: Any, inputs: Sequence[str]) -> list[Array]:
        used = list(dict.fromkeys(name for name in inputs if name))
        fed = [name for name in used if name not in self.constants]
        graph = helper.make_graph(
            [node],
            "g",
            [_info(name, self.arrays[name]) for name in fed],
            [onnx.ValueInfoProto(name=name) for name in node.output],
            [numpy_helper.from_array(self.constants[name], name) for name in used if name in self.constants],
        )
        if node.op_type in FRAGILE | EMPTY and any(not np.size(self.arrays[name]) for name in used):
            raise Misfit
        try:
            return Engine(self._model(graph))({name: self.arrays[name] for name in fed})
        except Failed:
            raise Misfit from None

    def _model(self, graph: Any) -> Any:
        versions = {"": self.opset, "com.microsoft": 1, "ai.onnx.ml": self.learned}
        imports = [helper.make_opsetid(*each) for each in versions.items()]
        if self.functions:
            imports.append(helper.make_opsetid("local", 1))
        version = 8 if self.opset < 21 else 10 if self.opset < 23 else 11
        return helper.make_model(graph, opset_imports=imports, ir_version=version, functions=self.functions)

    def op(self, kind: str, *inputs: str | Value, batch: int | None = None, **attributes: Any) -> Value:
        """A node of one output; its samples are in axis `batch`."""
        names = [each if isinstance(each, str) else each.name for each in inputs]
        name = self.raw(kind, names, **attributes)[0]
        return Value(name, self.arrays[name], batch)

    def ops(self, kind: str, outputs: int, *inputs: str | Value, **attributes: Any) -> list[Value]:
        """A node of several outputs."""
        names = [each if isinstance(each, str) else each.name for each in inputs]
        return [Value(name, self.arrays[name]) for name in self.raw(kind, names, outputs, **attributes)]

    def keep(self, *values: Value) -> None:
        """Tensors that other operators may read."""
        self.values += (
            each if each.batch is None or each.batch < each.rank else each._replace(batch=None) for each in values
        )

    # Choices

    def pick(self, kinds: str = "f", low: int = 0, high: int = DEEPEST) -> Value:
        """A tensor of some kinds of elements and a rank; the latest most often, and one with samples."""
        fit = [each for each in self.values if each.kind in kinds and low <= each.rank <= high]
        if not fit:
            return self._another(kinds, low)
        live = [each for each in fit if each.batch is not None]
        if live and self.dice.chance(0.9):
            fit = live
        return fit[-1] if self.dice.chance(0.6) else self.dice.pick(fit)

    def _another(self, kinds: str, low: int) -> Value:
        """A new input, where nothing that there is suits."""
        if "f" in kinds or self.dice.chance(0.3):
            raise Misfit
        dtype = {"b": np.bool_, "i": self.dice.pick([np.int32, np.int64]), "u": np.uint8}[self.dice.pick(kinds)]
        dims = [self.size, *(self.dice.number(1, 4) for _ in range(self.dice.number(max(0, low - 1), max(2, low - 1))))]
        value = self.given(self.dice.constant(dims, dtype), 0)
        self.keep(value)
        return value

    def axis(self, value: Value, wild: float = 0.06) -> int:
        """An axis that is not the batch's, or now and then any."""
        axes = [axis for axis in range(value.rank) if axis != value.batch]
        if not self.tame and (not axes or self.dice.chance(wild)):
            axes = list(range(value.rank))
        if not axes:
            raise Misfit
        return self.dice.pick(axes)

    def axes(self, value: Value, wild: float = 0.06) -> list[int]:
        """Axes of a value, one at least, without that of the batch unless the graph is wild."""
        axes = [axis for axis in range(value.rank) if axis != value.batch]
        if not self.tame and (not axes or self.dice.chance(wild)):
            axes = list(range(value.rank))
        if not axes:
            raise Misfit
        return self.dice.some(axes, 1)

    def signed(self, axis: int, rank: int) -> int:
        """An axis, counted from the front or from the end."""
        return axis - rank if self.dice.chance(0.35) else axis
