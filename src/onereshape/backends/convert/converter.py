"""One node at a time through onnx's version converter, and what it made of the node checked by running both.

The converter drops functions, does not go into branches and leaves some nodes that changed their meaning as they were
(Softmax from 13 to 12), so it is never given a model: a node with the types, shapes and small constants of its inputs
becomes a model of its own, and is kept only if onnxruntime gives the same outputs before and after (`trial`).
"""

from __future__ import annotations

import onnx
import onnx_ir as ir
from onnx import helper

from onereshape.backends.convert.trial import IR_VERSION, CannotConvertError
from onereshape.backends.convert.unchanged import Inferred
from onereshape.ground.isolation.messages import bytes_array
from onereshape.ground.isolation.room import Ended, ask

_LARGEST_CONSTANT = 4096
"""Elements of an input that the converter may want to turn into an attribute."""


class Converter:
    """Takes nodes to other opsets, and remembers the answers: the layers of a model repeat their nodes."""

    def __init__(self) -> None:
        self.seen: dict[tuple[bytes, int], onnx.ModelProto | str] = {}

    def converted(self, node: ir.Node, old: int, new: int, known: Inferred) -> onnx.ModelProto:
        """The node alone as a model of the new opset; its values are i0, i1 ... and o0, o1 ..."""
        model = single(node, old, known)
        key = model.SerializeToString(deterministic=True), new
        if key not in self.seen:
            try:
                self.seen[key] = _asked(key[0], new)
            except CannotConvertError as error:
                self.seen[key] = str(error)
        found = self.seen[key]
        if isinstance(found, str):
            raise CannotConvertError(found)
        return found


def single(node: ir.Node, opset: int, known: Inferred) -> onnx.ModelProto:
    """A node with what is known of its values, as a model."""
    if any(attribute.is_ref() for attribute in node.attributes.values()):
        raise CannotConvertError("an attribute is given by the caller of its function")
    if any(a.type in {ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS} for a in node.attributes.values()):
        raise CannotConvertError("onnx's converter does not go into branches and bodies")
    names = input_names(node)
    inputs, constants = [], []
    for value, name in names.items():
        tensor = None if value.is_graph_input() else ir.convenience.get_const_tensor(value)
        if tensor is not None and tensor.size <= _LARGEST_CONSTANT:
            constants.append(onnx.numpy_helper.from_array(tensor.numpy(), name))
        else:
            inputs.append(_info(known.get(value, value), name))
    outputs = [_info(known.get(value, value), f"o{index}") for index, value in enumerate(node.outputs) if value.name]
    proto = onnx.NodeProto(op_type=node.op_type)
    proto.input.extend(names[value] if value is not None else "" for value in node.inputs)
    proto.output.extend(f"o{index}" if value.name else "" for index, value in enumerate(node.outputs))
    proto.attribute.extend(ir.serde.serialize_attribute(attribute) for attribute in node.attributes.values())
    graph = helper.make_graph([proto], "node", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", opset)], ir_version=IR_VERSION)


def input_names(node: ir.Node) -> dict[ir.Value, str]:
    """The names that `single` gives to the inputs of a node."""
    values = dict.fromkeys(value for value in node.inputs if value is not None)
    return {value: f"i{index}" for index, value in enumerate(values)}


def _info(value: ir.Value, name: str) -> onnx.ValueInfoProto:
    if not isinstance(value.type, ir.TensorType) or value.shape is None:
        raise CannotConvertError("the type or the rank of one of its tensors is not known")
    dims = [dim.value if not isinstance(dim, int) else dim if dim >= 0 else None for dim in value.shape]
    return helper.make_tensor_value_info(name, int(value.type.dtype), dims)


def _asked(model: bytes, new: int) -> onnx.ModelProto:
    """The model of one node in another opset, or a CannotConvertError."""
    try:
        told, arrays = ask(
            "onereshape.backends.convert.node_child:converted", {"opset": new}, {"model": bytes_array(model)}
        )
    except Ended as ended:
        raise CannotConvertError(f"onnx's converter, or onnxruntime, {ended}") from None
    if "refused" in told:
        raise CannotConvertError(str(told["refused"]))
    found: onnx.ModelProto = onnx.ModelProto.FromString(arrays["model"].tobytes())
    return found
