"""Exports small modules at four sizes each, with the same weights, for `python bench/corpus.py --sizes FOLDER`.

    python bench/small_modules.py FOLDER [--large] [NAME ...]
    python bench/small_modules.py FOLDER --drawn COUNT [--seed SEED]

The modules are those of `bench/small_sequences.py` and `bench/small_pictures.py`, or those of them that are named.
Each is exported at the sizes A, B, C and D by both of torch's exporters (`NAME.ts`, at opset 17, and `NAME.dynamo`),
and FOLDER/manifest.json says what was written.  `--large` exports some of the pictures at sizes that detectors take.
`--drawn` exports modules that are drawn at random (`bench/drawn_pictures.py`) instead, at eight sizes each, by the
older exporter alone.  An export that fails is told in one line and left out.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench.drawn_pictures import CHANNELS, drawn  # noqa: E402
from bench.small_pictures import PICTURES, Picture  # noqa: E402
from bench.small_sequences import SEQUENCES, WIDTH, Sequence  # noqa: E402

EXPORTERS: dict[str, dict[str, Any]] = {
    "ts": {"dynamo": False, "opset_version": 17},
    "dynamo": {"dynamo": True, "external_data": False, "verbose": False},
}
SEED = 1


@dataclass(frozen=True, slots=True)
class Kind:
    """Modules that take inputs of the same dims, and the sizes that they are exported at."""

    modules: dict[str, Callable[[], nn.Module]]
    dims: tuple[int | str, ...]
    """Of the input; a name stands for a size."""
    sizes: dict[str, dict[str, int]]
    """By letter."""

    def example(self, letter: str) -> torch.Tensor:
        sizes = self.sizes[letter]
        return torch.randn([sizes[dim] if isinstance(dim, str) else dim for dim in self.dims])

    def noted(self, files: dict[str, str]) -> dict[str, Any]:
        """What the manifest says of a module."""
        free = {str(axis): dim for axis, dim in enumerate(self.dims) if isinstance(dim, str)}
        return {"files": files, "sizes": self.sizes, "inputs": {"x": {"free": free, "gen": {"kind": "normal"}}}}


def lengths(*sizes: int) -> dict[str, dict[str, int]]:
    return {letter: {"S": size} for letter, size in zip("ABCD", sizes, strict=True)}


def areas(*sizes: tuple[int, int]) -> dict[str, dict[str, int]]:
    return {letter: {"H": height, "W": width} for letter, (height, width) in zip("ABCD", sizes, strict=True)}


def drawn_kinds(seeds: Iterable[int]) -> list[Kind]:
    """A kind for each module that is drawn, since each has sizes of its own."""
    made = ((f"drawn_{seed}", *drawn(seed)) for seed in seeds)
    return [Kind({name: module}, (1, CHANNELS, "H", "W"), sizes) for name, module, sizes in made]


LARGE = "coordconv stn rtdetr_anchors ssd_priors detr_sine_int checker radial axial_rope transpose_scan".split()
SMALL_KINDS = [
    Kind(
        {name: partial(Sequence, function) for name, function in SEQUENCES.items()},
        (1, "S", WIDTH),
        lengths(12, 18, 23, 31),
    ),
    Kind(
        {name: partial(Picture, function) for name, function in PICTURES.items()},
        (1, 3, "H", "W"),
        areas((32, 64), (64, 64), (64, 96), (96, 32)),
    ),
]
LARGE_KINDS = [
    Kind(
        {name: partial(Picture, PICTURES[name]) for name in LARGE},
        (1, 3, "H", "W"),
        areas((512, 640), (384, 512), (768, 832), (640, 512)),
    ),
]


def written(
    folder: Path, kinds: list[Kind], names: Collection[str] = (), exporters: Collection[str] = tuple(EXPORTERS)
) -> tuple[int, int]:
    """Writes the exports of the modules with these names, or of all; how many there are, and how many failed."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest: dict[str, Any] = {}
    failed = 0
    wanted = [(name, kind) for kind in kinds for name in kind.modules if not names or name in names]
    for name, kind in wanted:
        torch.manual_seed(SEED)
        module = kind.modules[name]().eval()
        for exporter in exporters:
            files = {letter: f"{name}.{exporter}.{letter}.onnx" for letter in kind.sizes}
            try:
                for letter, file in files.items():
                    export(module, kind.example(letter), folder / file, exporter)
            except Exception as error:  # noqa: BLE001 - whatever an exporter raises
                print(f"{name}.{exporter} is not exported: {reason(error)}", flush=True)
                failed += 1
                continue
            manifest[f"{name}.{exporter}"] = kind.noted(files)
            (folder / "manifest.json").write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    return len(manifest), failed


def export(module: nn.Module, x: torch.Tensor, path: Path, exporter: str) -> None:
    """Exports a module to `path` by one of torch's exporters, whose warnings and prints are dropped."""
    with warnings.catch_warnings(), unprinted():
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), path, input_names=["x"], output_names=["y"], **EXPORTERS[exporter])


@contextmanager
def unprinted() -> Iterator[None]:
    """Nothing reaches standard output: where the older exporter fails, its C++ prints the whole graph there."""
    kept = os.dup(1)
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def reason(error: BaseException) -> str:
    """The first line of the error that another came from."""
    while error.__cause__ is not None:
        error = error.__cause__
    return next(iter(str(error).splitlines()), type(error).__name__)[:150]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--drawn", type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_intermixed_args()
    kinds = LARGE_KINDS if asked.large else SMALL_KINDS
    if asked.drawn is not None:
        kinds = drawn_kinds(range(asked.seed, asked.seed + asked.drawn))
    known = {name for kind in kinds for name in kind.modules}
    if unknown := [name for name in asked.names if name not in known]:
        parser.error(f"there is no module {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    done, failed = written(asked.folder, kinds, asked.names, ("ts",) if asked.drawn is not None else EXPORTERS)
    sizes = len(kinds[0].sizes) if kinds else 0
    print(f"{done} exported at {sizes} sizes each, {failed} failed")


if __name__ == "__main__":
    main()
