"""show(): every Reshape of a model, with the dims that its inputs decide.

Nothing is run.  The dims are those of `facts`; where they know nothing of the data (an operator of somebody's own, the
body of a function that nobody calls, a oneDNN graph) those that the file declares, under the rule of `infer`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

import onnx_ir as ir

from onereshape.formats.given import Given
from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.graphs.facts.facts import Facts
from onereshape.graphs.irs import drawn_reshapes, imaged
from onereshape.graphs.request import given_model
from onereshape.graphs.shapes import facts_of
from onereshape.graphs.size_limits.free_names import places_as_names, symbol_places
from onereshape.ground import notebook
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.ground.text import JSON, as_json, brief, shown
from onereshape.rule.dims import Dim, MaybeDims, show as show_dim
from onereshape.rule.inference import infer
from onereshape.rule.sizes import Formula
from onereshape.rule.specs import spec as find_spec

if TYPE_CHECKING:
    from onereshape.rule.shape import Shape


_LONGEST_PLACE = 200
"""Signs of a place that stands for a size without a name; a longer one is `?`."""
_WIDEST = 90
"""Signs of a name in a repr."""
_BRACKETS = re.compile(r"\(([^()\s]+\[\d+\])\)")
"""A dim that is called by its place needs no parentheses."""


@dataclass(frozen=True, slots=True)
class ReshapeRow:
    """One Reshape of a model: its data, its target and its output, and under which conditions the output is right."""

    name: str
    """The file's own name of the node, or `place` where it has none."""
    place: str
    """Where it is, by counting; `--node` takes it as well as the name, and no two Reshapes share it."""
    spec: str
    """The specification that is in force: `onnx-14`."""
    attributes: Mapping[str, JSON] = field(hash=False)
    """The flags that the file gives: `{"allowzero": 1}`."""
    data: MaybeDims
    """The dims of data in the notation of `infer`; None: not even their number is known."""
    target: MaybeDims
    """The words of the target, None for one that only a run tells; None: not even how many there are."""
    output: MaybeDims
    """The dims of the output, in formulas of the inputs' dims."""
    conditions: tuple[str, ...]
    """What must hold for the output to be that."""
    target_from: str
    """Where the target comes from: `initializer X`, `Constant node Y`, `computed by Concat Z`, `attribute`."""
    refused: str | None = None
    """Why no input satisfies it, where that is so."""
    inferred: bool = True
    """Whether the dims of data follow from the inputs; else they are what the file declares."""

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines; pairs of limits are lists."""
        return {name: as_json(getattr(self, name)) for name in self.__slots__}

    def __repr__(self) -> str:
        result = "refused" if self.refused is not None else listed_dims(self.output)
        name = shown(self.name, _WIDEST)
        return brief("ReshapeRow", f"{name}: {listed_dims(self.data)} by {listed_dims(self.target)} -> {result}")


class ReshapeTable(Sequence[ReshapeRow]):
    """The Reshapes of a model, in the order of its graph."""

    __slots__ = ("_rows", "path")

    def __init__(self, path: str, rows: Iterable[ReshapeRow]) -> None:
        self.path = path
        """The file."""
        self._rows = tuple(rows)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> ReshapeRow: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ReshapeRow, ...]: ...
    def __getitem__(self, index: int | slice) -> ReshapeRow | tuple[ReshapeRow, ...]:
        return self._rows[index]

    def __iter__(self) -> Iterator[ReshapeRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return self._rows == other._rows if isinstance(other, ReshapeTable) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._rows)

    def to_json(self) -> list[dict[str, JSON]]:
        """The rows, for machines."""
        return [row.to_json() for row in self._rows]

    def __repr__(self) -> str:
        return brief("ReshapeTable", f"{_counted(len(self))} of {shown(self.path, _WIDEST)}")

    def _repr_html_(self) -> str:
        """The table in a notebook: its first rows, where there are many."""
        table = notebook.table(TITLES, [cells_of(row) for row in self._rows])
        return notebook.block("Reshapes", f"{len(self)} in {self.path}", table)


TITLES = ("node", "data", "target", "output", "if", "target from")
"""The titles of the columns, for people."""


def cells_of(row: ReshapeRow, called: str | None = None) -> tuple[str, ...]:
    """A row for people; `called` stands in the place of its name, where several have that."""
    output = f"refused: {row.refused}" if row.refused is not None else listed_dims(row.output)
    target = listed_dims(row.target) + flag_of(row)
    return called or row.name, listed_dims(row.data), target, output, ", ".join(row.conditions), row.target_from


def flag_of(row: ReshapeRow) -> str:
    """The flag of a Reshape, if it is not the usual one and could matter: a 0, or what only a run tells, is asked."""
    if row.target is not None and all(isinstance(word, int) and word != 0 for word in row.target):
        return ""
    flag = find_spec(row.spec).flag
    if flag is None or flag.name not in row.attributes or (value := row.attributes[flag.name]) == flag.default:
        return ""
    return f" {flag.name}={str(value).lower()}"


def listed_dims(dims: MaybeDims) -> str:
    """Dims as people read them; `[...]` for an unknown number of them.

    >>> listed_dims(("2*(x[0])", None, (1, 8))), listed_dims(None)
    ('[2*x[0], ?, 1..8]', '[...]')
    """
    if dims is None:
        return "[...]"
    return _BRACKETS.sub(r"\1", f"[{', '.join(str(show_dim(dim)) for dim in dims)}]")


def show(model: Given) -> ReshapeTable:
    """Every Reshape of a model, in the order of its graph; nothing is run.

    >>> show("tests/data/corpus/hand_pixelshuffle.ts.onnx")
    ReshapeTable(2 Reshapes of tests/data/corpus/hand_pixelshuffle.ts.onnx)
    >>> show("tests/data/corpus/hand_pixelshuffle.ts.onnx")[1]
    ReshapeRow(/Reshape_1: [1, 3, 4, 4, 8, 8] by [-1, 48, 8, 8] -> [1, 48, 8, 8])
    """
    found = given_model(model)
    return ReshapeTable(found.path, rows_of(found))


def rows_of(model: Model, facts: Facts | None = None) -> list[ReshapeRow]:
    """The rows of a model that was read; `facts` are those of its graph, where they are known already."""
    try:
        given = imaged(model)
    except FixError:  # an IR that keeps a state: its Reshapes are shown with the dims that it declares
        given = model
    if given.format != "onnx":
        return [_declared(node) for node in model.reshapes]
    with blamed(given):
        drawn = drawn_reshapes(model, given)
        reader = _RowMaker(facts or facts_of(given.ir, given_places(given.ir)))
        return [
            reader.row(node, drawn[node.place]) if node.place in drawn else _declared(node) for node in model.reshapes
        ]


def given_places(model: ir.Model) -> dict[str, dict[int, str]]:
    """Input -> axis -> the place as a name, for each dim of an input that has none; not of an endless one."""
    found = places_as_names(symbol_places(model))
    return {name: axes for name, axes in found.items() if len(name) <= _LONGEST_PLACE}


class _RowMaker:
    """Makes rows from what is known of a whole model."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._words = SizeNames(facts)

    def row(self, entry: ReshapeNode, node: ir.Node) -> ReshapeRow:
        inputs = list(node.inputs)
        data = self._facts.dims.get(inputs[0]) if inputs and inputs[0] is not None else None
        if data is None:
            return _declared(entry)
        target = entry.target
        if entry.spec.target_in == "input" and len(inputs) > 1 and inputs[1] is not None:
            target = self._facts.entries(inputs[1]) or target
        error = self._facts.errors.get(node)
        output = self._facts.dims.get(node.outputs[0]) if node.outputs else None
        conditions = tuple(map(self._words.text, self._facts.conditions.get(node, ())))
        told = (self._words.dims(data), self._words.dims(target), self._words.dims(output))
        return _row(entry, told, conditions, None if error is None else error.sentence)


class SizeNames:
    """Sizes without a name, each called by the first place that has it: `x[1]`; `?` where that has no short name."""

    def __init__(self, facts: Facts) -> None:
        self._places: dict[str, str] = {}
        if not facts.unnamed:
            return
        for value, dims in facts.sizes.items():
            for axis, size in enumerate(dims):
                if isinstance(size, Formula) and size.name in facts.unnamed:
                    self._places.setdefault(size.name or "", f"{value.name}[{axis}]")
        self._names = re.compile(r"(?<!\w)_d\w+")

    def text(self, text: str) -> str:
        """A sentence in these words."""
        if not self._places or "_d" not in text:
            return str(text)
        return self._names.sub(self._called, text)

    def dims(self, dims: MaybeDims) -> MaybeDims:
        """Dims in these words."""
        if dims is None or not self._places:
            return dims
        return tuple(self._dim(dim) if isinstance(dim, str) else dim for dim in dims)

    def _dim(self, dim: str) -> Dim:
        found = self.text(dim)
        return None if "?" in found and "?" not in dim else found

    def _called(self, found: re.Match[str]) -> str:
        place = self._places.get(found[0])
        if place is None:
            return found[0]
        return "?" if len(place) > _LONGEST_PLACE else place if found[0] == found.string else f"({place})"


def _declared(entry: ReshapeNode) -> ReshapeRow:
    """A Reshape of which only the file's own words are known."""
    attributes = dict(entry.attributes)
    words: Any = attributes.pop("shape", entry.target) if entry.spec.target_in == "attribute" else entry.target
    output: MaybeDims = entry.output
    conditions: tuple[str, ...] = ()
    refused = None
    if None not in attributes.values():  # else only the caller of the function knows it
        try:
            found: Shape = infer(entry.data, words, entry.spec, **attributes)
        except ReshapeError as error:
            refused = error.sentence
        else:
            output, conditions = found.dims, tuple(map(str, found.conditions))
    return _row(entry, (entry.data, entry.target, output), conditions, refused, inferred=False)


def _row(
    entry: ReshapeNode,
    told: tuple[MaybeDims, MaybeDims, MaybeDims],
    conditions: tuple[str, ...],
    refused: str | None,
    *,
    inferred: bool = True,
) -> ReshapeRow:
    flags = {name: value for name, value in entry.attributes.items() if name != "shape"}
    called = (entry.name, entry.place, entry.spec.name, flags)
    return ReshapeRow(*called, *told, conditions, entry.target_from, refused, inferred)


def _counted(number: int) -> str:
    return f"{number} Reshape{'' if number == 1 else 's'}"
