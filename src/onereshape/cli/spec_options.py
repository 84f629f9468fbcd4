"""The options that say which Reshape is meant: its specification, its flag, and the type of its items."""

from __future__ import annotations

import argparse
import difflib
from typing import TYPE_CHECKING, Any

from onereshape.ground.errors import ReshapeError
from onereshape.rule.specs import DEFAULT, FLAGS, NAMES, Flag

if TYPE_CHECKING:
    from onereshape.ground.dtypes import ElementType


def read_element_type(name: str | None) -> ElementType | None:
    """The element type of that name in any dialect."""
    if name is None:
        return None
    from onereshape.ground.dtypes import ELEMENT_TYPES, named  # noqa: PLC0415 - NumPy takes long, and `infer` needs none

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


def add_spec_options(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """The options that say which Reshape is meant; not `required`: a model may say it."""
    parser.add_argument(
        "--target", metavar="SHAPE", required=required, help="what is asked for, such as 0,-1 or [2,-1] or 2x-1"
    )
    parser.add_argument(
        "--spec",
        default=DEFAULT if required else None,
        metavar="SPEC",
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
