"""The page as a real Chromium renders it: on a wide and a narrow screen, in light and dark, and on paper.

Nothing is loaded, the console is silent, every drawn box is inside of its picture and of the page, and no text lies on
another.  The planted bugs at the end are found by the same questions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.checks.reports import report
from tests.checks import report_models
from tests.checks.browser import Browser

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
WIDTHS = (1280, 400)
LARGEST = 1_000_000


def ir(path: Path) -> Path:
    """An OpenVINO IR with the batch in a constant."""
    import openvino
    from openvino import opset13 as op

    x = op.parameter([1, 3, 4], np.float32, name="x")
    flat = op.reshape(op.relu(x), op.constant(np.array([1, 12], np.int64)), special_zero=False)
    flat.set_friendly_name("flat<b>")
    openvino.save_model(openvino.Model([op.relu(flat)], [x], "net"), path, compress_to_fp16=False)
    return path


Made = Callable[[Path], tuple[Path, dict[str, Any]]]

PAGES: dict[str, Made] = {
    "repaired": lambda _: (CORPUS / "hand_yolo_head.ts.onnx", {"batch": True}),
    "added nodes": lambda _: (CORPUS / "hand_index_batch.ts.onnx", {"batch": True}),
    "refused": lambda _: (CORPUS / "neg_minibatch_std.ts.onnx", {"batch": True}),
    "found": lambda folder: (report_models.declared(folder / "declared.onnx"), {}),
    "bodies": lambda folder: (report_models.control(folder / "control.onnx"), {"batch": {"x": 0}}),
    "2,000 nodes": lambda folder: (
        report_models.long_chain(folder / "long.onnx", 2000),
        {"batch": True, "certify": False},
    ),
    "hostile": lambda folder: (report_models.hostile(folder / "hostile.onnx"), {"batch": True}),
    "IR": lambda folder: (ir(folder / "net.xml"), {"batch": True}),
    "oneDNN": lambda folder: (report_models.onednn(folder / "graph.json"), {}),
    "no Reshape": lambda folder: (
        report_models.text_model(folder / "none.onnx", "g (float[N] x) => (float[N] y) { y = Relu(x) }"),
        {},
    ),
}

OUTSIDE = """
const wide = document.documentElement.clientWidth, found = [];
for (const svg of document.querySelectorAll('figure svg')) {
  const around = svg.getBoundingClientRect();
  if (around.left < -0.5 || around.right > wide + 0.5) found.push('a picture is wider than the page');
  for (const part of svg.querySelectorAll('rect, text, path')) {
    const box = part.getBoundingClientRect();
    if (box.left < around.left - 0.5 || box.right > around.right + 0.5 ||
        box.top < around.top - 0.5 || box.bottom > around.bottom + 0.5)
      found.push(part.outerHTML.slice(0, 200));
  }
}
if (document.documentElement.scrollWidth > wide) found.push('the page is wider than the screen');
return found;
"""
"""What is drawn outside of its picture, or of the page."""

OVERLAPPING = """
const rects = [], found = [], seen = window.getComputedStyle;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, holder = node.parentElement;
  if (!node.data.trim() || holder.closest('title, desc, style')) continue;
  const line = holder.closest('text') || holder;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const rect of range.getClientRects()) {
    if (rect.width < 0.5 || rect.height < 0.5) continue;
    const shrink = rect.height * 0.2;
    rects.push({line, node, left: rect.left + 0.5, right: rect.right - 0.5, top: rect.top + shrink,
      bottom: rect.bottom - shrink});
  }
}
rects.sort((one, other) => one.top - other.top);
for (let i = 0; i < rects.length; i++)
  for (let j = i + 1; j < rects.length && rects[j].top < rects[i].bottom; j++) {
    const one = rects[i], other = rects[j];
    if (one.node === other.node || (one.line === other.line && one.line.tagName === 'text')) continue;
    if (one.left < other.right && other.left < one.right)
      found.push(one.node.data.slice(0, 60) + ' | ' + other.node.data.slice(0, 60));
  }
return found;
"""
"""Pairs of texts that lie on one another; lines may be near, so a fifth of each height is left off above and below."""

BEHIND = """
const found = [];
for (const svg of document.querySelectorAll('figure svg')) {
  const boxes = [...svg.querySelectorAll('.box rect')].map(each => each.getBBox());
  for (const path of svg.querySelectorAll('path.wire')) {
    const length = path.getTotalLength();
    for (let at = 0; at <= length; at += 3) {
      const point = path.getPointAtLength(at);
      for (const box of boxes)
        if (point.x > box.x + 1.5 && point.x < box.x + box.width - 1.5 &&
            point.y > box.y + 1.5 && point.y < box.y + box.height - 1.5) {
          found.push(path.getAttribute('d'));
          at = length + 1;
        }
    }
  }
}
return found;
"""
"""Wires that run through a box."""

COVERED = """
const found = [];
for (const svg of document.querySelectorAll('figure svg')) {
  const boxes = [...svg.querySelectorAll('.box rect')].map(each => each.getBBox());
  boxes.forEach((one, i) => boxes.slice(i + 1).forEach(other => {
    if (one.x < other.x + other.width && other.x < one.x + one.width &&
        one.y < other.y + other.height && other.y < one.y + one.height) found.push([one.x, one.y].join());
  }));
  for (const group of svg.querySelectorAll('.box')) {
    const frame = group.querySelector('rect').getBBox();
    for (const text of group.querySelectorAll('text')) {
      const box = text.getBBox();
      if (box.x < frame.x || box.x + box.width > frame.x + frame.width) found.push(text.textContent);
    }
  }
}
return found;
"""
"""Boxes that lie on one another, and text that is wider than its box."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as found:
        yield found


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("pages")
    made: dict[str, Path] = {}

    def page(name: str) -> Path:
        if name not in made:
            model, asked = PAGES[name](folder)
            made[name] = folder / f"{name}.html"
            report(model, made[name], **asked)
        return made[name]

    return page


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_whole(browser: Browser, pages: Callable[[str], Path], name: str, width: int) -> None:
    page = pages(name)
    assert page.stat().st_size < LARGEST
    browser.open(page, width=width, dark=width == WIDTHS[1])  # colours move nothing

    assert browser.run(OUTSIDE) == []
    assert browser.run(OVERLAPPING) == []
    assert browser.run(BEHIND) == []
    assert browser.run(COVERED) == []
    assert browser.console() == []
    assert browser.requests() == [page.as_uri()]


def luminance(colour: str) -> float:
    """How bright a colour is, as WCAG counts it."""
    parts = [int(each) / 255 for each in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(part * share for part, share in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


CONTRAST = """
const found = {};
const some = 'h1, p, dt, td, th, li, .bad, .good, .accent, del, ins, svg text, tspan';
for (const part of document.querySelectorAll(some)) {
  const style = getComputedStyle(part), drawn = part.closest('svg');
  const ink = drawn ? style.fill : style.color;
  let ground = part, colour = '';
  const frame = drawn && part.closest('.box') ? part.closest('.box').querySelector('rect') : null;
  if (frame) colour = getComputedStyle(frame).fill;
  while (!colour && ground) {
    const there = getComputedStyle(ground).backgroundColor;
    if (!there.endsWith(', 0)')) colour = there;
    ground = ground.parentElement;
  }
  found[ink + '/' + colour] = [ink, colour];
}
return Object.values(found);
"""
"""The colours of text and what is behind it."""


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_can_be_read(browser: Browser, pages: Callable[[str], Path], dark: bool) -> None:
    """WCAG AA asks for a contrast of 4.5."""
    for name in ("repaired", "refused"):
        browser.open(pages(name), dark=dark)
        pairs = browser.run(CONTRAST)

        assert len(pairs) > 4
        for ink, ground in pairs:
            low, high = sorted([luminance(ink), luminance(ground)])
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)


def test_light_and_dark_differ(browser: Browser, pages: Callable[[str], Path]) -> None:
    grounds = []
    for dark in (False, True):
        browser.open(pages("repaired"), dark=dark)
        grounds.append(browser.run("return getComputedStyle(document.body).backgroundColor"))

    assert [luminance(each) > 0.5 for each in grounds] == [True, False]


@pytest.mark.parametrize("name", ["repaired", "hostile", "2,000 nodes"])
def test_it_prints(browser: Browser, pages: Callable[[str], Path], name: str) -> None:
    browser.open(pages(name))
    printed = browser.printed()

    assert printed.startswith(b"%PDF-")
    assert printed.count(b"/Type /Page\n") + printed.count(b"/Type/Page") > 1


def test_a_picture_is_not_cut_between_two_pages(browser: Browser, pages: Callable[[str], Path]) -> None:
    """On paper every figure is lower than a page, and asked not to be broken."""
    browser.open(pages("added nodes"), width=700)
    browser.tell("Emulation.setEmulatedMedia", media="print")
    found = browser.run(
        "return [...document.querySelectorAll('figure')].map(each => "
        "[getComputedStyle(each).breakInside, each.getBoundingClientRect().height])"
    )

    assert found
    assert all(inside == "avoid" and height < 24.6 / 2.54 * 96 for inside, height in found)  # A4 without its margins


def test_nothing_of_a_hostile_name_is_markup(browser: Browser, pages: Callable[[str], Path]) -> None:
    browser.open(pages("hostile"))
    tags = set(browser.run("return [...document.querySelectorAll('*')].map(each => each.tagName.toLowerCase())"))
    handlers = browser.run(
        "return [...document.querySelectorAll('*')].flatMap(each => each.getAttributeNames())"
        ".filter(name => name.startsWith('on'))"
    )

    assert tags.isdisjoint({"script", "img", "b", "iframe", "object"})
    assert handlers == []
    assert "<script>alert(1)</script>" in browser.run("return document.body.textContent")


def test_who_does_not_see_it_is_told(browser: Browser, pages: Callable[[str], Path]) -> None:
    """Every picture has a title and a description, every table headers, every link a place, every id is one."""
    browser.open(pages("repaired"))
    assert browser.run("return document.documentElement.lang") == "en"
    labelled = browser.run(
        "return [...document.querySelectorAll('figure svg')].map(each => each.getAttribute('aria-labelledby')"
        ".split(' ').map(id => document.getElementById(id).textContent.length > 5))"
    )
    assert labelled
    assert all(labelled_by == [True, True] for labelled_by in labelled)
    assert browser.run("return [...document.querySelectorAll('table')].every(each => each.querySelector('thead th'))")
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(set(ids)) == len(ids)
    links = browser.run("return [...document.querySelectorAll('a')].map(each => each.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)


PLANTED = {
    "a box outside": (OUTSIDE, 'rect x="', 'rect x="9'),
    "a text on another": (OVERLAPPING, r'(<text class="name" x="[\d.]+" y=")[\d.]+', r"\g<1>30"),
    "a wire through a box": (BEHIND, r'class="wire" d="M[\d.]+ [\d.]+', 'class="wire" d="M0 0'),
    "a text wider than its box": (COVERED, r'textLength="[\d.]+"', 'textLength="400"'),
    "a box on another": (COVERED, r'rect x="[\d.]+" y="[\d.]+"', 'rect x="20" y="20"'),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_bugs_are_found(browser: Browser, pages: Callable[[str], Path], tmp_path: Path, name: str) -> None:
    question, pattern, other = PLANTED[name]
    text = pages("repaired").read_text(encoding="utf-8")
    broken = re.sub(pattern, other, text)
    assert broken != text
    page = tmp_path / "broken.html"
    page.write_text(broken, encoding="utf-8")
    browser.open(page)

    assert browser.run(question) != []


def test_what_a_page_asks_for_is_seen(browser: Browser, tmp_path: Path) -> None:
    """The questions of this file would notice a picture from elsewhere, and an error."""
    page = tmp_path / "asking.html"
    page.write_text('<img src="http://127.0.0.1:9/x.png"><script>console.error("no")</script>', encoding="utf-8")
    browser.open(page)

    assert any("no" in line for line in browser.console())
    assert len(browser.requests()) > 1
