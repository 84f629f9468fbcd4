"""Layers of networks, flow of control and onnxruntime's own operators in the small world of shapes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto

from tests.laws.shape_cases import FULL, LONG, each
from tests.laws.shape_law import Case, const, run, x


def spatial() -> Iterator[Case]:
    h: dict[str, tuple[int, ...]] = {"W": (3, 5), "N": (1, 2)}
    auto = (None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    for kernel, stride, dilation, pads in product((1, 2, 3), (1, 2, 3), (1, 2), ([0, 0], [1, 1], [0, 1])):
        rest = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation], "pads": pads}
        # Where no window fits there is no output by the specification; onnxruntime rounds towards 0 and has one.
        h["H"] = LONG[:-1]
        weight = const(np.ones((4, 2, kernel)), "f")
        yield from each("Conv", x("N", 2, "H"), weight, opsets=[11], sizes=dict(h), **rest)
        for ceil_mode in (0, 1):
            if dilation == 1:
                yield from each(
                    "AveragePool",
                    x("N", 2, "H"),
                    kernel_shape=[kernel],
                    strides=[stride],
                    pads=pads,
                    ceil_mode=ceil_mode,
                    opsets=[10, 11],
                    sizes=dict(h),
                )
                yield from each(
                    "LpPool",
                    x("N", 2, "H"),
                    kernel_shape=[kernel],
                    strides=[stride],
                    pads=pads,
                    opsets=[7, 11],
                    sizes=dict(h),
                )
            yield from each("AveragePool", x("N", 2, "H"), ceil_mode=ceil_mode, opsets=[19], sizes=dict(h), **rest)
            yield from each("LpPool", x("N", 2, "H"), ceil_mode=ceil_mode, opsets=[18], sizes=dict(h), **rest)
            yield from each("MaxPool", x("N", 2, "H"), ceil_mode=ceil_mode, opsets=[10, 11, 12], sizes=dict(h), **rest)
        for extra in ([0], [1]):
            if extra[0] < stride:
                yield from each(
                    "ConvTranspose", x("N", 4, "H"), weight, opsets=[11], sizes=dict(h), output_padding=extra, **rest
                )
    h["H"] = (3, 4, 5, 6, 7)
    for mode, stride in product(auto, (1, 2, 3)):
        rest = {"strides": [stride, 1]} | ({} if mode is None else {"auto_pad": mode})
        yield from each("Conv", x("N", 2, "H", "W"), const(np.ones((4, 2, 3, 2)), "f"), sizes=dict(h), **rest)
        yield from each(
            "Conv",
            x("N", 2, "H", "W"),
            const(np.ones((4, 1, 3, 2)), "f"),
            const(np.ones(4), "f"),
            group=2,
            sizes=dict(h),
            **rest,
        )
        yield from each(
            "ConvInteger", x("N", 2, "H", "W", kind="B"), const(np.ones((4, 2, 3, 2)), "B"), sizes=dict(h), **rest
        )
        yield from each("ConvTranspose", x("N", 4, "H", "W"), const(np.ones((4, 2, 3, 2)), "f"), sizes=dict(h), **rest)
        for op in ("AveragePool", "MaxPool", "LpPool"):
            yield from each(op, x("N", 2, "H", "W"), kernel_shape=[3, 2], sizes=dict(h), **rest)
        for ceil_mode in (0, 1):
            yield from each(
                "MaxPool",
                x("N", 2, "H", "W"),
                kernel_shape=[3, 2],
                ceil_mode=ceil_mode,
                dilations=[1, 2],
                opsets=[10, 11, 12],
                sizes=dict(h),
                **rest,
            )
            yield from each(
                "AveragePool",
                x("N", 2, "H", "W"),
                kernel_shape=[3, 2],
                ceil_mode=ceil_mode,
                count_include_pad=1,
                opsets=[10, 11, 19],
                sizes=dict(h),
                **rest,
            )
    yield from each("Conv", x("N", 2, "H", "W"), x("C", 2, 3, 3), sizes=h | {"C": (1, 4)})
    yield from each("Conv", x("N", 2, "H", "W"), x(4, 2, "K", 3), sizes=h | {"K": (1, 2, 3)})
    yield from each(
        "MaxPool", x("N", 2, "H", "W"), kernel_shape=[2, 2], outputs=2, opsets=[8, 10, 11, 12], sizes=dict(h)
    )
    yield from each(
        "ConvTranspose",
        x("N", 4, "H"),
        const(np.ones((4, 2, 3)), "f"),
        strides=[2],
        output_shape=[7],
        sizes={"H": (3, 4)},
    )
    yield from each("ConvTranspose", x("N", 4, 5), const(np.ones((4, 1, 3)), "f"), strides=[2], group=2)
    scale, zero = const(0.5, "f"), const(1, "B")
    yield from each(
        "QLinearConv",
        x("N", 2, "H", "W", kind="B"),
        scale,
        zero,
        const(np.ones((4, 2, 3, 2)), "B"),
        scale,
        zero,
        scale,
        zero,
        sizes=dict(h),
    )
    for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
        yield from each(op, x("N", 2, "H", "W"), sizes=dict(h))
        yield from each(op, x("N", 2, "H"), sizes=dict(h))
    yield from each("LRN", x("N", 2, "H", 3), size=3, sizes=dict(h))
    sizes = {"H": (1, 2, 3, 4, 5), "N": (1, 2)}
    for scales in (
        [1.0, 1.0, 2.0, 2.0],
        [1.0, 1.0, 0.5, 1.0],
        [1.0, 1.0, 1.5, 0.7],
        [1.0, 1.0, 0.6, 0.1],
        [2.0, 1.0, 1.0, 1.0],
    ):
        dims = x("N", 2, "H", 10)
        yield from each("Upsample", dims, scales=scales, opsets=[7], sizes=sizes)
        yield from each("Upsample", dims, const(scales, "f"), opsets=[9], sizes=sizes)
        yield from each("Resize", dims, const(scales, "f"), opsets=[10], sizes=sizes)
        yield from each(
            "Resize", dims, const(np.empty(0), "f"), const(scales, "f"), opsets=[11, 13, 18, 19], sizes=sizes
        )
        for mode in ("nearest", "linear"):
            yield from each("Resize", dims, None, const(scales, "f"), opsets=[13, 18, 19], mode=mode, sizes=sizes)
    yield from each(
        "Resize",
        x("N", 2, "H", 3),
        None,
        run([1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 1.0, 0.5], kind="f"),
        opsets=[13, 18, 19],
        sizes=sizes,
    )
    yield from each("Resize", x("N", 2, "H", 3), None, None, const([1, 2, 6, 5]), opsets=[13, 18, 19], sizes=sizes)
    yield from each(
        "Resize", x("N", 2, "H", 3), None, None, run([1, 2, 6, 5], [2, 2, 1, 1]), opsets=[13, 18, 19], sizes=sizes
    )
    for policy in ("stretch", "not_larger", "not_smaller"):
        for target in ([6, 5], [5, 6], [2, 9]):
            yield from each(
                "Resize",
                x("N", 2, "H", 3),
                None,
                None,
                const(target),
                axes=[2, 3],
                keep_aspect_ratio_policy=policy,
                opsets=[18, 19],
                sizes=sizes,
            )
            yield from each(
                "Resize",
                x("N", 2, 4, 3),
                None,
                None,
                const(target),
                axes=[2, 3],
                keep_aspect_ratio_policy=policy,
                opsets=[18, 19],
            )
    yield from each(
        "Resize", x("N", 2, "H", 3), None, const([2.0, 1.5], "f"), axes=[2, 3], opsets=[18, 19], sizes=sizes
    )
    yield from each(
        "Resize", x("N", 2, "H", 3), None, const([2.0, 1.5], "f"), axes=[3, 2], opsets=[18, 19], sizes=sizes
    )
    roi = const([0, 0, 0.1, 0.2, 1, 1, 0.7, 0.9], "f")
    yield from each(
        "Resize",
        x("N", 2, "H", 10),
        roi,
        const([1.0, 1.0, 2.0, 2.0], "f"),
        coordinate_transformation_mode="tf_crop_and_resize",
        opsets=[11, 13, 18, 19],
        sizes=sizes,
    )
    yield from each(
        "Resize",
        x("N", 2, "H", 10),
        roi,
        None,
        const([1, 2, 6, 5]),
        coordinate_transformation_mode="tf_crop_and_resize",
        opsets=[13, 18, 19],
        sizes=sizes,
    )
    yield from each("GridSample", x("N", 2, "H", 3), x("N", "A", "B", 2), sizes=sizes | {"A": (1, 3), "B": (2, 3)})
    yield from each("AffineGrid", x("N", 2, 3), const([2, 3, 4, 5]), sizes={"N": (2,)})
    yield from each("AffineGrid", x("N", 2, 3), run([2, 3, 4, 5], [2, 1, 6, 1]), sizes={"N": (2,)})
    yield from each(
        "RoiAlign", x("N", 2, "H", 5), x("R", 4), x("R", kind="l", high=1), output_height=2, output_width=3, sizes=sizes
    )
    yield from each("MaxRoiPool", x("N", 2, "H", 5), x("R", 5), pooled_shape=[2, 3], sizes=sizes | {"R": (1, 2)})
    yield from each(
        "DeformConv",
        x("N", 2, "H", "W"),
        const(np.ones((4, 2, 2, 2)), "f"),
        x("N", 8, "A", "B"),
        sizes={"H": (3, 4), "W": (3,), "A": (2, 3), "B": (2,), "N": (1, 2)},
    )
    yield from each(
        "MaxUnpool",
        x("N", 2, "H", 2),
        x("N", 2, "H", 2, kind="l", high=0),
        kernel_shape=[2, 2],
        strides=[2, 2],
        sizes={"H": (2, 3), "N": (1, 2)},
    )
    yield from each("Col2Im", x("N", 4, "L"), const([3, 3]), const([2, 2]), sizes={"L": (4,)})
    yield from each("Det", x("N", 2, 2))


def layers() -> Iterator[Case]:
    three = const([1.0, 2.0, 3.0], "f")
    yield from each("BatchNormalization", x("N", 3, "H"), three, three, three, three)
    yield from each("BatchNormalization", x("N", 3), three, three, three, three)
    yield from each(
        "BatchNormalization",
        x("N", 3, "H"),
        three,
        three,
        three,
        three,
        training_mode=1,
        outputs=3,
        opsets=[14, 15],
        sizes={"N": (1, 2), "H": (2, 3)},
    )
    yield from each("InstanceNormalization", x("N", 3, "H"), three, three, sizes={"N": (1, 2), "H": (1, 3)})
    for axis in (-1, 1, 0, -2):
        for outputs in (1, 3):
            scale = {-1: (3,), 1: ("M", 3), 0: ("N", "M", 3), -2: ("M", 3)}[axis]
            yield from each("LayerNormalization", x("N", "M", 3), x(*scale), x(*scale), axis=axis, outputs=outputs)
        yield from each("RMSNormalization", x("N", "M", 3), x(*scale), axis=axis, opsets=[23])
        yield from each("SimplifiedLayerNormalization", x("N", "M", 3), x(*scale), axis=axis, opsets=[17])
    yield from each(
        "GroupNormalization", x("N", 4, "H"), const([1.0, 2.0], "f"), const([1.0, 2.0], "f"), num_groups=2, opsets=[18]
    )
    yield from each(
        "GroupNormalization", x("N", 4, "H"), const([1.0] * 4, "f"), const([1.0] * 4, "f"), num_groups=2, opsets=[21]
    )
    for op, gates, outputs in (("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)):
        for direction, count in (("forward", 1), ("bidirectional", 2)):
            w, r = const(np.ones((count, gates * 2, 3)), "f"), const(np.ones((count, gates * 2, 2)), "f")
            rest: dict[str, Any] = {"hidden_size": 2, "direction": direction, "sizes": {"S": (1, 2, 3), "N": (1, 2)}}
            for wanted in range(1, outputs + 1):
                yield from each(op, x("S", "N", 3), w, r, outputs=wanted, **rest)
            # onnxruntime has no batch-first form.
            yield from each(
                op, x("N", "S", 3), w, r, outputs=outputs, layout=1, opsets=[14, 22], reference=True, **rest
            )
            rest["sizes"] = {"S": (5,), "N": (1, 2)}
            state = x(count, "N", 2)
            yield from each(op, x("S", "N", 3), w, r, None, x("N", kind="i"), state, outputs=outputs, **rest)
    yield from each(
        "NonMaxSuppression", x("N", "B", 4), x("N", 2, "B"), const([3]), const([0.5], "f"), const([0.0], "f")
    )
    for op in ("RandomNormal", "RandomUniform"):
        yield from each(op, shape=[2, 3])
        yield from each(op, shape=[2, 3], dtype=TensorProto.DOUBLE)
    yield from each("Multinomial", x("N", 3), sample_size=4)
    for rest in ({}, {"reduction": "none"}, {"reduction": "sum"}):
        yield from each("NegativeLogLikelihoodLoss", x("N", 3, "H"), x("N", "H", kind="l", high=1), **rest)
        yield from each("SoftmaxCrossEntropyLoss", x("N", 3, "H"), x("N", "H", kind="l", high=1), outputs=2, **rest)
    yield from each(
        "RotaryEmbedding",
        x("N", 2, "S", 4),
        x(6, 2),
        x(6, 2),
        x("N", "S", kind="l", high=1),
        opsets=[23],
        sizes={"S": (1, 2), "N": (1, 2)},
    )


def _body(text: str) -> onnx.GraphProto:
    return onnx.parser.parse_graph(text)


def flow() -> Iterator[Case]:
    """Branches see the data of the case as `x1`; the condition is `x0`."""
    branches = {
        "same": "b () => (float[a, b] y) { y = Relu(x1) }",
        "doubled": "b () => (float[a, b] y) { y = Concat <axis = 0> (x1, x1) }",
        "turned": "b () => (float[a, b] y) { y = Transpose(x1) }",
        "flat": "b () => (float[a] y) { t = Constant <value_ints = [-1]> () y = Reshape(x1, t) }",
        "one": "b () => (float[a, b] y) { t = Constant <value_floats = [1.0]> () s = Constant <value_ints = [1, 1]> () y = Reshape(t, s) }",
    }
    for one in branches.values():
        for other in branches.values():
            inner = {"then_branch": _body(one), "else_branch": _body(other)}
            for condition in (run(True, False, kind="?"), const(True, "?"), const(False, "?")):
                yield Case("If", 16, (condition, x("N", 3)._replace(captured=True)), inner)
    bodies = [
        "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w) { d = Identity(c) w = Relu(v) }",
        "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w) { d = Identity(c) w = Concat <axis = 0> (v, v) }",
        "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w) { d = Identity(c) w = Transpose(v) }",
    ]
    for body in bodies:
        for times in (const(3), run(0, 1, 4)):
            yield Case("Loop", 16, (times, const(True, "?"), x("N", 3)), {"body": _body(body)}, sizes={"N": (1, 2, 3)})
    scanned = "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w, float[e, f] s) { d = Identity(c) w = Relu(v) s = Transpose(v) }"
    for times in (const(3), run(0, 1, 4)):
        yield Case(
            "Loop", 16, (times, const(True, "?"), x("N", 3)), {"body": _body(scanned)}, 2, sizes={"N": (1, 2, 3)}
        )
    for declared in ("float s", "float[e] s"):  # of no iteration it makes what the body declares
        body = _body(scanned.replace("float[e, f] s", declared))
        if declared == "float s":
            body.output[2].type.tensor_type.ClearField("shape")
        for times in (const(0), run(0, 1, 4)):
            yield Case("Loop", 16, (times, const(True, "?"), x("N", 3)), {"body": body}, 2, sizes={"N": (1, 2, 3)})
    for times, first in (
        (run(0, 1, 4), const(True, "?")),
        (const(0), const(True, "?")),
        (const(2), run(True, False, kind="?")),
    ):
        body = _body(scanned.replace("float[e, f] s", "float[3, 2] s"))
        yield Case("Loop", 16, (times, first, x(2, 3)), {"body": body}, 2)
    ends = "b (int64 i, bool c, float[a, b] v) => (bool d, float[a, b] w, float[e, f] s) { k = Constant <value_int = 1> () d = Less(i, k) w = Relu(v) s = Neg(v) }"
    yield Case("Loop", 16, (const(3), const(True, "?"), x("N", 3)), {"body": _body(ends)}, 2, sizes={"N": (1, 2, 3)})
    step = "b (float[a] v, float[a] e) => (float[a] w, float[a] o) { w = Add(v, e) o = Neg(w) }"
    yield Case("Scan", 16, (x(3), x("S", 3)), {"body": _body(step), "num_scan_inputs": 1}, 2, sizes={"S": (1, 2, 3)})
    yield Case(
        "Scan", 16, (x("N"), x("S", "N")), {"body": _body(step), "num_scan_inputs": 1}, 2, sizes=FULL | {"S": (1, 2)}
    )
    yield Case(
        "Scan",
        16,
        (x("N"), x("N", "S")),
        {"body": _body(step), "num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [1]},
        2,
        sizes=FULL | {"S": (1, 2)},
    )
