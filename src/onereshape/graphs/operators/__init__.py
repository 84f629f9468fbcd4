"""The operators: one record each, in the file of its family, with its rules beside it.

Begin with `layout`, whose Transpose has nearly every rule; `graphs/record.py` says what each field of a record means.

A new operator is a row of its family's `RECORDS`.  It needs a maker in `tests/hostile`, which puts it into random
graphs, and for each field of its record the cases below; a field that is left off is safe, and a rule that is not sure
refuses.

- `shape`, `elements`: cases in `tests/laws/shape_*.py`, each held against onnxruntime.  What is said must hold in every
  run: else a new size, a refusal, or a condition (`at_least`).
- `batch`: 12 cases or more in the `tests/laws/batching_*.py` of its family: every axis that N can have, also inside of
  other entries, every opset, one sample and several, inputs that samples share; `free=False` where a refusal is right.
  What is easily got wrong is a trap; at least one planted bug goes into `batching_mutants.py`.  An input that holds
  sizes is in `slots` if the rule reads it; else what grows with N there is pinned to what one sample had.  The operator
  leaves `WILD` of `tests/hostile/generator.py`.
- `free`: a model written for any size in `tests/repair/freeing_operators.py`, whose text at other sizes is the judge;
  think of a size of 1 that does not broadcast, of a constant that is the old size, of two sizes that are equal by
  chance.  Also a line in `tests/repair/fitting/world_operators.py`.
- `grows`, and constants at a `free` operator: what becomes of them in `tests/repair/freeing_cases.py`, what forbids it
  in `freeing_refusals.py`, in words that the owner of a model understands.
- `folds`: cases in `tests/laws/folding_*.py`; `work` where it can make more than it is given, `fold` where
  onnx.reference is wrong.
- `takes`: words of `graphs/takes.py` for its inputs, `carries` and `in_order` for what is handed on; cases in
  `tests/prove/test_draw.py`.  A new word is drawn in `prove/values`.

For an operator NAME::

    python -m tests.laws.test_shapes NAME
    python -m tests.laws.test_shape_precision      # writes how much is known, where `shape` is new
    python -m tests.laws.test_batching NAME
    pytest tests/laws/test_shapes.py tests/laws/test_batching.py -k "NAME or nothing_is_tested or planted or names"
    pytest tests/repair/test_freeing.py tests/repair/test_freeing_operators.py tests/repair/fitting
    pytest tests/laws/test_folding.py tests/prove/test_draw.py tests/graphs/test_records.py tests/test_house.py
    pytest tests/test_hostile.py -k "every_operator or planted"
    python -m tests.hostile --count 5000 --rooms batch
    python -m tests.hostile SEED --shrink          # the smallest graph that fails like this one
    onereshape fix MODEL -o OTHER --batch          # on a small model with it: is it proven?

Door: contractions.
"""

from __future__ import annotations

from onereshape.graphs.operators import (
    arithmetic,
    attention,
    choosing,
    contractions,
    contributed,
    control,
    experimental,
    features,
    filling,
    images,
    indexing,
    joining,
    layout,
    normalising,
    padding,
    pointwise,
    predictors,
    quantised,
    quantising,
    random_numbers as drawing,
    recurrent,
    reductions,
    regions,
    repeating,
    reshape,
    scattering,
    sequences,
    signals,
    sizes,
    slicing,
    states,
    texts,
    windows,
)
from onereshape.graphs.record import RECORDS, Record, record_named, record_of
from onereshape.graphs.registry import operator_of

__all__ = ["FAMILIES", "RECORDS", "Record", "operator_of", "record_named", "record_of"]

FAMILIES = (
    *(pointwise, arithmetic, normalising, quantising, contractions, reductions, recurrent),
    *(layout, reshape, repeating, filling, joining, slicing, padding, indexing, scattering, choosing),
    *(windows, images, regions, signals, sizes, drawing, control, contributed, experimental),
    *(attention, features, predictors, quantised, sequences, states, texts),
)

for family in FAMILIES:
    RECORDS.update(family.RECORDS)
