"""The small world, and how much of it each engine is asked.

All data of rank 0 to 3 with dims 0 to 4 and all targets of length 0 to 3 with entries -2 to 4: 62,400 pairs for each
meaning of 0.  Every engine is asked a part of it that holds at least every pair of rank and length 0 and 1, of most
engines also every pair up to 2, and by `make worlds` all of it, if it is fast.  Beside it a far world: a few sizes
beyond what int32, floating point and int64 can tell apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import chain, product

from tests.budget import WHOLE, part
from tests.engines.answers import Dims
from tests.engines.engines import Engine

Pair = tuple[Dims, Dims]


@cache
def _tuples(longest: int, smallest: int, largest: int) -> tuple[Dims, ...]:
    return tuple(dims for length in range(longest + 1) for dims in product(range(smallest, largest + 1), repeat=length))


def _pairs(longest: int, largest: int) -> Iterable[Pair]:
    return product(_tuples(longest, 0, largest), _tuples(longest, -2, largest))


def whole() -> Iterable[Pair]:
    """All pairs; of those that `nearer` does not have, `make test` asks one in ninety."""
    if WHOLE:
        return _pairs(3, 4)
    asked = dict.fromkeys(nearer())
    return chain(asked, part((pair for pair in _pairs(3, 4) if pair not in asked), 90))


def near() -> Iterator[Pair]:
    """All pairs of rank and length 0 to 2; those with a 3 only for dims and entries up to 2."""
    yield from flat()
    yield from ((data, target) for data, target in _pairs(3, 2) if 3 in {len(data), len(target)})


def nearer() -> Iterator[Pair]:
    """All pairs of rank and length 0 to 2; of those that `near` has beyond, `make test` asks one in twelve."""
    yield from flat()
    yield from part((pair for pair in near() if 3 in map(len, pair)), 12)


def flat() -> Iterable[Pair]:
    """All pairs of rank and length 0 to 2."""
    return _pairs(2, 4)


def thin() -> Iterator[Pair]:
    """All pairs of rank and length 0 and 1; of those that `nearer` has beyond, `make test` asks one in three."""
    yield from _pairs(1, 4)
    yield from part((pair for pair in nearer() if max(map(len, pair)) > 1), 3)


WORLDS: dict[str, Callable[[], Iterable[Pair]]] = {
    "onnx-reference-24": whole,
    "onnx-reference-13": nearer,
    "onnx-inference-24": whole,
    "onnx-inference-13": nearer,
    "onnx-inference-1": flat,
    "onnxruntime-24": whole,
    "onnxruntime-24-constant": thin if not WHOLE else flat,  # a session for each pair
    "onnxruntime-13": thin,  # a refusal takes onnxruntime a quarter of a millisecond
    "onnxruntime-1": thin,
    "openvino-inference": whole,
    "openvino-evaluate": thin,  # it infers with the code of openvino-inference
    "openvino-cpu": thin,  # half a millisecond a refusal, on every core
    "onednn-graph": thin,  # a graph compiled for each pair
    "numpy": whole,
}
"""Not the two engines that compile a model for each pair, which takes 20 ms: for them there are the recorded cases."""

_SIZES = (-1, 0, 1, 3, 2**32, 2**53 + 1, 2**61)
_FAR_TARGETS = tuple(target for length in (1, 2, 3) for target in product(_SIZES, repeat=length) if max(target) > 3)
_FAR_DATA = ((), (1,), (6,), (0,), (2, 3), (0, 3))
_HUGE_DATA = ((2**53 + 1,), (3 * (2**53 + 1),), (2**61, 3))


def far(engine: Engine) -> Iterable[Pair]:
    """Sizes where int32, floating point and int64 end, of which `make test` asks one in four; huge data only for an
    engine that needs no elements.
    """
    return part(product(_FAR_DATA + _HUGE_DATA if "inference" in engine.name else _FAR_DATA, _FAR_TARGETS), 4)


def world_of(engine: Engine) -> Iterator[Pair]:
    yield from WORLDS[engine.name]()
    yield from far(engine)
