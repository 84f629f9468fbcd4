"""Layers that multiply, sum, reduce and normalise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from openvino import opset1, opset2, opset3, opset4, opset5, opset6, opset7, opset8, opset12, opset13, opset15

from tests.formats.layers.making import Case, Made, Maker, case

_INT, _LONG = np.int32, np.int64


def _products() -> Iterator[Case]:
    pairs = (
        ((2, 3), (3, 4)), ((2, 2, 3), (3, 4)), ((2, 2, 3), (2, 3, 4)), ((1, 2, 2, 3), (3, 1, 3, 4)), ((3,), (3,)),
        ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (2, 3, 4)), ((2, 4, 3), (3,)),
    )  # fmt: skip
    for first, second in pairs:
        for turned in ((False, False), (True, False), (False, True), (True, True)):

            def product(make: Maker, first: Any = first, second: Any = second, turned: Any = turned) -> Made:
                dims = [list(each) for each in (first, second)]
                for each, flag in zip(dims, turned, strict=True):
                    if flag and len(each) > 1:
                        each[-2:] = each[-1], each[-2]
                return opset1.matmul(make.given(*dims[0]), make.given(*dims[1]), *turned)

            yield case("MatMul", f"{first} {second} {turned}", product)
    yield case("MatMul", "constant", lambda make: opset1.matmul(make.given(2, 3), make.drawn(4, 3), False, True))
    for words, dims in (
        ("ij,jk->ik", ((2, 3), (3, 4))),
        ("bij,bjk->bik", ((2, 2, 3), (2, 3, 4))),
        ("ij->ji", ((2, 3),)),
        ("abc->ca", ((2, 3, 4),)),
        ("bhd,hd->bh", ((2, 3, 4), (3, 4))),
        ("i,j->ij", ((2,), (3,))),
        ("bqhd,bkhd->bhqk", ((1, 2, 3, 4), (1, 5, 3, 4))),
    ):

        def einsum(make: Maker, words: str = words, dims: Any = dims) -> Made:
            return opset7.einsum([make.given(*each) for each in dims], words)

        yield case("Einsum", words, einsum)
    yield from _attention()


def _attention() -> Iterator[Case]:
    for rank, lead in ((3, (2,)), (4, (2, 3))):
        for mask in (None, "real", "truth", "wide", "number"):
            for scale in (None, 0.3):

                def attend(make: Maker, lead: Any = lead, mask: Any = mask, scale: Any = scale) -> Made:
                    query, key, value = (make.given(*lead, *each) for each in ((4, 8), (5, 8), (5, 6)))
                    given = {
                        None: lambda: None,
                        "real": lambda: make.given(4, 5),
                        "truth": lambda: make.fed(np.tri(4, 5), np.bool_),
                        "wide": lambda: make.given(*lead, 4, 5),
                        "number": lambda: make.held(0),
                    }[mask]()
                    if given is None and scale is not None:
                        given = make.held(0)
                    amount = None if scale is None else make.held(scale)
                    return opset13.scaled_dot_product_attention(query, key, value, given, amount)

                yield case("ScaledDotProductAttention", f"{rank} {mask} {scale}", attend, loose=1e-4)

        def causal(make: Maker, lead: Any = lead) -> Made:
            return opset13.scaled_dot_product_attention(*(make.given(*lead, 4, 8) for _ in range(3)), causal=True)

        def wide(make: Maker, lead: Any = lead) -> Made:
            inputs = (make.given(*lead, *each) for each in ((3, 8), (5, 8), (5, 6)))
            return opset13.scaled_dot_product_attention(*inputs, causal=True)

        yield case("ScaledDotProductAttention", f"{rank} causal", causal, loose=1e-4)
        yield case("ScaledDotProductAttention", f"{rank} causal wide", wide, loose=1e-4)


_REDUCTIONS = {
    "L1": opset4.reduce_l1,
    "L2": opset4.reduce_l2,
    "Max": opset1.reduce_max,
    "Mean": opset1.reduce_mean,
    "Min": opset1.reduce_min,
    "Prod": opset1.reduce_prod,
    "Sum": opset1.reduce_sum,
}
_AXES: tuple[Any, ...] = ([0], [1, 2], [-1], [0, -1], 1, [0, 1, 2], [2, 0], [])


def _reductions() -> Iterator[Case]:
    for way, op in _REDUCTIONS.items():
        for axes in _AXES:
            for keep in (True,) if axes == [] else (False, True):  # openvino refuses no axes that are dropped

                def real(make: Maker, op: Any = op, axes: Any = axes, keep: bool = keep) -> Made:
                    return op(make.given(2, 3, 4), make.held(axes, _LONG if keep else _INT), keep)

                yield case(f"Reduce{way}", f"{axes} {keep}", real, loose=1e-4)
        if way not in {"L1", "L2", "Mean"}:
            yield case(
                f"Reduce{way}",
                "whole",
                lambda make, op=op: op(make.given(2, 3, kind=_INT), make.held([1], _LONG), False),
            )
    for kind, op in (("ReduceLogicalAnd", opset1.reduce_logical_and), ("ReduceLogicalOr", opset1.reduce_logical_or)):
        for axes in _AXES:
            for keep in (True,) if axes == [] else (False, True):

                def truth(make: Maker, op: Any = op, axes: Any = axes, keep: bool = keep) -> Made:
                    return op(make.given(2, 3, 2, kind=np.bool_), make.held(axes, _LONG), keep)

                yield case(kind, f"{axes} {keep}", truth)


def _proportions() -> Iterator[Case]:
    for dims, axis in (((2, 3), 1), ((2, 3), 0), ((2, 3, 4), 1), ((2, 3, 4), 2), ((5,), 0), ((1, 2, 3, 4), 3)):
        swap = (('type="SoftMax"', 'type="Softmax"'),)
        yield case("SoftMax", f"1 {dims} {axis}", lambda make, d=dims, a=axis: opset1.softmax(make.given(*d), a))
        yield case(
            "Softmax", f"1 {dims} {axis}", lambda make, d=dims, a=axis: opset1.softmax(make.given(*d), a), swap=swap
        )
        negative = axis - len(dims)
        yield case("SoftMax", f"8 {dims} {axis}", lambda make, d=dims, a=negative: opset8.softmax(make.given(*d), a))
        yield case(
            "LogSoftmax", f"{dims} {axis}", lambda make, d=dims, a=negative: opset5.log_softmax(make.given(*d), a)
        )
    for dims in ((2, 3, 4), (2, 3, 4, 2), (1, 2, 2, 3, 2)):
        for across in (False, True):
            for variance in (False, True):

                def old(make: Maker, dims: Any = dims, across: bool = across, variance: bool = variance) -> Made:
                    return opset2.mvn(make.given(*dims), across, variance, 1e-3)

                yield case("MVN", f"2 {dims} {across} {variance}", old, loose=1e-4)
        for axes in ([2], [1, 2], [-1], [0, 1]):
            for mode in ("inside_sqrt", "outside_sqrt"):

                def new(make: Maker, dims: Any = dims, axes: Any = axes, mode: str = mode) -> Made:
                    return opset6.mvn(make.given(*dims), make.held(axes, _LONG), True, 1e-2, mode)

                yield case("MVN", f"6 {dims} {axes} {mode}", new, loose=1e-4)
        for axes in ([1], [1, 2], [-1], [2]):
            for mode in ("add", "max"):

                def length(make: Maker, dims: Any = dims, axes: Any = axes, mode: str = mode) -> Made:
                    return opset1.normalize_l2(make.given(*dims, low=-1, high=1), make.held(axes, _LONG), 0.3, mode)

                yield case("NormalizeL2", f"{dims} {axes} {mode}", length, loose=1e-4)
    none = lambda make: opset1.normalize_l2(make.given(2, 3), make.held([], _LONG), 0.3, "add")  # noqa: E731
    yield case("NormalizeL2", "no axes", none, undrawn="no axes")
    for dims in ((2, 3), (2, 3, 4), (1, 3, 2, 2), (2, 3, 2, 1, 2)):
        for version, op in ((1, opset1.batch_norm_inference), (5, opset5.batch_norm_inference)):

            def norm(make: Maker, dims: Any = dims, op: Any = op) -> Made:
                scale, shift, mean, spread = (make.drawn(3, low=0.5, high=2) for _ in range(4))
                return op(make.given(*dims), scale, shift, mean, spread, 1e-3)

            yield case("BatchNormInference", f"{version} {dims}", norm, loose=1e-4)
    for dims in ((2, 5, 3, 3), (1, 2, 2, 2), (1, 7, 1, 4)):
        for size in (1, 3, 5):

            def local(make: Maker, dims: Any = dims, size: int = size) -> Made:
                return opset1.lrn(
                    make.given(*dims), make.held([1], _LONG), 0.3, 0.75, 1, size
                )  # the plugin knows no other bias

            yield case("LRN", f"{dims} {size}", local, loose=1e-4, said=size > 3)
    yield case(
        "LRN",
        "elsewhere",
        lambda make: opset1.lrn(make.given(1, 2, 4, 4), make.held([2, 3], _LONG), 1, 0.5, 1, 3),
        undrawn="channels",
    )
    yield from _groups()


def _groups() -> Iterator[Case]:
    for dims, count in (
        ((2, 4, 1), 2),
        ((2, 4, 3), 2),
        ((1, 6, 2, 2), 3),
        ((1, 6, 2, 2), 6),
        ((1, 4, 3, 1), 1),
        ((2, 4, 2, 2, 2), 4),
    ):

        def groups(make: Maker, dims: Any = dims, count: int = count) -> Made:
            data = make.given(*dims)
            return opset12.group_normalization(data, make.drawn(dims[1]), make.drawn(dims[1]), count, 1e-3)

        yield case("GroupNormalization", f"{dims} {count}", groups, loose=1e-4)
    for dims in ((2, 3), (2, 3, 4), (1, 3, 2, 2), (2, 1, 2, 2), (1, 8, 1, 1), (2, 5, 3)):
        yield case("GRN", f"{dims}", lambda make, dims=dims: opset1.grn(make.given(*dims), 0.2), loose=1e-4)


def _bags() -> Iterator[Case]:
    for dims, bags in (((5, 3), (2, 4)), ((5,), (3, 2)), ((4, 2, 3), (1, 3)), ((6, 2), (2, 1))):
        for kind in (_INT, _LONG):
            for weights in (False, True):

                def packed(
                    make: Maker, dims: Any = dims, bags: Any = bags, kind: Any = kind, weights: bool = weights
                ) -> Made:
                    places = make.given(*bags, kind=kind, low=0, high=dims[0] - 1)
                    given = [make.given(*bags)] if weights else []
                    return opset3.embedding_bag_packed_sum(make.given(*dims), places, *given)

                yield case(
                    "EmbeddingBagPackedSum",
                    f"{dims} {bags} {np.dtype(kind).name} {weights}",
                    packed,
                    loose=1e-4,
                    said=weights,
                )
    for dims, bags in (((5, 3), (2, 4)), ((5,), (3, 2)), ((4, 2, 3), (1, 3))):
        for way in ("sum", "mean"):
            for weights in (False, True) if way == "sum" else (False,):

                def newer(
                    make: Maker, dims: Any = dims, bags: Any = bags, way: str = way, weights: bool = weights
                ) -> Made:
                    places = make.given(*bags, kind=_INT, low=0, high=dims[0] - 1)
                    given = [make.given(*bags)] if weights else []
                    return opset15.embedding_bag_packed(make.given(*dims), places, *given, reduction=way)

                undrawn = "reduction" if way == "mean" else None
                yield case(
                    "EmbeddingBagPacked",
                    f"{dims} {bags} {way} {weights}",
                    newer,
                    loose=1e-4,
                    said=True,
                    undrawn=undrawn,
                )


CASES = [*_products(), *_reductions(), *_proportions(), *_bags()]
