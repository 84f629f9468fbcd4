"""No command imports from the folder that it works in, where anyone may have put modules by any name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.formats.stored import stored
from tests.models import small

OTHERS = "numpy zarr numcodecs dask distributed ml_dtypes onnx onnx_ir onnxruntime openvino rich yaml packaging tornado"
COMMANDS = {
    "infer": "infer --data 2,3 --target -1 --spec onnx",
    "run": "run x.npy --target -1 -o y.npy",
    "threads": "run x.zarr --target -1 -o y.zarr",
    "processes": "run x.zarr --target -1 -o z.zarr --scheduler processes",
    "check": "check m.onnx",
    "fix": "fix m.onnx -o n.onnx --batch",
    "convert": "convert m.onnx --to onnx-5 -o o.onnx",
    "conform": "conform --engine onnxruntime-24 --case basic",
}


@pytest.fixture(scope="module", name="folder")
def folder_full_of_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By the names of all that Python loads after it has found what to run, and of all that we load."""
    folder = tmp_path_factory.mktemp("work")
    code = "import runpy, sys; print(*sys.modules)"
    early = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603
    for name in {*sys.stdlib_module_names, *OTHERS.split()} - {*early.split()}:
        code = f"open({str(folder / 'imported')!r}, 'a').write({name + ' '!r})\nraise ImportError\n"
        (folder / f"{name}.py").write_text(code, encoding="ascii")
    stored(str(folder / "x.zarr"), np.ones((4, 6)), (2, 3))
    np.save(folder / "x.npy", np.ones((4, 6)))
    onnx.save(small(), folder / "m.onnx")
    return folder


@pytest.mark.parametrize(("command", "how"), [*((name, "module") for name in COMMANDS), ("processes", "script")])
def test_nothing_is_imported(command: str, how: str, folder: Path, tmp_path: Path) -> None:
    script = tmp_path / "onereshape"
    script.write_text("import sys\nfrom onereshape.cli import main\nsys.exit(main())\n", encoding="ascii")
    start = ["-m", "onereshape"] if how == "module" else [str(script)]
    words = [sys.executable, *start, *COMMANDS[command].replace("-o ", f"-o {tmp_path}/").split()]
    found = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    assert not (folder / "imported").exists(), (folder / "imported").read_text(encoding="ascii")
    assert found.returncode in {0, 1}, found.stderr
