"""The process in which cases run: with limits, and with nothing that it says or does left unseen."""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.fuzz.capture import Capture
from tests.fuzz.case import case
from tests.fuzz.judge import PATIENCE, Judged, judged
from tests.fuzz.planted import PLANTED
from tests.fuzz.watch import Watch

_ADDRESSES = 12 << 30
"""Bytes of address space; a file that announces terabytes gets nowhere, and the machine is not harmed."""
_SHARED = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there


READY = (
    "onereshape.formats.stores.reshape_store dask.array onnxruntime onereshape.repair.fix "
    "onereshape.backends.convert.opset"
).split()
"""What commands import when they run: Python unpickles and writes things of its own meanwhile."""


class Room(NamedTuple):
    """What a worker is told."""

    kinds: frozenset[str] | None = None
    planted: str | None = None
    """The name of a bug that is planted, to see it found."""
    patience: float = PATIENCE
    """Seconds for one command."""


class _Here:
    root: Path
    capture: Capture
    watch: Watch


def begin(_: Any, room: Room) -> None:
    """Makes this process one that cases can run in."""
    sys.dont_write_bytecode = True  # of what a command imports
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESSES, _ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("ignore")  # as the command does
    warnings.filterwarnings("always", module="onereshape")  # ours are mistakes
    for name in READY:
        import_module(name)
    _Here.root = Path(tempfile.mkdtemp(prefix="onereshape-fuzz-", dir=_SHARED if _SHARED.is_dir() else None))
    _Here.capture, _Here.watch = Capture(), Watch()
    if room.planted is not None:
        PLANTED[room.planted][0]()


def told(seed: int, room: Room) -> Judged:
    """What became of a seed."""
    try:
        return judged(case(seed, room.kinds), _Here.root / "case", _Here.capture, _Here.watch, room.patience)
    finally:
        shutil.rmtree(_Here.root / "case", ignore_errors=True)
