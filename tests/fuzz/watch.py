"""What a process does beside its answer: the files it opens to write, the programs it starts, what it unpickles."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_CHANGING = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.symlink", "os.link", "os.chmod", "os.truncate"}
_NEVER = {"pickle.find_class", "os.system", "os.exec", "socket.connect", "code.__new__"}
_STARTING = {"subprocess.Popen", "os.posix_spawn"}
"""Our own children are: from Python 3.13 on by the second, too."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_FREE = ("/dev/null", "/proc/self/")


class Watch:
    """Events of Python's own audit since `begin`."""

    def __init__(self) -> None:
        self.root: str | None = None
        self.seen: list[str] = []
        sys.addaudithook(self._hear)

    def begin(self, root: Path) -> None:
        """From now on, whatever is written outside this folder is an offence."""
        self.root, self.seen = f"{os.path.realpath(root)}/", []

    def end(self) -> list[str]:
        self.root = None
        return self.seen

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if self.root is None:
            return
        if event in _NEVER:
            self.seen.append(f"{event} {args!r:.120}")
        elif event == "open":
            path, _, flags = args
            if isinstance(flags, int) and flags & _WRITING:
                self._look(event, [path])
        elif event in _CHANGING:
            self._look(event, [arg for arg in args[:2] if isinstance(arg, (str, bytes))])
        elif event in _STARTING and (args[0] != sys.executable or "-P" not in args[1]):
            self.seen.append(f"started {args[1]!r:.120}")

    def _look(self, event: str, paths: Iterable[Any]) -> None:
        for path in paths:
            if isinstance(path, (str, bytes, os.PathLike)):
                found = os.path.realpath(os.fsdecode(path))
                if not f"{found}/".startswith((str(self.root), *_FREE)):
                    self.seen.append(f"{event} outside its folder: {found!r:.120}")
