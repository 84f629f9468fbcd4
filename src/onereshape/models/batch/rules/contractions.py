"""Operators that sum over an axis: products of matrices, reductions, recurrences.  That axis is never N."""

from __future__ import annotations

from collections.abc import Iterator

from onereshape.models.batch.rules.pointwise import common_mark, only_first, shared
from onereshape.models.batch.rules.rule import Rule
from onereshape.models.batch.marks import Mark
from onereshape.models.batch.view import Answer, View
from onereshape.models.edit import Edit
from onereshape.models.node_view import Refused

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)


def _summed(view: View, mark: Mark, axis: int | str) -> Refused:
    return Refused(f"it sums over axis {axis}, which is {mark.size(view.batch)}", mixes=True)


def matmul(view: View) -> Iterator[Answer]:
    """Products of the last two axes; those before them broadcast."""
    first, second = view.mark(0), view.mark(1)
    if [index for index in view.batched() if index > 1]:
        raise Refused("its zero points or scales differ from sample to sample")
    ranks = view.rank(0), view.rank(1)
    rank = max(*ranks, 2)
    output = len(view.output_dims())
    if first is not None and first.axis == ranks[0] - 1:
        raise _summed(view, first, first.axis)
    if second is not None and second.axis == max(ranks[1] - 2, 0):
        raise _summed(view, second, second.axis)
    # Places counted as if both had the larger rank: row at rank - 2, column at rank - 1.
    places = [
        None if mark is None else mark.at(mark.axis + rank - own)
        for mark, own in zip((first, second), ranks, strict=True)
    ]
    home = common_mark([mark for mark in places if mark is not None], view)
    if first is not None and second is not None and home.axis >= rank - 2:
        raise Refused("both inputs carry the batch in their matrices", mixes=True)
    _check_zero_points(view, home, rank)
    edits: list[Edit] = []
    if home.axis < rank - 2:
        for index in (0, 1):
            axis = home.axis - rank + ranks[index]
            if view.mark(index) is None and axis >= 0 and ranks[index] > 2 and view.dims(index)[axis] != 1:
                edits.append(shared(view, index, home.at(axis)))
    axis = home.axis if output == rank else home.axis - (home.axis == rank - 1)
    yield Answer((home.at(axis),), tuple(edits))


def _check_zero_points(view: View, home: Mark, rank: int) -> None:
    """Refuses zero points that would have to be as many as the samples."""
    for index, place in ((2, rank - 2), (3, rank - 1)):  # zero points, by row and by column
        if view.has(index) and home.axis == place and any(dim != 1 for dim in view.dims(index)):
            raise Refused(f"it has a zero point for each entry of axis {home.axis}, which is {home.size(view.batch)}")
    if home.axis < rank - 2 and any(view.has(index) and view.rank(index) > 1 for index in (2, 3)):
        raise Refused(f"it has zero points for each matrix, and {home.size(view.batch)} of them")


def gemm(view: View) -> Iterator[Answer]:
    """A matrix times a matrix, plus a bias that broadcasts."""
    marks = []
    for index, (name, free) in enumerate((("transA", 0), ("transB", 1))):
        mark = view.mark(index)
        if mark is not None:
            axis = 1 - free if view.attribute(name, 0) else free
            if mark.axis != axis:
                raise _summed(view, mark, mark.axis)
            marks.append(mark.at(free))
    if len(marks) == 2:
        raise Refused("both matrices carry the batch, so each sample would meet all others", mixes=True)
    bias = view.mark(2)
    if bias is not None:
        marks.append(bias.at(bias.axis + 2 - view.rank(2)))
    home = common_mark(marks, view)
    if len(view.batched()) == 1 and bias is not None:
        raise Refused("its bias differs from sample to sample, and its product does not")
    edits: tuple[Edit, ...] = ()
    if bias is None and view.has(2):
        axis = home.axis - 2 + view.rank(2)
        if axis >= 0 and view.dims(2)[axis] != 1:
            edits = (shared(view, 2, home.at(axis)),)
    yield Answer((home,), edits)


def einsum(view: View) -> Iterator[Answer]:
    """By the letters of the equation: N has one letter, and it is in the result."""
    terms, result = _equation(view)
    if any(len(terms[index]) != view.rank(index) for index in view.batched()):
        raise Refused("its equation does not name the dims of its inputs")
    letters = {terms[index][mark.axis] for index in view.batched() if (mark := view.mark(index))}
    marks = {mark.at(0) for index in view.batched() if (mark := view.mark(index))}
    if len(letters) != 1 or len(marks) != 1:
        raise Refused(
            "its inputs carry the batch under different letters, so each sample would meet all others", mixes=True
        )
    (letter,), (mark,) = letters, marks
    if letter not in result:
        raise Refused(f"it sums over {letter}, which is {mark.size(view.batch)}", mixes=True)
    if any(term.count(letter) > 1 for term in terms) or result.count(letter) > 1:
        raise Refused(f"it takes a diagonal of {letter}, which is {mark.size(view.batch)}", mixes=True)
    edits = [
        shared(view, index, mark.at(term.index(letter)))
        for index, term in enumerate(terms)
        if view.mark(index) is None and letter in term
    ]
    yield Answer((mark.at(result.index(letter)),), tuple(edits))


def _equation(view: View) -> tuple[list[str], str]:
    """The letters of each input and of the result; an ellipsis becomes capital Greek letters."""
    text = str(view.attribute("equation", "")).replace(" ", "")
    left, arrow, result = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(view.node.inputs):
        raise Refused("its equation does not fit its inputs")
    hidden = max((view.rank(index) - len(term) + 3 for index, term in enumerate(terms) if "..." in term), default=0)
    names = [chr(0x391 + place) for place in range(hidden)]
    for index, term in enumerate(terms):
        if "..." in term:
            own = view.rank(index) - len(term) + 3
            terms[index] = term.replace("...", "".join(names[hidden - own :]))
    if arrow:
        return terms, result.replace("...", "".join(names))
    once = sorted(letter for letter in set(left) - set(",.") if left.count(letter) == 1)
    return terms, "".join(names) + "".join(once)


def reduction(view: View) -> Iterator[Answer]:
    """N must not be among the axes that are reduced."""
    mark, rank = only_first(view), view.rank(0)
    axes = view.axes(1, rank)
    if not axes:
        if view.attribute("noop_with_empty_axes", 0):
            yield Answer((mark,))
            return
        axes = list(range(rank))
    if mark.axis in axes:
        raise Refused(f"it reduces axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
    kept = view.attribute("keepdims", 1)
    yield Answer((mark if kept else mark.at(mark.axis - sum(axis < mark.axis for axis in axes)),))


def arg_reduction(view: View) -> Iterator[Answer]:
    """ArgMax and ArgMin, over one axis."""
    mark = only_first(view)
    axis = view.axis(view.rank(0), 0)
    if mark.axis == axis:
        raise Refused(f"it looks along axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark if view.attribute("keepdims", 1) else mark.at(mark.axis - (axis < mark.axis)),))


def top_k(view: View) -> Iterator[Answer]:
    """The largest along one axis; how many is the same for all samples."""
    mark = only_first(view)
    axis = view.axis(view.rank(0), -1)
    if mark.axis == axis:
        raise Refused(f"it sorts along axis {axis}, which is {mark.size(view.batch)}", mixes=True)
    yield Answer((mark, mark))


def recurrent(view: View) -> Iterator[Answer]:
    """RNN, GRU, LSTM: N is at the batch axis of the sequence and of the states."""
    first = view.attribute("layout", 0) == 1
    axis = 0 if first else 1
    slots = {0: axis, 4: 0, 5: axis, 6: axis}
    found = {index: mark for index in view.batched() if (mark := view.mark(index))}
    for index, mark in found.items():
        if index not in slots:
            raise Refused(f"its weights {view.value(index).name} differ from sample to sample")
        if mark.axis != slots[index]:
            what = "steps" if index == 0 and mark.axis == 1 - axis else "features"
            raise Refused(f"it runs along axis {mark.axis}, its {what}, which is {mark.size(view.batch)}", mixes=True)
    home = common_mark([mark.at(0) for mark in found.values()], view)
    edits = [
        view.spread(index, home.at(place)) for index, place in slots.items() if view.has(index) and index not in found
    ]
    outputs = (home.at(0 if first else 2), home.at(axis), home.at(axis))
    yield Answer(outputs[: len(view.node.outputs)], tuple(edits))


RULES = {
    **{op: Rule(matmul) for op in ("MatMul", "MatMulInteger")},
    **{op: Rule(reduction) for op in REDUCTIONS.split()},
    **{op: Rule(arg_reduction) for op in ("ArgMax", "ArgMin")},
    **{op: Rule(recurrent) for op in ("RNN", "GRU", "LSTM")},
    "Gemm": Rule(gemm),
    "Einsum": Rule(einsum),
    "TopK": Rule(top_k),
}
