"""What is drawn of a node: what feeds it and what it feeds, and what a repair takes away and puts there.

The original and the repaired model are drawn as one: what only the original has goes, what only the repaired one has
comes, and the rest is drawn once, with the dims that it has in the repaired one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import onnx_ir as ir

from onereshape.checks.reports.picture import Box, Look, Picture, Wire
from onereshape.checks.reports.sides import Side, inputs_of, outputs_of

_MOST, _ENOUGH = 14, 9
"""Boxes of a picture, and how many there are before no more are looked for."""
_MOST_CHANGED = 6
"""Boxes of a picture for nodes that come or go."""
_MOST_BESIDE = 3
"""Boxes that are taken from one step upwards or downwards."""
_LEVELS = 4
_SMALL = 16
"""Entries of a constant that is drawn although nothing is wrong with it."""


class Neighbourhood:
    """The picture around the box of one node, to which boxes and wires are added."""

    def __init__(self, original: Side | None, repaired: Side | None, key: str, wrong: str | None = None) -> None:
        self._sides = {"before": original, "after": repaired}
        self._original = original if original is not None and key in original.boxes else None
        self._repaired = repaired if repaired is not None and key in repaired.boxes else None
        self._anchor = key
        self._wrong = wrong
        """The tensor at fault, where there is no repair to compare with."""
        self._boxes: dict[str, Box] = {}
        self._wires: dict[tuple[str, str, str], Wire] = {}

    def picture(self, said: tuple[str, str, str] | None = None) -> Picture:
        """The picture; `said` are the words before and after, and where they are from, if no input shows them."""
        side = self._repaired or self._original
        if side is None:
            return Picture((), ())
        self._boxes[self._anchor] = replace(self._node(side, self._anchor, "plain"), kind="anchor")
        self._feed()
        if said is not None and all(box.look == "plain" for box in self._boxes.values()):
            self._say(*said)
        self._grow(side)
        self._connect()
        above, below = self._beyond()
        return Picture(tuple(self._boxes.values()), tuple(self._wires.values()), above, below)

    def _feed(self) -> None:
        """The inputs of the node on both sides: what only one of them has goes, or comes."""
        before, after = (
            {} if side is None else {_token(side, value): value for value in inputs_of(side, self._anchor)}
            for side in (self._original, self._repaired)
        )
        if self._original is not None and self._repaired is not None:
            for token, value in before.items():
                if token not in after:
                    self._take(self._original, value, self._anchor, "before")
            for token, value in after.items():
                self._take(self._repaired, value, self._anchor, "plain" if token in before else "after")
            return
        for side, values in ((self._original, before), (self._repaired, after)):
            for value in values.values() if side is not None else ():
                wrong = self._wrong is not None and value.name == self._wrong
                self._take(side, value, self._anchor, "before" if wrong else "plain")  # type: ignore[arg-type]

    def _take(self, side: Side, value: ir.Value, target: str, look: Look) -> None:
        """Draws the box that makes a value, or the words of a constant, and the wire from there to the box `target`."""
        if len(self._boxes) >= _MOST:
            return
        words = side.constant(value)
        if words is not None:
            if look != "plain" or _is_small(side, value):
                key = f"constant\n{look}\n{value.name}"
                self._boxes.setdefault(key, Box(key, "constant", look, words, side.called(value)))
                self._wire(key, target, "", "", look)
            return
        source = self._source(side, value)
        if source is not None:
            self._draw(side, value, (source, target), look)

    def _draw(self, side: Side, value: ir.Value, ends: tuple[str, str], look: Look) -> None:
        """Draws the box that makes a value, and its wire."""
        key, target = ends
        other = self._original if look == "after" else self._repaired
        new = key not in self._boxes
        known = other is not None and key in other.boxes
        fresh: Look = look if look != "plain" and not known and key in side.boxes else "plain"
        changed = sum(box.look != "plain" for box in self._boxes.values())
        if fresh != "plain" and changed >= _MOST_CHANGED:
            return
        if new:
            self._boxes[key] = self._node(side, key, fresh) if key in side.boxes else _input(value, key)
        self._wire(key, target, str(value.name), side.dims(value), look)
        if new and fresh != "plain":
            for each in inputs_of(side, key):
                self._take(side, each, key, look)

    def _say(self, before: str, after: str, origin: str) -> None:
        """The words before and after, beside the node: of an attribute, or of what is not an input."""
        for look, words in (("before", before), ("after", after)):
            if words:
                key = f"constant\n{look}\n"
                box = Box(key, "constant", look, words, origin if look == "before" else "")  # type: ignore[arg-type]
                self._boxes[key] = box
                self._wire(key, self._anchor, "", "", look)  # type: ignore[arg-type]

    def _grow(self, side: Side) -> None:
        """Takes neighbours, one step after the other upwards and downwards, until there are enough."""
        upper = [self._anchor, *(key for key in self._boxes if key != self._anchor and key in side.boxes)]
        lower = [self._anchor]
        for level in range(_LEVELS):
            if len(self._boxes) >= _ENOUGH and level > 1:
                break
            lower = self._step(lower, self._fed(side, lower))
            upper = self._step(upper, self._feeding(side, upper))

    def _step(self, keys: list[str], near: Iterator[Box]) -> list[str]:
        taken: list[str] = []
        for box in near:
            if len(self._boxes) >= _MOST or len(taken) >= _MOST_BESIDE:
                break
            if box.key not in self._boxes:
                self._boxes[box.key] = box
                taken.append(box.key)
        return [*taken, *(key for key in keys if key != self._anchor and key not in taken)][:_MOST_BESIDE]

    def _feeding(self, side: Side, keys: list[str]) -> Iterator[Box]:
        for key in keys:
            if key not in side.boxes:
                continue
            for value in inputs_of(side, key):
                if side.constant(value) is None and (source := self._source(side, value)) is not None:
                    yield (
                        self._node(side, source, self._look(source)) if source in side.boxes else _input(value, source)
                    )

    def _fed(self, side: Side, keys: list[str]) -> Iterator[Box]:
        for key in keys:
            if key not in side.boxes:
                continue
            for value in outputs_of(side, key):
                if value.is_graph_output() and value.graph is side.model.graph:
                    yield Box(f"output\n{value.name}", "output", "plain", value.name or "", "")
                for use in value.uses():
                    if use.node in side:
                        found = side.key(use.node)
                        yield self._node(side, found, self._look(found))

    def _look(self, key: str) -> Look:
        """Whether a node of the repaired model is new there."""
        both = self._original is not None and self._repaired is not None
        return "after" if both and self._original is not None and key not in self._original.boxes else "plain"

    def _connect(self) -> None:
        """The wires between the boxes that are drawn, besides those of the node itself."""
        side = self._repaired or self._original
        for key in list(self._boxes):
            here = side if side is not None and key in side.boxes else self._original
            if here is None:
                continue
            if key in here.boxes and key != self._anchor:
                for value in inputs_of(here, key):
                    if here.constant(value) is None and (source := self._source(here, value)) in self._boxes:
                        self._wire(str(source), key, str(value.name), here.dims(value), self._joint(str(source), key))
            if key in here.boxes:
                for value in outputs_of(here, key):
                    if (end := f"output\n{value.name}") in self._boxes:
                        self._wire(key, end, str(value.name), here.dims(value), self._boxes[key].look)

    def _joint(self, source: str, target: str) -> Look:
        """A wire comes or goes with either end of it."""
        looks = [self._boxes[key].look for key in (source, target) if self._boxes[key].look != "plain"]
        return looks[0] if looks else "plain"

    def _wire(self, source: str, target: str, value: str, dims: str, look: Look) -> None:
        at = (source, target, value)
        if at not in self._wires:
            self._wires[at] = Wire(source, target, value, dims, look)

    def _beyond(self) -> tuple[frozenset[str], frozenset[str]]:
        """The boxes that something not drawn feeds, or that feed it, where nothing drawn does."""
        side = self._repaired or self._original
        fed = {wire.target for wire in self._wires.values() if not wire.source.startswith("constant\n")}
        feeding = {wire.source for wire in self._wires.values()}
        above, below = set(), set()
        for key in self._boxes:
            here = side if side is not None and key in side.boxes else self._original
            if here is None or key not in here.boxes:
                continue
            if key not in fed and any(here.constant(value) is None for value in inputs_of(here, key)):
                above.add(key)
            if key not in feeding and next(outputs_of(here, key), None) is not None:
                below.add(key)
        return frozenset(above), frozenset(below)

    def _source(self, side: Side, value: ir.Value) -> str | None:
        """The key of the box that makes a value: a node, or an input."""
        maker = value.producer()
        if maker is None:
            return f"input\n{value.name}" if value.is_graph_input() else None
        return side.key(maker) if maker in side else None

    def _node(self, side: Side, key: str, look: Look) -> Box:
        title, name = side.title(key)
        return Box(key, "node", look, title, name)


def _input(value: ir.Value, key: str) -> Box:
    return Box(key, "input", "plain", value.name or "", "")


def _is_small(side: Side, value: ir.Value) -> bool:
    held = side.facts.held(value)
    return held is not None and held.size <= _SMALL and all(isinstance(each, int) for each in held.flat)


def _token(side: Side, value: ir.Value) -> str:
    """What a value is, on either side: a constant is what it holds."""
    words = side.constant(value)
    if words is not None:
        return f"constant\n{words}\n{value.name if words.startswith('constant') else ''}"
    maker = value.producer()
    if maker is None or maker not in side:
        return f"input\n{value.name}"
    return f"node\n{side.key(maker)}\n{maker.outputs.index(value)}"
