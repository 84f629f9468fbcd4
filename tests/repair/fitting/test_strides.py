"""Steps of a table that may be a size by the number of entries, as detectors have them: a condition says so."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.repair.fitting.exporting import EXPORTERS, Array, Case, Export, Sizes
from tests.repair.fitting.law import verdict

EXPORTS: tuple[Sizes, ...] = ({"H": 32, "W": 64}, {"H": 64, "W": 96})
WHOLE: Sizes = {"H": 96, "W": 32}
ODD: Sizes = {"H": 40, "W": 72}


def detector(g: Export, *, levels: tuple[int, ...] = (8, 16), kind: type = np.float32, divided: bool = True) -> str:
    """The places of all levels one after the other, added to what each level's Conv gives."""
    rows: list[str] = []
    places: list[Array] = []
    image = g.x(1, 2, "H", "W")
    for level in levels:
        data = g.node(
            "Conv", image, g.weight(2, 2, 3, 3), strides=[level, level], kernel_shape=[3, 3], pads=[1, 1, 1, 1]
        )
        high, wide = (-(-g.sizes[name] // level) for name in "HW")
        steps = (g.sizes["H"] // high, g.sizes["W"] // wide) if divided else (level, level)
        y, x = np.meshgrid(
            *(np.arange(size) * step for size, step in zip((high, wide), steps, strict=True)), indexing="ij"
        )
        places.append(np.stack([x.ravel(), y.ravel()], 1).astype(kind))
        flat = g.node("Reshape", data, g.constant(np.array([1, 2, high * wide])))
        rows.append(g.node("Transpose", flat, perm=[0, 2, 1]))
    table = g.constant(np.concatenate(places))
    if kind is not np.float32:
        table = g.node("Cast", table, to=1)
    return g.node("Add", g.node("Concat", *rows, axis=1), table)


def case(*unseen: Sizes, exports: tuple[Sizes, ...] = EXPORTS, **how: object) -> Case:
    return Case(f"detector {how}", lambda g: detector(g, **how), exports, unseen)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.float32, np.int64])
@pytest.mark.parametrize("exporter", EXPORTERS)
def test_a_step_that_may_be_a_quotient_asks_for_whole_ones(exporter: str, kind: type) -> None:
    found = verdict(case(WHOLE, kind=kind), exporter)

    assert (found.status, found.why) == ("right", "")
    assert set(found.conditions) == {"H is divisible by 16", "W is divisible by 16"}


def test_so_does_one_that_is_a_number() -> None:
    """The exports do not tell it from a quotient; the model is the right one at other sizes, too."""
    found = verdict(case(WHOLE, ODD, divided=False), "graph")

    assert (found.status, found.why) == ("right", "")
    assert set(found.conditions) == {"H is divisible by 16", "W is divisible by 16"}


def test_sizes_that_do_not_divide_tell_that_it_is_a_number() -> None:
    found = verdict(case(WHOLE, ODD, exports=({"H": 33, "W": 65}, {"H": 64, "W": 96}), divided=False), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


def test_every_other_place_is_a_count() -> None:
    found = verdict(case(WHOLE, levels=(2,), divided=False), "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())


def test_of_squares_the_axes_are_in_doubt_and_not_the_steps() -> None:
    found = verdict(case(WHOLE, exports=({"H": 32, "W": 32}, {"H": 64, "W": 64})), "graph")

    assert found.why.startswith("[ambiguous]")
    assert "with axis 0 as floor((H + 7)/8) times floor((W + 7)/8)" in found.why
    assert "with axis 0 as floor((W + 7)/8) times floor((H + 7)/8)" in found.why
    assert "floor(H/" not in found.why


def anchors(g: Export, *, divided: bool = True, filled: bool = False, shifted: bool = False) -> str:
    """Cells of 8 x 8 along a row, counted, and multiplied by what a cell has, as an anchor generator does."""
    data = g.node("Conv", g.x(1, 2, "W"), g.weight(2, 2, 3), strides=[8], kernel_shape=[3], pads=[1, 1])
    cells = -(-g.sizes["W"] // 8)
    step = g.sizes["W"] // cells if divided else 8
    count = g.constant(np.arange(cells).astype(np.float32))
    if shifted:
        count = g.node("Add", g.node("Unsqueeze", count, g.constant(np.array([0]))), g.constant(np.float32(0.5)))
    if filled:
        number = helper.make_tensor("value", TensorProto.FLOAT, [1], [step])
        scale = g.node("ConstantOfShape", g.constant(np.zeros(0, np.int64)), value=number)
        return g.node("Add", data, g.node("Mul", scale, count))
    return g.node("Add", data, g.node("Mul", count, g.constant(np.float32(step))))


CELLS: tuple[Sizes, ...] = ({"W": 64}, {"W": 96})


@pytest.mark.parametrize("exporter", EXPORTERS)
@pytest.mark.parametrize(("filled", "shifted"), [(False, False), (True, False), (False, True)])
def test_so_does_a_number_by_which_a_count_is_multiplied(exporter: str, *, filled: bool, shifted: bool) -> None:
    made = Case(
        f"anchors {filled} {shifted}",
        lambda g: anchors(g, filled=filled, shifted=shifted),
        CELLS,
        ({"W": 8}, {"W": 48}, {"W": 200}),
    )
    found = verdict(made, exporter)

    assert (found.status, found.why, found.conditions) == ("right", "", ("W is divisible by 8",))


def test_a_quotient_of_odd_sizes_is_the_same_down_to_some_size() -> None:
    """67 by 9 cells is 7, as 53 by 7 is, and 33 by 5 is 6; 64 by 8 is 8."""
    made = Case("odd", anchors, ({"W": 67}, {"W": 53}), ({"W": 43}, {"W": 89}, {"W": 101}))
    found = verdict(made, "graph")

    assert (found.status, found.why) == ("right", "")
    assert found.conditions == (
        "W >= 43, since a step that may be a size by a number of entries is another before",
        "W leaves 1 when divided by 2",
    )


def test_another_number_is_no_quotient() -> None:
    made = Case("number", lambda g: anchors(g, divided=False), ({"W": 61}, {"W": 96}), ({"W": 33}, {"W": 80}))
    found = verdict(made, "graph")

    assert (found.status, found.why, found.conditions) == ("right", "", ())
