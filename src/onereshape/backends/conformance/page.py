"""The result as a page in Markdown: the counts, what each engine does differently and why, and the whole table."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Sequence

from onereshape.backends.conformance.reasons import reason
from onereshape.backends.conformance.record import write_record
from onereshape.backends.conformance.report import (
    COUNTS,
    View,
    differing,
    held_against,
    say_recorded,
    say_specifications,
    say_versions,
    views,
)
from onereshape.backends.conformance.result import Column, Result
from onereshape.ground.text import shown

_HEAD = """\
# Conformance

Where engines differ from the specifications of Reshape. {cases} cases, each under both meanings of 0 where it has them,
were put to {engines} engines; a child process asks each one, so that a crash or a hang is an answer too, and elements
are compared wherever an engine executes. To see what onnx, onnxruntime, openvino, oneDNN, numpy, torch and jax do on
your machine, those of them that are installed:

    onereshape conform

`--engine NAME` and `--case NAME` ask a part of it, `--engine MODULE:FUNCTION` asks an implementation of your own, and
`--json` gives everything to a machine. The exit code is 1 if an engine differs from its specification, or is installed
and cannot be asked. This page was written by `onereshape conform --markdown docs/conformance.md`; the answers are in
[{record}]({record}), whose SHA-256 begins with `{digest}`.

Asked here: {versions}.

oneDNN Graph has no package for Python. The engines of onednn call the graph API of the library itself, by address: that
of a `libdnnl.so.3` which the loader finds, or else of the oneDNN inside of torch's `libtorch_cpu.so`, whose table of
symbols says where its functions are. This was tried on x86-64; torch's library for aarch64 has the same functions in
its table, and was not run. Where neither is there, or has the API, `conform` says so and shows the answers that are
shipped with it, marked as *recorded* with their release and machine; they change no exit code.

**0 is** *copied* (`allowzero=0`, `special_zero=true`), *literal* (`allowzero=1`, `special_zero=false`), or *either*
where it makes no difference to anyone. **refused (code)** names the reason in [errors.md](errors.md). *Wrong
elements* are elements that data does not have, or has elsewhere: memory beyond the input, or a part of it lost.

## Counts

Array libraries follow no specification; they are compared with ONNX's literal 0, which is nearest to them.

"""


def as_markdown(result: Result, record: str = "conformance.json") -> str:
    """The whole page; `record` is the file beside it that holds the answers."""
    head = _HEAD.format(
        cases=len({row.case.name for row in result.rows}),
        engines=len(result.answered),
        record=record,
        digest=hashlib.sha256(write_record(result).encode()).hexdigest()[:16],
        versions=say_versions(result),
    )
    shown = list(views(result))
    parts = [head + _counts(result), "## Differences\n", *(_differences(column, shown) for column in result.answered)]
    return "\n".join([*parts, _whole(shown)])


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _counts(result: Result) -> str:
    rows = []
    for column in result.columns:
        engine = column.engine
        link = f"[{engine.name}](#{engine.name})" if column.is_answered else engine.name
        counted = map(str, column.tally().values()) if column.is_answered else [_quoted(column.state), *6 * [""]]
        about = f"{engine.about} (*{say_recorded(column)}*)" if column.state == "recorded" else engine.about
        rows.append([link, about, held_against(engine), *counted])
    return _table(["engine", "which is", "held against", *COUNTS], rows)


def _differences(column: Column, shown: Sequence[View]) -> str:
    """The part of the page about one engine: for each reason a table of the cases that it answers differently."""
    name = column.engine.name
    by_reason: dict[str, list[View]] = {}
    for view in shown:
        verdict = view.verdicts.get(name)
        if verdict is not None and not verdict.agrees:
            by_reason.setdefault(reason(column.engine, view.case, verdict.expected), []).append(view)
    release = say_recorded(column) if column.state == "recorded" else f"{column.engine.package} {column.version}"
    text = f"### {name}\n\n{release}: {column.engine.about}.\n\n"
    if not by_reason:
        return text + "Answers every case as its specification does.\n"
    tables = []
    for words, found in by_reason.items():
        rows = [_cells(view, _expected(view, name), _given(view, name)) for view in found]
        heads = ["case", "data", "target", "0 is", held_against(column.engine), name]
        tables.append(f"**{words or 'No reason is known.'}**\n\n{_table(heads, rows)}")
    return text + "\n".join(tables)


def _expected(view: View, name: str) -> str:
    expected = view.verdicts[name].expected
    return f"refused ({expected.why})" if expected.kind == "refused" else str(expected)


def _given(view: View, name: str) -> str:
    """What the engine answered, in words; messages are whole only for a crash, a hang or a failure."""
    given = view.verdicts[name].given
    return f"{given.kind} ({_quoted(given.why)})" if given.kind in {"crash", "hang", "failed"} else str(given)


def _quoted(text: str) -> str:
    """What an engine said, as Markdown shows it: no table, code, link or HTML of its own."""
    return re.sub(r"[\\`|]|\](?=\()", r"\\\g<0>", html.escape(shown(text), quote=False))


def _cells(view: View, *more: str) -> list[str]:
    return [f"`{view.case.name}`", f"`{view.case.show_data()}`", f"`{view.case.show_target()}`", view.zero, *more]


def _whole(shown: Sequence[View]) -> str:
    parts = ["## The whole table\n\nEngines that are not named answer as their specification does.\n"]
    for group in dict.fromkeys(view.case.group for view in shown):
        rows = []
        for view in shown:
            if view.case.group == group:
                answers = [f"**{_quoted(answer)}**: {' '.join(names)}" for answer, names in differing(view).items()]
                rows.append(_cells(view, say_specifications(view.says), "<br>".join(answers) or "all agree"))
        parts.append(f"### {group}\n\n{_table(['case', 'data', 'target', '0 is', 'specification', 'engines'], rows)}")
    return "\n".join(parts)
