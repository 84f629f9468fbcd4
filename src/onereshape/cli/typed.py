"""What people type: shapes, limits of names, and dims that are to be free."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from onereshape.cli.pasted import pasted
from onereshape.formats.model_formats import SUFFIXES
from onereshape.ground.errors import ReshapeError
from onereshape.rule.dims import Dim

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
    >>> read_shape("{2,3,4}", "data") == read_shape("torch.Size([2, 3, 4])", "data") == (2, 3, 4)
    True
    >>> read_shape("[]", "target")
    ()
    """
    words = pasted(text)
    if words is None:
        raise _written_so(ReshapeError("not-a-list", what=what, value=repr(text)))
    return tuple(_read_integer(word, what, axis) for axis, word in enumerate(words))


def read_dims(text: str, what: str) -> tuple[Dim, ...] | None:
    """The dims of a shape that may be partly unknown; None for `...`, where not even their number is known.

    >>> read_dims("N,3,?,1..8", "data")
    ('N', 3, None, (1, 8))
    """
    words = pasted(text)
    if words is None:
        raise _written_so(ReshapeError("not-a-list", what=what, value=repr(text)))
    if words == ["..."]:
        return None
    return tuple(_read_dim(word, what, axis) for axis, word in enumerate(words))


def _written_so(error: ReshapeError) -> ReshapeError:
    error.add_note("a shape is written 2,3,4 or [2,3,4] or 2x3x4, and a dim that is not known ?")
    return error


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


def _read_dim(word: str, what: str, axis: int) -> Dim:
    if word in {"?", "None"}:  # NumPy's and Keras' word for it
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
        raise _written_so(ReshapeError("not-an-integer", what=what, axis=axis, value=repr(word)))
    if len(word) > _MOST_DIGITS:
        raise ReshapeError("bad-usage", why=f"{what}[{axis}] has {len(word)} digits, far beyond int64")
    return int(word)


Batch = bool | dict[str, int | None] | None
"""The batch that is asked for; an input that was named without an axis has none yet, and `batch_axes` finds it."""


def asked_dims(
    batch: list[str] | None, free: list[str] | None, *, both: bool = False, models: Sequence[str] | None = None
) -> tuple[Any, dict[str, dict[int, str]] | None, list[str]]:
    """The dims that are to be free, from `--batch` and `--free`, and the files that were typed after those options.

    `both`: whether they may be given together.  `models` are the files that were typed elsewhere.  A word after
    `--batch` that is no file is the name of an input, once a model is known; its axis is found in the model.

    >>> asked_dims(["x:0", "model.onnx"], None)
    ({'x': 0}, None, ['model.onnx'])
    >>> asked_dims(["model.onnx"], None), asked_dims(None, ["past:key:1=S"])
    ((True, None, ['model.onnx']), (None, {'past:key': {1: 'S'}}, []))
    >>> asked_dims(["x"], None, models=["model.onnx"])
    ({'x': None}, None, [])
    """
    if batch is not None and free is not None and not both:
        raise ReshapeError("bad-usage", why="--batch and --free exclude each other: ask for one after the other")
    samples, dims = ([_PLACE.fullmatch(word) for word in words or ()] for words in (batch, free))
    others = [word for word in batch or () if not _PLACE.fullmatch(word)]
    files = [word for word in others if _is_file(word)]
    names = [word for word in others if word not in files]
    for word in free or ():
        if not _PLACE.fullmatch(word):
            _check_free(word)
            files.append(word)
    if names and not models and not files:
        models, files, names = (
            None,
            names,
            [],
        )  # no model is named: one of these is meant, and its reader says what is wrong
    for word in files:
        if ":" in word and not Path(word).exists():
            why = f"{word!r} is neither a model file nor INPUT:AXIS (with --free, INPUT:AXIS=NAME), such as x:0"
            raise ReshapeError("bad-usage", why=why)
    named = None if free is None else _read_free([place for place in dims if place])
    axes = {**dict.fromkeys(names), **_read_batch([place for place in samples if place])}
    return None if batch is None else axes or True, named, files


def _is_file(word: str) -> bool:
    """Whether a word can only be a model: such a file is there, or its name ends as theirs do."""
    return word == "-" or word.lower().endswith(SUFFIXES) or (os.path.exists(word) and not os.path.isdir(word))  # noqa: PTH110, PTH112 - any text


def _check_free(word: str) -> None:
    if not _is_file(word):
        why = f"{word!r} is neither a model file nor INPUT:AXIS=NAME, such as {word.partition(':')[0] or 'x'}:1=S"
        raise ReshapeError("bad-usage", why=why)


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
