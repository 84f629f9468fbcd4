"""Few seeds whose graphs have every operator that has a rule between them.

They are no longer those once a maker has changed; `python -m tests.hostile.covering` finds others.
"""

from __future__ import annotations

import onnx.defs

from onereshape.graphs.operators import RECORDS
from tests.hostile.generator import OPSETS, case

MOST = 2500
"""Seeds among which each operator is to be found."""
APART = frozenset({"ai.onnx.ml::ZipMap", "com.microsoft::DynamicQuantizeLSTM"})
"""A ZipMap, of whose maps no other operator makes anything, and what onnxruntime dies of."""
NEWER = frozenset(op for op in RECORDS if onnx.defs.has(op) and not onnx.defs.has(op, max(OPSETS)))
SEEDS = (
    *(1419, 77, 389, 1092, 55, 806, 52, 419, 461, 64, 420, 370, 593, 114, 126, 324, 459, 1020, 214, 274, 428),
    *(559, 771, 70, 142, 169, 296, 356, 696, 770, 1071, 1295, 21, 135, 177, 207, 643, 748, 1013, 1191, 1363, 1369),
    *(1485, 8, 22, 36, 74, 94, 101, 175, 180, 191, 279, 343, 409, 476, 489, 497, 523, 1051, 1519),
)


def wanted() -> set[str]:
    """The operators that must be in some graph."""
    return {op for op, record in RECORDS.items() if record.batch is not None} - APART - NEWER


def covering() -> list[int]:
    """Seeds that have them all, those with the most of them first."""
    graphs: dict[int, set[str]] = {}
    missing = wanted()
    for seed in range(MOST):
        graphs[seed] = wanted() & set(case(seed).ops)
        missing -= graphs[seed]
        if not missing:
            break
    found, missing = [], wanted() - missing
    while missing:
        seed = max(graphs, key=lambda each: len(graphs[each] & missing))
        found.append(seed)
        missing -= graphs[seed]
    return found


if __name__ == "__main__":
    print(*covering(), sep=", ")
