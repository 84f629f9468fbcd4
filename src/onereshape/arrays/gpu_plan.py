"""From the plan of a copy to the launch of a GPU kernel: words, tile, warps, grid and arguments, by a fixed rule.

Integers alone, as in `layout`: nothing is measured at run time and no device is asked.  What is a constant of the
compiled kernel depends on the class of the plan (its kind, alignment and, for short dims, powers of two), never on its
sizes, so that a new shape of a known class compiles nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod

from onereshape.arrays.layout import WORDS, CopyPlan

OUTER = 4
"""How many dims besides the tile's own a kernel can walk."""

_INT32 = 2**31 - 1
_SHORT = 64
"""The bytes up to which an item is exchanged with its neighbours, rather than written where it belongs."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One call of a kernel: its name, the bytes of a word, constants, run-time integers, warps and the grid's size."""

    kernel: str
    word: int
    constants: tuple[tuple[str, int], ...]
    integers: tuple[int, ...]
    warps: int
    programs: int

    @property
    def class_key(self) -> tuple[object, ...]:
        """What the compiled kernel depends on."""
        return self.kernel, self.word, self.constants, self.warps

    @property
    def values(self) -> tuple[int, ...]:
        """The constants in the kernel's order."""
        return tuple(value for _, value in self.constants)


@lru_cache(maxsize=4096)
def launch_of(plan: CopyPlan, alignment: int, **tuned: int) -> Launch | None:
    """The launch for a plan whose pointers are both multiples of `alignment` bytes; None where no kernel fits.

    `tuned` overrides the rule's tile (`along_source`, `along_destination`, both in words) and `warps`, to measure it.
    """
    others = [axis for axis in range(len(plan.dims)) if axis not in {plan.source_axis, plan.destination_axis}]
    if len(others) > OUTER or plan.dims == (1,):
        return None
    steps = [stride for axis in others for stride in (plan.source[axis], plan.destination[axis])]
    found = _interleave(plan, alignment, steps, tuned) or _tile(plan, alignment, steps, tuned)
    found = found or _blocks(plan, alignment, steps, tuned)
    kernel, word, granule, constants, head, warps, tiles = found
    outer = [(plan.dims[axis], plan.source[axis] // granule, plan.destination[axis] // granule) for axis in others]
    # The innermost first: it is divided off first.
    integers = [
        *head,
        *(number for triple in reversed(outer) for number in triple),
        *([1, 0, 0] * (OUTER - len(others))),
    ]
    programs = tiles * prod(size for size, _, _ in outer)
    if max(map(abs, integers)) > _INT32 or programs > _INT32:
        return None
    reach = max(plan.nbytes, sum(abs(s) * (n - 1) for n, s in zip(plan.dims, plan.source, strict=True)) + plan.item)
    fixed = {
        **constants,
        "GRANULE": granule // word,
        "OUTERS": len(others),
        "WIDE": int(reach // word > _INT32 - 2**20),
    }
    return Launch(kernel, word, tuple(fixed.items()), tuple(integers), warps, programs)


_Found = tuple[str, int, int, dict[str, int], list[int], int, int]


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
    word = min(4, granule) if plan.item < 4 else plan.item
    granule = max(granule, word)
    if plan.item < 4 and word < 4:
        word = plan.item
        granule = max(word, gcd(granule, word))
    per_tile = tuned.get("along_source", 512 if plan.item >= 4 or word == 4 else 1024)
    words = plan.dims[long] * plan.item // word
    constants = {"FEW": plan.dims[few], "PER_WORD": word // plan.item, "TILE": per_tile}
    head = [words * word // granule, plane // granule]
    warps = tuned.get("warps", _warps(per_tile * 4))
    return plan.kind, word, granule, constants, head, warps, _parts(words, per_tile)


def _tile(plan: CopyPlan, alignment: int, steps: list[int], tuned: dict[str, int]) -> _Found | None:
    """Two unit-stride dims, exchanged through shared memory: whole lines are read and whole lines are written."""
    a, b = plan.source_axis, plan.destination_axis
    power_of_two = plan.item & (plan.item - 1) == 0
    if plan.kind == "rows" or plan.source[a] != plan.item or plan.item > _SHORT or not power_of_two:
        return None
    item, na, nb = plan.item, plan.dims[a], plan.dims[b]
    granule = _granule(alignment, plan.source[b], plan.destination[a], na * item, nb * item, *steps)
    if item < 4 and granule >= 4:
        rows = 4 // item
        along_a, along_b = _square(na // rows, nb // rows, 32, 32, tuned)
        constants = {"ROWS": rows, "ALONG_A": along_a, "ALONG_B": along_b}
        head = [na * item // granule, nb * item // granule, plan.source[b] // granule, plan.destination[a] // granule]
        tiles = _parts(na // rows, along_a) * _parts(nb // rows, along_b)
        return "pack", 4, granule, constants, head, tuned.get("warps", _warps(rows * along_a * along_b)), tiles
    word = min(item, granule, 8) if item > 8 else min(item, granule)
    if word not in WORDS:
        return None
    odd = granule < 16
    items = item // word
    along_a, along_b = _square(na, nb, max(1, 64 // items), max(1, (128 if odd and items == 1 else 64) // items), tuned)
    constants = {"ALONG_A": along_a, "ALONG_B": along_b, "ITEM": items}
    head = [na * item // granule, nb * item // granule, plan.source[b] // granule, plan.destination[a] // granule]
    warps = tuned.get("warps", _warps(along_a * along_b * items * max(1, word // 4)))
    return "tile", word, granule, constants, head, warps, _parts(na, along_a) * _parts(nb, along_b)


def _square(na: int, nb: int, along_a: int, along_b: int, tuned: dict[str, int]) -> tuple[int, int]:
    """The tile, or as much of it as the dims fill; what one dim leaves the other takes."""
    room = along_a * along_b
    a, b = min(_power(na), along_a), min(_power(nb), along_b)
    a, b = min(_power(na), room // b), min(_power(nb), room // a)
    if a * b > room:
        a = room // b
    return tuned.get("along_source", a), tuned.get("along_destination", b)


def _blocks(plan: CopyPlan, alignment: int, steps: list[int], tuned: dict[str, int]) -> _Found:
    """Items of any length over both dims, each written where it belongs."""
    a, b = plan.source_axis, plan.destination_axis
    both = a != b
    strides = [plan.source[b], *([plan.source[a], plan.destination[a]] if both else [])]
    granule = _granule(alignment, plan.item, *strides, *steps)
    word = min(granule, 4) if plan.item % 8 or granule < 8 or plan.item > 8 else 8
    words, na, nb = plan.item // word, plan.dims[a] if both else 1, plan.dims[b]
    room = tuned.get("room", 4096)
    along_item = min(_power(words), 1024)
    along_b = min(_power(nb), max(1, room // along_item))
    along_a = min(_power(na), max(1, room // (along_item * along_b)))
    constants = {"ALONG_A": along_a, "ALONG_B": along_b, "ALONG_ITEM": along_item}
    per_a = (plan.source[a] // granule, plan.destination[a] // granule) if both else (0, 0)
    head = [na, nb, plan.item // granule, *per_a, plan.source[b] // granule]
    tiles = _parts(na, along_a) * _parts(nb, along_b) * _parts(words, along_item)
    warps = tuned.get("warps", _warps(along_a * along_b * along_item))
    return "blocks", word, granule, constants, head, warps, tiles
