"""Writes docs/dialects.md from the table of specifications: `python docs/write_dialects.py`."""

from __future__ import annotations

from pathlib import Path

from onereshape.rule.specs import SPECS, Spec

HEAD = """\
# The dialects

Every Reshape that exists, from `src/onereshape/rule/specs.py`. Written by `python docs/write_dialects.py`; a test holds
this page to the table, and the ONNX rows to `onnx.defs`.

| spec | target | a 0 copies | a 0 is literal | the flag | -1 beside a copied dim of size 0 | shape tensor |
| --- | --- | --- | --- | --- | --- | --- |
"""
MIDDLE = """
In every dialect a literal 0 and a -1 exclude each other, at most one entry is -1, nothing is below -1, a copied 0
stands at an index that data has, and the number of elements stays the same.

## Types of data

ONNX's lists grow: each row shows what its version adds.

| spec | types |
| --- | --- |
"""


def dialects() -> str:
    """The whole page."""
    rows = "".join(_row(row) for row in SPECS)
    types = ""
    known: dict[tuple[str, str], set[str]] = {}
    for row in SPECS:
        before = known.setdefault((row.dialect, row.operator), set())
        added = [name for name in row.data_types if name not in before]
        before |= set(row.data_types)
        types += f"| {row} | {' '.join(added) or '(the same)'} |\n"
    return HEAD + rows + MIDDLE + types


def _row(row: Spec) -> str:
    flag = row.flag
    if flag is None:
        copies, literal, default = "always", "never", "none"
    else:
        copies, literal = f"`{flag.name}={int(flag.copies)}`", f"`{flag.name}={int(not flag.copies)}`"
        default = "required" if flag.default is None else f"default {int(flag.default)}"
    place = f"{row.target_in}" + (" `shape`" if row.target_in == "attribute" else "")
    meets = "allowed: copied dims leave the division" if row.empty_copy_beside_inferred else "refused"
    cells = [f"`{row.name}` ({row})", place, copies, literal, default, meets, " ".join(row.shape_types)]
    return "| " + " | ".join(cells) + " |\n"


if __name__ == "__main__":
    Path(__file__).with_name("dialects.md").write_text(dialects(), encoding="utf-8")
