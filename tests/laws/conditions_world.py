"""Small models with Reshapes whose data have free dims, drawn at random: some sound, most not, as exporters write them.

A model is written for one choice of sizes, so that its targets are right there; an entry of a target may stay a number,
copy, be inferred, or be computed from the shape of an input.
"""

from __future__ import annotations

import random
from math import prod
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

EXPORTED = {"N": 2, "S": 4, "H": 6, "W": 4, "M": 2}
"""The sizes that a model is written for."""
NUMBERS = (1, 2, 3, 4, 6, 8)


class Case(NamedTuple):
    """A model and the names of the dims of its inputs."""

    proto: onnx.ModelProto
    names: tuple[str, ...]


class Draft:
    """A model that is being drawn."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311 - models, not secrets
        self.inputs: dict[str, tuple[int | str, ...]] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.values: dict[str, tuple[int, ...]] = {}
        """The dims of each value at the exported sizes."""

    def input(self, name: str, dims: tuple[int | str, ...]) -> None:
        self.inputs[name] = dims
        self.values[name] = tuple(EXPORTED[dim] if isinstance(dim, str) else dim for dim in dims)

    def add(self, op: str, given: list[str], dims: tuple[int, ...], **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, given, [name], name=f"{op}{len(self.nodes)}", **attributes))
        self.values[name] = dims
        return name

    def constant(self, numbers: list[int]) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(numbers, np.int64), name))
        return name


def case(seed: int) -> Case:
    """The model of a seed."""
    draft = Draft(seed)
    dice = draft.dice
    names = dice.sample(["N", "S", "H", "W"], dice.choice([1, 1, 2, 2, 3]))
    rank = dice.randint(max(1, len(names)), 4)
    dims: list[int | str] = [*names, *(dice.choice(NUMBERS) for _ in range(rank - len(names)))]
    if dice.random() < 0.6:
        dice.shuffle(dims)
    draft.input("x", tuple(dims))
    if dice.random() < 0.4:
        last: int | str = "S" if dice.random() < 0.5 else 3
        draft.input("z", (dice.choice(["N", "M"]), last))
    outputs = []
    here = "x"
    for _ in range(dice.randint(1, 3)):
        here = _between(draft, here)
        outputs.append(_reshape(draft, here))
        here = outputs[-1] if dice.random() < 0.7 else here
    graph = helper.make_graph(
        draft.nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in draft.inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
        initializer=draft.constants,
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    free = dict.fromkeys(dim for each in draft.inputs.values() for dim in each if isinstance(dim, str))
    return Case(proto, tuple(free))


def _between(draft: Draft, here: str) -> str:
    """What stands before a Reshape."""
    dice, dims = draft.dice, draft.values[here]
    kind = dice.choice(["nothing", "nothing", "Relu", "Transpose", "MaxPool", "Concat"])
    if kind == "Relu":
        return draft.add("Relu", [here], dims)
    if kind == "Transpose" and len(dims) > 1:
        axes = dice.sample(range(len(dims)), len(dims))
        return draft.add("Transpose", [here], tuple(dims[axis] for axis in axes), perm=axes)
    if kind == "MaxPool" and len(dims) == 3 and dims[2] >= 2:
        pooled = (*dims[:2], (dims[2] - 2) // 2 + 1)
        return draft.add("MaxPool", [here], pooled, kernel_shape=[2], strides=[2])
    if kind == "Concat" and dims:
        axis = dice.randrange(len(dims))
        grown = tuple(2 * dim if place == axis else dim for place, dim in enumerate(dims))
        return draft.add("Concat", [here, here], grown, axis=axis)
    return here


def _reshape(draft: Draft, here: str) -> str:
    dice, dims = draft.dice, draft.values[here]
    sizes = _split(dice, prod(dims))
    words = [_word(dice, axis, size, dims) for axis, size in enumerate(sizes)]
    if dice.random() < 0.7:
        words[dice.randrange(len(words))] = -1
    return draft.add("Reshape", [here, _target(draft, words)], tuple(sizes))


def _word(dice: random.Random, axis: int, size: int, dims: tuple[int, ...]) -> int:
    copies = axis < len(dims) and dims[axis] == size and dice.random() < 0.6
    return 0 if copies else size


def _target(draft: Draft, words: list[int]) -> str:
    """A constant, or one with an entry that is computed from the shape of an input."""
    dice = draft.dice
    places = [place for place, word in enumerate(words) if word > 0]
    if not places or dice.random() < 0.7:
        return draft.constant(words)
    place = dice.choice(places)
    found = [
        (name, axis, size)
        for name, dims in draft.inputs.items()
        for axis, size in enumerate(draft.values[name])
        if isinstance(dims[axis], str) and words[place] in (size, size // 2, 2 * size)
    ]
    if not found:
        return draft.constant(words)
    name, axis, size = dice.choice(found)
    length = draft.add("Shape", [name], (1,), start=axis, end=axis + 1)
    if words[place] != size:
        op = "Div" if words[place] < size else "Mul"
        length = draft.add(op, [length, draft.constant([2])], (1,))
    parts = [draft.constant([word]) for word in words]
    parts[place] = length
    return draft.add("Concat", parts, (len(words),), axis=0)


def _split(dice: random.Random, number: int) -> list[int]:
    """A number as a product of a few."""
    found = [number]
    for _ in range(dice.randint(0, 3)):
        place = dice.randrange(len(found))
        divisors = [each for each in range(1, found[place] + 1) if found[place] % each == 0]
        divisor = dice.choice(divisors)
        found[place : place + 1] = [divisor, found[place] // divisor]
    return found
