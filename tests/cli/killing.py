"""Commands that are killed while they write: afterwards the output is the old one or the new one, and whole.

Every case runs a command over an older output in a child process.  A profile hook of the interpreter counts the calls
that touch the disk from the first temporary file on, and the child kills itself before the call that was chosen; so
every moment can be tried, and every try can be repeated.  `python -m tests.cli.killing --count N --seed S` tries more
than the suite does; without `--count`, every moment of every case with every signal.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import openvino

from onereshape.cli import main as onereshape
from onereshape.formats.model import load
from onereshape.ground import atomic
from onereshape.ground.temporary import temporary
from tests.models import external, model

SLOW = (
    "backends.convert.opset",
    "backends.convert.whole",
    "formats.openvino.openvino_plans",
    "repair.fix",
    "backends.conformance.page",
)
"""What takes long to import, once for all children."""
CALLS = {"write", "fsync", "replace", "rename", "flock", "fchmod", "open", "unlink", "close", "flush", "seek", "mkdir"}
"""The names of the calls that are counted."""
RENAMES = {"replace", "rename"}
SIGNALS = {signal.SIGKILL: -9, signal.SIGTERM: 143, signal.SIGHUP: 129, signal.SIGINT: 130}
"""Each with what becomes of the process: minus the number where it cannot notice."""
TOLD = "the page says that the record is not its own"
State = dict[str, bytes]
Judge = Callable[[Path], Any]


@dataclass(frozen=True)
class Case:
    """A command that is killed, the output that an older command left there, and how the output is read."""

    name: str
    words: tuple[str, ...]
    older: tuple[str, ...] | None
    """The command that wrote what was there; None: nothing was."""
    meaning: Judge
    """What a reader makes of the folder; it must be that of the old output or of the new one."""


def outputs(folder: Path) -> State:
    """Every file below a folder, but not the temporary ones."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith(".tmp")]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def left(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*.tmp")]


@cache
def core() -> openvino.Core:
    return openvino.Core()


def as_ir(folder: Path) -> Any:
    """What our reader and OpenVINO make of o.xml."""
    path = folder / "o.xml"
    if not path.exists():
        return None
    ours = [(node.name, node.data, node.target) for node in load(str(path)).reshapes]
    nodes = core().read_model(str(path)).get_ops()
    theirs = [node.get_data().tolist() for node in nodes if node.get_type_name() == "Constant"]
    return ours, theirs


def as_weighted(folder: Path) -> Any:
    """A model with its weights, which are there whenever it is."""
    path = folder / "other" / "o.onnx"
    return onnx.load(path).SerializeToString() if path.exists() else None


def as_page(folder: Path) -> Any:
    """A page that names its record; while the page is the old one, the record may be the new one already."""
    page, record = folder / "p.md", folder / "p.json"
    if not page.exists():
        return None
    found = re.search(r"begins\s+with\s+`([0-9a-f]{16})`", page.read_text(encoding="utf-8"))
    assert found
    digest = hashlib.sha256(record.read_bytes()).hexdigest()
    return page.read_bytes() if digest.startswith(found[1]) else TOLD


def _run(suffix: str) -> Case:
    words = ("run", "x.npy", "--target", "-1,4", "-o", f"y{suffix}")
    return Case(f"run {suffix}", words, (*words[:3], "6,4", *words[4:]), outputs)


def _convert(name: str, to: str, out: str, meaning: Judge = outputs) -> Case:
    words = ("--to", to, "-o", out)
    return Case(name, ("convert", "m.onnx", *words), ("convert", "older.onnx", *words), meaning)


CASES = (
    _run(".npy"),
    _run(".npz"),
    _run(".pb"),
    _convert("convert onnx", "onnx-13", "o.onnx"),
    _convert("convert onednn", "onednn-static", "o.json"),
    _convert("convert openvino", "openvino", "o.xml", as_ir),
    Case(
        "convert openvino, a shorter one",
        ("convert", "older.onnx", "--to", "openvino", "-o", "o.xml"),
        ("convert", "m.onnx", "--to", "openvino", "-o", "o.xml"),
        as_ir,
    ),
    Case("convert openvino, nothing there", ("convert", "m.onnx", "--to", "openvino", "-o", "o.xml"), None, as_ir),
    Case("fix", ("fix", "b.onnx", "-o", "o.onnx", "--batch"), ("fix", "b.onnx", "-o", "o.onnx", "--simplify"), outputs),
    Case("fix --copy-weights", ("fix", "b.onnx", "-o", "other/o.onnx", "--batch", "--copy-weights"), None, as_weighted),
    Case(
        "conform --markdown",
        ("conform", "--engine", "numpy", "--markdown", "p.md"),
        ("conform", "--engine", "onnx-inference-13", "--markdown", "p.md"),
        as_page,
    ),
)


def prepare(folder: Path) -> None:
    """The inputs of every case."""
    np.save(folder / "x.npy", np.arange(24 * 5000, dtype=np.float32).reshape(4, 6, 5000)[:, :, :1])
    for name, target in (("m", "3, 2, 1"), ("older", "-1")):
        count = target.count(",") + 1
        body = f"g (float[2, 3] x) => (float[{'a, b, c' if count == 3 else 'a'}] y) <int64[{count}] t = {{{target}}}>"
        proto = model(f"{body} {{ y = Reshape(x, t) }}", '<ir_version: 10, opset_import: ["" : 14]>')
        (folder / f"{name}.onnx").write_bytes(proto.SerializeToString())
    (folder / "w.bin").write_bytes(np.arange(36, dtype=np.float32).tobytes())
    body = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { h = MatMul(x, w) y = Reshape(h, t) }"
    proto = model(body)
    proto.graph.initializer.append(external("w", [6, 6], "w.bin", offset=0, length=144))
    (folder / "b.onnx").write_bytes(proto.SerializeToString())
    (folder / "other").mkdir()


def child(words: tuple[str, ...], at: int | None, number: int, told: int) -> None:
    """Runs a command; before the call that is chosen it gets the signal.  The names of all calls go to `told`."""
    names: list[str] = []

    def watch(_: Any, event: str, called: Any) -> None:
        if (
            event == "c_call"
            and called.__name__ in CALLS
            and isinstance(called.__self__, io.BufferedWriter | ModuleType)
        ):
            if len(names) == at:
                os.kill(os.getpid(), number)
            names.append(called.__name__)

    for each in SIGNALS:  # whoever started us may ignore some
        if each != signal.SIGKILL:
            signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)

    def begin(folder: Path) -> Path:
        sys.setprofile(watch)
        return temporary(folder)

    atomic.temporary = begin  # type: ignore[attr-defined]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        code = onereshape(list(words))
        sys.setprofile(None)
    os.write(told, " ".join(names).encode() if code in {0, 1} else said.getvalue().encode())
    os._exit(code)


def ran(folder: Path, words: tuple[str, ...], at: int | None = None, number: int = 0) -> tuple[int, list[str]]:
    """The exit code of a command in that folder, negative for a signal, and its calls."""
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.chdir(folder)
        os.close(reading)
        child(words, at, number, writing)
    os.close(writing)
    with os.fdopen(reading) as stream:
        calls = stream.read().split()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), calls


@dataclass(frozen=True)
class World:
    """A case with what its two commands write."""

    case: Case
    before: Path
    old: Any
    new: Any
    calls: list[str]

    def chosen(self, count: int | None, seed: int) -> list[tuple[int, int]]:
        """The moments and signals to try: first the renames, which are the moments that matter most."""
        kills: list[tuple[int, int]] = [(at, number) for at in range(len(self.calls)) for number in SIGNALS]
        random.Random(seed).shuffle(kills)  # noqa: S311 - not for secrets
        kills.sort(key=lambda kill: kill[1] != signal.SIGKILL or self.calls[kill[0]] not in RENAMES)
        return kills[:count]

    def wrong(self, at: int, number: int) -> str | None:
        """What is wrong after a kill, and after the same command once more."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(shutil.copytree(self.before, Path(name) / "it"))
            code, _ = ran(folder, self.case.words, at, number)
            if code != SIGNALS[signal.Signals(number)]:
                return f"ended with {code}"
            try:
                found = self.case.meaning(folder)
            except Exception as error:  # noqa: BLE001 - whatever a reader raises for a mixture
                return f"the output cannot be read: {type(error).__name__}"
            if found not in (self.old, self.new, TOLD):
                return "the output is neither the old one nor the new one"
            if number != signal.SIGKILL and left(folder):
                return f"{left(folder)} are left"
            code, calls = ran(folder, self.case.words)
            if code not in {0, 1}:
                return f"cannot be run again: {' '.join(calls)}"
            if left(folder):
                return f"{left(folder)} are left by a later run"
            return None if self.case.meaning(folder) == self.new else "a later run writes something else"


def world(case: Case, home: Path) -> World:
    before = home / re.sub(r"\W+", "_", case.name)
    before.mkdir()
    prepare(before)
    if case.older is not None:
        code, said = ran(before, case.older)
        assert code in {0, 1}, (case.name, said)
    after = Path(shutil.copytree(before, home / f"{before.name}_after"))
    code, calls = ran(after, case.words)
    assert code in {0, 1}, (case.name, calls)
    return World(case, before, case.meaning(before), case.meaning(after), calls)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.cli.killing")
    parser.add_argument("--count", type=int, help="how many kills of each case (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--case", action="append", help="only cases whose names contain this")
    args = parser.parse_args(words)
    cases = [case for case in CASES if not args.case or any(part in case.name for part in args.case)]
    for name in SLOW:
        import_module(f"onereshape.{name}")
    failed = 0
    with tempfile.TemporaryDirectory() as home:
        worlds = [world(case, Path(home)) for case in cases]
        kills = [(each, *kill) for each in worlds for kill in each.chosen(args.count, args.seed)]
        for each, at, number in kills:
            if (why := each.wrong(at, number)) is not None:
                failed += 1
                called = f"call {at} ({each.calls[at]})"
                print(f"{each.case.name}: {signal.Signals(number).name} before {called}: {why}", flush=True)
    print(f"{len(kills)} kills, {failed} failures")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
