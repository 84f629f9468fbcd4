"""Store runs that are killed at random moments: the output is absent or whole, and the same command ends the work.

ONERESHAPE_KILLS gives their number, for longer runs.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.cli import main
from tests.formats.stored import files, held, run, stored

KILLS = int(os.environ.get("ONERESHAPE_KILLS", "6"))
DATA = np.arange(60_000, dtype=np.int32).reshape(300, 200)
CODE = """
import json, os, sys
import onereshape.formats.stores.reshape_store as whole
from onereshape.cli import main
from onereshape.formats.stores import stream
from onereshape.formats.stores.passes import passes
whole.passes = lambda a, b, c, d, _: passes(a, b, c, d, 3000)
stream._EVERY = 0.05
for line in sys.stdin:
    child = os.fork()
    if not child:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nowhere, number)
        os._exit(main(json.loads(line)))
    print(child, flush=True)
    sys.stdin.readline()  # until then its number is no one else's
    os.waitpid(child, 0)
    print("ended", flush=True)
"""
KINDS = [("l.zarr", "y.zarr"), ("f.npy", "y.zarr"), ("l.zarr", "y.npy")]


def words(source: str, sink: str, scheduler: str) -> tuple[str, ...]:
    return run(source, "--target", "200,-1", "-o", sink, "--scheduler", scheduler)


@pytest.fixture(name="starter")
def process_that_starts_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """It has imported all that a run needs, so that a run begins at once; in memory, where no disk is waited for."""
    memory = "/dev/shm"  # noqa: S108
    here = Path(tempfile.mkdtemp(dir=memory)) if Path(memory).is_dir() else tmp_path
    monkeypatch.chdir(here)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", CODE], text=True, cwd=here, **pipes) as found:  # type: ignore[call-overload]  # noqa: S603
        yield found
        found.stdin.close()
    shutil.rmtree(here)


def started(starter: Any, command: tuple[str, ...]) -> int:
    """Begins to run a command; the number of its process."""
    starter.stdin.write(f"{json.dumps(command)}\n")
    starter.stdin.flush()
    return int(starter.stdout.readline())


def awaited(starter: Any) -> None:
    """Waits until the command has ended."""
    starter.stdin.write("\n")
    starter.stdin.flush()
    assert starter.stdout.readline() == "ended\n"


def killed(starter: Any, command: tuple[str, ...], after: float, number: int) -> None:
    """Runs a command, and ends it so many seconds after it has begun."""
    child = started(starter, command)
    time.sleep(after)
    os.kill(child, number)
    awaited(starter)


def lasting(starter: Any, command: tuple[str, ...], sink: str) -> float:
    """The seconds that a command takes on this machine now, which may be busy."""
    began = time.monotonic()
    started(starter, command)
    awaited(starter)
    shutil.rmtree(sink)
    return time.monotonic() - began


def check(sink: str) -> None:
    """The old-or-new law: nothing under the name, or all of it."""
    if Path(sink).exists():
        assert (held(sink) == DATA.reshape(200, -1)).all()


def test_at_random_moments(starter: Any, capsys: pytest.CaptureFixture[str]) -> None:
    stored("l.zarr", DATA, (300, 4))
    np.save("f.npy", np.asfortranarray(DATA))
    draw = random.Random(1)  # noqa: S311
    whole = lasting(starter, words("l.zarr", "y.zarr", "threads"), "y.zarr")
    resumed = 0
    for number in range(KILLS):
        source, sink = KINDS[number % len(KINDS)]
        scheduler = "processes" if number % 5 == 4 else "threads"
        how = signal.SIGINT if number % 4 == 3 else signal.SIGKILL
        for _ in range(draw.randint(1, 2)):
            killed(starter, words(source, sink, scheduler), draw.random() * draw.choice([0.2, 1, 1]) * whole, how)
            check(sink)
        resumed += finished(words(source, sink, "threads"), sink, capsys)
        assert [name for name in files() if name.startswith(".")] == [], number
    assert resumed


def finished(command: tuple[str, ...], sink: str, capsys: Any) -> bool:
    """The same command once more: it ends the work, unless a store is there already; whether it resumed."""
    for _ in range(100):  # a process of the run that was killed may still be in its last block
        code = main(command)
        said = capsys.readouterr()
        if "another run is writing it" not in said.err:
            break
        time.sleep(0.1)
    assert code == 0 or "exists already" in said.err, said.err
    assert Path(sink).exists()
    check(sink)
    shutil.rmtree(sink) if Path(sink).is_dir() else Path(sink).unlink()
    return "earlier run" in said.out
