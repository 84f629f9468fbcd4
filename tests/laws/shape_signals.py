"""Cases of signals: windows of a length, transforms, and the tables for them; and of what ONNX tried and never took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from onnx import TensorProto

from tests.laws.shape_cases import each
from tests.laws.shape_law import Case, const, run, size, x


def signals() -> Iterator[Case]:
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        yield from each(op, const(5))
        yield from each(op, run(5, 3))
        yield from each(op, size("N"), sizes={"N": (2, 3, 4)})
        yield from each(op, const(5), output_datatype=TensorProto.DOUBLE)
    edges = (const(8000), const(0.0, "f"), const(4000.0, "f"))
    yield from each("MelWeightMatrix", const(4), const(16), *edges)
    yield from each("MelWeightMatrix", const(4), const(16), *edges, output_datatype=TensorProto.DOUBLE)
    yield from each("MelWeightMatrix", const(4), run(16, 17), *edges)
    yield from each("MelWeightMatrix", run(4, 3), const(17), *edges, output_datatype=TensorProto.DOUBLE)
    for onesided in (0, 1):
        yield from each("DFT", x("N", 6, 1), axis=1, onesided=onesided, opsets=[17])
        yield from each("DFT", x("N", 6, 1), None, const(1), onesided=onesided, opsets=[20])
        yield from each("DFT", x("N", 6, 1), None, run(1, 0), onesided=onesided, opsets=[20], sizes={"N": (1, 2, 3)})
        yield from each("DFT", x("N", 6, 1), const(4), axis=1, onesided=onesided, opsets=[17])
        yield from each("DFT", x("N", 6, 1), run(4, 7), axis=1, onesided=onesided, opsets=[17])
        yield from each("DFT", x("N", 6, 4, 1), axis=2, onesided=onesided, opsets=[17])
        yield from each("DFT", x("N", "T", 1), onesided=onesided, sizes={"N": (1, 2), "T": (1, 2, 3, 4)})
        for window in (const(np.ones(4), "f"), None):
            yield from each("STFT", x("N", 8, 1), const(2), window, const(4), onesided=onesided)
            yield from each("STFT", x("N", 8, 1), run(2, 3), window, const(4), onesided=onesided)
            yield from each(
                "STFT", x("N", "T", 1), const(3), window, const(4), onesided=onesided, sizes={"T": (4, 5, 6, 7, 10, 13)}
            )
        yield from each("STFT", x("N", 8, 1), const(2), None, run(4, 5), onesided=onesided)
        yield from each("STFT", x("N", "T", 1), const(3), x(4), onesided=onesided, sizes={"T": (4, 5, 6, 7, 10, 13)})
    yield from each("DFT", x("N", 6, 2), inverse=1)
    yield from each("DFT", x("N", 4, 2), inverse=1, onesided=1)


def experimental() -> Iterator[Case]:
    old: dict[str, Any] = {"opsets": [7, 8, 9]}
    yield from each("Affine", x("N", 3), alpha=2.0, beta=1.0, **old)
    yield from each("ParametricSoftplus", x("N", 3), alpha=2.0, beta=1.0, **old)
    yield from each("ScaledTanh", x("N", 3), alpha=2.0, beta=1.0, **old)
    yield from each("Scale", x("N", 3), scale=2.0, **old)
    yield from each("ImageScaler", x("N", 2, "H", 3), scale=2.0, bias=[0.5, 1.0], **old)
    yield from each("Crop", x("N", 2, 4, 5), border=[1, 0, 2, 1], **old)
    yield from each("Crop", x("N", 2, 4, 5), border=[1, 0, 2, 1], scale=[2, 3], **old)
    for bounds in ((const([1]), const([3])), (const([-2]), const([9])), (run([0], [1]), const([2]))):
        yield from each("DynamicSlice", x("N", 4), *bounds, const([1]), **old)
        yield from each("DynamicSlice", x(4, "N"), *bounds, **old)
        yield from each("DynamicSlice", x("N", 4), *bounds, run([1], [1]), **old)
