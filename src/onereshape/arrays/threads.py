"""How many threads a copy may use, and whether the C++ kernels are there; asked without NumPy."""

from __future__ import annotations

import os


def kernels_built() -> bool:
    """Whether the kernels were built, and load."""
    try:
        from onereshape.arrays import _copy  # noqa: PLC0415
    except ImportError:
        return False
    return _copy is not None


def threads() -> int:
    """How many threads a large copy may use: ONERESHAPE_NUM_THREADS, else OMP_NUM_THREADS, else one per processor."""
    for name in ("ONERESHAPE_NUM_THREADS", "OMP_NUM_THREADS"):
        first = os.environ.get(name, "").split(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return min(int(first), 1024)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
