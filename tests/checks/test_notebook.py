"""Notebooks: what they show of a result, and that no name in a file becomes markup."""

from __future__ import annotations

import time
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings

import onereshape as orx
from onereshape.checks.findings.finding import Findings
from onereshape.checks.show import ReshapeTable
from onereshape.ground import notebook
from onereshape.rule.shape import Shape
from tests.checks.results import HOSTILE, NAMES, certificate, change, every, finding, fixed

TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
YOLO = "tests/data/corpus/hand_yolo_head.ts.onnx"


class Reader(HTMLParser):
    """The tags, attributes and texts of a page, as a browser takes it apart."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(page)
        self.close()
        assert self.open == [], "a tag is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= set(attrs)
        if tag == "tr":
            self.rows.append([])
        if tag in {"td", "th"}:
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self.open[-1:] in (["td"], ["th"]):
            self.rows[-1][-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)


def check(page: str) -> Reader:
    """Refuses markup that is not ours."""
    found = Reader(page)
    assert found.tags <= TAGS
    assert {name for name, _ in found.attributes} <= {"style", "scope"}
    assert {value for _, value in found.attributes} <= {"col", *STYLES}
    assert "".join(found.texts).isprintable()
    return found


STYLES = {value for _, value in Reader(notebook.block("a", "b", notebook.table(["c"], [["d"]]))).attributes}


def test_styles_leave_the_colours_to_the_page() -> None:
    """A notebook is light or dark, and knows it; all that is drawn is a line in the colour of the text."""
    text = " ".join(str(style) for style in STYLES)

    assert "currentColor" in text
    assert not any(word in text.lower() for word in ("#", "rgb", "black", "white", "background", "url", "expression"))


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_text(name: str) -> None:
    for result in every(name):
        if hasattr(result, "_repr_html_"):
            check(result._repr_html_())


@given(NAMES)
@settings(max_examples=60, deadline=None)
def test_whatever_the_names(name: str) -> None:
    for result in every(name):
        if hasattr(result, "_repr_html_"):
            check(result._repr_html_())


def test_a_name_is_shown_as_it_is() -> None:
    page = Findings([finding("<b>&amp;\x1b")])._repr_html_()

    assert "&lt;b&gt;&amp;amp;\\x1b" in page
    assert check(page).rows[1][2] == "<b>&amp;\\x1b"


def test_what_is_long_stays_short() -> None:
    endless = "x" * 10_000_000
    started = time.process_time()
    pages = [each._repr_html_() for each in every(endless) if hasattr(each, "_repr_html_")]
    pages.append(fixed("a", changes=(change(endless),) * 1000, conditions=("a" * 300,) * 5000)._repr_html_())
    pages.append(Shape(["N"] * 100_000, ["N >= 1"] * 100_000)._repr_html_())

    assert max(map(len, pages)) < 100_000
    assert time.process_time() - started < 20


@pytest.mark.parametrize(("count", "more"), [(0, None), (1, None), (20, None), (21, 1), (401, 381)])
def test_of_many_rows_the_first_are_shown(count: int, more: int | None) -> None:
    found = check(Findings([finding("a")] * count)._repr_html_())

    assert len(found.rows) == (0 if count == 0 else min(count, 20) + 1)
    assert [text for text in found.texts if text.startswith("and ")] == ([] if more is None else [f"and {more} more"])


def test_a_column_that_is_empty_is_left_out() -> None:
    page = notebook.table(["a", "b", "c"], [["1", "", "3"], ["4", "", ""]])

    assert check(page).rows == [["a", "c"], ["1", "3"], ["4", ""]]
    assert notebook.table(["a"], [[""]]) == notebook.table([], []) == ""


@pytest.mark.parametrize("kind", [Shape, Findings, orx.Fixed, orx.Certificate, ReshapeTable])
def test_what_notebooks_can_show(kind: Any) -> None:
    assert callable(kind._repr_html_)


def test_a_shape() -> None:
    found = check(orx.infer(["N", 6], [4, -1], "onnx")._repr_html_())

    assert "".join(found.texts) == "Shape [4, 3*N/2]if N is divisible by 2"


def test_findings() -> None:
    found = check(orx.check(YOLO, batch=True)._repr_html_())

    assert "4 errors" in "".join(found.texts)
    assert found.rows[0] == ["severity", "code", "node", "what is wrong", "what to do next"]
    assert found.rows[1][:3] == ["error", "baked-dim", "/Reshape"]
    assert "Constant node /Constant" in found.rows[1][3]
    assert "".join(check(Findings()._repr_html_()).texts) == "Findings none"


def test_a_repair_and_its_certificate() -> None:
    result = orx.fix(YOLO, batch=True)
    found = check(result._repr_html_())

    assert "4 changes, proven: for all N >= 1" in "".join(found.texts)
    assert found.rows[1][:4] == ["/Reshape", "Reshape", "[1, 3, 7, 16, 16]", "[0, 3, 7, 16, 16]"]
    assert result.certificate is not None
    told = check(result.certificate._repr_html_())
    assert told.rows == [["output", "axis of the batch", "largest difference"], ["y", "0", "0"]]
    assert "Certificate: proven" in told.texts


def test_sizes_that_were_refused_are_shown() -> None:
    found = check(certificate("N")._repr_html_())

    assert ["refused at", "why"] in found.rows
    assert ["N = 9", "N"] in found.rows
