"""Which boxes of a picture stand on which floor, and in which order on it.

Each value is an item of its own on a floor between those of boxes, so that its dims have a place; a wire that passes a
floor has an item there too, so that it has a lane and runs through no box.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from onereshape.checks.reports.picture import Look, Picture, Wire

_LIGHT = 0.1
"""A constant stands beside the way of the data, which stays straight."""
_SWEEPS = 12
"""More than enough for the few boxes that are drawn."""


@dataclass(slots=True, eq=False)
class Item:
    """A box, the dims of a value or a passing wire: what takes room on a floor."""

    kind: Literal["box", "label", "lane"]
    key: str
    floor: int
    look: Look = "plain"
    text: str = ""
    weight: float = 1.0
    """How strongly its neighbours are drawn to it."""
    above: list[Item] = field(default_factory=list)
    below: list[Item] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    """The place of its middle."""
    y: float = 0.0
    """The place of its upper edge."""


@dataclass(frozen=True, slots=True)
class Lane:
    """The way of a wire from item to item, downwards."""

    items: tuple[Item, ...]
    look: Look
    ends: bool
    """Whether it ends at a box, with an arrow."""


@dataclass(frozen=True, slots=True)
class Floors:
    """All items by floor, from left to right, and the ways between them."""

    floors: list[list[Item]]
    lanes: tuple[Lane, ...]


def arranged(picture: Picture) -> Floors:
    """The items of a picture on their floors, in an order with few crossings."""
    wires = _downward(picture)
    heights = _heights([box.key for box in picture.boxes], wires)
    items = {box.key: Item("box", box.key, 2 * heights[box.key], box.look) for box in picture.boxes}
    for box in picture.boxes:
        items[box.key].weight = _LIGHT if box.kind == "constant" else 1.0
    floors: list[list[Item]] = [[] for _ in range(2 * max(heights.values(), default=0) + 2)]
    for item in items.values():
        floors[item.floor].append(item)
    lanes: list[Lane] = []
    values: dict[tuple[str, str], Item] = {}
    for wire in wires:
        source = items[wire.source]
        at = (wire.source, wire.value)
        if at not in values:
            kind: Literal["label", "lane"] = "label" if wire.dims else "lane"
            values[at] = Item(kind, f"{wire.source}\n{wire.value}", source.floor + 1, source.look, wire.dims)
            values[at].weight = source.weight
            floors[source.floor + 1].append(values[at])
            lanes.append(_lane([source, values[at]], source.look, ends=False))
        way = [values[at]]
        for floor in range(source.floor + 2, items[wire.target].floor):
            way.append(Item("lane", wire.target, floor, wire.look, weight=source.weight))
            floors[floor].append(way[-1])
        lanes.append(_lane([*way, items[wire.target]], wire.look, ends=True))
    found = [floor for floor in floors if floor]
    _put_in_order(found)
    return Floors(found, tuple(lanes))


def _lane(way: Sequence[Item], look: Look, *, ends: bool) -> Lane:
    for upper, lower in pairwise(way):
        upper.below.append(lower)
        lower.above.append(upper)
    return Lane(tuple(way), look, ends)


def _downward(picture: Picture) -> list[Wire]:
    """The wires without those that close a circle: before and after together may have one, though neither has."""
    found: list[Wire] = []
    below: dict[str, set[str]] = defaultdict(set)
    for wire in sorted(picture.wires, key=lambda wire: wire.look == "before"):
        if not _leads(below, wire.target, wire.source):
            below[wire.source].add(wire.target)
            found.append(wire)
    order = {wire: place for place, wire in enumerate(picture.wires)}
    return sorted(found, key=lambda wire: order[wire])


def _leads(below: Mapping[str, set[str]], start: str, end: str) -> bool:
    pending, seen = [start], {start}
    while pending:
        here = pending.pop()
        if here == end:
            return True
        new = below.get(here, set()) - seen
        seen |= new
        pending += new
    return False


def _heights(keys: Sequence[str], wires: Sequence[Wire]) -> dict[str, int]:
    """Box -> floor, from the top: below its sources, and just above its targets if there are no fewer of the latter."""
    heights = dict.fromkeys(keys, 0)
    for _ in keys:  # as often as the longest way has boxes, at most
        moved = False
        for wire in wires:
            if heights[wire.target] <= heights[wire.source]:
                heights[wire.target] = heights[wire.source] + 1
                moved = True
        if not moved:
            break
    into, out = (defaultdict[str, set[str]](set) for _ in range(2))
    for wire in wires:
        into[wire.target].add(wire.source)
        out[wire.source].add(wire.target)
    for key in sorted(keys, key=lambda key: -heights[key]):
        if out[key] and len(into[key]) <= len(out[key]):
            heights[key] = max(heights[key], min(heights[other] for other in out[key]) - 1)
    return heights


def _put_in_order(floors: list[list[Item]]) -> None:
    """Sweeps down and up, each item to the middle of its neighbours; the order with the fewest crossings stays."""
    best, fewest = [list(floor) for floor in floors], _crossings(floors)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for floor in floors if down else reversed(floors):
            places = {id(item): place for other in floors for place, item in enumerate(other)}
            middle = {id(item): _middle(item.above if down else item.below, places) for item in floor}
            own = {id(item): float(place) for place, item in enumerate(floor)}
            floor.sort(key=lambda item: own[id(item)] if (at := middle[id(item)]) is None else at)
        if (count := _crossings(floors)) < fewest:
            best, fewest = [list(floor) for floor in floors], count
    for floor, order in zip(floors, best, strict=True):
        floor[:] = order


def _middle(items: Sequence[Item], places: Mapping[int, int]) -> float | None:
    return sum(places[id(item)] for item in items) / len(items) if items else None


def _crossings(floors: Sequence[Sequence[Item]]) -> int:
    total = 0
    for upper, lower in pairwise(floors):
        places = {id(item): place for place, item in enumerate(lower)}
        ends = [sorted(places[id(item)] for item in one.below if id(item) in places) for one in upper]
        flat = [(place, end) for place, each in enumerate(ends) for end in each]
        total += sum(one[0] < two[0] and one[1] > two[1] for one in flat for two in flat)
    return total
