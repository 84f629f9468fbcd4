"""`onereshape run`: a tensor file reshaped into another one."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

import numpy as np

from onereshape.arrays.operator import bound, reshape
from onereshape.cli import run_stores
from onereshape.cli.spec_options import add_spec_options, read_attributes, read_element_type
from onereshape.cli.streams import check_output as check_piped, read_npy, shown_output, shown_source, write_npy
from onereshape.cli.typed import read_shape
from onereshape.formats.given import STREAM
from onereshape.formats.overwriting import refuse_overwriting
from onereshape.formats.tensors.tensor import candidates
from onereshape.formats.tensors.tensor_files import check_suffix, read_tensor, typed, write_tensor
from onereshape.ground import dtypes
from onereshape.ground.errors import FormatError, ReshapeError
from onereshape.ground.numpy_types import Array
from onereshape.rule.specs import Spec, spec

EXAMPLE = """\
example:
  $ onereshape run x.npy --target 0,-1 --spec onnx -o y.npy
  x.npy: float32 [2, 3, 4] -> [2, 12]
  written to y.npy
"""
NOTES = """\
Without -o nothing is written: the types and dims are checked, and the result is said. IN and OUT may be -, for a .npy
on standard input or output; messages go to standard error then.

A .zarr may be larger than memory; the same command continues where an interrupted one stopped.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of this command."""
    parser.add_argument("input", metavar="IN", help="what to read: .npy, .npz, .pb or .zarr")
    add_spec_options(parser)
    parser.add_argument("-o", "--output", metavar="OUT", help="what to write: .npy, .npz, .pb or .zarr")
    parser.add_argument(
        "--array", metavar="NAME", help="which array of an .npz, or of a Zarr group, that holds several"
    )
    parser.add_argument(
        "--dtype",
        metavar="NAME",
        help="what the items are, where the file does not say: NumPy's files have no names for int4, float8e4m3fn and "
        "the like (the names of NumPy and of every dialect are known)",
    )
    run_stores.add_options(parser)


def answer(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The answer for people and the answer for machines; writes the output where one is asked for."""
    row = spec(args.spec)
    target = read_shape(args.target, "target")
    attributes = read_attributes(args)
    element_type = read_element_type(args.dtype)
    check_piped(args.output, args)
    if STREAM in {args.input, args.output}:
        _check_npy(args)
    elif run_stores.is_streamed(args):
        _check_other(args.input, args.output)
        return run_stores.answer(args, row, bound(target, row, **attributes), _known)
    if args.output not in {None, STREAM}:
        _check_output(args.input, args.output)
    if args.input == STREAM:
        tensor = typed(read_npy(), element_type, shown_source(args.input))
    else:
        tensor = read_tensor(args.input, array=args.array, element_type=element_type, mapped=args.output is None)
    array = _known(tensor.array, row, args.input)
    if args.output is not None and tensor.data_file is not None:
        refuse_overwriting([args.output], args.input, [tensor.data_file])
    output = reshape(array, target, row, **attributes).view(tensor.array.dtype)
    if args.output == STREAM:
        write_npy(dataclasses.replace(tensor, array=output))
    elif args.output is not None:
        write_tensor(args.output, dataclasses.replace(tensor, array=output))
    name = dtypes.type_name(tensor.array.dtype)
    lines = [f"{shown_source(args.input)}: {name} {list(array.shape)} -> {list(output.shape)}"]
    return lines if args.output is None else [*lines, f"written to {shown_output(args.output)}"], {
        "input": args.input,
        "array": tensor.name or None,
        "dtype": name,
        "data": list(array.shape),
        "output": list(output.shape),
        "spec": row.name,
        "written": args.output,
    }


def _check_npy(args: argparse.Namespace) -> None:
    """Refuses what a .npy in a pipe has not: arrays by name, and blocks."""
    run_stores.refuse_options(args, "a .npy in a pipe is reshaped as a whole")
    if args.array is not None:
        raise ReshapeError("bad-usage", why="--array chooses in an .npz or a Zarr group, and - is a .npy")
    for path in (args.input, args.output or STREAM):
        if path.rstrip("/").lower().endswith(".zarr"):
            raise ReshapeError(
                "bad-usage", why=f"{path}: a Zarr store is a folder, which is not read from a pipe or written to one"
            )


def _check_output(read: str, written: str) -> None:
    """Refuses an output that cannot be one, before anything is read."""
    check_suffix(written, "unwritable")
    _check_other(read, written)


def _check_other(read: str, written: str | None) -> None:
    """Refuses to write over the input."""
    if written is not None:
        refuse_overwriting([written], read)


def _known(array: Array, row: Spec, path: str) -> Array:
    """The array in a type that the operator knows: nameless items as one of their types, if every one is allowed."""
    possible = candidates(array.dtype)
    taken = [known for known in possible if known.named_in(row.dialect) in row.data_types]
    names = ", ".join(known.name for known in possible)
    if not possible:
        return array
    if not taken:
        stands = f": it stands for one of {names}"
        raise ReshapeError(
            "data-type", spec=row, type=dtypes.type_name(array.dtype), allowed=stands, types=" ".join(row.data_types)
        )
    if len(taken) < len(possible):
        why = f"does not say which type its {array.dtype.itemsize}-byte items are, and {row} does not take all of"
        raise FormatError("unreadable", path=path, why=f"{why} {names}: give --dtype")
    return array.view(np.dtype(taken[0].numpy))
