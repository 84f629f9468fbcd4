"""The walk through a graph whose dims are freed, with its way back where a reading fails.

Of a node that can be read in several ways the first is taken that every later node can live with; then each other one
is followed until a node refuses it.  If none does, nothing tells which is right, and the model is refused.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.models.free.alignment import size_of
from onereshape.models.free.contents import follow
from onereshape.models.free.formula import Size, TooLongError
from onereshape.models.free.rules import RULES
from onereshape.models.free.state import Answer, Dims, Rules, State, shown, sizes
from onereshape.models.edit import Edit
from onereshape.models.free.view import View
from onereshape.models.node_view import Refused

_ONNX = frozenset({"", "ai.onnx"})
_MOST_STEPS_BACK = 5_000
_MOST_BLAMED = 16
_MOST_EXPLORED = 1_000
"""Nodes that are looked at to see whether another reading fails."""


@dataclass(slots=True)
class _Step:
    """A node that is decided, and what is left of its rule's answers."""

    place: int
    answers: Iterator[Answer]
    blamed: frozenset[int]
    rules: Rules
    """The conditions before it."""
    answer: Answer | None = None


class Search:
    """The walk through the graph, with its way back."""

    def __init__(self, nodes: list[ir.Node], state: State) -> None:
        self.nodes = nodes
        self.state = state
        self.steps: list[_Step] = []
        self.rests_on: dict[ir.Value, frozenset[int]] = {}
        self.first: tuple[ir.Node, Refused] | None = None
        """The first refusal: the one that the most natural readings met."""
        self.back = 0
        self.places = {node: place for place, node in enumerate(nodes)}

    def run(self) -> list[Edit]:
        place = 0
        while place < len(self.nodes):
            touched = [value for value in _used(self.nodes[place]) if self.state.matters(value)]
            if touched:
                blamed = frozenset[int]().union(*(self.rests_on.get(value, frozenset()) for value in touched))
                answers = _answers(View(self.nodes[place], self.state))
                place = self._decide(_Step(place, answers, blamed, self.state.rules))
            place += 1
        for step in self.steps:
            if step.answer is not None and not step.answer.alone:
                self._refuse_doubt(step)
        return [edit for step in self.steps if step.answer is not None for edit in step.answer.edits]

    def _decide(self, step: _Step) -> int:
        while (answer := self._next(step)) is None:
            self.back += 1
            earlier = [each for each in step.blamed if each < step.place]
            if not earlier or self.back > _MOST_STEPS_BACK:
                raise self._error()
            culprit, blamed = max(earlier), step.blamed
            while (step := self._undo()).place != culprit:
                pass
            step.blamed = _latest(step.blamed | blamed - {culprit})
        step.answer = answer
        self.steps.append(step)
        node = self.nodes[step.place]
        settle(self.state, node, answer)
        chosen = step.blamed if answer.alone else _latest(step.blamed | {step.place})
        for value in node.outputs:
            if self.state.matters(value):
                self.rests_on[value] = chosen
        return step.place

    def _next(self, step: _Step) -> Answer | None:
        self.state.rules = step.rules
        node = self.nodes[step.place]
        try:
            answer = next(step.answers, None)
        except Refused as refused:
            if self.first is None:
                self.first = (node, refused)
            return None
        return answer

    def _undo(self) -> _Step:
        """Forgets the latest decision."""
        step = self.steps.pop()
        node = self.nodes[step.place]
        _forget_edits(self.state, node)
        for value in node.outputs:
            self.state.tensors.pop(value, None)
            self.state.contents.pop(value, None)
            self.rests_on.pop(value, None)
        self.state.rules = step.rules
        return step

    def _error(self) -> FixError:
        node, refused = self.first or (self.nodes[0], Refused("no reading fits"))
        return _refusal(View(node, self.state), refused.why)

    def _refuse_doubt(self, step: _Step) -> None:
        """Refuses a node that could be read in another way too, with nothing after it that tells which is right."""
        node, chosen = self.nodes[step.place], step.answer or Answer(())
        view = View(node, _fork(self.state))
        for answer in _answers(view):
            if _meaning(answer) == _meaning(chosen):
                continue
            other = _fork(self.state)
            settle(other, node, answer)
            explorer = _Explorer(self.nodes, self.places)
            if explorer.survives(other, _users(node, self.places)):
                one, two = _told(chosen), _told(answer)
                raise _refusal(view, f"it can be read as {one} or as {two}, and nothing tells which is right")


def _meaning(answer: Answer) -> tuple[Any, ...]:
    """What tells one answer from another."""
    return answer.outputs, tuple((edit.slot, edit.entries) for edit in answer.edits)


def _told(answer: Answer) -> str:
    """An answer in a message."""
    entries = [shown(edit.entries) for edit in answer.edits if edit.entries is not None]
    outputs = " and ".join(_shown(dims) for dims in answer.outputs)
    return f"{outputs}, by {' and '.join(entries)}" if entries else outputs


def _forget_edits(state: State, node: ir.Node) -> None:
    for index in (None, *range(len(node.inputs))):
        state.planned.pop((node, index), None)


def settle(state: State, node: ir.Node, answer: Answer) -> None:
    """Notes what an answer says of the outputs of a node."""
    _forget_edits(state, node)
    state.planned.update({(edit.node, edit.slot): edit for edit in answer.edits})
    tainted = any(value in state.contents for value in node.inputs if value is not None)
    shape = node.op_type in {"Shape", "Size"} and node.domain in _ONNX
    for index, value in enumerate(node.outputs):
        dims = answer.outputs[index] if index < len(answer.outputs) else None
        moving = dims is not None and any(size is None or state.moves(size) for size in sizes(dims))
        state.tensors.pop(value, None)
        state.contents.pop(value, None)
        if isinstance(state.tensors, ChainMap):
            state.tensors[value] = None
        if moving and dims is not None:
            state.tensors[value] = dims
            state.remember(dims)
        if tainted or shape:
            found = follow(state, node, index)
            if found is None or any(each is None or state.moves(each) for each in found.flat):
                state.contents[value] = found


def _answers(view: View) -> Iterator[Answer]:
    """The answers of a rule that agree with the original at its size."""
    node, state = view.node, view.state
    if any(True for _ in _graphs(node)):
        raise Refused("a free size reaches the graphs inside it, which are not followed")
    rule = RULES.get(node.op_type) if node.domain in _ONNX else None
    if rule is None:
        name = next(value.name for value in _used(node) if state.matters(value))
        raise Refused(f"it has no rule for free sizes, and its input {name} has one")
    refused: Refused | None = None
    found = False
    try:
        for answer in rule(view):
            wrong = _disagreement(view, answer)
            refused = refused or wrong
            if wrong is None:
                found = True
                yield answer
    except TooLongError as error:
        raise Refused(str(error)) from None
    if not found and refused is not None:
        raise refused


def _disagreement(view: View, answer: Answer) -> Refused | None:
    for index, dims in enumerate(answer.outputs):
        value = view.node.outputs[index] if index < len(view.node.outputs) else None
        original = None if value is None or not value.name else view.state.original(value)
        if dims is None or original is None:
            continue
        now = [None if size is None else view.state.then(size) for size in sizes(dims)]
        if len(now) != len(original) or any(_clash(*pair) for pair in zip(now, original, strict=True)):
            return Refused(f"{_shown(dims)} would be {shown(now)} at the original size, where it is {shown(original)}")
    return None


def _clash(one: Size | None, other: Size | None) -> bool:
    return one is not None and other is not None and one != other


class _Explorer:
    """Follows another reading of one node, to see whether it fails."""

    def __init__(self, nodes: list[ir.Node], places: Mapping[ir.Node, int]) -> None:
        self.nodes = nodes
        self.places = places
        self.left = _MOST_EXPLORED

    def survives(self, state: State, pending: list[int]) -> bool:
        """Whether no node refuses it, or too many had to be looked at."""
        queue = list(pending)
        while queue:
            place = heappop(queue)
            while queue and queue[0] == place:
                heappop(queue)
            self.left -= 1
            if self.left < 0:
                return True
            node = self.nodes[place]
            view = View(node, state)
            before = [(state.tensors.get(value), value in state.contents) for value in node.outputs]
            if not any(state.matters(value) for value in _used(node)):
                settle(state, node, Answer(()))
            else:
                try:
                    answers = list(_answers(view))
                except Refused:
                    return False
                if len(answers) > 1 and not answers[0].alone:
                    return any(self._branch(state, node, answer, queue) for answer in answers)
                settle(state, node, answers[0])
            if before != [(state.tensors.get(value), value in state.contents) for value in node.outputs]:
                for user in _users(node, self.places):
                    heappush(queue, user)
        return True

    def _branch(self, state: State, node: ir.Node, answer: Answer, queue: list[int]) -> bool:
        other = _fork(state)
        settle(other, node, answer)
        return self.survives(other, sorted({*queue, *_users(node, self.places)}))


def _fork(state: State) -> State:
    """A state that can be changed without changing the first."""
    other = State(state.shapes, state.folding, state.sizes, state.opset, state.sources)
    other.tensors = ChainMap({}, state.tensors)
    other.contents = dict(state.contents)
    other.rules = state.rules
    other.planned = dict(state.planned)
    other.patterns = state.patterns
    return other


def refuse_suspects(graph: ir.Graph, search: Search, edits: list[Edit]) -> None:
    """Refuses a node that is still used as it is written, though it should not be."""
    suspects = {
        search.nodes[step.place]: step.answer.suspect for step in search.steps if step.answer and step.answer.suspect
    }
    if not suspects:
        return
    replaced = {(edit.node, edit.slot): edit.uses for edit in edits}
    pending = list(graph.outputs)
    seen: set[ir.Node] = set()
    while pending:
        node = pending.pop().producer()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node in suspects:
            raise _refusal(View(node, search.state), suspects[node])
        for index, value in enumerate(node.inputs):
            if (node, index) in replaced:
                pending.extend(replaced[node, index])
            elif value is not None:
                pending.append(value)


def _refusal(view: View, why: str) -> FixError:
    return FixError("cannot-free", node=view.label, op=view.node.op_type, why=why)


def _latest(places: frozenset[int]) -> frozenset[int]:
    return places if len(places) <= _MOST_BLAMED else frozenset(sorted(places)[-_MOST_BLAMED:])


def _users(node: ir.Node, places: Mapping[ir.Node, int]) -> list[int]:
    return sorted({places[user] for value in node.outputs for user, _ in value.uses() if user in places})


def _used(node: ir.Node) -> set[ir.Value]:
    """The values that a node reads, in the graphs inside it too."""
    found = {value for value in node.inputs if value is not None}
    for graph in _graphs(node):
        for inner in graph.all_nodes():
            found.update(value for value in inner.inputs if value is not None)
        found.update(graph.outputs)
    return found


def _graphs(node: ir.Node) -> Iterator[ir.Graph]:
    """The graphs inside a node."""
    for attribute in node.attributes.values():
        if attribute.type == ir.AttributeType.GRAPH:
            yield attribute.as_graph()
        elif attribute.type == ir.AttributeType.GRAPHS:
            yield from attribute.as_graphs()


def _shown(dims: Dims | None) -> str:
    return "?" if dims is None else "[" + ", ".join("?" if axis is None else str(size_of(axis)) for axis in dims) + "]"
