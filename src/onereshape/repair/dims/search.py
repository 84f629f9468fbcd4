"""The walk through a graph whose dims are freed, with its way back where a reading fails.

Of a node that can be read in several ways the first is taken that every later node can live with; then each other one
is followed until a node refuses it.  If none does, nothing tells which is right, and the model is refused.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterator, Mapping
from heapq import heappop, heappush
from typing import Any

import onnx_ir as ir

from onereshape.graphs.backtracking import Patience, Search, has_graphs, used
from onereshape.graphs.edit import Edit
from onereshape.graphs.free_rules.alignment import size_of
from onereshape.graphs.free_rules.state import Axes, FreeAnswer, FreeState, Rules, shown, sizes
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.operators import record_of
from onereshape.ground.errors import FixError
from onereshape.repair.dims.contents import follow
from onereshape.rule.sizes import Size, TooLongError

_MOST_EXPLORED = 1_000
"""Nodes that are looked at to see whether another reading fails."""


class _FreeWalk:
    """The dims and the sizes that depend on the symbols, as they go through a graph."""

    def __init__(self, state: FreeState) -> None:
        self.patience = Patience(5_000)
        self.state = state
        self.matters = state.matters

    def answers(self, node: ir.Node) -> Iterator[FreeAnswer]:
        """The readings of a node; after one that was not taken, the conditions are as they were before the node."""
        before = self.state.rules
        for answer in _answers(FreeView(node, self.state)):
            yield answer
            self.state.rules = before  # where the answer was not taken

    def settle(self, node: ir.Node, answer: FreeAnswer) -> bool:
        """Notes the dims of the outputs, and what is in them."""
        settle(self.state, node, answer)
        return bool(answer.edits or answer.suspect or not answer.alone)

    def now(self) -> Rules:
        """The conditions of the sizes, to come back to."""
        return self.state.rules

    def forget(self, node: ir.Node, before: object) -> None:
        """Forgets the dims and the contents of the outputs of a node, and goes back to the conditions before it."""
        if isinstance(before, Rules):
            self.state.rules = before
        _forget_edits(self.state, node)
        for value in node.outputs:
            self.state.tensors.pop(value, None)
            self.state.contents.pop(value, None)

    def chooses(self, _node: ir.Node, answer: FreeAnswer) -> bool:
        """Whether the node can be read in other ways."""
        return not answer.alone

    def error(self, node: ir.Node, refused: Refused | None) -> FixError:
        """The refusal of a node."""
        return _refusal(FreeView(node, self.state), "no reading fits" if refused is None else refused.why)


Decided = list[tuple[ir.Node, FreeAnswer]]
"""The nodes that the free sizes reach, and how each is read."""


def decide(graph: ir.Graph, state: FreeState) -> list[Edit]:
    """Reads the graph, and says what must be rewritten; refuses what can be read in two ways."""
    nodes = list(graph)
    decided = Search(nodes, _FreeWalk(state)).run()
    places = {node: place for place, node in enumerate(nodes)}
    for node, answer in decided:
        if not answer.alone:
            _refuse_doubt(state, node, answer, _Explorer(nodes, places))
    edits = [edit for _, answer in decided for edit in answer.edits]
    _refuse_suspects(graph, state, decided, edits)
    return edits


def _refuse_doubt(state: FreeState, node: ir.Node, chosen: FreeAnswer, explorer: _Explorer) -> None:
    """Refuses a node that could be read in another way too, with nothing after it that tells which is right."""
    view = FreeView(node, _fork(state))
    try:
        for answer in _answers(view):
            if _meaning(answer) == _meaning(chosen):
                continue
            other = _fork(state)
            settle(other, node, answer)
            if explorer.bears(other, node):
                one, two = _told(chosen), _told(answer)
                raise _refusal(view, f"it can be read as {one} or as {two}, and nothing tells which is right")
    except Refused as refused:  # another way to read it that cannot be written down is one all the same
        raise _refusal(view, refused.why) from None


def _meaning(answer: FreeAnswer) -> tuple[Any, ...]:
    """The dims of the outputs and the entries written into the inputs: answers that share both are one reading."""
    return answer.outputs, tuple((edit.slot, edit.entries) for edit in answer.edits)


def _told(answer: FreeAnswer) -> str:
    """An answer in a message."""
    entries = [shown(edit.entries) for edit in answer.edits if edit.entries is not None]
    outputs = " and ".join(_shown(dims) for dims in answer.outputs)
    return f"{outputs}, by {' and '.join(entries)}" if entries else outputs


def _forget_edits(state: FreeState, node: ir.Node) -> None:
    for index in (None, *range(len(node.inputs))):
        state.planned.pop((node, index), None)


def settle(state: FreeState, node: ir.Node, answer: FreeAnswer) -> None:
    """Notes what an answer says of the outputs of a node."""
    _forget_edits(state, node)
    state.planned.update({(edit.node, edit.slot): edit for edit in answer.edits})
    tainted = any(value in state.contents for value in node.inputs if value is not None)
    shape = record_of(node).from_dims is not None
    held = follow(state, node) if tainted or shape else []
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
            found = held[index]
            if found is None or any(each is None or state.moves(each) for each in found.reshape(-1).tolist()):
                state.contents[value] = found


def _answers(view: FreeView) -> Iterator[FreeAnswer]:
    """The answers of a rule that agree with the original at its size."""
    node, state = view.node, view.state
    if has_graphs(node):
        raise Refused("a free size reaches the graphs inside it, which are not followed")
    rule = record_of(node).free
    if rule is None:
        name = next(value.name for value in used(node) if value is not None and state.matters(value))
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


def _disagreement(view: FreeView, answer: FreeAnswer) -> Refused | None:
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
        self.left = 0

    def bears(self, state: FreeState, node: ir.Node) -> bool:
        """Whether the nodes after one can live with how it is read."""
        self.left = _MOST_EXPLORED
        return self._survives(state, _users(node, self.places))

    def _survives(self, state: FreeState, pending: list[int]) -> bool:
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
            view = FreeView(node, state)
            before = [(state.tensors.get(value), value in state.contents) for value in node.outputs]
            if not any(value is not None and state.matters(value) for value in used(node)):
                settle(state, node, FreeAnswer(()))
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

    def _branch(self, state: FreeState, node: ir.Node, answer: FreeAnswer, queue: list[int]) -> bool:
        other = _fork(state)
        settle(other, node, answer)
        return self._survives(other, sorted({*queue, *_users(node, self.places)}))


def _fork(state: FreeState) -> FreeState:
    """A state that can be changed without changing the first."""
    other = FreeState(state.facts, state.folding, state.sizes, state.opset, state.sources)
    other.tensors = ChainMap({}, state.tensors)
    other.contents = dict(state.contents)
    other.rules = state.rules
    other.planned = dict(state.planned)
    other.patterns = state.patterns
    return other


def _refuse_suspects(graph: ir.Graph, state: FreeState, decided: Decided, edits: list[Edit]) -> None:
    """Refuses a node that is still used as it is written, though it should not be."""
    suspects = {node: answer.suspect for node, answer in decided if answer.suspect}
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
            raise _refusal(FreeView(node, state), suspects[node])
        for index, value in enumerate(node.inputs):
            if (node, index) in replaced:
                pending.extend(replaced[node, index])
            elif value is not None:
                pending.append(value)


def _refusal(view: FreeView, why: str) -> FixError:
    return FixError("cannot-free", node=view.label, op=view.node.op_type, why=why)


def _users(node: ir.Node, places: Mapping[ir.Node, int]) -> list[int]:
    return sorted({places[user] for value in node.outputs for user, _ in value.uses() if user in places})


def _shown(dims: Axes | None) -> str:
    return "?" if dims is None else "[" + ", ".join("?" if axis is None else str(size_of(axis)) for axis in dims) + "]"
