"""One tool on one model file, in a process of its own: seconds, peak memory, and for ours the parts of the time.

    python bench/model_parts.py TOOL MODEL OUT SMALL

It does the work on a small model first, so that everything is imported, and measures from reading the file to having
the answer.  The parts are the functions of `PARTS`, wrapped here by their names; each has the time that it does not
spend in another of them.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

PARTS = {
    "load": ["onereshape.formats.model.load"],
    "shapes": ["onereshape.graphs.shapes.facts_of"],
    "search": ["onereshape.repair.batch_work.batch_plan"],
    "simpler": ["onereshape.repair.simpler.simplify.simplifications"],
    "findings": ["onereshape.checks.check.check"],
    "copy": ["onereshape.repair.step.copied"],
    "apply": ["onereshape.repair.batch_work.apply_batch"],
    "certificate": ["onereshape.repair.step.certificate_of"],
    "save": ["onereshape.formats.model.save"],
}
"""Each part, and the functions that are it.  What is not there (any more) is no part."""
OURS = {
    "check": ["check", "MODEL", "--batch"],
    "fix": ["fix", "MODEL", "-o", "OUT", "--batch", "--no-certify"],
    "certified": ["fix", "MODEL", "-o", "OUT", "--batch"],
}
"""Our command lines."""
THEIRS = ("onnxslim", "onnxsim")

Clock = tuple[float, float]
"""Seconds of the processor, and of the wall."""


def now() -> Clock:
    return time.process_time(), time.perf_counter()


class Stopwatch:
    """The seconds of each part, without those of the parts that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self._running: list[str] = []
        self._since = now()

    def turn(self, part: str | None) -> None:
        """Ends what runs, or begins a part within it."""
        at = now()
        if self._running:
            spent = self.seconds.setdefault(self._running[-1], [0.0, 0.0])
            spent[:] = [spent[clock] + at[clock] - self._since[clock] for clock in range(2)]
        self._since = at
        if part is None:
            self._running.pop()
        else:
            self._running.append(part)

    def wrapped(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            self.turn(part)
            try:
                return function(*args, **kwargs)
            finally:
                self.turn(None)

        return timed


def wrap(stopwatch: Stopwatch) -> None:
    """Puts the stopwatch around the parts, wherever a module of ours has them."""
    found: dict[int, tuple[str, Any]] = {}
    for part, names in PARTS.items():
        for name in names:
            module, _, function = name.rpartition(".")
            with contextlib.suppress(ImportError, AttributeError):
                made = getattr(import_module(module), function)
                found[id(made)] = (part, made)
    wrappers = {key: stopwatch.wrapped(*each) for key, each in found.items()}
    ours = [each for name, each in list(sys.modules.items()) if name.partition(".")[0] == "onereshape"]
    for each in ours:
        for name, value in list(vars(each).items()):
            if id(value) in wrappers:
                setattr(each, name, wrappers[id(value)])


def work(tool: str, model: str, out: str) -> None:
    """What is measured; what it prints is made and thrown away."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        if tool in OURS:
            line = [{"MODEL": model, "OUT": out}.get(word, word) for word in OURS[tool]]
            code = import_module("onereshape.cli").main(line)
            if code == 2 or (code and line[0] == "fix"):
                raise SystemExit(said.getvalue())
        elif tool == "onnxslim":
            import_module("onnxslim").slim(model, out)
        else:
            onnx = import_module("onnx")
            onnx.save(import_module("onnxsim").simplify(onnx.load(model))[0], out)


def main() -> None:
    tool, model, out, small = sys.argv[1:]
    work(tool, small, out)
    stopwatch = Stopwatch()
    if tool in OURS:
        wrap(stopwatch)
    start = now()
    work(tool, model, out)
    cpu, wall = (after - before for before, after in zip(start, now(), strict=True))
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak / 1024, "parts": stopwatch.seconds}))


if __name__ == "__main__":
    main()
