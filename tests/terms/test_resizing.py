"""Resize and its kin on terms beside onnxruntime: dims, what depends on what, and differences that must show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onereshape.terms.hashing import Hashing
from onereshape.terms.refusal import NotProven
from tests.terms.one_node import Array, Node, agrees, answers, depends, exchanges, run, runs, words


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def resize(data: Array, attributes: dict[str, Any], *, by: Any = None, to: Any = None, opset: int = 19) -> Node:
    scales = None if by is None else np.array(by, np.float32)
    sizes = None if to is None else np.array(to, np.int64)
    if opset == 10:
        return Node("Resize", [data, scales], attributes, opset, known=frozenset({1}))
    if opset == 11:
        scales = np.zeros(0, np.float32) if scales is None else scales
        region: Array | None = np.zeros(0, np.float32)
    else:
        region = None
    inputs = [data, region, scales] if sizes is None else [data, region, scales, sizes]
    return Node("Resize", inputs, attributes, opset, known=frozenset({1, 2, 3}))


TRANSFORMS = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric"]
NEAREST = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def draw_resize(rng: np.random.Generator, mode: str) -> Node:
    opset = int(rng.choice([11, 13, 18, 19]))
    transformation = str(rng.choice(TRANSFORMS if opset >= 19 else TRANSFORMS[:4]))
    attributes: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": transformation}
    dims = [int(each) for each in rng.integers(2, 8, 2)]
    if mode == "nearest":
        attributes["nearest_mode"] = str(rng.choice(NEAREST))
    if mode == "cubic":
        attributes["cubic_coeff_a"] = float(rng.choice([-0.75, -0.5]))
        attributes["exclude_outside"] = int(rng.integers(2))
    elif opset >= 18 and mode == "linear" and rng.random() < 0.3:
        attributes["antialias"] = 1
    data = floats(rng, 2, 2, *dims)
    if rng.random() < 0.5:
        scales = [float(each) for each in rng.choice([0.5, 0.6, 1.0, 1.5, 2.0, 3.0, 1.3], 2)]
        return resize(data, attributes, by=[1.0, 1.0, *scales], opset=opset)
    return resize(data, attributes, to=[2, 2, *(int(each) for each in rng.integers(1, 12, 2))], opset=opset)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_resize(rng: np.random.Generator, mode: str) -> None:
    done = 0
    for _ in range(25):
        node = draw_resize(rng, mode)
        if not runs(node):
            continue
        agrees(node)
        depends(node, rng, 4, apart=True)
        exchanges(node, rng, 5)
        done += 1
    assert done > 20


def test_the_nearest_is_movement(rng: np.random.Generator) -> None:
    """Where there is no doubt about places, they are onnxruntime's."""
    moved = 0
    for _ in range(80):
        node = draw_resize(rng, "nearest")
        if not runs(node):
            continue
        found = run(replace(node, known=frozenset({0, 1, 2, 3})), Hashing(1))[0]
        if found.values is not None:
            moved += 1
            assert np.array_equal(found.values, answers(node)[0]), node
    assert moved > 40


@pytest.mark.parametrize("mode", ["nearest", "linear"])
@pytest.mark.parametrize("opset", [7, 9, 10])
def test_upsample_and_resize_of_old(rng: np.random.Generator, mode: str, opset: int) -> None:
    for scales in ([1.0, 1.0, 2.0, 3.0], [1.0, 1.0, 1.5, 1.0], [1.0, 1.0, 2.3, 1.7]):
        data = floats(rng, 2, 2, 3, 4)
        if opset == 7:
            node = Node("Upsample", [data], {"mode": mode, "scales": scales}, 7)
        elif opset == 9:
            node = Node("Upsample", [data, np.array(scales, np.float32)], {"mode": mode}, 9, known=frozenset({1}))
        else:
            node = resize(data, {"mode": mode}, by=scales, opset=10)
        agrees(node)
        depends(node, rng, 8, apart=True)
        exchanges(node, rng, 5)


def test_whole_scales_of_old_are_those_of_today(rng: np.random.Generator) -> None:
    data, hashing = floats(rng, 1, 1, 3, 4), Hashing(1)
    old = run(Node("Upsample", [data], {"mode": "nearest", "scales": [1.0, 1.0, 2.0, 3.0]}, 7), hashing)[0]
    new = run(
        resize(data, {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, to=[1, 1, 6, 12]),
        hashing,
    )[0]
    assert np.array_equal(old.array, new.array)


def test_scales_and_sizes_may_be_the_same(rng: np.random.Generator) -> None:
    data = floats(rng, 1, 1, 4, 6)
    for mode in ("nearest", "linear", "cubic"):
        one = words(resize(data, {"mode": mode}, by=[1.0, 1.0, 2.0, 1.5]))[0]
        two = words(resize(data, {"mode": mode}, to=[1, 1, 8, 9]))[0]
        assert np.array_equal(one, two)
        part = resize(data, {"mode": mode, "axes": [2, 3]}, to=[8, 9])
        assert np.array_equal(one, words(part)[0])


def test_resizes_that_differ(rng: np.random.Generator) -> None:
    data = floats(rng, 1, 1, 5, 5)
    nodes = [
        resize(data, {"mode": mode, "coordinate_transformation_mode": each, **more}, to=[1, 1, 8, 8])
        for mode in ("nearest", "linear", "cubic")
        for each in TRANSFORMS
        for more in ({}, {"cubic_coeff_a": -0.5}, {"nearest_mode": "ceil"}, {"exclude_outside": 1})
    ]
    nodes += [resize(data, {"mode": "linear", "antialias": each}, to=[1, 1, 3, 8]) for each in (0, 1)]
    found = [(words(node)[0], answers(node)[0]) for node in nodes if runs(node)]
    assert len(found) > 30
    for place, (one, real) in enumerate(found):
        for other, theirs in found[:place]:
            if one.shape == other.shape:
                assert not ((one == other) & ~np.isclose(real, theirs, 1e-4, 1e-5)).any()


def test_the_ratio_is_kept(rng: np.random.Generator) -> None:
    for policy in ("not_larger", "not_smaller"):
        attributes = {"mode": "linear", "keep_aspect_ratio_policy": policy, "axes": [2, 3]}
        node = resize(floats(rng, 2, 1, 4, 6), attributes, to=[7, 9])
        agrees(node)
        depends(node, rng, 10, apart=True)
        exchanges(node, rng, 5)


def test_a_region_is_resized(rng: np.random.Generator) -> None:
    attributes = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    node = resize(floats(rng, 2, 1, 6, 6), attributes, to=[2, 1, 4, 3])
    region = np.array([0, 0, 0.2, 0.4, 1, 1, 0.8, 0.9], np.float32)
    inside = replace(node, inputs=[node.inputs[0], region, *node.inputs[2:]])
    agrees(inside)
    depends(inside, rng, 15, apart=True)
    other = replace(inside, inputs=[node.inputs[0], region * np.float32(0.9), *node.inputs[2:]])
    assert not (words(inside)[0] == words(other)[0]).any()
    outside = np.array([0, 0, -0.2, 0.4, 1, 1, 0.8, 0.9], np.float32)
    with pytest.raises(NotProven, match="outside"):
        run(replace(node, inputs=[node.inputs[0], outside, *node.inputs[2:]]), Hashing(1))


@pytest.mark.parametrize(
    "node",
    [
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, by=[1.0, 1.0, 2.0]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, by=[1.0, 1.0, -2.0, 1.0]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, by=[1.0, 1.0, np.nan, 1.0]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, by=[1.0, 1.0, 2.0, 1.0], to=[1, 1, 8, 4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, to=[1, 1, 8, -4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, to=[1, 1, 0, 4]),
        resize(np.zeros((1, 1, 0, 4), np.float32), {}, to=[1, 1, 3, 4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {"mode": "best"}, to=[1, 1, 3, 4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {"nearest_mode": "best"}, to=[1, 1, 3, 4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {"coordinate_transformation_mode": "best"}, to=[1, 1, 3, 4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {"axes": [2, 2]}, to=[3, 4]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, to=[1, 1, 1 << 20, 1 << 20]),
        resize(np.zeros((1, 1, 4, 4), np.float32), {}, by=[1.0, 1.0, 1e30, 1.0]),
    ],
    ids=repr,
)
def test_refusals(node: Node) -> None:
    with pytest.raises(NotProven):
        run(node, Hashing(1))


@pytest.mark.parametrize("opset", [16, 20])
def test_grid_samples(rng: np.random.Generator, opset: int) -> None:
    modes = ["bilinear", "nearest", "bicubic"] if opset < 20 else ["linear", "nearest", "cubic"]
    found = {}
    inputs = [floats(rng, 2, 2, 3, 4), floats(rng, 2, 5, 3, 2)]
    for mode in modes:
        for padding in ("zeros", "border", "reflection"):
            for align in (0, 1):
                node = Node(
                    "GridSample", inputs, {"mode": mode, "padding_mode": padding, "align_corners": align}, opset
                )
                agrees(node)
                depends(node, rng, 3, apart=True)
                exchanges(node, rng, 5)
                found[mode.removeprefix("bi"), padding, align] = int(words(node)[0][0, 0, 0, 0])
    assert len(set(found.values())) == len(found) == 18


def test_grids(rng: np.random.Generator) -> None:
    for size in ([2, 1, 3, 4], [2, 1, 2, 3, 4]):
        count = len(size) - 2
        inputs = [floats(rng, 2, count, count + 1), np.array(size)]
        nodes = [Node("AffineGrid", inputs, {"align_corners": align}, 20, known=frozenset({1})) for align in (0, 1)]
        for node in nodes:
            agrees(node)
            depends(node, rng, 6, apart=True)
            exchanges(node, rng, 5)
        assert not (words(nodes[0])[0] == words(nodes[1])[0]).any()
        assert words(nodes[0])[0].size == len(np.unique(words(nodes[0])[0]))


@pytest.mark.parametrize("opset", [10, 16])
def test_regions_are_aligned(rng: np.random.Generator, opset: int) -> None:
    regions = np.abs(floats(rng, 3, 4)) * 2
    regions[:, 2:] += regions[:, :2]
    inputs = [floats(rng, 2, 2, 6, 6), regions, np.array([1, 0, 1])]
    attributes = {"output_height": 2, "output_width": 3, "sampling_ratio": 2}
    for mode in ("avg", "max"):
        node = Node("RoiAlign", inputs, {**attributes, "mode": mode}, opset, known=frozenset({2}))
        agrees(node)
        depends(node, rng, 10)
        exchanges(node, rng, 5)
        changed = words(node)[0]
        for name, value in (("sampling_ratio", 1), ("spatial_scale", 0.5), ("output_width", 4)):
            other = words(node.but(**{name: value}))[0][..., :3]
            assert not (changed == other).any()
        anywhere = replace(node, known=frozenset())
        agrees(anywhere)
        depends(anywhere, rng, 10, but=2)
        exchanges(replace(node, known=frozenset({1, 2})), rng, 20)
    with pytest.raises(NotProven):
        run(replace(node, inputs=[*inputs[:2], np.array([0, 2, 0])]), Hashing(1))


def test_regions_are_pooled(rng: np.random.Generator) -> None:
    regions = np.array([[1, 0, 0, 3, 3], [0, 1, 1, 4, 5]], np.float32)
    node = Node("MaxRoiPool", [floats(rng, 2, 2, 6, 6), regions], {"pooled_shape": [2, 2]}, 13)
    for known in (frozenset(), frozenset({1})):
        agrees(replace(node, known=known))
        depends(replace(node, known=known), rng, 10, but=1)
    assert not (words(node)[0] == words(node.but(spatial_scale=0.5))[0]).any()
