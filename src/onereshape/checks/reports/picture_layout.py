"""Where everything of a picture stands: as wide as its text, and as near to its neighbours as there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from onereshape.checks.reports.layers import Floors, Item, Lane, arranged
from onereshape.checks.reports.lettering import cells, cut
from onereshape.checks.reports.picture import Box, Picture

TITLE, NAME = 13.0, 11.0
"""The sizes of the letters."""
CELL = 0.6
"""The width of a sign, of one that is as high as 1."""
_WIDEST_TITLE, _WIDEST_NAME, _WIDEST_LABEL = 26, 28, 28
"""The most cells of a title, a name and a label."""
PADDING = 12.0
_MARGIN = 8.0
_BESIDE = 18.0
"""The room between two items of a floor."""
_LANE = 6.0
TALL, LOW, LABEL = 46.0, 28.0, 16.0
"""The height of a box with two lines, and with one; of a label."""
_ABOVE_LABEL, _ABOVE_BOX = 10.0, 24.0
STUB = 14.0
"""How far a wire is drawn to what is not."""
_ROUNDS = 40


@dataclass(frozen=True, slots=True)
class Placed:
    """A picture with places."""

    floors: Floors
    boxes: Mapping[str, Item]
    width: int
    height: int


def placed(picture: Picture) -> Placed:
    """The picture with a place for everything in it."""
    floors = arranged(picture)
    known = {box.key: box for box in picture.boxes}
    for floor in floors.floors:
        for item in floor:
            item.width, item.height = _size(item, known)
    _spread(floors.floors)
    height = _stack(floors.floors, picture)
    left = min(item.x - item.width / 2 for floor in floors.floors for item in floor) - _MARGIN
    for floor in floors.floors:
        for item in floor:
            item.x = round(item.x - left, 1)
    right = max(item.x + item.width / 2 for floor in floors.floors for item in floor) + _MARGIN
    boxes = {item.key: item for floor in floors.floors for item in floor if item.kind == "box"}
    return Placed(floors, boxes, ceil(right), ceil(height))


def title_of(box: Box) -> str:
    """The first line of a box."""
    return cut(box.title, _WIDEST_TITLE)


def name_in(box: Box) -> str:
    """The second line of a box, its name; empty where the title says the same."""
    return "" if box.name == box.title else cut(box.name, _WIDEST_NAME)


def label_of(text: str) -> str:
    """The dims of a value, cut to the width of a label."""
    return cut(text, _WIDEST_LABEL)


def width_of(text: str, size: float) -> float:
    """How wide a text is."""
    return round(cells(text) * size * CELL, 1)


def _size(item: Item, boxes: Mapping[str, Box]) -> tuple[float, float]:
    if item.kind == "lane":
        return _LANE, 0.0
    if item.kind == "label":
        return width_of(label_of(item.text), NAME) + 4, LABEL
    box = boxes[item.key]
    widest = max(width_of(title_of(box), TITLE), width_of(name_in(box), NAME))
    return max(60.0, ceil(widest + 2 * PADDING)), TALL if name_in(box) else LOW


def _stack(floors: Sequence[Sequence[Item]], picture: Picture) -> float:
    """Gives every floor its height, and tells how high all of them are."""
    at = _MARGIN + (STUB if picture.above else 0.0)
    for place, floor in enumerate(floors):
        height = max(item.height for item in floor)
        if place:
            at += _ABOVE_BOX if any(item.kind == "box" for item in floor) else _ABOVE_LABEL
        for item in floor:
            item.height = height if item.kind == "lane" else item.height
            item.y = round(at + (height - item.height) / 2, 1)
        at += height
    return at + _MARGIN + (STUB if picture.below else 0.0)


def _spread(floors: Sequence[Sequence[Item]]) -> None:
    """Has every item as near to the middle of its neighbours as the others of its floor allow."""
    for floor in floors:
        _place(floor, [0.0] * len(floor))
    for turn in range(_ROUNDS):
        down = turn % 2 == 0
        for floor in floors if down else reversed(floors):
            wanted = [_wanted(item, down=down, last=turn >= _ROUNDS // 2) for item in floor]
            _place(floor, wanted)


def _wanted(item: Item, *, down: bool, last: bool) -> float:
    """Below what makes it for a value, and in the middle of its neighbours for a box."""
    if item.kind != "box" and item.above and (down or last):
        return item.above[0].x
    near = [*item.above, *item.below] if last else item.above if down else item.below
    total = sum(other.weight for other in near)
    return sum(other.x * other.weight for other in near) / total if near else item.x


def _place(floor: Sequence[Item], wanted: Sequence[float]) -> None:
    """The places nearest to what is wanted, in this order and without overlap: least squares, by pooling neighbours."""
    offsets = [0.0]
    for left, right in pairwise(floor):
        offsets.append(offsets[-1] + (left.width + right.width) / 2 + _BESIDE)
    pools: list[tuple[float, float, int]] = []  # where they start, what they weigh, how many they are
    for item, want, offset in zip(floor, wanted, offsets, strict=True):
        pools.append((want - offset, item.weight, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (one, heavy, many), (other, more, few) = pools[-2:]
            pools[-2:] = [((one * heavy + other * more) / (heavy + more), heavy + more, many + few)]
    starts = [start for start, _, count in pools for _ in range(count)]
    for item, start, offset in zip(floor, starts, offsets, strict=True):
        item.x = start + offset


def ports(lanes: Sequence[Lane], boxes: Mapping[str, Item]) -> dict[tuple[int, bool], float]:
    """Where each lane leaves its box (True) and enters it (False): side by side, in the order of their other ends."""
    found: dict[tuple[int, bool], float] = {}
    for out in (True, False):
        there: dict[int, list[tuple[float, int]]] = {}
        for number, lane in enumerate(lanes):
            box, next_ = (lane.items[0], lane.items[1]) if out else (lane.items[-1], lane.items[-2])
            if box.kind == "box":
                there.setdefault(id(box), []).append((next_.x, number))
        by_id = {id(item): item for item in boxes.values()}
        for key, each in there.items():
            box = by_id[key]
            for place, (_, number) in enumerate(sorted(each)):
                share = (place + 1) / (len(each) + 1)
                found[number, out] = round(box.x - box.width / 2 + box.width * share, 1)
    return found
