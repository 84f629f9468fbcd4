"""written(): what an image has become, as an IR again.

Layers whose drawing is as it was keep their element: name, attributes, rt_info and all; only what feeds them, and the
dims that their ports say, may be others.  What is new is spelled as layers, and new constants come behind the old ones.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.formats.openvino_net import precision_of
from onereshape.openvino.drawing import KEY, Drawing, Net, fed, is_right, mark_of, net_of
from onereshape.openvino.hoisting import hoist
from onereshape.openvino.pen import Dims, Place, UnspelledError, kind_of, type_name
from onereshape.openvino.spelling import SPELLINGS

Known = Mapping[ir.Value, Sequence[int | None]]
"""The dims of values, None for each that is not a number."""

_ALIGNED = 64
"""Bytes between the places where constants begin."""


@dataclass(frozen=True, slots=True)
class Written:
    """An IR that is made."""

    root: ET.Element
    added: bytes
    """What comes behind the old constants,"""
    start: int
    """and where it begins."""


def written(model: ir.Model, dims: Known | None = None) -> Written:
    """The IR of an image; `dims` are what its ports are to say, where that is known."""
    net = net_of(model.graph)
    assert net is not None  # noqa: S101 - who asks has made it of an IR
    known = {} if dims is None else dict(dims)
    hoist(model.graph, known)
    return _Writer(model.graph, net, known).done()


class _Writer:
    """The net as it grows."""

    def __init__(self, graph: ir.Graph, net: Net, dims: Known) -> None:
        self._graph = graph
        self._net = net
        self._dims = dims
        self._root = copy.copy(net.root)
        self._layers: dict[str, ET.Element] = {}
        """By id, in the order of the file."""
        self._feeds: dict[Place, Place] = {}
        self._places: dict[ir.Value, Place] = {}
        self._next = 1 + max((int(number) for number in net.body.layers), default=-1)
        self._constants: dict[tuple[str, tuple[int, ...], bytes], Place] = {}
        self._added = bytearray(net.weights.added)
        self._start = net.weights.start if net.weights.added else -(-(net.weights.size or 0) // _ALIGNED) * _ALIGNED
        self._node: ir.Node | None = None
        self._own: ET.Element | None = None
        self._freed = False
        """Whether an input has other dims than it had."""

    def done(self) -> Written:
        """Everything, in the order of the graph."""
        drawings, present = self._drawings()
        self._inputs()
        intact = {
            drawing.layer: ports
            for drawing in drawings
            if (ports := fed(drawing, present[drawing.layer])) is not None and is_right(drawing, ports)
        }
        for node in self._graph:
            mark = mark_of(node)
            if mark is None or mark.drawing.layer not in intact:
                self._spell(node, self._net.body.layers.get(mark.drawing.layer) if mark and _is_last(mark) else None)
            elif mark.part == len(mark.drawing.parts) - 1:
                self._keep(mark.drawing, intact[mark.drawing.layer], present[mark.drawing.layer])
        self._results()
        return Written(self._finished(), bytes(self._added), self._start)

    def _drawings(self) -> tuple[list[Drawing], dict[str, dict[int, ir.Node]]]:
        """The drawings that are still there, whole or in part, and their nodes."""
        found: dict[str, Drawing] = {}
        nodes: dict[str, dict[int, ir.Node]] = defaultdict(dict)
        for node in self._graph:
            if (mark := mark_of(node)) is not None:
                found[mark.drawing.layer] = mark.drawing
                nodes[mark.drawing.layer][mark.part] = node
        return [*found.values()], nodes

    # What was there

    def _inputs(self) -> None:
        for value in self._graph.inputs:
            number = self._net.parameters.get(value.name or "")
            if number is None:
                raise _unwritten(f"input {value.name} is new")
            element = self._copied(number)
            data = element.find("data")
            if data is not None and value.shape is not None:
                before, now = data.get("shape", ""), _shape(data.get("shape", ""), value.shape)
                data.set("shape", now)
                self._freed = self._freed or before != now
            self._outputs(element, [value])

    def _keep(self, drawing: Drawing, ports: Mapping[int, ir.Value], nodes: Mapping[int, ir.Node]) -> None:
        """A layer as it is, fed by what feeds its drawing now."""
        ports = {**ports, **{place: ports[first] for place, first in drawing.twins.items() if first in ports}}
        inputs = {place: self.place(value) for place, value in ports.items()}  # before it, where they are new
        element = self._copied(drawing.layer)
        if self._freed:
            _loosen(element)
        for place, port in enumerate(element.findall("input/port")):
            if place in inputs:
                self._feeds[drawing.layer, port.get("id", "")] = inputs[place]
                self._say(port, ports[place])
            elif (start := self._net.body.feeds.get((drawing.layer, port.get("id", "")))) is not None:
                self._feeds[drawing.layer, port.get("id", "")] = self._unread(start)
        self._outputs(element, [nodes[made.part].outputs[made.output] for made in drawing.outputs])

    def _unread(self, start: Place) -> Place:
        """What feeds a port that is in the drawing by what it holds only: a constant of the net."""
        if start[0] not in self._layers:
            self._copied(start[0])
        return start

    def _copied(self, number: str) -> ET.Element:
        element = copy.deepcopy(self._net.body.layers[number])
        self._layers[number] = element
        return element

    def _outputs(self, element: ET.Element, values: Sequence[ir.Value]) -> None:
        for port, value in zip(element.iterfind("output/port"), values, strict=False):
            self._places[value] = element.get("id", ""), port.get("id", "")
            self._say(port, value)
            self._name(port, value)

    def _results(self) -> None:
        ends: list[tuple[Place | None, ir.Value]] = []
        """What fed a Result, and what it is now."""
        for number, output in zip(self._net.results, self._graph.outputs, strict=True):
            port = self._net.body.layers[number].find("input/port")
            fed_by = None if port is None else self._net.body.feeds.get((number, port.get("id", "")))
            same = (each for start, each in ends if start == fed_by and each.shape == output.shape is not None)
            value = next(same, output)  # one tensor stays one, with its names
            ends.append((fed_by, value))
            maker = value.producer()
            handed = maker is not None and maker.op_type == "Identity" and mark_of(maker) is None
            source = maker.inputs[0] if handed and maker is not None and maker.inputs[0] is not None else value
            start = self.place(source)
            element = self._copied(number)
            for port in element.iterfind("input/port"):
                self._feeds[number, port.get("id", "")] = start
                self._say(port, source)

    # What is new

    def place(self, value: ir.Value) -> Place:
        """Where a value comes out; a constant that nobody has asked for yet is put there."""
        if value in self._places:
            return self._places[value]
        number = value.meta.get(KEY)
        tensor = value.const_value
        if tensor is None:
            raise _unwritten(f"value {value.name} comes from nowhere")
        if number is not None and self._net.constants.get(number) is tensor:
            self._outputs(self._copied(number), [value])
        else:
            self._places[value] = self.constant(tensor.numpy())
        return self._places[value]

    def constant(self, array: np.ndarray[Any, Any]) -> Place:
        """A new Const; of an empty one OpenVINO writes a byte, and reads no other."""
        kind = type_name(ir.DataType.from_numpy(array.dtype))
        content = np.ascontiguousarray(array).tobytes()
        key = kind, array.shape, content
        if key not in self._constants:
            self._added += b"\0" * (-(len(self._added)) % _ALIGNED)
            where = {"offset": str(self._start + len(self._added)), "size": str(len(content) or 1)}
            self._added += content or b"\0"
            said = {"element_type": kind, "shape": ", ".join(map(str, array.shape)), **where}
            number = self._number()
            element = self._element(number, self._unused(f"onereshape/constant_{number}"), "Const", 1, said)
            _port(ET.SubElement(element, "output"), "0", kind, array.shape)
            self._constants[key] = number, "0"
        return self._constants[key]

    def _spell(self, node: ir.Node, own: ET.Element | None) -> None:
        """A node as layers; `own` is the layer whose last node it is, which keeps its id and its name."""
        if node.op_type == "Identity" and node.outputs[0] in self._graph.outputs and mark_of(node) is None:
            return  # for a Result
        spelling = SPELLINGS.get(node.op_type) if not node.domain else None
        if spelling is None:
            raise _unwritten(f"{node.op_type} {node.name} is changed inside, and cannot be written as layers")
        self._node, self._own = node, own
        try:
            spelling(self, node)
        except UnspelledError as error:
            raise _unwritten(f"{node.op_type} {node.name}: {error}") from None

    def layer(  # noqa: PLR0913, PLR0917 - what a layer is
        self,
        kind: str,
        opset: int,
        inputs: Sequence[Place],
        data: Mapping[str, str],
        outputs: Sequence[ir.Value] = (),
        inner: tuple[str, Dims] | None = None,
        more: Sequence[tuple[str, Dims]] = (),
    ) -> Place:
        """A new layer: the one that its node is for, or one on the way there (`inner`, `more`: what it makes)."""
        own = self._own if outputs and self._own is not None and self._own.get("type") == kind else None
        number = self._number() if own is None else own.get("id", "")
        name = (self._node.name if self._node is not None else "") or kind
        called = own.get("name", "") if own is not None else self._unused(name if outputs else f"{name}/{kind}")
        element = self._element(number, called, kind, opset, data)
        if own is not None:
            element.extend(copy.deepcopy(note) for note in own.iterfind("rt_info"))
        ports = ET.SubElement(element, "input")
        for place, start in enumerate(inputs):
            self._feeds[number, str(place)] = start
            source = next(each for each in self._layers[start[0]].iterfind("output/port") if each.get("id") == start[1])
            port = ET.SubElement(ports, "port", {"id": str(place), "precision": source.get("precision", "")})
            port.extend(copy.deepcopy(dim) for dim in source.iterfind("dim"))
        side = ET.SubElement(element, "output")
        if inner is not None:
            for place, each in enumerate((inner, *more)):
                _port(side, str(len(inputs) + place), *each)
        for place, value in enumerate(outputs):
            dims = self._dims.get(value)
            port = _port(side, str(len(inputs) + place), type_name(kind_of(value)), dims)
            self._name(port, value)
            self._places[value] = number, str(len(inputs) + place)
        return number, str(len(inputs))

    def _element(self, number: str, name: str, kind: str, opset: int, data: Mapping[str, str]) -> ET.Element:
        words = {"id": number, "name": name, "type": kind, "version": f"opset{opset}"}
        element = self._layers[number] = ET.Element("layer", words)
        if data:
            ET.SubElement(element, "data", dict(data))
        return element

    def _number(self) -> str:
        self._next += 1
        return str(self._next - 1)

    def _unused(self, name: str) -> str:
        taken = {each.get("name") for each in (*self._layers.values(), *self._net.body.layers.values())}
        found, count = name, 0
        while found in taken:
            count += 1
            found = f"{name}_{count}"
        return found

    # What ports say

    def _say(self, port: ET.Element, value: ir.Value) -> None:
        """The dims that a port says, where they are known and others than it says."""
        dims = self._dims.get(value)
        if dims is None:
            return
        now = [-1 if dim is None else dim for dim in dims]
        before = [each.text for each in port.iterfind("dim")]
        if before != [str(dim) for dim in now]:
            for each in port.findall("dim"):
                port.remove(each)
            for dim in now:
                ET.SubElement(port, "dim").text = str(dim)

    def _name(self, port: ET.Element, value: ir.Value) -> None:
        """The tensor names go with the value that has them."""
        names = self._net.names.get(value.name or "")
        if names:
            port.set("names", names)
        elif "names" in port.attrib:
            del port.attrib["names"]

    def _adopt(self) -> None:
        """Gives what stands where an old constant stood, which nobody needs any more, its id and its names."""
        old = self._net.body
        taken: dict[str, str] = {}
        for end, (number, _) in [*self._feeds.items()]:
            place = old.feeds.get(end)
            if place is None or number in old.layers or self._layers[number].get("type") != "Const":
                continue
            before = old.layers[place[0]]
            if before.get("type") != "Const" or (place[0] in self._layers and place[0] not in taken):
                continue
            if taken.setdefault(place[0], number) == number:
                self._feeds[end] = place
        used = {start[0] for start in self._feeds.values()}
        for was, number in taken.items():
            _become(self._copied(was), self._layers[number])
        for number in set(taken.values()) - used:
            del self._layers[number]

    def _prune(self) -> None:
        """Takes out what is new and feeds nobody."""
        while True:
            used = {start[0] for start in self._feeds.values()}
            unused = self._layers.keys() - used - self._net.body.layers.keys()
            if not unused:
                return
            for number in unused:
                del self._layers[number]
            self._feeds = {end: start for end, start in self._feeds.items() if end[0] not in unused}

    def _finished(self) -> ET.Element:
        self._adopt()
        self._prune()
        root = self._root
        layers, edges = (ET.Element(tag) for tag in ("layers", "edges"))
        layers.extend(self._in_order())
        order = {end: place for place, end in enumerate(self._net.body.feeds)}
        for end in sorted(self._feeds, key=lambda end: order.get(end, len(order))):
            start = self._feeds[end]
            ends = {"from-layer": start[0], "from-port": start[1], "to-layer": end[0], "to-port": end[1]}
            ET.SubElement(edges, "edge", ends)
        made = {"layers": layers, "edges": edges}
        root[:] = [made.get(child.tag, child) if isinstance(child.tag, str) else child for child in root]
        return root

    def _in_order(self) -> Iterator[ET.Element]:
        """The layers as they were in the file, each new one before the first that came after it."""
        before: dict[str, list[ET.Element]] = defaultdict(list)
        new: list[ET.Element] = []
        for number, element in self._layers.items():
            if number not in self._net.body.layers:
                new.append(element)
            elif element.get("type") != "Const":
                before[number] += new
                new = []
        for number in self._net.body.layers:
            if number in self._layers:
                yield from before[number]
                yield self._layers[number]
        yield from new


def _become(element: ET.Element, new: ET.Element) -> None:
    """A Const that holds what another does."""
    for data, other in zip(element.iterfind("data"), new.iterfind("data"), strict=False):
        data.attrib.update(other.attrib)
    for port, other in zip(element.iterfind("output/port"), new.iterfind("output/port"), strict=False):
        port.set("precision", other.get("precision", ""))
        port[:] = [
            *(copy.deepcopy(dim) for dim in other.iterfind("dim")),
            *(each for each in port if each.tag != "dim"),
        ]


def _loosen(element: ET.Element) -> None:
    """Has a layer broadcast both ways, as its drawing does: with one sample it may have needed only one, or none."""
    data = element.find("data")
    if data is None:
        return
    if data.get("auto_broadcast", "").lower() in {"none", "pdpd"}:
        data.set("auto_broadcast", "numpy")
    if element.get("type") == "Broadcast" and data.get("mode", "numpy").lower() == "numpy":
        data.set("mode", "bidirectional")
        element.set("version", "opset3")


def _is_last(mark: Any) -> bool:
    return bool(mark.part == mark.drawing.outputs[0].part)


def _port(side: ET.Element, number: str, kind: str, dims: Dims) -> ET.Element:
    port = ET.SubElement(side, "port", {"id": number, "precision": precision_of(kind)})
    for dim in dims or ():
        ET.SubElement(port, "dim").text = str(-1 if dim is None else dim)
    return port


def _shape(before: str, now: ir.Shape) -> str:
    """The shape of a Parameter; a dim that is no number stays as it was said, an interval or `?`."""
    parts = [part.strip() for part in before.split(",")] if before.strip() not in {"", "..."} else []
    words = []
    for axis, dim in enumerate(now):
        old = parts[axis] if axis < len(parts) else "?"
        if isinstance(dim, int):
            words.append(old if old == str(dim) else str(dim))
        else:
            words.append("?" if old.isdecimal() or old == "-1" else old)
    return before if [*words] == parts else ",".join(words)


def _unwritten(why: str) -> FixError:
    return FixError("unsupported-model", why=f"the repair cannot be written as an OpenVINO IR: {why}")
