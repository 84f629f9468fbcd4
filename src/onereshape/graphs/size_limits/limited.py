"""Reshapes that run at some of the sizes that a model declares only, or that mix its samples at others."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import NamedTuple

import onnx_ir as ir

from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.size_limits.forced import forced, may_be_batch
from onereshape.graphs.size_limits.free_names import Places, names_of, places_as_names, symbol_places
from onereshape.graphs.size_limits.severity import Severity
from onereshape.graphs.size_limits.trials import ReshapeQuestion, SizeTrial, Tried, TriedSizes, tried
from onereshape.rule.condition import Condition
from onereshape.rule.dims import Product
from onereshape.rule.sizes import Formula

_KINDS = frozenset({"equal", "divisible", "most", "least", "among"})
"""Conditions of sizes; the others are about what only a run tells."""
_MOST_WALKED, _FEWEST_WALKS, _MOST_WALKS = 60_000, 4, 24
"""Sizes that the whole model is walked at: for so many nodes, all walks together."""
_MOST_BEFORE, _MOST_NUMBERS = 6, 4
"""Reshapes whose conditions a later one is tried under, and numbers of conditions around which sizes are tried."""
_MOST_TOLD = 3
"""Sentences about sizes that one model does not take."""
_PLACE = re.compile(r"\(([^()\s]+\[\d+\])\)")
"""A dim that is called by its place needs no brackets, whatever it is multiplied by."""


class LimitedReshape(NamedTuple):
    """A Reshape that not every declared size suits."""

    node: ReshapeNode
    severity: Severity
    names: tuple[str, ...]
    """The names of the sizes that decide."""
    said: str
    """Where it runs, and where not."""

    @property
    def message(self) -> str:
        """One sentence with the numbers."""
        return f"{self.node.name} runs only where {self.said}"


def limited(model: Model, facts: Facts, symbols: Places) -> Iterator[LimitedReshape]:
    """The Reshapes with conditions that sizes of the inputs break although the rest of the model takes them."""
    walks = _Walks(model.ir, facts, symbols)
    told: dict[ReshapeQuestion, LimitedReshape | None] = {}
    before: list[ReshapeQuestion] = []
    numbers: list[int] = []
    for node in model.reshapes:
        conditions = [each for each in facts.conditions.get(node.node, ()) if _limits(each)]
        question = _question(node, facts) if conditions else None
        if question is None or not question.names <= symbols.keys() or _is_forced(conditions, symbols):
            continue
        if question not in told:
            numbers = [*dict.fromkeys([*(number for each in conditions for number in _numbers(each)), *numbers])]
            numbers = numbers[:_MOST_NUMBERS]
            told[question] = _judged(node, question, conditions, tuple(numbers), tuple(before), walks)
            if told[question] is not None and len(before) < _MOST_BEFORE:
                before.append(question)
        elif (first := told[question]) is None or first.severity != "error":
            continue  # what the first says holds for all
        if (found := told[question]) is not None:
            yield found._replace(node=node)


def untaken(model: Model) -> list[str]:
    """Sizes that a model calls free and does not take, a sentence each; not of inputs that must only agree."""
    symbols = symbol_places(model.ir)
    facts = facts_of(model.ir, places_as_names(symbols))
    found = [each.message for node in model.reshapes for each in forced(node, facts, symbols)]
    found += [each.message for each in limited(model, facts, symbols) if each.severity != "note"]
    told = [*dict.fromkeys(map(in_words, found))]
    rest = [f"{len(told) - _MOST_TOLD} more conditions of sizes (check says which)"]
    return told if len(told) <= _MOST_TOLD else [*told[:_MOST_TOLD], *rest]


def in_words(message: str) -> str:
    """A sentence in which dims that are called by their places have no brackets."""
    return _PLACE.sub(r"\1", message)


def _limits(condition: Condition) -> bool:
    """Whether it is a condition of sizes that are not empty."""
    if condition.kind == "least":
        return isinstance(least := condition.sides[1], int) and least > 1
    return condition.kind in _KINDS


def _is_forced(conditions: list[Condition], symbols: Places) -> bool:
    """Whether a name, or a product of names, must be one number: that is a baked dim, and said so."""
    return any(each.forces is not None and names_of(each, symbols) is not None for each in conditions)


def _question(node: ReshapeNode, facts: Facts) -> ReshapeQuestion | None:
    """The Reshape, where all of it is known."""
    inputs = node.node.inputs
    data = facts.dims_of(inputs[0]) if inputs and inputs[0] is not None else None
    if node.spec.target_in == "attribute":
        words = node.target
    else:
        held = facts.held(inputs[1]) if len(inputs) > 1 and inputs[1] is not None else None
        words = node.target if held is None else tuple(held.reshape(-1).tolist())
    if data is None or words is None or not all(isinstance(word, int | Formula) for word in words):
        return None
    return ReshapeQuestion(data, words, not node.attributes.get("allowzero"))  # type: ignore[arg-type]


def _judged(  # noqa: PLR0913, PLR0917 - what it depends on
    node: ReshapeNode,
    question: ReshapeQuestion,
    conditions: list[Condition],
    numbers: tuple[int, ...],
    before: tuple[ReshapeQuestion, ...],
    walks: _Walks,
) -> LimitedReshape | None:
    """What is wrong with one Reshape, if the model as a whole takes the sizes that show it."""
    said = " and ".join(conditions)
    names = tuple(name for name in walks.ordered(question.names) if _is_in(name, said))
    if not names:
        return None
    first = question.data[0] if question.data else 0
    sample = first.name if isinstance(first, Formula) and len(question.data) > 1 else None
    samples = sample == names[0] and may_be_batch(sample, walks.symbols) and len(names) > 1
    found = tried(question, names, numbers, before, samples=samples)
    fails = next((trial for trial in found.fails if walks.fails(node.node, trial.sizes)), None)
    if fails is None:
        return None
    mixes = next((trial for trial in found.mixes if walks.runs(trial.sizes)), None)
    equal = [each for each in conditions if each.kind == "equal"]
    fixed = any(each.forces is not None for each in equal) or (bool(equal) and found.pinned)
    severity = _severity(found, mixes, fixed=fixed, several=walks.inputs_of(question.names) > 1)
    said = f"{said}: not at {_listed(fails, names)}"
    if mixes is not None and severity == "error":
        turned = f"it runs and turns {list(mixes.dims)} into {list(mixes.output or ())}"
        said += f"; at {_listed(mixes, walks.ordered(question.names))} {turned}, which mixes what data keeps apart"
    return LimitedReshape(node, severity, names, said)


def _severity(found: Tried, mixes: SizeTrial | None, *, fixed: bool, several: bool) -> Severity:
    """An error where a size is fixed, or samples are mixed in silence; a note where inputs must only agree."""
    if fixed:
        return "error"
    if found.together and several:
        return "note"
    return "error" if mixes is not None else "warning"


def _numbers(condition: Condition) -> Iterator[int]:
    for side in condition.sides:
        number = side.coefficient if isinstance(side, Product) else side
        if isinstance(number, int) and number > 1:
            yield number


def _is_in(name: str, sentence: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sentence) is not None


def _listed(trial: SizeTrial, names: Iterable[str]) -> str:
    return ", ".join(f"{name} = {trial.sizes[name]}" for name in names)


class _Walks:
    """The whole model at given sizes, no more often than is bearable."""

    def __init__(self, model: ir.Model, facts: Facts, symbols: Places) -> None:
        self._model, self._facts, self.symbols = model, facts, symbols
        self._left = max(_FEWEST_WALKS, min(_MOST_WALKS, _MOST_WALKED // max(1, len(model.graph))))
        self._seen: dict[tuple[tuple[str, int], ...], frozenset[ir.Node] | None] = {}

    def ordered(self, names: Container[str]) -> list[str]:
        """Names in the order of the inputs."""
        return [name for name in self.symbols if name in names]

    def inputs_of(self, names: frozenset[str]) -> int:
        """The most inputs that it takes to give all these names a size."""
        return len({self.symbols[name][0][0] for name in names})

    def fails(self, node: ir.Node, sizes: TriedSizes) -> bool:
        """Whether this node fails at these sizes, and nothing that is no Reshape: those are judged by themselves."""
        failing = self._failing(sizes)
        return failing is not None and node in failing and all(each.op_type == "Reshape" for each in failing)

    def runs(self, sizes: TriedSizes) -> bool:
        """Whether nothing fails at these sizes, as far as shapes tell."""
        return self._failing(sizes) == frozenset()

    def _failing(self, sizes: TriedSizes) -> frozenset[ir.Node] | None:
        """The nodes that fail; None where that was asked too often, or where something is empty."""
        key = tuple(sizes.items())
        if key not in self._seen:
            if not self._left:
                return None
            self._left -= 1
            freed: dict[str, dict[int, str | int]] = {}
            for name, places in self.symbols.items():
                for value, axis in places:
                    freed.setdefault(value, {})[axis] = sizes.get(name, name)
            found = facts_of(self._model, freed)
            if any(0 in dims and 0 not in self._facts.sizes.get(value, ()) for value, dims in found.sizes.items()):
                self._seen[key] = None
                return None
            lost = (node for node in found.unread if node not in self._facts.unread and self._is_told(node, found))
            self._seen[key] = frozenset((*found.errors, *lost))
        return self._seen[key]

    def _is_told(self, node: ir.Node, found: Facts) -> bool:
        """Whether a walk knows what a node reads, as far as that can be known."""
        return all(value is None or value in found.sizes or value not in self._facts.sizes for value in node.inputs)
