"""Long lists in the attributes of nodes, kept as the bytes that a file has for them; large weights are in `onnx_bulk`.

The trees of an ensemble are lists of millions of entries, each a record of its own in a message: as Python's numbers
they take twenty times their bytes, and hardly one of them is ever asked for.  So a message is parsed with a mark in the
place of each such list; the attribute that holds it reads its entries when it is asked; and where bytes are written,
the list takes the place of its mark again.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import onnx
import onnx_ir as ir

from onereshape.formats.onnx.onnx_bulk import Bulk, bulk_apart, bulk_in, bulk_of, hold_bulk, marked_bulk, with_bulk
from onereshape.formats.onnx.onnx_records import HIGH, LENGTH, LONGEST_NUMBER, Pieces, number_at, rebuilt, record

_LEAST: Final = 1 << 16
"""Entries of a list that is kept so; none takes less than two bytes."""
_WAY: Final = (7, 1, 5)
"""The fields that lead to an attribute: the graph of a model, its nodes, and their attributes."""
_NAME, _TYPE = 1, 20
"""Fields of an attribute."""
_MARK: Final = "onereshape list "
_NO_ATTRIBUTES: dict[str, ir.Attr] = {}
_NO_PROPS: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class Entries:
    """The records of a list, as they stand in a file; told apart by their digest, and read by whoever walks them."""

    kind: ir.AttributeType
    content: bytes | memoryview = field(repr=False, compare=False)
    count: int
    mark: str
    """The digest of the records, which stands for them in a message."""

    def __len__(self) -> int:
        return self.count

    def __reduce__(self) -> tuple[type[Entries], tuple[ir.AttributeType, bytes, int, str]]:
        """How it is copied and pickled, which no view of a file can be."""
        return Entries, (self.kind, bytes(self.content), self.count, self.mark)

    def __iter__(self) -> Iterator[Any]:
        found = onnx.AttributeProto.FromString(bytes(self.content))
        if self.kind == ir.AttributeType.STRINGS:
            return (text.decode() for text in found.strings)
        return iter(found.ints if self.kind == ir.AttributeType.INTS else found.floats)


Lists = Mapping[str, Entries | Bulk]
"""Lists by their marks, and the bytes of large weights by theirs."""
NO_LISTS: Final[Lists] = {}


class LongAttr(ir.Attr):
    """An attribute whose list is read when somebody asks for it."""

    __slots__ = ("entries",)

    def __init__(self, name: str, entries: Entries) -> None:
        super().__init__(name, entries.kind, None)
        self.entries = entries

    @property
    def value(self) -> tuple[Any, ...]:
        """The list, read anew each time."""
        return tuple(self.entries)

    def __repr__(self) -> str:
        return f"LongAttr({self.name!r}, {self.entries!r})"

    __str__ = __repr__


# Reading


def set_apart(content: bytes) -> tuple[bytes, Lists]:
    """A message with marks where it had long lists and large weights, and those; what is no message is as it was."""
    lists: dict[str, Entries | Bulk] = {}

    def marked(start: int, end: int) -> Pieces | None:
        found = _list_in(content, start, end)
        if found is None:
            return None
        name, entries = found
        lists[entries.mark] = entries
        return [onnx.AttributeProto(name=name, type=entries.kind.name, doc_string=entries.mark).SerializeToString()]

    try:
        pieces = rebuilt(content, 0, len(content), _WAY, lambda start, end: end - start > 2 * _LEAST, marked)
        if any(content.find(mark.encode()) >= 0 for mark in lists):  # it would be taken for one that was put there
            return content, {}
        short = content if pieces is None else b"".join(pieces)
        pieces, bulk = bulk_apart(short)
    except Exception:  # noqa: BLE001 - a ValueError, or protobuf's own, which only its untyped package names
        return content, {}
    lists |= bulk
    if 2 * sum(len(each.content) for each in lists.values()) < len(content):  # what is in the file for others may go
        lists = {mark: replace(each, content=bytes(each.content)) for mark, each in lists.items()}
    return (short if pieces is None else b"".join(pieces)), lists


def hold(model: ir.Model, lists: Lists) -> None:
    """Gives the attributes and the initializers of a model what their marks stand for."""
    if lists:
        hold_bulk(model, lists)
    for node in model.graph if lists else ():
        for name, attribute in [*node.attributes.data.items()]:
            entries = lists.get(attribute.doc_string or "")
            if isinstance(entries, Entries) and entries.kind == attribute.type and not attribute.value:
                node.attributes[name] = LongAttr(name, entries)


def _list_in(content: bytes, start: int, end: int) -> tuple[str, Entries] | None:
    """The name of an attribute that is nothing but one long list, and the list."""
    name, kind, run, count = "", 0, memoryview(b""), 0
    at = start
    while at < end:
        if content[at] in _RUNS and not run:
            length, count = _RUNS[content[at]](content, at, end)
            if count < _LEAST or at + length > end:
                return None
            run = memoryview(content)[at : at + length]
            at += length
            continue
        number, form, body, stop = record(content, at, end)
        if number == _NAME and form == LENGTH:
            name = content[body:stop].decode()
        elif number == _TYPE and form == 0:
            kind, _ = number_at(content, body, end)
        else:
            return None
        at = stop
    if not name or not run or kind != _KINDS.get(run[0]):
        return None
    mark = f"{_MARK}{hashlib.blake2b(run, digest_size=32).hexdigest()}"
    return name, Entries(ir.AttributeType(kind), run, count, mark)


def _floats(content: bytes, start: int, end: int) -> tuple[int, int]:
    """The bytes and the entries of a list of floats, each a tag and four bytes: three entries are `(15, 3)`."""
    count = (end - start) // 5
    good = np.frombuffer(content, np.uint8, 5 * count, start)[::5] == content[start]
    count = count if good.all() else int(good.argmin())
    return 5 * count, count


def _integers(content: bytes, start: int, end: int) -> tuple[int, int]:
    """The bytes and the entries of a list of integers, each a tag and the bytes up to the first below 128."""
    array = np.frombuffer(content, np.uint8, end - start, start)
    low = np.flatnonzero(array < HIGH)
    tags, lasts = low[: len(low) // 2 * 2 : 2], low[1::2]
    good = (array[tags] == content[start]) & (lasts - tags <= LONGEST_NUMBER)
    good[1:] &= tags[1:] == lasts[:-1] + 1
    count = len(good) if good.all() else int(good.argmin())
    return (int(lasts[count - 1]) + 1 if count else 0), count


def _texts(content: bytes, start: int, end: int) -> tuple[int, int]:
    """The bytes and the entries of a list of texts; `(0, 0)` for no UTF-8, or where protobuf writes other bytes."""
    found = onnx.AttributeProto.FromString(content[start:end])
    found.ClearField("type")
    if [each.name for each, _ in found.ListFields()] != ["strings"]:
        return 0, 0
    written = found.SerializeToString()
    try:
        written.decode()  # onnx-ir reads no other texts; of one of 128 bytes or more, the length mostly is none
    except UnicodeDecodeError:
        return 0, 0
    return len(written), len(found.strings) if content.startswith(written, start) else 0


_RUNS: Final[Mapping[int, Callable[[bytes, int, int], tuple[int, int]]]] = {
    7 << 3 | 5: _floats,
    8 << 3: _integers,
    9 << 3 | LENGTH: _texts,
}
"""By the tags of entries."""
_KINDS: Final[Mapping[int, int]] = {
    7 << 3 | 5: ir.AttributeType.FLOATS,
    8 << 3: ir.AttributeType.INTS,
    9 << 3 | LENGTH: ir.AttributeType.STRINGS,
}


# Writing


@dataclass(slots=True)
class StandIn:
    """A node for onnx-ir to write, with the outputs of others."""

    outputs: Sequence[ir.Value]
    op_type: str = "StandIn"
    domain: str = ""
    name: str | None = ""
    overload: str = ""
    doc_string: str | None = ""
    inputs: Sequence[ir.Value | None] = ()
    attributes: Mapping[str, ir.Attr] = field(default_factory=lambda: _NO_ATTRIBUTES)
    metadata_props: Mapping[str, str] = field(default_factory=lambda: _NO_PROPS)
    device_configurations: Any = ()


def marked(node: ir.Node | StandIn) -> ir.Node | StandIn:
    """What onnx-ir is to write for a node: itself, or one with marks for its long lists."""
    attributes = node.attributes
    if not attributes or not any(isinstance(each, LongAttr) for each in attributes.values()):
        return node
    return StandIn(
        node.outputs,
        node.op_type,
        node.domain,
        node.name,
        node.overload,
        node.doc_string,
        node.inputs,
        {name: _mark(each) if isinstance(each, LongAttr) else each for name, each in attributes.items()},
        node.metadata_props,
        node.device_configurations,
    )


def lists_of(model: ir.Model) -> Lists:
    """The long lists and the large weights of a model."""
    found = (each for node in model.graph for each in node.attributes.data.values() if isinstance(each, LongAttr))
    return {**{each.entries.mark: each.entries for each in found}, **bulk_in(model)}


def view(graph: ir.Graph, nodes: Iterable[Any], but: frozenset[str] = frozenset()) -> Any:
    """A graph with these nodes and without those constants, for onnx-ir to write; large weights are marks."""
    return ir.GraphView(
        graph.inputs,
        graph.outputs,
        nodes=nodes,
        initializers=marked_bulk(value for name, value in graph.initializers.items() if name not in but),
        doc_string=graph.doc_string,
        opset_imports=graph.opset_imports,
        name=graph.name,
        metadata_props=graph.metadata_props,
    )


def message(model: ir.Model) -> tuple[onnx.ModelProto, Lists]:
    """What onnx-ir writes, with marks for the long lists and the large weights, and those."""
    lists = lists_of(model)
    if not lists:
        return ir.to_proto(model), lists
    short = copy.copy(model)
    short.graph = view(model.graph, map(marked, model.graph))
    return ir.serde.serialize_model(short), lists


def whole(content: bytes, lists: Lists) -> bytes:
    """A message with the lists and the weights in the place of their marks."""
    return b"".join(pieces_of(content, lists))


def pieces_of(content: bytes, lists: Lists) -> Pieces:
    """A message in pieces, with the lists and the weights in the place of their marks."""

    def put_back(start: int, end: int) -> Pieces | None:
        found = onnx.AttributeProto.FromString(content[start:end])
        entries = lists.get(found.doc_string)
        if not isinstance(entries, Entries) or found.type != entries.kind:
            return None
        name, kind = onnx.AttributeProto(name=found.name), onnx.AttributeProto(type=found.type)
        return [name.SerializeToString(), entries.content, kind.SerializeToString()]

    def has_mark(start: int, end: int) -> bool:
        return content.find(_MARK.encode(), start, end) >= 0

    pieces = rebuilt(content, 0, len(content), _WAY, has_mark, put_back) if lists else None
    content = content if pieces is None else b"".join(pieces)
    return (with_bulk(content, lists) if lists else None) or [content]


def with_lists(proto: onnx.ModelProto, lists: Lists) -> onnx.ModelProto:
    """The message with its long lists in the place of their marks."""
    return onnx.ModelProto.FromString(whole(proto.SerializeToString(), lists)) if lists else proto


def size_of(proto: onnx.ModelProto, lists: Lists) -> int:
    """Bytes of a message, with its lists and weights."""
    marks = (each.doc_string for node in proto.graph.node for each in node.attribute) if lists else ()
    bulk = (bulk_of(tensor, lists) for tensor in proto.graph.initializer) if lists else ()
    found = [*(lists[mark] for mark in marks if mark in lists), *(each for each in bulk if each is not None)]
    return int(proto.ByteSize()) + sum(len(each.content) for each in found)


def _mark(attribute: LongAttr) -> ir.Attr:
    return ir.Attr(attribute.name, attribute.type, (), doc_string=attribute.entries.mark)
