"""Operators that keep the dims of their input, or broadcast several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from onereshape.models.free.alignment import Axis, size_of
from onereshape.models.batch.rules.pointwise import ELEMENTWISE
from onereshape.models.free.formula import Size
from onereshape.models.free.state import Answer, Dims
from onereshape.models.edit import Edit
from onereshape.models.free.view import View
from onereshape.models.free.growth import grown_input
from onereshape.models.node_view import Refused

ONE: Axis = (1,)
_MOST_ROUNDS = 8


class Meeting:
    """Operands that must agree; those of a fixed size that do not are grown."""

    def __init__(self, view: View) -> None:
        self.view = view
        self._wanted: dict[int, dict[int, Size]] = {}
        self._grown: dict[int, Dims] = {}
        self._edits: dict[int, Edit] = {}

    def dims(self, index: int) -> Dims:
        """The dims of an operand, as far as it has grown."""
        return self._grown[index] if index in self._grown else self.view.dims(index)

    def meet(self, entries: Iterable[tuple[int, int]]) -> Axis | None:
        """The dim in which these meet, each given as the input and its axis."""
        places = [(index, place, self.dims(index)[place]) for index, place in entries]
        present = [each for each in places if each[2] != ONE]
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

    def result(self, compute: Callable[[Meeting], Dims]) -> Answer:
        """The answer once all operands agree; growing one can make another grow."""
        for _ in range(_MOST_ROUNDS):
            before = {index: dict(wanted) for index, wanted in self._wanted.items()}
            dims = compute(self)
            if self._wanted == before:
                return Answer((dims,), tuple(self._edits.values()))
            for index, wanted in self._wanted.items():
                if wanted != before.get(index):
                    self._edits[index], self._grown[index] = grown_input(self.view, index, wanted)
        raise Refused("its operands do not come to the same dims")


def elementwise(view: View) -> Iterator[Answer]:
    """All operands meet at the same axis, counted from the right."""
    indices = [index for index in range(len(view.node.inputs)) if view.has(index)]
    yield Meeting(view).result(lambda meeting: broadcast(meeting, {index: view.rank(index) for index in indices}))


def broadcast(meeting: Meeting, ranks: dict[int, int]) -> Dims:
    """The dims of a result; of each operand the first axes, as many as given, meet from the right."""
    rank = max(ranks.values())
    found: list[Axis | None] = []
    for axis in range(rank):
        places = {index: axis - rank + own for index, own in ranks.items()}
        found.append(meeting.meet([(index, place) for index, place in places.items() if place >= 0]))
    return tuple(found)


def same_dims(view: View) -> Iterator[Answer]:
    """The dims of input 0."""
    yield Answer((view.dims(0),) * len(view.node.outputs))


def normalization(view: View) -> Iterator[Answer]:
    """LayerNormalization and its kin: scale and bias have an entry for each of those that are normalized."""
    dims = view.dims(0)
    rank = len(dims)
    for index in range(1, len(view.node.inputs)):
        if not view.has(index):
            continue
        for place, own in enumerate(view.dims(index)):
            here = dims[place - view.rank(index) + rank]
            if own != ONE and here is not None and view.move(size_of(here)):
                raise Refused(f"{view.value(index).name} has one entry for each of {size_of(here)}")
    kept = dims[: view.axis(rank, -1)]
    statistics = (*kept, *[ONE] * (rank - len(kept)))
    yield Answer((dims, *[statistics] * (len(view.node.outputs) - 1)))


def channelwise(view: View) -> Iterator[Answer]:
    """BatchNormalization and its kin: parameters by the channels of axis 1."""
    dims = view.dims(0)
    if len(dims) > 1 and dims[1] is not None and view.move(size_of(dims[1])):
        raise Refused(f"{view.value(1).name} has one entry for each of the {size_of(dims[1])} channels")
    yield Answer((dims, *[None] * (len(view.node.outputs) - 1)))


def quantize(view: View) -> Iterator[Answer]:
    """QuantizeLinear, DequantizeLinear: a scale for all, or one per entry of an axis."""
    dims = view.dims(0)
    if view.rank(1):
        here = dims[view.axis(len(dims), 1)]
        if here is None or view.move(size_of(here)) or view.rank(1) > 1:
            raise Refused(f"{view.value(1).name} has a scale for each entry along an axis")
    yield Answer((dims,) * len(view.node.outputs))


def one_hot(view: View) -> Iterator[Answer]:
    """A new axis for the classes."""
    dims, depth = view.dims(0), view.live(1)
    axis = view.axis(len(dims) + 1, -1)
    new = None if depth is None or depth[0] is None else (depth[0],)
    yield Answer(((*dims[:axis], new, *dims[axis:]),))


def shape(view: View) -> Iterator[Answer]:
    """Shape and Size: what they hold is followed by itself."""
    whole = range(view.rank(0))[slice(view.attribute("start", 0), view.attribute("end"))]
    yield Answer((((len(whole),),) if view.node.op_type == "Shape" else (),))


RULES = {
    **dict.fromkeys(ELEMENTWISE, elementwise),
    **dict.fromkeys(
        "Softmax LogSoftmax Hardmax LpNormalization CumSum MeanVarianceNormalization Trilu LRN Dropout "
        "RandomNormalLike RandomUniformLike EyeLike Bernoulli".split(),
        same_dims,
    ),
    **dict.fromkeys("LayerNormalization RMSNormalization SimplifiedLayerNormalization".split(), normalization),
    **dict.fromkeys("BatchNormalization InstanceNormalization GroupNormalization".split(), channelwise),
    **dict.fromkeys("QuantizeLinear DequantizeLinear".split(), quantize),
    "OneHot": one_hot,
    "Shape": shape,
    "Size": shape,
}
