"""The world of the law of batching: cases for every operator that has a rule.

The families make far more cases than a test should take time for; `WORLD` holds some of each operator, spread over all
that there are, and `whole_world` all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tests.laws.batching_attention import attending
from tests.laws.batching_contractions import contractions
from tests.laws.batching_contributed import contributed
from tests.laws.batching_control import control
from tests.laws.batching_experimental import experimental
from tests.laws.batching_growth import traps
from tests.laws.batching_indexing import indexing
from tests.laws.batching_layout import layout
from tests.laws.batching_learned import learned
from tests.laws.batching_lists import lists
from tests.laws.batching_meetings import meetings
from tests.laws.batching_pointwise import pointwise
from tests.laws.batching_sequences import sequences
from tests.laws.batching_shipped import shipped
from tests.laws.batching_signals import signals
from tests.laws.batching_sketch import Sketch
from tests.laws.batching_spatial import spatial
from tests.laws.batching_texts import texts

MANY = {
    **dict.fromkeys(
        "Add Where Concat Split Slice Squeeze Expand Gather GatherND ScatterND MatMul Gemm Einsum If Loop Scan".split(),
        40,
    ),
    "Reshape": 80,
    "ai.onnx.ml::ArrayFeatureExtractor": 40,
}
"""How many cases of the operators on which most depends; of others there are a dozen or a few more."""
FEW = 13


def whole_world() -> Iterator[Sketch]:
    """All cases."""
    families = (traps, meetings, pointwise, layout, contractions, indexing, spatial, control, learned, contributed)
    for family in (*families, attending, signals, experimental, lists, shipped, sequences, texts):
        yield from family()


def thinned(cases: list[Sketch], most: int) -> list[Sketch]:
    """So many of the cases, at even distances; the traps are first and all stay."""
    kept = [case for case in cases if case.trap]
    others = cases[len(kept) :]
    most = min(most, len(others))
    return kept + [others[place * len(others) // most] for place in range(most)]


def _world() -> dict[str, list[Sketch]]:
    found: dict[str, list[Sketch]] = defaultdict(list)
    for case in whole_world():
        found[case.about].append(case)
    return {op: thinned(cases, MANY.get(op, FEW)) for op, cases in found.items()}


WORLD = _world()
