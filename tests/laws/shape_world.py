"""The small world of the law of shapes: every operator whose shape rule is believed, over what its rule tells apart."""

from __future__ import annotations

from tests.laws import (
    shape_contributed,
    shape_layers,
    shape_learned,
    shape_moves,
    shape_pointwise,
    shape_sequences,
    shape_signals,
    shape_texts,
)
from tests.laws.shape_law import Case

FAMILIES = [
    *(shape_pointwise.unary, shape_pointwise.binary, shape_pointwise.contractions, shape_pointwise.reductions),
    *(shape_moves.layout, shape_moves.indexing),
    *(shape_layers.spatial, shape_layers.layers, shape_layers.flow),
    *(shape_contributed.contributed, shape_contributed.attending, shape_learned.learned),
    *(shape_signals.signals, shape_signals.experimental, shape_sequences.sequences),
    *(shape_texts.texts, shape_texts.newer),
]

CASES: list[Case] = [case for family in FAMILIES for case in family()]
