"""Meeting: operands whose dims must agree, and what the rules of several operators share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from onereshape.graphs.edit import Edit
from onereshape.graphs.free_rules.alignment import Axis, size_of
from onereshape.graphs.free_rules.growth import grown_input
from onereshape.graphs.free_rules.state import Axes, FreeAnswer
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.rule.sizes import Size

ONE: Axis = (1,)

_MOST_ROUNDS = 8


class Meeting:
    """Operands that must agree; those of a fixed size that do not are grown."""

    def __init__(self, view: FreeView) -> None:
        self.view = view
        self._wanted: dict[int, dict[int, Size]] = {}
        self._grown: dict[int, Axes] = {}
        self._edits: dict[int, Edit] = {}

    def dims(self, index: int) -> Axes:
        """The dims of an operand, as far as it has grown."""
        return self._grown[index] if index in self._grown else self.view.dims(index)

    def meet(self, entries: Iterable[tuple[int, int]], *, broadcasts: bool = True) -> Axis | None:
        """The dim in which these meet, each given as the input and its axis.

        `broadcasts`: 1 gives way; where it does not, it is a size like any other, which must be grown.
        """
        places = [(index, place, self.dims(index)[place]) for index, place in entries]
        present = [each for each in places if each[2] != ONE or not broadcasts]
        known = [axis for _, _, axis in present if axis is not None]
        if not known:
            return None if present else ONE
        view = self.view
        moving = [axis for axis in known if view.move(size_of(axis))]
        if not moving:
            return max(known, key=len)
        home = max(moving, key=len)
        for index, place, axis in present:
            if axis is not None and axis != home:
                self._agree(index, place, size_of(axis), size_of(home))
        return home

    def _agree(self, index: int, place: int, here: Size, size: Size) -> None:
        view = self.view
        if view.move(here):
            if not view.same(here, size):
                raise Refused(f"{here} meets {size}, which are equal at the original size only")
        elif here == view.state.then(size):
            self._wanted.setdefault(index, {})[place] = size
        else:
            raise Refused(f"{size} meets {here}: {view.value(index).name} has size {here} at axis {place}")

    def result(self, compute: Callable[[Meeting], Axes]) -> FreeAnswer:
        """The answer once all operands agree; growing one can make another grow."""
        for _ in range(_MOST_ROUNDS):
            before = {index: dict(wanted) for index, wanted in self._wanted.items()}
            dims = compute(self)
            if self._wanted == before:
                return FreeAnswer((dims,), tuple(self._edits.values()))
            for index, wanted in self._wanted.items():
                if wanted != before.get(index):
                    self._edits[index], self._grown[index] = grown_input(self.view, index, wanted)
        raise Refused("its operands do not come to the same dims")


def broadcast(meeting: Meeting, ranks: dict[int, int]) -> Axes:
    """The dims of a result; of each operand the first axes, as many as given, meet from the right."""
    rank = max(ranks.values())
    found: list[Axis | None] = []
    for axis in range(rank):
        places = {index: axis - rank + own for index, own in ranks.items()}
        found.append(meeting.meet([(index, place) for index, place in places.items() if place >= 0]))
    return tuple(found)


def same_dims(view: FreeView) -> Iterator[FreeAnswer]:
    """The dims of input 0."""
    yield FreeAnswer((view.dims(0),) * len(view.node.outputs))


def summed(view: FreeView, one: tuple[int, Axis | None], other: tuple[int, Axis | None]) -> None:
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
