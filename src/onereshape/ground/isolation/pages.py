"""Memory that a process keeps for its next large array, instead of giving it back and having it zeroed again.

Models are run many times, and each run allocates what the last one let go: the C library of Linux maps every large
array anew, which took up to a quarter of the time.
"""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from typing import Final

_KEPT: Final = 1 << 30
"""Bytes beyond which free memory is given back."""
_TRIM, _MAPPED = -1, -4
"""The numbers of glibc's `mallopt`: what is kept, and how many arrays are mapped by themselves."""


def kept_pages() -> dict[str, str]:
    """The settings of `keep_pages` as environment variables for a process to be started; only Linux minds them."""
    return {"MALLOC_TRIM_THRESHOLD_": str(_KEPT), "MALLOC_MMAP_MAX_": "0"}


def keep_pages() -> None:
    """Makes this process keep free memory; for a command, whose process is its own."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):  # another C library
        library = ctypes.CDLL(None)
        library.mallopt(_TRIM, _KEPT)
        library.mallopt(_MAPPED, 0)
