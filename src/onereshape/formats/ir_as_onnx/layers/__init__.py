"""How each type of layer is drawn: a function from the layer to what comes out of its ports."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import onnx_ir as ir

from onereshape.formats.ir_as_onnx.layer import Layer
from onereshape.formats.ir_as_onnx.layers import (
    contractions,
    images,
    indexing,
    layout,
    normalising,
    pointwise,
    recurrent,
    reductions,
    windows,
)

LayerRule = Callable[[Layer], list[ir.Value]]

RECORDS: Mapping[str, LayerRule] = {
    **pointwise.RECORDS,
    **contractions.RECORDS,
    **layout.RECORDS,
    **indexing.RECORDS,
    **reductions.RECORDS,
    **normalising.RECORDS,
    **windows.RECORDS,
    **recurrent.RECORDS,
    **images.RECORDS,
}

_APART = "ONNX has no words for it"
REASONS: Mapping[str, str] = {
    "CTCGreedyDecoder": _APART,
    "CTCGreedyDecoderSeqLen": _APART,
    "DetectionOutput": "it puts the boxes of all samples into one list",
    "If": "the branches inside it are not read",
    "Loop": "the body inside it is not read",
    "Multinomial": "its numbers are drawn at random",
    "NonMaxSuppressionIEInternal": _APART,
    "PriorBox": _APART,
    "PriorBoxClustered": _APART,
    "Proposal": "it puts the boxes of all samples into one list",
    "RandomUniform": "its numbers are drawn at random",
    "TensorIterator": "the body inside it is not read",
    "Unique": "it looks at the elements of all samples together",
}
"""Why a layer that has no record is not drawn, where more can be said than that."""
