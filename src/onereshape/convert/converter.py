"""One node at a time through onnx's version converter, and what it made of the node checked by running both.

The converter drops functions, does not go into branches and leaves some nodes that changed their meaning as they were
(Softmax from 13 to 12), so it is never given a model: a node with the types, shapes and small constants of its inputs
becomes a model of its own, and is kept only if onnxruntime gives the same output before and after.
"""

from __future__ import annotations

import itertools
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import helper, shape_inference, version_converter

from onereshape.convert.unchanged import Known
from onereshape.formats.model import cause

_IR_VERSION = 10
_LARGEST_CONSTANT = 4096
"""Elements of an input that the converter may want to turn into an attribute."""
_SIZES = (3, 4, 5, 2, 6, 7)
"""What unknown dims are taken as when both models are run."""
_LARGEST_RUN = 1 << 26
"""Elements of a tensor up to which a node is run."""
_TOO_LARGE = "its tensors are too large to be checked by running it"


class CannotConvertError(Exception):
    """Why a node stays in its opset."""


class Converter:
    """Remembers what it has converted: the layers of a model ask the same again and again."""

    def __init__(self) -> None:
        self.seen: dict[tuple[bytes, int], onnx.ModelProto | str] = {}

    def converted(self, node: ir.Node, old: int, new: int, known: Known) -> onnx.ModelProto:
        """The node alone as a model of the new opset; its values are i0, i1 ... and o0, o1 ..."""
        model = single(node, old, known)
        key = model.SerializeToString(deterministic=True), new
        if key not in self.seen:
            try:
                self.seen[key] = _checked(model, new)
            except CannotConvertError as error:
                self.seen[key] = str(error)
        found = self.seen[key]
        if isinstance(found, str):
            raise CannotConvertError(found)
        return found


def single(node: ir.Node, opset: int, known: Known) -> onnx.ModelProto:
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
    return helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", opset)], ir_version=_IR_VERSION)


def input_names(node: ir.Node) -> dict[ir.Value, str]:
    """The names that `single` gives to the inputs of a node."""
    values = dict.fromkeys(value for value in node.inputs if value is not None)
    return {value: f"i{index}" for index, value in enumerate(values)}


def _info(value: ir.Value, name: str) -> onnx.ValueInfoProto:
    if not isinstance(value.type, ir.TensorType) or value.shape is None:
        raise CannotConvertError("the type or the rank of one of its tensors is not known")
    dims = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
    return helper.make_tensor_value_info(name, int(value.type.dtype), dims)


def _checked(model: onnx.ModelProto, new: int) -> onnx.ModelProto:
    try:
        found = version_converter.convert_version(model, new)
    except Exception as error:  # noqa: BLE001 - assertions of C++ and errors of its own
        said = cause(error).partition("failed: ")[2] or cause(error)
        raise CannotConvertError(f"onnx's converter says: {said.replace('$', '')}") from None
    if [value.name for value in found.graph.output] != [value.name for value in model.graph.output]:
        raise CannotConvertError("onnx's converter has lost an output")
    for info in model.graph.output:
        if prod(dim.dim_value for dim in info.type.tensor_type.shape.dim if dim.dim_value) > _LARGEST_RUN:
            raise CannotConvertError(_TOO_LARGE)
    feeds = _feeds(model)
    names = [value.name for value in found.graph.input]
    before, after = _run(model, feeds), _run(found, {name: feeds[name] for name in names if name in feeds})
    for one, two in zip(before, after, strict=True):
        numeric = one.dtype.kind in "fc"
        if one.dtype != two.dtype or one.shape != two.shape:
            same = False
        else:
            same = np.allclose(one, two, rtol=1e-4, atol=1e-5, equal_nan=True) if numeric else bool((one == two).all())
        if not same:
            raise CannotConvertError("what onnx's converter makes of it gives another output")
    return shape_inference.infer_shapes(found)


def _feeds(model: onnx.ModelProto) -> dict[str, Any]:
    """Elements for every input, a name of a dim being one size throughout."""
    random = np.random.default_rng(0)
    sizes = itertools.cycle(_SIZES)
    symbols: dict[str, int] = {}
    feeds = {}
    for info in model.graph.input:
        kind = info.type.tensor_type
        dims = []
        for dim in kind.shape.dim:
            if dim.HasField("dim_value"):
                dims.append(dim.dim_value)
            else:
                dims.append(symbols.setdefault(dim.dim_param, next(sizes)) if dim.dim_param else next(sizes))
        if prod(dims) > _LARGEST_RUN:
            raise CannotConvertError(_TOO_LARGE)
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        if dtype.kind not in "fiub":
            raise CannotConvertError(f"data of type {dtype} cannot be made up to check it")
        numbers = random.standard_normal(dims) if dtype.kind == "f" else random.integers(0, 2, dims)
        feeds[info.name] = np.asarray(numbers).astype(dtype)
    return feeds


def _run(model: onnx.ModelProto, feeds: dict[str, Any]) -> list[Any]:
    try:
        runtime = import_module("onnxruntime")
    except ImportError:
        raise CannotConvertError(
            "onnxruntime is not installed, which would check what onnx's converter makes"
        ) from None
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = _IR_VERSION
    try:
        session = runtime.InferenceSession(copy.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found: list[Any] = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - onnxruntime's own
        opset = model.opset_import[0].version
        raise CannotConvertError(f"onnxruntime cannot run it in opset {opset} to check it: {cause(error)}") from None
    return found
