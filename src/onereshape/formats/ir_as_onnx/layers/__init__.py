"""How each type of layer is drawn: a function from a `Layer` to the values that come out of its ports.

RECORDS has the functions by type, REASONS says why a type has none.  A file has one family; begin with `reductions`.

A new layer is a function in the file of its family, which draws it with ONNX nodes or raises `UndrawnError` with the
reason, and a row of that file's RECORDS.  Six cases or more in `tests/formats/layers/world_*.py` ask openvino and
onnxruntime for the same answer.  A node that a repair adds, or that a drawing has, needs its spelling as layers too:
`from_onnx*.py` above this room, and a line in `tests/formats/layers/test_spelling.py`.

    python -m tests.formats.layers.test_records TYPE
    pytest tests/formats/layers
"""

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
