"""Composing: how the rows of `functions` become functions of ONNX, for a node as it asks for its operator."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

VENDOR: Final = "com.microsoft"
MISSING: Final = "no_"
"""How the name of an output begins that no line makes."""
_KINDS: Final[dict[str, Callable[[str], Any]]] = {"float": float, "int": int, "string": str}


Forms = tuple[tuple[str, ...], ...]
"""The forms that dims may have: letters, numbers, `.` for any, `*` for any number of them, `1/B`, `single`."""


class NoBodyError(Exception):
    """A node that is not what its function takes, or asks for more: `why`, after the node's operator and name."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class Asked:
    """How a node asks for its operator."""

    given: tuple[tuple[str | None, int | None] | None, ...]
    """The type and rank of each input, as far as known: `("FLOAT", 3)`; None for one that is left out."""
    attributes: Mapping[str, Any]
    named: tuple[bool, ...]
    """For each output, whether it has a name."""

    def has(self, place: int) -> bool:
        """Whether the input at this place is given."""
        return place < len(self.given) and self.given[place] is not None

    def rank(self, place: int) -> int:
        """The rank of an input; refused where it is not known."""
        found = self.given[place] if place < len(self.given) else None
        if found is None or found[1] is None:
            raise NoBodyError(f"the rank of input {place} is not known")
        return found[1]

    def type(self, place: int) -> str:
        """The type of an input; refused where it is not known."""
        found = self.given[place] if place < len(self.given) else None
        if found is None or found[0] is None:
            raise NoBodyError(f"the type of input {place} is not known")
        return found[0]

    def wants(self, place: int) -> bool:
        """Whether the output at this place has a name."""
        return place < len(self.named) and self.named[place]

    def get(self, name: str, default: Any = None) -> Any:
        """An attribute of the node, or its default."""
        return self.attributes.get(name, default)


@dataclass(frozen=True, slots=True)
class Function:
    """A row: what its nodes have, and the lines of the body."""

    domain: str
    op: str
    inputs: tuple[tuple[str, str, bool], ...]
    """The letter and the name of each, and whether it may be left out; none where there are any number of them."""
    types: Mapping[str, str]
    attributes: Mapping[str, tuple[str, Any]]
    """The type of each, and its default: `...` where it must be given, None where it may be left out."""
    outputs: tuple[str, ...]
    text: str | Callable[[Asked], str]
    opset: int
    dims: Mapping[str, Forms]
    """What is said of the dims of inputs."""

    @property
    def forms(self) -> list[Forms | None]:
        """The forms of the dims of each input; None where nothing is said."""
        return [self.dims.get(name) for _, name, _ in self.inputs]

    def written(self, asked: Asked) -> str:
        """The function as ONNX text, for a node; NoBodyError where the node is not what it takes."""
        asked = replace(asked, attributes=self._settings(asked.attributes))
        self._check(asked)
        inputs = [name for _, name, _ in self.inputs] or [f"x{place}" for place in range(len(asked.given))]
        body = _Lines(asked.attributes, inputs, {name for place, name in enumerate(inputs) if asked.has(place)})
        text = self.text if isinstance(self.text, str) else self.text(asked)
        for line in text.splitlines():
            if line.strip():
                body.add(line.strip())
        outputs = ", ".join(body.now.get(name, f"{MISSING}{name}") for name in self.outputs)
        start = f'<domain: "{self.domain or "onereshape"}", opset_import: ["" : {self.opset}, "{VENDOR}" : 1]>'
        lines = "\n".join(f"  {line}" for line in body.lines)
        return f"{start}\n{self.op} ({', '.join(inputs)}) => ({outputs}) {{\n{lines}\n}}"

    def _check(self, asked: Asked) -> None:
        if len(asked.named) > len(self.outputs):
            raise NoBodyError(f"has {len(asked.named)} outputs")
        if self.inputs and len(asked.given) > len(self.inputs):
            raise NoBodyError(f"has {len(asked.given)} inputs")
        letters: dict[str, str] = {}
        for place, (letter, _, optional) in enumerate(self.inputs):
            found = asked.given[place] if asked.has(place) else None
            if found is None and not optional:
                raise NoBodyError(f"input {place} is missing")
            kind = None if found is None else found[0]
            if kind is not None and (
                kind not in self.types[letter].split() or letters.setdefault(letter, kind) != kind
            ):
                raise NoBodyError(f"input {place} is a tensor of {kind}, which it does not take")

    def _settings(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes of a node with their defaults, without those that are left out."""
        found: dict[str, Any] = {
            name: default
            for name, (_, default) in self.attributes.items()
            if default is not None and default is not ...
        }
        for name, value in given.items():
            if name not in self.attributes:
                raise NoBodyError(f"has an attribute {name!r}, which is not known")
            if _kind(value) != self.attributes[name][0] and value != []:
                raise NoBodyError(f"its attribute {name!r} is of another type")
            found[name] = value
        for name, (_, default) in self.attributes.items():
            if default is ... and name not in found:
                raise NoBodyError(f"has no attribute {name!r}")
        return found


def forms_of(text: str) -> Forms:
    """The forms of dims in a text: `B S|single` -> (("B", "S"), ("single",))."""
    return tuple(tuple(each.split()) for each in text.split("|"))


def check_dims(forms: Sequence[Forms | None], dims: Sequence[Sequence[Any] | None]) -> None:
    """Refuses inputs whose dims engines refuse, where a body would broadcast them; None: nothing is said, or known."""
    letters: dict[str, Any] = {}
    for place, (wanted, found) in enumerate(zip(forms, dims, strict=False)):
        if wanted is not None and found is not None and not any(_fits(found, each, letters) for each in wanted):
            said = " or ".join(f"[{' '.join(each)}]" for each in wanted)
            raise NoBodyError(f"input {place} has the dims {list(found)}, and should have {said} with {letters}")


def _fits(dims: Sequence[Any], form: Sequence[str], letters: dict[str, Any]) -> bool:
    """Whether dims have a form; what its letters stand for is noted if they do.

    >>> letters = {"S": 3}
    >>> _fits((2, 3, 8), ("B", "S", "*"), letters), letters
    (True, {'S': 3, 'B': 2})
    >>> _fits((3, 3), ("1/B", "S"), letters), _fits((1,), ("single",), letters)
    (False, True)
    """
    if form == ("single",):
        return len(dims) == 0 or (len(dims) == 1 and dims[0] == 1)
    if "*" in form:
        front, behind = form.index("*"), len(form) - form.index("*") - 1
        if len(dims) < front + behind:
            return False
        dims = [*dims[:front], *dims[len(dims) - behind :]]
        form = [*form[:front], *form[front + 1 :]]
    if len(dims) != len(form):
        return False
    now = dict(letters)
    for dim, said in zip(dims, form, strict=True):
        one, _, letter = said.rpartition("/")
        if said == "." or (one and dim == 1) or (said.isdigit() and dim == int(said)):
            continue
        if said.isdigit() or now.setdefault(letter, dim) != dim:
            return False
    letters.update(now)
    return True


def transposed(axes: list[int]) -> str:
    """The attribute of a Transpose to this order of axes: `[0, 2, 1] -> perm: ints = [0, 2, 1]`."""
    return f"perm: ints = [{', '.join(map(str, axes))}]"


def row(
    signature: str,
    body: str | Callable[[Asked], str],
    *,
    domain: str = VENDOR,
    opset: int = 18,
    dims: str = "",
    **types: str,
) -> tuple[str, Function]:
    """A row by its name: `row("BiasGelu (T x, T bias) -> y", "...", T="FLOAT")` -> ("com.microsoft::BiasGelu", ...)."""
    found = re.fullmatch(r"(\w+) (?:<(.*)> )?\((.*)\) -> ([\w, ]+)", signature, re.DOTALL)
    if found is None:
        raise ValueError(f"not a signature: {signature!r}")
    op, attributes, inputs, outputs = found.groups()
    operands = [each.split() for each in inputs.split(",")] if inputs != "..." else []
    function = Function(
        domain,
        op,
        tuple((letter, name.rstrip("?"), name.endswith("?")) for letter, name in operands),
        types,
        dict(_declared(each.strip()) for each in attributes.split(",")) if attributes else {},
        tuple(each.strip() for each in outputs.split(",")),
        body,
        opset,
        {name.strip(): forms_of(forms) for name, _, forms in (each.partition(":") for each in dims.split(",") if each)},
    )
    return f"{domain}::{op}" if domain else op, function


def _declared(text: str) -> tuple[str, tuple[str, Any]]:
    """`alpha: float = 1.5` -> ("alpha", ("float", 1.5)); `axis: int` must be given, `pads: ints?` may be left out."""
    name, _, rest = text.partition(": ")
    kind, _, default = rest.partition(" = ")
    return name, (kind.rstrip("?"), None if kind.endswith("?") else _KINDS[kind](default) if default else ...)


class _Lines:
    """The lines of a body under way."""

    def __init__(self, settings: Mapping[str, Any], inputs: list[str], given: set[str]) -> None:
        self.settings = settings
        self.given = given
        self.now = {name: name if name in given else '""' for name in inputs}
        """What each name stands for now."""
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        """A line of a body: `y = Mul (x, 0.5~x) if not alpha` -> none, or one of ONNX text behind its constants."""
        line, _, condition = line.partition(" if ")
        name = condition.removeprefix("not ")
        if condition and (bool(self.settings.get(name)) or name in self.given) == condition.startswith("not "):
            return
        found = re.fullmatch(r"([\w, ]+?) = ([\w.]+) (?:<(.*)> )?\((.*)\)", line)
        if found is None:
            raise ValueError(f"not a line of a body: {line!r}")
        made, op, attributes, operands = found.groups()
        inputs = ", ".join(self._operand(each) for each in re.findall(r"\[[^\]]*\]|[^,\s]+", operands))
        inside = self._filled(attributes or "")
        outputs = ", ".join(self._named(each.strip()) for each in made.split(","))
        self.lines.append(f"{outputs} = {op} {f'<{inside}> ' if inside else ''}({inputs})")

    def _named(self, name: str) -> str:
        self.now[name] = f"{name}_{len(self.lines)}_" if name in self.now else name
        return self.now[name]

    def _made(self, line: str) -> str:
        name = f"c_{len(self.lines)}_"
        self.lines.append(f"{name} = {line}")
        return name

    def _operand(self, text: str) -> str:
        if text.startswith("["):
            return self._made(f"Constant <value_ints: ints = {self._filled(text)}> ()")
        number, _, like = text.partition("~")
        if not like:
            return self.now[text] if text != '""' else text
        plain = self._made(f"Constant <value_float: float = {_literal(float(self._filled(number)))}> ()")
        return self._made(f"CastLike ({plain}, {self.now[like]})")

    def _filled(self, text: str) -> str:
        text = re.sub(r"\$\(([\w ]+)\)", lambda found: self._passed(found[1].split()), text)
        text = re.sub(r"\$(\w+)", lambda found: _literal(self.settings[found[1]]), text)
        return re.sub(r"^, |, $", "", text.strip())

    def _passed(self, names: list[str]) -> str:
        there = {name: self.settings[name] for name in names if name in self.settings}
        return ", ".join(f"{name}: {_kind(each)} = {_literal(each)}" for name, each in there.items())


def _kind(value: Any) -> str:
    """The type of a value as ONNX text names it: 0.5 -> "float", [1, 2] -> "ints"; an empty list is of integers."""
    if isinstance(value, list):
        kinds = {_kind(each) for each in value}
        return "ints" if not value else f"{kinds.pop()}s" if len(kinds) == 1 else "nothing"
    return {int: "int", float: "float", str: "string"}.get(type(value), "nothing")


def _literal(value: Any) -> str:
    """A value as ONNX text: 0.5 -> `0.5`, [1, 2] -> `[1, 2]`, "a" -> `"a"`."""
    if isinstance(value, list):
        return f"[{', '.join(_literal(each) for each in value)}]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, float) and not math.isfinite(value):
        raise NoBodyError(f"its number {value} is not finite")
    return repr(value)
