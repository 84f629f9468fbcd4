"""noisy(model): the model with the last bits of its floats in motion, to tell a difference of meaning from rounding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper

from tests.hostile.engine import Array, Engine, Failed
from tests.hostile.verdict import perturbed, steady

_EXACT = frozenset(
    "Abs Add ArgMax ArgMin Cast CastLike Ceil Clip Compress Concat Constant ConstantOfShape DepthToSpace "
    "Dropout EyeLike Expand Flatten Floor Gather GatherElements GatherND GlobalMaxPool Hardmax Identity "
    "MaxPool Max Min Mul Neg NonZero OneHot Pad PRelu Range Relu Reshape Round Scatter ScatterElements "
    "ScatterND Sign Slice SpaceToDepth Split Squeeze Sub Tile TopK Transpose Trilu Unique Unsqueeze Where".split()
)
"""Operators that round nothing, or the same way wherever an element is; all others may, by a bit or two."""


TURNS = 5
"""How often a difference is tried to be explained."""


def shaken(engine: Engine, feeds: Mapping[str, Array], rng: np.random.Generator, *, ours: bool) -> list[list[Any]]:
    """The answers of a model for inputs with other last bits, and with noise inside, several times."""
    found = []
    for turn in range(TURNS):
        try:
            other = Engine(noisy(engine.proto, turn), ours=ours)
            found.append(other({name: perturbed(rng, each) for name, each in feeds.items()}))
        except Failed:
            continue
    return found


class Pair(NamedTuple):
    """The original and what became of it, on the same inputs."""

    proto: Any
    ours: Engine
    feeds: Mapping[str, Array]

    def differs(self, place: int, found: Array, expected: Array, rng: np.random.Generator) -> bool:
        """Whether that an output is `found` and not `expected` is a difference of meaning."""

        def again(engine: Engine, *, ours: bool) -> list[Array]:
            return [each[place] for each in shaken(engine, self.feeds, rng, ours=ours)]

        original = Engine(self.proto)
        return steady(found, expected, lambda: again(original, ours=False), lambda: again(self.ours, ours=True))


def noisy(proto: Any, turn: int) -> Any:
    """The model with every float that an inexact operator makes off by about a millionth, each turn by another."""
    found = onnx.ModelProto()
    found.CopyFrom(proto)
    graph = found.graph
    nodes = list(graph.node)
    types = _float_types(proto)
    del graph.node[:]
    for node in nodes:
        loose = [] if node.op_type in _EXACT else [name for name in node.output if name in types]
        for place, name in enumerate(node.output):
            if name in loose:
                node.output[place] = f"{name}/exact"
        graph.node.append(node)
        for name in loose:
            graph.node.extend(_off(name, types[name], turn))
    del graph.value_info[:]
    return found


def _off(name: str, kind: int, turn: int) -> list[Any]:
    """Nodes that put a value off by a share that looks like chance; a generator of noise is not in every opset."""
    inside, steps = f"{name}/exact", [f"{name}/{step}" for step in ("k", "e", "o", "far", "sine", "share", "factor")]
    much, little, one, far, sine, share, factor = steps
    numbers = {much: 12345.678 + 997.3 * turn, little: 2e-6, one: 1.0}
    made = [
        helper.make_node("Constant", [], [each], value=helper.make_tensor(each, kind, [], [number]))
        for each, number in numbers.items()
    ]
    return [
        *made,
        helper.make_node("Mul", [inside, much], [far]),
        helper.make_node("Sin", [far], [sine]),
        helper.make_node("Mul", [sine, little], [share]),
        helper.make_node("Add", [share, one], [factor]),
        helper.make_node("Mul", [inside, factor], [name]),
    ]


def _float_types(proto: Any) -> dict[str, int]:
    """The floats among the values, with their types."""
    inferred = onnx.shape_inference.infer_shapes(proto)
    floats = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE}
    known = {
        value.name: value.type.tensor_type.elem_type for value in (*inferred.graph.value_info, *proto.graph.output)
    }
    return {name: kind for name, kind in known.items() if kind in floats}
