"""What the batch rules of several operators share: the mark of all operands, the edits of one, all homes in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from onereshape.graphs.batch_rules.marks import Mark, marked, over, times
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchView
from onereshape.graphs.edit import Edit
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter
from onereshape.rule.sizes import Size, depends

Home = TypeVar("Home")
"""A place for N, or a place in each of several inputs."""


def each_home(
    homes: Iterable[Home], answer: Callable[[Home], BatchAnswer], none: Callable[[], str]
) -> Iterator[BatchAnswer]:
    """The answers for all homes that have one; else the refusal of the first, or `none` if there is no home."""
    refusal: Refused | None = None
    found = False
    for home in homes:
        try:
            possible = answer(home)
        except Refused as refused:
            refusal = refusal or refused
            continue
        found = True
        yield possible
    if not found:
        raise refusal or Refused(none())


class Apart(Refused):
    """Inputs that carry N at different places."""

    def __init__(self, why: str) -> None:
        super().__init__(why, mixes=True)


def common_mark(marks: Iterable[Mark], view: BatchView) -> Mark:
    """The one mark of all operands."""
    found = set(marks)
    if len(found) == 1:
        return found.pop()
    places = " and ".join(sorted(f"axis {mark.axis}{_around(mark, found, view)}" for mark in found))
    symbol = view.state.symbol
    raise Apart(f"its inputs carry {symbol} at different places, {places}, so each sample would meet all others")


def _around(mark: Mark, marks: Iterable[Mark], view: BatchView) -> str:
    """The size of N's axis for a message, ` (4*N, N outermost)`; the side is said where marks have equal sizes."""
    if mark.bare:
        return ""
    symbol, size = view.state.symbol, mark.size(view.batch)
    alike = [each for each in marks if (each.axis, each.size(view.batch)) == (mark.axis, size)]
    side = f", {symbol} outermost" if mark.outer == 1 else f", {symbol} inside {mark.outer}"
    return f" ({size}{side if len(alike) > 1 else ''})"


def only_first(view: BatchView) -> Mark:
    """The mark of input 0, where no other input may have one."""
    mark, batched = view.mark(0), view.batched()
    if mark is None or batched != [0]:
        strangers = [view.value(index).name for index in batched if index != 0]
        raise Refused(f"its input {strangers[0] if strangers else 1} differs from sample to sample")
    return mark


def shared(view: BatchView, index: int, mark: Mark) -> Edit:
    """An operand that is the same for all samples, where a size of 1 there is enough."""
    if view.size > 1 and mark.bare and view.dims(index)[mark.axis] == view.size:
        return view.one_sample(index, mark)
    return view.spread(index, mark)


def reshaped_around(
    view: BatchView, inputs: list[tuple[int, list[Size]]], output: tuple[Sequence[Size], Sequence[Size]], after: str
) -> Edit:
    """The edit that puts a node between Reshapes: inputs to these dims, the output from `output[0]` to `output[1]`."""
    node = view.node
    targets = [(index, view.sayable(_live(view, index), dims)) for index, dims in inputs]
    last = view.sayable(*output)

    def apply(build: Rewriter) -> None:
        for index, target in targets:
            value = node.inputs[index]
            if value is not None:
                node.replace_input_with(index, build.insert(node, "Reshape", [value, build.vector(target)]))
        build.reshape_output(node, build.vector(last))

    message = f"{view.label} would meet {view.state.symbol} and another size on one axis"
    return view.edit(None, message, "one axis", after, apply)


def _live(view: BatchView, index: int) -> tuple[Size, ...]:
    mark, dims = view.mark(index), view.dims(index)
    return dims if mark is None else marked(dims, mark, view.batch)


def along(
    index_of_axes: Callable[[BatchView, int], set[int]], what: str
) -> Callable[[BatchView], Iterator[BatchAnswer]]:
    """A rule for operators that work along some axes of input 0 and keep the shape: N must be on none of them."""

    def answers(view: BatchView) -> Iterator[BatchAnswer]:
        mark = only_first(view)
        if mark.axis in index_of_axes(view, view.rank(0)):
            raise Refused(f"its {what} runs along axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
        yield BatchAnswer((mark,) * len(view.node.outputs))

    return answers


def images(*places: int) -> Callable[[BatchView], Iterator[BatchAnswer]]:
    """A rule for operators that keep these axes of input 0 apart, and have no other tensor per sample."""

    def answers(view: BatchView) -> Iterator[BatchAnswer]:
        mark = only_first(view)
        if mark.axis not in places:
            raise Refused(f"it works along axis {mark.axis}, which is {mark.size(view.batch)}", mixes=True)
        yield BatchAnswer((mark,))

    return answers


def mixing(why: str) -> Callable[[BatchView], Iterator[BatchAnswer]]:
    """A rule for operators that calculate something from all of input 0 at once: no sample stays apart in it."""

    def answers(view: BatchView) -> Iterator[BatchAnswer]:
        if view.mark(0) is None:
            raise Refused(f"its input {view.value(view.batched()[0]).name} differs from sample to sample")
        raise Refused(why, mixes=True)
        yield  # never reached: without it this would be no generator

    return answers


def refusing(why: str) -> Callable[[BatchView], Iterator[BatchAnswer]]:
    """A rule for operators that no model of one sample becomes a model of N with, however it is written."""

    def answers(_: BatchView) -> Iterator[BatchAnswer]:
        raise Refused(why, final=True, alone=True)
        yield  # never reached: without it this would be no generator

    return answers


def any_place(home: Mark) -> Iterator[Mark]:
    """All places that N can have on an axis along which nothing differs."""
    yield home
    if isinstance(home.inner, int):
        for outer in range(2, home.inner + 1):
            if home.inner % outer == 0:
                yield Mark(home.axis, outer, home.inner // outer)


def sized_mark(view: BatchView, index: int) -> Mark:
    """The mark of a tensor whose dims an input gives, which depends on N."""
    live = view.live(index)
    homes = [axis for axis, size in enumerate(live or ()) if depends(size, (view.state.symbol,))]
    if live is None or None in live or len(homes) != 1:
        raise Refused(f"{view.state.symbol} is in {len(homes)} of its dims")
    size, one = live[homes[0]], (view.original(index) or live)[homes[0]]
    inner = None if one is None else over(one, view.size)
    if inner is None or times(view.batch, inner) != size:
        raise Refused(f"it makes a dim of {size}, which is no multiple of {view.state.symbol}")
    return Mark(homes[0], 1, inner)


def node_words(view: BatchView) -> str:
    """The node in a word or two."""
    return f"{view.node.op_type} of {[str(dim) for dim in view.dims(0)]}".replace("'", "")
