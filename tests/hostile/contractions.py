"""Operators that multiply matrices, and recurrent networks."""

from __future__ import annotations

import numpy as np

from tests.hostile.makers import makes
from tests.hostile.pointwise import together
from tests.hostile.sketch import Misfit, Sketch, Value


def weight(g: Sketch, *dims: int, dtype: type = np.float32) -> Value:
    """A matrix that all samples share."""
    table = g.dice.constant(dims, dtype)
    return g.given(table) if g.dice.chance(0.15) else Value(g.const(table), table)


@makes("MatMul", weight=2)
def matmul(g: Sketch, op: str) -> None:
    value = g.pick("f", 1, 4)
    if value.array.dtype != np.float32:
        raise Misfit
    if value.batch == value.rank - 1 and g.dice.chance(0.9):  # the samples would be summed: they go to the columns
        if value.rank < 2:
            raise Misfit
        left = weight(g, g.dice.number(1, 3), value.dims[-2])
        g.keep(g.op(op, left, value, batch=value.batch))
        return
    fit = [
        each
        for each in g.values
        if each.rank > 1 and each.dims[-2] == value.dims[-1] and each.array.dtype == np.float32
    ]
    if fit and g.dice.chance(0.4):
        other = g.dice.pick(fit)
        g.keep(g.op(op, value, other, batch=together(value, other)))
        return
    rank = g.dice.pick([1, 2, 2, 2, 3])
    lead = [1 if g.dice.chance(0.5) else g.dice.number(1, 3)] * (rank - 2) if rank > 2 else []
    tail = [value.dims[-1], g.dice.number(1, 4)] if rank > 1 else [value.dims[-1]]
    other = weight(g, *lead, *tail)
    batch = value.batch
    if batch is not None and rank == 3 and value.rank < 3:
        batch += 3 - value.rank
    g.keep(g.op(op, value, other, batch=batch if rank > 1 or batch != value.rank - 1 else None))


@makes("Gemm:7", weight=1.5)
def gemm(g: Sketch, op: str) -> None:
    value = g.pick("f", 2, 2)
    if value.array.dtype != np.float32:
        raise Misfit
    flags = {}
    batch = value.batch
    if batch == 1:
        flags["transA"] = 1
    inner = value.dims[0 if flags else 1]
    outer = value.dims[1 if flags else 0]
    columns = g.dice.number(1, 3)
    turned = g.dice.chance(0.3)
    other = weight(g, columns, inner) if turned else weight(g, inner, columns)
    flags |= {"transB": 1} if turned else {}
    dims = g.dice.pick([[columns], [1, columns], [], [1], [outer, columns]])
    bias = [] if g.opset >= 11 and g.dice.chance(0.3) else [weight(g, *dims)]
    scale = {"alpha": 0.5, "beta": 2.0} if g.dice.chance(0.3) else {}
    g.keep(g.op(op, value, other, *bias, batch=None if batch is None else 0, **flags, **scale))


@makes("Einsum:12", weight=2)
def einsum(g: Sketch, op: str) -> None:
    value = g.pick("f", 1, 3)
    if value.array.dtype != np.float32 or g.wobbly:
        raise Misfit
    letters = "abc"[: value.rank]
    names = dict(zip(letters, value.dims, strict=True))
    names["k"] = g.dice.number(1, 3)
    right = "".join(g.dice.shuffled([each for each in (*letters, "k") if g.dice.chance(0.5)]))
    batch_letter = None if value.batch is None else letters[value.batch]
    fit = [each for each in g.values if each.rank == value.rank and each.array.dtype == np.float32]
    if fit and g.dice.chance(0.3):
        other, right = g.dice.pick(fit), "".join(g.dice.shuffled(letters)) if g.dice.chance(0.3) else letters
    else:
        sizes = [1 if each == batch_letter or g.dice.chance(0.15) else names[each] for each in right]
        other = weight(g, *sizes)
    both = [letters, right]
    pool = sorted(set(letters + right))
    out = "".join(g.dice.shuffled([each for each in pool if each == batch_letter or g.dice.chance(0.6)]))
    batch = None if batch_letter is None or batch_letter not in out else out.index(batch_letter)
    equation = f"{both[0]},{both[1]}->{out}"
    if g.dice.chance(0.12):
        equation = f"{letters}->{''.join(each for each in out if each in letters)}"
        out = equation.rpartition(">")[2]
        batch = None if batch_letter is None or batch_letter not in out else out.index(batch_letter)
        g.keep(g.op(op, value, batch=batch, equation=equation))
        return
    g.keep(g.op(op, value, other, batch=batch, equation=equation))


@makes("MatMulInteger:10", weight=0.7)
def matmul_integer(g: Sketch, op: str) -> None:
    value = g.pick("u", 2)
    if value.array.dtype != np.uint8:
        raise Misfit
    other = weight(g, value.dims[-1], 2, dtype=np.uint8)
    zero = [g.const(3, np.uint8)] if g.dice.chance(0.5) else []
    g.keep(g.op("Cast", g.op(op, value, other, *zero), to=1, batch=value.batch))


@makes("QLinearMatMul:10", weight=0.3)
def qlinear_matmul(g: Sketch, op: str) -> None:
    value = g.pick("u", 2)
    if value.array.dtype != np.uint8:
        raise Misfit
    other = weight(g, value.dims[-1], 2, dtype=np.uint8)
    scale, zero = g.const(0.5, np.float32), g.const(2, np.uint8)
    g.keep(g.op(op, value, scale, zero, other, scale, zero, scale, zero, batch=value.batch))


@makes("LSTM:7 GRU:7 RNN:7", weight=0.7)
def recurrent(g: Sketch, op: str) -> None:
    value = g.pick("f", 3, 3)
    if value.array.dtype != np.float32:
        raise Misfit
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    hidden = g.dice.number(1, 2)
    two = g.dice.chance(0.3)
    sides = 2 if two else 1
    layout = 1 if g.opset >= 14 and g.dice.chance(0.15) else None
    first = weight(g, sides, gates * hidden, value.dims[2])
    again = weight(g, sides, gates * hidden, hidden)
    given: list[str | Value] = [value, first, again]
    count = value.dims[0 if layout else 1]
    if g.dice.chance(0.5):
        table = g.dice.constant([sides, 1, hidden])
        state = np.repeat(table, count, 1)
        starts = g.const(state) if g.dice.chance(0.6) else g.given(state, 1).name
        given += [g.const(g.dice.constant([sides, 2 * gates * hidden])) if g.dice.chance(0.5) else "", "", starts]
    attributes = {"hidden_size": hidden, "direction": "bidirectional" if two else g.dice.pick(["forward", "reverse"])}
    outputs = g.dice.number(1, 3 if op == "LSTM" else 2)
    made = g.ops(op, outputs, *given, **attributes, layout=layout)
    places = (2, 1, 1) if not layout else (0, 0, 0)
    right = value.batch == (0 if layout else 1)
    g.keep(*(each._replace(batch=place if right else None) for each, place in zip(made, places, strict=False)))


@makes("Det:11", weight=0.5)
def determinant(g: Sketch, op: str) -> None:
    value = g.pick("f", 2, 4)
    if value.array.dtype != np.float32 or not value.array.size:
        raise Misfit
    if value.dims[-1] != value.dims[-2]:  # a product with a matrix makes it square
        value = g.op("MatMul", value, weight(g, value.dims[-1], value.dims[-2]), batch=value.batch)
    g.keep(g.op(op, value, batch=value.batch))
