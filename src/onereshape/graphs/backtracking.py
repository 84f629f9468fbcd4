"""Search: the walk through a graph, node by node, with its way back where an answer fails.

Of a node that has several answers the first is taken.  Where a later node can live with none of its own, the walk goes
back to the latest of the choices that its inputs rest on, and takes the next answer there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Generic, Protocol, TypeVar

import onnx_ir as ir

from onereshape.formats.onnx.onnx_graphs import subgraphs
from onereshape.graphs.node_view import Refused
from onereshape.ground.errors import FixError

_MOST_BLAMED = 16
"""How many of the latest choices are remembered for each value."""
_NOTHING: tuple[int, ...] = ()
GAVE_UP = "the search for other ways gave up after this one: there are too many, and one of them may be right"
"""What is added to a refusal that is not the last word."""
_TURNS = 2
"""The first inputs of a Loop: how often it turns at most, and whether it begins."""
_GRAPH, _GRAPHS = ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS

Answer = TypeVar("Answer")


@dataclass(slots=True)
class Patience:
    """How much may still be tried, in a graph and in all those inside of its nodes."""

    steps_back: int
    inside: int = 200_000
    """Nodes of graphs inside, which a loop may have to follow several times."""


class Followed(Protocol[Answer]):
    """What is followed through a graph, and how far it has been decided."""

    patience: Patience

    def matters(self, value: ir.Value) -> bool:
        """Whether anything is followed that a value has."""

    def now(self) -> object:
        """What is known beside the values, before a node is decided."""

    def answers(self, node: ir.Node) -> Iterator[Answer]:
        """What can be said of a node, the most natural first, always the same; Refused where nothing can."""

    def settle(self, node: ir.Node, answer: Answer) -> bool:
        """Notes what an answer says of the outputs of a node; whether it must be remembered beyond that."""

    def forget(self, node: ir.Node, before: object) -> None:
        """Forgets it: what was known before the node is known again."""

    def chooses(self, node: ir.Node, answer: Answer) -> bool:
        """Whether the node may have other answers."""

    def error(self, node: ir.Node, refused: Refused | None) -> FixError:
        """What is said where no answer is left: the first node that had none, and why."""


@dataclass(slots=True)
class _Decided(Generic[Answer]):
    """A node that is decided, and how many of its answers were taken: who comes back asks for the next again."""

    place: int
    blamed: tuple[int, ...]
    """The places of the choices that led to its inputs, and of those that were to blame when later nodes failed."""
    before: object
    taken: int = 0
    answer: Answer | None = None


class Search(Generic[Answer]):
    """A walk under way."""

    def __init__(self, nodes: Sequence[ir.Node], walk: Followed[Answer]) -> None:
        self.nodes = nodes
        self.walk = walk
        self.steps: list[_Decided[Answer]] = []
        self.rests_on: dict[ir.Value, tuple[int, ...]] = {}
        """The choices that led to a value, where there are any."""
        self.first: tuple[ir.Node, Refused] | None = None
        """The first refusal: the one that the most natural answers met."""

    def run(self) -> list[tuple[ir.Node, Answer]]:
        """Decides the nodes one after another, and returns those whose answers `settle` asked to remember."""
        nodes, matters = self.nodes, self.walk.matters
        place = 0
        while place < len(nodes):
            node = nodes[place]
            if _reached(node, matters):
                place = self._decide(_Decided(place, self._rests(node), self.walk.now()))
            place += 1
        return [(nodes[step.place], step.answer) for step in self.steps if step.answer is not None]

    def _rests(self, node: ir.Node) -> tuple[int, ...]:
        """The choices that led to the inputs of a node."""
        rests_on = self.rests_on
        if not rests_on:
            return _NOTHING
        found = {rests_on[value] for value in used(node) if value in rests_on}
        return found.pop() if len(found) == 1 else tuple(sorted(set().union(*found)))

    def _decide(self, step: _Decided[Answer]) -> int:
        """Takes the next answer of a node, or of the latest choice that is to blame; returns the place decided."""
        while (answer := self._next(step)) is None:
            patience = self.walk.patience
            patience.steps_back -= 1
            earlier = [each for each in step.blamed if each < step.place]
            if not earlier:
                raise self._error()
            if patience.steps_back < 0:
                error = self._error()
                error.add_note(GAVE_UP)
                raise error
            culprit, blamed = max(earlier), step.blamed
            while (step := self._undo()).place != culprit:
                pass
            step.blamed = _latest(step.blamed, [place for place in blamed if place != culprit])
        self.steps.append(step)
        node, rests, walk = self.nodes[step.place], step.blamed, self.walk
        step.answer = answer if walk.settle(node, answer) else None
        if walk.chooses(node, answer):
            rests = _latest(rests, [step.place])
        if rests:
            for value in node.outputs:
                if walk.matters(value):
                    self.rests_on[value] = rests
        return step.place

    def _next(self, step: _Decided[Answer]) -> Answer | None:
        try:
            step.taken += 1
            answers = self.walk.answers(self.nodes[step.place])
            return next(answers if step.taken == 1 else islice(answers, step.taken - 1, None), None)
        except Refused as refused:
            if self.first is None or refused.final:
                self.first = (self.nodes[step.place], refused)
            if refused.final:
                raise self._error() from None
            return None

    def _undo(self) -> _Decided[Answer]:
        """Forgets the latest decision."""
        step = self.steps.pop()
        node = self.nodes[step.place]
        self.walk.forget(node, step.before)
        for value in node.outputs:
            self.rests_on.pop(value, None)
        return step

    def _error(self) -> FixError:
        return self.walk.error(*(self.first or (self.nodes[0], None)))


def _reached(node: ir.Node, matters: Callable[[ir.Value], bool]) -> bool:
    """Whether a node reads anything that matters; in large models most do not, so this is as short as can be."""
    for value in node.inputs:
        if value is not None and matters(value):
            return True
    return has_graphs(node) and any(map(matters, inside(node)))


def used(node: ir.Node) -> Sequence[ir.Value | None]:
    """The values that a node reads, in the graphs inside it too."""
    return [*node.inputs, *inside(node)] if has_graphs(node) else node.inputs


def inside(node: ir.Node) -> list[ir.Value]:
    """The values that the graphs inside a node read."""
    found: dict[ir.Value, None] = {}
    for _, graph in subgraphs(node):
        for inner in graph.all_nodes():
            found.update((value, None) for value in inner.inputs if value is not None)
        found.update(dict.fromkeys(graph.outputs))
    return list(found)


def has_graphs(node: ir.Node) -> bool:
    """Whether there are graphs inside a node."""
    for attribute in node.attributes.data.values():  # of the dict itself: this is asked of every node
        kind = attribute.type
        if kind in (_GRAPH, _GRAPHS):
            return True
    return False


def counts_turns(node: ir.Node) -> bool:
    """Whether all that is made of a node says how often Loops turn, and nothing else."""
    ends = {value for each in node.graph or () for value in _last_turns(each)}
    values, some = [*node.outputs], False
    for value in values:  # it grows
        if value.is_graph_output() and value not in ends:
            return False
        some = some or value in ends
        for user, slot in value.uses():
            if user.op_type == "Loop" and slot < _TURNS:
                some = True
            elif has_graphs(user):
                return False
            else:
                values += [each for each in user.outputs if each not in values]
    return some


def _last_turns(node: ir.Node) -> Iterator[ir.Value]:
    """What the bodies of a Loop, and of those in it, say of whether they turn again, and use for nothing else."""
    for _, graph in subgraphs(node):
        if node.op_type == "Loop" and graph.outputs and sum(each is graph.outputs[0] for each in graph.outputs) == 1:
            yield graph.outputs[0]
        for inner in graph:
            yield from _last_turns(inner)


def _latest(*places: Iterable[int]) -> tuple[int, ...]:
    """The latest of all these places, in order."""
    return tuple(sorted(set().union(*places)))[-_MOST_BLAMED:]
