"""Where units of 1 or 2 bytes are moved in squares, how they lie in shared memory, and which boxes: `gpu_squares.cu`.

A square is a word across neighbouring runs from each of a few places along them.  It is turned over in registers, and
its words are kept run by run in a second part of shared memory, the `middle`, before they are written.
"""

from __future__ import annotations

from math import log, prod
from typing import NamedTuple

from onereshape.arrays.gpu_banks import SECTOR, CopyDim, Gather

ROOMS = 49152, 40960, 32768, 28672, 24576, 16384
"""The bytes of boxes, of which the best is taken."""

TRIMS = (SECTOR, 8), (16, 16)
"""As those of `gpu_shapes`: writes are of 16 bytes."""

FULL = 48 << 10
"""The bytes of shared memory from which on a block has more threads."""

_SHARED, _RESERVED, _THREADS = 228 << 10, 1 << 10, 2048
"""The shared memory of a processor, what each block takes of it besides its own, and the threads that it holds."""

_COST, _RESIDENT, _EACH, _MANY = 1.2, 0.35, 0.1, 0.1
"""By what powers speed depends on the bytes moved, those in all boxes of a processor, in one box, and on threads."""

_OUT = 16
"""The bytes of a write."""

_LEAST, _WASTE = 16, 1.15
"""The units of a run, and how many more runs than there are make whole squares, at most."""

_WOVEN = 256
"""The bytes of runs from which on they are written one by one."""

_SHORT, _LONGER = 96, 1.5
"""Runs of less bytes than this, cut at the side, are not worth it where whole ones are longer by that factor."""


class Middle(NamedTuple):
    """Runs along the side, groups of runs, groups along the side; bytes from run to run.

    Then the bytes that are written together, in how many writes, and whether those of all runs of the side are.
    """

    sides: int
    groups: int
    along: int
    pitch: int
    run: int
    outs: int
    woven: bool


def side_of(dims: tuple[CopyDim, ...], unit: int) -> int | None:
    """The dim whose neighbours lie side by side in the source but not in the destination; None where no square fits."""
    found = next((axis for axis, (_, stride, _) in enumerate(dims) if stride == unit), None)
    if unit > 2 or found is None:
        return None
    size, per_word = dims[found][0], 4 // unit
    if -(-size // per_word) * per_word > _WASTE * size:
        return None
    return found if prod(size for size, _, _ in dims[found + 1 :]) >= _LEAST else None


def middle_of(gather: Gather, lanes: int, sides: int, weave: bool) -> Middle:
    """Pitches at which a warp's words lie in all banks: some words of each of several runs."""
    per_word = 4 // gather.unit
    run = gather.unit * prod(count for _, count, _, _ in gather.units_of)
    # A run begins at any of four words, and where runs are woven with the first.
    least, spread = gather.words + (0 if weave else 3), max(1, (1 << lanes) // per_word)
    pitch = 4 * (least + (spread - least) % (2 * spread))
    whole = run * sides if weave else run
    return Middle(sides, gather.runs, -(-sides // per_word), pitch, whole, (whole + 2 * (_OUT - 1)) // _OUT, weave)


def woven(dims: tuple[CopyDim, ...], extents: tuple[int, ...], unit: int, side: int) -> bool:
    """Whether runs of the side, which follow each other in the destination, are single bytes, short, and cut words."""
    inner = [size for size, _, _ in dims[side + 1 :]]
    run = prod(inner)
    return unit == 1 and run < _WOVEN and (run % 4 > 0 or run >= _SHORT) and list(extents[side + 1 :]) == inner


def speed(cost: float, payload: float, shared: int, threads: int) -> float:
    """The logarithm of how fast boxes of so many bytes are, up to a constant."""
    held = min(_SHARED // (shared + _RESERVED), _THREADS // threads)
    return (
        _RESIDENT * log(max(1, held) * payload)
        - _COST * log(cost)
        - _EACH * log(payload)
        + _MANY * log(max(1, held) * threads)
    )


def pays(run: int, plain: int) -> bool:
    """Whether squares with runs of so many bytes are faster than units gathered one by one along longer runs."""
    return run >= _SHORT or plain < _LONGER * run
