"""Layer: a layer of an IR as its record sees it (attributes, dims, inputs), and the drawing of its ONNX nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from xml.etree import ElementTree as ET

import numpy as np
import onnx_ir as ir

from onereshape.formats.ir_as_onnx.drawing import Drawing, DrawnNode, HeldAttribute, LayerPort, Made, Sized, Wire
from onereshape.formats.openvino.openvino_net import data_of, read_dims, read_shape, read_type
from onereshape.formats.reading import integer
from onereshape.ground.dtypes import named
from onereshape.rule.dims import Dim

FLOATS = frozenset({ir.DataType.FLOAT, ir.DataType.FLOAT16, ir.DataType.DOUBLE, ir.DataType.BFLOAT16})
"""The types of real numbers."""


class UndrawnError(Exception):
    """ONNX has no words for a layer, or for an attribute of it."""


class Sheet(Protocol):
    """Where all layers of a net are drawn."""

    path: str

    def unused(self, name: str) -> str: ...
    def hold(self, name: str, array: np.ndarray[Any, Any]) -> ir.Value: ...


class Layer:
    """A layer of an IR: its attributes, its inputs as values, and the nodes that are drawn for it."""

    def __init__(self, element: ET.Element, inputs: Sequence[ir.Value | None], sheet: Sheet) -> None:
        self.kind = element.get("type", "")
        self.name = element.get("name", "")
        self.opset = integer(element.get("version", "opset1").removeprefix("opset")) or 0
        self.inputs = inputs
        self.nodes: list[ir.Node] = []
        self._element = element
        self._data = data_of(element)
        self._sheet = sheet
        self._ports = {value: LayerPort(place) for place, value in reversed([*enumerate(inputs)]) if value is not None}
        self._held: dict[ir.Value, HeldAttribute] = {}
        self._read: set[int] = set()
        """Inputs whose constant was read, and became part of the drawing."""
        self._sizes: list[Sized] = []

    # What the file says

    def text(self, name: str, default: str | None = None) -> str:
        """An attribute; a word of OpenVINO is the same in any case."""
        found = self._data.get(name, default)
        if found is None:
            raise UndrawnError(f"it has no attribute {name}")
        return found.strip()

    def flag(self, name: str, default: str = "false") -> bool:
        """An attribute that is true or false."""
        return self.text(name, default).lower() in {"true", "1"}

    def integer(self, name: str, default: int | None = None) -> int:
        """An attribute that is a whole number."""
        found = integer(self.text(name, None if default is None else str(default)))
        if found is None:
            raise UndrawnError(f"its attribute {name} is {self.text(name)!r}, which is no number")
        return found

    def integers(self, name: str, default: str | None = None) -> list[int]:
        """An attribute that is a list of whole numbers."""
        found = [integer(each.strip()) for each in self.text(name, default).split(",") if each.strip()]
        if None in found:
            raise UndrawnError(f"its attribute {name} is {self.text(name)!r}, which are no numbers")
        return [each for each in found if each is not None]

    def number(self, name: str, default: float | None = None) -> float:
        """An attribute that is a real number."""
        try:
            return float(self.text(name, None if default is None else str(default)))
        except ValueError:
            raise UndrawnError(f"its attribute {name} is {self.text(name)!r}, which is no number") from None

    def numbers(self, name: str, default: str = "") -> list[float]:
        """An attribute that is a list of real numbers."""
        try:
            return [float(each) for each in self.text(name, default).split(",") if each.strip()]
        except ValueError:
            raise UndrawnError(f"its attribute {name} is {self.text(name)!r}, which are no numbers") from None

    def only(self, name: str, *allowed: str) -> None:
        """Refuses an attribute that says anything else; the first of these is meant where it is not there."""
        found = self.text(name, allowed[0]).lower()
        if found not in allowed:
            raise UndrawnError(f"its {name} is {found!r}, and only {' or '.join(allowed)} is known here")

    @property
    def names(self) -> frozenset[str]:
        """The attributes that the file gives."""
        return frozenset(self._data)

    @property
    def ports(self) -> list[ET.Element]:
        """The output ports."""
        return self._element.findall("output/port")

    def dims(self, place: int) -> tuple[Dim, ...] | None:
        """The dims of an input, as far as the file says them."""
        value = self.inputs[place] if place < len(self.inputs) else None
        if value is None or value.shape is None:
            return None
        return tuple(dim if isinstance(dim, int) else None for dim in value.shape)

    def rank(self, place: int) -> int:
        """How many dims an input has; a layer for which that matters is not drawn without."""
        dims = self.dims(place)
        if dims is None:
            raise UndrawnError("the rank of its data is not known")
        return len(dims)

    def size(self, place: int, axis: int) -> int:
        """A dim that a layer cannot be drawn without."""
        dims = self.dims(place)
        size = dims[axis] if dims is not None and -len(dims) <= axis < len(dims) else None
        if not isinstance(size, int):
            raise UndrawnError(f"dim {axis} of its input {place} is not known")
        return size

    def rely(self, place: int, axis: int) -> None:
        """Notes that the drawing is right only for the present size of a dim; at another the layer is spelled anew."""
        dims = self.dims(place) or ()
        size = dims[axis]
        self._sizes.append(Sized(place, axis % len(dims), size if isinstance(size, int) else None))

    def kind_of(self, place: int) -> ir.DataType | None:
        """The element type of an input."""
        value = self.inputs[place] if place < len(self.inputs) else None
        return None if value is None else value.dtype

    def constant(self, place: int) -> np.ndarray[Any, Any] | None:
        """What an input holds, where the file says it."""
        value = self.inputs[place] if place < len(self.inputs) else None
        self._read.add(place)
        return None if value is None or value.const_value is None else value.const_value.numpy()

    def integers_at(self, place: int, what: str) -> list[int]:
        """The whole numbers that an input holds; a layer that needs them is not drawn without."""
        found = self.constant(place)
        if found is None or found.dtype.kind not in "iu":
            raise UndrawnError(f"its {what} are no constant")
        return [int(each) for each in found.ravel()]

    # What is drawn

    def input(self, place: int) -> ir.Value:
        """The value that feeds an input; UndrawnError where nothing does."""
        value = self.inputs[place] if place < len(self.inputs) else None
        if value is None:
            raise UndrawnError(f"its input {place} is not there")
        return value

    def given(self, place: int) -> bool:
        """Whether an input is there."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def draw(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attributes: Mapping[str, Any] | None = None,
        domain: str = "",
    ) -> ir.Value:
        """Draws a node, and gives its one output."""
        return self.draw_all(op, inputs, attributes, 1, domain)[0]

    def draw_all(
        self,
        op: str,
        inputs: Sequence[ir.Value | None],
        attributes: Mapping[str, Any] | None = None,
        outputs: int = 1,
        domain: str = "",
    ) -> list[ir.Value]:
        """Draws a node, and gives all its outputs."""
        kept = {name: value for name, value in (attributes or {}).items() if value is not None}
        node = ir.node(op, list(inputs), kept, domain=domain, num_outputs=outputs)
        self.nodes.append(node)
        for output in node.outputs:
            output.name = self._sheet.unused(f"{self.name}/{op}")
        return list(node.outputs)

    def held(self, array: Any, kind: Any = np.int64) -> ir.Value:
        """A constant of the drawing alone."""
        value = self._sheet.hold(f"{self.name}/held", np.asarray(array, kind))
        self._held[value] = HeldAttribute(value.name or "")
        return value

    def cast(self, value: ir.Value, kind: ir.DataType) -> ir.Value:
        """A value in another type."""
        return self.draw("Cast", [value], {"to": int(kind)})

    def int64(self, place: int) -> ir.Value:
        """An input as ONNX wants sizes and axes."""
        value = self.input(place)
        return value if value.dtype == ir.DataType.INT64 else self.cast(value, ir.DataType.INT64)

    def vector(self, place: int) -> ir.Value:
        """An input as a list of int64; a single number, which OpenVINO takes too, is reshaped to a list of one."""
        value, dims = self.int64(place), self.dims(place)
        return value if dims is not None and len(dims) == 1 else self.draw("Reshape", [value, self.held([-1])])

    def drawing(self, outputs: Sequence[ir.Value]) -> Drawing:
        """The Drawing of the layer: its nodes and their wires, beside which a later change of the nodes is seen."""
        numbered = [*enumerate(self.nodes)]
        made = {value: Made(part, place) for part, node in numbered for place, value in enumerate(node.outputs)}
        wires: dict[ir.Value, Wire] = {**self._ports, **self._held, **made}
        parts = tuple(
            DrawnNode(
                node.op_type,
                {name: each.value for name, each in node.attributes.items()},
                tuple(None if value is None else wires[value] for value in node.inputs),
            )
            for node in self.nodes
        )
        twins = {
            place: self._ports[value].place
            for place, value in enumerate(self.inputs)
            if value is not None and self._ports[value].place != place and place not in self._read
        }
        ends = tuple(made[value] for value in outputs)
        return Drawing(self._element.get("id", ""), parts, ends, twins, tuple(self._sizes))


def data_type(kind: str | None) -> ir.DataType | None:
    """ONNX's type for a type of OpenVINO, where it has one."""
    found = named(kind or "")
    if found is None or found.openvino != kind or found.onnx is None:
        return None
    return ir.DataType[found.onnx.upper()]


def declare(value: ir.Value, dims: tuple[Dim, ...] | None, kind: ir.DataType | None) -> None:
    """Gives a value the dims and the type that the file says; an interval is a dim that is not known."""
    value.shape = None if dims is None else ir.Shape([dim if isinstance(dim, int) else None for dim in dims])
    value.type = None if kind is None else ir.TensorType(kind)


def declare_port(value: ir.Value, port: ET.Element, path: str) -> None:
    """Gives a value the dims and the type that an output port says."""
    declare(value, read_dims(port, path), data_type(read_type(port)))


def declare_self(value: ir.Value, element: ET.Element, path: str) -> None:
    """Gives a value the dims and the type of a Parameter or a Const, whose attributes say more than their ports."""
    said = data_of(element)
    declare(value, read_shape(said.get("shape", ""), path), data_type(said.get("element_type")))
