"""How much memory is free, as far as the system says."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None  # type: ignore[assignment]

_LIMITS: Any = _resource

_GROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes that this process may still take: of the machine, of its container and of its own limit; None: unknown."""
    found = [_machine(), _container(), _limit()]
    return min((each for each in found if each is not None), default=None)


def _machine() -> int | None:
    said = re.search(r"MemAvailable:\s+([0-9]+) kB", _text(Path("/proc/meminfo")))
    if said:
        return int(said[1]) * 1024
    try:  # not Linux: all that there is
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _container() -> int | None:
    most, used = (_text(_GROUP / name).strip() for name in ("memory.max", "memory.current"))
    return max(int(most) - int(used), 0) if most.isdecimal() and used.isdecimal() else None


def _limit() -> int | None:
    if _LIMITS is None:
        return None
    most, _ = _LIMITS.getrlimit(_LIMITS.RLIMIT_AS)
    pages = _text(Path("/proc/self/statm")).split()
    if most == _LIMITS.RLIM_INFINITY or not pages:
        return None
    return max(int(most) - int(pages[0]) * int(_LIMITS.getpagesize()), 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
