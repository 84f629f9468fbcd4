"""`onereshape infer`: the output dims, and where each comes from."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from onereshape.cli.spec_options import add_spec_options, read_attributes
from onereshape.cli.typed import read_bounds, read_dims
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import printable
from onereshape.rule.dims import MaybeDims, show
from onereshape.rule.explain import explain
from onereshape.rule.inference import infer
from onereshape.rule.shape import Shape
from onereshape.rule.specs import DEFAULT, Spec, spec
from onereshape.rule.target import read_flag

if TYPE_CHECKING:
    from onereshape.cli.infer_model import FoundReshape

EXAMPLE = """\
examples:
  $ onereshape infer --data 2,3,4 --target 0,-1 --spec onnx-14
  [2, 12]
    2   copied from data[0]
    12  inferred: 24 / 2

  $ onereshape infer --data N,6 --target 4,-1
  [4, 3*N/2]
    4      fixed by target[0]
    3*N/2  inferred: 6*N / 4
    if N is divisible by 2

  $ onereshape infer model.onnx --node /decoder/Reshape_3
"""
NOTES = """\
A dim is a number, a name or a product of names (N, 2*N*S), ? for unknown, or an interval (1..8, 1..). The rank is
unknown if --data is ... (three dots), and nothing is known of the target if --target is.

With MODEL the data, the target, the specification and its flag are those of one Reshape of the model; whatever is typed
beside it takes their place.
"""
USAGE = "[MODEL --node NAME] [--data SHAPE] [--target SHAPE] [options]"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="a model, whose Reshape is meant")
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="which Reshape of MODEL, by its name or by its place, such as Reshape#1 (the second of the graph)",
    )
    parser.add_argument(
        "--data",
        metavar="SHAPE",
        help="the dims of what is reshaped: 2,3,4 or [2,3,4] or 2x3x4 or x:2,3,4; also N,3,?,1..8",
    )
    parser.add_argument(
        "--bounds", metavar="N=LOW..HIGH", action="append", default=[], help="limits of a name, such as N=1..8 or N=1.."
    )
    add_spec_options(parser, required=False)


def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The answer for people and the answer for machines."""
    found = _found(args)
    data = _read(args.data, "data", None if found is None else found.data)
    target = _read(args.target, "target", None if found is None else found.target)
    row = spec(args.spec or (DEFAULT if found is None else found.spec))
    attributes = read_attributes(args)
    if found is not None and args.spec is None:
        attributes = {**found.attributes, **attributes}
    try:
        shape = infer(data, target, row, bounds=read_bounds(args.bounds), **attributes)
    except ReshapeError as error:
        if error.code == "negative-dim":
            error.add_note("a dim that is not known is written ?, or as a name such as N")
        raise
    lines, dims = _explained(shape, data, target, row, attributes)
    machine: dict[str, Any] = {"output": shape.to_json(), "spec": row.name, "dims": dims}
    machine["conditions"] = list(shape.conditions)
    lines += [f"  if {condition}" for condition in shape.conditions]
    if found is not None:
        sources = _sources(args, found)
        lines += _origins(sources, data, target, row, attributes)
        given = {"data": Shape(data).to_json(), "target": Shape(target).to_json(), "attributes": attributes}
        machine |= {"model": args.model, "node": found.name, "place": found.place, **given, "from": sources}
    return [str(shape), *lines], machine


def _read(text: str | None, what: str, read: MaybeDims) -> MaybeDims:
    """What was typed, or else what was read from the model."""
    return read if text is None else read_dims(text, what)


def _found(args: argparse.Namespace) -> FoundReshape | None:
    """The Reshape of a model, where one is named; refuses a command line that says too little."""
    if args.model is not None:
        from onereshape.cli.infer_model import read_node  # noqa: PLC0415 - only a model needs it

        return read_node(args.model, args.node)
    if args.node is not None:
        why = f"--node {args.node} is a Reshape of a model, and no model is named: onereshape infer MODEL --node NAME"
        raise ReshapeError("bad-usage", why=f"{why} (see onereshape infer --help)")
    missing = [f"--{name}" for name in ("data", "target") if getattr(args, name) is None]
    if missing:
        why = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing (see onereshape infer --help)"
        error = ReshapeError("bad-usage", why=why)
        error.add_note("for example: onereshape infer --data 2,3,4 --target 0,-1")
        raise error
    return None


def _explained(
    shape: Shape, data: MaybeDims, target: MaybeDims, row: Spec, attributes: dict[str, Any]
) -> tuple[list[str], list[dict[str, Any]]]:
    """Where each dim of the output comes from: for people, and for machines."""
    if shape.dims is None or target is None:
        return [], []
    phrases = explain(data, target, row, zero_copies=read_flag(row, attributes))
    texts = [printable(str(show(dim))) for dim in shape.dims]
    width = max(map(len, texts), default=0)
    lines = [f"  {text:<{width}}  {why}" for text, why in zip(texts, phrases, strict=True)]
    return lines, [{"dim": dim, "why": why} for dim, why in zip(shape.to_json() or [], phrases, strict=True)]


def _sources(args: argparse.Namespace, found: FoundReshape) -> dict[str, str]:
    """Where data, target and specification come from: `typed`, or a place in the model."""
    return {
        "data": "typed" if args.data is not None else found.data_from,
        "target": "typed" if args.target is not None else found.target_from,
        "spec": "typed" if args.spec is not None else f"{found.name} in {found.path}",
    }


def _origins(
    sources: dict[str, str], data: MaybeDims, target: MaybeDims, row: Spec, attributes: dict[str, Any]
) -> list[str]:
    """Lines that tell people data, target and specification, and where each comes from."""
    flags = "".join(f" {name}={str(value).lower()}" for name, value in attributes.items())
    said = {"data": str(Shape(data)), "target": str(Shape(target)), "spec": f"{row.name}{flags}"}
    width = max(map(len, said.values()))
    return [f"  {what:<6}  {said[what]:<{width}}  {where}" for what, where in sources.items()]
