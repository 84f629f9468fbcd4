"""One task of a reshape: a block of output, made of the slices of the input that it needs."""

from __future__ import annotations

import platform
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from onereshape.arrays.blocks import at
from onereshape.arrays.chunk_choice import ChunkPlan, plan_given
from onereshape.formats.refusals import cause
from onereshape.formats.stores.beneath import RefusedError
from onereshape.formats.stores.npy_files import NpyFile
from onereshape.formats.stores.passes import grid
from onereshape.formats.stores.zarr_arrays import ZarrArray, settle
from onereshape.formats.tensors import npy
from onereshape.ground.errors import FormatError
from onereshape.ground.integers import Dims
from onereshape.ground.isolation.messages import Plain

Store = ZarrArray | NpyFile
"""Sliced to be read, assigned to to be written."""


@dataclass(frozen=True, slots=True)
class Job:
    """One pass of a reshape, which makes a block of output by its number: `job(3)` makes block 3, in any process."""

    source: Store
    source_path: str
    sink: Store
    sink_path: str
    data: Dims
    output: Dims
    block: Dims
    """The size of the blocks of output."""
    witnesses: tuple[tuple[str, int], ...]
    """Files with their sizes, which whoever makes a block must see."""
    chosen: ChunkPlan = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        chosen = plan_given(self.data, tuple((dim,) for dim in self.data), self.output, grid(self.output, self.block))
        assert chosen is not None  # noqa: S101 - passes are chosen so
        object.__setattr__(self, "chosen", chosen)

    def told(self) -> Plain:
        """The job as plain data, of which `job_of` makes it again in another process."""
        found: Plain = _plain(self)
        return found

    def __call__(self, number: int) -> None:
        """Makes block `number`, in C order."""
        self._look()
        counts = tuple(len(sizes) for sizes in self.chosen.output)
        index = tuple(int(place) for place in np.unravel_index(number, counts)) if counts else ()
        dims = tuple(sizes[place] for sizes, place in zip(self.chosen.output, index, strict=True))
        region = tuple(
            slice(place * sizes[0], place * sizes[0] + dim)
            for sizes, place, dim in zip(self.chosen.output, index, dims, strict=True)
        )
        block = self._block(index, dims)
        try:
            self.sink[region] = block
        except MemoryError:
            settle()
            raise
        except Exception as error:  # noqa: BLE001 - the codecs are those of the input, with whatever options it gives them
            settle()
            why = (
                (error.strerror or str(error)) if isinstance(error, OSError) else f"cannot be encoded ({cause(error)})"
            )
            raise FormatError("unwritable", path=self.sink_path, why=why) from None

    def _look(self) -> None:
        """Refuses to work where the files are not: Zarr would take each missing chunk for an empty one."""
        for path, size in self.witnesses:
            try:
                seen = Path(path).stat().st_size
            except OSError:
                seen = -1
            if seen != size:
                why = f"is not what it was, as seen from {platform.node()}: every worker must see the same files"
                raise FormatError("unreadable", path=path, why=why)

    def _block(self, index: Dims, dims: Dims) -> Any:
        planned = self.chosen.planned
        found = [part.moves.moves(tuple(index[axis] for axis in part.part.output_axes)) for part in planned]
        moves = [next(iter(part.values())) for part in found]  # all of data counts as one chunk
        seen = [prod(dims[axis] for axis in part.part.output_axes) for part in planned]
        result = None
        for chosen in product(*moves):
            slices = [slice(0, 1)] * len(self.data)
            for part, move in zip(planned, chosen, strict=True):
                for axis, one in zip(part.part.data_axes, move.source.within, strict=True):
                    slices[axis] = slice(*one)
            piece = self._read(tuple(slices))
            if piece.size == prod(dims):
                return piece.reshape(dims)
            if result is None:
                result = np.empty(dims, piece.dtype)
            place = at(result.reshape(seen), tuple(move.destination for move in chosen))
            place[...] = piece.reshape(place.shape)
        return result

    def _read(self, slices: tuple[slice, ...]) -> Any:
        try:
            return self.source[slices]
        except RefusedError as error:
            settle()
            raise FormatError("unreadable", path=self.source_path, why=str(error)) from None
        except MemoryError:
            settle()
            raise
        except Exception as error:  # noqa: BLE001 - a damaged chunk makes its codec raise nearly anything
            settle()
            why = f"cannot be read at {[f'{one.start}:{one.stop}' for one in slices]} ({cause(error)})"
            raise FormatError("unreadable", path=self.source_path, why=why) from None


def job_of(told: Plain) -> Job:
    """The job that was told."""
    plain: Plain = _tuples(told)
    return Job(**plain | {"source": _store_of(plain["source"]), "sink": _store_of(plain["sink"])})


def _store_of(plain: Plain) -> Store:
    return NpyFile(**plain | {"dtype": npy.type_of(plain["dtype"])}) if "dtype" in plain else ZarrArray(**plain)


def _plain(value: Any) -> Any:
    """Fields of dataclasses by their names, an element type as .npy files name it."""
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.init}
    return npy.type_text(value) if isinstance(value, np.dtype) else value


def _tuples(value: Any) -> Any:
    """What was tuples before it was JSON."""
    if isinstance(value, dict):
        return {name: _tuples(one) for name, one in value.items()}
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
