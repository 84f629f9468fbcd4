"""The law of the copies by an extension built with sanitizers, between blocks of exactly the bytes that may be touched.

    python tests/arrays/fuzz_copy.py EXTENSION [--world 1] [--random 20000]

Every copy of `tests/laws/copies_world.py`, or one in so many of them, and as many random ones, by every level of
kernels that the processor has, into the cache and past it.  `make sanitize` builds the extension with AddressSanitizer
and UBSan, then with ThreadSanitizer, and runs this with each: one byte too far, or written by two threads, ends it.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import ModuleType

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent.parent))
if __name__ == "__main__":  # not where it is only looked at: the installed one is for the others
    sys.modules["onereshape.arrays._copy"] = None  # type: ignore[assignment]

from tests.arrays.copying import Array
from tests.laws.copies_world import (
    ITEMS,
    THREADS,
    Recipe,
    kernels_plan,
    long,
    plan_of,
    random_cut,
    random_recipe,
    world,
)

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]

BYTES: Array = np.random.default_rng(12).integers(0, 256, 1 << 20, np.uint8)


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("_copy", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def block(nbytes: int) -> Iterator[Array]:
    """Memory of exactly so many bytes, which the sanitizer fences."""
    address = LIBC.malloc(nbytes)
    try:
        yield np.frombuffer(memoryview((ctypes.c_uint8 * nbytes).from_address(address)), np.uint8)
    finally:
        LIBC.free(address)


def one_copy(kernels: ModuleType, recipe: Recipe, threads: int, bytes_per_thread: int) -> str:
    """Copies into the complement of what must come out, and gives the kind of the plan."""
    with block(recipe.nbytes) as source:
        source[:] = BYTES[: source.size]
        view = recipe.seen(source)
        expected = np.frombuffer(view.tobytes(), np.uint8)
        with block(view.nbytes) as destination:
            output = destination.view(view.dtype).reshape(view.shape)
            for level in range(kernels.levels()):
                kernels.use_level(level)
                plan = kernels_plan(kernels, view)
                for stream_from in (1, view.nbytes + 1):
                    destination[:] = ~expected
                    kernels.copy_array(plan, output, view, threads, bytes_per_thread, stream_from)
                    assert np.array_equal(destination, expected), (recipe.name, threads, bytes_per_thread, level)
        return plan_of(view).kind


def cases(every: int, count: int) -> Iterator[tuple[Recipe, int, int]]:
    """One in `every` copies of the world; its long ones, by one and two threads, always; and so many random ones."""
    whole = ((recipe, threads, 1) for item in ITEMS for recipe in world(item) for threads in THREADS)
    yield from islice(whole, 0, None, every)
    yield from ((recipe, threads, 1) for item in ITEMS for recipe in long(item) for threads in (1, 2))
    for seed in range(count):
        recipe = random_recipe(seed)
        yield recipe, *random_cut(seed, recipe.nbytes)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("extension")
    parser.add_argument("--world", type=int, default=1, help="one in so many copies of the world")
    parser.add_argument("--random", type=int, default=20_000, help="so many random copies")
    args = parser.parse_args()
    kernels = loaded(args.extension)
    kinds = Counter(one_copy(kernels, *case) for case in cases(args.world, args.random))
    print(f"{kinds.total()} copies, no byte out of place: {dict(kinds)}")


if __name__ == "__main__":
    main()
