"""The shape of every tensor of a model, by symbolic inference on a copy of it.

The original stays as it was, and what it declares inside is ignored: only its inputs and its constants count.  Names of
dims that the engine could not read are others on the copy, and come back in the answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import onnx_ir as ir

from onereshape.condition import Condition
from onereshape.dims import Dim, as_name, parse
from onereshape.errors import FixError, ReshapeError
from onereshape.models.inference.limits import (
    LONGEST_FORMULA,
    LONGEST_NAME,
    MOST_DIMS,
    MOST_ELEMENTS,
    TOO_LONG,
    TooLargeError,
)

Freed = Mapping[str, Mapping[int, str | int]]
"""Input -> axis -> the name (or the size) that the dim is to have."""

_MET = "onereshape.broadcast."
"""How the names begin that `exact_broadcasts` gives."""
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
"""Names that the engine takes for names."""


_MOST_TOLD = 4
"""Places that a refusal names beside its reason."""


class GivenUp(NamedTuple):
    """A place at which something stays unknown, and why."""

    at: ir.Node | ir.Value
    """A node, or an input of the model."""
    why: str


@dataclass(frozen=True, slots=True)
class Shapes:
    """What inference found, by the original's values and nodes."""

    dims: Mapping[ir.Value, tuple[Dim, ...]]
    """The dims of a value; None for one that is not known.  A value whose rank is not known is not there."""
    conditions: Mapping[ir.Node, tuple[Condition, ...]]
    """What must hold for a Reshape's answer to be right."""
    errors: Mapping[ir.Node, ReshapeError]
    """The Reshapes that no input can satisfy."""
    values: Mapping[ir.Value, tuple[Dim, ...]] = field(default_factory=dict)
    """The elements of integer tensors with one dim or none, as far as they are known: constants, and what is computed
    from them and from dims."""
    types: Mapping[ir.Value, ir.DataType] = field(default_factory=dict)
    """The element types, as far as they are known."""
    generated: frozenset[str] = frozenset()
    """The names in dims and values that stand for something unknown, each for one and the same thing wherever it is."""
    given_up: tuple[GivenUp, ...] = ()
    """What was not followed, since it is too large."""


def shapes_of(model: ir.Model, freed: Freed = {}) -> Shapes:  # noqa: B006 - a mapping is not written to
    """Infers all shapes with the dims of `freed` in place of the declared ones; what was declared inside is ignored.

    Where a rule cannot read a node, dims are unknown; any other error is a mistake in here and comes out.
    """
    from onereshape.models.inference.exact_broadcasts import exact_broadcasts  # noqa: PLC0415 - as below
    from onereshape.models.inference.copies import Copy  # noqa: PLC0415
    from onereshape.models.inference.formulas import Formulas  # noqa: PLC0415
    from onereshape.models.inference.walk import Walk  # noqa: PLC0415 - sympy takes long

    try:
        copy = Copy(model)
    except (ValueError, KeyError):  # a graph that is none: its nodes go in circles, or two values are one
        return Shapes({}, {}, {})
    found = _Found()
    found.originals = {theirs: mine for mine, theirs in copy.values.items()}
    found.names, given_up = _declare(model, copy.values, freed)
    walk = Walk(copy, Formulas(found.names.formula), found.add)
    walk.context.reserve_symbol_names(found.names.symbols)
    with exact_broadcasts():
        walk.run()
    plain = found.names.plain
    told = walk.limits.given_up
    if walk.limits.unread:
        read = _read_by_targets(copy.nodes)
        told = told | {node: why for node, why in walk.limits.unread.items() if node in read}
    given_up += [GivenUp(copy.nodes[node], why) for node, why in told.items() if node in copy.nodes]
    for error in walk.rule.errors.values():
        error.data, error.target, error.fields = map(plain, (error.data, error.target, error.fields))
    return Shapes(
        found.dims,
        {copy.nodes[node]: plain(said) for node, said in walk.rule.conditions.items() if node in copy.nodes},
        {copy.nodes[node]: error for node, error in walk.rule.errors.items() if node in copy.nodes},
        found.values,
        found.types,
        walk.context.generated_dim_names | found.met,
        tuple(given_up),
    )


@contextmanager
def telling(shapes: Shapes) -> Iterator[None]:
    """Has a refusal say what was not followed: with more room it might not be one."""
    try:
        yield
    except FixError as error:
        for at, why in shapes.given_up[:_MOST_TOLD]:
            error.add_note(f"given up at {at.name}: {why}")
        raise


def _read_by_targets(nodes: Iterable[ir.Node]) -> set[ir.Node]:
    """The nodes that the targets of Reshapes are computed by."""
    pending = [each for node in nodes if node.op_type == "Reshape" for each in node.inputs[1:]]
    seen: set[ir.Node] = set()
    while pending:
        value = pending.pop()
        maker = None if value is None else value.producer()
        if maker is not None and maker not in seen:
            seen.add(maker)
            pending += () if maker.op_type in {"Shape", "Size"} else maker.inputs
    return seen


class _Names:
    """Names for the dims that the engine would take for more than a name, and the way back.

    A name is never read as a formula: `9**9**9` would be calculated, and `N + 1` is a size that has nothing to do with
    N as far as the file binds anybody.
    """

    def __init__(self, declared: Iterable[str]) -> None:
        names = dict.fromkeys(declared)
        self._prefix = "dim_"
        while any(self._prefix in name for name in names):
            self._prefix += "_"
        others = (name for name in names if not _PLAIN.fullmatch(name))
        self._aliases = {name: f"{self._prefix}{number}" for number, name in enumerate(others)}
        self._back = {alias: name for name, alias in self._aliases.items()}
        self._declared = frozenset(self._back)
        self._taken = {parse(as_name(name)) for name in self._aliases}
        self._formulas: dict[str, str] = {}
        self.symbols = {self.alias(name) for name in names}

    def alias(self, name: str) -> str:
        """The name on the copy."""
        return self._aliases.get(name, name)

    def formula(self, text: str) -> str:
        """A name on the copy for a formula of its names."""
        if text not in self._formulas:
            whole = self._text(text)
            if len(whole) > LONGEST_FORMULA:
                raise TooLargeError(TOO_LONG)
            self._formulas[text] = f"{self._prefix}{len(self._back)}"
            self._back[self._formulas[text]] = whole
        return self._formulas[text]

    def plain(self, said: Any) -> Any:
        """What was said of the copy, in the original's names."""
        if not self._back:
            return said
        if isinstance(said, dict):
            return {key: self.plain(value) for key, value in said.items()}
        if isinstance(said, tuple):
            return tuple(self.plain(value) for value in said)
        if isinstance(said, Condition):
            return said.renamed(self._renamed)
        return self._text(said) if isinstance(said, str) else said

    def _text(self, said: str) -> str:
        if said in self._back:
            return as_name(self._back[said]) if said in self._declared else self._apart(self._back[said])
        return self._apart(self._renamed(said))

    def _renamed(self, said: str) -> str:
        return re.sub(rf"\b{self._prefix}\d+\b", self._called, said)

    def _apart(self, formula: str) -> str:
        """A formula in words that no name has: a dim called `N + 1` is not N + 1."""
        return f"{formula} + 0" if parse(formula) in self._taken else formula

    def _called(self, found: re.Match[str]) -> str:
        name = self._back.get(found[0], found[0])
        return name if name.isidentifier() else f"({name})"


class _Found:
    """The answers, as they come in."""

    def __init__(self) -> None:
        self.dims: dict[ir.Value, tuple[Dim, ...]] = {}
        self.values: dict[ir.Value, tuple[Dim, ...]] = {}
        self.types: dict[ir.Value, ir.DataType] = {}
        self.originals: dict[ir.Value, ir.Value] = {}
        self.names: Any = None
        self.met: set[str] = set()
        """Names of the sizes that two dims have together where they are broadcast."""
        self._varying: set[ir.Value] = set()
        """Values whose rank, or whose elements, differ between the calls of their function."""

    def add(self, context: Any, copy: ir.Value) -> None:
        """Takes what is known of a value of the copy; what calls of its function disagree on is unknown."""
        mine = self.originals.get(copy)
        if mine is None:
            return
        if copy.dtype is not None:
            self.types[mine] = copy.dtype
        known = None if copy.shape is None else tuple(self._dim(dim) for dim in copy.shape)
        _merge(self.dims, self._varying, mine, known)
        values = None
        if known is not None and copy.dtype is not None and copy.dtype.is_integer() and len(known) <= 1:
            values = context.get_symbolic_value(copy)
        if values is not None and len(values) <= MOST_ELEMENTS:
            _merge(self.values, set(), mine, tuple(self._dim(each) for each in values))

    def _dim(self, dim: Any) -> Dim:
        if not isinstance(dim, int) and dim.value is not None and _MET in dim.value:
            self.met |= set(re.findall(rf"{re.escape(_MET)}\d+", dim.value))
        return self.names.plain(dim if isinstance(dim, int) else dim.value)  # type: ignore[no-any-return]


def _merge(known: dict[ir.Value, tuple[Dim, ...]], varying: set[ir.Value], value: ir.Value, found: Any) -> None:
    before = known.get(value)
    if found is None or (before is not None and len(before) != len(found)):
        varying.add(value)
        known.pop(value, None)
    elif value not in varying:
        same = found if before is None else tuple(a if a == b else None for a, b in zip(before, found, strict=True))
        known[value] = same


def _declare(model: ir.Model, values: Mapping[ir.Value, ir.Value], freed: Freed) -> tuple[_Names, list[GivenUp]]:
    """Writes the dims of the inputs on the copy; returns the names that they have there, and what is left out."""
    shapes: dict[ir.Value, list[Any]] = {}
    given_up: list[GivenUp] = []
    for value in model.graph.inputs:
        if value.shape is None or value.is_initializer():
            continue
        if len(value.shape) > MOST_DIMS:
            given_up.append(GivenUp(value, f"it has {len(value.shape)} dims, more than {MOST_DIMS}"))
            continue
        dims = [dim if isinstance(dim, int) else dim.value for dim in value.shape]
        dims = [None if isinstance(dim, int) and dim < 0 else dim or None if dim != 0 else 0 for dim in dims]
        if any(isinstance(dim, str) and len(dim) > LONGEST_NAME for dim in dims):
            given_up.append(GivenUp(value, f"a dim of it has a name of more than {LONGEST_NAME} characters"))
            dims = [None if isinstance(dim, str) and len(dim) > LONGEST_NAME else dim for dim in dims]
        for axis, dim in freed.get(value.name or "", {}).items():
            if -len(dims) <= axis < len(dims):
                dims[axis] = dim
        shapes[value] = dims
    names = _Names(dim for dims in shapes.values() for dim in dims if isinstance(dim, str))
    for value, dims in shapes.items():
        values[value].shape = ir.Shape([names.alias(dim) if isinstance(dim, str) else dim for dim in dims])
    return names, given_up
