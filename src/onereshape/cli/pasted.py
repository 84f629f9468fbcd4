"""Shapes as people paste them from other programs: which words the dims are, whatever stands around them."""

from __future__ import annotations

import re

_PAIRS = {"[": "]", "(": ")", "{": "}"}
_CALL = re.compile(r"(?:[^\[\](){}]*[:=]\s*)?[A-Za-z_][\w.]*\((.*)\)", re.DOTALL)
"""`torch.Size([2, 3])`, after a name or without one."""
_TENSOR = re.compile(r"tensor<((?:(?:[0-9]+|\?)x)*)[A-Za-z][A-Za-z0-9]*>")
"""MLIR's `tensor<1x3xf32>`; the last word is the type of the items."""
_NUMBER = re.compile(r"[+-]?[0-9]+|\?")
_QUOTED = re.compile(r"""(['"])([^'"]*)\1""")
_COMMA = re.compile(r",(?![^(]*\))")
_TIMES = re.compile(r"(?<=[0-9?])\s*x(?=\s*[-0-9?])", re.IGNORECASE)
_RUN_IN = re.compile(r"[A-Za-z_]\w*x[0-9]+", re.IGNORECASE)
"""A name that may be a name and a size: `Nx3`."""


def pasted(text: str) -> list[str] | None:
    """The words of a shape; None where the text is none, or can be read in two ways.

    >>> pasted("x:{1,3,?,?}"), pasted("shape=(1, 3)"), pasted("f32[1,3]"), pasted("[2 3 4]")
    (['1', '3', '?', '?'], ['1', '3'], ['1', '3'], ['2', '3', '4'])
    >>> pasted("torch.Size([2, 3])"), pasted("tensor<?x3xf32>"), pasted("['N', None]"), pasted("[2,3")
    (['2', '3'], ['?', '3'], ['N', 'None'], None)
    """
    plain = text.strip().replace("\N{MULTIPLICATION SIGN}", "x")
    if (tensor := _TENSOR.fullmatch(plain)) is not None:
        return tensor[1].split("x")[:-1]
    if (call := _CALL.fullmatch(plain)) is not None and call[1].strip()[:1] in _PAIRS:
        plain = call[1].strip()
        if plain[-1:] != _PAIRS[plain[0]]:
            return None
    found = _body(plain)
    if found is None:
        return None
    body, enclosed = found
    if not body:
        return []
    words = [word.strip() for word in _split(body, enclosed=enclosed)]
    if words[-1] == "" and len(words) > 1:  # Python writes (3,)
        words.pop()
    if len(words) > 1 and "," not in body and any(map(_RUN_IN.fullmatch, words)):
        return None
    return [quoted[2] if (quoted := _QUOTED.fullmatch(word)) else word for word in words]


def _split(body: str, *, enclosed: bool) -> list[str]:
    if "," in body:
        return _COMMA.split(body)
    parts = body.split()
    if enclosed and len(parts) > 1 and all(map(_NUMBER.fullmatch, parts)):
        return parts
    return _TIMES.split(body)


def _body(text: str) -> tuple[str, bool] | None:
    """The shape without its name and its brackets, and whether it had any; None where they do not match."""
    start = min((place for sign in "[{" if (place := text.find(sign)) >= 0), default=None)
    if start is not None:
        name, body, end = text[:start], text[start + 1 :], _PAIRS[text[start]]
        if not body.endswith(end) or set("[]{}") & {*name, *body[:-1]}:
            return None
        return body[:-1].strip(), True
    if set("]}") & {*text}:
        return None
    plain = text.rpartition(":")[2].rpartition("=")[2].strip()
    if plain.count("(") != plain.count(")"):
        return None
    if plain.startswith("(") and plain.endswith(")") and ")" not in plain[1:-1]:
        return plain[1:-1].strip(), True
    return plain, False
