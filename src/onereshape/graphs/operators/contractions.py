"""Products of matrices, which sum over an axis.  That axis is never N, and a fixed size there forbids a free one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

import numpy as np

from onereshape.graphs.batch_rules.aligning import aligning
from onereshape.graphs.batch_rules.answers import Apart, common_mark, only_first, shared
from onereshape.graphs.batch_rules.marks import Mark
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.facts.asking import Asking, Dims, Shapes
from onereshape.graphs.folding.folded_operators import Use
from onereshape.graphs.folding.folded_work import STEPS_PER_ELEMENT
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.averages import not_divided
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs
from onereshape.graphs.free_rules.meeting import ONE, Meeting, broadcast, summed
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused, paired
from onereshape.graphs.record import Record
from onereshape.rule.sizes import Size


def _summed(view: BatchView, mark: Mark, axis: int | str) -> Refused:
    return Apart(f"it sums over axis {axis}, which is {mark.size(view.batch)}")


def shape_matmul(left: int, right: int) -> Callable[[Asking], Shapes]:
    """A rule for products of two inputs, as MatMul: `(B, M, K), (K, N) -> (B, M, N)`."""

    def rule(asking: Asking) -> Shapes:
        return [product_of(asking, asking.dims(left), asking.dims(right))]

    return rule


def product_of(asking: Asking, left: Dims, right: Dims) -> Dims:
    """The product of two stacks of matrices."""
    if not len(left) or not len(right):
        raise Refused("it multiplies a scalar")
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    return (*asking.broadcast(tuple(left[:-2]), tuple(right[:-2])), *rows, *columns)


@aligning
def batch_matmul(view: BatchView) -> Iterator[BatchAnswer]:
    """Products of the last two axes; those before them broadcast."""
    if [index for index in view.batched() if index > 1]:
        raise Refused("its zero points or scales differ from sample to sample")
    home = product_mark(view, (0, 1), (view.mark(0), view.mark(1)))
    _check_zero_points(view, home, max(view.rank(0), view.rank(1), 2))
    yield product_answer(view, (0, 1), home)


def product_mark(view: BatchView, places: tuple[int, int], marks: tuple[Mark | None, Mark | None]) -> Mark:
    """Where a product of the inputs at two places carries N, as if both had the larger rank.

    The marks are those of the matrices as they are multiplied, which may be turned.
    """
    first, second = marks
    ranks = view.rank(places[0]), view.rank(places[1])
    rank = max(*ranks, 2)
    for mark, axis, place in ((first, ranks[0] - 1, places[0]), (second, max(ranks[1] - 2, 0), places[1])):
        if mark is not None and mark.axis == axis:
            own = view.mark(place) or mark  # which is not turned
            raise _summed(view, own, own.axis)
    # Places counted as if both had the larger rank: row at rank - 2, column at rank - 1.
    found = [
        None if mark is None else mark.at(mark.axis + rank - own)
        for mark, own in zip((first, second), ranks, strict=True)
    ]
    home = common_mark([mark for mark in found if mark is not None], view)
    if first is not None and second is not None and home.axis >= rank - 2:
        raise Apart("both inputs carry the batch in their matrices")
    return home


def product_answer(view: BatchView, places: tuple[int, int], home: Mark) -> BatchAnswer:
    """A product that carries N at `home`; shared stacks of matrices are repeated for N samples, or cut to one."""
    ranks = view.rank(places[0]), view.rank(places[1])
    rank = max(*ranks, 2)
    edits: list[Edit] = []
    if home.axis < rank - 2:
        for index, own in zip(places, ranks, strict=True):
            axis = home.axis - rank + own
            if view.mark(index) is None and axis >= 0 and own > 2 and view.dims(index)[axis] != 1:
                edits.append(shared(view, index, home.at(axis)))
    axis = home.axis if len(view.output_dims()) == rank else home.axis - (home.axis == rank - 1)
    return BatchAnswer((home.at(axis),), tuple(edits))


def _check_zero_points(view: BatchView, home: Mark, rank: int) -> None:
    """Refuses zero points that would have to be as many as the samples."""
    for index, place in ((2, rank - 2), (3, rank - 1)):  # zero points, by row and by column
        if view.has(index) and home.axis == place and any(dim != 1 for dim in view.dims(index)):
            raise Refused(f"it has a zero point for each entry of axis {home.axis}, which is {home.size(view.batch)}")
    if home.axis < rank - 2 and any(view.has(index) and view.rank(index) > 1 for index in (2, 3)):
        raise Refused(f"it has zero points for each matrix, and {home.size(view.batch)} of them")


def batch_quantised_matmul(view: BatchView) -> Iterator[BatchAnswer]:
    """QLinearMatMul: products of quantised numbers, each matrix with scales for all of it, its rows or its columns."""
    if [index for index in view.batched() if index not in {0, 3}]:
        raise Refused("its zero points or scales differ from sample to sample")
    home = product_mark(view, (0, 3), (view.mark(0), view.mark(3)))
    for index in (1, 2, 4, 5, 6, 7):
        several = any(dim != 1 for dim in view.dims(index))
        if several and (view.rank(index) > 1 or view.mark(0 if index < 3 else 3) is not None or index > 5):
            raise Refused(f"its input {view.value(index).name} has a number for each of several entries")
    yield product_answer(view, (0, 3), home)


def free_matmul(view: FreeView) -> Iterator[FreeAnswer]:
    """Products of the last two axes; those before them broadcast."""
    left, right = view.dims(0), view.dims(1)
    summed(view, (0, left[-1]), (1, right[-2] if len(right) > 1 else right[0]))
    not_divided(view, left[-1])
    rows = left[-2:-1] if len(left) > 1 else ()
    columns = right[-1:] if len(right) > 1 else ()
    ranks = {index: len(dims) - 2 for index, dims in enumerate((left, right)) if len(dims) > 2}

    def compute(meeting: Meeting) -> Axes:
        return (*(broadcast(meeting, ranks) if ranks else ()), *rows, *columns)

    yield Meeting(view).result(compute)


def grow_matmul(growing: Growing) -> Inputs:
    """The rows of the first, and the columns of the second."""
    view = growing.view
    rank = len(view.output())
    found: dict[int, Grown] = {}
    for axis, size in growing.wanted.items():
        index = {rank - 2: 0, rank - 1: 1}.get(axis)
        if index is None or view.rank(0) < 2 or view.rank(1) < 2:
            raise Refused(f"{view.label} has {view.output()[axis]} matrices at axis {axis}, where {size} is needed")
        found[index] = growing.exactly(index, {axis - rank + view.rank(index): size})
    return found, {}


def work_matmul(use: Use) -> int:
    """Matrices, and as many of them as both sides have together."""
    left, right = (use.given(index).shape for index in range(2))
    several = prod(np.broadcast_shapes(left[:-2], right[:-2]))
    steps = several * prod(left[-2:]) * max((1, *right[-2:]))
    return int(max(prod(left), prod(right), steps // STEPS_PER_ELEMENT))


def shape_gemm(asking: Asking) -> Shapes:
    """A matrix times a matrix."""
    left, right = asking.dims(0), asking.dims(1)
    if len(left) != 2 or len(right) != 2:
        raise Refused("its inputs are no matrices")
    return [(left[bool(asking.attribute("transA", 0))], right[not asking.attribute("transB", 0)])]


def batch_gemm(view: BatchView) -> Iterator[BatchAnswer]:
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
        elif axis >= 0 and view.opset < 7 and home.bare and not view.attribute("broadcast", 0):
            edits = (view.spread(2, home.at(axis)),)  # it gave way only where it was told to
    yield BatchAnswer((home,), edits)


def free_gemm(view: FreeView) -> Iterator[FreeAnswer]:
    """A matrix times a matrix, plus a bias that broadcasts."""
    left, right = view.dims(0), view.dims(1)
    inner = left[not view.attribute("transA", 0)]
    other = right[bool(view.attribute("transB", 0))]
    summed(view, (0, inner), (1, other))
    axes = {0: (0, int(bool(view.attribute("transA", 0)))), 1: (1, int(not view.attribute("transB", 0)))}

    def compute(meeting: Meeting) -> Axes:
        own = view.rank(2) if view.has(2) else 0
        for place in range(own):  # a bias of 1 gives way, and a product of 1 does not
            meeting.meet([axes[place - own + 2], (2, place)], broadcasts=meeting.dims(2)[place] == ONE)
        return (meeting.dims(0)[axes[0][1]], meeting.dims(1)[axes[1][1]])

    yield Meeting(view).result(compute)


def letters_of(equation: str) -> tuple[list[str], str]:
    """The labels of each input and of the result of an Einsum; without an arrow those that stand once, in order."""
    left, arrow, result = "".join(equation.split()).partition("->")
    if not arrow:
        once = sorted(letter for letter in set(left) - set(",.") if left.count(letter) == 1)
        result = ("..." if "..." in left else "") + "".join(once)
    return left.split(","), result


def shape_einsum(asking: Asking) -> Shapes:
    """A label that stands for several dims has the size that they have together: 1 gives way to another."""
    terms, result = letters_of(str(asking.attribute("equation")))
    sizes: dict[str, Size] = {}
    wide: Dims = ()
    for index, term in enumerate(terms):
        dims = tuple(asking.dims(index))
        before, dots, after = term.partition("...")
        width = len(dims) - len(before) - len(after)
        if width < 0 or (not dots and width):
            raise Refused("its equation does not name the dims of its inputs")
        for label, size in zip(before + after, dims[: len(before)] + dims[len(before) + width :], strict=True):
            sizes[label] = asking.meet(sizes[label], size) if label in sizes else size
        wide = asking.broadcast(wide, dims[len(before) : len(before) + width])
    before, dots, after = result.partition("...")
    if not set(before + after) <= sizes.keys():
        raise Refused("its equation asks for letters that no input has")
    return [(*(sizes[label] for label in before), *(wide if dots else ()), *(sizes[label] for label in after))]


def batch_einsum(view: BatchView) -> Iterator[BatchAnswer]:
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
    yield BatchAnswer((mark.at(result.index(letter)),), tuple(edits))


def _equation(view: BatchView) -> tuple[list[str], str]:
    """The letters of each input and of the result; an ellipsis becomes capital Greek letters."""
    terms, result = letters_of(str(view.attribute("equation", "")))
    if len(terms) != len(view.node.inputs):
        raise Refused("its equation does not fit its inputs")
    hidden = max((view.rank(index) - len(term) + 3 for index, term in enumerate(terms) if "..." in term), default=0)
    names = [chr(0x391 + place) for place in range(hidden)]
    for index, term in enumerate(terms):
        if "..." in term:
            own = view.rank(index) - len(term) + 3
            terms[index] = term.replace("...", "".join(names[hidden - own :]))
    return terms, result.replace("...", "".join(names))


def free_einsum(view: FreeView) -> Iterator[FreeAnswer]:
    """By the letters of the equation; a letter has one size."""
    equation = str(view.attribute("equation")).replace(" ", "")
    if "." in equation:
        raise Refused(f"its equation {equation} leaves letters out")
    letters, result = letters_of(equation)
    if [len(term) for term in letters] != [view.rank(index) for index in range(len(view.node.inputs))]:
        raise Refused(f"its equation {equation} does not name the dims of its inputs")
    if set(result) - set("".join(letters)):
        raise Refused(f"its equation {equation} asks for letters that no input has")
    found: dict[str, tuple[int, Axis | None]] = {}
    for index, term in enumerate(letters):
        for letter, axis in paired(term, view.dims(index)):
            if letter in found and found[letter][1] != ONE and axis != ONE:
                summed(view, found[letter], (index, axis))
            if letter not in found or found[letter][1] == ONE:
                found[letter] = (index, axis)
    for letter in set(found) - set(result):
        not_divided(view, found[letter][1])
    yield FreeAnswer((tuple(found[letter][1] for letter in result),))


def work_einsum(use: Use) -> int:
    """The product of the sizes of all labels, in elements: `ij,jk` of (2, 3) and (3, 4) takes 24 steps."""
    sizes: dict[str, int] = {}
    terms, _ = letters_of(use.attribute("equation", b"").decode())
    for index, term in enumerate(terms):
        shape = use.given(index).shape
        before, _, after = term.partition("...")
        middle = shape[len(before) : len(shape) - len(after)]
        named = [*zip(before, shape, strict=False), *zip(after[::-1], shape[::-1], strict=False)]
        for label, size in [*named, *((f".{place}", size) for place, size in enumerate(middle[::-1]))]:
            sizes[label] = max(sizes.get(label, 1), size)
    return prod(sizes.values()) // STEPS_PER_ELEMENT


def shape_det(asking: Asking) -> Shapes:
    """Det, a number for each matrix: `(N, 3, 3) -> (N)`."""
    dims = asking.dims(0)
    if len(dims) < 2:
        raise Refused("it has no matrices")
    return [tuple(dims[:-2])]


def batch_det(view: BatchView) -> Iterator[BatchAnswer]:
    """Det: each matrix by itself."""
    mark = only_first(view)
    if mark.axis >= view.rank(0) - 2:
        raise _summed(view, mark, mark.axis)
    yield BatchAnswer((mark,))


def free_det(view: FreeView) -> Iterator[FreeAnswer]:
    """Det: any number of matrices, of any size, as long as they are square."""
    dims = view.dims(0)
    rows, columns = dims[-2], dims[-1]
    if rows is not None and columns is not None and rows != columns:
        high, wide = size_of(rows), size_of(columns)
        if (view.move(high) or view.move(wide)) and not view.same(high, wide):
            raise Refused(
                f"its matrices have {high} rows and {wide} columns, which are equal at the original size only"
            )
    yield FreeAnswer((dims[:-2],))


_MATMUL = Record(shape=shape_matmul(0, 1), batch=batch_matmul, free=free_matmul)

RECORDS = {
    "MatMul": _MATMUL._replace(grows=grow_matmul, folds=True, work=work_matmul, takes={0: "number", 1: "number"}),
    "MatMulInteger": _MATMUL,
    "QLinearMatMul": Record(shape=shape_matmul(0, 3), batch=batch_quantised_matmul),
    "Gemm": Record(shape=shape_gemm, batch=batch_gemm, free=free_gemm, folds=True, work=work_matmul),
    "Einsum": Record(shape=shape_einsum, batch=batch_einsum, free=free_einsum, folds=True, work=work_einsum),
    "Det": Record(shape=shape_det, batch=batch_det, free=free_det),
}
