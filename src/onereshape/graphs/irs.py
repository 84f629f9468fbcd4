"""IRs among models: the ONNX image of one on the way in, and the words of layers on the way out.

All that knows ONNX graphs works on the image: rules, term runs, certificates.  Whoever is answered reads the names, the
types and the places of layers; `layered` writes what was repaired.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import KEY, Net, mark_of, net_of
from onereshape.formats.model import Model
from onereshape.formats.onnx.onnx_graphs import nodes
from onereshape.ground.errors import FixError


class Told(Protocol):
    """What is told of one node: a change of a repair, or a finding of `check`, which also has its `place`."""

    @property
    def node(self) -> str: ...
    @property
    def origin(self) -> str | None: ...


_T = TypeVar("_T", bound=Told)


def imaged(model: Model) -> Model:
    """The model as an ONNX graph: itself, or the image of an IR."""
    if model.format != "openvino" or isinstance(model.content, ir.Model):
        return model
    from onereshape.formats.ir_as_onnx.to_onnx import image  # noqa: PLC0415 - only an IR needs it

    found = image(model)
    drawn = {
        mark.drawing.layer: (node, place)
        for node, place in nodes(found.graph, "graph")
        if (mark := mark_of(node)) and node.op_type == "Reshape"
    }
    reshapes = tuple(
        replace(each, node=drawn[number][0], place=drawn[number][1])
        for each in model.reshapes
        if each.place.count("/") == 1 and (number := each.node.get("id")) in drawn
    )
    return Model("onnx", model.path, reshapes, found, None)


def drawn_reshapes(model: Model, given: Model) -> dict[str, ir.Node]:
    """The nodes of a graph, or of the image of an IR, by the places that the model itself gives its Reshapes."""
    if given is model:
        return {each.place: each.node for each in model.reshapes}
    drawn = {mark.drawing.layer: each.node for each in given.reshapes if (mark := mark_of(each.node)) is not None}
    return {
        each.place: drawn[number]
        for each in model.reshapes
        if each.place.count("/") == 1 and (number := each.node.get("id")) in drawn
    }


@contextmanager
def in_layers(model: Model) -> Iterator[None]:
    """Has a refusal name the layers of an IR, where its image was refused."""
    try:
        yield
    except FixError as error:
        if isinstance(model.content, ir.Model) and net_of(model.ir.graph) is not None:
            Names(model.ir).correct(error)
        raise


def told_of_layers(found: list[_T], model: ir.Model) -> list[_T]:
    """Findings with the layers of an IR in place of the nodes of its image."""
    return found if net_of(model.graph) is None else [Names(model).of(each) for each in found]


class Names:
    """What the nodes of an image are called in its IR."""

    def __init__(self, model: ir.Model) -> None:
        net = net_of(model.graph)
        assert net is not None  # noqa: S101 - who asks has an image
        self._places: Mapping[str, str] = {layer.get("id", ""): place for layer, place in net.body.places()}
        self._layers: dict[str, str] = {}
        """The id of the layer by the name of a node, or by its place."""
        for node, place in nodes(model.graph, "graph"):
            if (mark := mark_of(node)) is not None:
                self._layers[place] = mark.drawing.layer
                self._layers.setdefault(node.name or "", mark.drawing.layer)
        self._net: Net = net
        self._constants = {
            value.name: net.body.layers[number].get("name", "")
            for value in model.graph.initializers.values()
            if (number := value.meta.get(KEY)) is not None
        }

    def of(self, said: _T) -> _T:
        """A finding or a change with the name, the type and the place of a layer for those of its node."""
        number = self._layers.get(getattr(said, "place", "")) or self._layers.get(said.node)
        held = (said.origin or "").removeprefix("initializer ")
        if held != said.origin and held in self._constants:
            said = replace(said, origin=f"Const {self._constants[held]}")  # type: ignore[type-var]
        if number is None:
            return said
        layer = self._net.body.layers[number]
        place = self._places[number]
        words = {"node": layer.get("name") or place, "op": layer.get("type", "")}
        return replace(said, **words, **({"place": place} if hasattr(said, "place") else {}))  # type: ignore[type-var]

    def correct(self, error: FixError) -> None:
        """Puts the name and the type of a layer for those of its node into a refusal."""
        number = self._layers.get(str(error.fields.get("node")))
        if number is not None:
            layer = self._net.body.layers[number]
            error.fields["node"] = layer.get("name") or self._places[number]
            if "op" in error.fields:
                error.fields["op"] = layer.get("type", "")
