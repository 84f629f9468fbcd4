"""Layers that go through a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from openvino import opset3, opset4, opset5

from tests.formats.layers.making import Case, Made, Maker, case

_BATCH, _STEPS, _DATA, _HIDDEN = 3, 4, 2, 5
_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}
_SEQUENCES = {"LSTM": opset5.lstm_sequence, "GRU": opset5.gru_sequence, "RNN": opset5.rnn_sequence}
_CELLS = {"LSTM": opset4.lstm_cell, "GRU": opset3.gru_cell, "RNN": opset3.rnn_cell}


def _weights(make: Maker, name: str, lead: tuple[int, ...], *, more: int = 0) -> list[Made]:
    rows = _GATES[name] * _HIDDEN
    dims = (rows, _DATA), (rows, _HIDDEN), (rows + more * _HIDDEN,)
    return [make.drawn(*lead, *each, low=-1, high=1) for each in dims]


def _sequences() -> Iterator[Case]:
    for name, op in _SEQUENCES.items():
        for direction in ("forward", "reverse", "bidirectional"):
            for ragged in (False, True):
                for held in (False, True):

                    def build(
                        make: Maker,
                        name: str = name,
                        op: Any = op,
                        way: str = direction,
                        ragged: bool = ragged,
                        held: bool = held,
                    ) -> Made:
                        ways = 2 if way == "bidirectional" else 1
                        data = make.given(_BATCH, _STEPS, _DATA)
                        state = make.drawn if held else make.given
                        states = [state(_BATCH, ways, _HIDDEN) for _ in range(_STATES[name])]
                        lengths = [2, 4, 1] if ragged else [_STEPS] * _BATCH
                        numbers = make.held(lengths, np.int32 if held else np.int64)
                        return op(data, *states, numbers, *_weights(make, name, (ways,)), _HIDDEN, way)

                    yield case(
                        f"{name}Sequence", f"{direction} {ragged} {held}", build, loose=1e-4, said=held or ragged
                    )
    for direction in ("forward", "bidirectional"):

        def reset(make: Maker, way: str = direction) -> Made:
            ways = 2 if way == "bidirectional" else 1
            data, state = make.given(_BATCH, _STEPS, _DATA), make.given(_BATCH, ways, _HIDDEN)
            parts = _weights(make, "GRU", (ways,), more=1)
            lengths = make.held([_STEPS] * _BATCH, np.int64)
            return opset5.gru_sequence(data, state, lengths, *parts, _HIDDEN, way, linear_before_reset=True)

        yield case("GRUSequence", f"linear before reset {direction}", reset, loose=1e-4)

    def clipped(make: Maker) -> Made:
        data, state = make.given(_BATCH, _STEPS, _DATA), make.given(_BATCH, 1, _HIDDEN)
        lengths = make.held([_STEPS] * _BATCH, np.int64)
        return opset5.rnn_sequence(
            data, state, lengths, *_weights(make, "RNN", (1,)), _HIDDEN, "forward", ["relu"], [], []
        )

    yield case("RNNSequence", "relu", clipped, loose=1e-4)


def _cells() -> Iterator[Case]:
    for name, op in _CELLS.items():
        for batch in (1, 2, 3):
            for held in (False, True):

                def build(make: Maker, name: str = name, op: Any = op, batch: int = batch, held: bool = held) -> Made:
                    state = make.drawn if held else make.given
                    states = [state(batch, _HIDDEN) for _ in range(_STATES[name])]
                    said = (["tanh"], [], []) if name == "RNN" else ()
                    return op(make.given(batch, _DATA), *states, *_weights(make, name, ()), _HIDDEN, *said)

                yield case(f"{name}Cell", f"{batch} {held}", build, loose=1e-4, said=held)

    def reset(make: Maker) -> Made:
        parts = _weights(make, "GRU", (), more=1)
        return opset3.gru_cell(make.given(2, _DATA), make.given(2, _HIDDEN), *parts, _HIDDEN, linear_before_reset=True)

    yield case("GRUCell", "linear before reset", reset, loose=1e-4)


CASES = [*_sequences(), *_cells()]
