"""The modules of bench/small_modules.py: exported at their sizes, and noted as the judge of sizes reads it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from bench import small_pictures, small_sequences
from bench.small_modules import SMALL_KINDS, written
from bench.small_pictures import PICTURES
from bench.small_sequences import SEQUENCES
from tests.running import session
from tests.sizes_arbiter import exports_of

TAKEN = ["layers", "x"]
"""By a function that is a module."""


def test_what_is_written_is_what_the_judge_reads(tmp_path: Path) -> None:
    """One sequence and one picture: each file takes the sizes that the manifest says, along the axes that it frees."""
    assert written(tmp_path, SMALL_KINDS, ["hamming", "checker"], ["ts"]) == (2, 0)

    exports = exports_of(tmp_path)
    assert [each.name for each in exports] == ["hamming.ts", "checker.ts"]
    assert [each.free for each in exports] == [{"x": {1: "S"}}, {"x": {2: "H", 3: "W"}}]
    assert [each.sizes["C"] for each in exports] == [{"S": 23}, {"H": 64, "W": 96}]
    for each in exports:
        assert list(each.files) == list(each.sizes) == ["A", "B", "C", "D"]
        for letter, file in each.files.items():
            (given,) = session(file).get_inputs()
            assert {size: given.shape[axis] for axis, size in each.free["x"].items()} == each.sizes[letter]


def test_the_weights_do_not_depend_on_what_was_exported_before(tmp_path: Path) -> None:
    written(tmp_path / "alone", SMALL_KINDS, ["lastpool"], ["ts"])
    written(tmp_path / "after", SMALL_KINDS, ["even_odd", "lastpool"], ["ts"])

    alone, after = (tmp_path / folder / "lastpool.ts.C.onnx" for folder in ("alone", "after"))
    assert alone.read_bytes() == after.read_bytes()


def test_an_export_that_fails_is_told_in_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert written(tmp_path, SMALL_KINDS, ["bit_parity", "roll_one"], ["ts"]) == (1, 1)

    (line,) = capfd.readouterr().out.splitlines()
    assert line.startswith("bit_parity.ts is not exported: ONNX export does NOT support exporting bitwise XOR")
    assert [each.name for each in exports_of(tmp_path)] == ["roll_one.ts"]


def test_every_module_is_in_its_table_and_says_what_it_is() -> None:
    for file, table in ((small_sequences, SEQUENCES), (small_pictures, PICTURES)):
        functions = {name: each for name, each in vars(file).items() if inspect.isfunction(each)}
        modules = {name: each for name, each in functions.items() if list(inspect.signature(each).parameters) == TAKEN}

        assert modules == table
        assert [name for name, each in modules.items() if not each.__doc__] == []
    assert SEQUENCES.keys() & PICTURES.keys() == set()
