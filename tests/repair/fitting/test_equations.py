"""What operands of a node must have in common, and how numbers are told by it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import onnx_ir as ir
import pytest

from onereshape.repair.fitting.doubts import Doubt
from onereshape.repair.fitting.equations import equations, spread
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.unsettled import Unsettled
from onereshape.rule.sizes import Size, cut, symbol

A, B, C, D, E, F, G = map(symbol, "ABCDEFG")
Shape = tuple[Size, ...]


@pytest.mark.parametrize(
    ("operator", "equation", "shapes", "equal", "shared"),
    [
        ("MatMul", "", ((A, B, C, D), (E, F, G)), [(D, F), (B, E)], {0: [A], 1: [B, E]}),
        ("MatMul", "", ((A, B, C), (C,)), [], {0: [A]}),
        ("MatMul", "", ((A, 1, C, D), (1, B, D, F)), [], {0: [A], 1: [B]}),
        ("Einsum", "bqd, bkd -> bqk", ((A, B, C), (D, E, F)), [(A, D), (C, F)], {0: [A, D], 1: [B], 2: [E]}),
        (
            "Einsum",
            "...qd,...kd->...qk",
            ((A, B, C, D), (E, F, G)),
            [(D, G), (B, E)],
            {0: [A], 1: [B, E], 2: [C], 3: [F]},
        ),
        ("Einsum", "ij,jk", ((A, B), (1, D)), [], {0: [A], 1: [D]}),
        ("Einsum", "ij,jk->ik", ((A, B, C), (1, D)), [], {}),
        ("Add", "", ((A, B), (C,)), [(B, C)], {0: [A], 1: [B, C]}),
        ("Transpose", "", ((A, B),), [], {}),
    ],
)
def test_dims_that_operands_share(
    operator: str, equation: str, shapes: tuple[Shape, ...], equal: list[Any], shared: dict[int, list[Size]]
) -> None:
    values = [ir.Value(name=f"x{place}") for place in range(len(shapes))]
    node = ir.node(operator, values, {"equation": equation} if equation else {})
    scope: Any = SimpleNamespace(dims_of=dict(zip(values, shapes, strict=True)).get)

    assert sorted(map(str, equations(node, scope))) == sorted(map(str, equal))
    assert spread(node, scope) == shared


def test_a_twin_that_stands_for_something_else_is_asked_again() -> None:
    """Three numbers that are read alike: the first is told, and with it the one that is the same, by its own words."""
    size = symbol("S")
    down, up = cut(size, 2), cut(size + 1, 2)
    unsettled = Unsettled(Known([{"S": 12}, {"S": 24}]))
    use: Any = None
    one, other, third = (
        unsettled.name(Doubt((number, 0), use, (down, up), frozenset({down, up})), (6, 12)) for number in range(3)
    )
    for number, meant in ((one, down), (other, up), (third, down)):
        unsettled.equate(2 * number, 2 * meant)

    assert unsettled.solved() == {(0, 0): down, (2, 0): down}
