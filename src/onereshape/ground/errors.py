"""What can go wrong with a Reshape, and how it is said.

Every message of onereshape is built here, from one table and the fields that the exception also carries: a sentence
with the numbers, the data, the target with a caret under the culprit, and the rule.  Names from files pass the door of
`text`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Literal

from onereshape.ground.carried import CarriedCertificate, CarriedSpec, ShownDim
from onereshape.ground.text import JSON, as_json, printable, shown

INT64_MAX = 2**63 - 1

_LONGEST = 32
"""The longest list that a message shows whole."""
_WIDEST = 200
"""The longest name of a dim in it."""


@dataclass(frozen=True, slots=True)
class Code:
    """One way to be refused: the sentence, the rule behind it, and where the caret points."""

    sentence: str
    rule: str | None = None
    caret: Literal["target", "data"] | None = None
    usage: bool = False
    """True where the call itself is wrong (exit code 2), False where the operator refuses (exit code 1)."""


_SAME_VOLUME = "input and output must have the same number of elements"

CODES: dict[str, Code] = {
    # The call itself
    "unknown-spec": Code("{name!r} is not a specification{nearest}; the names are {names}", usage=True),
    "spec-missing": Code(
        "{function} takes a specification, and none was given: {example}; the names are {names}", usage=True
    ),
    "unknown-attribute": Code("{spec} has no attribute {attribute!r}{hint}", usage=True),
    "missing-attribute": Code("{spec} requires the attribute {attribute!r}, which has no default", usage=True),
    "bad-attribute": Code("{attribute} is {value}, but it takes only {allowed}", usage=True),
    "target-twice": Code("the target is given twice: as the attribute 'shape' and beside it", usage=True),
    "target-missing": Code("{spec} takes its target as {place}, and none was given", usage=True),
    "not-a-list": Code("{what} is {value}, not a list of integers", usage=True),
    "not-an-integer": Code("{what}[{axis}] is {value}, not an integer", usage=True),
    "bad-dim": Code("{what}[{axis}] is {value}, but a dim is {wanted}", usage=True),
    "unknown-name": Code("bounds limits {name!r}, which is no name in data or target{nearest}; {there}", usage=True),
    "bad-bounds": Code("the bounds of {name} are {value}, not {wanted}", usage=True),
    "negative-dim": Code("data[{axis}] is {value}: a dimension cannot be negative", caret="data", usage=True),
    "not-an-array": Code("{what} is of type {type}, not {wanted}", usage=True),
    # The rule of Reshape
    "below-minus-one": Code(
        "target[{axis}] is {value}: only -1, 0 and positive sizes have a meaning",
        "-1 is the only negative value of a target",
        "target",
    ),
    "two-inferred": Code(
        "target[{axis}] is a second -1, after target[{first}]",
        "at most one dimension may be -1",
        "target",
    ),
    "copy-beyond-rank": Code(
        "target[{axis}] is 0 and copies data[{axis}], but data has {rank:dim}",
        "a 0 copies the dimension of data at its own index",
        "target",
    ),
    "zero-with-inferred": Code(
        "target[{axis}] cannot be inferred beside the literal 0 at target[{zero}]: every size would fit",
        "a literal 0 and -1 must not be in the same target",
        "target",
    ),
    "empty-copy-with-inferred": Code(
        "target[{axis}] cannot be inferred: target[{zero}] copies a dim of size 0, so every size would fit",
        "the size of -1 must be determined by the other dimensions",
        "target",
    ),
    "indivisible": Code(
        "target[{axis}] cannot be inferred: {volume:element}{counted} do not divide by {divisor} "
        "(remainder {remainder})",
        _SAME_VOLUME,
        "target",
    ),
    "volume": Code("data has {volume:element}, but the target asks for {asked}", _SAME_VOLUME),
    "impossible-volume": Code("no sizes of these dims fit the target: {why}", _SAME_VOLUME),
    "overflow": Code(
        "{what} is {value}, beyond the largest int64 ({limit})",
        "sizes and numbers of elements are int64",
    ),
    "untranslatable": Code("{what} cannot be said in {to}: {why}{could}", caret="target"),
    # Types and tensors
    "data-type": Code("data of type {type} is refused{allowed}", "data is one of {types}"),
    "shape-type": Code("the shape tensor has type {type}", "the shape tensor is one of {types}"),
    "shape-value": Code(
        "target[{axis}] is {value}, which does not fit the shape tensor's type {type}",
        caret="target",
    ),
    "shape-rank": Code("the shape tensor has {rank:dim}", "the shape tensor has exactly 1 dim"),
    # Arrays
    "array-limit": Code("{library} cannot hold an array of dims {output}: {why}"),
    "unknown-chunks": Code(
        "the chunks of data along axis {axis} have unknown sizes: call compute_chunk_sizes() on the array first",
        usage=True,
    ),
    "needs-copy": Code("copy=False, but the strides {strides} allow no view of dims {output}"),
    "no-view": Code("copy=False, but {library} gives no view of dims {output}"),
    # Dims that are to be freed
    "unknown-input": Code("the model has no input {name!r}{nearest}; {there}", usage=True),
    "axis-range": Code("the input {input} has {rank:dim}, so it has no axis {asked}", usage=True),
    "unknown-rank": Code("the rank of the input {input} is not declared, so none of its axes can be freed", usage=True),
    "already-dynamic": Code(
        "axis {asked} of the input {input} is already dynamic: its name is {dim}, not {name}", usage=True
    ),
    "bad-name": Code("{name!r} is no name of a dim: letters, digits and _, and no digit first", usage=True),
    "name-taken": Code("{name} would name two sizes: {first} and {second}", usage=True),
    "asked-twice": Code("axis {asked} of the input {input} is asked for twice, as {first} and as {second}", usage=True),
    "batch-sizes": Code("the batch has two sizes: {first} and {second}", usage=True),
    "no-batch": Code("no input carries a batch: {why}", usage=True),
    "several-batches": Code("the batch can be at several places, and nothing tells which is right; say it: {options}"),
    "mixes-samples": Code("{node} ({op}) mixes the samples: {why}"),
    "no-batching-rule": Code("{node}: {op} has no batching rule, and its input {tensor} carries the batch"),
    "cannot-free": Code("{node} ({op}): {why}"),
    "unlike": Code("the exports do not go together: {why}"),
    "ambiguous": Code(
        "{node} ({op}): {what} can be read as {one} or as {two}, and the exports do not tell which is right; "
        "one more export would, at {sizes}"
    ),
    # Files and models
    "unreadable": Code("{path}: {why}", usage=True),
    "unwritable": Code("{path}: {why}", usage=True),
    "unsupported-model": Code("{why}", usage=True),
    "bad-usage": Code("{why}", usage=True),
    "unforeseen": Code(
        "{type} at {place}, a mistake of onereshape's: please report it with the command, its file and what "
        "`onereshape --version` says ({variable}=1 shows the traceback)",
        usage=True,
    ),
    "nothing-asked": Code(
        "fix was not told what to do: free the batch (batch, --batch) or other dims (free or like, --free or --like), "
        "or simplify (--simplify)",
        usage=True,
    ),
    "not-certified": Code("the repaired model is not certified: {why}"),
    "other-file": Code("{path} is not the file that {proof} was made for: {what}"),
    "unwitnessed": Code(
        "nobody witnessed the repaired model at another size: {why}; give an export at another size (--like "
        "OTHER.onnx), or have the file all the same (--unwitnessed)"
    ),
    "out-of-time": Code("out of time {after}: {why}; --timeout SECONDS (timeout=) gives the whole command more"),
    "engine-refused": Code("{engine} cannot {what}: {why}"),
}


class ReshapeError(ValueError):
    """A Reshape, or a call of onereshape, that is refused.

    >>> import onereshape as orx
    >>> try:
    ...     orx.resolve([2, 3, 4], [5, -1], "onnx-14")
    ... except orx.ReshapeError as error:
    ...     print(error.code, error.axis, error.data, error.target, error.spec, error.fields["remainder"])
    ...     print(error.sentence)
    indivisible 1 (2, 3, 4) (5, -1) onnx Reshape-14 4
    target[1] cannot be inferred: 24 elements do not divide by 5 (remainder 4)
    """

    code: str
    """The reason; docs/errors.md has a heading for each."""
    data: tuple[ShownDim, ...] | None
    """The dims of data that the message shows; None where the reason has none."""
    target: tuple[ShownDim, ...] | None
    """The entries of the target that the message shows; None where the reason has none."""
    spec: CarriedSpec | None
    """The specification that refuses; None where none does."""
    axis: int | None
    """The entry at fault, of the target or of data; None where it is no single one."""
    fields: dict[str, object]
    """Every number and name of the sentence, as the table of messages calls them."""

    def __init__(
        self,
        code: str,
        *,
        data: tuple[ShownDim, ...] | None = None,
        target: tuple[ShownDim, ...] | None = None,
        spec: CarriedSpec | None = None,
        axis: int | None = None,
        **fields: object,
    ) -> None:
        self.code = code
        self.data = data
        self.target = target
        self.spec = spec
        self.axis = axis
        self.fields = fields
        super().__init__(code)

    def __str__(self) -> str:
        # Built when read: whole worlds of refusals are made and only counted.
        return _message(self)

    @property
    def sentence(self) -> str:
        """The first line alone, without the code, and with names exactly as they are: for machines."""
        return CODES[self.code].sentence.format(**_fields(self))

    @property
    def usage(self) -> bool:
        """Whether the call is at fault rather than the operator."""
        return CODES[self.code].usage

    def to_json(self) -> dict[str, JSON]:
        """The fields, for machines."""
        return {
            "code": self.code,
            "message": self.sentence,
            "axis": self.axis,
            "data": as_json(self.data),
            "target": as_json(self.target),
            "spec": None if self.spec is None else self.spec.name,
            "notes": list(getattr(self, "__notes__", ())),
        }

    def __reduce__(self) -> tuple[object, ...]:
        # Exceptions pickle through their args; ours are keywords.
        state: dict[str, object] = {name: getattr(self, name) for name in ("data", "target", "spec", "axis")}
        state["fields"] = {**self.fields}
        if (notes := getattr(self, "__notes__", None)) is not None:
            state["__notes__"] = notes
        return type(self), (self.code,), state


class FormatError(ReshapeError):
    """A file that cannot be read or written.

    >>> import onereshape as orx
    >>> orx.load("missing.onnx")
    Traceback (most recent call last):
    onereshape.FormatError: missing.onnx: No such file or directory  [unreadable]
    """


class FixError(ReshapeError):
    """A model that cannot be repaired, or a repair without a certificate.

    >>> import onereshape as orx
    >>> try:
    ...     orx.fix("tests/data/corpus/neg_minibatch_std.ts.onnx", batch=True)
    ... except orx.FixError as error:
    ...     print(error.code, error.fields["op"])
    mixes-samples ReduceMean
    """

    certificate: CarriedCertificate | None = None
    """What was found instead of a certificate, where both models ran."""
    alone: bool = False
    """Whether the model would be right if it ran once for each sample, though no rule mixes them."""
    axes: Mapping[str, int] | None = None
    """Where the batch was taken to be, where that is not the likely place."""


class TranslateError(ReshapeError):
    """A Reshape that has no words in another dialect.

    >>> import onereshape as orx
    >>> try:
    ...     orx.translate(orx.Reshape("onnx-24", allowzero=1), "onnx-5")
    ... except orx.TranslateError as error:
    ...     print(error.fields["what"], "in", error.fields["to"], "-", error.fields["why"])
    a literal 0 at run time in onnx Reshape-5 - there a 0 always copies
    """


__test__ = {kind.__name__: kind for kind in (ReshapeError, FormatError, FixError, TranslateError)}
"""The public errors: tracebacks and pickles name the package alone, wherever this file lies, so doctest is told."""
for _kind in __test__.values():
    _kind.__module__ = "onereshape"


def _rebuild(cls: type[ReshapeError], code: str, state: dict[str, Any]) -> ReshapeError:
    """The error of a pickle that names this file."""
    return cls(code, **state)


def _message(error: ReshapeError) -> str:
    code = CODES[error.code]
    lines = [shown(error.sentence)]
    if error.data is not None:
        cells, mark = _cells(error.data, error.axis if code.caret == "data" else None)
        lines.append(f"  data    {cells}{_elements(error.data)}")
        lines.extend(mark)
    if error.target is not None:
        cells, mark = _cells(error.target, error.axis if code.caret == "target" else None)
        lines.append(f"  target  {cells}")
        lines.extend(mark)
    if code.rule is not None:
        whose = "" if error.spec is None else f"{error.spec}: "
        lines.append(printable(f"  rule    {whose}{code.rule.format(**_fields(error))}  [{error.code}]"))
    else:
        lines[0] += f"  [{error.code}]"
    return "\n".join(lines)


def _fields(error: ReshapeError) -> dict[str, Any]:
    fields = {"axis": error.axis, "spec": error.spec, **error.fields}
    return {name: _Count(value) if type(value) is int else value for name, value in fields.items()}


class _Count(int):
    """An integer that a sentence may follow with a noun: `{volume:element}` is "1 element" or "6 elements"."""

    def __format__(self, noun: str) -> str:
        return f"{self} {noun}{'' if self == 1 else 's'}" if noun else str(self)

    def __str__(self) -> str:
        bits = self.bit_length()
        return repr(int(self)) if bits <= 1024 else f"2^{bits - 1} or more"  # Python refuses to print the longest


def _cells(entries: tuple[ShownDim, ...], axis: int | None) -> tuple[str, list[str]]:
    """The list as it is printed, and the line with the caret under entry `axis`."""
    texts = [str(_Count(entry)) if type(entry) is int else shown(str(entry), _WIDEST) for entry in entries]
    if len(texts) > _LONGEST:  # the ends of a long list, and the culprit only by its number
        return "[" + ", ".join([*texts[:4], "...", *texts[-4:]]) + "]", []
    cells = "[" + ", ".join(texts) + "]"
    if axis is None:
        return cells, []
    before = len("  target  [") + sum(len(text) + 2 for text in texts[:axis])
    return cells, [" " * before + "^" * len(texts[axis])]


def _elements(data: tuple[ShownDim, ...]) -> str:
    known = [dim for dim in data if isinstance(dim, int) and dim >= 0]
    return f"  ({_Count(prod(known)):element})" if len(known) == len(data) else ""
