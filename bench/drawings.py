"""Large models of full width with random weights, drawn without torch: the batch of 1 is baked into all of them.

Each function writes one model to a file, with the operators that an exporter makes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
TOKENS = 128
"""Tokens of a text."""


class Drawing:
    """A graph under construction, with random weights."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.rng = np.random.default_rng(0)

    def add(self, op: str, *inputs: str, **attributes: Any) -> str:
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [f"{name}:0"], name, **attributes))
        return f"{name}:0"

    def weight(self, *dims: int, scale: float = 0.02) -> str:
        return self.constant(self.rng.standard_normal(dims, np.float32) * np.float32(scale))

    def constant(self, array: Array) -> str:
        name = f"weight_{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def target(self, *dims: int) -> str:
        return self.constant(np.array(dims))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def save(self, path: Path, given: dict[str, list[int]], output: str, made: list[int]) -> None:
        """Writes the model; an input of pictures is `x`, all others are integers."""
        self.nodes.append(helper.make_node("Identity", [output], ["y"], "last"))
        kinds = {name: TensorProto.FLOAT if name == "x" else TensorProto.INT64 for name in given}
        starts = [helper.make_tensor_value_info(name, kinds[name], dims) for name, dims in given.items()]
        end = helper.make_tensor_value_info("y", TensorProto.FLOAT, made)
        graph = helper.make_graph(self.nodes, path.stem, starts, [end], self.weights)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), path)

    # Layers

    def linear(self, data: str, inputs: int, outputs: int) -> str:
        return self.add("Add", self.add("MatMul", data, self.weight(inputs, outputs)), self.weight(outputs))

    def normal(self, data: str, width: int) -> str:
        return self.add(
            "LayerNormalization", data, self.constant(np.ones(width, np.float32)), self.weight(width), axis=-1
        )

    def wide(self, data: str, width: int, *, tanh: bool = False) -> str:
        """Four times as wide and back, with a Gelu between."""
        wide = self.linear(data, width, 4 * width)
        if tanh:
            cube = self.add("Mul", self.add("Pow", wide, self.number(3)), self.number(0.044715))
            curve = self.add("Tanh", self.add("Mul", self.add("Add", wide, cube), self.number(sqrt(2 / np.pi))))
        else:
            curve = self.add("Erf", self.add("Div", wide, self.number(sqrt(2))))
        wide = self.add("Mul", self.add("Mul", wide, self.add("Add", curve, self.number(1))), self.number(0.5))
        return self.linear(wide, 4 * width, width)

    def attention(  # noqa: PLR0913, PLR0917 - what attention is
        self, data: str, rows: int, tokens: int, width: int, mask: Callable[[str], str] = str, size: int = 64
    ) -> str:
        """Attention with heads of a size; `mask` changes the scores."""
        heads = width // size

        def head() -> str:
            split = self.add("Reshape", self.linear(data, width, width), self.target(rows, tokens, heads, size))
            return self.add("Transpose", split, perm=[0, 2, 1, 3])

        query, key, value = head(), head(), head()
        scores = self.add("MatMul", query, self.add("Transpose", key, perm=[0, 1, 3, 2]))
        parts = self.add("Softmax", mask(self.add("Mul", scores, self.number(size**-0.5))), axis=-1)
        joined = self.add("Transpose", self.add("MatMul", parts, value), perm=[0, 2, 1, 3])
        return self.linear(self.add("Reshape", joined, self.target(rows, tokens, width)), width, width)


def resnet(path: Path) -> None:
    """ResNet-50 with 1000 classes, for one image of 224 x 224; a Reshape to [1, 2048] is before the last layer."""
    drawing = Drawing()

    def layer(  # noqa: PLR0913 - what a layer is
        data: str, channels: int, outputs: int, kernel: int, *, stride: int = 1, relu: bool = True
    ) -> str:
        weight = drawing.weight(outputs, channels, kernel, kernel, scale=(2 / channels / kernel**2) ** 0.5)
        data = drawing.add("Conv", data, weight, strides=[stride] * 2, pads=[kernel // 2] * 4)
        ones = [np.ones(outputs, np.float32), np.zeros(outputs, np.float32)] * 2
        data = drawing.add("BatchNormalization", data, *map(drawing.constant, (ones[0], ones[1], ones[1], ones[0])))
        return drawing.add("Relu", data) if relu else data

    data = layer("x", 3, 64, 7, stride=2)
    data, channels = drawing.add("MaxPool", data, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), 64
    for stage, (width, blocks) in enumerate(((64, 3), (128, 4), (256, 6), (512, 3))):
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            inside = layer(layer(data, channels, width, 1), width, width, 3, stride=stride)
            inside = layer(inside, width, 4 * width, 1, relu=False)
            beside = data if block else layer(data, channels, 4 * width, 1, stride=stride, relu=False)
            data, channels = drawing.add("Relu", drawing.add("Add", inside, beside)), 4 * width
    data = drawing.add("Reshape", drawing.add("GlobalAveragePool", data), drawing.target(1, 2048))
    data = drawing.add("Gemm", data, drawing.weight(1000, 2048), drawing.weight(1000), transB=1)
    drawing.save(path, {"x": [1, 3, 224, 224]}, data, [1, 1000])


def vision_transformer(path: Path) -> None:
    """ViT-B/16 with 1000 classes, for one image of 224 x 224; the batch is baked into every Reshape."""
    drawing, width, tokens = Drawing(), 768, 197
    data = drawing.add("Conv", "x", drawing.weight(width, 3, 16, 16), drawing.weight(width), strides=[16, 16])
    data = drawing.add("Transpose", drawing.add("Reshape", data, drawing.target(1, width, 196)), perm=[0, 2, 1])
    token = drawing.add("Expand", drawing.weight(1, 1, width), drawing.target(1, 1, width))
    data = drawing.add("Add", drawing.add("Concat", token, data, axis=1), drawing.weight(1, tokens, width))
    for _ in range(12):
        data = drawing.add("Add", data, drawing.attention(drawing.normal(data, width), 1, tokens, width))
        data = drawing.add("Add", data, drawing.wide(drawing.normal(data, width), width))
    first = drawing.add("Gather", drawing.normal(data, width), drawing.constant(np.array(0)), axis=1)
    data = drawing.add("Gemm", first, drawing.weight(1000, width), drawing.weight(1000), transB=1)
    drawing.save(path, {"x": [1, 3, 224, 224]}, data, [1, 1000])


def bert(path: Path) -> None:
    """BERT-base for one text of 128 tokens, with a mask."""
    drawing, width = Drawing(), 768
    shown = drawing.add("Unsqueeze", "attention_mask", drawing.target(1, 2))
    hidden = drawing.add("Sub", drawing.number(1), drawing.add("Cast", shown, to=TensorProto.FLOAT))
    hidden = drawing.add("Mul", hidden, drawing.number(-1e4))
    data = drawing.add("Gather", drawing.weight(30522, width), "input_ids", axis=0)
    data = drawing.add("Add", data, drawing.weight(1, TOKENS, width))
    data = drawing.normal(drawing.add("Add", data, drawing.weight(1, 1, width)), width)
    for _ in range(12):
        seen = drawing.attention(data, 1, TOKENS, width, lambda scores: drawing.add("Add", scores, hidden))
        data = drawing.normal(drawing.add("Add", data, seen), width)
        data = drawing.normal(drawing.add("Add", data, drawing.wide(data, width)), width)
    given = {"input_ids": [1, TOKENS], "attention_mask": [1, TOKENS]}
    drawing.save(path, given, data, [1, TOKENS, width])


def gpt(path: Path) -> None:
    """GPT-2 for one text of 128 tokens; the embedding of the words is the last layer too."""
    drawing, width, words = Drawing(), 768, 50257
    later = drawing.constant(np.triu(np.full((1, 1, TOKENS, TOKENS), -1e4, np.float32), 1))
    table = drawing.weight(words, width)
    data = drawing.add("Add", drawing.add("Gather", table, "input_ids", axis=0), drawing.weight(1, TOKENS, width))
    for _ in range(12):
        before = drawing.normal(data, width)
        seen = drawing.attention(before, 1, TOKENS, width, lambda scores: drawing.add("Add", scores, later))
        data = drawing.add("Add", data, seen)
        data = drawing.add("Add", data, drawing.wide(drawing.normal(data, width), width, tanh=True))
    flat = drawing.add("Reshape", drawing.normal(data, width), drawing.target(TOKENS, width))
    scores = drawing.add("Gemm", flat, table, transB=1)
    scores = drawing.add("Reshape", scores, drawing.target(1, TOKENS, words))
    drawing.save(path, {"input_ids": [1, TOKENS]}, scores, [1, TOKENS, words])


def swin(path: Path) -> None:
    """Swin-T with 1000 classes, for one image of 224 x 224: windows of 7 x 7, every other time shifted by 3."""
    drawing, window = Drawing(), 7

    def rolled(data: str, by: int) -> str:
        for axis in (1, 2):
            first, second = (
                drawing.add("Slice", data, *(drawing.target(each) for each in (start, end, axis)))
                for start, end in ((by, 2**31 - 1), (-(2**31), by))
            )
            data = drawing.add("Concat", first, second, axis=axis)
        return data

    def block(data: str, side: int, width: int, shift: int) -> str:
        count, heads = side // window, width // 32
        bias, hides = drawing.weight(1, heads, 49, 49), drawing.weight(1, count**2, 1, 49, 49, scale=-100)

        def masked(scores: str) -> str:
            scores = drawing.add("Add", scores, bias)
            if not shift:
                return scores
            apart = drawing.add("Reshape", scores, drawing.target(1, count**2, heads, 49, 49))
            return drawing.add("Reshape", drawing.add("Add", apart, hides), drawing.target(count**2, heads, 49, 49))

        inside = drawing.normal(data, width)
        inside = rolled(inside, shift) if shift else inside
        inside = drawing.add("Reshape", inside, drawing.target(1, count, window, count, window, width))
        inside = drawing.add("Transpose", inside, perm=[0, 1, 3, 2, 4, 5])
        inside = drawing.add("Reshape", inside, drawing.target(count**2, 49, width))
        inside = drawing.attention(inside, count**2, 49, width, masked, 32)
        inside = drawing.add("Reshape", inside, drawing.target(1, count, count, window, window, width))
        inside = drawing.add("Transpose", inside, perm=[0, 1, 3, 2, 4, 5])
        inside = drawing.add("Reshape", inside, drawing.target(1, side, side, width))
        data = drawing.add("Add", data, rolled(inside, -shift) if shift else inside)
        return drawing.add("Add", data, drawing.wide(drawing.normal(data, width), width))

    def every_second(data: str, row: int, column: int) -> str:
        ends = [drawing.target(*each) for each in ((row, column), (2**31 - 1,) * 2, (1, 2), (2, 2))]
        return drawing.add("Slice", data, *ends)

    side, width = 56, 96
    data = drawing.add("Conv", "x", drawing.weight(width, 3, 4, 4), drawing.weight(width), strides=[4, 4])
    data = drawing.normal(drawing.add("Transpose", data, perm=[0, 2, 3, 1]), width)
    for stage, blocks in enumerate((2, 2, 6, 2)):
        if stage:
            parts = [every_second(data, row, column) for column in (0, 1) for row in (0, 1)]
            data, side = drawing.normal(drawing.add("Concat", *parts, axis=-1), 4 * width), side // 2
            data, width = drawing.add("MatMul", data, drawing.weight(4 * width, 2 * width)), 2 * width
        for number in range(blocks):
            data = block(data, side, width, 3 if number % 2 and side > window else 0)
    data = drawing.add("ReduceMean", drawing.normal(data, width), axes=[1, 2], keepdims=0)
    data = drawing.add("Gemm", data, drawing.weight(1000, width), drawing.weight(1000), transB=1)
    drawing.save(path, {"x": [1, 3, 224, 224]}, data, [1, 1000])


DRAWN: dict[str, Callable[[Path], None]] = {
    "BERT-base": bert,
    "ViT-B/16": vision_transformer,
    "Swin-T": swin,
    "GPT-2": gpt,
    "ResNet-50": resnet,
}
