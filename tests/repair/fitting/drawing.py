"""Tables drawn at random, as programs write them: positions from a start, over a scale, along a curve, in a layout.

`python -m tests.repair.fitting.drawing [--count 3000] [--start 0] [--parity mixed]` draws tables, shows each at two
random sizes, and counts what becomes of them elsewhere: right, wrong, ambiguous, unknown.  Those that are wrong are
printed: numbers that are equal by chance, and, where the sizes are all even or all odd, what these do not tell.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from onereshape.ground.numpy_types import Array
from onereshape.repair.fitting.exported import Exported, Fit, size_at
from onereshape.repair.fitting.families import readings_of
from onereshape.rule.sizes import Size, cut, symbol

H, W = symbol("H"), symbol("W")
Sizes = Mapping[str, int]

SCALES: dict[str, Callable[[int], float]] = {
    "1": lambda _: 1,
    "n": lambda n: n,
    "n - 1": lambda n: n - 1,
    "n/2": lambda n: n / 2,
    "n//2": lambda n: n // 2,
    "n//2 + 1": lambda n: n // 2 + 1,
    "(n + 1)//2": lambda n: (n + 1) // 2,
}
STARTS: dict[str, Callable[[Array, int], Array]] = {
    "i": lambda i, _: i,
    "i + 1/2": lambda i, _: i + 0.5,
    "i + 1": lambda i, _: i + 1,
    "i - n//2": lambda i, n: i - n // 2,
    "i - (n - 1)/2": lambda i, n: i - (n - 1) / 2,
    "i - n/2": lambda i, n: i - n / 2,
    "n - 1 - i": lambda i, n: n - 1 - i,
}


class Line(NamedTuple):
    """The formula of the numbers along one axis of a table: a line, its sine or its cosine."""

    scale: str
    start: str
    times: float
    added: float
    wave: str
    """"sin", "cos", or nothing."""

    def __str__(self) -> str:
        return f"{self.wave or 'line'} of {self.times}*({self.start})/({self.scale}) + {self.added}"

    def at(self, size: int) -> Array:
        """The numbers along an axis of some size."""
        places = STARTS[self.start](np.arange(size), size) / SCALES[self.scale](size)
        if self.wave:
            return np.asarray(getattr(np, self.wave)(places * self.times))
        return np.asarray(places * self.times + self.added)


def _picture(y: Array, x: Array) -> Array:
    return np.stack(np.broadcast_arrays(y[:, None], x[None]), -1)


Layout = Callable[[Array, Array], Array]
"""From what stands along both axes to a table."""
LAYOUTS: dict[str, tuple[tuple[Size, ...], Layout]] = {
    "a row": ((H,), lambda y, _: y),
    "columns": ((H, 3), lambda y, _: np.stack([y, 2 * y, -y], -1)),
    "a picture": ((H, W, 2), _picture),
    "a picture row by row": ((H * W, 2), lambda y, x: _picture(y, x).reshape(-1, 2)),
    "a picture column by column": ((H * W, 2), lambda y, x: _picture(y, x).swapaxes(0, 1).reshape(-1, 2)),
    "sums": ((H, W), np.add.outer),
    "sums row by row": ((H * W,), lambda y, x: np.add.outer(y, x).reshape(-1)),
    "products": ((H, W), np.multiply.outer),
    "differences": ((H, H), lambda y, _: np.subtract.outer(y, y)),
    "behind two entries": ((H + 2,), lambda y, _: np.concatenate([[7.0, 9.0], y])),
    "before an entry": ((H + 1,), lambda y, _: np.concatenate([y, [7.0]])),
    "behind its mirror": ((2 * H - 1,), lambda y, _: np.concatenate([-y[:0:-1], y])),
    "two levels": (
        (H * W + cut(H + 1, 2) * cut(W + 1, 2), 2),
        lambda y, x: np.concatenate([_picture(a, b).reshape(-1, 2) for a, b in ((y, x), (y[::2], x[::2]))]),
    ),
    "four of each": ((4 * H,), lambda y, _: np.repeat(y, 4)),
    "four times": ((4 * H,), lambda y, _: np.tile(y, 4)),
    "pairs": ((2 * H,), lambda y, _: np.stack([y, y + 1], -1).reshape(-1)),
    "windows": ((8 * H,), lambda y, _: np.add.outer(y, np.arange(8)).reshape(-1)),
}


class Table(NamedTuple):
    """A table at any sizes."""

    layout: str
    down: Line
    across: Line

    def at(self, sizes: Sizes) -> Array:
        """The table at given sizes."""
        made = LAYOUTS[self.layout][1](self.down.at(sizes["H"]), self.across.at(sizes["W"]))
        return np.ascontiguousarray(made, np.float32)


def drawn(seed: int) -> Table:
    """The table of a seed, drawn at random."""
    rng = random.Random(seed)  # noqa: S311 - no secret

    def line() -> Line:
        times, wave = rng.choice((1, 2, -1, 8)), rng.choice(("", "", "", "", "sin", "cos"))
        added = rng.choice((0, 0, -1, 1, 0.5))
        return Line(rng.choice(list(SCALES)), rng.choice(list(STARTS)), times / 10 if wave else times, added, wave)

    return Table(rng.choice(list(LAYOUTS)), line(), line())


def verdict(table: Table, shown: tuple[Sizes, ...]) -> tuple[str, str]:
    """What becomes of a table that is shown at some sizes, and what it is read as."""
    arrays = tuple(table.at(sizes) for sizes in shown)
    found = readings_of(Exported(arrays, tuple(shown), LAYOUTS[table.layout][0], (H, W)))
    if len(found) != 1:
        return ("ambiguous" if found else "unknown"), ""
    elsewhere = [{name: size + more for name, size in sizes.items()} for sizes in shown for more in (1, 2, 3, 5, 16)]
    right = all(_is_right(table, found[0], sizes) for sizes in elsewhere)
    return ("right" if right else "wrong"), found[0].words


def _is_right(table: Table, fit: Fit, sizes: Sizes) -> bool:
    """Whether a fit is a table at other sizes, or says that it is none there."""
    if any(size_at(limit.size, sizes) > limit.most for limit in fit.limits):
        return True
    made, true = fit.at(sizes), table.at(sizes)
    near = 1e-3 * max(1.0, float(np.abs(true).max()))
    return made.shape == true.shape and bool(np.allclose(made, true, rtol=0, atol=near))


def _sizes(rng: random.Random, parity: str) -> tuple[int, int]:
    """Two sizes at least 8 apart, both even, both odd, or one of each, as `parity` says."""
    first = rng.randrange(8, 40)
    second = first + 2 * rng.randrange(4, 14) + (parity == "mixed")
    more = 1 if parity in ("even", "odd") and first % 2 != (parity == "odd") else 0
    return (first + more, second + more) if rng.random() < 0.5 else (second + more, first + more)


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--parity", choices=("mixed", "even", "odd"), default="mixed")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for seed in range(options.start, options.start + options.count):
        rng, table = random.Random(seed), drawn(seed)  # noqa: S311
        down, across = _sizes(rng, options.parity), _sizes(rng, options.parity)
        shown = tuple({"H": h, "W": w} for h, w in zip(down, across, strict=True))
        became, words = verdict(table, shown)
        counts[became] += 1
        if became == "wrong":
            print(f"{seed}: {table.layout}: {table.down}; {table.across}; at {shown}: {words}")
    print(", ".join(f"{count} {became}" for became, count in sorted(counts.items())))


if __name__ == "__main__":
    _main()
