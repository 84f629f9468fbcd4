"""What a process prints, by Python or by a library in C, kept apart for each command."""

from __future__ import annotations

import os
import sys
import tempfile


class Capture:
    """Takes the place of standard output and standard error for as long as the process lives."""

    def __init__(self) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.files = [tempfile.TemporaryFile(), tempfile.TemporaryFile()]  # noqa: SIM115 - they live as long as the process
        for number, file in enumerate(self.files, 1):
            os.dup2(file.fileno(), number)
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115

    def begin(self) -> None:
        for file in self.files:
            file.seek(0)
            file.truncate()

    def end(self) -> tuple[str, str]:
        """What was said since `begin`."""
        sys.stdout.flush()
        sys.stderr.flush()
        found = []
        for file in self.files:
            file.seek(0)
            found.append(file.read().decode(errors="replace"))
        return found[0], found[1]
