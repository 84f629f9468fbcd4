"""The hashes of terms by an extension built with sanitizers, beside NumPy's.

    python tests/terms/fuzz_terms.py EXTENSION [--random 20000]

`make sanitize` builds the extension with AddressSanitizer and UBSan, then with ThreadSanitizer, and runs this with
each: one byte beyond an array ends it.  Every array has memory of its own, as Python's memory is malloc's there.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
if __name__ == "__main__":  # not where it is only looked at: the installed one is for the others
    sys.modules["onereshape.terms._terms"] = None  # type: ignore[assignment]

from onereshape.terms import hashing as module
from onereshape.terms.hashing import Hashing, Words
from tests.terms.strided import narrowed, shapes, strided

TYPES = [np.float16, np.float32, np.float64, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32]


def load(path: str) -> None:
    spec = importlib.util.spec_from_file_location("_terms", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    module._terms = extension  # type: ignore[attr-defined]


def answers(hashing: Hashing, seed: int) -> list[Words]:
    """One of each, of arrays that the seed draws."""
    rng = np.random.default_rng(seed)
    shape = (*shapes(rng), int(rng.integers(1, 40)))
    operands = [strided(rng, narrowed(rng, shape)) for _ in range(int(rng.integers(1, 5)))]
    words, dtype = strided(rng, shape), TYPES[int(rng.integers(len(TYPES)))]
    values, kind = strided(rng, shape, dtype), np.dtype(dtype).name.upper()
    axes = [int(axis) for axis in rng.permutation(len(shape))[: rng.integers(0, len(shape) + 1)]]
    axis, kernel = int(rng.integers(len(shape))), int(rng.integers(1, 4))
    found = [
        hashing.mix(seed, *operands),
        hashing.blend(seed, *operands),
        hashing.fold(words, axes),
        hashing.fold_constants(values, kind, axes),
        hashing.constants(values, kind),
        hashing.running(words, axis),
        hashing.leaves(seed, int(rng.integers(3000))),
    ]
    if shape[axis] >= kernel:
        found.append(hashing.slide(words, axis, kernel, int(rng.integers(1, 3)), 1, 0))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="The hashes of terms by an extension built with sanitizers.")
    parser.add_argument("extension")
    parser.add_argument("--random", type=int, default=20_000)
    asked = parser.parse_args()
    load(asked.extension)
    assert module.available()
    fast, plain = Hashing(1), Hashing(1, kernels=False)
    for seed in range(asked.random):
        for one, other in zip(answers(fast, seed), answers(plain, seed), strict=True):
            if one.shape != other.shape or not np.array_equal(one, other):
                sys.exit(f"seed {seed}: not what NumPy gives")
    print(f"{asked.random} random hashes are what NumPy gives")


if __name__ == "__main__":
    main()
