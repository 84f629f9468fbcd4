"""written(): what an image has become, as an IR again.

Layers whose drawing is as it was keep their element: name, attributes, rt_info and all; only what feeds them, and the
dims that their ports say, may be others.  What is new is spelled as layers, and new constants come behind the old ones.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import Drawing, Mark, Net, fed, is_right, mark_of, net_of
from onereshape.formats.ir_as_onnx.from_onnx import SPELLINGS
from onereshape.formats.ir_as_onnx.hoisting import hoist
from onereshape.formats.ir_as_onnx.pen import Pen, Port, UnspelledError, say_dims
from onereshape.ground.errors import FixError

KnownDims = Mapping[ir.Value, Sequence[int | None]]
"""The dims of values, None for each that is not a number."""


@dataclass(frozen=True, slots=True)
class WrittenIr:
    """An IR that is written anew: its XML, and the constants that its .bin has to gain."""

    root: ET.Element
    added: bytes
    """The bytes of new constants, which come behind the old ones,"""
    start: int
    """and the offset in the .bin at which they begin."""


def written(model: ir.Model, dims: KnownDims | None = None) -> WrittenIr:
    """The IR of an image; `dims` are what its ports are to say, where that is known."""
    net = net_of(model.graph)
    assert net is not None  # noqa: S101 - who asks has made it of an IR
    known = {} if dims is None else dict(dims)
    hoist(model.graph, known)
    try:
        return _Writer(model.graph, net, known).done()
    except UnspelledError as error:
        raise _unwritten(str(error)) from None


class _Writer:
    """The layers of an IR, written one after the other from the nodes of its image."""

    def __init__(self, graph: ir.Graph, net: Net, dims: KnownDims) -> None:
        self._graph = graph
        self._net = net
        self._pen = Pen(net, dims)
        self._freed = False
        """Whether an input has other dims than it had."""
        self._unread: list[Port] = []
        """Input ports that are in no drawing, or whose constant was read and became part of the drawing."""

    def done(self) -> WrittenIr:
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
            elif mark.part == max(present[mark.drawing.layer]):
                self._keep(mark.drawing, intact[mark.drawing.layer], present[mark.drawing.layer])
        self._feed_unread(drawings, present)
        self._results()
        return WrittenIr(self._finished(), bytes(self._pen.added), self._pen.start)

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
                raise UnspelledError(f"input {value.name} is new")
            element = self._pen.copied(number)
            data = element.find("data")
            if data is not None and value.shape is not None:
                before, now = data.get("shape", ""), _shape(data.get("shape", ""), value.shape)
                data.set("shape", now)
                self._freed = self._freed or before != now
            self._pen.put_out(element, [value])

    def _keep(self, drawing: Drawing, ports: Mapping[int, ir.Value], nodes: Mapping[int, ir.Node]) -> None:
        """Writes a layer as the file has it, fed by the values that feed its drawing now."""
        ports = {**ports, **{place: ports[first] for place, first in drawing.twins.items() if first in ports}}
        inputs = {place: self._pen.place(value) for place, value in ports.items()}  # before it, where they are new
        element = self._pen.copied(drawing.layer)
        if self._freed:
            _loosen(element)
        for place, port in enumerate(element.findall("input/port")):
            if place in inputs:
                self._pen.feeds[drawing.layer, port.get("id", "")] = inputs[place]
                self._pen.say(port, ports[place])
            else:
                self._unread.append((drawing.layer, port.get("id", "")))
        made = (nodes[made.part].outputs[made.output] if made.part in nodes else None for made in drawing.outputs)
        self._pen.put_out(element, [*made])

    def _feed_unread(self, drawings: list[Drawing], present: Mapping[str, Mapping[int, ir.Node]]) -> None:
        """Feeds each port that no drawing reads as the file does, and writes the old layers that this takes."""
        made: dict[Port, ir.Value] = {}
        """The value of the image for each output port of the net."""
        for drawing in drawings:
            nodes, ports = present[drawing.layer], self._net.body.layers[drawing.layer].iterfind("output/port")
            for port, part in zip(ports, drawing.outputs, strict=False):
                if part.part in nodes:
                    made[drawing.layer, port.get("id", "")] = nodes[part.part].outputs[part.output]
        while self._unread:
            end = self._unread.pop()
            start = self._net.body.feeds.get(end)
            if start is None:
                continue
            if start in made:
                self._pen.feeds[end] = self._pen.place(made[start])
                continue
            self._pen.feeds[end] = start
            if start[0] not in self._pen.layers:
                self._again(start[0])

    def _again(self, number: str) -> None:
        """Writes an old layer that has no nodes; its ports lose their sizes, but for outputs of Const and ShapeOf."""
        element = self._pen.copied(number)
        if self._freed:
            _loosen(element)
        for port in element.iterfind("input/port"):
            self._unread.append((number, port.get("id", "")))
            say_dims(port, ["-1" for _ in port.iterfind("dim")])
        for port in () if element.get("type") in {"Const", "ShapeOf"} else element.iterfind("output/port"):
            say_dims(port, ["-1" for _ in port.iterfind("dim")])

    def _results(self) -> None:
        ends: list[tuple[Port | None, ir.Value]] = []
        """For each Result its old feeding port and its new value."""
        for number, output in zip(self._net.results, self._graph.outputs, strict=True):
            port = self._net.body.layers[number].find("input/port")
            fed_by = None if port is None else self._net.body.feeds.get((number, port.get("id", "")))
            same = (each for start, each in ends if start == fed_by and each.shape == output.shape is not None)
            value = next(same, output)  # one tensor stays one, with its names
            ends.append((fed_by, value))
            maker = value.producer()
            handed = maker is not None and maker.op_type == "Identity" and mark_of(maker) is None
            source = maker.inputs[0] if handed and maker is not None and maker.inputs[0] is not None else value
            start = self._pen.place(source)
            element = self._pen.copied(number)
            for port in element.iterfind("input/port"):
                self._pen.feeds[number, port.get("id", "")] = start
                self._pen.say(port, source)

    # What is new

    def _spell(self, node: ir.Node, own: ET.Element | None) -> None:
        """A node as layers; `own` is the layer whose last node it is, which keeps its id and its name."""
        if node.op_type == "Identity" and node.outputs[0] in self._graph.outputs and mark_of(node) is None:
            return  # for a Result
        spelling = SPELLINGS.get(node.op_type) if not node.domain else None
        if spelling is None:
            raise UnspelledError(f"{node.op_type} {node.name} has no spelling as layers")
        self._pen.turn(node, own)
        try:
            spelling(self._pen, node)
        except UnspelledError as error:
            raise UnspelledError(f"{node.op_type} {node.name}: {error}") from None

    # The whole

    def _adopt(self) -> None:
        """Gives what stands where an old constant stood, which nobody needs any more, its id and its names."""
        old = self._net.body
        taken: dict[str, str] = {}
        for end, (number, _) in [*self._pen.feeds.items()]:
            place = old.feeds.get(end)
            if place is None or number in old.layers or self._pen.layers[number].get("type") != "Const":
                continue
            before = old.layers[place[0]]
            if before.get("type") != "Const" or (place[0] in self._pen.layers and place[0] not in taken):
                continue
            if taken.setdefault(place[0], number) == number:
                self._pen.feeds[end] = place
        used = {start[0] for start in self._pen.feeds.values()}
        for was, number in taken.items():
            _become(self._pen.copied(was), self._pen.layers[number])
        for number in set(taken.values()) - used:
            del self._pen.layers[number]

    def _prune(self) -> None:
        """Takes out what is new and feeds nobody."""
        while True:
            used = {start[0] for start in self._pen.feeds.values()}
            unused = self._pen.layers.keys() - used - self._net.body.layers.keys()
            if not unused:
                return
            for number in unused:
                del self._pen.layers[number]
            self._pen.feeds = {end: start for end, start in self._pen.feeds.items() if end[0] not in unused}

    def _finished(self) -> ET.Element:
        self._adopt()
        self._prune()
        root = copy.copy(self._net.root)
        layers, edges = (ET.Element(tag) for tag in ("layers", "edges"))
        layers.extend(self._in_order())
        order = {end: place for place, end in enumerate(self._net.body.feeds)}
        for end in sorted(self._pen.feeds, key=lambda end: order.get(end, len(order))):
            start = self._pen.feeds[end]
            ends = {"from-layer": start[0], "from-port": start[1], "to-layer": end[0], "to-port": end[1]}
            ET.SubElement(edges, "edge", ends)
        made = {"layers": layers, "edges": edges}
        root[:] = [made.get(child.tag, child) if isinstance(child.tag, str) else child for child in root]
        return root

    def _in_order(self) -> Iterator[ET.Element]:
        """The layers in the order of the file; a new layer stands before the old one (no Const) written after it."""
        before: dict[str, list[ET.Element]] = defaultdict(list)
        new: list[ET.Element] = []
        for number, element in self._pen.layers.items():
            if number not in self._net.body.layers:
                new.append(element)
            elif element.get("type") != "Const":
                before[number] += new
                new = []
        for number in self._net.body.layers:
            if number in self._pen.layers:
                yield from before[number]
                yield self._pen.layers[number]
        yield from new


def _become(element: ET.Element, new: ET.Element) -> None:
    """Gives the Const `element` the offset, the type and the dims of the Const `new`."""
    for data, other in zip(element.iterfind("data"), new.iterfind("data"), strict=False):
        data.attrib.update(other.attrib)
    for port, other in zip(element.iterfind("output/port"), new.iterfind("output/port"), strict=False):
        port.set("precision", other.get("precision", ""))
        say_dims(port, [dim.text or "" for dim in other.iterfind("dim")])


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


def _is_last(mark: Mark) -> bool:
    return mark.part == mark.drawing.outputs[0].part


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
