"""Pad, Trilu, CenterCropPad, ReverseSequence, OneHot, Compress, NonZero, Unique beside onnxruntime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from onereshape.terms.refusal import NotProven
from tests.terms.indexing_law import Case, check, numbered, on_terms, words


def _dims(rng: Generator, least: int, most: int) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(1, 5, rng.integers(least, most + 1)))


def _data(rng: Generator, dims: Any, dtype: str | None = None) -> Any:
    kind = str(rng.choice(["float32", "int64"])) if dtype is None else dtype
    return rng.permutation(int(np.prod(dims))).reshape(dims).astype(kind) + 10


def _known(rng: Generator, *names: str) -> frozenset[str]:
    return frozenset(name for name in names if rng.random() < 0.4)


def _pads(rng: Generator, dims: Any, mode: str) -> Any:
    """Before and behind each dim; some take away."""
    least = [-((dim - 1) // 2) if rng.random() < 0.3 else 0 for dim in dims]
    most = [dim - 1 - 2 * -low if mode == "reflect" else 3 for dim, low in zip(dims, least, strict=True)]
    sides = [
        [int(rng.integers(low, max(high, low) + 1)) for low, high in zip(least, most, strict=True)] for _ in range(2)
    ]
    return [*sides[0], *sides[1]]


def _pad(rng: Generator) -> Case:
    opset = int(rng.choice([2, 11, 13, 18, 19, 21, 24]))
    mode = str(rng.choice(["constant", "constant", "reflect", "edge", *(["wrap"] if opset > 18 else [])]))
    dims = _dims(rng, 1, 4 if mode == "constant" else 3)
    pads = _pads(rng, dims, mode)
    x = _data(rng, dims, "float32" if opset < 11 else None)
    if opset < 11:
        return Case("Pad", [("x", x)], {"mode": mode, "pads": pads, "value": 3.0}, 7, _known(rng, "x"))
    inputs: list[Any] = [("x", x), ("p", np.array(pads))]
    names = ["x"]
    if rng.random() < 0.6:
        inputs.append(("v", np.array(5, x.dtype)))
        names.append("v")
    if opset > 17 and rng.random() < 0.5:
        order = rng.permutation(len(dims))[: rng.integers(1, len(dims) + 1)]
        inputs[1] = ("p", np.array([*np.array(pads[: len(dims)])[order], *np.array(pads[len(dims) :])[order]]))
        inputs += [None] * (3 - len(inputs)) + [("a", order - len(dims) * rng.integers(0, 2, len(order)))]
        return Case("Pad", inputs, {"mode": mode}, opset, _known(rng, *names) | {"p", "a"}, ranges=_FIXED)
    return Case("Pad", inputs, {"mode": mode}, opset, _known(rng, *names) | {"p"}, ranges={"p": (0, 2)})


_FIXED = {"p": (0, 2), "a": (0, 1)}


def _trilu(rng: Generator) -> Case:
    x = _data(rng, _dims(rng, 2, 4))
    k = [("k", np.array(int(rng.integers(-3, 4))))] if rng.random() < 0.8 else []
    return Case("Trilu", [("x", x), *k], {"upper": int(rng.integers(2))}, 14, _known(rng, *"xk"), ranges={"k": (-3, 4)})


def _center(rng: Generator) -> Case:
    dims = _dims(rng, 1, 3)
    axes = rng.permutation(len(dims))[: rng.integers(1, len(dims) + 1)].tolist()
    chosen = {"axes": axes} if rng.random() < 0.7 else {}
    shape = rng.integers(1, 6, len(axes) if chosen else len(dims))
    return Case("CenterCropPad", [("x", _data(rng, dims)), ("s", shape)], chosen, 18, _known(rng, "x") | {"s"})


def _reverse(rng: Generator) -> Case:
    dims = _dims(rng, 2, 4)
    time = int(rng.integers(2))
    lengths = rng.integers(1, dims[time] + 1, dims[1 - time])
    return Case(
        "ReverseSequence",
        [("x", _data(rng, dims)), ("l", lengths)],
        {"time_axis": time, "batch_axis": 1 - time},
        10,
        _known(rng, *"xl"),
        ranges={"l": (1, dims[time] + 1)},
    )


def _one_hot(rng: Generator) -> Case:
    dims, depth = _dims(rng, 0, 3), int(rng.integers(1, 5))
    kind = str(rng.choice(["int64", "int32", "float32"]))
    old = rng.random() < 0.3
    low = 0 if old else -depth - 1
    index = rng.integers(low, depth + 2, dims).astype("int64" if kind == "int32" else kind)
    return Case(
        "OneHot",
        [("i", index), ("d", np.array(depth)), ("v", np.array([2, 5], rng.choice(["f4", "i8"])))],
        {"axis": int(rng.integers(-len(dims) - 1, len(dims) + 1))},
        9 if old else 11,
        _known(rng, *"iv") | {"d"},
        ranges={"i": (low, depth + 2), "d": (1, 5)},
    )


def _compress(rng: Generator) -> Case:
    dims = _dims(rng, 1, 3)
    axis = int(rng.integers(-len(dims), len(dims)))
    whole = rng.random() < 0.3
    count = int(np.prod(dims)) if whole else dims[axis]
    condition = rng.random(rng.integers(1, count + 1)) < 0.6
    return Case(
        "Compress",
        [("x", _data(rng, dims)), ("c", condition)],
        {} if whole else {"axis": axis},
        11,
        _known(rng, "x") | {"c"},
    )


def _non_zero(rng: Generator) -> Case:
    x = rng.integers(0, 2, _dims(rng, 1, 3)).astype(str(rng.choice(["float32", "int64", "bool"])))
    return Case("NonZero", [("x", x)], {}, 13, frozenset("x"))


def _unique(rng: Generator) -> Case:
    dims = _dims(rng, 1, 3)
    x = rng.integers(0, 3, dims).astype(str(rng.choice(["float32", "int64"])))
    axis = {"axis": int(rng.integers(-len(dims), len(dims)))} if rng.random() < 0.6 else {}
    return Case("Unique", [("x", x)], {"sorted": int(rng.integers(2)), **axis}, 11, frozenset("x"), 4)


MAKERS = {
    "Pad": _pad,
    "Trilu": _trilu,
    "CenterCropPad": _center,
    "ReverseSequence": _reverse,
    "OneHot": _one_hot,
    "Compress": _compress,
    "NonZero": _non_zero,
    "Unique": _unique,
}


def _made(op: str, rng: Generator) -> Case:
    case = MAKERS[op](rng)
    return replace(case, known=case.known & {*case.arrays})


@pytest.mark.parametrize("op", MAKERS)
def test_whatever_changes_changes_in_terms(op: str) -> None:
    rng = np.random.default_rng(7)
    count = 60 if op == "Pad" else 30
    held = sum(check(_made(op, rng), rng, 2) for _ in range(count))
    assert held == count if op != "OneHot" else held > count / 2  # few of its types are in onnxruntime


@pytest.mark.parametrize("op", ["Pad", "Trilu", "CenterCropPad", "ReverseSequence", "Compress"])
def test_movement_is_exact(op: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        case = _made(op, rng)
        if case.opset < 10:
            continue
        for name in case.arrays.keys() & {"x", "v"}:
            case = case.with_input(name, case.arrays[name].astype(np.int64))
        mine, wanted = numbered(replace(case, known=frozenset(case.arrays.keys() - {"x"})), "x")
        np.testing.assert_array_equal(mine, wanted, str(case))


def test_what_depends_on_data_is_refused() -> None:
    x = np.ones((2, 2), np.float32)
    for op in ("NonZero", "Unique"):
        with pytest.raises(NotProven, match="numbers"):
            on_terms(Case(op, [("x", x)]))
    with pytest.raises(NotProven, match="numbers"):
        on_terms(Case("Compress", [("x", x), ("c", np.ones(2, bool))], {"axis": 0}))


def test_other_modes_and_values_give_other_words() -> None:
    x = np.arange(4, dtype=np.float32)
    found = [
        words(
            on_terms(
                Case("Pad", [("x", x), ("p", np.array([2, 0])), ("v", value)], {"mode": mode}, 19, frozenset("pv"))
            )
        )
        for mode, value in (
            ("constant", np.array(0, np.float32)),
            ("constant", np.array(-0.0, np.float32)),
            ("reflect", np.array(0, np.float32)),
            ("edge", np.array(0, np.float32)),
            ("wrap", np.array(0, np.float32)),
        )
    ]
    for one in range(len(found)):
        assert np.array_equal(found[one][0][2:], found[0][0][2:])
        for two in range(one):
            assert not np.array_equal(found[one][0], found[two][0])


def test_rows_are_turned_apart() -> None:
    case = Case(
        "ReverseSequence",
        [("x", np.zeros((3, 4, 2), np.float32)), ("l", np.ones(3, np.int64))],
        {"time_axis": 1, "batch_axis": 0},
    )
    before = words(on_terms(case))[0]
    for changed in (("x", (1, 2, 0)), ("l", (1,))):
        after = words(on_terms(case, changed))[0]
        assert [bool(np.any(each)) for each in before != after] == [False, True, False]
