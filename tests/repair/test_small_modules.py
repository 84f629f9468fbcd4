"""The modules of bench/small_modules.py: exported at their sizes, and noted as the judge of sizes reads it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
import torch
from bench import small_pictures, small_sequences
from bench.drawn_pictures import PARTS, Drawn, dims_of
from bench.small_modules import SMALL_KINDS, drawn_kinds, written
from bench.small_pictures import PICTURES
from bench.small_sequences import SEQUENCES

from tests.repair.sizes_arbiter import exports_of
from tests.running import session

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


def test_what_is_drawn_is_the_same_for_a_seed_and_has_all_parts(tmp_path: Path) -> None:
    assert written(tmp_path / "one", drawn_kinds([3]), (), ["ts"]) == (1, 0)
    written(tmp_path / "two", drawn_kinds([2, 3]), (), ["ts"])

    one, two = (tmp_path / folder / "drawn_3.ts.H.onnx" for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()
    assert {type(part) for seed in range(60) for part in Drawn(seed).drawn} == {*PARTS}


@pytest.mark.parametrize("seed", range(40))
def test_what_a_part_makes_of_a_size_is_what_it_says(seed: int) -> None:
    module, dims = Drawn(seed), (25, 34)
    x = torch.randn(1, 4, *dims)
    for part in module.drawn:
        x = part(x, part.made(dims))
        dims = part.dims(dims)
        assert dims_of(x) == dims
