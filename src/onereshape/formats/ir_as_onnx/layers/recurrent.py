"""Layers that go through a sequence: LSTM, GRU and RNN, and their cells, which take one step.

OpenVINO has the batch first, and the directions behind it; ONNX has the steps of the sequence first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer, UndrawnError


class _Form(NamedTuple):
    """A kind of recurrent layers: ONNX's operator, the number of states, the order of gates, the usual activations."""

    op: str
    states: int
    order: tuple[int, ...]
    """The gates of OpenVINO in ONNX's order."""
    activations: tuple[str, ...]


_LSTM = _Form("LSTM", 2, (1, 3, 0, 2), ("sigmoid", "tanh", "tanh"))
_GRU = _Form("GRU", 1, (0, 1, 2), ("sigmoid", "tanh"))
_RNN = _Form("RNN", 1, (0,), ("tanh",))
_DIRECTIONS = {"forward": "forward", "reverse": "reverse", "bidirectional": "bidirectional"}
_NAMES = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}


def _sequence(form: _Form, layer: Layer) -> list[ir.Value]:
    """A layer for whole sequences; its inputs are data, states and lengths, then the weights."""
    direction = _DIRECTIONS.get(layer.text("direction", "forward").lower())
    if direction is None:
        raise UndrawnError(f"its direction is {layer.text('direction')!r}")
    states = [layer.draw("Transpose", [layer.input(1 + each)], {"perm": [1, 0, 2]}) for each in range(form.states)]
    data = layer.draw("Transpose", [layer.input(0)], {"perm": [1, 0, 2]})
    lengths = layer.input(1 + form.states)
    if lengths.dtype != ir.DataType.INT32:
        lengths = layer.cast(lengths, ir.DataType.INT32)
    weights, recurrence, bias = (layer.input(form.states + place) for place in (2, 3, 4))
    given = [data, *_weights(form, layer, weights, recurrence, bias), lengths, *states]
    outputs = layer.draw_all(form.op, given, _attributes(form, layer, direction), 1 + form.states)
    whole = layer.draw("Transpose", [outputs[0]], {"perm": [2, 1, 0, 3]})
    return [whole, *(layer.draw("Transpose", [each], {"perm": [1, 0, 2]}) for each in outputs[1:])]


def _cell(form: _Form, layer: Layer) -> list[ir.Value]:
    """A cell (LSTMCell, GRUCell, RNNCell), drawn as ONNX's operator on a sequence of one step."""
    if form is _LSTM:
        layer.only("weights_format", "fico")
    first = layer.held([0])
    if len(layer.inputs) > 4 + form.states or not layer.given(3 + form.states):
        raise UndrawnError("it has no bias, or more inputs than are known here")
    data, *rest = (
        layer.draw("Unsqueeze", [layer.input(place), first])
        for place in (0, *range(1 + form.states, 4 + form.states), *range(1, 1 + form.states))
    )
    weights, states = rest[:3], rest[3:]
    given = [data, *_weights(form, layer, weights[0], weights[1], weights[2]), None, *states]
    outputs = layer.draw_all(form.op, given, _attributes(form, layer, "forward"), 1 + form.states)
    return [layer.draw("Squeeze", [each, first]) for each in outputs[1:]]


def _weights(form: _Form, layer: Layer, weights: ir.Value, recurrence: ir.Value, bias: ir.Value) -> list[ir.Value]:
    """The weights with their gates in ONNX's order, and one bias more, of the recurrence."""
    if form.order != tuple(sorted(form.order)):
        weights, recurrence, bias = (_ordered(layer, each, form.order) for each in (weights, recurrence, bias))
    if form is _GRU and layer.flag("linear_before_reset"):  # the last gate has both
        parts = layer.draw_all("Split", [bias], {"axis": 1, "num_outputs": 4}, 4)
        none = layer.draw("Sub", [parts[0], parts[0]])
        return [weights, recurrence, layer.draw("Concat", [*parts[:3], none, none, parts[3]], {"axis": 1})]
    nothing = layer.draw("Sub", [bias, bias])
    return [weights, recurrence, layer.draw("Concat", [bias, nothing], {"axis": 1})]


def _ordered(layer: Layer, value: ir.Value, order: Sequence[int]) -> ir.Value:
    parts = layer.draw_all("Split", [value], {"axis": 1, "num_outputs": len(order)}, len(order))
    return layer.draw("Concat", [parts[place] for place in order], {"axis": 1})


def _attributes(form: _Form, layer: Layer, direction: str) -> dict[str, Any]:
    if layer.text("activations_alpha", "") or layer.text("activations_beta", ""):
        raise UndrawnError("its activations have numbers of their own, which is not known here")
    said = [each.strip().lower() for each in layer.text("activations", "").split(",") if each.strip()]
    names = tuple(said) or form.activations
    if any(name not in _NAMES for name in names):
        raise UndrawnError(f"its activations are {', '.join(names)}, which is not known here")
    found: dict[str, Any] = {"hidden_size": layer.integer("hidden_size"), "direction": direction}
    if names != form.activations:
        found["activations"] = [_NAMES[name] for name in names] * (2 if direction == "bidirectional" else 1)
    if (clip := layer.number("clip", 0.0)) > 0:
        found["clip"] = clip
    if form is _GRU and layer.flag("linear_before_reset"):
        found["linear_before_reset"] = 1
    return found


RECORDS: dict[str, Callable[[Layer], list[ir.Value]]] = {
    "GRUCell": partial(_cell, _GRU),
    "GRUSequence": partial(_sequence, _GRU),
    "LSTMCell": partial(_cell, _LSTM),
    "LSTMSequence": partial(_sequence, _LSTM),
    "RNNCell": partial(_cell, _RNN),
    "RNNSequence": partial(_sequence, _RNN),
}
