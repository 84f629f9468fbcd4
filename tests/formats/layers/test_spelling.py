"""Every node that may have to be written as layers is, and answers as it does in onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.formats.ir_as_onnx.from_onnx import SPELLINGS
from tests.formats.layers.spelled import Array, Node, wrong

_RANDOM = np.random.default_rng(18)


def _real(*dims: int, low: float = -2, high: float = 2) -> Array:
    return np.asarray(_RANDOM.uniform(low, high, dims), np.float32)


def _whole(*dims: int, low: int = -5, high: int = 5, kind: Any = np.int64) -> Array:
    return np.asarray(_RANDOM.integers(low, high + 1, dims), kind)


def _truth(*dims: int) -> Array:
    return np.asarray(_RANDOM.integers(0, 2, dims), np.bool_)


def _held(*numbers: int) -> tuple[Array]:
    return (np.array(numbers, np.int64),)


_SAME = {
    **dict.fromkeys(
        ("Abs", "Asinh", "Atan", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "HardSwish", "Identity"), (-2, 2)
    ),
    **dict.fromkeys(
        ("IsNaN", "Mish", "Neg", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign"), (-2, 2)
    ),
    **dict.fromkeys(
        ("Tan", "Tanh", "Gelu", "Softmax", "LogSoftmax", "Elu", "HardSigmoid", "IsInf", "Size", "Shape"), (-1, 1)
    ),
    **dict.fromkeys(("Log", "Sqrt"), (0.1, 2)),
    **dict.fromkeys(("Acos", "Asin", "Atanh"), (-0.9, 0.9)),
    "Acosh": (1, 3),
    "Transpose": (-1, 1),
}
_PAIRS = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")
_BOTH = {"LSTM": 4, "GRU": 3, "RNN": 1}


def _recurrent(op: str, direction: str, **said: Any) -> Node:
    ways, gates, size = 2 if direction == "bidirectional" else 1, _BOTH[op], 4
    weights = [(_real(ways, gates * size, each),) for each in (3, size)]
    lengths = None if said.pop("whole", False) else (np.array([3, 5], np.int32),)
    states = [_real(ways, 2, size) for _ in range(2 if op == "LSTM" else 1)]
    inputs = (_real(5, 2, 3), *weights, (_real(ways, 2 * gates * size),), lengths, *states)
    return Node(op, inputs, {"hidden_size": size, "direction": direction, **said}, 1 + len(states))


NODES = [
    *(Node(op, (_real(2, 3, 4, low=low, high=high),)) for op, (low, high) in _SAME.items()),
    *(Node(op, (_real(2, 3), _real(3))) for op in _PAIRS),
    *(Node(op, (_whole(2, 3), _whole(2, 1))) for op in _PAIRS if op != "Div"),
    *(Node(op, (_truth(2, 3), _truth(3))) for op in ("And", "Or", "Xor")),
    *(Node(f"Bitwise{op}", (_whole(2, 3, kind=np.int32), _whole(3, kind=np.int32))) for op in ("And", "Or", "Xor")),
    *(
        Node(
            "BitShift",
            (_whole(4, low=0, high=90, kind=np.uint32), _whole(4, low=0, high=5, kind=np.uint32)),
            {"direction": way},
        )
        for way in ("LEFT", "RIGHT")
    ),
    *(
        Node(f"Reduce{way}", (_real(2, 3, 4), _held(0, 2)), {"keepdims": keep})
        for way in ("L1", "L2", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
        for keep in (0, 1)
    ),
    Node("BitwiseNot", (_whole(2, 3, kind=np.int32),)),
    Node("Not", (_truth(2, 3),)),
    Node("Pow", (_real(2, 3, low=0.2), _real(3))),
    Node("Div", (_whole(2, 3, low=-9, high=9), (np.array([2, -3, 4]),))),
    Node("Mod", (_whole(2, 3, low=-9, high=9), (np.array([2, -3, 4]),))),
    Node("Mod", (_real(2, 3, low=-9, high=9), _real(3, low=1, high=2)), {"fmod": 1}),
    Node("Cast", (_real(2, 3),), {"to": 7}),
    Node("CastLike", (_real(2, 3), _whole(1))),
    Node("Clip", (_real(2, 3), (np.float32(-0.5),), (np.float32(0.5),))),
    Node("Clip", (_real(2, 3), None, (np.float32(0.5),))),
    Node("Clip", (_real(2, 3), (np.float32(0.5),))),
    Node("Concat", (_real(2, 3), _real(1, 3)), {"axis": 0}),
    Node("ConstantOfShape", (_whole(2, low=1, high=3),)),
    Node("CumSum", (_real(2, 3), (np.array(1),)), {"exclusive": 1, "reverse": 1}),
    Node("Einsum", (_real(2, 3), _real(3, 4)), {"equation": "ij,jk->ik"}),
    Node("Elu", (_real(2, 3),), {"alpha": 0.3}),
    Node("Expand", (_real(3, 1), _held(2, 1, 4))),
    Node("Gather", (_real(3, 4), _whole(2, 2, low=-3, high=2)), {"axis": 1}),
    Node("GatherElements", (_real(3, 4), _whole(3, 2, low=0, high=2)), {"axis": 1}),
    Node("GatherND", (_real(2, 3, 4), _whole(2, 1, low=0, high=2)), {"batch_dims": 1}),
    Node("Gelu", (_real(2, 3),), {"approximate": "tanh"}, loose=1e-3),
    Node("HardSigmoid", (_real(2, 3),), {"alpha": 0.4, "beta": 0.1}),
    Node("IsInf", (np.array([np.inf, -np.inf, 1], np.float32),), {"detect_negative": 0}),
    Node("MatMul", (_real(2, 3, 4), _real(4, 2))),
    Node("NonZero", (_whole(2, 3, low=0, high=1, kind=np.int32),)),
    Node("OneHot", (_whole(2, 3, low=-4, high=3), _held(4), (np.array([0.5, 2], np.float32),)), {"axis": 1}),
    Node("PRelu", (_real(2, 3, 4), (_real(3, 1),))),
    Node("Range", (np.array(1), np.array(9), np.array(3))),
    Node("Reshape", (_real(2, 3, 4), _held(0, -1))),
    Node("Reshape", (_real(2, 0, 4), _held(0, 5)), {"allowzero": 1}),
    Node("ReverseSequence", (_real(4, 2, 3), _held(3, 1)), {"batch_axis": 1, "time_axis": 0}),
    Node("ScatterElements", (_real(3, 4), (np.array([[0, 2], [1, 0]]),), _real(2, 2)), {"axis": 1}),
    Node("ScatterElements", (_real(3, 4), (np.array([[0, 2], [0, 0]]),), _real(2, 2)), {"axis": 0, "reduction": "add"}),
    Node("ScatterND", (_real(3, 4), (np.array([[0], [2]]),), _real(2, 4))),
    Node("ScatterND", (_real(3, 4), (np.array([[0], [0]]),), _real(2, 4)), {"reduction": "mul"}),
    Node("Shape", (_real(2, 3, 4),), {"start": 1, "end": -1}),
    Node("Slice", (_real(3, 4), _held(1), _held(4), _held(1), _held(2))),
    Node("Slice", (_real(3, 4), _held(1, 0), _held(3, -1))),
    Node("Softmax", (_real(2, 3, 4),), {"axis": 1}),
    Node("Split", (_real(4, 3),), {"axis": 0, "num_outputs": 2}, 2),
    Node("Split", (_real(4, 3), _held(1, 3)), {"axis": 0}, 2),
    Node("Squeeze", (_real(1, 3, 1), _held(0, 2))),
    Node("Tile", (_real(2, 3), _held(2, 1))),
    Node("TopK", (_real(3, 5), _held(2)), {"axis": 1, "largest": 0}, 2),
    Node("Transpose", (_real(2, 3, 4),), {"perm": [2, 0, 1]}),
    Node("Unsqueeze", (_real(2, 3), _held(0, 2))),
    Node("Where", (_truth(2, 3), _real(3), _real(2, 1))),
    # windows
    Node("AveragePool", (_real(1, 2, 7, 8),), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    Node("AveragePool", (_real(1, 2, 7, 8),), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    Node("BatchNormalization", (_real(2, 3, 4), *((_real(3, low=0.5),) for _ in range(4))), {"epsilon": 1e-3}),
    Node("Conv", (_real(1, 2, 6, 6), (_real(3, 2, 3, 3),)), {"pads": [1, 0, 0, 1], "strides": [2, 1]}),
    Node("Conv", (_real(1, 4, 6, 6), (_real(6, 2, 3, 3),)), {"group": 2, "auto_pad": "SAME_UPPER"}),
    Node("ConvTranspose", (_real(1, 2, 4, 4), (_real(2, 3, 3, 3),)), {"strides": [2, 2], "output_padding": [1, 0]}),
    Node("ConvTranspose", (_real(1, 4, 4, 4), (_real(4, 3, 3, 3),)), {"group": 2, "pads": [1, 0, 0, 1]}),
    Node("DepthToSpace", (_real(1, 8, 2, 3),), {"blocksize": 2, "mode": "CRD"}),
    Node("DepthToSpace", (_real(1, 8, 2, 3),), {"blocksize": 2}),
    Node("GridSample", (_real(1, 2, 4, 4), _real(1, 3, 3, 2, low=-1, high=1)), {"mode": "linear", "align_corners": 1}),
    Node("LRN", (_real(1, 4, 3, 3),), {"size": 3, "alpha": 0.2}),
    Node("MaxPool", (_real(1, 2, 7, 8),), {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    Node("MaxPool", (_real(1, 2, 7, 8),), {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1}, 2),
    Node("Pad", (_real(2, 3), _held(1, 0, 0, 2))),
    Node("Pad", (_real(2, 3), _held(1, 0, 0, 2), (np.float32(7),))),
    Node("Pad", (_real(2, 3), _held(1, 0, 0, 2)), {"mode": "reflect"}),
    Node("Resize", (_real(1, 2, 4, 4), None, None, _held(6, 7)), {"axes": [2, 3], "mode": "linear"}),
    Node("Resize", (_real(1, 2, 4, 4), None, (np.array([1, 1, 2, 2], np.float32),)), {"mode": "nearest"}),
    Node("SpaceToDepth", (_real(1, 2, 4, 6),), {"blocksize": 2}),
    # sequences
    *(_recurrent(op, way) for op in _BOTH for way in ("forward", "reverse", "bidirectional")),
    _recurrent("GRU", "forward", linear_before_reset=1),
    _recurrent("LSTM", "forward", whole=True),
]
PARTS = 8


@pytest.mark.parametrize("start", range(PARTS))
def test_layers_answer_as_the_node(start: int, tmp_path: Path) -> None:
    assert wrong(NODES[start::PARTS], tmp_path) == []


def test_every_spelling_has_a_case() -> None:
    assert SPELLINGS.keys() <= {node.op for node in NODES}
