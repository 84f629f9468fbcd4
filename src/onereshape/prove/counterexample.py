"""Counterexample: an input to which two models give different answers, and the element in which they differ.

Its file is an .npz: what was fed, an array per input, and a text that says what came out.  Nothing that such a file
says is believed: whoever replays it runs both models on what is fed.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, get_args

import numpy as np

from onereshape.formats.refusals import unreadable
from onereshape.formats.tensors import npz
from onereshape.formats.tensors.tensor import Tensor
from onereshape.ground.atomic import replacing
from onereshape.ground.dtypes import named, type_name
from onereshape.ground.errors import FormatError
from onereshape.ground.numpy_types import Array
from onereshape.ground.text import JSON, as_json, brief, shown
from onereshape.terms.proof import said

Role = Literal["original", "repaired", "export", "witness", "declared", "inferred"]
"""Whoever gives an answer: a model, or what was declared or inferred of one."""
Compared = Literal["value", "dims", "type", "tensors"]
"""What differs: one element, the dims of an output, its element type, or whether it is given at all."""
_ROLES: Final[dict[Role, str]] = {
    "original": "in the original",
    "repaired": "in the repaired model",
    "export": "in the other export",
    "witness": "in the witness",
    "declared": "as declared",
    "inferred": "as inferred",
}


TEXT: Final = "counterexample"
"""The name of the array that says what came out; an input of that name makes it longer by a sign."""
_BESIDE: Final = "beside/"
"""The start of the names of what the first model was fed, where that is something else."""
_KNOWN: Final[tuple[Role, ...]] = get_args(Role)
_MOST: Final = 1 << 20
"""Signs of that text."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """An input to which two models give different answers, and one thing in which they differ."""

    output: str
    """The name of the output that differs."""
    what: Compared
    """What differs: `value`, `dims`, `type`, or `tensors` (one of both has no such tensor in its sequence)."""
    models: tuple[Role, Role]
    """Who gives the two answers: mostly the original and the repaired model."""
    values: tuple[str, str]
    """Both answers, as text: an element with all its digits, or dims, or a type."""
    indices: tuple[tuple[int, ...], tuple[int, ...]] | None
    """The place of the element in each of the two answers, which differ where a sample is alone and in a batch."""
    sizes: Mapping[str, int]
    """The sizes of the named dims in the second run."""
    beside: Mapping[str, Array] | None = field(compare=False)
    """What the first was fed; None where it is no model."""
    feeds: Mapping[str, Array] = field(compare=False)
    """What the second was fed."""
    first: str = ""
    """The first tensor at which the models part, of those that have one name in both; empty where none was found."""

    @property
    def index(self) -> tuple[int, ...] | None:
        """The place of the element in the second answer; None where no element differs."""
        return None if self.indices is None else self.indices[1]

    @property
    def sentence(self) -> str:
        """The difference in words: `output 'y' is 0.5 at [0, 3], and 0.25 in the original`."""
        name, (one, two) = repr(self.output), (shown(each, 80) for each in self.values)
        where = _ROLES[self.models[0]]
        if self.models[0] == self.models[1]:
            where = "among other samples"
        if self.what == "tensors":
            text = f"output {name} is {two}, and {one} {where}"
        elif self.what == "dims":
            text = f"output {name} has dims {two}, and {one} {where}"
        elif self.what == "type":
            text = f"output {name} is {two}, and {one} {where}"
        else:
            before, after = self.indices or ((), ())
            alone = f" (at {[*before]})" if before != after else ""
            at = f", {said(self.sizes)}" if self.sizes else ""
            text = f"output {name} is {two} at {[*after]}{at}, and {one}{alone} {where}"
        return f"{text}; the models part at {self.first!r}" if self.first else text

    def __repr__(self) -> str:
        return brief("Counterexample", self.sentence)

    def save(self, path: str) -> None:
        """Writes it to an .npz, from which `onereshape certify ORIGINAL OTHER --replay` runs both models again."""
        _write(path, self)

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines; of what was fed the dims and the types."""
        fields = {
            "output": self.output,
            "what": self.what,
            "models": self.models,
            "values": self.values,
            "indices": self.indices,
            "sizes": dict(self.sizes),
            "beside": None if self.beside is None else _told(self.beside),
            "feeds": _told(self.feeds),
            "first": self.first,
        }
        return {name: as_json(value) for name, value in fields.items()}


def _told(feeds: Mapping[str, Array]) -> dict[str, dict[str, object]]:
    return {name: {"type": type_name(each.dtype), "dims": [*each.shape]} for name, each in feeds.items()}


def _write(path: str, found: Counterexample) -> None:
    """Writes all of a counterexample, or nothing."""
    if not path.lower().endswith(".npz"):
        raise FormatError("unwritable", path=path, why="a counterexample is written as an .npz")
    beside = found.beside if found.beside is not None and not _same(found.beside, found.feeds) else {}
    arrays = {**found.feeds, **{f"{_BESIDE}{name}": array for name, array in beside.items()}}
    text = TEXT
    while text in arrays:
        text += "_"
    told: dict[str, Any] = {
        **{name: value for name, value in found.to_json().items() if name not in {"feeds", "beside"}},
        "inputs": [*found.feeds],
        "beside": None if found.beside is None else [*beside],
        "types": {name: type_name(array.dtype) for name, array in arrays.items()},
    }
    tensors = [Tensor(np.asarray(array), name) for name, array in arrays.items()]
    with replacing(path) as file:
        npz.write_all(file, [*tensors, Tensor(np.array([json.dumps(told)]), text)], path)


def read(path: str) -> Counterexample:
    """A counterexample of a file, each part of it checked; a FormatError where it is none."""
    if "\0" in path:
        raise unreadable(path, "is not a path")
    try:
        if not stat.S_ISREG(Path(path).stat().st_mode):
            raise unreadable(path, "is not a regular file")
        arrays = {name: tensor.array for name, tensor in npz.read_all(path).items()}
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    text = max((name for name in arrays if name.rstrip("_") == TEXT), key=len, default="")
    if not text:
        raise unreadable(path, "is not a counterexample: it says not what came out")
    try:
        return _found(_said(arrays.pop(text)), arrays)
    except (ValueError, TypeError, KeyError, AttributeError, StopIteration, RecursionError):
        raise unreadable(path, "is not a counterexample that can be replayed") from None


def _said(array: Array) -> dict[str, Any]:
    (text,) = (str(each) for each in array.reshape(-1))
    told = json.loads(text) if len(text) <= _MOST else None
    if not isinstance(told, dict):
        raise TypeError
    return told


def _found(told: Mapping[str, Any], arrays: Mapping[str, Array]) -> Counterexample:
    """The fields, or whatever error a wrong one raises."""
    typed = {name: _typed(array, told["types"][name]) for name, array in arrays.items()}
    feeds = {str(name): typed[name] for name in told["inputs"]}
    beside = None if told["beside"] is None else {str(name): typed[f"{_BESIDE}{name}"] for name in told["beside"]}
    before, after = map(_role, told["models"])
    one, two = (str(each) for each in told["values"])
    indices = None if told["indices"] is None else _indices(told["indices"])
    if told["what"] not in get_args(Compared) or (told["what"] == "value") != (indices is not None):
        raise ValueError
    return Counterexample(
        str(told["output"]),
        told["what"],
        (before, after),
        (one, two),
        indices,
        {str(name): _count(size) for name, size in told["sizes"].items()},
        feeds if beside == {} else beside,
        feeds,
        str(told["first"]),
    )


def _typed(array: Array, name: str) -> Array:
    """An array of a file in its own type: NumPy's files have no name for bfloat16, and strings have a width."""
    kind = named(name)
    if kind is None:
        raise ValueError
    if array.dtype.kind in "TUS":
        return array.astype(object)
    if kind.numpy is None or kind.numpy.itemsize != array.dtype.itemsize:
        raise ValueError
    return array if array.dtype == kind.numpy else array.view(kind.numpy)


def _role(name: Any) -> Role:
    return next(role for role in _KNOWN if role == name)


def _indices(told: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    before, after = (tuple(map(_count, each)) for each in told)
    return before, after


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError
    return value


def _same(one: Mapping[str, Array], two: Mapping[str, Array]) -> bool:
    return one is two or {*_bytes(one)} == {*_bytes(two)}


def _bytes(feeds: Mapping[str, Array]) -> Iterator[tuple[str, str, tuple[int, ...], bytes]]:
    for name, array in feeds.items():
        content = repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
        yield name, array.dtype.str, array.shape, content
