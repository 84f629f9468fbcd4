"""`onereshape convert`: Reshapes of a model file in another dialect, or an ONNX model in another opset."""

from __future__ import annotations

import argparse
from typing import Any, NamedTuple

from onereshape.arrays.operator import Reshape
from onereshape.backends.convert.extract import extract
from onereshape.backends.convert.files import check_output, check_weights, write
from onereshape.backends.convert.whole import whole
from onereshape.cli.limit_options import add_limits, limited_by
from onereshape.cli.spec_options import spec_names
from onereshape.cli.streams import loaded
from onereshape.formats.model import Model
from onereshape.formats.model_formats import FORMATS, typed_formats
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.formats.reshape_plan import attributes_of
from onereshape.ground.text import shown
from onereshape.rule.specs import Spec, opset_of, spec
from onereshape.terms.proof import Proof

EXAMPLE = """\
examples:
  $ onereshape convert model.onnx --node decoder/Reshape_3 --to openvino -o reshape.xml
  decoder/Reshape_3: onnx Reshape-14 [0, -1] -> openvino Reshape-1 [0, -1] special_zero=true, written to reshape.xml

  $ onereshape convert model.onnx --to onnx-13 -o older.onnx
  decoder/Reshape_3: onnx Reshape-14 [0, -1] -> onnx Reshape-13 [0, -1], written to older.onnx
  proven: at N = 5, 1, 0 each output element is the same expression of the inputs
"""
NOTES = """\
With --node one Reshape becomes a model of its own, which runs; element types and dims that an ONNX file does not
declare are inferred, and what the other dialect cannot say is refused.

Without --node, a file of nothing but Reshapes converts whole, and an ONNX model of any operators changes its opset: its
Reshapes by our rules, the others by onnx's. The term run then compares both models at sizes of 0, 1 and more: a result
that differs is refused, and the answer says whether it is proven to be the same.

MODEL may be - for standard input.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", help=typed_formats())
    parser.add_argument(
        "--node",
        metavar="NAME",
        help="only this Reshape, by its name or by its place, such as Reshape#1 (the second of the graph)",
    )
    parser.add_argument(
        "--to",
        metavar="SPEC",
        required=True,
        help=spec_names("the newest", " (the opset that is written)"),
    )
    *others, last = (row.written for row in FORMATS)
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help=f"{', '.join(others)}, or {last}")
    add_limits(parser)


def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The answer for people and the answer for machines."""
    row = spec(args.to)
    check_output(args.model, args.output, row)
    model = loaded(args.model)
    check_weights(model, args.output, row)
    with limited_by(args), blamed(model):
        found = _converted(args, model, row)
    lines = []
    for name, before, after, assumed in found.nodes:
        note = " (its type is not in the file: float32)" if assumed else ""
        lines.append(f"{shown(name)}: {_shown(before)} -> {_shown(after)}, written to {args.output}{note}")
    machine = {
        "input": args.model,
        "written": args.output,
        "opset": opset_of(args.to),
        "nodes": [
            {"name": name, "before": _json(before), "after": _json(after), "type_assumed": assumed}
            for name, before, after, assumed in found.nodes
        ],
        "proof": None if found.proof is None else found.proof.to_json(),
    }
    lines = lines or [f"no Reshape, written to {args.output}"]
    return [*lines, *([] if found.proof is None else [shown(said_of(found.proof))])], machine


class _Converted(NamedTuple):
    """What was written."""

    nodes: list[tuple[str, Reshape, Reshape, bool]]
    """Each Reshape by its name, before, after, and whether its type was assumed."""
    proof: Proof | None = None
    """What the terms say of a model in another opset."""


def said_of(proof: Proof) -> str:
    """The sentence for people."""
    from onereshape.terms.proof import said_all  # noqa: PLC0415 - only who asks for it needs it

    if not proof.holds:
        return f"not proven: {proof.reason}"
    where = f"at {said_all(proof.sizes)} " if any(proof.sizes) else ""
    return f"proven: {where}each output element is the same expression of the inputs"


def _converted(args: argparse.Namespace, model: Model, row: Spec) -> _Converted:
    """Writes the file."""
    opset = opset_of(args.to)
    if args.node is None and model.format == row.dialect and opset is not None:
        from onereshape.backends.convert.opset import change_opset  # noqa: PLC0415 - onnx takes long

        made = change_opset(model, opset, args.output)
        return _Converted([(node.name, node.before, node.after, False) for node in made.changed], made.proof)
    plan = whole(model, args.to) if args.node is None else extract(model, args.node, args.to)
    write(plan, args.output)
    return _Converted([(step.name, step.before, step.after, step.assumed) for step in plan.steps])


def _shown(op: Reshape) -> str:
    target = "with its target at run time" if op.target is None else str(list(op.target))
    flags = [f"{name}={str(value).lower()}" for name, value in attributes_of(op).items()]
    return " ".join([str(op.spec), target, *flags])


def _json(op: Reshape) -> dict[str, Any]:
    target = None if op.target is None else list(op.target)
    return {"spec": op.spec.name, "target": target, "attributes": attributes_of(op)}
