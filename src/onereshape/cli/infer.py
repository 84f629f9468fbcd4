"""`onereshape infer`: the output dims, and where each comes from."""

from __future__ import annotations

import argparse
from typing import Any

from onereshape.cli.spec_options import add_spec_options, read_attributes
from onereshape.cli.typed import read_bounds, read_dims
from onereshape.dims import show
from onereshape.explain import explain
from onereshape.inference import infer
from onereshape.specs import spec
from onereshape.target import read_flag
from onereshape.text import printable

HELP = "say the output dims of a Reshape, and why"
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

A dim is a number, a name or a product of names (N, 2*N*S), ? for unknown, or an interval (1..8, 1..); the rank is
unknown if --data is ... (three dots), and nothing is known of the target if --target is.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument(
        "--data",
        metavar="SHAPE",
        required=True,
        help="the dims of what is reshaped: 2,3,4 or [2,3,4] or 2x3x4 or x:2,3,4; also N,3,?,1..8",
    )
    parser.add_argument(
        "--bounds", metavar="N=LOW..HIGH", action="append", default=[], help="limits of a name, such as N=1..8 or N=1.."
    )
    add_spec_options(parser)


def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The answer for people and the answer for machines."""
    row = spec(args.spec)
    attributes = read_attributes(args)
    data, target = read_dims(args.data, "data"), read_dims(args.target, "target")
    shape = infer(data, target, row, bounds=read_bounds(args.bounds), **attributes)
    machine = {"output": shape.to_json(), "spec": row.name, "dims": [], "conditions": list(shape.conditions)}
    lines = []
    if shape.dims is not None and target is not None:
        phrases = explain(data, target, row, zero_copies=read_flag(row, attributes))
        texts = [printable(str(show(dim))) for dim in shape.dims]
        width = max(map(len, texts), default=0)
        lines = [f"  {text:<{width}}  {why}" for text, why in zip(texts, phrases, strict=True)]
        machine["dims"] = [{"dim": dim, "why": why} for dim, why in zip(shape.to_json() or [], phrases, strict=True)]
    lines += [f"  if {condition}" for condition in shape.conditions]
    return [str(shape), *lines], machine
