"""The opset of a whole ONNX model: Reshapes by `translate`, the other nodes as they stand or by onnx's converter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import onnx
import onnx_ir as ir

from onereshape.arrays.operator import Reshape
from onereshape.backends.convert.converter import Converter, input_names
from onereshape.backends.convert.steps import operator_of
from onereshape.backends.convert.trial import CannotConvertError
from onereshape.backends.convert.unchanged import schema, spread_types, unchanged
from onereshape.backends.translation import translate
from onereshape.formats.model import Model, save
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.onnx.onnx_graphs import nodes, roots
from onereshape.formats.onnx.onnx_plans import fresh, ir_version
from onereshape.formats.onnx.onnx_reshapes import reshapes as find_reshapes
from onereshape.formats.onnx.onnx_sound import complaint
from onereshape.formats.reshape_plan import attributes_of
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import ReshapeError
from onereshape.prove.runs.term_runs import fresh_seed, same_proofs
from onereshape.prove.seen import merged
from onereshape.rule.dims import Dim
from onereshape.rule.specs import NEWEST_OPSET
from onereshape.terms.proof import Proof

_ONNX = ("", "ai.onnx")
_OPEN = frozenset({"Resize", "Upsample"})
_SAMPLED = 11
"""The first opset in which Resize says where its samples are taken; before, onnxruntime was asked, node by node."""


class Changed(NamedTuple):
    """A Reshape of the model: its name, its operator before and after, and its node."""

    name: str
    before: Reshape
    after: Reshape
    node: ir.Node


class Conversion(NamedTuple):
    """The Reshapes of a model that was written in another opset, and the proof that the model is the same."""

    changed: list[Changed]
    proof: Proof
    """What the terms say of the models before and after."""


def change_opset(model: Model, opset: int, path: str) -> Conversion:
    """Writes the model with another opset, or refuses and names the first node that has no words there."""
    if any(not 1 <= (_version(graph, model.ir) or 1) <= NEWEST_OPSET for graph, _ in roots(model.ir)):
        why = f"{model.path}: its opset is none of those that are known, 1 to {NEWEST_OPSET}"
        raise ReshapeError("unsupported-model", why=why)
    sound = complaint(model.ir) is None
    before = model.ir.clone()
    twin = _inferred(model.ir)
    changed = [_changed(node, opset) for node in _described(model, twin)]
    work = _OpsetWork(model, twin)
    for graph, start in roots(model.ir):
        for old in _versions(graph, model.ir, opset):
            new = old + (1 if opset > old else -1)
            for node, place in list(nodes(graph, start)):
                if node.domain in _ONNX and node.op_identifier() not in model.ir.functions:
                    work.step(node, place, old, new)
        _set_version(graph, model.ir, opset)
    for each in changed:
        work.rewrite(each)
    model.ir.ir_version = max(model.ir.ir_version, ir_version(opset))
    if sound and (said := complaint(model.ir)) is not None:
        raise ReshapeError("unsupported-model", why=f"{model.path}: in opset {opset} onnx.checker says: {said}")
    proof = _proof(before, model.ir)
    if proof.verdict == "other":
        why = f"{model.path}: in opset {opset} it is another computation: {proof.reason}"
        raise ReshapeError("unsupported-model", why=why)
    save(model, path)
    return Conversion(changed, proof)


def _proof(before: ir.Model, after: ir.Model) -> Proof:
    """What the terms say; `other` is `not proven` where an old Resize leaves open which samples it takes."""
    found = merged(same_proofs(before, after, [], fresh_seed()))
    opset = next((before.opset_imports[domain] for domain in _ONNX if domain in before.opset_imports), 1)
    if found.verdict == "other" and opset < _SAMPLED:
        for node in before.graph.all_nodes():
            if node.op_type in _OPEN and node.domain in _ONNX:
                why = f"before opset {_SAMPLED} it is not said where a {node.op_type} takes its samples"
                return replace(found, verdict="not proven", reason=why)
    return found


def _described(model: Model, inferred: ir.Model) -> Iterator[ReshapeNode]:
    """The Reshapes as the file says them, with the types that inference adds."""
    for node, twin in zip(model.reshapes, find_reshapes(inferred, model.path), strict=True):
        yield node if node.element_type is not None else replace(node, element_type=twin.element_type)


def _inferred(model: ir.Model) -> ir.Model:
    """A copy of the model with inferred types and shapes; a value without them is refused where a node needs them."""
    twin = model.clone()
    found = facts_of(twin)
    for value, dims in found.dims.items():
        if value.shape is None:
            value.shape = ir.Shape([dim if isinstance(dim, int) else _symbol(dim) for dim in dims])
    for value, kind in found.kinds.items():
        if value.type is None:
            value.dtype = kind
    for graph, start in roots(twin):
        if (opset := _version(graph, model)) is not None:
            spread_types((node for node, _ in nodes(graph, start)), opset)
    return twin


def _symbol(dim: Dim) -> ir.SymbolicDim:
    return ir.SymbolicDim(dim if isinstance(dim, str) else None)


def _changed(node: ReshapeNode, opset: int) -> Changed:
    try:
        before = operator_of(node)
        after = translate(before, f"onnx-{opset}", data=node.data, dtype=node.element_type)
    except ReshapeError as error:
        error.add_note(f"node    {node.name}")
        raise
    return Changed(node.name, before, after, node.node)


def _version(graph: Any, model: ir.Model) -> int | None:
    imports = graph.opset_imports
    found: int | None = next((imports[domain] for domain in _ONNX if domain in imports), None)
    return 1 if found is None and model.ir_version < 3 and graph is model.graph else found


def _versions(graph: Any, model: ir.Model, opset: int) -> range:
    """The opsets on the way to another, without the last: 13 to 16 -> 13, 14, 15; 16 to 13 -> 16, 15, 14."""
    old = _version(graph, model)
    return range(0) if old is None else range(old, opset, 1 if opset > old else -1)


def _set_version(graph: Any, model: ir.Model, opset: int) -> None:
    if _version(graph, model) is not None:
        for domain in [domain for domain in _ONNX if domain in graph.opset_imports] or [""]:
            graph.opset_imports[domain] = opset


class _OpsetWork:
    """Rewrites the nodes of one model, one opset at a time."""

    def __init__(self, model: Model, inferred: ir.Model) -> None:
        self.model = model
        self.converter = Converter()
        self.reshapes = {id(node.node) for node in model.reshapes}
        functions = ((graph, start) for graph, start in roots(model.ir) if graph is not model.ir.graph)
        self.in_functions = {id(node) for graph, start in functions for node, _ in nodes(graph, start)}
        self.known: dict[ir.Value, ir.Value] = {}
        for (graph, _), (other, _) in zip(roots(model.ir), roots(inferred), strict=True):
            for (node, _), (like, _) in zip(nodes(graph, ""), nodes(other, ""), strict=True):
                pairs = [*zip(node.inputs, like.inputs, strict=True), *zip(node.outputs, like.outputs, strict=True)]
                self.known.update((value, twin_) for value, twin_ in pairs if value is not None and twin_ is not None)
        self.taken = {value.name or "" for value in self.known} | set(model.ir.graph.initializers)
        self.taken |= {value.name or "" for value in model.ir.graph.inputs}

    def step(self, node: ir.Node, place: str, old: int, new: int) -> None:
        """Takes a node that is no Reshape one opset further."""
        if id(node) in self.reshapes or unchanged(node, old, new, self.known):
            return
        if node.op_type == "Reshape" and _stays(node, old, new):  # one that the converter has put in
            return
        if schema(node.op_type, old) is None:
            raise self.refusal(node, place, new, f"opset {old} has no such operator")
        if node.op_type == "Constant" and self._lifted(node):
            return
        try:
            made = self.converter.converted(node, old, new, self.known)
        except CannotConvertError as error:
            raise self.refusal(node, place, new, str(error)) from None
        self._splice(node, made.graph)

    def _lifted(self, node: ir.Node) -> bool:
        """Whether a Constant in a form, or of a type, that the other opset lacks could become an initializer."""
        value = node.outputs[0]
        tensor = ir.convenience.get_const_tensor(value)
        if tensor is None or id(node) in self.in_functions or value.is_graph_output():
            return False
        new = self.constant(tensor.numpy(), node)
        self.known[new] = new
        value.replace_all_uses_with(new)
        cast(ir.Graph, node.graph).remove(node)
        return True

    def refusal(self, node: ir.Node, place: str, new: int, why: str) -> ReshapeError:
        what = f"{node.op_type} {node.name or place} cannot be taken to opset {new}"
        return ReshapeError("unsupported-model", why=f"{self.model.path}: {what}: {why}")

    def _splice(self, node: ir.Node, made: onnx.GraphProto) -> None:
        """Puts what the converter made in the place of a node."""
        values: dict[str, ir.Value | None] = {"": None, **{name: value for value, name in input_names(node).items()}}
        for tensor in made.initializer:
            if tensor.name not in values:
                values[tensor.name] = self.constant(onnx.numpy_helper.to_array(tensor), node)
        said = {info.name: info for info in made.value_info}
        added = []
        for index, proto in enumerate(made.node):
            attributes = [ir.serde.deserialize_attribute(attribute) for attribute in proto.attribute]
            inputs = [values[name] for name in proto.input]
            name = node.name if index == len(made.node) - 1 else None
            new = ir.Node("", proto.op_type, inputs, attributes, num_outputs=len(proto.output), name=name)
            for value, label in zip(new.outputs, proto.output, strict=True):
                value.name = fresh(f"{node.outputs[0].name}_{label}", self.taken) if label else ""
                values[label] = value if label else None
                if label in said:
                    self.known[value] = ir.serde.deserialize_value_info_proto(said[label], None)
            added.append(new)
        pairs = [(old, values.get(f"o{index}")) for index, old in enumerate(node.outputs) if old.name]
        kept = [(old, new) for old, new in pairs if new is not None]
        self.known.update((new, self.known.get(old, old)) for old, new in kept)
        if id(node) in self.in_functions:
            self.in_functions |= {id(new) for new in added}
        ir.convenience.replace_nodes_and_values(
            cast(ir.Graph, node.graph), node, [node], added, [old for old, _ in kept], [new for _, new in kept]
        )

    def constant(self, array: Any, node: ir.Node) -> ir.Value:
        """A constant that a node can read: of the main graph, or in a function a node of its own."""
        tensor = ir.tensor(np.asarray(array))
        name = fresh(f"{node.name or node.outputs[0].name}_constant", self.taken)
        if id(node) in self.in_functions:
            made = ir.Node("", "Constant", [], [ir.AttrTensor("value", tensor)], num_outputs=1)
            made.outputs[0].name = name
            node.prepend(made)
            return made.outputs[0]
        value = ir.Value(
            name=name, const_value=tensor, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.numpy().shape)
        )
        self.model.ir.graph.register_initializer(value)
        if self.model.ir.ir_version < 4:
            self.model.ir.graph.inputs.append(value)
        return value

    def rewrite(self, changed: Changed) -> None:
        """Gives a Reshape its words in the new opset."""
        node, after = changed.node, changed.after
        for name in [name for name in node.attributes if name in {"allowzero", "shape", "consumed_inputs"}]:
            del node.attributes[name]
        for name, value in attributes_of(after).items():
            node.attributes[name] = ir.AttrInt64(name, int(value))
        old = node.inputs[1] if len(node.inputs) > 1 else None
        if after.spec.target_in == "attribute":
            node.attributes["shape"] = ir.AttrInt64s("shape", list(after.target or ()))
            node.resize_inputs(1)
        elif after.target is not None and (old is None or after.target != changed.before.target):
            node.resize_inputs(2)
            node.replace_input_with(1, self.constant(np.array(after.target, np.int64), node))
        else:
            return
        if old is not None and not old.uses() and not old.is_graph_output():
            self._drop(old)

    def _drop(self, value: ir.Value) -> None:
        """Removes a constant that nothing reads any more."""
        graph, maker = self.model.ir.graph, value.producer()
        if maker is not None and maker.op_type == "Constant" and isinstance(maker.graph, ir.Graph | ir.Function):
            maker.graph.remove(maker)
        elif graph.initializers.get(value.name or "") is value and not value.is_graph_input():
            del graph.initializers[value.name or ""]


def _stays(node: ir.Node, old: int, new: int) -> bool:
    """Whether a Reshape whose target is known only at run time is the same in both opsets."""
    attributes = {name: attribute.value for name, attribute in node.attributes.items()}
    try:
        before = Reshape(f"onnx-{old}", **attributes)
        return before.target is None and attributes_of(translate(before, f"onnx-{new}")) == attributes_of(before)
    except ReshapeError:
        return False
