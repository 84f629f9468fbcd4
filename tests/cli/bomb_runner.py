"""Runs bombs through commands, each in a child with limits: `python -m tests.cli.bomb_runner COMMAND[:NAME...] ...`.

Prints one JSON object per bomb: the command, its name, the exit code (below 0: the signal that ended it), what was
said, the seconds of processor time and the megabytes that it took.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import resource
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onereshape import cli, formats, repair as models
from onereshape.backends import convert
from tests.cli import bombs

COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "check": lambda model, _: ["check", model],
    "check-batch": lambda model, _: ["check", model, "--batch"],
    "check-free": lambda model, _: ["check", model, "--free", "x:1=S"],
    "fix-batch": lambda model, out: ["fix", model, "-o", f"{out}.onnx", "--batch", "--no-certify"],
    "fix-simplify": lambda model, out: ["fix", model, "-o", f"{out}.onnx", "--simplify", "--no-certify"],
    "fix-free": lambda model, out: ["fix", model, "-o", f"{out}.onnx", "--free", "x:1=S", "--no-certify"],
    "certify": lambda model, _: ["certify", model, model, "--batch", "--timeout", "1", "--memory", "1GB"],
    "convert-opset": lambda model, out: ["convert", model, "--to", "onnx-13", "-o", f"{out}.onnx"],
    "convert-openvino": lambda model, out: ["convert", model, "--to", "openvino", "-o", f"{out}.xml"],
}
SECONDS, MEGABYTES = 20, 2000
"""Of processor time, and of memory."""


def load() -> None:
    """All that the commands import, once, before all children."""
    for room in (cli, convert, formats, models):
        for found in pkgutil.walk_packages([str(Path(str(room.__file__)).parent)], f"{room.__name__}."):
            importlib.import_module(found.name)
    gc.freeze()


def run(words: list[str], log: Path) -> dict[str, Any]:
    """One command in a child."""
    child = os.fork()
    if child == 0:
        _limited(words, log)
    _, status, used = os.wait4(child, 0)
    code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    text = log.read_text(encoding="utf-8", errors="replace")
    return {"code": code, "said": text[-400:], "seconds": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss // 1024}


def _limited(words: list[str], log: Path) -> None:
    """The child: it never returns."""
    code = 99
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))
        with log.open("w", encoding="utf-8") as file:
            sys.stdout = sys.stderr = file
            code = cli.main(words)
    finally:
        os._exit(code)


def main() -> None:
    """All bombs that are named behind each command, or all there are."""
    load()
    for typed in sys.argv[1:]:
        command, *names = typed.split(":")
        for name in names or [*bombs.ONNX, *bombs.OTHERS]:
            with tempfile.TemporaryDirectory() as folder:
                model = bombs.write(name, Path(folder))
                words = COMMANDS[command](model, str(Path(folder) / "out"))
                ended = run(words, Path(folder) / "log")
                print(json.dumps({"command": command, "name": name, **ended}), flush=True)


if __name__ == "__main__":
    main()
