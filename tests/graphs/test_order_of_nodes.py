"""The nodes of a graph in an order in which each comes after what it needs, which is the same in every run."""

from __future__ import annotations

import random

import onnx_ir as ir
import pytest

from onereshape.graphs.facts.order import CircleError, ordered

COUNT = 40


def drawn(seed: int) -> tuple[ir.Graph, list[str]]:
    """A graph whose nodes read some that were made before them, listed in another order; and the names as listed."""
    dice = random.Random(seed)  # noqa: S311 - a fixed order
    values = [ir.Value(name="x")]
    nodes = []
    for number in range(COUNT):
        node = ir.Node("", "Sum", dice.sample(values, min(len(values), dice.randrange(1, 4))), name=str(number))
        nodes.append(node)
        values.append(node.outputs[0])
    dice.shuffle(nodes)
    return ir.Graph(values[:1], [], nodes=nodes), [str(node.name) for node in nodes]


def names(graph: ir.Graph) -> list[str]:
    return [str(node.name) for node in ordered(graph)]


@pytest.mark.parametrize("seed", range(20))
def test_of_all_that_may_come_next_the_first_in_the_file_does(seed: int) -> None:
    """However the nodes lie in memory: what is found of a model must not depend on that."""
    graph, listed = drawn(seed)
    needs = {
        str(node.name): {str(maker.name) for value in node.inputs if value and (maker := value.producer()) is not None}
        for node in graph
    }
    wanted: list[str] = []
    while len(wanted) < COUNT:
        wanted.append(next(name for name in listed if name not in wanted and needs[name] <= {*wanted}))

    kept = [drawn(seed)[0] for _ in range(5)]  # each lies elsewhere
    assert [names(each) for each in (graph, *kept)] == [wanted] * 6


def test_what_is_in_order_stays_as_it_is() -> None:
    graph, _ = drawn(1)
    again = ir.Graph([], [], nodes=[])
    for node in list(ordered(graph)):
        graph.remove(node)
        again.append(node)

    assert names(again) == [str(node.name) for node in again]


def test_a_circle_is_told() -> None:
    one = ir.Node("", "Relu", [None])
    other = ir.Node("", "Relu", one.outputs)
    one.replace_input_with(0, other.outputs[0])

    with pytest.raises(CircleError):
        ordered(ir.Graph([], [], nodes=[one, other]))
