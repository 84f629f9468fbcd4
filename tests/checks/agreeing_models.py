"""Small models of every kind that `check --batch`, `fix --batch` and `report --batch` may have to say something of."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import parser

from tests.shaped_models import HEAD

_CONSTANTS = (
    "int64 zero = {0}, int64 one = {1}, int64 five = {5},"
    " int64[1] two = {2}, int64[1] first = {1}, int64[1] last = {2},"
    " int64[1] no = {0}, int64[1] minus = {-1}, int64[2] w = {1, 2}, int64[1, 1] z = {0}, int64[2] flat = {1, -1},"
    " int64[2] fours = {-1, 4}, int64[3] pairs = {0, -1, 2}, int64[3] halves = {0, 2, 4}, int64[3] out = {-1, 2, 4},"
    " int64[3] ones = {1, 2, 4}, int64[3] several = {4, 2, 4}, bool[8] yes = {1, 1, 1, 1, 1, 1, 1, 1}"
)
_BOXES = "{0}[{1}, 5, 4] b, {0}[{1}, 5] p"
_PAIRS = " e = Unsqueeze(d, last) f = Unsqueeze(i, last) g = Concat<axis = 2>(e, f) y = GatherND(b, g)"
_CHOSEN = "s = Shape(b) n = Gather<axis = 0>(s, zero) v, i = TopK<axis = 1>(p, two)"
_COUNTED = f"{_CHOSEN} r = Range(zero, n, one)"
_IN_A_ROW = " k = Add(i, c) f = Reshape(k, minus) q = Reshape(b, fours) g = Gather<axis = 0>(q, f) y = Reshape(g, out)"

MODELS: dict[str, tuple[str, str, str]] = {
    # inputs, outputs, nodes
    "fixed, in a target": ("float[1, 8] x", "float[1, 2, 4] y", "y = Reshape(x, ones)"),
    "fixed, nothing in its way": ("float[1, 8] x", "float[1, 8] y", "y = Softmax<axis = 1>(x)"),
    "fixed, samples meet": ("float[1, 8] x", "float[1, 8] y", "y = Softmax<axis = 0>(x)"),
    "fixed, a sum along it": ("float[1, 8] x", "float[1, 8] y", "q = CumSum(x, zero) y = Neg(q)"),
    "fixed to several": ("float[4, 8] x", "float[4, 2, 4] y", "y = Reshape(x, several)"),
    "fixed to several, samples meet": ("float[4, 8] x", "float[4, 8] y", "y = Softmax<axis = 0>(x)"),
    "fixed, an output of no axis": ("float[1, 8] x", "float[8] y", "y = Squeeze(x, no)"),
    "no batch, one vector": ("float[13] x", "float[13] y", "y = Softmax<axis = 0>(x)"),
    "no batch, a picture": ("float[32, 32, 3] x", "float[32, 32, 3] y", "y = CumSum(x, zero)"),
    "right, a 0 that copies": ("float[N, 8] x", "float[N, 2, 4] y", "y = Reshape(x, halves)"),
    "right, nothing to see": ("float[N, 8] x", "float[N, 8] y", "y = Softmax<axis = 1>(x)"),
    "right, without a name": ("float[?, 8] x", "float[?, 8] y", "y = Softmax<axis = 1>(x)"),
    "baked, though it has a name": ("float[N, 8] x", "float[N, 2, 4] y", "y = Reshape(x, ones)"),
    "absorbed": ("float[N, 8] x", "float[a, b] y", "q = Reshape(x, flat) y = Softmax<axis = 1>(q)"),
    "absorbed, at the end": ("float[N, 8] x", "float[a, b] y", "y = Reshape(x, flat)"),
    "absorbed, of no name": ("float[?, ?, 8] x", "float[?, ?, ?] y", "y = Reshape(x, ones1)"),
    "absorbed, and set apart": (
        "float[N, 8] x",
        "float[N, 8] y",
        "q = Reshape(x, flat) r = Neg(q) t = Shape(x) y = Reshape(r, t)",
    ),
    "absorbed, and set apart, beside a length": (
        "float[N, S, 8] x",
        "float[N, S, 8] y",
        "q = Reshape(x, flat) r = Neg(q) t = Shape(x) y = Reshape(r, t)",
    ),
    "samples that must divide": ("float[N, 2] x", "float[a, 4] y", "y = Reshape(x, fours)"),
    "a length that must divide": ("float[N, S] x", "float[N, a, 2] y", "y = Reshape(x, pairs)"),
    "a length that is fixed": ("float[N, S] x", "float[N, 2, 4] y", "y = Reshape(x, halves)"),
    "a length that must divide, beside a fixed batch": ("float[1, S] x", "float[1, a, 4] y", "y = Reshape(x, ones1)"),
    "declared falsely": ("float[N, 8] x", "float[1, 8] y", "y = Softmax<axis = 1>(x)"),
    "declared falsely, and baked": ("float[N, 8] x", "float[1, 2, 4] y", "y = Reshape(x, ones)"),
    "samples meet": ("float[N, 8] x", "float[N, 8] y", "y = Softmax<axis = 0>(x)"),
    "samples meet, beside a length": ("float[N, S] x", "float[N, S] y", "y = Softmax<axis = 0>(x)"),
    "samples are chosen": ("float[N, 8] x", "float[N, 8] y", "y = Compress<axis = 0>(x, yes)"),
    "boxes by pairs": (
        _BOXES.format("float", "N"),
        "float[N, 2, 4] y",
        f"{_COUNTED} c = Unsqueeze(r, first) d = Expand(c, w){_PAIRS}",
    ),
    "boxes by pairs, fixed": (
        _BOXES.format("float", "1"),
        "float[1, 2, 4] y",
        f"v, i = TopK<axis = 1>(p, two) d = Expand(z, w){_PAIRS}",
    ),
    "boxes by pairs, all of the first": (
        _BOXES.format("float", "N"),
        "float[N, 2, 4] y",
        f"{_CHOSEN} j = Unsqueeze(n, no) k = Concat<axis = 0>(j, two) d = Expand(z, k){_PAIRS}",
    ),
    "boxes in a row": (
        _BOXES.format("float", "N"),
        "float[N, 2, 4] y",
        f"{_COUNTED} a = Mul(r, five) c = Unsqueeze(a, first){_IN_A_ROW}",
    ),
    "boxes in a row, by their number": (
        "float[N, A, 4] b, float[N, A] p",
        "float[N, 2, 4] y",
        f"{_COUNTED} h = Gather<axis = 0>(s, one) a = Mul(r, h) c = Unsqueeze(a, first){_IN_A_ROW}",
    ),
    "boxes in a row, by other steps": (
        _BOXES.format("float", "N"),
        "float[N, 2, 4] y",
        f"{_COUNTED} c = Unsqueeze(r, first){_IN_A_ROW}",
    ),
}
"""By what is the matter with them."""


def saved(name: str, folder: Path) -> Path:
    """The file of one of them."""
    inputs, outputs, nodes = MODELS[name]
    text = f"g ({inputs}) => ({outputs}) <{_CONSTANTS}, int64[3] ones1 = {{1, -1, 4}}> {{ {nodes} }}"
    path = folder / f"{[*MODELS].index(name)}.onnx"
    onnx.save(parser.parse_model(HEAD + text), path)
    return path
