"""How ONNX's LSTM, GRU and RNN are spelled: the batch first again, and the gates in OpenVINO's order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.pen import (
    Pen,
    Port,
    Spelling,
    UnspelledError,
    attribute,
    integers,
    kind_of,
    type_name,
)

_GATES = {"LSTM": (2, 0, 3, 1), "GRU": (0, 1, 2), "RNN": (0,)}
"""The gates of ONNX in OpenVINO's order."""
_USUAL = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
_STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}


class _Spelled:
    """An LSTM, GRU or RNN of ONNX, and the layers that turn and order its inputs for OpenVINO."""

    def __init__(self, pen: Pen, node: ir.Node) -> None:
        if attribute(node, "layout", 0):
            raise UnspelledError(f"{node.op_type} with the batch first")
        weights = node.inputs[1]
        self.pen = pen
        self.node = node
        self.op = node.op_type
        self.kind = type_name(None if weights is None else kind_of(weights))
        self.size: int = attribute(node, "hidden_size")
        self.ways = 2 if attribute(node, "direction", "forward") == "bidirectional" else 1

    def place(self, index: int) -> Port:
        """The port that feeds an input of the node."""
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        if value is None:
            raise UnspelledError(f"{self.op} without input {index}")
        return self.pen.place(value)

    def has(self, index: int) -> bool:
        """Whether an input is there."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def turned(self, source: Port) -> Port:
        """A Transpose of three dims, the first two exchanged: `[2, N, H] -> [N, 2, H]`."""
        order = integers(self.pen, [1, 0, 2])
        return self.pen.layer("Transpose", 1, [source, order], {}, inner=(self.kind, [None] * 3))

    def part(self, source: Port, gate: int, rank: int) -> Port:
        """The rows of one gate, sliced out of weights (`rank` 3) or of a bias (`rank` 2)."""
        ends = [integers(self.pen, [each]) for each in (gate * self.size, (gate + 1) * self.size, 1, 1)]
        dims = [self.ways, self.size, None][:rank]
        return self.pen.layer("Slice", 8, [source, *ends], {}, inner=(self.kind, dims))

    def joined(self, parts: Sequence[Port], rank: int) -> Port:
        """A Concat of the rows of gates, of weights (`rank` 3) or of biases (`rank` 2); a single gate as it is."""
        if len(parts) == 1:
            return parts[0]
        dims = [self.ways, self.size * len(parts), None][:rank]
        return self.pen.layer("Concat", 1, parts, {"axis": "1"}, inner=(self.kind, dims))

    def ordered(self, index: int) -> Port:
        """Weights with their gates in OpenVINO's order."""
        order, source = _GATES[self.op], self.place(index)
        if order == tuple(sorted(order)):
            return source
        return self.joined([self.part(source, gate, 3) for gate in order], 3)

    def bias(self) -> Port:
        """One bias for two; a GRU that is linear before its reset keeps both of its last gate."""
        count, source = len(_GATES[self.op]), self.place(3)
        apart = bool(attribute(self.node, "linear_before_reset", 0))
        found = []
        for gate in _GATES[self.op]:
            pair = [self.part(source, each, 2) for each in (gate, count + gate)]
            if apart and gate == count - 1:
                found += pair
                continue
            words = {"auto_broadcast": "numpy"}
            found.append(self.pen.layer("Add", 1, pair, words, inner=(self.kind, [self.ways, self.size])))
        return self.joined(found, 2)

    def lengths(self) -> Port:
        """The lengths of the sequences: an input of the node, or the number of steps in data for each sample."""
        if self.has(4):
            return self.place(4)
        shape = self.pen.layer("ShapeOf", 3, [self.place(0)], {"output_type": "i64"}, inner=("i64", [3]))
        axis = integers(self.pen, 0)
        steps, samples = (
            self.pen.layer(
                "Gather", 8, [shape, integers(self.pen, which), axis], {"batch_dims": "0"}, inner=("i64", dims)
            )
            for which, dims in ((0, ()), ([1], [1]))
        )
        return self.pen.layer("Broadcast", 3, [steps, samples], {"mode": "numpy"}, inner=("i64", [None]))

    def words(self) -> dict[str, str]:
        """The attributes of the layer, as OpenVINO writes them."""
        said = attribute(self.node, "activations") or _USUAL[self.op]
        if attribute(self.node, "activation_alpha") or attribute(self.node, "activation_beta"):
            raise UnspelledError(f"{self.op} with numbers for its activations")
        found = {
            "activations": ", ".join(each.lower() for each in said[: len(_USUAL[self.op])]),
            "activations_alpha": "",
            "activations_beta": "",
            "clip": str(attribute(self.node, "clip", 0.0)),
            "direction": attribute(self.node, "direction", "forward"),
            "hidden_size": str(self.size),
        }
        if self.op == "GRU":
            found["linear_before_reset"] = "true" if attribute(self.node, "linear_before_reset", 0) else "false"
        return found


def _sequence(op: str, pen: Pen, node: ir.Node) -> None:
    spelled = _Spelled(pen, node)
    count = _STATES[op]
    if any(not spelled.has(5 + each) for each in range(count)) or (op == "LSTM" and spelled.has(7)):
        raise UnspelledError(f"{op} without a first state, or with peepholes")
    if attribute(node, "input_forget", 0):
        raise UnspelledError(f"{op} with one gate for input and forget")
    states = [spelled.turned(spelled.place(5 + each)) for each in range(count)]
    data = spelled.turned(spelled.place(0))
    given = [data, *states, spelled.lengths(), spelled.ordered(1), spelled.ordered(2), spelled.bias()]
    whole = [None, spelled.ways, None, spelled.size]
    last = [(spelled.kind, [None, spelled.ways, spelled.size])] * count
    layer, port = pen.layer(f"{op}Sequence", 5, given, spelled.words(), inner=(spelled.kind, whole), more=last)
    for place, value in enumerate(node.outputs):
        order = integers(pen, [1, 0, 2] if place else [2, 1, 0, 3])
        pen.layer("Transpose", 1, [(layer, str(int(port) + place)), order], {}, [value])


SPELLINGS: Mapping[str, Spelling] = {op: partial(_sequence, op) for op in _STATES}
