"""The smallest models that `check` has something to say of."""

from __future__ import annotations

from pathlib import Path

import onnx

from tests.models import model

HEADER = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>'

MODELS: dict[str, str] = {
    "baked-dim": "g (float[s77, 15, 4, 4] x) => (float[a, b, c, d, e] y) <int64[5] t = {1, 3, 5, 4, 4}> {"
    " y = Reshape(x, t) }",
    "absorbed-dim": "g (float[N, 512] x) => (float[a, b] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
    "impossible-volume": "g (float[2, 3] x) => (float[a, b] y) <int64[2] t = {4, -1}> { y = Reshape(x, t) }",
    "spec-error": "g (float[2, 3] x) => (float[a, b] y) <int64[2] t = {-1, -1}> { y = Reshape(x, t) }",
    "declared-mismatch": "g (float[2, 3] x) => (float[7] y) <int64[1] t = {-1}> { y = Reshape(x, t) }",
    "size-condition": "g (float[batch, 3, h, w] x) => (float[a, b, c] y) <int64[3] t = {-1, 3, 50176}> {"
    " y = Reshape(x, t) }",
    "fixed-batch": "g (float[1, 6] x, float[1, 2] z) => (float[a, b] y, float[c, d] v) { v = Relu(z) y = Relu(x) }",
    "cannot-free": "g (float[1, 6] x) => (float[1, 6] y) { y = Softmax <axis = 0> (x) }",
    "own-scale": "g (float[1, 6] x) => (float[1, 1] y) <uint8[6, 1] w = {1, 2, 3, 4, 5, 6}> {"
    " q, s, z = DynamicQuantizeLinear(x) p = MatMulInteger(q, w, z) c = Cast <to = 1> (p) y = Mul(c, s) }",
    "foldable-target": "g (float[N, 6] x) => (float[a, b, c] y)"
    " <int64[1] k = {2}, int64[1] m = {-1}, int64[1] z = {0}> {"
    " s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, k, m) y = Reshape(x, t) }",
    "redundant-allowzero": "g (float[N, 6] x) => (float[a, b] y) <int64[2] t = {-1, 3}> {"
    " y = Reshape <allowzero = 1> (x, t) }",
    "identity": "g (float[N, 6] x) => (float[a, b] y) <int64[2] t = {0, 6}> { h = Reshape(x, t) y = Relu(h) }",
    "chain": "g (float[N, 6] x) => (float[a, b] y) <int64[1] t = {-1}, int64[2] u = {-1, 3}> {"
    " h = Reshape(x, t) y = Reshape(h, u) }",
    "gave-up": "g (float[N, 6] x) => (float[a] y) <int64[1] t = {5000}> {"
    " u = ConstantOfShape <value = int64[1] {3}> (t) y = Reshape(x, u) }",
}
"""By the code that is found; the last node is named `n`, those before it n0, n1 ..."""


def proto(text: str) -> onnx.ModelProto:
    """A model with names for its nodes."""
    made = model(text, HEADER)
    for index, node in enumerate(made.graph.node):
        node.name = "n" if index == len(made.graph.node) - 1 else f"n{index}"
    return made


def written(text: str, folder: Path, name: str = "m.onnx") -> str:
    path = folder / name
    path.write_bytes(proto(text).SerializeToString())
    return str(path)
