"""check and fix (without the certificate) beside onnxsim and onnxslim: seconds and peak memory, on the same files.

    python bench/models.py [LARGEST]

Every run is a process of its own (`bench/model_parts.py`), which imports first and is timed from reading the file to
having the answer (fix, onnxsim and onnxslim: to the written file); ours are whole command lines.  Seconds are those of
the wall and, in brackets, of the processor, which is what `check / onnxsim` compares: others may use the machine too.
The models are a block of ten nodes with a baked batch, repeated, and drawn ones: convolutions, branches, baked and
computed targets.  LARGEST is the largest number of nodes (default 100,000).  The last model has 2 GB of weights in
another file, a sparse one.

Below each model are the parts of check and fix, in microseconds of the processor per node; the certificate, which waits
for another process, in seconds of the wall, for the smallest models only.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.model_graphs import drawn, heavy, repeated  # noqa: E402
from bench.model_parts import PARTS, THEIRS  # noqa: E402

TOOLS = ("check", "fix", *THEIRS)
COUNTS = (2_000, 20_000, 100_000)
SEEDS = (1, 2)
"""Of the drawn models."""
LONGEST = 600
"""Seconds after which a run is given up."""

Run = dict[str, Any] | str
"""What a run says, or why it says nothing."""


def run(tool: str, path: Path) -> Run:
    """The measurements of one tool on one file, in a process of its own, or why there are none."""
    child = Path(__file__).with_name("model_parts.py")
    try:
        done = subprocess.run(  # noqa: S603 - our own code
            [
                sys.executable,
                str(child),
                tool,
                str(path),
                str(path.with_name("out.onnx")),
                str(path.with_name("small.onnx")),
            ],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"> {LONGEST} s"
    if done.returncode:
        return f"failed: {(done.stderr.strip().splitlines() or ['killed'])[-1][:60]}"
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def shown(found: Run) -> str:
    if isinstance(found, str):
        return found
    return f"{found['wall']:.2f} ({found['cpu']:.2f}) s {found['peak']:.0f} MB"


def ratio(ours: Run, theirs: Run) -> str:
    if isinstance(ours, str) or isinstance(theirs, str):
        return "-"
    return f"{ours['cpu'] / theirs['cpu']:.2f}"


def parts(found: Run, nodes: int) -> str:
    """The parts of a run; `other` is what is in none of them."""
    if isinstance(found, str):
        return found
    spent = {part: found["parts"][part][0] for part in PARTS if part in found["parts"]}
    spent["other"] = found["cpu"] - sum(spent.values())
    spent["all"] = found["cpu"]
    return "  ".join(f"{part} {seconds / nodes * 1e6:.1f}" for part, seconds in spent.items())


def row(title: str, path: Path, *, certified: bool = False) -> None:
    """A model: one line for all tools, and one each for the parts of ours."""
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    found = {tool: run(tool, path) for tool in TOOLS}
    print(f"{title:>24}" + "".join(f"{shown(found[tool]):>27}" for tool in TOOLS), end="")
    print(f"{ratio(found['check'], found['onnxsim']):>17}", flush=True)
    for tool in ("check", "fix"):
        print(f"{tool:>32}: {parts(found[tool], nodes)}", flush=True)
    if certified:
        whole = run("certified", path)
        told = whole if isinstance(whole, str) else f"{whole['parts']['certificate'][1]:.2f} s of the wall"
        print(f"{'certificate':>32}: {told}", flush=True)


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else COUNTS[-1]
    print(f"{'':24}" + "".join(f"{tool:>27}" for tool in TOOLS) + f"{'check / onnxsim':>17}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        repeated(10, path.with_name("small.onnx"))
        for count in COUNTS:
            if count > largest:
                continue
            certified = count == COUNTS[0]
            repeated(count, path)
            row(f"{count:,} nodes, repeated", path, certified=certified)
            for seed in SEEDS:
                drawn(count, path, seed)
                row(f"{count:,} nodes, drawn {seed}", path, certified=certified)
        heavy(path)
        row("2 GB of weights", path)


if __name__ == "__main__":
    main()
