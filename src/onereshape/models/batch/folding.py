"""Folding: the arrays that parts of a graph compute from constants and known shapes alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onereshape.dims import Size
from onereshape.models.constants import constant_tensor

MOST_ELEMENTS = 1 << 24
"""Of an array that is folded; nothing that is tiled over a batch is larger."""
_MOST_NODES = 2_000
_UNFOLDED = frozenset(
    {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
)

Dims = Callable[[ir.Value], Sequence[Size | None] | None]


class Folding:
    """Arrays by value, each found once."""

    def __init__(self, dims: Dims, opset: int) -> None:
        self._dims = dims
        self._opset = opset
        self._found: dict[ir.Value, np.ndarray[Any, Any] | None] = {}

    def array(self, value: ir.Value) -> np.ndarray[Any, Any] | None:
        """What a value always is, or None if that is not known."""
        if value not in self._found:
            self._found[value] = self._fold(value)
        return self._found[value]

    def applied(self, node: ir.Node, inputs: Sequence[np.ndarray[Any, Any] | None]) -> np.ndarray[Any, Any] | None:
        """The first output of a node on these integers, or None if that is not known."""
        if any(value is not None and array is None for value, array in zip(node.inputs, inputs, strict=True)):
            return None
        feeds = {
            value.name or "": array.astype(np.int64)
            for value, array in zip(node.inputs, inputs, strict=True)
            if value is not None and array is not None
        }
        return self._evaluated([ir.to_proto(node)], feeds, node.outputs[0])

    def _fold(self, value: ir.Value) -> np.ndarray[Any, Any] | None:
        tensor = constant_tensor(value)
        if tensor is not None:
            known = not value.is_graph_input() and tensor.size <= MOST_ELEMENTS
            return np.asarray(tensor.numpy()) if known else None
        maker = value.producer()
        if maker is None or maker.domain not in {"", "ai.onnx"} or maker.op_type in _UNFOLDED:
            return None
        nodes = self._needed(maker)
        return None if nodes is None else self._run(nodes, value)

    def _needed(self, last: ir.Node) -> list[ir.Node] | None:
        """The nodes that compute the value, in order; None where one of them needs an input of the model."""
        order: list[ir.Node] = []
        seen: set[ir.Node] = set()
        pending = [(last, False)]
        while pending:
            node, done = pending.pop()
            if done:
                order.append(node)
                continue
            if node in seen:
                continue
            seen.add(node)
            simple = node.domain in {"", "ai.onnx"} and node.op_type not in _UNFOLDED
            if len(seen) > _MOST_NODES or not simple or any(_is_graph(each) for each in node.attributes.values()):
                return None
            pending.append((node, True))
            if node.op_type in {"Shape", "Size"} and self._shape(node.inputs[0]) is not None:
                continue
            for value in node.inputs:
                if value is None or value in self._found or constant_tensor(value) is not None:
                    if value is not None and self.array(value) is None:
                        return None
                    continue
                maker = value.producer()
                if maker is None:
                    return None
                pending.append((maker, False))
        return order

    def _shape(self, value: ir.Value | None) -> list[int] | None:
        dims = None if value is None else self._dims(value)
        if dims is None or not all(isinstance(dim, int) for dim in dims):
            return None
        return [dim for dim in dims if isinstance(dim, int)]

    def _run(self, nodes: list[ir.Node], wanted: ir.Value) -> np.ndarray[Any, Any] | None:
        feeds: dict[str, np.ndarray[Any, Any]] = {}
        protos = []
        for node in nodes:
            shape = self._shape(node.inputs[0]) if node.op_type in {"Shape", "Size"} else None
            if shape is not None:
                feeds[node.outputs[0].name or ""] = _shape_array(node, shape)
                continue
            protos.append(ir.to_proto(node))
            for value in node.inputs:
                array = None if value is None or value.producer() in nodes else self.array(value)
                if value is not None and array is not None:
                    feeds[value.name or ""] = array
        made = {name for proto in protos for name in proto.output}
        if wanted.name not in made:
            return feeds.get(wanted.name or "")
        return self._evaluated(protos, feeds, wanted)

    def _evaluated(
        self, protos: list[onnx.NodeProto], feeds: dict[str, np.ndarray[Any, Any]], wanted: ir.Value
    ) -> np.ndarray[Any, Any] | None:
        from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - takes long

        graph = onnx.helper.make_graph(
            protos,
            "folded",
            [onnx.ValueInfoProto(name=name) for name in feeds],
            [onnx.ValueInfoProto(name=wanted.name)],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", self._opset)])
        try:
            with np.errstate(all="ignore"):
                answers: Any = ReferenceEvaluator(model).run(None, feeds)
        except Exception:  # noqa: BLE001 - what the evaluator cannot do is not known
            return None
        found = np.asarray(answers[0])
        return found if found.size <= MOST_ELEMENTS else None


def _shape_array(node: ir.Node, shape: list[int]) -> np.ndarray[Any, Any]:
    if node.op_type == "Size":
        return np.array(np.prod(shape, dtype=object), np.int64)
    start, end = (node.attributes.get(name) for name in ("start", "end"))
    return np.array(shape[None if start is None else start.value : None if end is None else end.value], np.int64)


def _is_graph(attribute: ir.Attr) -> bool:
    return attribute.type in {ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS}
