"""Fitted: what the constants stand for in which exports differ, found while the sizes go through the model.

One walk over the first export, with its free dims as symbols: before a node is read, the numbers that differ among its
inputs become formulas, and its shape rule gives the dims behind it.  Where several formulas fit, the number gets a name
of its own.  Dims that must be equal (the operands of an Add, the data and the target of a Reshape) tell what it stands
for, and the model is walked once more.  What nothing tells is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs.export_sizes import named
from onereshape.graphs.facts.elements import array_of
from onereshape.graphs.facts.scope import Dims, Scope
from onereshape.graphs.facts.walk import Walk, unlike
from onereshape.graphs.registry import operator_of
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.attributes import Said, said
from onereshape.repair.fitting.crops import settle_crops
from onereshape.repair.fitting.differing import Use
from onereshape.repair.fitting.doubts import Doubt, Key, refusal
from onereshape.repair.fitting.equations import equations, spread
from onereshape.repair.fitting.exported import Binding, Numbers
from onereshape.repair.fitting.formulas import Known
from onereshape.repair.fitting.multiples import settle_pads, settle_unpadded
from onereshape.repair.fitting.places import Place, numbers_of
from onereshape.repair.fitting.pools import POOLS, Pool, pool_of
from onereshape.repair.fitting.regrouping import Must, regrouped
from onereshape.repair.fitting.replaying import Replay
from onereshape.repair.fitting.slices import STEPPED, taken
from onereshape.repair.fitting.starts import Start, copied, keep_constants
from onereshape.repair.fitting.strided import WINDOWED, limited, strided, uneven
from onereshape.repair.fitting.unsettled import Choice, Unsettled, is_open
from onereshape.rule.sizes import Formula, Size

_MOST_HELD = 64
"""Of the numbers that a tensor holds, those that are noted."""
_WINDOW = 128
"""Nodes behind a number that is open, after which it is asked whether they tell it."""


class Fitted(NamedTuple):
    """A place at which the exports differ, in formulas."""

    use: Use
    dims: tuple[Size, ...]
    entries: tuple[Size, ...] | None
    """Its numbers, where it is a small tensor of integers that is as large in all exports."""


class Sized(NamedTuple):
    """The formulas that a walk found, and what it knows of the model."""

    fitted: list[Fitted]
    rewritten: list[Pool | Said]
    """Nodes whose attributes differ, as they are at all sizes."""
    known: Known
    scope: Scope
    order: Sequence[ir.Node]
    """The nodes of the model's own graph, each after those that it needs."""


def fitted(model: ir.Model, dims: Mapping[ir.Value, Dims], uses: Sequence[Use], bindings: Sequence[Binding]) -> Sized:
    """The places of a model that differ, as formulas of the free symbols; every use has an input of its own."""
    decided: dict[Key, Size] = {}
    same, seen = False, set[Choice]()
    walk = _Fitting(model, uses, bindings, decided)
    while True:
        scope = walk.run(dims)
        for node, why in walk.refused.items():
            raise FixError("cannot-free", node=node.name or node.outputs[0].name, op=node.op_type, why=why)
        unsettled = walk.unsettled
        if not unsettled.doubts:
            _check_all(uses, walk)
            settle_unpadded(walk.order, scope, walk.known)
            limited(unsettled.strides, walk.known, same=same)
            limited(uneven(walk.order, scope), walk.known, same=True)
            settle_pads(walk.order, scope, walk.known)
            settle_crops(walk.order, scope, walk.known)
            return Sized(walk.fitted, walk.rewritten, walk.known, scope, walk.order)
        found = walk.told or unsettled.told() or unsettled.elsewhere()
        same = same or unsettled.same
        if not found:
            raise refusal(list(unsettled.doubts.values()), bindings)
        decided.update(found)
        kinds, window = unsettled.kinds(found), walk.window
        walk = walk.again(scope) or _Fitting(model, uses, bindings, decided)
        walk.window = 2 * window if kinds <= seen else _WINDOW  # the next layer, and more of them at a time
        seen |= kinds


def _check_all(uses: Sequence[Use], walk: _Fitting) -> None:
    """Makes sure that no place was left out: a node that nobody walks over stays as it is, and is wrong then."""
    met = {each.use.node for each in walk.fitted} | {each.node for each in walk.rewritten}
    for use in uses:
        if use.node not in met:
            why = f"{use.name} differs between the exports, and the node was not reached"
            raise FixError("cannot-free", node=use.node.name or use.node.outputs[0].name, op=use.node.op_type, why=why)


class _Fitting(Walk):
    """The walk, with what is decided already."""

    plain = True

    def __init__(
        self,
        model: ir.Model,
        uses: Sequence[Use],
        bindings: Sequence[Binding],
        decided: Mapping[Key, Size],
    ) -> None:
        super().__init__(model, unlike([*bindings[0], *named(model)]))
        self.known = Known(bindings, numbers=numbers_of(uses))
        self.fitted: list[Fitted] = []
        self.rewritten: list[Pool | Said] = []
        self.refused: dict[ir.Node, str] = {}
        self.unsettled = Unsettled(self.known)
        self._decided = decided
        self._before: _Fitting | None = None
        """The same walk before a number was open, from where it goes on."""
        self.told: dict[Key, Size] = {}
        """What was told before all nodes were walked over: the others wait for it."""
        self.window = _WINDOW
        self.order: tuple[ir.Node, ...] = ()
        """The nodes of the model's own graph, each after those that it needs."""
        self._start: Start | None = None
        self._here: Scope | None = None
        """What is known in the model's own graph, while one of its nodes is read."""
        self._regrouped: dict[tuple[Dims | Size, ...], Dims] = {}
        """What a target asks for, by the dims of the data and its own words: every layer asks again."""
        self._replay = Replay()
        """What this walk read, and what walks read that began as it did."""
        self._noted: dict[int, Dims] = {}
        """Dims of which all is known, and nothing more to say, by their ids: those of most layers are one object."""
        self._uses: dict[ir.Node, list[tuple[int, Use]]] = {}
        for number, use in enumerate(uses):
            self._uses.setdefault(use.node, []).append((number, use))

    def run(self, dims: Mapping[ir.Value, Dims]) -> Scope:
        if self._start is None:
            return super().run(dims)
        scope = self._start.scope
        self._keep_now(self._start.node, scope)  # what is open then may have to be walked once more
        self.graph(self.model.graph, scope)
        return scope

    def again(self, scope: Scope) -> _Fitting | None:
        """The walk from before a number was open, with what this one knows of Constant nodes; None if none was kept."""
        if self._before is not None and self._before._start is not None:  # noqa: SLF001 - its own
            keep_constants(scope, self._before._start.scope)  # noqa: SLF001
        return self._before

    def nodes(self, graph: ir.Graph) -> Iterable[ir.Node]:
        if graph is not self.model.graph:
            return super().nodes(graph)
        self.order = self.order or tuple(super().nodes(graph))
        first = 0 if self._start is None else self.order.index(self._start.node)
        return self._until_told(self.order[first:])

    def _until_told(self, nodes: Iterable[ir.Node]) -> Iterator[ir.Node]:
        """Nodes, up to where something is told of what is open: what comes behind is read once that is known."""
        behind, asked = 0, self.window
        for node in nodes:
            yield node
            behind += bool(self.unsettled.doubts)
            if behind == asked:
                asked *= 2
                self.told = self.unsettled.told()
                if self.told:
                    return

    def _keep(self, node: ir.Node) -> None:
        """Keeps the walk as it was before a node, while no number is open."""
        scope = self._here
        if scope is not None and not self.unsettled.doubts and not self._functions:
            self._keep_now(node, scope)

    def _keep_now(self, node: ir.Node, scope: Scope) -> None:
        before, there = copied(self, scope)
        before.unsettled = self.unsettled.copied(before.known)
        before.fitted = [each for each in self.fitted if each.use.node is not node]
        before._decided, before._start, before._before = self._decided, Start(there, node), None  # noqa: SLF001
        self._before = before

    def visit(self, node: ir.Node, scope: Scope) -> None:
        uses, operator = self._uses.get(node, ()), node.op_type
        if not uses and operator == "Constant":
            if node.outputs[0] not in scope.constants:
                super().visit(node, scope)
            return  # there is nothing to say of numbers
        if uses or operator == "Reshape" or self._functions or node.graph is not self.model.graph:
            self._read_node(node, uses, scope)
        else:
            self._read_or_replay(node, scope)
        if operator in WINDOWED:
            self.unsettled.strides += strided(node, scope)
        elif operator == "Pad":
            self._pad(node, scope)
        for value in node.outputs:
            self._note(value, scope)

    def _read_or_replay(self, node: ir.Node, scope: Scope) -> None:
        """Reads a node without numbers that differ, unless a walk read it before with the same facts."""
        doubtful, steps = bool(self.unsettled.doubts), self.known.steps if node.op_type in STEPPED else {}
        facts = self._replay.facts(node, scope) if doubtful or self._start is not None else None
        must = None if facts is None else self._replay.again(node, facts, steps, scope)
        if must is not None:
            self._require(must)
            return
        must = self._read_node(node, (), scope)
        if facts is not None and doubtful:
            self._replay.note(node, facts, steps, must, scope)

    def _read_node(self, node: ir.Node, uses: Sequence[tuple[int, Use]], scope: Scope) -> Sequence[Must]:
        """Reads the numbers that differ among the inputs of a node, and its shape; what must hold where it runs."""
        for number, use in uses:
            if isinstance(use.slot, int):
                self._settle(number, use, use.slot, scope)
        attributes = {use.slot: use for _, use in uses if isinstance(use.slot, str)} if uses else {}
        if attributes:
            self._attributes(node, attributes, scope)
        elif node.op_type != "Reshape" or not self._reshape(node, scope):
            super().visit(node, scope)
        must = equations(node, scope)
        self._require(must)
        self._spread(node, scope)
        return must

    def _require(self, must: Iterable[Must]) -> None:
        """Notes what must hold wherever the model runs: that two sizes are equal, or that one is whole."""
        for sizes in must:
            if len(sizes) == 2:
                self.unsettled.equate(*sizes)
            elif is_open(*sizes):
                self.unsettled.whole.extend(sizes)
            else:
                self.known.whole(*sizes)

    def _pad(self, node: ir.Node, scope: Scope) -> None:
        """Notes what a Pad gives; where it adds nothing in any export, no export shows what becomes of what it adds."""
        if operator_of(node) != "Pad" or not node.inputs or node.inputs[0] is None or not node.outputs:
            return  # somebody else's, or none that can be read
        padded, data = scope.dims.get(node.outputs[0], ()), scope.dims_of(node.inputs[0])
        self.unsettled.pads += filter(is_open, padded)
        for one, other in zip(padded, data or (), strict=False):
            if not is_open(one) and not is_open(other):
                self.unsettled.equate(one, other)

    def _unsure(self, dims: Dims) -> bool:
        """Whether there may be something to say of dims."""
        return id(dims) not in self._noted and Formula in map(type, dims)

    def _note(self, value: ir.Value, scope: Scope) -> None:
        """Notes the dims of a value as known sizes, and the formulas among its elements, if it is small."""
        dims = scope.dims.get(value, ())
        if self._unsure(dims):
            for size in dims:
                self.known.add(size)
            if None not in map(self.known.values, dims):
                self._noted[id(dims)] = dims
        held = scope.elements.get(value)
        if held is not None and held.size <= _MOST_HELD:
            for entry in held.reshape(-1).tolist():
                if isinstance(entry, Formula) and self.known.grows(entry):
                    self.known.add(entry)

    def _spread(self, node: ir.Node, scope: Scope) -> None:
        """Gives a result the dims that the shape rule leaves open: of a Slice, of operands that must be as large."""
        dims = scope.dims.get(node.outputs[0], ()) if node.outputs else ()
        if not self._unsure(dims) or None not in map(self.known.values, dims):
            return
        found = list(dims)
        for axis, size in taken(node, scope, self.known).items():
            found[axis] = size if self.known.values(found[axis]) is None else found[axis]
        for axis, sizes in spread(node, scope).items():
            values = {self.known.values(size) for size in sizes}
            if self.known.values(found[axis]) is None and len(values) == 1 and None not in values:
                found[axis] = next((size for size in sizes if not is_open(size)), sizes[0])
        scope.dims[node.outputs[0]] = tuple(found)

    def _attributes(self, node: ir.Node, uses: Mapping[str, Use], scope: Scope) -> None:
        """A node with attributes that differ: a pool may have such."""
        data = node.inputs[0] if node.inputs else None
        dims = None if data is None else scope.dims_of(data)
        given = {name: [array.reshape(-1).tolist() for array in use.arrays] for name, use in uses.items()}
        found = (pool_of if operator_of(node) in POOLS else said)(node, given, dims, self.known)
        if isinstance(found, str):
            name, use = next(iter(uses.items()))
            shown = " and ".join(str(array.tolist()) for array in use.arrays)
            self.refused.setdefault(node, f"its attribute {name} is {shown}: {found}")
            return
        self.rewritten.append(found)
        if isinstance(found, Said):
            found.write()
            super().visit(node, scope)
        elif dims is not None:
            scope.dims[node.outputs[0]] = found.dims(dims)

    def _settle(self, number: int, use: Use, slot: int, scope: Scope) -> None:
        """Says what a place holds, as far as its dims and integers go."""
        value = use.node.inputs[slot]
        if value is None:
            return
        self._here = scope if use.node.graph is self.model.graph else None
        place = Place(number, use, slot, scope, self.known, self._decided, self._name, self._require)
        shapes = [array.shape for array in use.arrays]
        if shapes.count(shapes[0]) == len(shapes):
            entries = place.entries()
            scope.elements[value] = None if entries is None else array_of(entries, shapes[0])
            dims: tuple[Size, ...] = shapes[0]
        else:
            entries, dims = None, place.dims()
            scope.elements[value] = None
        scope.dims[value] = dims
        for size in dims if entries is None else entries:
            if not is_open(size):  # what was told in another walk is asked of the sizes in each
                self.known.whole(size)
        self.fitted.append(Fitted(use, dims, entries))

    def _name(self, doubt: Doubt, values: Numbers) -> Size:
        """A name for a number that may be read in several ways, or in none."""
        self._keep(doubt.use.node)
        return self.unsettled.name(doubt, values)

    # A Reshape

    def _reshape(self, node: ir.Node, scope: Scope) -> bool:
        """The dims that a target of formulas asks for; the shape rule itself would doubt that they are above 0."""
        data, target = (node.inputs[place] if place < len(node.inputs) else None for place in (0, 1))
        if data is None or target is None or node.domain not in {"", "ai.onnx"}:
            return False
        held, dims = scope.held(target), scope.dims_of(data)
        if held is None or dims is None:
            return False
        words: list[Size] = held.reshape(-1).tolist()
        if None in words or (Formula not in map(type, words) and Formula not in map(type, dims)):
            return False
        if not node.attributes.get_int("allowzero", 0):
            words = [dims[at] if word == 0 and at < len(dims) else word for at, word in enumerate(words)]
        asked = (dims, *words)
        if asked not in self._regrouped:
            found = self._replay.target(asked, self.known.steps, lambda: regrouped(self.known, dims, words))
            self._require(found.must)
            if found.dims is None:
                return False
            self._regrouped[asked] = found.dims
        given = self._regrouped[asked]
        kind = scope.kind_of(data)
        if kind is not None:
            scope.kinds[node.outputs[0]] = kind
        scope.dims[node.outputs[0]] = given
        if (own := scope.held(data)) is not None and all(isinstance(word, int) for word in given):
            scope.elements[node.outputs[0]] = own.reshape([word for word in given if isinstance(word, int)])
        return True
