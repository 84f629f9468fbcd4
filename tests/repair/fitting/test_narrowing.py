"""Which readings of several numbers fit together."""

from __future__ import annotations

from itertools import product
from typing import Any

import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.ground.errors import FixError
from onereshape.repair.fitting import narrowing
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.narrowing import Narrowed, by_equal, by_whole
from onereshape.repair.fitting.plan import like_plan
from onereshape.rule.sizes import Size, ceiling, cut, largest, over, smallest, symbol

S = symbol("S")
ONE, OTHER = symbol("?0.0"), symbol("?1.0")


READINGS: list[Size] = [S, cut(S, 2), ceiling(S, 2), cut(S, 3), S - 2, 2 * S, smallest(S, 40), over(S * S, S - 12)]
ASKED: list[tuple[Size, Size]] = [
    (ONE, OTHER),
    (2 * ONE, OTHER + S),
    (smallest(ONE + 2, OTHER), cut(S, 2)),
    (smallest(ONE, 64), OTHER),
    (smallest(ONE - OTHER, S), S),
    (smallest(ONE - OTHER + 48, S), S),
    (largest(0, smallest(ONE + 2, OTHER) - 1), cut(S, 2) - 1),
    (over(S, ONE), over(S, OTHER)),
    (ONE * (S - 12), S * OTHER),
]


@pytest.mark.parametrize(("one", "other"), ASKED)
@pytest.mark.parametrize("sizes", [(12, 24), (13, 30), (8, 16, 44)])
def test_what_fits_at_samples_fits_in_formulas(
    one: Size, other: Size, sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether something holds of readings is told by their numbers; formulas of them say the same."""

    def answers() -> list[Any]:
        found = []
        for first, second in product([READINGS[:4], READINGS[4:], READINGS], repeat=2):
            for whole in (False, True):
                known = Known([{"S": size, "?0.0": size, "?1.0": size} for size in sizes])
                left = {"?0.0": [*first], "?1.0": [*second]}
                told = by_whole(known, left, over(one, 2), {}) if whole else by_equal(known, left, one, other, {})
                found.append((told, left, known.ends))
        return found

    quick = answers()
    monkeypatch.setattr(Known, "at_samples", lambda *_: None)

    assert quick == answers()


def test_the_same_is_asked_once_until_more_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    fits = narrowing._fits

    def counted(*given: Any) -> Any:
        asked.append(given)
        return fits(*given)

    monkeypatch.setattr(narrowing, "_fits", counted)
    known, seen = Known([{"S": 12, "?0.0": 6}, {"S": 24, "?0.0": 12}]), Narrowed()
    readings: list[Size] = [cut(S, 2), ceiling(S, 2), cut(S, 2) + 1]

    def told() -> list[Size]:
        left = {"?0.0": [*readings]}
        assert by_equal(known, left, 2 * ONE, 2 * ceiling(S, 2), seen) == {"?0.0"}
        return left["?0.0"]

    assert (told(), told()) == ([ceiling(S, 2)], [ceiling(S, 2)])
    assert len(asked) == 1
    known.whole(over(S, 2))

    assert told() == readings[:2]
    assert len(asked) == 2


def test_what_ends_somewhere_is_asked_again() -> None:
    """A walk that begins anew does not know of an end that another one has noted, however often that one asked."""
    seen = Narrowed()
    for times in (2, 1):
        known = Known([{"S": 12, "?0.0": 12}, {"S": 24, "?0.0": 24}])

        for _ in range(times):
            by_equal(known, {"?0.0": [S, 2 * S]}, smallest(ONE, 64), S, seen)

        assert known.ends == {(S, 64): None}


def test_numbers_that_are_as_large_as_each_other_tell_nothing() -> None:
    """That a number is used twice does not make its only reading right, which proves nothing."""
    known = Known([{"S": 12, "?0.0": 7, "?1.0": 7}, {"S": 13, "?0.0": 6, "?1.0": 6}])
    alone: list[Size] = [19 - S]

    assert by_equal(known, {"?0.0": alone, "?1.0": [*alone]}, ONE, OTHER, {}) == set()
    assert by_equal(known, {"?0.0": [*alone], "?1.0": [*alone]}, ONE + OTHER, 38 - 2 * S, {}) == {"?0.0", "?1.0"}
    assert by_equal(known, {"?0.0": [*alone], "?1.0": [S, 19 - S]}, ONE, OTHER, {}) == {"?0.0", "?1.0"}


def _twice(size: int, number: int) -> ir.Model:
    """A number at two places, of tensors that are added."""
    nodes = [
        helper.make_node("Expand", ["one", "first"], ["a"]),
        helper.make_node("ConstantOfShape", ["second"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["c"]),
        helper.make_node("ReduceSum", ["c"], ["d"], keepdims=0),
        helper.make_node("Mul", ["x", "d"], ["y"]),
    ]
    tensors = [helper.make_tensor(name, TensorProto.INT64, [1], [number]) for name in ("first", "second")]
    tensors.append(helper.make_tensor("one", TensorProto.FLOAT, [1], [1.0]))
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [size])
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [given], [output], tensors)
    return ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10))


def test_a_number_at_two_places_does_not_prove_itself() -> None:
    """Of -S % 8 + 3 the exports show what 19 - S is too, and no more."""
    exports = [_twice(size, -size % 8 + 3) for size in (12, 13)]

    with pytest.raises(FixError, match=r"-S \+ 19 gives entry 0 of first \(in the exports: 7, 6\), but so few exports"):
        like_plan(exports[0], exports[1:], {"x": {0: "S"}})
