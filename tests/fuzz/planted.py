"""Bugs for the judge to find: each does to the commands what no command may do, whatever file it is given."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from onereshape.cli.commands import COMMANDS, module_of
from onereshape.ground import atomic
from onereshape.ground.errors import ReshapeError


def _answer(wrong: Callable[[Any], Any]) -> Callable[[], None]:
    """Plants something in front of the answer of every command."""

    def plant() -> None:
        for command in map(module_of, COMMANDS):
            answer = command.answer

            def planted(args: Any, answer: Any = answer) -> Any:
                wrong(args)
                return answer(args)

            command.answer = planted  # type: ignore[attr-defined]

    return plant


def _raises(_: Any) -> None:
    raise KeyError("planted")


def _escapes(_: Any) -> None:
    raise GeneratorExit


def _hangs(_: Any) -> None:
    while True:
        time.sleep(0.01)


def _dies(_: Any) -> None:
    os.abort()


def _grows(_: Any) -> None:
    bytearray(b"x") * (5 << 28)


def _writes_elsewhere(_: Any) -> None:
    Path("../decoy/kept.bin").write_bytes(b"mine now")


def _writes_far_away(_: Any) -> None:
    (Path(__file__).parent / "no such folder" / "x").open("wb")


def _changes_its_input(args: Any) -> None:
    for name in getattr(args, "models", None) or [getattr(args, "model", None) or getattr(args, "input", "")]:
        if name and Path(name).is_file():
            with Path(name).open("ab") as file:
                file.write(b"x")


def _leaves_something(_: Any) -> None:
    Path(".onereshape-1.tmp").touch()


def _talks(_: Any) -> None:
    os.write(2, b"[libfoo] warning: node 7\n")


def _speaks_twice(_: Any) -> None:
    print("onereshape: first", file=sys.stderr)
    raise ReshapeError("bad-usage", why="second")


def _exits(_: Any) -> None:
    raise SystemExit(3)


def _writes_a_half() -> None:
    """A file that takes its place before all of it is there."""
    real = atomic.replacing

    @contextmanager
    def planted(path: str) -> Iterator[BinaryIO]:
        with real(path) as file:
            yield file
            file.truncate(file.tell() // 2)

    for module in [module for name, module in sys.modules.items() if name.startswith("onereshape.")]:
        if getattr(module, "replacing", None) is real:
            module.replacing = planted  # type: ignore[attr-defined]


PLANTED: dict[str, tuple[Callable[[], None], set[str]]] = {
    "raises": (_answer(_raises), {"net"}),
    "escapes": (_answer(_escapes), {"escaped"}),
    "hangs": (_answer(_hangs), {"hang"}),
    "dies": (_answer(_dies), {"died"}),
    "grows": (_answer(_grows), {"memory"}),
    "writes elsewhere": (_answer(_writes_elsewhere), {"foreign"}),
    "writes far away": (_answer(_writes_far_away), {"foreign", "net"}),
    "changes its input": (_answer(_changes_its_input), {"foreign"}),
    "leaves something": (_answer(_leaves_something), {"foreign"}),
    "talks": (_answer(_talks), {"noise"}),
    "speaks twice": (_answer(_speaks_twice), {"not one message"}),
    "exits": (_answer(_exits), {"exit code"}),
    "writes a half": (_writes_a_half, {"half file"}),
}
"""Each bug, and the offences that it must be found by."""
