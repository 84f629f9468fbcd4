"""One finding or one change on the page: what is said, the words before and after, the way of the size, the picture."""

from __future__ import annotations

from onereshape.checks.findings.finding import CODES
from onereshape.checks.reports.gathering import Case, Story
from onereshape.checks.reports.markup import Markup, element, escaped, joined, name_of
from onereshape.checks.reports.neighbourhood import Neighbourhood
from onereshape.checks.reports.picture import Box, Picture, Wire
from onereshape.checks.reports.sides import Side
from onereshape.checks.reports.svg import svg
from onereshape.checks.reports.ways import SizeWay, Ways
from onereshape.checks.show import ReshapeRow, listed_dims

_LONGEST = 600
"""Signs of the words before and after, and of a sentence."""


class Drawer:
    """Makes the sections of a page, one after the other."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._number = 0
        self._ways: dict[int, Ways] = {}
        self._seen: dict[str, int] = {}
        """The section that has the picture of a node that is not repaired."""

    @property
    def drawn(self) -> int:
        """The number of sections that were made."""
        return self._number

    def section(self, case: Case) -> Markup:
        """The section of a case: its sentence, the words before and after, the way of the size, and a picture."""
        self._number += 1
        said = case.change or case.finding
        assert said is not None  # noqa: S101 - a case has one of them
        code = element("span", escaped(said.code), class_="code", title=_meaning(said.code))
        severity = "" if case.change is not None or case.finding is None else f"{case.finding.severity}: "
        operator = escaped(said.op, 80)
        name = "" if said.node in {"", said.op} else f" {name_of(said.node.removeprefix(f'{said.op} of '))}"
        parts = [
            element("h3", f"{operator}{name} {code}", id=f"c{self._number}"),
            element("p", f"{severity}{escaped(said.message, _LONGEST)}"),
        ]
        if case.change is not None:
            parts.append(_diff(case))
        elif case.finding is not None and case.finding.next is not None:
            parts.append(element("p", f"Next: {element('code', escaped(case.finding.next, _LONGEST))}", class_="soft"))
        sides = self._sides(case)
        key = self._key(case, *sides)
        if key is not None:
            parts += self._way(case, key, *sides)
            parts += self._figure(case, key, *sides) if self._is_new(case, key) else [_above(self._seen[key])]
        elif (row := self._row(case)) is not None:
            parts.append(self._drawn(case, _alone(row)))
        return element("section", joined(parts), class_="case", aria_labelledby=f"c{self._number}")

    def _is_new(self, case: Case, key: str) -> bool:
        """Whether nothing else was said of the node: one picture is enough."""
        return case.change is not None or self._seen.setdefault(key, self._number) == self._number

    def _sides(self, case: Case) -> tuple[Side | None, Side | None]:
        """The models in which the node is looked for: what is not repaired is drawn as it is in the file."""
        story = self._story
        return (story.inlined, story.repaired) if case.change is not None else (story.original, None)

    def _key(self, case: Case, original: Side | None, repaired: Side | None) -> str | None:
        """The box of the node that is spoken of; places in a file with functions are not those of the unfolded one."""
        said = case.change or case.finding
        if said is None:
            return None
        same = case.change is None or self._story.inlined is self._story.original
        place = case.finding.place if case.finding is not None and same else ""
        for side in (original, repaired):
            if side is not None:
                found = side.places.get(place) or side.names.get(said.node) or side.places.get(said.node)
                if found is not None:
                    return found
        return None

    def _way(self, case: Case, key: str, original: Side | None, repaired: Side | None) -> list[Markup]:
        if case.change is None and case.finding is not None and case.finding.code in _WAYLESS:
            return []
        side = repaired if repaired is not None and key in repaired.boxes else original
        if side is None or not self._story.names:
            return []
        if id(side) not in self._ways:
            self._ways[id(side)] = Ways(side, self._story.names)
        way = self._ways[id(side)].to(key)
        return [] if way is None else [_way(way, case, side.title(key))]

    def _figure(self, case: Case, key: str, original: Side | None, repaired: Side | None) -> list[Markup]:
        change, finding = case.change, case.finding
        wrong = finding.tensor if finding is not None and finding.code not in _HARMLESS else None
        around = Neighbourhood(original, repaired, key, wrong)
        picture = around.picture(None if change is None else (change.before, change.after, change.origin))
        return [self._drawn(case, picture)] if picture.boxes else []

    def _drawn(self, case: Case, picture: Picture) -> Markup:
        said = case.change or case.finding
        title = "" if said is None else f"{said.op} {said.node} and what is around it"
        drawn = svg(picture, self._number, title, _about(picture), self._story.names)
        return element("figure", drawn + element("figcaption", _legend(picture)))

    def _row(self, case: Case) -> ReshapeRow | None:
        """The Reshape that is spoken of, in a file of which only the Reshapes are read."""
        if case.finding is None:
            return None
        return next((row for row in self._story.rows if row.place == case.finding.place), None)


_WAYLESS = frozenset({"identity", "chain", "foldable-target", "redundant-allowzero", "declared-mismatch", "gave-up"})
"""Codes that no free size leads to."""
_HARMLESS = frozenset({"identity", "chain", "foldable-target", "redundant-allowzero"})


def _alone(row: ReshapeRow) -> Picture:
    """A Reshape without its neighbours: data, target and output."""
    origin = "" if row.target_from == "attribute" else row.target_from
    boxes = (
        Box("data", "input", "plain", "data", ""),
        Box("target", "constant", "before", listed_dims(row.target), origin),
        Box("node", "anchor", "plain", "Reshape", row.name),
        Box("output", "output", "plain", "output", ""),
    )
    wires = (
        Wire("data", "node", "data", listed_dims(row.data)),
        Wire("target", "node", "", "", "before"),
        Wire("node", "output", "output", "refused" if row.refused is not None else listed_dims(row.output)),
    )
    return Picture(boxes, wires)


def _above(number: int) -> Markup:
    return element("p", element("a", "Its picture is above.", href=f"#c{number}"), class_="soft")


def _meaning(code: str) -> str | None:
    return CODES[code].meaning if code in CODES else None


def _diff(case: Case) -> Markup:
    """The words before and after."""
    assert case.change is not None  # noqa: S101 - who calls has one
    before, after = escaped(case.change.before, _LONGEST), escaped(case.change.after, _LONGEST)
    origin = element("span", f"&ensp;{escaped(case.change.origin, 200)}", class_="soft")
    return element("div", f"<del>&minus; {before}{origin}</del><ins>+ {after}</ins>", class_="diff")


def _way(way: SizeWay, case: Case, end: tuple[str, str]) -> Markup:
    """The dim of the input, the nodes on its way, and where it ends."""
    steps = [f'{escaped(way.start, 120)} = <strong class="accent">{escaped(way.name, 80)}</strong>']
    steps += [_step(*each) for each in way.first]
    if way.left_out:
        steps.append(element("span", f"{way.left_out} more", class_="soft"))
    steps += [_step(*each) for each in way.last]
    stops = ""
    if case.change is not None:
        stops = ' <span class="bad">stops here in the original</span>'
    elif _stops(case):
        stops = ' <span class="bad">stops here</span>'
    steps.append(f"<strong>{_step(*end)}</strong>{stops}")
    return element("ol", "".join(element("li", step) for step in steps), class_="way", aria_label="the way of the size")


def _stops(case: Case) -> bool:
    return case.finding is not None and case.finding.code in {"baked-dim", "absorbed-dim", "cannot-free"}


def _step(op: str, name: str) -> Markup:
    return Markup(f"{escaped(op, 60)} {name_of(name, 40)}" if name else escaped(op, 60))


def _about(picture: Picture) -> str:
    """The picture in words, for who does not see it."""
    known = {box.key: box for box in picture.boxes}

    def called(key: str) -> str:
        box = known[key]
        return " ".join(dict.fromkeys(filter(None, [box.title, box.name])))

    looks = {"before": ", which goes", "after": ", which comes", "plain": ""}

    def told(wire: Wire) -> str:
        dims = f" with dims {wire.dims}" if wire.dims else ""
        return f"{called(wire.source)} to {called(wire.target)}{dims}{looks[wire.look]}"

    return f"{len(picture.boxes)} boxes. " + "; ".join(map(told, picture.wires)) + "."


def _legend(picture: Picture) -> str:
    """The legend of a picture, as HTML; red and green are explained where a box or a wire has them."""
    looks = {box.look for box in picture.boxes} | {wire.look for wire in picture.wires}
    parts = ["data flows downwards, with its dims"]
    if "before" in looks:
        parts.append('<span class="bad">dashed red: before</span>')
    if "after" in looks:
        parts.append('<span class="good">green: after</span>')
    return "; ".join(parts)
