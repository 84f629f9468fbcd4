"""Start: a command imports what it needs, and not more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
TINY = CORPUS / "hand_index_batch.dynamo.onnx"
HEAVY = ("sympy.core", "mpmath", "onnx.reference", "onnxruntime", "openvino", "torch", "jax", "dask", "rich", "zarr")
"""Of sympy a part of it: the module itself may be there, with nothing in it yet."""


def imported(*words: str) -> set[str]:
    """The modules that a process imports; `import_module` is not seen, but what such a module imports is."""
    run = subprocess.run(  # noqa: S603
        [sys.executable, "-X", "importtime", *words],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    assert run.returncode in {0, 1}, run.stderr[-2000:]
    rows = (line.rsplit("|", 1) for line in run.stderr.splitlines() if line.startswith("import time:"))
    return {name.strip() for _, name in rows}


def heavy(names: set[str]) -> list[str]:
    """The names of modules that take long to import (`HEAVY`), or are parts of such modules, in order."""
    return sorted(name for name in names if f"{name}.".startswith(tuple(f"{each}." for each in HEAVY)))


@pytest.mark.parametrize("options", [[], ["--batch"], ["--json"]], ids=" ".join)
def test_check_of_a_tiny_model_imports_no_engine(options: list[str]) -> None:
    found = imported("-m", "onereshape", "check", str(TINY), *options)

    assert "onereshape.graphs.facts.facts" in found
    assert heavy(found) == []


def test_a_dim_with_a_formula_is_read_without_sympy() -> None:
    assert heavy(imported("-m", "onereshape", "check", str(CORPUS / "gpt2_hf4.ts.onnx"))) == []


def test_what_is_delayed_is_there_when_it_is_asked_for() -> None:
    code = (
        "import sys; sys.argv = ['onereshape']; import onereshape, onnx_ir as ir; "
        "assert 'sympy.core' not in sys.modules; "
        "print(ir.SymbolicDim('N') + 1, ir.SymbolicDim('max(N, 4)').simplify(), 'sympy.core' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert run.stdout.split() == ["N", "+", "1", "Max(4,", "N)", "True"]


def test_a_program_that_imports_onereshape_finds_its_imports_as_they_were() -> None:
    code = "import sys; before = sys.meta_path[:]; import onereshape; print(sys.meta_path == before)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert run.stdout.strip() == "True"


def test_integers_alone_need_no_numpy() -> None:
    found = imported("-c", "import onereshape as orx; orx.resolve([2, 3, 4], [0, -1], 'onnx')")

    assert "onereshape.rule.target" in found
    assert not any(name.startswith("numpy") for name in found)
