"""What the rules of Reshape say of one node of a model, and whether a declaration can be true."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from onereshape.formats.model_data import ReshapeNode
from onereshape.graphs.size_limits.severity import Severity
from onereshape.ground.errors import ReshapeError
from onereshape.rule.dims import Dim
from onereshape.rule.inference import infer


def judged(node: ReshapeNode, data: tuple[Dim, ...] | None) -> tuple[ReshapeError | None, tuple[Dim, ...] | None]:
    """A refusal, or the dims of the output as far as the dims of data decide them; None: not even the rank."""
    try:
        return None, _output(node, data)
    except ReshapeError as error:
        return error, None


def _output(node: ReshapeNode, data: tuple[Dim, ...] | None) -> tuple[Dim, ...] | None:
    spec = node.spec
    _check_type("data-type", node.element_type, spec.data_types, spec, allowed="")
    attributes = dict(node.attributes)
    words: Any = node.target
    if spec.target_in == "attribute":
        if "shape" not in attributes:
            raise ReshapeError("target-missing", spec=spec, place="the attribute 'shape'")
        words = attributes.pop("shape")
    elif node.target_from == "missing":
        raise ReshapeError("target-missing", spec=spec, place="a second input")
    else:
        _check_type("shape-type", node.target_type, spec.shape_types, spec)
    if None in attributes.values():  # only the caller of the function knows it
        return None
    return infer(data, words, spec, **attributes).dims


def _check_type(code: str, found: str | None, types: tuple[str, ...], spec: Any, **fields: Any) -> None:
    if found is not None and found not in types:
        raise ReshapeError(code, spec=spec, type=found, types=" ".join(types), **fields)


def contradiction(
    declared: tuple[Dim, ...] | None, inferred: tuple[Dim, ...] | None, symbols: Container[Dim] = ()
) -> tuple[str, Severity] | None:
    """What a declaration gets wrong, and how badly; None where both can be true.

    Two names may mean one size, and a name that no input has says nothing.  A number against a name of an input, one of
    `symbols`, holds for one size only.

    >>> contradiction((2, 3), (2, 4))
    ('dim 1 is 4, not 3', 'error')
    >>> contradiction((1, 3), ("N", 3), {"N"})
    ('dim 0 is 1 only where N = 1', 'warning')
    """
    if declared is None or inferred is None:
        return None
    if len(declared) != len(inferred):
        return f"{len(declared)} dims are not {len(inferred)}", "error"
    pairs = list(enumerate(zip(declared, inferred, strict=True)))
    for axis, (said, found) in pairs:
        if isinstance(said, int) and isinstance(found, int) and said != found:
            return f"dim {axis} is {found}, not {said}", "error"
    for axis, (said, found) in pairs:
        if isinstance(said, str) and said in symbols and isinstance(found, int):
            return f"dim {axis} is {found} whatever {said} is", "warning"
        if isinstance(found, str) and found in symbols and isinstance(said, int):
            return f"dim {axis} is {said} only where {found} = {said}", "warning"
    return None
