"""A picture as SVG: boxes, the dims between them, and curves that run through neither."""

from __future__ import annotations

import html
import re
from collections.abc import Collection

from onereshape.checks.reports.layers import Item, Lane
from onereshape.checks.reports.lettering import cells
from onereshape.checks.reports.markup import Markup, element, escaped
from onereshape.checks.reports.picture import Box, Picture
from onereshape.checks.reports.picture_layout import (
    LABEL,
    NAME,
    STUB,
    TITLE,
    Placed,
    label_of,
    name_in,
    placed,
    ports,
    title_of,
    width_of,
)

_ARROW = 6.0
_LOOKS = {"before": "goes", "after": "comes", "plain": ""}
_SAID = {"before": "before: ", "after": "after: ", "plain": ""}


def svg(picture: Picture, number: int, title: str, about: str, names: Collection[str] = ()) -> Markup:
    """The picture; `names` are dims that are to be seen at once."""
    found = placed(picture)
    known = {box.key: box for box in picture.boxes}
    parts = [
        element("title", escaped(title), id=f"t{number}"),
        element("desc", escaped(about), id=f"d{number}"),
        *_lanes(found),
        *_stubs(picture, found),
        *(_box(known[key], item) for key, item in found.boxes.items()),
        *(_label(item, names) for floor in found.floors.floors for item in floor if item.kind == "label"),
    ]
    width, height = found.width, found.height
    return element(
        "svg",
        "\n".join(parts),
        viewBox=f"0 0 {width} {height}",
        width=str(width),
        height=str(height),
        role="img",
        aria_labelledby=f"t{number} d{number}",
    )


def _lanes(found: Placed) -> list[str]:
    lanes = found.floors.lanes
    at = ports(lanes, found.boxes)
    return [_lane(lane, at.get((number, True)), at.get((number, False))) for number, lane in enumerate(lanes)]


def _lane(lane: Lane, leaves: float | None, enters: float | None) -> str:
    """A curve from item to item: upright inside of floors, and bent only between them."""
    first, last = lane.items[0], lane.items[-1]
    x, y = (first.x if leaves is None else leaves), first.y + first.height
    path = [f"M{_n(x)} {_n(y)}"]
    for item in lane.items[1:]:
        to = enters if item is last and enters is not None else item.x
        end = item.y - (_ARROW - 1 if item is last and lane.ends else 0)
        path.append(_curve(x, y, to, end))
        x, y = to, end
        if item is not last and item.height:
            y = item.y + item.height
            path.append(f"V{_n(y)}")
    if not lane.ends and last.kind == "lane" and last.height:
        path.append(f"V{_n(last.y + last.height)}")
    look = _LOOKS[lane.look]
    drawn = f'<path class="wire {look}" d="{"".join(path)}"/>' if look else f'<path class="wire" d="{"".join(path)}"/>'
    if lane.ends:
        top = last.y
        drawn += (
            f'<path class="{f"tip {look}".strip()}" '
            f'd="M{_n(x - 3.5)} {_n(top - _ARROW)}L{_n(x)} {_n(top)}L{_n(x + 3.5)} {_n(top - _ARROW)}z"/>'
        )
    return drawn


def _curve(x: float, y: float, to: float, end: float) -> str:
    if abs(x - to) < 0.1:
        return f"V{_n(end)}"
    middle = (y + end) / 2
    return f"C{_n(x)} {_n(middle)} {_n(to)} {_n(middle)} {_n(to)} {_n(end)}"


def _stubs(picture: Picture, found: Placed) -> list[str]:
    """Short ends of wires from and to what is not drawn."""
    parts = []
    for box in picture.boxes:
        item = found.boxes[box.key]
        if box.key in picture.above:
            parts.append(_stub(item.x, item.y - STUB, item.y))
        if box.key in picture.below:
            bottom = item.y + item.height
            parts.append(_stub(item.x, bottom, bottom + STUB))
    return parts


def _stub(x: float, top: float, bottom: float) -> str:
    return f'<path class="stub" d="M{_n(x)} {_n(top)}V{_n(bottom)}"/>'


def _box(box: Box, item: Item) -> str:
    title, name = title_of(box), name_in(box)
    left, corner = item.x - item.width / 2, {"constant": 3, "input": 13, "output": 13}.get(box.kind, 6)
    baseline = item.y + (20 if name else 18.5)
    lines = [_text(title, (item.x, baseline), TITLE, "op" if box.kind in {"node", "anchor"} else "held")]
    if name:
        lines.append(_text(name, (item.x, baseline + 16), NAME, "name"))
    look = _LOOKS[box.look]
    whole = " ".join(dict.fromkeys([box.title, box.name]))
    frame = f'<rect x="{_n(left)}" y="{_n(item.y)}" width="{_n(item.width)}" height="{_n(item.height)}" rx="{corner}"/>'
    about = element("title", escaped(f"{_SAID[box.look]}{whole}", 400))
    return element("g", "".join([about, frame, *lines]), class_=f"box {box.kind} {look}".strip())


def _label(item: Item, names: Collection[str]) -> str:
    text = label_of(item.text)
    marked = _marked(text, names)
    look = f"dims {_LOOKS[item.look]}".strip()
    whole = element("title", escaped(item.text, 400)) if text != item.text else ""
    drawn = _text(text, (item.x, item.y + LABEL - 4), NAME, look, marked)
    return element("g", whole + drawn) if whole else drawn


def _marked(text: str, names: Collection[str]) -> str:
    """The text with the names that matter set apart."""
    safe = html.escape(text)
    known = [re.escape(html.escape(name)) for name in sorted(names, key=len, reverse=True) if name]
    if not known:
        return safe
    return re.sub(rf"(?<![\w.])({'|'.join(known)})(?![\w.])", r'<tspan class="free">\1</tspan>', safe)


def _text(text: str, at: tuple[float, float], size: float, look: str, content: str | None = None) -> str:
    """A line of text that is as wide as it was taken for, in whatever font."""
    width = width_of(text, size)
    fit = f' textLength="{_n(width)}" lengthAdjust="spacingAndGlyphs"' if cells(text) > 1 else ""
    inside = html.escape(text) if content is None else content
    return f'<text class="{look}" x="{_n(at[0])}" y="{_n(at[1])}"{fit}>{inside}</text>'


def _n(number: float) -> str:
    """A coordinate, short."""
    return f"{number:.1f}".removesuffix(".0")
