"""Small OpenVINO models, made for any count of samples as a converter would bake it in.

`case.make(1)` is what is repaired; `case.make(n)` is what it must be at n samples: a truth without any repair.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openvino
from openvino import opset13 as op

from tests.arbiter import Entry

Node = Any
Make = Callable[[int], openvino.Model]


class Case(NamedTuple):
    """A model, where its inputs and outputs carry the batch, and whether that can be freed at all."""

    make: Make
    inputs: dict[str, dict[str, Any]]
    outputs: dict[str, int | None]
    free: bool = True
    compressed: bool = False
    """Whether it is saved with weights of f16."""
    refused: str = ""
    """The type of the layer for which it is refused, whether it could be freed or not."""

    def entry(self, path: Path) -> Entry:
        return Entry(path, self.inputs, self.outputs)

    def save(self, path: Path, count: int = 1) -> Path:
        openvino.save_model(self.make(count), path, compress_to_fp16=self.compressed)
        return path


def i64(*values: int) -> Node:
    return op.constant(np.array(values, np.int64))


def weights(*dims: int, seed: int = 0, scale: float = 0.5) -> Node:
    return op.constant((np.random.default_rng([seed, *dims]).standard_normal(dims) * scale).astype(np.float32))


def given(name: str, dims: list[int], dtype: Any = np.float32) -> Node:
    node = op.parameter(openvino.PartialShape(dims), dtype)
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def model(inputs: list[Node], **outputs: Node) -> openvino.Model:
    results = []
    for name, node in outputs.items():
        port = node if isinstance(node, openvino.Output) else node.output(0)
        port.set_names({name} | port.get_names())
        results.append(op.result(port))
        results[-1].set_friendly_name(f"{name}/sink_port_0")
    return openvino.Model(results, inputs, "tests")


def flattened(n: int) -> openvino.Model:
    """A convolution, pooled and flattened to [n, 32] for the last layer."""
    x = given("x", [n, 3, 8, 8])
    kernel = weights(8, 3, 3, 3)
    features = op.relu(op.convolution(x, kernel, [1, 1], [1, 1], [1, 1], [1, 1]))
    pooled = op.max_pool(features, [4, 4], [1, 1], [0, 0], [0, 0], [4, 4], "floor", "explicit", "i64", 0).output(0)
    flat = op.reshape(pooled, i64(n, 32), special_zero=False)
    return model([x], y=op.add(op.matmul(flat, weights(5, 32), False, True), weights(1, 5)))


def attention(n: int) -> openvino.Model:
    """Heads by Reshape and Transpose, a baked causal mask [n, 1, 6, 6], and 0 that copies."""
    x = given("x", [n, 6, 16])

    def heads(seed: int) -> Node:
        projected = op.matmul(x, weights(16, 16, seed=seed), False, False)
        return op.transpose(op.reshape(projected, i64(n, 6, 2, 8), special_zero=seed == 1), i64(0, 2, 1, 3))

    scores = op.multiply(op.matmul(heads(1), heads(2), False, True), np.float32(8**-0.5))
    mask = np.broadcast_to(np.triu(np.full((6, 6), -1e4, np.float32), 1), (n, 1, 6, 6))
    mixed = op.matmul(op.softmax(op.add(scores, op.constant(mask.copy())), -1), heads(3), False, False)
    joined = op.reshape(
        op.transpose(mixed, i64(0, 2, 1, 3)), i64(0, 0, -1) if n == 1 else i64(n, 6, 16), special_zero=True
    )
    return model([x], y=op.add(joined, x))


def fused_attention(n: int) -> openvino.Model:
    """One projection split by VariadicSplit, batch and heads folded into [n*2, 6, 8], and the fused operator."""
    x = given("x", [n, 6, 16])
    projected = op.matmul(x, weights(16, 48), False, False)
    split = op.variadic_split(projected, i64(-1), i64(16, 16, -1))
    folded = [
        op.reshape(
            op.transpose(op.reshape(split.output(place), i64(n, 6, 2, 8), special_zero=False), i64(0, 2, 1, 3)),
            i64(2 * n, 6, 8),
            special_zero=False,
        )
        for place in range(3)
    ]
    mixed = op.reshape(op.scaled_dot_product_attention(*folded), i64(n, 2, 6, 8), special_zero=False)
    return model([x], y=op.reshape(op.transpose(mixed, i64(0, 2, 1, 3)), i64(n, 6, 16), special_zero=False))


def class_token(n: int) -> openvino.Model:
    """A token that is broadcast to [n, 1, 8] and put before the patches; its row is taken by a StridedSlice."""
    x = given("x", [n, 3, 8, 8])
    patches = op.convolution(x, weights(8, 3, 4, 4), [4, 4], [0, 0], [0, 0], [1, 1])
    rows = op.transpose(op.reshape(patches, i64(n, 8, 4), special_zero=False), i64(0, 2, 1))
    token = op.broadcast(weights(1, 1, 8), i64(n, 1, 8), broadcast_spec="BIDIRECTIONAL")
    tokens = op.mvn(op.concat([token, rows], 1), i64(2), normalize_variance=True, eps=1e-5, eps_mode="inside_sqrt")
    first = op.strided_slice(tokens, i64(0, 0, 0), i64(n, 1, 8), i64(1, 1, 1), [0, 1, 1], [0, 0, 1], [], [0, 1, 0])
    return model([x], y=first, tokens=op.normalize_l2(tokens, i64(2), 1e-6, "add"))


def windows(n: int) -> openvino.Model:
    """Windows of an image folded into the batch: [n*4, 16, 4], and out again."""
    x = given("x", [n, 8, 8, 4])
    parted = op.transpose(op.reshape(x, i64(n, 2, 4, 2, 4, 4), special_zero=False), i64(0, 1, 3, 2, 4, 5))
    folded = op.reshape(parted, i64(4 * n, 16, 4), special_zero=False)
    mixed = op.matmul(op.softmax(op.matmul(folded, folded, False, True), 2), folded, False, False)
    unfolded = op.transpose(op.reshape(mixed, i64(n, 2, 2, 4, 4, 4), special_zero=False), i64(0, 1, 3, 2, 4, 5))
    return model([x], y=op.reshape(unfolded, i64(n, 8, 8, 4), special_zero=False))


def recurrent(n: int) -> openvino.Model:
    """An LSTM in both directions and a GRU, with zero states [n, ...] and lengths [n] as constants."""
    x = given("x", [n, 5, 6])
    state, lengths = op.constant(np.zeros((n, 2, 4), np.float32)), op.constant(np.full(n, 5, np.int64))
    long = op.lstm_sequence(
        x, state, state, lengths, weights(2, 16, 6), weights(2, 16, 4), weights(2, 16), 4, "BIDIRECTIONAL"
    )
    rows = op.reshape(op.transpose(long.output(0), i64(0, 2, 1, 3)), i64(n, 5, 8), special_zero=False)
    start = op.constant(np.zeros((n, 1, 3), np.float32))
    short = op.gru_sequence(
        rows, start, lengths, weights(1, 9, 8), weights(1, 9, 3), weights(1, 12), 3, "forward", linear_before_reset=True
    )
    return model([x], y=short.output(0), last=op.squeeze(short.output(1), i64(1)), cells=long.output(2))


def quantised(n: int) -> openvino.Model:
    """As int8 IRs are: FakeQuantize before each layer, weights of i8 with scales, then a flattening Reshape."""
    x = given("x", [n, 3, 8, 8])
    kernel = np.random.default_rng(1).integers(-127, 128, (8, 3, 3, 3)).astype(np.int8)
    scales = np.random.default_rng(2).uniform(0.001, 0.01, (8, 1, 1, 1)).astype(np.float32)
    scaled = op.multiply(op.convert(op.constant(kernel), "f32"), op.constant(scales))
    features = op.relu(op.convolution(_faked(x, -4, 4, 256, 4), scaled, [2, 2], [1, 1], [1, 1], [1, 1]))
    flat = op.reshape(_faked(features, 0, 6, 256, 4), i64(n, 128), special_zero=True)
    return model([x], y=op.matmul(flat, _faked(weights(5, 128), -2, 2, 255, 2), False, True))


def _faked(node: Node, low: float, high: float, levels: int, rank: int) -> Node:
    bounds = [op.constant(np.full([1] * rank, each, np.float32)) for each in (low, high)]
    return op.fake_quantize(node, *bounds, *bounds, levels)


def embedded(n: int) -> openvino.Model:
    """Ids and a mask: Gather, positions [n, 6] as a constant, Select, and rows of each head by batch_dims.

    There are two heads: with batch_dims over nothing but a static batch of 1 the CPU plugin (2026.4.1) dies.
    """
    ids, mask = given("ids", [n, 6], np.int64), given("mask", [n, 6], np.int64)
    table = op.gather(weights(20, 8), ids, i64(0), 0)
    places = op.constant(np.broadcast_to(np.arange(6, dtype=np.int64), (n, 6)).copy())
    summed = op.add(table, op.gather(weights(6, 8, seed=1), places, i64(0), 0))
    kept = op.unsqueeze(op.convert(mask, "boolean"), i64(2))
    shown = op.select(op.broadcast(kept, i64(n, 6, 8)), summed, op.constant(np.float32(0)))
    heads = op.transpose(op.reshape(shown, i64(n, 6, 2, 4), special_zero=False), i64(0, 2, 1, 3))
    rows = op.tile(op.unsqueeze(op.floor_mod(ids, op.constant(np.int64(6))), i64(1)), i64(1, 2, 1))
    looked = op.gather(heads, rows, i64(2), 2)
    return model([ids, mask], y=op.reshape(looked, i64(n, 48), special_zero=False), hidden=shown)


def resized(n: int) -> openvino.Model:
    """Interpolate by sizes that name the batch, grouped and transposed convolutions, shuffled channels, Pad, pools."""
    x = given("x", [n, 4, 6, 6])
    grown = op.interpolate(x, i64(n, 4, 12, 12), "linear_onnx", "sizes", [0, 0, 0, 0], [0, 0, 0, 0])
    grouped = op.group_convolution(grown, weights(2, 4, 2, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1])
    shuffled = op.shuffle_channels(grouped, 1, 2)
    padded = op.pad(shuffled, i64(0, 0, 1, 1), i64(0, 0, 1, 1), "reflect")
    pooled = op.avg_pool(padded, [2, 2], [0, 0], [0, 0], [2, 2], True)
    spread = op.depth_to_space(pooled, "blocks_first", 2)
    back = op.convolution_backprop_data(
        spread, weights(2, 3, 2, 2), [2, 2], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1]
    )
    return model([x], y=op.reshape(back, i64(n, -1), special_zero=True))


def detected(n: int) -> openvino.Model:
    """An SSD head: boxes [n, -1, 4] and classes, the best of them by TopK, and boxes that all samples share."""
    x = given("x", [n, 6, 4, 4])
    boxes, classes = (
        op.transpose(op.convolution(x, weights(each, 6, 1, 1), [1, 1], [0, 0], [0, 0], [1, 1]), i64(0, 2, 3, 1))
        for each in (8, 6)
    )
    size = op.strided_slice(op.shape_of(x), i64(2), i64(4), i64(1), [0], [0])
    shared = op.prior_box_clustered(
        size,
        i64(32, 32),
        {"width": [4.0, 8.0], "height": [4.0, 8.0], "clip": False, "step": 8.0, "offset": 0.5, "variance": [0.1]},
    )
    best = op.topk(op.reshape(classes, i64(n, -1, 3), special_zero=False), np.int64(5), 1, "max", "value")
    return model([x], boxes=op.reshape(boxes, i64(n, -1, 4), special_zero=False), best=best.output(0), priors=shared)


def time_first(n: int) -> openvino.Model:
    """The batch at axis 1, merged with the time for one layer: [5*n, 6]; a contraction by Einsum."""
    x = given("x", [5, n, 6])
    merged = op.matmul(op.reshape(x, i64(5 * n, 6), special_zero=False), weights(6, 4), False, False)
    apart = op.reshape(op.tanh(merged), i64(5, n, 4), special_zero=False)
    return model([x], y=op.einsum([apart, weights(4, 3)], "tnc,cd->tnd"))


def aside(n: int) -> openvino.Model:
    """Attention with the batch in the middle: of one sample the converter makes the Transpose at its end a Reshape."""
    x = given("x", [n, 6, 16])
    rows = op.matmul(op.transpose(x, i64(1, 0, 2)), weights(16, 16), False, False)
    heads = op.transpose(op.reshape(rows, i64(6, 2 * n, 8), special_zero=False), i64(1, 0, 2))
    mixed = op.transpose(
        op.matmul(op.softmax(op.matmul(heads, heads, False, True), 2), heads, False, False), i64(1, 0, 2)
    )
    joined = op.matmul(op.reshape(mixed, i64(6 * n, 16), special_zero=False), weights(16, 16, seed=1), False, False)
    apart = op.reshape(joined, i64(1, 6, 16), False) if n == 1 else op.reshape(joined, i64(6, n, 16), False)
    return model([x], y=op.add(x, apart if n == 1 else op.transpose(apart, i64(1, 0, 2))))


def noted(n: int) -> openvino.Model:
    """Notes at an input and at the model, two names of one tensor, and weights that are stored as f16."""
    x = given("x", [n, 4, 8])
    x.set_layout(openvino.Layout("[N,C,...]"))
    node = op.reshape(x, i64(n, 32), special_zero=False)
    node.set_friendly_name("flatten")
    node.output(0).set_names({"flat", "flat_too"})
    made = model([x], y=op.matmul(node, weights(32, 40), False, False))
    made.set_rt_info("cat dog", ["model_info", "labels"])
    return made


def mixing(n: int) -> openvino.Model:
    """A mean over all samples, which no repair can make row by row."""
    x = given("x", [n, 4, 8])
    centred = op.subtract(x, op.reduce_mean(x, i64(0), keep_dims=True))
    return model([x], y=op.reshape(op.add(centred, op.abs(x)), i64(n, 32), special_zero=False))


def suppressed(n: int) -> openvino.Model:
    """NonMaxSuppression: how many boxes a sample keeps is not known before, so samples have no place of their own."""
    boxes, scores = given("boxes", [n, 6, 4]), given("scores", [n, 2, 6])
    kept = op.non_max_suppression(boxes, scores, np.int64(3), np.float32(0.5), np.float32(0.0))
    return model([boxes, scores], y=kept.output(0))


def looped(n: int) -> openvino.Model:
    """A TensorIterator over the time, whose body has [n, 1, 6] baked in."""
    x, start = given("x", [n, 5, 6]), op.constant(np.zeros((n, 1, 6), np.float32))
    piece, state = op.parameter([n, 1, 6], np.float32), op.parameter([n, 1, 6], np.float32)
    summed = op.tanh(op.add(op.reshape(piece, i64(n, 1, 6), special_zero=False), state))
    body = openvino.Model([op.result(summed)], [piece, state], "body")
    iterator = op.tensor_iterator()
    iterator.set_body(body)
    iterator.set_sliced_input(piece, x.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(state, start.output(0), body.results[0].output(0))
    rows = iterator.get_concatenated_slices(body.results[0].output(0), 0, 1, 1, -1, 1)
    return model([x], y=rows)


def _floats(**axes: int) -> dict[str, dict[str, Any]]:
    return {name: {"axis": axis, "kind": "normal"} for name, axis in axes.items()}


CASES: dict[str, Case] = {
    "flattened": Case(flattened, _floats(x=0), {"y": 0}),
    "flattened f16": Case(flattened, _floats(x=0), {"y": 0}, compressed=True),
    "attention": Case(attention, _floats(x=0), {"y": 0}),
    "fused attention": Case(fused_attention, _floats(x=0), {"y": 0}),
    "class token": Case(class_token, _floats(x=0), {"y": 0, "tokens": 0}),
    "windows": Case(windows, _floats(x=0), {"y": 0}),
    "recurrent": Case(recurrent, _floats(x=0), {"y": 0, "last": 0, "cells": 0}),
    "quantised": Case(quantised, _floats(x=0), {"y": 0}),
    "embedded": Case(
        embedded,
        {"ids": {"axis": 0, "kind": "int", "low": 0, "high": 20}, "mask": {"axis": 0, "kind": "mask"}},
        {"y": 0, "hidden": 0},
    ),
    "resized": Case(resized, _floats(x=0), {"y": 0}),
    "detected": Case(detected, _floats(x=0), {"boxes": 0, "best": 0, "priors": None}),
    "time first": Case(time_first, _floats(x=1), {"y": 1}),
    "aside": Case(aside, _floats(x=0), {"y": 0}),
    "noted": Case(noted, _floats(x=0), {"y": 0}, compressed=True),
    "looped": Case(looped, _floats(x=0), {"y": 0}, refused="TensorIterator"),
    "mixing": Case(mixing, _floats(x=0), {"y": 0}, free=False, refused="ReduceMean"),
    "suppressed": Case(suppressed, _floats(boxes=0, scores=0), {"y": 0}, free=False, refused="NonMaxSuppression"),
}
