"""Numbers that say something else where they are negative: a Pad removes then, and a Slice counts from the end.

No export shows what a model does beyond the sizes at which such a number changes its sign: a picture that is padded to
a square on one side is padded on the other where it is wide.  So the number keeps the sign that it has in all exports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import onnx_ir as ir

from onereshape.models.like.exported import Binding, Limit
from onereshape.models.like.formulas import Known
from onereshape.models.record import operator_of
from onereshape.sizes import Formula, Size

_SIGNED = {
    ("Pad", 1): "a pad that is negative removes entries",
    ("Slice", 1): "a start that is negative counts from the end",
    ("Slice", 2): "an end that is negative counts from the end",
    ("Gather", 1): "an index that is negative counts from the end",
    ("Tile", 1): "nothing is repeated less than 0 times",
}
"""The inputs whose numbers may be negative, or must not be."""
_FEW = 24
"""Small sizes of a symbol that are tried."""


def signs(node: ir.Node, slot: int | str, entries: Sequence[Size], known: Known) -> Iterator[Limit]:
    """What keeps the signs of numbers as all exports have them, where a number may change its sign at all."""
    why = _SIGNED.get((operator_of(node), slot)) if isinstance(slot, int) else None
    for size in entries if why is not None else ():
        values = known.values(size)
        if why is None or values is None or not isinstance(size, Formula):
            continue
        if min(values) >= 0 and not _never_below(size, 0, known):
            yield Limit(0 - size, 0, why)
        elif max(values) < 0 and not _never_below(0 - size, 1, known):
            yield Limit(size, -1, f"only {why}")


def _never_below(size: Size, least: int, known: Known) -> bool:
    """Whether a size is at least a number, from sizes of 1 on."""
    try:
        return known.never_below(size, least) and all(_at(size, each) >= least for each in _small(known))
    except ZeroDivisionError:
        return False


def _small(known: Known) -> Iterator[Binding]:
    """Sizes that go to 1, all of them together and each alone; of the exports' rests, where others do not run."""
    first = {name: size for name, size in known.bindings[0].items() if not name.startswith("?")}
    for name in (None, *first):
        for turn in range(_FEW):
            found = dict(first)
            for each in first if name is None else (name,):
                step = known.steps.get(each, 1)
                found[each] = (first[each] - 1) % step + 1 + turn * step
            yield found


def _at(size: Size, binding: Binding) -> float:
    return float(size.at(binding)) if isinstance(size, Formula) else size
