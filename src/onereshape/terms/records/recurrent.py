"""LSTM, GRU and RNN: step by step, a word for the state of each unit of each sequence of the batch.

A step of a unit reads the whole row of its sequence at that time, the whole state of its sequence before, its own
state, and its own rows of the weights; in a GRU the rows of all units, as the reset gate of each comes before the
weights of the others.  No sequence reads another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from onereshape.terms.call import Call, Record, record
from onereshape.terms.hashing import Words
from onereshape.terms.records.content import content, content_of, places, zero
from onereshape.terms.tensor import Tensor, terms

_STEPS: Final = 1 << 15
_GATES: Final = {"LSTM": 4, "GRU": 3, "RNN": 1}
_ACTIVATIONS: Final = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}
_DIRECTIONS: Final = {"forward": 1, "reverse": 1, "bidirectional": 2}


@dataclass(frozen=True, slots=True)
class _Layer:
    """A node, with its batch first and checked."""

    call: Call
    rows: Words
    """The content of each row of the data: steps, batch."""
    steps: int
    batch: int
    hidden: int
    directions: int
    lengths: Words | None
    """None where all sequences have all steps."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.batch, self.hidden


def _recurrent(call: Call) -> Sequence[Tensor]:
    layer = _layer(call)
    states = [_direction(layer, each) for each in range(layer.directions)]
    dtype = call.tensor(0).dtype
    sequence = np.stack([each[0] for each in states], 1)  # steps, directions, batch, hidden
    last = [np.stack([each[part] for each in states]) for part in range(1, len(states[0]))]
    if call.attribute("layout", 0):
        sequence = sequence.transpose(2, 0, 1, 3)
        last = [each.transpose(1, 0, 2) for each in last]
    return [terms(sequence, dtype), *(terms(each, dtype) for each in last)]


def _layer(call: Call) -> _Layer:
    turned, gates, directions = call.attribute("layout", 0), _GATES[call.op], _DIRECTIONS.get(_direction_of(call))
    if turned not in {0, 1}:
        call.refuse("its layout is none")
    if directions is None:
        call.refuse(f"there is no direction {_direction_of(call)!r}")
    state, weights = "B D H ?" if turned else "D B H ?", f"D {gates}H"
    optional = f"D {2 * gates}H ?", "B ?", state, state, "D 3H ?"
    one, two, _, hidden = call.dims(
        "B S I" if turned else "S B I", f"{weights} I", f"{weights} H", *optional, D=directions
    )
    steps, batch = (two, one) if turned else (one, two)
    if steps > _STEPS:
        call.refuse(f"{steps} steps are more than are taken one by one")
    if call.attribute("hidden_size", hidden) != hidden:
        call.refuse(f"its hidden size is not {hidden}")
    call.check_size((steps, directions, batch, hidden))
    rows, given = content(call, call.tensor(0), (2,)), call.tensor(4) if call.has(4) else None
    ends = given is not None and (given.values is None or np.any(given.values != steps))
    lengths = call.words(4) if ends else None
    return _Layer(call, rows.T if turned else rows, steps, batch, hidden, directions, lengths)


def _direction_of(call: Call) -> str:
    found = str(call.attribute("direction", "forward"))
    return "forward" if found == "foward" else found  # as the first opset of GRU spells its default


def _direction(layer: _Layer, which: int) -> list[Words]:
    """Hidden states of all steps, the last hidden state, and for an LSTM the last cell."""
    call = layer.call
    own = _parameters(layer, which)
    everybody = content_of(call, own, (0,)) if call.op == "GRU" else None
    states = [_initial(layer, 5, which)]
    if call.op == "LSTM":
        states.append(_initial(layer, 6, which))
    backward = which == 1 or _direction_of(call) == "reverse"
    key = _key(layer, which)
    if layer.lengths is not None:
        return _of_lengths(layer, (key, backward), own, states)
    sequence = np.empty((layer.steps, *layer.shape), np.uint64)
    for step in range(layer.steps)[:: -1 if backward else 1]:
        row = layer.rows[step][:, None]
        before = content_of(call, states[0], (1,), keep=True)
        operands = [row, before, own[None]]
        if everybody is not None:
            operands.append(np.broadcast_to(everybody, layer.shape))
        if call.op != "RNN":
            operands.append(states[-1])  # the cell, or the hidden state of a GRU
        states = [
            call.hashing.mix(call.hashing.key(part, key), *operands) for part in ("hidden", "cell")[: len(states)]
        ]
        sequence[step] = states[0]
    return [sequence, *states]


def _of_lengths(layer: _Layer, kind: tuple[int, bool], own: Words, states: Sequence[Words]) -> list[Words]:
    """Where sequences end early: each element is a function of its whole sequence, its length and its place."""
    call = layer.call
    whole = call.hashing.mix(
        call.hashing.key("lengths", *kind),
        content_of(call, layer.rows, (0,)),
        np.zeros((), np.uint64) if layer.lengths is None else layer.lengths,
        content_of(call, own, (0,)),
        *(content_of(call, each, (1,)) for each in states),
    )
    units = places(call, layer.hidden, 2, 1)
    last = [
        call.hashing.mix(call.hashing.key("last", part), whole[:, None], units)
        for part in ("hidden", "cell")[: len(states)]
    ]
    times = places(call, layer.steps, 3, 0)
    sequence = call.hashing.mix(call.hashing.key("sequence"), whole[None, :, None], units[None], times)
    return [sequence, *last]


def _initial(layer: _Layer, place: int, which: int) -> Words:
    """An initial state, which is 0 where none is given."""
    call = layer.call
    if not call.has(place):
        return np.broadcast_to(zero(call, call.tensor(0)), layer.shape)
    words = call.words(place)
    return np.asarray(words[:, which] if call.attribute("layout", 0) else words[which])


def _parameters(layer: _Layer, which: int) -> Words:
    """A word for each unit: its rows of all weights and biases."""
    call, hidden, gates = layer.call, layer.hidden, _GATES[layer.call.op]

    def by_unit(words: Words, count: int) -> list[Words]:
        return list(words.reshape(layer.directions, count, hidden)[which])

    found = [each for place in (1, 2) for each in by_unit(content(call, call.tensor(place), (2,)), gates)]
    found += by_unit(_or_zero(layer, 3, (layer.directions, 2 * gates * hidden)), 2 * gates)
    if call.op == "LSTM":
        found += by_unit(_or_zero(layer, 7, (layer.directions, 3 * hidden)), 3)
    return call.hashing.mix(call.hashing.key("parameters of a unit"), *found)


def _or_zero(layer: _Layer, place: int, shape: tuple[int, ...]) -> Words:
    """The words of the input at a place, which has dims `shape`; those of 0 where it is not given."""
    call = layer.call
    if not call.has(place):
        return np.broadcast_to(zero(call, call.tensor(0)), shape)
    return call.words(place)


def _key(layer: _Layer, which: int) -> int:
    """The word of what all steps share: the activations of a direction, the clip, the flags and the type."""
    call = layer.call
    default = _ACTIVATIONS[call.op]
    given: Any = call.attribute("activations")
    names = [str(each).lower() for each in given] if given else [*default] * layer.directions
    if len(names) < len(default) * layer.directions:
        call.refuse(f"{len(names)} activations are too few")
    own = tuple(names[which * len(default) : (which + 1) * len(default)])
    slopes = [tuple(call.attribute(name) or ()) for name in ("activation_alpha", "activation_beta")]
    consumed = (which, tuple(names), *slopes) if any(slopes) else ()
    flags = [call.attribute(name, 0) for name in ("input_forget", "linear_before_reset")]
    return call.key(own, consumed, call.attribute("clip"), *flags, call.tensor(0).dtype.name)


RECORDS: Final[dict[str, Record]] = dict.fromkeys(_GATES, record(_recurrent))
