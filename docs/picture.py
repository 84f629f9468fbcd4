"""Draws the picture of the README: `python docs/picture.py` writes picture.svg and picture-dark.svg beside it.

One Reshape three times: as it was exported at batch 1, the same constant at batch 2, and the repaired one at batch 2.
Where each element goes is what `orx.resolve` answers, not what the drawing assumes.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from pathlib import Path

import onereshape as orx

GAP = 2
LARGE, SMALL = 30, 19
"""The sides of a cell of data, and of one of the output, which may be twelve wide."""
PANEL, HEIGHT, MARGIN = 276, 300, 12
SANS = "font-family='system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif'"
MONO = "font-family='ui-monospace, SFMono-Regular, Menlo, Consolas, monospace'"


@dataclass(frozen=True, slots=True)
class Colours:
    """The colours for one background."""

    text: str
    faint: str
    line: str
    good: str
    bad: str
    samples: tuple[tuple[str, str], ...]
    """For each sample the colour of its cells, and that of the numbers in them."""


LIGHT = Colours("#1f2328", "#59636e", "#8c959f", "#1a7f37", "#cf222e", (("#0969da", "#ffffff"), ("#e16f24", "#ffffff")))
DARK = Colours("#f0f6fc", "#a2abb5", "#768390", "#3fb950", "#ff7b72", (("#4493f8", "#0d1117"), ("#f0883e", "#0d1117")))


@dataclass(frozen=True, slots=True)
class Panel:
    """One of the three columns."""

    title: str
    batch: int
    target: tuple[int, int]
    verdict: str
    right: bool


PANELS = (
    Panel("exported at batch 1", 1, (1, -1), "right", True),
    Panel("fed with batch 2", 2, (1, -1), "no error, but one row: wrong", False),
    Panel("after onereshape fix", 2, (0, -1), "a row for each sample: right", True),
)
SAMPLE = (2, 3)
"""The dims of one sample."""


def text(  # noqa: PLR0913 - what a line of text is
    x: float, y: float, said: str, colour: str, *, size: int = 15, bold: bool = False, mono: bool = False
) -> str:
    """One line of text around x."""
    weight = " font-weight='600'" if bold else ""
    font = MONO if mono else SANS
    place = f"x='{x:g}' y='{y:g}' font-size='{size}' text-anchor='middle'"
    return f"<text {place} fill='{colour}'{weight} {font}>{said}</text>"


def cells(at: tuple[float, float], dims: tuple[int, ...], first: int, side: int, colours: Colours) -> str:
    """A block of elements, numbered from `first` on; it is `at` the middle of its upper edge."""
    (x, y), (rows, columns) = at, dims
    left = x - (columns * side + (columns - 1) * GAP) / 2
    drawn = []
    for place in range(rows * columns):
        row, column = divmod(place, columns)
        sample, number = divmod(first + place, prod(SAMPLE))
        fill, ink = colours.samples[sample]
        cx, cy = left + column * (side + GAP), y + row * (side + GAP)
        drawn.append(f"<rect x='{cx:g}' y='{cy:g}' width='{side}' height='{side}' rx='4' fill='{fill}'/>")
        drawn.append(text(cx + side / 2, cy + side / 2 + 4.5, str(number), ink, size=13, mono=True))
    return "".join(drawn)


def panel(each: Panel, x: float, colours: Colours) -> str:
    """One column: data, the Reshape, the output, and what it is worth."""
    data = (each.batch, *SAMPLE)
    output = orx.resolve(data, each.target, "onnx")
    mark = colours.good if each.right else colours.bad
    apart = SAMPLE[1] * (LARGE + GAP) + 24
    blocks = [
        cells((x + (sample - (each.batch - 1) / 2) * apart, 40), SAMPLE, sample * prod(SAMPLE), LARGE, colours)
        for sample in range(each.batch)
    ]
    return "".join(
        [
            text(x, 24, each.title, colours.text, size=17, bold=True),
            *blocks,
            text(x, 124, f"data {list(data)}", colours.faint, mono=True),
            f"<path d='M{x:g} 134v46m-5-7l5 7 5-7' fill='none' stroke='{colours.line}' stroke-width='2'/>",
            text(x - 62, 162, "Reshape by", colours.faint),
            text(x + 56, 162, str(list(each.target)), mark, size=16, bold=True, mono=True),
            cells((x, 192 + (2 - output[0]) * SMALL / 2), output, 0, SMALL, colours),
            text(x, 256, f"output {list(output)}", colours.faint, mono=True),
            text(x, 284, each.verdict, mark, size=15, bold=True),
        ]
    )


def picture(colours: Colours) -> str:
    """The whole picture, as SVG."""
    width = 2 * MARGIN + len(PANELS) * PANEL
    said = (
        "Two samples of six elements. The constant [1, -1] of a Reshape, exported at batch 1, puts both of them into "
        "one row at batch 2. The repaired constant [0, -1] gives each sample a row of its own."
    )
    drawn = "\n".join(panel(each, MARGIN + (place + 0.5) * PANEL, colours) for place, each in enumerate(PANELS))
    lines = "".join(
        f"<path d='M{MARGIN + place * PANEL} 14V{HEIGHT - 14}' stroke='{colours.line}' stroke-opacity='.45'/>"
        for place in range(1, len(PANELS))
    )
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {HEIGHT}' width='{width}' role='img'>"
    return f"{head}\n<title>{said}</title>\n{lines}\n{drawn}\n</svg>\n"


PICTURES = {"picture.svg": LIGHT, "picture-dark.svg": DARK}


if __name__ == "__main__":
    for name, colours in PICTURES.items():
        Path(__file__).with_name(name).write_text(picture(colours), encoding="utf-8")
