"""The result as text for a terminal: a row per case with a mark per engine, then the counts."""

from __future__ import annotations

import string
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle
from typing import NamedTuple

from onereshape.backends.conformance.case_table import Case
from onereshape.backends.conformance.engines import Engine
from onereshape.backends.conformance.questions import Answer
from onereshape.backends.conformance.result import Column, Result, Row, Verdict
from onereshape.ground.text import page

_AGREES, _DIFFERS, _ALARMS, _NOT_ASKED = ".", "x", "!", "-"
_WIDTHS = (23, 11, 13, 7)
"""Of name, data, target and the meaning of 0; a longer cell moves the rest of its line."""
_COLUMNS = 110
LEGEND = (
    f"{_AGREES} agrees   {_DIFFERS} differs   {_ALARMS} wrong elements, crash, hang or failure   "
    f"{_NOT_ASKED} cannot be asked"
)


class View(NamedTuple):
    """A row as it is shown: both meanings of 0 in one where they make no difference."""

    case: Case
    zero: str
    says: dict[str, Answer]
    verdicts: dict[str, Verdict]
    """Engine name -> its verdict."""


def views(result: Result) -> Iterator[View]:
    """The rows as they are shown: those of a case, `copied` and `literal`, are one, `either`, if no answer differs."""
    waiting: View | None = None
    for row in result.rows:
        view = _view(row, result.answered)
        joined = None if waiting is None else _join(waiting, view)
        if waiting is not None and joined is None:
            yield waiting
        waiting = joined or view
    if waiting is not None:
        yield waiting


def _view(row: Row, columns: Iterable[Column]) -> View:
    verdicts = {column.engine.name: column.verdicts[row.key] for column in columns if row.key in column.verdicts}
    return View(row.case, row.zero, row.says, verdicts)


def _join(one: View, other: View) -> View | None:
    if one.case != other.case:
        return None
    says_same = all(one.says[name] == other.says[name] for name in one.says.keys() & other.says.keys())
    shared = one.verdicts.keys() & other.verdicts.keys()
    if not says_same or any(_shown(one.verdicts[name]) != _shown(other.verdicts[name]) for name in shared):
        return None
    return View(one.case, "either", one.says | other.says, one.verdicts | other.verdicts)


def _shown(verdict: Verdict) -> tuple[str, bool]:
    return str(verdict.given), verdict.agrees


def say_specifications(says: dict[str, Answer]) -> str:
    """What the specifications say, in one phrase where they agree.

    >>> say_specifications({"onnx-24": Answer("refused", why="volume"), "openvino": Answer("dims", (0, 3))})
    'onnx refused (volume); openvino [0,3]'
    """
    return "; ".join(f"{names} {words}".strip() for words, names in group_specifications(says).items())


def group_specifications(says: dict[str, Answer]) -> dict[str, str]:
    """The answers of the specifications, with the names of those that give them; no names where all agree."""
    groups: dict[str, list[str]] = {}
    for name, answer in says.items():
        words = f"refused ({answer.why})" if answer.kind == "refused" else str(answer)
        groups.setdefault(words, []).append(name)
    return {words: "" if len(groups) == 1 else _names(names, says) for words, names in groups.items()}


def _names(names: Sequence[str], among: Iterable[str]) -> str:
    """Specifications by name, or by dialect where all of a dialect are there."""
    shown: list[str] = []
    for dialect in dict.fromkeys(name.partition("-")[0] for name in names):
        whole = {name for name in among if name.partition("-")[0] == dialect}
        shown += [dialect] if whole <= set(names) else [name for name in names if name in whole]
    return " ".join(shown)


def differing(view: View) -> dict[str, list[str]]:
    """The answers that differ from the specification, with their engines: `{"[3,2]": ["onnxruntime-24"]}`."""
    answers: dict[str, list[str]] = {}
    for name, verdict in view.verdicts.items():
        if not verdict.agrees:
            answers.setdefault(str(verdict.given), []).append(name)
    return answers


def as_text(result: Result) -> str:
    """The result for a terminal: the table, what its marks mean, and the counts of each engine."""
    letters = dict(zip((column.engine.name for column in result.answered), cycle(string.ascii_letters), strict=False))
    lines = [_line("".join(letters.values()), ("case", "data", "target", "0 is"), "specification")]
    for view in views(result):
        marks = "".join(_mark(view.verdicts.get(name)) for name in letters)
        cells = (view.case.name, view.case.show_data(), view.case.show_target(), view.zero)
        said = group_specifications(view.says)
        lines.append(_line(marks, cells, "they disagree" if len(said) > 1 else next(iter(said))))
        below = [f"{names} {words}" for words, names in said.items() if names]
        below += [f"{answer}: {' '.join(names)}" for answer, names in differing(view).items()]
        lines += [line for text in below for line in _indented(text, len(letters) + 4)]
    return page([*lines, "", LEGEND, "", *_counts(result, letters)])


def _indented(text: str, indent: int) -> list[str]:
    first, more = " " * indent, " " * (indent + 4)
    return textwrap.wrap(text, _COLUMNS, initial_indent=first, subsequent_indent=more, break_on_hyphens=False)


def _line(marks: str, cells: Sequence[str], last: str) -> str:
    padded = (f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True))
    return "  ".join([marks, *padded, last]).rstrip()


def _mark(verdict: Verdict | None) -> str:
    if verdict is None:
        return _NOT_ASKED
    return _AGREES if verdict.agrees else _ALARMS if verdict.is_alarming else _DIFFERS


COUNTS = ("asked", "agree", "differ", "wrong elements", "crash", "hang", "failed")


def _counts(result: Result, letters: dict[str, str]) -> list[str]:
    width = max(len(column.engine.name) for column in result.columns)
    lines = [f"   {'engine':<{width}}  " + "  ".join(f"{head:>6}" for head in COUNTS)]
    for column in result.columns:
        name = column.engine.name
        if not column.is_answered:
            lines.append(f"   {name:<{width}}  {column.state}")
            continue
        numbers = (f"{number:>{max(6, len(head))}}" for head, number in column.tally().items())
        mark = "  (recorded)" if column.state == "recorded" else ""
        lines.append(f"{letters[name]}  {name:<{width}}  {'  '.join(numbers)}  {held_against(column.engine)}{mark}")
    told = dict.fromkeys(f"{say_recorded(column)}: {column.why}" for column in result.columns if column.why)
    return [*lines, "", say_versions(result), *told]


def say_versions(result: Result) -> str:
    """The releases that answered, and where."""
    versions = {column.engine.package: column.version for column in result.asked if column.engine.kind != "own"}
    return ", ".join([*(f"{name} {version}" for name, version in versions.items()), result.machine])


def say_recorded(column: Column) -> str:
    """The release that answered elsewhere, and where.

    >>> from onereshape.backends.conformance.engines import ENGINES
    >>> say_recorded(Column(ENGINES[0], "recorded", "1.23.2", machine="Linux x86_64, Python 3.11.7"))
    'recorded with onnx 1.23.2 on Linux x86_64, Python 3.11.7'
    """
    return f"recorded with {column.engine.package} {column.version} on {column.machine}"


def held_against(engine: Engine) -> str:
    """The specification that an engine is compared with: `onnx-24`, or `nearest: onnx-24, 0 literal` for a library."""
    if engine.kind == "library":
        return f"nearest: {engine.spec}, 0 literal"
    return engine.spec
