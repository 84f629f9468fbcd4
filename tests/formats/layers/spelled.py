"""The law of spellings: a node that a repair adds is written as layers that answer alike."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx_ir as ir
import openvino as ov
from openvino import opset1

from onereshape.formats.ir_as_onnx.ir_writing import written
from onereshape.formats.ir_as_onnx.to_onnx import image
from onereshape.formats.openvino.openvino_ir import load, rewritten, save
from tests.formats.layers.law import CORE, Arrays, alone, apart, ours, rough, theirs

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Node:
    """A node of ONNX, with what goes into it: arrays are fed, those in a tuple of one are constants."""

    op: str
    inputs: tuple[Any, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1
    loose: float = 1e-4


class Spelled(NamedTuple):
    """The layers of a node as a model, what is fed to it, and what onnxruntime answers."""

    node: Node
    model: ov.Model
    fed: Arrays
    expected: Arrays

    @property
    def _layers(self) -> list[str]:
        return [operation.get_type_name() for operation in self.model.get_ops()]

    def wrong(self, found: Arrays | None) -> str | None:
        """What differs from what openvino answers."""
        assert found is not None, f"{self.node.op}: nothing runs it"
        why = apart(found, self.expected, max(self.node.loose, *map(rough, self._layers)))
        return None if why is None else f"{self.node.op} {self.node.attributes}: {why}"


def wrong(nodes: Iterable[Node], folder: Path) -> list[str]:
    """What is wrong with the layers of some nodes, asked together; where openvino answers otherwise, alone."""
    spelled = [_spelled(node, folder, place) for place, node in enumerate(nodes)]
    together = theirs([(each.model, each.fed) for each in spelled])
    found = [
        each.wrong(answers) and each.wrong(alone(each.model, each.fed))
        for each, answers in zip(spelled, together, strict=True)
    ]
    return [why for why in found if why]


def _spelled(node: Node, folder: Path, number: int) -> Spelled:
    fed = [each for each in node.inputs if isinstance(each, np.ndarray)]
    source, target = folder / f"before{number}.xml", folder / f"after{number}.xml"
    parameters = [opset1.parameter(list(each.shape), ov.Type(each.dtype), f"in{at}") for at, each in enumerate(fed)]
    first = opset1.shape_of(parameters[0])
    results = [opset1.result(opset1.add(first, opset1.constant(np.int64(at)))) for at in range(node.outputs)]
    ov.serialize(ov.Model(results, parameters, "before"), source)
    read = load(str(source))
    drawn = image(read)
    graph = drawn.graph
    given = iter(graph.inputs)
    inputs = [_input(graph, each, at, given) for at, each in enumerate(node.inputs)]
    made = ir.node(node.op, inputs, node.attributes, num_outputs=node.outputs, name="added")
    graph.append(made)
    for place, value in enumerate(made.outputs):
        value.name = f"added_{place}"
        graph.outputs[place] = value
    for each in reversed([*graph]):
        if each is not made:
            graph.remove(each, safe=True)
    expected = ours(drawn, fed)
    for value, answer in zip(made.outputs, expected, strict=True):
        value.type, value.shape = ir.TensorType(ir.DataType.from_numpy(answer.dtype)), ir.Shape(answer.shape)
    found = written(drawn, {value: list(answer.shape) for value, answer in zip(made.outputs, expected, strict=True)})
    save(rewritten(read, found.root, found.added, found.start), str(target))
    return Spelled(node, CORE.read_model(target), fed, expected)


def _input(graph: ir.Graph, given: Any, place: int, inputs: Any) -> ir.Value | None:
    if given is None:
        return None
    if isinstance(given, np.ndarray):
        value: ir.Value = next(inputs)
        return value
    name = f"held_{place}"
    tensor = ir.tensor(given[0], name=name)
    value = ir.Value(name=name, const_value=tensor, shape=ir.Shape(given[0].shape), type=ir.TensorType(tensor.dtype))
    graph.register_initializer(value)
    return value
