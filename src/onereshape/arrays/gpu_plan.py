"""From the plan of a copy to the launch of a GPU kernel: words, tile, warps, grid and arguments, by a fixed rule.

Integers alone, as in `layout`: nothing is measured at run time and no device is asked.  What is a constant of the
compiled kernel depends on the class of the plan (its kind, alignment and, for short dims, powers of two), never on its
sizes, so that a new shape of a known class compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod

from onereshape.arrays.layout import CopyPlan

OUTER = 4
"""How many dims besides the tile's own a kernel can walk."""

_INT32 = 2**31 - 1
_RUN = 512
"""The bytes of a run below which it is joined with what follows it."""

_FEW = 16
"""The items and rows, in words, below which their number is a constant of the kernel."""

_SHORT = 64
"""The bytes up to which an item is exchanged with its neighbours, rather than written where it belongs."""


_SINGLE = {1: (32, 512), 2: (64, 256), 4: (32, 256), 8: (32, 128)}
"""The tile, by the bytes of a word, where nothing but single words can be moved: few rows to write, and long ones."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One call of a kernel: its name, the bytes of a word, constants, run-time integers, warps and the grid's size."""

    kernel: str
    word: int
    constants: tuple[tuple[str, int], ...]
    integers: tuple[int, ...]
    warps: int
    programs: int


@lru_cache(maxsize=4096)
def launch_of(plan: CopyPlan, alignment: int, **tuned: int) -> Launch | None:
    """The launch for a plan whose pointers are both multiples of `alignment` bytes; None where no kernel fits.

    `tuned` overrides the rule's tile (`along_source`, `along_destination`, both in words) and `warps`, to measure it.
    """
    others = [axis for axis in range(len(plan.dims)) if axis not in {plan.source_axis, plan.destination_axis}]
    if plan.dims == (1,):
        return None
    steps = [stride for axis in others for stride in (plan.source[axis], plan.destination[axis])]
    found = _interleave(plan, alignment, steps, tuned) or _tile(plan, alignment, steps, tuned)
    found = found or _small(plan, alignment, steps, tuned) or _blocks(plan, alignment, steps, tuned)
    kernel, word, granule, constants, head, warps, tiles, inside = found
    others = [axis for axis in others if axis not in inside]
    if len(others) > OUTER:
        return None
    outer = [(plan.dims[axis], plan.source[axis] // granule, plan.destination[axis] // granule) for axis in others]
    # The innermost first: it is divided off first.
    integers = [
        *head,
        *(number for triple in reversed(outer) for number in triple),
        *([1, 0, 0] * (OUTER - len(others))),
    ]
    together = constants.get("ROWS_TOGETHER", 1)
    programs = tiles * _parts(prod(size for size, _, _ in outer), together)
    # A quarter of int32: kernels add up to four of them, and a tile beyond the end, before they widen.
    longest = max(plan.dims) * plan.item // word
    if max(longest, programs * together, *map(abs, integers)) > _INT32 // 4:
        return None
    reach = max(plan.nbytes, sum(abs(s) * (n - 1) for n, s in zip(plan.dims, plan.source, strict=True)) + plan.item)
    fixed = {
        **constants,
        "GRANULE": granule // word,
        "OUTERS": len(others),
        "WIDE": int(reach // word > _INT32 - 2**20),
    }
    return Launch(kernel, word, tuple(fixed.items()), tuple(integers), warps, programs)


_Found = tuple[str, int, int, dict[str, int], list[int], int, int, set[int]]
"""Kernel, word, granule, constants, the integers before those of the outer dims, warps, tiles, and dims in the tile."""


def _granule(*lengths: int) -> int:
    """The bytes, at most 16, that all of these are whole multiples of."""
    return gcd(16, *lengths)


def _power(number: int) -> int:
    """The smallest power of two that is not below it."""
    return 1 << max(0, number - 1).bit_length()


def _parts(size: int, part: int) -> int:
    return -(-size // part)


def _warps(words: int) -> int:
    """Enough threads to hold the tile in registers, few enough that each has several words in flight."""
    return max(1, min(8, words // 1024))


def _interleave(plan: CopyPlan, alignment: int, steps: list[int], tuned: dict[str, int]) -> _Found | None:
    """A dim of 2, 3 or 4 that is innermost on one side: whole words of several items are woven in registers."""
    if plan.kind not in {"interleave", "deinterleave"} or plan.item > 8:
        return None
    a, b = plan.source_axis, plan.destination_axis
    few, long = (b, a) if plan.kind == "interleave" else (a, b)
    plane = plan.source[b] if plan.kind == "interleave" else plan.destination[a]
    granule = _granule(alignment, plane, plan.dims[long] * plan.item, *steps)
    if granule % plan.item:  # an item of several elements need not begin where a word of its length may
        return None
    word = min(4, granule) if plan.item < 4 else plan.item
    granule = max(granule, word)
    if plan.item < 4 and word < 4:
        word = plan.item
        granule = max(word, gcd(granule, word))
    room = tuned.get("along_source", 256 if word >= 4 else 1024)
    words = plan.dims[long] * plan.item // word
    per_tile = min(room, _power(words))
    constants = {
        "FEW": plan.dims[few],
        "PER_WORD": word // plan.item,
        "TILE": per_tile,
        "ROWS_TOGETHER": room // per_tile,
    }
    head = [words * word // granule, plane // granule]
    warps = tuned.get("warps", max(2, _warps(room * 4)))
    return plan.kind, word, granule, constants, head, warps, _parts(words, per_tile), set()


def _tile(plan: CopyPlan, alignment: int, steps: list[int], tuned: dict[str, int]) -> _Found | None:
    """Two unit-stride dims, exchanged through shared memory: whole lines are read and whole lines are written."""
    a, b = plan.source_axis, plan.destination_axis
    power_of_two = plan.item & (plan.item - 1) == 0
    if plan.kind == "rows" or plan.source[a] != plan.item or plan.item > _SHORT or not power_of_two:
        return None
    item, na, nb = plan.item, plan.dims[a], plan.dims[b]
    granule = _granule(alignment, plan.source[b], plan.destination[a], na * item, nb * item, *steps)
    after_a, after_b = _following(plan)
    long_a, long_b = na * plan.dims[after_a] if after_a >= 0 else na, nb * plan.dims[after_b] if after_b >= 0 else nb
    jumps = [plan.destination[after_a] if after_a >= 0 else 0, plan.source[after_b] if after_b >= 0 else 0]
    lengths = [na * item, nb * item, long_a * item, long_b * item, plan.source[b], plan.destination[a], *jumps]
    head = [length // granule for length in lengths]
    joined = {"JOIN_A": int(after_a >= 0), "JOIN_B": int(after_b >= 0)}
    inside = {axis for axis in (after_a, after_b) if axis >= 0}
    if item < 4 and granule >= 4:
        rows = 4 // item
        along_a, along_b = _square(long_a // rows, long_b // rows, 64, 64, tuned)
        constants = {"ROWS": rows, "ALONG_A": along_a, "ALONG_B": along_b, **joined}
        tiles = _parts(long_a // rows, along_a) * _parts(long_b // rows, along_b)
        return "pack", 4, granule, constants, head, tuned.get("warps", _warps(rows * along_a * along_b)), tiles, inside
    word = min(item, granule, 8) if item > 8 else min(item, granule)
    items = item // word
    single = granule < 16 and items == 1
    room = _SINGLE[word] if single else (max(1, 64 // items), max(1, 64 // items))
    along_a, along_b = _square(long_a, long_b, *room, tuned)
    constants = {"ALONG_A": along_a, "ALONG_B": along_b, "ITEM": items, "KEEP": int(single), **joined}
    warps = tuned.get("warps", _warps(2 * along_a * along_b * items * max(1, word // 4)))
    return "tile", word, granule, constants, head, warps, _parts(long_a, along_a) * _parts(long_b, along_b), inside


def _following(plan: CopyPlan) -> tuple[int, int]:
    """The dims into which the source's run, and the destination's, go on without a gap, if they are short; else -1."""
    a, b = plan.source_axis, plan.destination_axis
    found_a = found_b = -1
    for axis in range(len(plan.dims)):
        if axis in {a, b}:
            continue
        if plan.dims[b] * plan.item < _RUN and plan.destination[axis] == plan.dims[b] * plan.item:
            found_b = axis
        elif plan.dims[a] * plan.item < _RUN and plan.source[axis] == plan.dims[a] * plan.item:
            found_a = axis
    return found_a, found_b


def _square(na: int, nb: int, along_a: int, along_b: int, tuned: dict[str, int]) -> tuple[int, int]:
    """The tile, or as much of it as the dims fill; what one dim leaves the other takes."""
    room = along_a * along_b
    a, b = min(_power(na), along_a), min(_power(nb), along_b)
    a, b = min(_power(na), room // b), min(_power(nb), room // a)
    if a * b > room:
        a = room // b
    return tuned.get("along_source", a), tuned.get("along_destination", b)


def _small(plan: CopyPlan, alignment: int, steps: list[int], tuned: dict[str, int]) -> _Found | None:
    """Items of few words that no wide access fits, in few rows: their numbers are part of the class."""
    a, b = plan.source_axis, plan.destination_axis
    granule = _granule(alignment, plan.item, plan.source[a], plan.source[b], *steps)
    word = min(granule, 8)
    words, nb = plan.item // word, plan.dims[b]
    if a != b - 1 or granule > 8 or words >= _FEW or nb >= _FEW:
        return None
    tile = tuned.get("room", 512)
    constants = {"ITEM": words, "HIGH": nb, "TILE": tile}
    head = [plan.dims[a], plan.source[a] // granule, plan.source[b] // granule]
    return (
        "small",
        word,
        granule,
        constants,
        head,
        tuned.get("warps", 2),
        _parts(plan.dims[a] * nb * words, tile),
        set(),
    )


def _blocks(plan: CopyPlan, alignment: int, steps: list[int], tuned: dict[str, int]) -> _Found:
    """Items of any length over both dims, each written where it belongs."""
    a, b = plan.source_axis, plan.destination_axis
    both = a != b
    strides = [plan.source[b], *([plan.source[a], plan.destination[a]] if both else [])]
    granule = _granule(alignment, plan.item, *strides, *steps)
    word = min(granule, 4) if plan.item % 8 or granule < 8 or plan.item > 8 else 8
    words, na, nb = plan.item // word, plan.dims[a] if both else 1, plan.dims[b]
    room = tuned.get("room", 1024 if granule < 16 and words < 32 else 2048)
    along_item = min(_power(words), 1024)
    along_b = min(_power(nb), max(1, room // along_item))
    along_a = min(_power(na), max(1, room // (along_item * along_b)))
    constants = {"ALONG_A": along_a, "ALONG_B": along_b, "ALONG_ITEM": along_item}
    per_a = (plan.source[a] // granule, plan.destination[a] // granule) if both else (0, 0)
    head = [na, nb, plan.item // granule, *per_a, plan.source[b] // granule]
    tiles = _parts(na, along_a) * _parts(nb, along_b) * _parts(words, along_item)
    warps = tuned.get("warps", 8 if granule == 16 else 4)
    return "blocks", word, granule, constants, head, warps, tiles, set()
