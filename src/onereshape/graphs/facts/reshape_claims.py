"""Whether the dims that are claimed for a Reshape are so wherever it succeeds, sizes of 0 included.

The rule's answer holds under conditions such as "N >= 1": where N is 0, an entry N of the target is a 0, which copies.
Often the Reshape then fails, or gives the same dims all the same; what differs must not be claimed.  This is tried at
small sizes, in integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from onereshape.graphs.facts.reshape_runs import run
from onereshape.graphs.facts.samples import number_of, samples_of
from onereshape.rule.sizes import Size

SizeTuple = tuple[Size, ...]


@lru_cache(maxsize=1024)
def sure_axes(data: SizeTuple, target: SizeTuple, output: SizeTuple, *, copies: bool) -> frozenset[int]:
    """The axes of `output` that are so at all sizes that are tried and at which the Reshape succeeds."""
    sure = set(range(len(output)))
    for chosen in samples_of((*data, *target, *output)):
        dims, words = (_numbers(sizes, chosen) for sizes in (data, target))
        found = None if dims is None or words is None or min(dims, default=0) < 0 else run(dims, words, copies=copies)
        if found is None:
            continue
        claimed = [number_of(size, chosen) for size in output]
        sure &= {axis for axis, (is_, said) in enumerate(zip(found, claimed, strict=True)) if is_ == said}
    return frozenset(sure)


def _numbers(sizes: SizeTuple, chosen: Mapping[str, int]) -> list[int] | None:
    values = [value for size in sizes if (value := number_of(size, chosen)) is not None]
    return values if len(values) == len(sizes) else None
