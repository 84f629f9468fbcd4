"""What a command imports: nothing that only another one needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from onereshape.cli.commands import COMMANDS

HEAVY = {"numpy", "ml_dtypes", "onnx", "onnx_ir", "onnxruntime", "openvino", "sympy", "torch", "rich", "dask"}


def imported(*words: str) -> set[str]:
    """The modules that a process has when the command is done."""
    code = (
        "import sys\nfrom onereshape.cli import main\ncode = main(sys.argv[1:])\n"
        "print('\\n=modules', *sys.modules)\nsys.exit(code)"
    )
    command = [sys.executable, "-c", code, *words]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
    return set(done.stdout.rpartition("=modules ")[2].split())


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["help"]])
def test_the_whole_program_needs_no_command(words: list[str]) -> None:
    found = imported(*words)

    assert not {f"onereshape.cli.{command.module}" for command in COMMANDS.values()} & found
    assert not HEAVY & found


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_needs_its_own_module_alone(name: str) -> None:
    found = imported(name, "--help")
    others = {f"onereshape.cli.{command.module}" for other, command in COMMANDS.items() if other != name}

    assert f"onereshape.cli.{COMMANDS[name].module}" in found
    assert not others & found
    assert not {"onnx", "onnxruntime", "openvino", "sympy", "torch", "rich"} & found


def test_infer_needs_no_numpy() -> None:
    assert not HEAVY & imported("infer", "--data", "N,6", "--target", "4,-1")


def test_importing_the_package_imports_none_of_its_modules() -> None:
    """What stands there for a module by another name has no specification before it is imported."""
    ours = "n for n, m in sys.modules.items() if n.startswith('onereshape.') and m.__spec__"
    code = f"import sys, onereshape; print(*({ours}))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603

    assert done.stdout.split() == []
