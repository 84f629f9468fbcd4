"""The page: a summary, the certificate, every change and finding, and all Reshapes, within a bound of bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from xml.etree.ElementTree import Element

from onereshape.checks.reports.commands import fix_command, report_command, show_command
from onereshape.checks.reports.entries import Drawer
from onereshape.checks.reports.gathering import Case, Story
from onereshape.checks.reports.markup import Budget, Markup, element, escaped, joined, name_of, table
from onereshape.checks.reports.style import STYLE
from onereshape.checks.show import TITLES, cells_of
from onereshape.checks.summary import rows
from onereshape.formats.model import Model
from onereshape.formats.model_formats import format_of
from onereshape.graphs.size_limits.severity import SEVERITIES
from onereshape.ground.errors import FixError
from onereshape.prove.certificate import Certificate

_PICTURES, _LISTED, _RESHAPES, _SUMMARY = 420_000, 120_000, 280_000, 60_000
"""Bytes that the parts of a page may have; together they stay under a million."""
_MOST_PICTURES = 40
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a browser may load: nothing but the style that is in the page, and its icon, which is empty."""
_CELL = 160
"""Signs of a cell."""

MEANINGS = {
    "proven": "For every input, at the sizes that are named, each output element is the same expression of the inputs "
    "as in the original, and the runs agree with that.",
    "equivalent": "Its outputs are the same formulas of real numbers, with constants within a tolerance, and the runs "
    "agree with that up to rounding.",
    "certified": "On drawn inputs the answers agree with a truth that the repair did not use.",
    "fitted": "It agrees with the exports that it was fitted on, and was compared with no other.",
    "unwitnessed": "It agrees at the exported size. At other sizes it ran, and was compared with nothing.",
    "untested": "Nothing was shown either way.",
    "out-of-time": "The time was over before enough was shown.",
    "not proven": "Its outputs were not shown to be the same, and no run showed another answer.",
    "differs": "The repaired model answers differently from the original.",
    "failed": "The repaired model does not run, or has other inputs or outputs.",
}
"""What each status of a certificate says."""


def page(story: Story, version: str) -> str:
    """The whole page of a model, as HTML."""
    name = PurePath(story.model.path).name or story.model.path
    drawer = Drawer(story)
    pictures, listed = Budget(_PICTURES), Budget(_LISTED)
    parts = [
        _section("summary", "Summary", _summary(story)),
        _section("certificate", "Certificate", _certificate(story)),
        _section("changes", "Changes", _cases(story.changes, drawer, pictures, listed)),
        _section("findings", "Findings", _cases(story.findings, drawer, pictures, listed)),
        _section("reshapes", "Reshapes", _reshapes(story)),
    ]
    links = [("changes", len(story.changes)), ("findings", len(story.findings)), ("reshapes", len(story.rows))]
    items = "".join(
        element("li", element("a", f"{count} {_noun(what, count)}", href=f"#{what}")) for what, count in links if count
    )
    nav = element("nav", element("ul", items), aria_label="on this page") if items else ""
    head = joined(
        [
            element("p", escaped(format_of(story.model.format).words.partition(" ")[2], 40), class_="kicker"),
            element("h1", name_of(name, 100)),
            element("p", _verdict(story), class_="lead"),
            nav,
        ]
    )
    footer = element("p", f"Made by onereshape {escaped(version)}. This page is one file and loads nothing.")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escaped(name, 120)}: Reshapes</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header>{head}</header>\n<main>\n{joined(part for part in parts if part)}\n</main>\n"
        f"<footer>{footer}</footer>\n</body>\n</html>\n"
    )


def _section(name: str, title: str, content: str) -> Markup:
    if not content:
        return Markup("")
    heading = element("h2", title, id=f"{name}-title")
    return element("section", f"{heading}\n{content}", id=name, aria_labelledby=f"{name}-title")


def _noun(plural: str, count: int) -> str:
    words = plural if plural != "reshapes" else "Reshapes"
    return words if count != 1 else words[:-1]


def _verdict(story: Story) -> Markup:
    """The outcome as a sentence of HTML: refused, findings counted, nothing to repair, or repaired and how certain."""
    if story.refusal is not None:
        return Markup(f'<strong class="bad">Refused.</strong> {escaped(story.refusal.sentence)}')
    if story.fixed is None:
        counts = Counter(case.finding.severity for case in story.findings if case.finding is not None)
        if not counts:
            return Markup('<strong class="good">No findings.</strong>')
        told = ", ".join(_counted(counts[each], each) for each in SEVERITIES if counts[each])
        look = "bad" if counts["error"] else "accent"
        return Markup(f'<strong class="{look}">{told}.</strong> Nothing was asked to be repaired.')
    if not story.is_changed:
        return Markup('<strong class="good">Nothing to repair.</strong> The model is left as it is.')
    certificate: Certificate | None = story.fixed.certificate
    changes = _counted(len(story.changes), "change") if story.changes else "Only declared dims changed"
    if certificate is None:
        return Markup(f"<strong>Repaired, not certified.</strong> {changes}; nothing was run.")
    look = "good" if certificate.holds else "accent"
    return Markup(f'<strong class="{look}">Repaired and {escaped(certificate.status)}.</strong> {changes}.')


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _summary(story: Story) -> Markup:
    facts = [
        ("file", escaped(story.model.path, 300)),
        *((name, escaped(said, 300)) for name, said in _identity(story.model)),
    ]
    parts: list[str] = [_list(facts)]
    if story.before:
        after = story.after
        told = rows(story.before, story.before if after is None else after)
        titles = ["", "before", "after"] if after is not None else ["", "in the file"]
        budget = Budget(_SUMMARY)
        lines, left = _within((_pair(row, after is not None) for row in told), budget, len(told))
        parts.append(table(titles, lines, "Inputs, outputs and counts", "pair"))
        parts += _left(left, "line")
    return joined(parts)


def _pair(row: tuple[str, str, str], after: bool) -> list[str]:
    name, before, now = row
    cells: list[str] = [escaped(name.strip(), _CELL), element("code", escaped(before, _CELL))]
    return (
        [*cells, element("code", escaped(now, _CELL), class_="accent" if now != before else None)] if after else cells
    )


def _identity(model: Model) -> list[tuple[str, str]]:
    """Who made the file, and by which version of its format."""
    if model.format == "onnx":
        made = " ".join(filter(None, [model.ir.producer_name, model.ir.producer_version])) or "not said"
        opsets = ", ".join(f"{name or 'ai.onnx'} {version}" for name, version in model.ir.graph.opset_imports.items())
        return [("producer", made), ("opset", opsets), ("IR version", str(model.ir.ir_version))]
    if isinstance(model.content, dict):
        return [("version", str(model.content.get("version", "not said")))]
    if isinstance(model.content, Element):
        named = (("net", "name"), ("IR version", "version"))
        return [(what, str(model.content.get(attribute) or "not said")) for what, attribute in named]
    return []


def _list(pairs: Iterable[tuple[str, str]]) -> Markup:
    return element("dl", "".join(f"<dt>{name}</dt><dd>{said}</dd>" for name, said in pairs))


def _certificate(story: Story) -> str:
    """The section of the certificate, as HTML: status, sizes, outputs, conditions, and the commands that repeat it."""
    title = "The commands that repeat this:" if story.asking.repair else "The command that repeats this:"
    again = [element("p", title, class_="soft"), _commands(story)]
    if story.refusal is not None:
        return joined([*_refusal(story.refusal), *again])
    if story.fixed is None:
        return joined([element("p", "Nothing was asked to be repaired, and nothing was run."), *again])
    parts: list[str] = []
    certificate: Certificate | None = story.fixed.certificate
    if certificate is not None:
        parts += _said(certificate)
    elif story.is_changed:
        parts.append(element("p", "<strong>Not certified.</strong> Nothing was run."))
    else:
        parts.append(element("p", "There is nothing to repair, so there is nothing to compare."))
    more = [("holds if", escaped(each)) for each in story.fixed.conditions]
    more += [("note", escaped(each)) for each in story.fixed.notes]
    return joined([*parts, *([_list(more[:20])] if more else []), *again])


def _refusal(error: FixError) -> list[str]:
    parts: list[str] = [element("p", "There is none: the repair is refused, and nothing was written.")]
    parts += [element("p", escaped(note)) for note in list(getattr(error, "__notes__", ()))[:8]]
    return parts + (_said(error.certificate) if isinstance(error.certificate, Certificate) else [])


def _said(certificate: Certificate) -> list[str]:
    """A certificate as HTML, after its basis: status, reason, sizes that were compared, engine, tolerance, outputs."""
    parts = _said(certificate.basis) if certificate.basis is not None else []
    bad = {"not proven", "differs", "failed"}
    look = "good" if certificate.holds else "bad" if certificate.status in bad else "accent"
    word = f'<strong class="{look}">{escaped(certificate.status.capitalize())}.</strong>'
    parts.append(element("p", f"{word} {MEANINGS.get(certificate.status, '')}"))
    parts.append(element("p", escaped(f"{certificate.reason[:1].upper()}{certificate.reason[1:]}.")))
    facts = [(kind, escaped(text, 300)) for kind, text in certificate.account if kind != "before it"]
    return [*parts, _list(facts), *_outputs(certificate)]


def _outputs(certificate: Certificate) -> list[str]:
    lines = [
        [
            name_of(output.name),
            "none" if output.axis is None else str(output.axis),
            f"{output.elements:,}",
            f"{output.difference:.3g}",
            f"{output.scale:.3g}",
        ]
        for output in certificate.outputs[:20]
    ]
    titles = ["output", "axis of N", "elements compared", "largest difference", "largest magnitude"]
    left = len(certificate.outputs) - len(lines)
    return [table(titles, lines, "Outputs", "rows outputs"), *_left(left, "output")] if lines else []


def _commands(story: Story) -> Markup:
    lines = [fix_command(story.model, story.asking)] if story.asking.repair else []
    return element("pre", "\n".join(escaped(each) for each in [*lines, report_command(story.model, story.asking)]))


def _cases(cases: Sequence[Case], drawer: Drawer, pictures: Budget, listed: Budget) -> str:
    """Sections with pictures for as many as there is room, then a line for each of the others."""
    drawn: list[str] = []
    for case in cases:
        if drawer.drawn >= _MOST_PICTURES:
            break
        section = drawer.section(case)
        if not pictures.takes(section):
            break
        drawn.append(section)
    rest = cases[len(drawn) :]
    if not rest:
        return joined(drawn)
    lines, left = _within(map(_line, rest), listed, len(rest))
    caption = f"{len(rest)} more without a picture" if drawn else f"{len(rest)} without a picture"
    found = table(["node", "code", "says"], lines, caption, "rows found")
    return joined([*drawn, found, *_left(left, "line", "onereshape check --json has them all")])


def _line(case: Case) -> list[str]:
    said = case.change or case.finding
    assert said is not None  # noqa: S101 - a case has one of them
    more = f" ({case.change.before} becomes {case.change.after})" if case.change is not None else ""
    return [name_of(said.node, 60), escaped(said.code), escaped(said.message + more, 300)]


def _reshapes(story: Story) -> str:
    """All Reshapes with their formulas."""
    if not story.rows:
        return element("p", "The model has no Reshape.")
    shared = Counter(row.name for row in story.rows)
    cells = (cells_of(row, row.place if shared[row.name] > 1 else None) for row in story.rows)
    lines, left = _within(map(_row, cells), Budget(_RESHAPES), len(story.rows))
    whose = "of the repaired model" if story.is_changed else "of the model"
    caption = (
        f"All Reshapes {whose}, in the order of its graph" if not left else f"The first {len(lines)} Reshapes {whose}"
    )
    bare = "" if any(row.conditions for row in story.rows) else " unconditional"
    found = table(list(TITLES), lines, caption, f"rows reshapes{bare}")
    return joined([found, *_left(left, "Reshape", f"{show_command(story.model)} shows them all")])


def _row(cells: Sequence[str]) -> list[str]:
    name, *others, origin = cells
    return [
        name_of(name, 60),
        *(element("code", escaped(cell, _CELL)) if cell else "" for cell in others),
        name_of(origin, 50),
    ]


def _within(lines: Iterable[list[str]], budget: Budget, count: int) -> tuple[list[list[str]], int]:
    """As many lines as there is room for, and how many are left."""
    found: list[list[str]] = []
    for line in lines:
        if not budget.takes("".join(line) + "<td></td>" * (len(line) + 1)):
            break
        found.append(line)
    return found, count - len(found)


def _left(number: int, noun: str, where: str = "") -> list[str]:
    if not number:
        return []
    there = f": <code>{escaped(where, 300)}</code>" if where else ""
    return [element("p", f"{_counted(number, noun)} more left out{there}.", class_="soft")]
