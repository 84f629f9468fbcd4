"""Reshapes alone as an ONNX model."""

from __future__ import annotations

import gzip
from collections.abc import Hashable

import onnx
import onnx_ir as ir
from onnx import helper, parser, printer

from onereshape.formats.model_data import ModelData
from onereshape.formats.onnx.onnx_graphs import ONNX
from onereshape.formats.onnx.onnx_merge import to_ir
from onereshape.formats.onnx.onnx_native import refused_by_checker
from onereshape.formats.onnx.onnx_reshapes import reshapes
from onereshape.formats.refusals import unwritable
from onereshape.formats.reshape_plan import Link, PlanTensor, ReshapePlan, ReshapeStep, Wiring, attributes_of, not_whole
from onereshape.ground.atomic import replacing
from onereshape.rule.dims import parse

_INITIALIZERS_ALONE = 4
"""The IR version since which an initializer need not be listed as an input."""


def ir_version(opset: int) -> int:
    """The IR version that was in force when an opset came."""
    versions = helper.OP_SET_ID_VERSION_MAP.items()
    return max(int(version) for (domain, number), version in versions if domain == "ai.onnx" and number <= opset)


def write(plan: ReshapePlan, path: str) -> None:
    """Writes the model of a plan; what it is made of is known before the file is opened."""
    content = _content(plan, path)
    with replacing(path) as file:
        file.write(content)


def _model(plan: ReshapePlan, opset: int) -> onnx.ModelProto:
    """The model, as `onnx.checker` accepts it in full."""
    version = ir_version(opset)
    taken = {tensor.name for tensor in plan.inputs} | {step.output.name for step in plan.steps}
    nodes, constants = [], []
    inputs = [_info(tensor) for tensor in plan.inputs]
    for step in plan.steps:
        node = helper.make_node("Reshape", [step.data.name], [step.output.name], name=step.name)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in attributes_of(step.after).items())
        words = step.after.target
        if plan.spec.target_in == "attribute":
            node.attribute.append(helper.make_attribute("shape", words, attr_type=onnx.AttributeProto.INTS))
        elif words is None:
            node.input.append(_target_name(step))
        else:
            name = fresh("shape", taken)
            node.input.append(name)
            constants.append(helper.make_tensor(name, onnx.TensorProto.INT64, [len(words)], words))
            if version < _INITIALIZERS_ALONE:
                inputs.append(helper.make_tensor_value_info(name, onnx.TensorProto.INT64, [len(words)]))
        nodes.append(node)
    graph = helper.make_graph(nodes, "reshape", inputs, [_info(tensor) for tensor in plan.outputs], constants)
    imports = [helper.make_operatorsetid("", opset)]
    return helper.make_model(graph, opset_imports=imports, ir_version=version, producer_name="onereshape")


def _content(plan: ReshapePlan, path: str) -> bytes:
    """The content of the file; nothing that the checker refuses is written."""
    try:
        proto = _model(plan, plan.opset or plan.spec.version)
    except UnicodeEncodeError as error:  # JSON can hold half of a surrogate pair
        raise unwritable(path, f"ONNX names are UTF-8, which {error.object[:80]!a} cannot be written in") from None
    if unranked := [tensor.name for tensor in (*plan.inputs, *plan.outputs) if tensor.dims is None]:
        why = "and onnx.checker takes no input or output without one"
        raise unwritable(path, f"the rank of {unranked[0]} is not known, {why}")
    if (said := refused_by_checker(proto.SerializeToString())) is not None:
        raise unwritable(path, f"onnx.checker refuses the model: {said}")
    if path.lower().endswith(".onnxtxt"):
        return _text(proto, path).encode()
    content = proto.SerializeToString()
    return gzip.compress(content, mtime=0) if path.lower().endswith(".onnx.gz") else content


def fresh(name: str, taken: set[str]) -> str:
    """A name that is not in `taken`, and is added there: `x`, else `x_1`, `x_2` ..., found by doubling and halving."""
    found = name
    if found in taken:
        low, high = 0, 1
        while f"{name}_{high}" in taken:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if f"{name}_{middle}" in taken else (low, middle)
        found = f"{name}_{high}"
    taken.add(found)
    return found


def _target_name(step: ReshapeStep) -> str:
    assert step.target is not None  # noqa: S101 - a step without words has a tensor
    return step.target.name


def _info(tensor: PlanTensor) -> onnx.ValueInfoProto:
    """The declaration of a value; an interval is an unknown dim, and so is a formula that is no name."""
    dims = None if tensor.dims is None else [_dim(dim) for dim in tensor.dims]
    kind = onnx.TensorProto.DataType.Value((tensor.type.onnx or "").upper())
    return helper.make_tensor_value_info(tensor.name, kind, dims)


def _dim(dim: object) -> int | str | None:
    if isinstance(dim, str):
        product = parse(dim)
        return dim if product.coefficient == 1 and product.symbols == (dim,) else None
    return dim if isinstance(dim, int) else None


def _text(proto: onnx.ModelProto, path: str) -> str:
    """The textual form of a model; refused where the parser reads another model out of it."""
    text = str(printer.to_text(proto))
    try:
        again = parser.parse_model(text)
        same = printer.to_text(again) == text and reshapes(to_ir(again), path) == reshapes(to_ir(proto), path)
    except Exception:  # noqa: BLE001 - the printer writes what the parser does not read
        same = False
    if not same:
        raise unwritable(path, "the textual form has no words for some of this model; write it as .onnx")
    return text


def wiring(model: ModelData) -> Wiring:
    """The values of a file of nothing but Reshapes and their constants."""
    graph = model.ir.graph
    by_node = {id(node.node): node for node in model.reshapes}
    links = []
    for node in graph:
        if (found := by_node.get(id(node))) is None:
            if node.op_type == "Constant" and node.domain in ONNX:
                continue
            raise not_whole(model, f"{node.op_type} {node.name or node.outputs[0].name} is no Reshape")
        if not node.inputs or node.inputs[0] is None:
            raise not_whole(model, f"{found.name} has no data")
        target = node.inputs[1] if len(node.inputs) > 1 and found.spec.target_in == "input" else None
        links.append(Link(found, node.inputs[0], target, node.outputs[0]))
    constant = [value for value in graph.inputs if value.is_initializer() and model.ir.ir_version < 4]
    inputs = [value for value in graph.inputs if not any(value is other for other in constant)]
    values: list[ir.Value] = [*inputs, *(value for link in links for value in link[1:] if isinstance(value, ir.Value))]
    names: dict[Hashable, str] = {value: value.name or "" for value in values}
    return Wiring(tuple(inputs), tuple(graph.outputs), tuple(links), names)
