"""Operators that sum over axes: products of matrices, reductions, recurrences.  A fixed size forbids a free one."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir

from onereshape.models.free.alignment import Axis, size_of
from onereshape.models.batch.rules.contractions import REDUCTIONS
from onereshape.models.free.rules.pointwise import ONE, Meeting, broadcast
from onereshape.models.free.state import Answer, Dims
from onereshape.models.free.view import View
from onereshape.models.node_view import Refused, paired


_MOVED = frozenset("Reshape Squeeze Unsqueeze Identity Cast Transpose Flatten".split())
_MOST_FOLLOWED = 16
_SUMS = frozenset({"ReduceSum", "ReduceSumSquare", "ReduceL1"})
_NEAR = 1e-3
"""How far a number in 16 bits is from the one that is meant."""


def summed(view: View, one: tuple[int, Axis | None], other: tuple[int, Axis | None]) -> None:
    """Makes sure that two axes over which a product sums are equal."""
    (first, left), (second, right) = one, other
    if left is None or right is None or left == right:
        return
    here, there = size_of(left), size_of(right)
    if (view.move(here) or view.move(there)) and not view.same(here, there):
        fixed, free = (second, here) if view.move(here) else (first, there)
        number = there if view.move(here) else here
        if view.move(here) and view.move(there):
            raise Refused(f"it sums over {here} and {there}, which are equal at the original size only")
        name = view.value(fixed).name
        raise Refused(f"it sums over {free}, and {name} has a fixed size of {number} there")


def matmul(view: View) -> Iterator[Answer]:
    """Products of the last two axes; those before them broadcast."""
    left, right = view.dims(0), view.dims(1)
    summed(view, (0, left[-1]), (1, right[-2] if len(right) > 1 else right[0]))
    _not_divided(view, left[-1])
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    ranks = {index: len(dims) - 2 for index, dims in enumerate((left, right)) if len(dims) > 2}

    def compute(meeting: Meeting) -> Dims:
        return (*(broadcast(meeting, ranks) if ranks else ()), *rows, *columns)

    yield Meeting(view).result(compute)


def gemm(view: View) -> Iterator[Answer]:
    """A matrix times a matrix, plus a bias that broadcasts."""
    left, right = view.dims(0), view.dims(1)
    rows, inner = left[::-1] if view.attribute("transA", 0) else left
    other, columns = right[::-1] if view.attribute("transB", 0) else right
    summed(view, (0, inner), (1, other))
    axes = {0: (0, int(bool(view.attribute("transA", 0)))), 1: (1, int(not view.attribute("transB", 0)))}

    def compute(meeting: Meeting) -> Dims:
        own = view.rank(2) if view.has(2) else 0
        for place in range(own):
            meeting.meet([axes[place - own + 2], (2, place)])
        return (rows, columns)

    yield Meeting(view).result(compute)


def einsum(view: View) -> Iterator[Answer]:
    """By the letters of the equation; a letter has one size."""
    equation = str(view.attribute("equation")).replace(" ", "")
    if "." in equation:
        raise Refused(f"its equation {equation} leaves letters out")
    terms, arrow, result = equation.partition("->")
    letters = terms.split(",")
    if [len(term) for term in letters] != [view.rank(index) for index in range(len(view.node.inputs))]:
        raise Refused(f"its equation {equation} does not name the dims of its inputs")
    if set(result) - set(terms):
        raise Refused(f"its equation {equation} asks for letters that no input has")
    if not arrow:
        every = "".join(letters)
        result = "".join(sorted(letter for letter in set(every) if every.count(letter) == 1))
    found: dict[str, tuple[int, Axis | None]] = {}
    for index, term in enumerate(letters):
        for letter, axis in paired(term, view.dims(index)):
            if letter in found and found[letter][1] != ONE and axis != ONE:
                summed(view, found[letter], (index, axis))
            if letter not in found or found[letter][1] == ONE:
                found[letter] = (index, axis)
    for letter in set(found) - set(result):
        _not_divided(view, found[letter][1])
    yield Answer((tuple(found[letter][1] for letter in result),))


def reduction(view: View) -> Iterator[Answer]:
    """One entry in place of many."""
    dims = view.dims(0)
    axes = view.axes(1, len(dims))
    if not axes:
        axes = [] if view.attribute("noop_with_empty_axes", 0) else list(range(len(dims)))
    if view.node.op_type in _SUMS:
        for axis in axes:
            _not_divided(view, dims[axis])
    yield Answer((_without(dims, axes, keep=bool(view.attribute("keepdims", 1))),))


def _not_divided(view: View, own: Axis | None) -> None:
    """Refuses a mean over a free axis that is written as a sum and a division by the old size."""
    then = None if own is None or not view.move(size_of(own)) else view.state.then(size_of(own))
    if own is None or not isinstance(then, int) or then < 2:
        return
    for user, index in _users(view):
        if user.op_type in {"Div", "Mul"}:
            number = _single(view, user.inputs[1 - index])
            if number is not None and _stands_for(number, then):
                name = user.name or user.outputs[0].name
                raise Refused(f"it sums over {size_of(own)}, and {name} then takes {number} for it")


def _users(view: View) -> Iterator[tuple[ir.Node, int]]:
    """The nodes that use what a node makes, and as which input; also where it was moved before."""
    pending = list(view.node.outputs)
    for _ in range(_MOST_FOLLOWED):
        if not pending:
            return
        for user, index in pending.pop().uses():
            if user.op_type in _MOVED and index == 0:
                pending += user.outputs
            else:
                yield user, index


def _single(view: View, value: ir.Value | None) -> float | None:
    """The number that a constant is."""
    array = None if value is None or view.state.matters(value) else view.state.folding.array(value)
    return None if array is None or array.size != 1 else float(array.reshape(-1)[0])


def _stands_for(number: float, size: int) -> bool:
    """Whether a number is a size, or one less, or the reciprocal of these: what a sum is divided by to be a mean."""
    counts = [size, size - 1] if size > 2 else [size]
    return any(abs(each / count - 1) < _NEAR for count in counts for each in (number, number * count * count))


def extreme_place(view: View) -> Iterator[Answer]:
    """ArgMax, ArgMin."""
    dims = view.dims(0)
    own = dims[view.axis(len(dims), 0)]
    if own is not None and view.move(size_of(own)):
        for user, index in _users(view):
            if (
                user.op_type == "OneHot"
                and index == 0
                and _single(view, user.inputs[1]) == view.state.then(size_of(own))
            ):
                name = user.name or user.outputs[0].name
                raise Refused(f"it looks along {size_of(own)}, and {name} has a fixed number of classes for it")
    yield Answer((_without(dims, [view.axis(len(dims), 0)], keep=bool(view.attribute("keepdims", 1))),))


def _without(dims: Dims, axes: list[int], *, keep: bool) -> Dims:
    if keep:
        return tuple(ONE if axis in axes else own for axis, own in enumerate(dims))
    return tuple(own for axis, own in enumerate(dims) if axis not in axes)


def recurrence(view: View) -> Iterator[Answer]:
    """LSTM, GRU, RNN: any number of steps and of sequences; one state for each sequence to begin with."""
    dims = view.dims(0)
    if not len(dims) == len(view.dims(1)) == len(view.known(2)) == 3:
        raise Refused("its data or its weights have not three dims")
    layout = view.attribute("layout", 0)
    steps, sequences = (dims[1], dims[0]) if layout else (dims[0], dims[1])
    summed(view, (0, dims[2]), (1, view.dims(1)[2]))
    batch = 0 if layout else 1
    lengths = view.constant(4) if view.has(4) else None
    then = None if steps is None or not view.move(size_of(steps)) else view.state.then(size_of(steps))
    if lengths is not None and isinstance(then, int) and (lengths == then).any():
        raise Refused(f"its sequences have {then} steps each, which is fixed, of {size_of(steps or ONE)}")
    states = [(index, 0 if index == 4 else batch) for index in (4, 5, 6) if view.has(index)]
    edits = Meeting(view).result(lambda meeting: tuple(meeting.meet([(0, batch), state]) for state in states)).edits
    directions: Axis = (2,) if view.attribute("direction", "forward") == "bidirectional" else ONE
    hidden: Axis = (size_of(view.known(2)[2]),)
    whole = (sequences, steps, directions, hidden) if layout else (steps, directions, sequences, hidden)
    last = (sequences, directions, hidden) if layout else (directions, sequences, hidden)
    yield Answer((whole, *[last] * (len(view.node.outputs) - 1)), edits)


RULES = {
    **dict.fromkeys(REDUCTIONS.split(), reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), extreme_place),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), recurrence),
    "MatMul": matmul,
    "MatMulInteger": matmul,
    "Gemm": gemm,
    "Einsum": einsum,
}
