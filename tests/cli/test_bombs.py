"""Tiny models that ask for more than any machine has: every command ends soon, with a plain answer.

Each runs in a child with limits of processor time and memory; `python -m tests.cli.bomb_runner COMMAND` runs all of
them, the large ones too.
"""

from __future__ import annotations

import cProfile
import json
import pstats
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

from onereshape import cli
from onereshape.checks.check import check
from tests.cli import bomb_models, bombs

LARGE = frozenset(
    {
        "steps", "halves", "sums", "value_ints", "Reshapes in a row", "Relus in a row", "Adds in a row", "wide",
        "MatMuls in a row", "Transposes in a row", "Unsqueezes in a row", "Concats in a row", "30,000 names",
        "one Concat of many names", "wide Reshapes", "functions that call often", "a million dims", "value_infos",
        "a million dims declared", "long names", "a long name of dims", "attributes", "strings", "wrong everywhere",
        "a million entries", "OpenVINO layers", "OpenVINO dims", "OpenVINO edges", "oneDNN operators", "oneDNN dims",
        "Concat of one many times", "functions in a row", "60,000 entries", "value_ints of ones",
    }
)  # fmt: skip
"""Bombs whose files are long: they take as long as their length asks for, and no longer."""
SMALL = [name for name in (*bombs.ONNX, *bombs.OTHERS) if name not in LARGE]


CONVERTED = [
    "tower in a name", "all names", "v*(v+3)", "differences", "sum of many sizes", "product of many sizes",
    "Concat bomb", "functions that call twice", "Reshapes in functions that call twice", "sums and products",
]  # fmt: skip
"""Those at which a converter that infers shapes without limits hangs."""
CERTIFIED = [name for name in CONVERTED if name != "all names"]
"""To draw inputs for all names takes as long as their number asks for."""


@pytest.mark.parametrize(
    "asked",
    [{"check-batch": SMALL, "check-free": SMALL}, {"convert-opset": CONVERTED, "certify": CERTIFIED}],
    ids=["check", "others"],
)
def test_every_command_ends(asked: dict[str, list[str]]) -> None:
    typed = [":".join([command, *names]) for command, names in asked.items()]
    words = [sys.executable, "-m", "tests.cli.bomb_runner", *typed]
    root = Path(__file__).parent.parent.parent
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=root)  # noqa: S603 - our own module
    found = [json.loads(line) for line in done.stdout.splitlines()]

    assert [(each["command"], each["name"]) for each in found] == [
        (command, name) for command, names in asked.items() for name in names
    ]
    assert [each for each in found if each["code"] not in {0, 1, 2} or "[unforeseen]" in each["said"]] == []


GIVEN_UP = {
    "v*(v+3)": "a formula that is too long to follow",
    "powers of a constant": "it calculates a number that int64 does not hold",
    "Concat bomb": "it would hold more than the 4096 elements that are followed",
    "Reshapes in functions that call twice": None,
    "sums and products": "a formula that is too long to follow",
    "Slices in a row": "a formula that is too long to follow",
    "functions in a row": "the functions of the model call one another too often, or too deep",
    "1,000 names": "it has 1000 dims, more than 64",
}


@pytest.mark.parametrize("name", GIVEN_UP)
def test_check_says_what_it_gave_up_on(name: str, tmp_path: Path) -> None:
    said = [each.message for each in check(bombs.write(name, tmp_path)) if each.code == "gave-up"]
    wanted = GIVEN_UP[name]

    assert bool(said) == (wanted is not None)
    assert wanted is None or any(wanted in each for each in said)
    assert len(said) <= 17


def test_functions_that_call_twice_are_not_unfolded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bombs.write("functions that call twice", tmp_path)

    assert cli.main(["fix", path, "-o", str(tmp_path / "o.onnx"), "--batch"]) == 2
    assert "its functions unfold to more than 200000 nodes" in capsys.readouterr().err
    assert not (tmp_path / "o.onnx").exists()


def test_a_refusal_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = bombs.write("1,000 names", tmp_path)

    assert cli.main(["fix", path, "-o", str(tmp_path / "o.onnx"), "--batch"]) == 1
    assert "given up at x: it has 1000 dims, more than 64" in capsys.readouterr().err


ROWS: dict[str, Callable[[int], onnx.ModelProto]] = {
    "Reshapes": lambda count: bomb_models.in_a_row("Reshape", count),
    "Relus": lambda count: bomb_models.in_a_row("Relu", count, (1, 4)),
    "wide": lambda count: bomb_models.wide(count, "Reshape"),
    "Slices": bomb_models.sliced,
}


@pytest.mark.parametrize("name", ROWS)
def test_twice_the_nodes_are_twice_the_steps(name: str, tmp_path: Path) -> None:
    """Steps are calls of functions, which a busy machine does not change."""
    counts = []
    for count in (20, 60, 120):
        path = tmp_path / f"{count}.onnx"
        path.write_bytes(ROWS[name](count).SerializeToString())
        profile = cProfile.Profile()
        profile.runcall(check, path, batch=True)
        counts.append(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]

    assert counts[2] < 2.4 * counts[1]
