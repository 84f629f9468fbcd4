"""What people type: shapes, flags and types, read in one place."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onereshape.dims import Dim
from onereshape.dtypes import ELEMENT_TYPES, ElementType, named
from onereshape.errors import ReshapeError
from onereshape.specs import DEFAULT, FLAGS, NAMES, Flag

_SHAPE_OPTIONS = {"--data", "--target", "--chunks"}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_INTERVAL = re.compile(r"(-?[0-9]{1,19})\s*\.\.\s*(-?[0-9]{1,19})?")
_PLACE = re.compile(r"(?P<input>.+):(?P<axis>-?[0-9]{1,9})(?:=(?P<name>.*))?", re.DOTALL)
"""A dim of an input; names of inputs may have colons too."""
_MOST_DIGITS = 1000
"""Far beyond int64, and short enough for Python to print."""


def read_shape(text: str, what: str) -> tuple[int, ...]:
    """The integers of a shape as it is typed or pasted, after a name or without one.

    >>> read_shape("2,3,4", "data") == read_shape("x:[2, 3, 4]", "data") == read_shape("2x3x4", "data") == (2, 3, 4)
    True
    >>> read_shape("[]", "target")
    ()
    """
    return tuple(_read_integer(word, what, axis) for axis, word in enumerate(_words(text, what)))


def read_dims(text: str, what: str) -> tuple[Dim, ...] | None:
    """The dims of a shape that may be partly unknown; None for `...`, where not even their number is known.

    >>> read_dims("N,3,?,1..8", "data")
    ('N', 3, None, (1, 8))
    """
    if text.strip().rpartition(":")[2].strip() in {"...", "[...]"}:
        return None
    return tuple(_read_dim(word, what, axis) for axis, word in enumerate(_words(text, what)))


def read_bounds(texts: Iterable[str]) -> dict[str, Any]:
    """The limits of names, from `N=1..8`."""
    bounds: dict[str, Any] = {}
    for text in texts:
        name, _, limits = text.partition("=")
        pair = _INTERVAL.fullmatch(limits.strip())
        if not name.strip() or pair is None:
            raise ReshapeError("bad-usage", why=f"{text!r} does not limit a name: write --bounds N=1..8 or N=1..")
        if name.strip() in bounds:
            raise ReshapeError("bad-usage", why=f"--bounds gives {name.strip()} twice")
        bounds[name.strip()] = _pair(pair)
    return bounds


def _words(text: str, what: str) -> list[str]:
    body = _body(text.strip())
    if body is None:
        raise ReshapeError("not-a-list", what=what, value=repr(text))
    if not body:
        return []
    separator = r",(?![^(]*\))" if "," in body else r"(?<=[\d?])\s*x(?=\s*[-\d?])"
    words = [word.strip() for word in re.split(separator, body, flags=re.IGNORECASE)]
    if words[-1] == "" and len(words) > 1:  # Python writes (3,)
        words.pop()
    return words


def _body(text: str) -> str | None:
    """The shape without its name and its brackets, or None where the brackets do not match."""
    name, opened, body = text.partition("[")
    if opened or text.endswith("]"):
        return body[:-1].strip() if body.endswith("]") and not set("[]") & set(name + body[:-1]) else None
    plain = text.rpartition(":")[2].strip()
    if plain.count("(") != plain.count(")"):
        return None
    if plain.startswith("(") and plain.endswith(")") and ")" not in plain[1:-1]:
        return plain[1:-1].strip()
    return plain


def _read_dim(word: str, what: str, axis: int) -> Dim:
    if word == "?":
        return None
    if pair := _INTERVAL.fullmatch(word.removeprefix("(").removesuffix(")")):
        return _pair(pair)
    if word[:1].isalpha() or word[:1] in {"_", "("} or re.match(r"\d+\s*\*", word):
        return word
    return _read_integer(word, what, axis)


def _pair(found: re.Match[str]) -> tuple[int, int | None]:
    low, high = found.groups()
    return int(low), int(high) if high else None


def _read_integer(word: str, what: str, axis: int) -> int:
    if not _INTEGER.fullmatch(word):
        raise ReshapeError("not-an-integer", what=what, axis=axis, value=repr(word))
    if len(word) > _MOST_DIGITS:
        raise ReshapeError("bad-usage", why=f"{what}[{axis}] has {len(word)} digits, far beyond int64")
    return int(word)


def read_element_type(name: str | None) -> ElementType | None:
    """The element type of that name in any dialect."""
    if name is None:
        return None
    found = named(name)
    if found is None:
        known = [row.name for row in ELEMENT_TYPES]
        near = difflib.get_close_matches(name, known, n=1)
        nearest = f" (did you mean {near[0]!r}?)" if near else ""
        raise ReshapeError("bad-usage", why=f"{name!r} is not an element type{nearest}; they are {', '.join(known)}")
    return found


def spec_names(newest: str, numbered: str = "") -> str:
    """The names of specifications in one line, with what is said of the first two."""
    first, opsets, *others, last = NAMES
    return f"{first} ({newest}), {opsets}{numbered}, {', '.join(others)} or {last}"


def flag_hint(flag: Flag) -> str:
    """How to say on the command line what a message asks for in the specifications' words."""
    said = {value == flag.copies: f"{_option(flag)} {word}" for word, value in flag.values.items()}
    return f"{said[True]} (a 0 in the target copies) or {said[False]} (a 0 is a 0)"


def _option(flag: Flag) -> str:
    return f"--{flag.name.replace('_', '-')}"


def add_spec_options(parser: argparse.ArgumentParser) -> None:
    """The options that say which Reshape is meant."""
    parser.add_argument(
        "--target", metavar="SHAPE", required=True, help="what is asked for, such as 0,-1 or [2,-1] or 2x-1"
    )
    parser.add_argument(
        "--spec",
        default=DEFAULT,
        metavar="NAME",
        help=spec_names("the newest, and the default"),
    )
    for flag in FLAGS.values():
        parser.add_argument(_option(flag), metavar="|".join(flag.values), help=flag.about)


def read_attributes(args: argparse.Namespace) -> dict[str, Any]:
    """The attributes that were given, by the specifications' names."""
    typed = {name: getattr(args, name) for name in FLAGS}
    return {name: _read_flag(FLAGS[name], text) for name, text in typed.items() if text is not None}


def _read_flag(flag: Flag, text: str) -> int:
    try:
        return flag.values[text.strip().lower()]
    except KeyError:
        allowed = " or ".join(flag.values)
        raise ReshapeError("bad-attribute", attribute=flag.name, value=repr(text), allowed=allowed) from None


def asked_dims(
    batch: list[str] | None, free: list[str] | None, *, both: bool = False
) -> tuple[bool | dict[str, int] | None, dict[str, dict[int, str]] | None, list[str]]:
    """The dims that are to be free, from `--batch` and `--free`, and the other words that followed those options.

    `both`: whether they may be given together.

    >>> asked_dims(["x:0", "model.onnx"], None)
    ({'x': 0}, None, ['model.onnx'])
    >>> asked_dims(["model.onnx"], None), asked_dims(None, ["past:key:1=S"])
    ((True, None, ['model.onnx']), (None, {'past:key': {1: 'S'}}, []))
    """
    if batch is not None and free is not None and not both:
        raise ReshapeError("bad-usage", why="--batch and --free exclude each other: ask for one after the other")
    samples, dims = ([_PLACE.fullmatch(word) for word in words or ()] for words in (batch, free))
    others = [word for word in (*(batch or ()), *(free or ())) if not _PLACE.fullmatch(word)]
    for word in others:
        if ":" in word and not Path(word).exists():
            why = f"{word!r} is neither a model file nor INPUT:AXIS (with --free, INPUT:AXIS=NAME), such as x:0"
            raise ReshapeError("bad-usage", why=why)
    named = None if free is None else _read_free([place for place in dims if place])
    return None if batch is None else _read_batch([place for place in samples if place]) or True, named, others


def _read_batch(places: list[re.Match[str]]) -> dict[str, int]:
    axes: dict[str, int] = {}
    for place in places:
        name, axis = place["input"], int(place["axis"])
        if place["name"] is not None:
            why = f"{place[0]!r} gives the batch a name: write --batch {name}:{axis}, or --free {place[0]}"
            raise ReshapeError("bad-usage", why=why)
        if axes.setdefault(name, axis) != axis:
            raise ReshapeError("bad-usage", why=f"--batch gives {name} two axes, {axes[name]} and {axis}")
    return axes


def _read_free(places: list[re.Match[str]]) -> dict[str, dict[int, str]]:
    names: dict[str, dict[int, str]] = {}
    for place in places:
        name, axis, called = place["input"], int(place["axis"]), place["name"]
        if not called:
            raise ReshapeError("bad-usage", why=f"{place[0]!r} gives the dim no name: write --free {name}:{axis}=NAME")
        if (before := names.setdefault(name, {}).setdefault(axis, called)) != called:
            raise ReshapeError("bad-usage", why=f"--free gives {name}:{axis} two names, {before} and {called}")
    if not names:
        raise ReshapeError("bad-usage", why="--free is followed by no INPUT:AXIS=NAME")
    return names


def join_negative_shapes(words: Iterable[str]) -> list[str]:
    """The command line with `--target -1,3` as `--target=-1,3`: argparse takes what begins with - for an option.

    >>> join_negative_shapes(["--target", "-1,3", "--json"])
    ['--target=-1,3', '--json']
    """
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in _SHAPE_OPTIONS and re.match(r"\s*-\s*[0-9]", word):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined
