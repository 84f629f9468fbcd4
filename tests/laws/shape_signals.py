"""Cases of signals: windows of a length, transforms, and the tables for them."""

from __future__ import annotations

from collections.abc import Iterator

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
