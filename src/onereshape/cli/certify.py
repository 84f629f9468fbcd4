"""`onereshape certify`: whether one model answers as another does; a kept certificate is made again and compared.

What it needs is imported when the command runs: no other command should wait for it.
"""

from __future__ import annotations

import argparse
from typing import Any

from onereshape.cli.bar import bar
from onereshape.cli.batch_axes import batch_axes
from onereshape.cli.dims_options import add_dims
from onereshape.cli.exports import add_exports
from onereshape.cli.limit_options import add_limits, certifying, in_time, read_memory, read_seed
from onereshape.cli.streams import loaded
from onereshape.cli.typed import asked_dims
from onereshape.formats.given import STREAM
from onereshape.ground.errors import ReshapeError
from onereshape.ground.isolation.budget import whole
from onereshape.ground.text import shown

EXAMPLE = """\
examples:
  $ onereshape certify model.onnx dynamic.onnx --batch
  $ onereshape certify model.onnx dynamic.onnx --free input_ids:1=S --witness longer.onnx
  $ onereshape certify model.onnx simpler.onnx
  $ onereshape certify model.onnx optimised.onnx --counterexample input.npz
  $ onereshape certify model.onnx optimised.onnx --replay input.npz
  $ onereshape certify --proof proof.json
"""
NOTES = """\
It does not matter who repaired the model. With --batch, N samples must get what each of them gets alone. With --free
the models must agree at the exported size, and at the sizes of other exports: those that the repair was fitted on
(--like), and those that it did not use (--witness). With neither they must agree on the same inputs.

onnxruntime runs both models on drawn inputs, and the term run follows every output element back to the inputs. What
was found is proven, certified, fitted, unwitnessed or refused; `onereshape fix --help` says what the words mean. Two
models in which nothing is freed may also be equivalent: the same formula of real numbers, with constants that agree
within a tolerance, as an optimiser leaves them; the largest difference of the answers that were drawn is named.

--proof repeats the certificate that `fix --certificate` kept, for the files that it names or for ORIGINAL and REPAIRED,
and says whether the result is the same.

Where the status is differs, a second line tells the input that shows it: one element of an output, in both models.
--counterexample writes that input, an array for each input of the model; --replay runs both models on it again, and
exits with 1 if they still differ.

Neither model is changed. Exit code 1: not proven, equivalent, certified or fitted, or not what the kept certificate
says.
"""
USAGE = "ORIGINAL REPAIRED [options]"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("models", metavar="ORIGINAL REPAIRED", nargs="*", help="two .onnx, or two .xml")
    add_dims(parser)
    add_exports(parser)
    parser.add_argument("--proof", metavar="FILE", help="the certificate that `fix --certificate` wrote")
    parser.add_argument("--counterexample", metavar="FILE.npz", help="write the input that shows a difference, if any")
    parser.add_argument("--replay", metavar="FILE.npz", help="run both models on just the input that was written")
    parser.add_argument(
        "--thorough", action="store_const", const=True, help="run all that may differ, though terms prove it"
    )
    parser.add_argument("--seed", type=read_seed, help="of the inputs that are drawn (default 0)")
    add_limits(parser, all_of_it=True)


@in_time
def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any], int]:
    """The answer for people, the answer for machines, and the exit code."""
    batch, free, more = asked_dims(args.batch, args.free, models=args.models)
    paths = [*args.models, *more]
    if args.proof is not None:
        return _rechecked(args, paths)
    if args.counterexample is not None and not args.counterexample.lower().endswith(".npz"):
        raise ReshapeError("bad-usage", why=f"--counterexample writes an .npz, and {args.counterexample} is none")
    _check_two(paths)
    if args.replay is not None:
        return _replayed(args, paths)
    from onereshape.prove.certify import certify  # noqa: PLC0415

    original = loaded(paths[0])
    batch = batch_axes(original, batch, more)
    with bar(certifying(args), seen=not args.quiet) as progress:
        found = certify(
            original,
            loaded(paths[1]),
            batch=batch,
            free=free,
            like=args.like,
            witness=args.witness,
            thorough=bool(args.thorough),
            seed=0 if args.seed is None else args.seed,
            timeout=args.timeout,
            memory=read_memory(args.memory),
            progress=progress,
        )
    machine = {"original": paths[0], "repaired": paths[1], "holds": found.holds, "certificate": found.to_json()}
    lines = [f"{found.status}: {shown(found.reason)}"]
    if (example := found.counterexample) is not None:
        lines.append(f"  {shown(example.sentence)}")
        if args.counterexample is not None:
            example.save(args.counterexample)
            machine["written"] = args.counterexample
            lines.append(f"wrote {shown(args.counterexample)}: onereshape certify ... --replay runs both models on it")
    return lines, machine, int(not found.suffices)


def _check_two(paths: list[str]) -> None:
    if len(paths) != 2:
        count = "none is" if not paths else "only one is" if len(paths) == 1 else f"{len(paths)} are"
        why = f"name two models, the original and the repaired one: {count} named here"
        raise ReshapeError("bad-usage", why=f"{why} (see onereshape certify --help)")
    if paths == [STREAM, STREAM]:
        raise ReshapeError("bad-usage", why="standard input holds one model: name a file for the other")


def _replayed(args: argparse.Namespace, paths: list[str]) -> tuple[list[str], dict[str, Any], int]:
    """Both models on the input of a kept counterexample."""
    from onereshape.prove.counterexample import read  # noqa: PLC0415
    from onereshape.prove.replay import replay  # noqa: PLC0415

    others = ("batch", "free", "like", "witness", "seed", "thorough", "counterexample")
    told = [name for name in others if getattr(args, name) is not None]
    if told:
        raise ReshapeError("bad-usage", why=f"--{told[0]} has no meaning beside --replay: {args.replay} says all")
    kept = read(args.replay)
    limit = whole(args.timeout, read_memory(args.memory))
    found = replay(kept, loaded(paths[0]), loaded(paths[1]), limit)
    machine = {
        "original": paths[0],
        "repaired": paths[1],
        "replay": args.replay,
        "holds": found.holds,
        "counterexample": found.counterexample.to_json(),
    }
    return [shown(found.sentence)], machine, int(not found.holds)


def _rechecked(args: argparse.Namespace, paths: list[str]) -> tuple[list[str], dict[str, Any], int]:
    """A kept certificate, made again."""
    from onereshape.repair.proof_file import read_proof, recheck  # noqa: PLC0415

    told = [
        name for name in ("batch", "free", "like", "witness", "seed", "thorough") if getattr(args, name) is not None
    ]
    if told:
        raise ReshapeError("bad-usage", why=f"--{told[0]} is in {args.proof} already")
    told = [name for name in ("replay", "counterexample") if getattr(args, name) is not None]
    if told:
        raise ReshapeError("bad-usage", why=f"--{told[0]} and --proof exclude each other")
    if len(paths) not in {0, 2}:
        why = f"beside --proof name both models, the original and the repaired one, or none of them: {len(paths)} named"
        raise ReshapeError("bad-usage", why=f"{why} (see onereshape certify --help)")
    original, repaired = paths or (None, None)
    limit = whole(args.timeout, read_memory(args.memory))
    kept = read_proof(args.proof)
    with bar(certifying(args), seen=not args.quiet) as progress:
        found = recheck(kept, original, repaired, limit=limit, progress=progress)
    now = f"{found.certificate.status}: {shown(found.certificate.reason)}"
    lines = [now]
    if found.other:
        lines.append(f"{args.proof} says something else:")
        lines += [f"  {shown(each)}" for each in found.other]
    else:
        lines.append(f"{args.proof} says the same")
    machine = {
        "proof": args.proof,
        "holds": found.holds,
        "other": list(found.other),
        "certificate": found.certificate.to_json(),
    }
    return lines, machine, int(not found.suffices)
