"""Which call of `fix` repairs a finding, and whether it can: found by planning it."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import onnx_ir as ir

from onereshape.checks.findings.next_step import NextStep
from onereshape.formats.model import Model
from onereshape.graphs.likely_batch import likely_axes, unlikely
from onereshape.graphs.request import Batch, Free, inputs_of, shapes_of
from onereshape.graphs.size_limits.forced import may_be_batch
from onereshape.graphs.size_limits.free_names import Places, is_unnamed
from onereshape.ground.errors import FixError, ReshapeError

if TYPE_CHECKING:
    from onereshape.repair.fix import RepairPlan

_MOST_PLANNED, _FEWEST_PLANS = 5_000, 4
"""Whether a name can be freed is found by planning it: for so many nodes, all names together, and a few in any case."""


class Repair(NamedTuple):
    """A call of `fix`, and what it would change."""

    step: NextStep
    places: frozenset[str] | None
    """The places of the nodes that it rewrites; None: nobody has planned it."""
    plan: RepairPlan | None = None
    """Of a batch."""

    def mends(self, place: str, *, anywhere: bool) -> bool | None:
        """Whether it rewrites the node of a finding, or `anywhere` anything; None where nobody knows."""
        if self.places is None:
            return None
        return bool(self.places) if anywhere else place in self.places


def asked_step(batch: Batch, free: Free) -> NextStep | None:
    """The call that frees what was asked for; what no other export confirms is written only on demand."""
    axes = batch or None if isinstance(batch, bool) else tuple((batch or {}).items()) or None
    dims = tuple((name, axis, called) for name, named in (free or {}).items() for axis, called in named.items())
    if not axes and not dims:
        return None
    return NextStep("fix", axes, dims, ("unwitnessed",) if dims else ())


class Repairs:
    """How the dims that a model calls free can be freed, each planned once."""

    def __init__(self, model: Model, symbols: Places, called: Mapping[str, str], *, planning: bool) -> None:
        """`called` gives the place of a node by its name; without `planning` nothing is planned."""
        self._model, self._symbols, self._called = model, symbols, called
        self._left = max(_FEWEST_PLANS, _MOST_PLANNED // max(1, len(model.ir.graph))) if planning else 0
        self._known: dict[str, Repair | None] = {}

    def of(self, symbol: str) -> Repair | None:
        """The repair that frees a dim; None where `fix` refuses to."""
        if symbol not in self._known:
            self._known[symbol] = self._planned(symbol)
        return self._known[symbol]

    def right(self, repair: Repair) -> bool | None:
        """Whether the model is right at any batch as it is, and is not rewritten; None: only runs tell."""
        planned = repair.plan
        if planned is None:
            return None if repair.places is None else False
        from onereshape.repair.last_word import last_word  # noqa: PLC0415 - takes long, and is rarely needed

        return last_word(self._model, planned.freed, None, outputs=planned.outputs).works

    def may_be_batch(self, symbol: str) -> bool:
        """Whether a dim may be that of the samples."""
        return may_be_batch(symbol, self._symbols)

    def _planned(self, symbol: str) -> Repair | None:
        ways = [*self._ways(symbol)]
        if not self._left:
            return Repair(ways[0], None)
        self._left -= 1
        from onereshape.repair.fix import plan  # noqa: PLC0415 - takes long, and is rarely needed

        for step in ways:
            axes = dict(step.batch) if isinstance(step.batch, tuple) else step.batch
            free: dict[str, dict[int, str]] = {}
            for name, axis, called in step.free:
                free.setdefault(name, {})[axis] = called
            try:
                found = plan(self._model, batch=axes, free=free or None)
            except FixError:
                continue
            places = frozenset(self._called.get(each.node, each.node) for each in found.changes)
            return Repair(step, places, found if step.batch else None)
        return None

    def _ways(self, symbol: str) -> Iterator[NextStep]:
        """The calls that may free a dim that has a name already: as the batch, or as another dim."""
        places = self._symbols[symbol]
        if len({name for name, _ in places}) == len(places):
            yield NextStep("fix", True if _likely(self._model.ir) == dict(places) else places)
        name = _fresh(self._symbols) if is_unnamed(symbol, self._symbols) else symbol
        yield NextStep("fix", free=tuple((value, axis, name) for value, axis in places), options=("unwitnessed",))


def _likely(model: ir.Model) -> dict[str, int] | None:
    """The axes that `fix` takes for the batch by itself."""
    try:
        return likely_axes(shapes_of(inputs_of(model)))
    except ReshapeError:
        return None


def fixed_batch(model: ir.Model) -> dict[str, int]:
    """The axes of the batch of a model exported for one sample; none where a dim is free or no batch is likely."""
    shapes = shapes_of(inputs_of(model))
    axes = _likely(model)
    if not axes or not all(isinstance(dim, int) for dims in shapes.values() for dim in dims):
        return {}
    is_one = all(shapes[name][axis] == 1 for name, axis in axes.items())
    ranked = any(len(shapes[name]) > 1 for name in axes)
    return axes if is_one and ranked and unlikely(shapes, axes) is None else {}


def _fresh(taken: Container[str]) -> str:
    """A name that no dim has."""
    return next(name for count in itertools.count() if (name := f"N{count}") not in taken)
