"""The cost of a proof on terms and of a whole certificate, beside onnxruntime and onnxsim.

    python bench/certificates.py [FOLDER] [--largest | --only NAME]

First the models of a folder with a manifest.json (tests/data/corpus is the default): each is repaired without a
certificate, and what is timed is `prove_batch` of the original and the repaired model, in CPU time, beside one run.

Then a BERT-base, a ViT-B/16, a Swin-T, a GPT-2 and a ResNet-50 of random weights, which are made here
(`drawings.py`): `fix(batch=True)` by its parts, from the file to another one, `onnxsim.simplify` of the same file where
that is installed, and the model read, run once and written.  Each is done twice in a process of its own: once for the
time, once for the memory, which is that of the process and of the engine's together (Pss: a page that both have mapped
counts once), and that of the first alone.
"""

from __future__ import annotations

import argparse
import gc
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from statistics import median
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.arbiter import _declared, drawn, entries  # noqa: E402
from tests.running import session  # noqa: E402

import onereshape as orx  # noqa: E402
from bench.drawings import DRAWN  # noqa: E402
from onereshape.ground.errors import FixError  # noqa: E402
from onereshape.ground.isolation.room import here  # noqa: E402
from onereshape.terms import hashing  # noqa: E402
from onereshape.terms.proof import Proof  # noqa: E402
from onereshape.terms.prove import prove_batch  # noqa: E402

Array = np.ndarray[Any, Any]
SEED = 20240
RUNS = 5


# The clock


def proof_of(original: ir.Model, repaired: ir.Model, axes: dict[str, int]) -> tuple[Proof, float]:
    start = process_time()
    proof = prove_batch(original, repaired, axes, seed=SEED)
    return proof, process_time() - start


def engine(model: Path, feed: dict[str, Array], runs: int = RUNS) -> float:
    """The median seconds of one run by onnxruntime, after the first."""
    running = session(model, optimized=True)
    times = []
    for _ in range(runs + 1):
        start = process_time()
        running.run(None, feed)
        times.append(process_time() - start)
    return median(times[1:])


def said_of(proof: Proof) -> str:
    """A verdict in a few words."""
    if proof.verdict != "proven":
        return f"{proof.verdict}: {proof.reason}"
    return "proven for every N" if proof.always else f"proven at some N: {proof.not_always}"


# The large models


class Parts:
    """The seconds that functions take, each under its own name, without those of another inside."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._inside: list[str] = []

    def time(self, part: str, owner: Any, name: str) -> None:
        """Has a function of a module or a class timed from now on."""
        asked = getattr(owner, name)

        @wraps(asked)
        def timed(*args: Any, **named: Any) -> Any:
            return self.run(part, lambda: asked(*args, **named))

        setattr(owner, name, timed)

    def run(self, part: str, asked: Callable[[], Any]) -> Any:
        start = perf_counter()
        self._inside.append(part)
        try:
            return asked()
        finally:
            taken = perf_counter() - start
            self._inside.pop()
            self.seconds[part] = self.seconds.get(part, 0) + taken
            if self._inside:
                self.seconds[self._inside[-1]] = self.seconds.get(self._inside[-1], 0) - taken


def fixed(path: Path) -> dict[str, Any]:
    """`fix` of a large model from its file to another."""
    from onereshape.prove.engines.engine import Session  # noqa: PLC0415
    from onereshape.repair import batch_work  # noqa: PLC0415
    from onereshape.terms import prove  # noqa: PLC0415

    parts = Parts()
    for name in ("prove_batch", "prove_same"):  # before those who import them
        parts.time("proof", prove, name)
    parts.time("plan", batch_work, "batch_work")
    parts.time("engine", Session, "_load")
    parts.time("engine", Session, "run")
    model = parts.run("load", lambda: orx.load(path))
    found = parts.run("rest", lambda: orx.fix(model, batch=True))
    parts.run("write", lambda: found.model.save(path.with_name("fixed.onnx")))
    return {**parts.seconds, "said": found.certificate.summary if found.certificate else ""}


def simplified(path: Path) -> dict[str, Any]:
    """`onnxsim.simplify` of it."""
    import onnxsim  # noqa: PLC0415 - it need not be installed

    parts = Parts()
    model = parts.run("load", lambda: onnx.load(path))
    short, _ = parts.run("simplify", lambda: onnxsim.simplify(model))
    parts.run("write", lambda: onnx.save(short, path.with_name("simplified.onnx")))
    return parts.seconds


def ran(path: Path) -> dict[str, Any]:
    """The model read, run once by onnxruntime and written."""
    parts = Parts()
    model = parts.run("load", lambda: onnx.load(path))
    dims = {each.name: [dim.dim_value for dim in each.type.tensor_type.shape.dim] for each in model.graph.input}
    feed = {name: np.ones(each, np.float32 if name == "x" else np.int64) for name, each in dims.items()}
    running = parts.run("session", lambda: session(path, optimized=True))
    parts.run("run", lambda: running.run(None, feed))
    parts.run("write", lambda: onnx.save(model, path.with_name("written.onnx")))
    return parts.seconds


WAYS: dict[str, Callable[[Path], dict[str, Any]]] = {"fix": fixed, "onnxsim": simplified, "plain": ran}


def resident(process: int) -> tuple[int, int]:
    """The bytes of a process, and of all that it has started too; what several have mapped counts once."""
    folder = Path(f"/proc/{process}")
    try:
        said = re.search(r"^Pss: +([0-9]+) kB", (folder / "smaps_rollup").read_text(), re.MULTILINE)
        begun = (folder / "task" / str(process) / "children").read_text().split()
    except OSError:  # it has gone
        return 0, 0
    own = int(said[1]) * 1024 if said else 0
    return own, own + sum(resident(int(each))[1] for each in begun)


def asked(way: str, path: Path, *, watched: bool) -> tuple[dict[str, Any], float, tuple[int, int]]:
    """One way in a process of its own: its seconds by part, those of all processors, and the peaks if it is watched."""
    command = [sys.executable, __file__, str(path), "--way", way]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603
        own = both = 0
        while watched and process.poll() is None:
            one, all_of_it = resident(process.pid)
            own, both = max(own, one), max(both, all_of_it)
            sleep(0.02)
        said = process.stdout.read() if process.stdout else ""
        if process.wait():
            raise SystemExit(f"{way} of {path.name} has failed")
    found = json.loads(said.splitlines()[-1])
    return found, found.pop("cpu"), (own, both)


def answer(way: str, path: Path) -> None:
    """Prints what `asked` reads; the engine's process has ended before its time is known."""
    before = os.times()
    found = WAYS[way](path)
    gc.collect()
    if way == "fix":
        here().end()
    after = os.times()
    print(json.dumps({**found, "cpu": sum(after[:4]) - sum(before[:4])}))


def large(names: Sequence[str]) -> None:
    """Each large model, fixed, simplified by onnxsim, and read, run and written."""
    there = importlib.util.find_spec("onnxsim") is not None
    print(
        "\nSeconds of the clock; `cpu` are those of all processors; peaks are multiples of the file."
        + ("" if there else "  onnxsim is not installed, and is left out.")
    )
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "original.onnx"
            DRAWN[name](path)
            size, totals = path.stat().st_size, {}
            print(f"{name}, {size / 2**20:.0f} MB", flush=True)
            for way in WAYS:
                if way == "onnxsim" and not there:
                    continue
                found, cpu, _ = asked(way, path, watched=False)
                said = found.pop("said", "")
                totals[way] = sum(found.values()), cpu
                _, _, (own, both) = asked(way, path, watched=True) if sys.platform == "linux" else ({}, 0, (0, 0))
                parts = ", ".join(f"{part} {seconds:.2f}" for part, seconds in found.items())
                peaks = f"peak {both / size:.2f}" + (f" (without the engine {own / size:.2f})" if both > own else "")
                print(f"  {way:8}{totals[way][0]:6.2f} s, cpu {cpu:6.2f}, {peaks}: {parts}", flush=True)
                if said:
                    print(f"  {'':8}{said}")
            ratios = [
                f"{totals['fix'][0] / clock:.1f} times {way} (cpu {totals['fix'][1] / cpu:.1f})"
                for way, (clock, cpu) in totals.items()
                if way != "fix"
            ]
            print(f"  fix is {', '.join(ratios)}", flush=True)


def corpus(folder: Path) -> None:
    """All models of a folder that are repaired."""
    found: list[tuple[float, float, str]] = []
    verdicts: Counter[str] = Counter()
    for entry in entries(folder):
        try:
            repaired = orx.fix(entry.path, batch=entry.batch, certify=False).model.ir
        except FixError as refusal:
            verdicts["not repaired"] += 1
            print(f"{entry.path.name}: {refusal.sentence}")
            continue
        proof, seconds = proof_of(ir.load(entry.path), repaired, entry.batch)
        rng = np.random.default_rng(1)
        feed = {name: drawn(rng, _declared(entry, name), how) for name, how in entry.inputs.items()}
        found.append((seconds, seconds / engine(entry.path, feed), entry.path.name))
        said = said_of(proof)
        verdicts[said.split(":")[0]] += 1
        if said != "proven for every N":
            print(f"{entry.path.name}: {said}", flush=True)
    print(f"{sum(verdicts.values())} models: " + ", ".join(f"{count} {each}" for each, count in verdicts.items()))
    if found:
        times, ratios, _ = zip(*found, strict=True)
        print(f"median {median(times):.3f} s, {median(ratios):.0f} runs by onnxruntime")
        print("slowest: " + ", ".join(f"{name} {seconds:.2f} s" for seconds, _, name in sorted(found)[:-4:-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description="The cost of a proof and of a certificate, beside other tools.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests" / "data" / "corpus")
    parser.add_argument("--largest", action="store_true", help="the large models alone")
    parser.add_argument("--only", choices=[*DRAWN], help="one of the large models, alone")
    parser.add_argument("--way", choices=[*WAYS], help=argparse.SUPPRESS)
    told = parser.parse_args()
    if told.way:
        answer(told.way, told.folder)
        return
    print(f"onereshape {orx.__version__}, kernels: {'yes' if hashing.available() else 'no'}")
    if not (told.largest or told.only):
        corpus(told.folder)
    large([told.only] if told.only else [*DRAWN])


if __name__ == "__main__":
    main()
