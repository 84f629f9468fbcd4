"""`onereshape fix`: a model with a dim freed, its Reshapes simplified, and a certificate that says what was compared.

What it needs is imported when the command runs: no other command should wait for it.
"""

from __future__ import annotations

import argparse
import os
import shlex
from tempfile import TemporaryFile
from typing import Any

from onereshape.cli.bar import bar
from onereshape.cli.batch_axes import batch_axes
from onereshape.cli.collecting import collecting_rarely
from onereshape.cli.colours import Paint, paint
from onereshape.cli.dims_options import add_dims
from onereshape.cli.exports import add_exports
from onereshape.cli.limit_options import add_limits, certifying, in_time, read_memory, read_seed
from onereshape.cli.streams import check_output, loaded, shown_output, shown_source, write_model
from onereshape.cli.typed import asked_dims
from onereshape.formats.given import STREAM
from onereshape.formats.model import Model, data_files, load, save
from onereshape.formats.model_formats import format_of, suffix
from onereshape.formats.overwriting import is_same, refuse_overwriting
from onereshape.ground.errors import FixError, FormatError, ReshapeError
from onereshape.ground.text import Ready, shown

EXAMPLE = """\
examples:
  $ onereshape fix model.onnx -o dynamic.onnx --batch
  $ onereshape fix model.onnx -o dynamic.onnx --batch pixel_values:0 --diff
  $ onereshape fix model.onnx -o dynamic.onnx --batch --certificate proof.json
  $ onereshape fix model.onnx -o dynamic.onnx --like longer.onnx --witness longest.onnx
  $ onereshape fix model.onnx -o dynamic.onnx --free input_ids:1=S --witness longer.onnx
  $ onereshape fix model.onnx -o simpler.onnx --simplify
"""
NOTES = """\
--batch frees the batch: at the axes that are named, or at the dim that the inputs share. Where the rules refuse that
dim and exactly one other choice can be freed (a state [1, 1, H] at axis 1), it is taken, and the answer says so.
--free names other dims; --like frees all dims in which the exports differ. A batch beside them is freed after them.

Before anything is written, onnxruntime runs both models, and the term run follows every output element back to the
inputs. What was found is one of these:

  proven       the same expression of its own sample's inputs, whatever is fed
  certified    agrees on drawn inputs with what the repair did not use: the
               original sample by sample, or another export (--witness)
  fitted       agrees with the exports that it was fitted on (--like), and
               was compared at no other size
  unwitnessed  agrees at the exported size, and was compared with nothing at
               others: written only with --unwitnessed

MODEL may be - for standard input, and OUT - for standard output; messages go to standard error then.
Exit code 1: the dim cannot be freed, or the result is none of the first three; nothing is written then.
"""
USAGE = "MODEL -o OUT [options]"

_WIDEST = 200
"""Signs of a name in the table."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("model", metavar="MODEL", nargs="?", help="an ONNX .onnx or an OpenVINO .xml")
    parser.add_argument("out", metavar="OUT", nargs="?", help="the same as -o OUT")
    parser.add_argument("-o", "--output", metavar="OUT", help="where the repaired model is written")
    parser.add_argument("--in-place", action="store_true", help="write over MODEL")
    add_dims(parser)
    parser.add_argument(
        "--no-new-axis", action="store_true", help="an output that had no batch keeps its rank: [8*N], not [N, 8]"
    )
    parser.add_argument(
        "--per-sample", action="store_true", help="run a batch that cannot be freed one sample after another: slower"
    )
    parser.add_argument("--simplify", action="store_true", help="fold computed targets, merge chains, drop identities")
    parser.add_argument("--diff", action="store_true", help="show each node before and after")
    add_exports(parser)
    parser.add_argument("--unwitnessed", action="store_true", help="write what no other export confirmed, and say so")
    parser.add_argument("--certificate", metavar="FILE", help="keep the certificate, for `certify --proof FILE`")
    parser.add_argument("--no-certify", action="store_true", help="write without running anything, and say so")
    parser.add_argument("--copy-weights", action="store_true", help="copy external data beside OUT, in another folder")
    parser.add_argument("--thorough", action="store_true", help="run all that may differ, though terms prove it")
    parser.add_argument("--seed", type=read_seed, default=0, help="of the inputs that are drawn (default 0)")
    add_limits(parser, all_of_it=True)


@collecting_rarely()
@in_time
def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The answer for people and the answer for machines."""
    from onereshape.checks.summary import rows, summary  # noqa: PLC0415
    from onereshape.repair.fix import fix  # noqa: PLC0415

    words = [word for word in (args.model, args.out) if word is not None]
    batch, free, more = asked_dims(args.batch, args.free, both=True, models=words)
    path, written = _paths(args, [*words, *more])
    memory = read_memory(args.memory)
    model = loaded(path)
    batch = batch_axes(model, batch, more)
    _check_others(args, model, written)
    digest = _digest(args, model)
    before = summary(model)
    with bar(certifying(args), seen=not args.quiet) as progress:
        try:
            fixed = fix(
                model,
                batch=batch,
                free=free,
                like=args.like,
                per_sample=args.per_sample,
                simplify=args.simplify,
                certify=not args.no_certify,
                witness=args.witness,
                unwitnessed=args.unwitnessed,
                new_axis=not args.no_new_axis,
                thorough=args.thorough,
                seed=args.seed,
                timeout=args.timeout,
                memory=memory,
                progress=progress,
                copy=False,
            )
        except FixError as error:
            error.add_note(f"nothing was written to {shown_output(written)}")
            raise
    unwritten = fixed.model is model and not args.copy_weights and _lacks_weights(model, written)
    if not unwritten:
        _write(fixed.model, written, copy_weights=args.copy_weights)
    kept = None if unwritten else _keep(args, (model, digest), batch, (written, fixed))
    after = summary(fixed.model)
    machine = {
        "input": path,
        "written": None if unwritten else written,
        "changed": fixed.model is not model,
        "changes": [change.to_json() for change in fixed.changes],
        "conditions": list(fixed.conditions),
        "notes": list(fixed.notes),
        "before": before,
        "after": after,
        "certificate": None if fixed.certificate is None else fixed.certificate.to_json(),
        "kept": kept,
    }
    if fixed.model is model:
        none = "" if args.certificate is None or kept else ", so there is no certificate to keep"
        said = [shown(each) for each in fixed.notes]
        said += [] if fixed.certificate is None else [shown(_certified(fixed.certificate))]
        same = f"{shown_output(written)} is {shown_source(path)}, byte for byte{none}"
        if unwritten:
            why = "its weights are in another folder (--copy-weights copies both)"
            same = f"{shown_output(written)} is not written: {why}"
        return [*said, f"nothing to repair; {same}", *_where(kept)], machine
    lines = _diff(fixed.changes, None if written == STREAM else paint()) if args.diff else []
    lines += [*_table(rows(before, after), path, written), *map(shown, fixed.notes)]
    lines += [f"holds if {shown(each)}" for each in fixed.conditions]
    lines.append(shown(_certified(fixed.certificate)))
    lines.append(f"{_count(len(fixed.changes), 'change')}, written to {shown_output(written)}")
    return [*lines, *_where(kept)], machine


def _where(kept: str | None) -> list[str]:
    """The line that says where the certificate is kept, if it is."""
    return [f"the certificate is kept in {kept}"] if kept else []


def _paths(args: argparse.Namespace, words: list[str]) -> tuple[str, str]:
    """The path of the model to read and the path to write; a command line that leaves either open is refused."""
    if not words:
        raise ReshapeError(
            "bad-usage", why="a model is missing: onereshape fix MODEL -o OUT (see onereshape fix --help)"
        )
    path, *rest = words
    outs = [*rest, *([args.output] if args.output is not None else [])]
    if args.in_place:
        if outs:
            raise ReshapeError("bad-usage", why=f"--in-place writes over {path}, and {outs[0]} is named as well")
        if path == STREAM:
            raise ReshapeError("bad-usage", why="--in-place writes over a file, and standard input is none")
        return path, path
    if not outs:
        raise ReshapeError("bad-usage", why=f"say where to write the repaired model: {_completed(args, path)}")
    if len(outs) > 1:
        raise ReshapeError("bad-usage", why=f"there are two files to write: {outs[0]} and {outs[1]}")
    check_output(outs[0], args)
    if is_same(path, outs[0]) and outs[0] != STREAM:
        why = f"{outs[0]} is the input itself, which is changed only with --in-place"
        raise ReshapeError("bad-usage", why=why)
    return path, outs[0]


def _completed(args: argparse.Namespace, path: str) -> str:
    """The command that was typed, completed: `fix m.onnx` -> `onereshape fix m.onnx -o m-dynamic.onnx --batch`."""
    stem, ending = os.path.splitext(os.path.basename(path))  # noqa: PTH119, PTH122 - any text
    written = f"{'model' if path == STREAM else stem}-dynamic{ending or '.onnx'}"
    asked = args.batch is not None or any((args.free, args.like, args.simplify, args.per_sample))
    words = ["onereshape", "fix", *args.typed, "-o", written, *([] if asked else ["--batch"])]
    return shlex.join(words)


def _check_others(args: argparse.Namespace, model: Model, written: str) -> None:
    """Refuses to write over what the model or its witness refers to; over the model itself only in place."""
    _check_place(model, written)
    if any(is_same(file, written) for file in data_files(model)):
        why = f"{written} holds the weights of {model.path}, which are never changed: name another OUT"
        raise ReshapeError("bad-usage", why=why)
    for other in (*(args.like or ()), *(args.witness or ())):
        refuse_overwriting([written], other, data_files(load(other)))
    if args.certificate is not None:
        _check_certificate(args, model, written)


def _check_place(model: Model, written: str) -> None:
    """Refuses a file that could not be written, before anything is run."""
    row = format_of(model.format)
    if written == STREAM:
        return
    if suffix(written) not in row.suffixes:
        why = f"{row.words} is written to a name that ends in {' or '.join(row.suffixes)}"
        raise FormatError("unwritable", path=written, why=why)
    _check_folder(written)


def _check_folder(written: str) -> None:
    """Refuses a file in a folder that takes none."""
    folder = os.path.dirname(written) or "."  # noqa: PTH120 - any text
    if not os.path.isdir(folder):  # noqa: PTH112
        raise FormatError("unwritable", path=written, why="its folder does not exist")
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FormatError("unwritable", path=written, why=f"its folder takes no file: {error.strerror}") from None


def _check_certificate(args: argparse.Namespace, model: Model, written: str) -> None:
    """Refuses to keep a certificate where there is none, or over what it is about."""
    if args.no_certify:
        raise ReshapeError("bad-usage", why="--no-certify makes no certificate, and --certificate keeps one")
    if args.batch is not None and (args.free is not None or args.like is not None):
        why = "a certificate is kept of one step: free the batch in a command of its own, with its own --certificate"
        raise ReshapeError("bad-usage", why=why)
    if args.in_place:
        why = "--in-place leaves no original that a certificate could be checked against: name another OUT"
        raise ReshapeError("bad-usage", why=why)
    if args.piped or args.model == STREAM:
        why = "a certificate names the files that it is about, and - is none: name MODEL and OUT"
        raise ReshapeError("bad-usage", why=why)
    if args.certificate in {"", STREAM}:
        raise ReshapeError("bad-usage", why="--certificate takes the name of a file")
    if os.path.isdir(args.certificate):  # noqa: PTH112 - any text
        raise FormatError("unwritable", path=args.certificate, why="is a folder")
    _check_folder(args.certificate)
    refuse_overwriting([args.certificate], model.path, data_files(model))
    for other in (*(args.like or ()), *(args.witness or ())):
        refuse_overwriting([args.certificate], other, data_files(load(other)))
    if is_same(written, args.certificate):
        raise ReshapeError("bad-usage", why=f"{written} is where the model is written: keep the certificate elsewhere")


def _digest(args: argparse.Namespace, model: Model) -> dict[str, Any]:
    """The digests of what is read, taken before anything is written."""
    if args.certificate is None:
        return {}
    from onereshape.repair.proof_file import digests  # noqa: PLC0415

    return digests(model)


def _keep(
    args: argparse.Namespace,
    read: tuple[Model, dict[str, Any]],
    batch: Any,
    made: tuple[str, Any],
) -> str | None:
    """Writes the certificate beside the rest, if there is one and it is to be kept."""
    (model, digest), (written, fixed) = read, made
    if args.certificate is None or fixed.certificate is None:
        return None
    from onereshape.graphs.irs import imaged  # noqa: PLC0415
    from onereshape.graphs.request import requested  # noqa: PLC0415
    from onereshape.prove.certify import CertifyQuestion  # noqa: PLC0415
    from onereshape.repair.proof_file import digests, keep  # noqa: PLC0415

    out = load(written)
    if any(is_same(file, args.certificate) for file in data_files(out)):
        raise ReshapeError("bad-usage", why=f"{args.certificate} holds the weights of {written}: keep it elsewhere")
    files = {"original": [(model.path, digest)], "repaired": [(written, digests(out))]}
    for role, others in (("like", args.like), ("witness", args.witness)):
        files[role] = [(other, digests(load(other))) for other in others or ()]
    asked = fixed.freed if requested(imaged(model), batch) else {}
    axes = {name: axis for name, dims in asked.items() for axis in dims} or None
    free = None if axes else fixed.freed or None
    question = CertifyQuestion(axes, free, fixed.conditions, thorough=args.thorough)
    keep(args.certificate, files, question, fixed.certificate)
    return str(args.certificate)


def _write(model: Any, written: str, *, copy_weights: bool) -> None:
    if written == STREAM:
        write_model(model)
    elif copy_weights:
        from onereshape.formats.onnx_weights import save_with_weights  # noqa: PLC0415

        save_with_weights(model, written)
    else:
        save(model, written)


def _lacks_weights(model: Model, written: str) -> bool:
    """Whether the weights of an ONNX model would not be found from where it is written."""
    if model.format != "onnx" or written == STREAM:
        return False
    from onereshape.formats.onnx.onnx_graphs import check_weights  # noqa: PLC0415

    try:
        check_weights(model.ir, written)
    except FormatError:
        return True
    return False


def _table(found: list[tuple[str, str, str]], path: str, written: str) -> list[str]:
    """The summaries side by side."""
    titles = ("", os.path.basename(shown_source(path)), os.path.basename(shown_output(written)))  # noqa: PTH119 - any text
    lines = [[shown(cell, _WIDEST) for cell in line] for line in (titles, *found)]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    rule = "+".join("-" * (width + 2) for width in widths)
    drawn = [" " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return [drawn[0].rstrip(), rule, *(line.rstrip() for line in drawn[1:])]


def _diff(changes: tuple[Any, ...], painted: Paint | None) -> list[str]:
    """Each node before and after, in colours where there are any."""
    lines = []
    for change in changes:
        told = [
            ("place", f"{shown(change.node)} ({shown(change.op)}): {change.code}: {shown(change.message)}"),
            ("before", f"  - {shown(change.before)}  ({shown(change.origin)})"),
            ("after", f"  + {shown(change.after)}"),
        ]
        lines += [line if painted is None else Ready(painted(line, what)) for what, line in told]
    return lines


def _certified(certificate: Any) -> str:
    return "not certified: nothing was run" if certificate is None else f"{certificate.status}: {certificate.reason}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
