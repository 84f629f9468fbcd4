"""Random copies by an extension built with sanitizers, each between two blocks of exactly the bytes it may touch.

    python tests/fuzz_copy.py EXTENSION [HOW_MANY]

`make sanitize` builds the extension with AddressSanitizer and UBSan and runs this: one byte too far ends it.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))
sys.modules["onereshape.arrays._copy"] = None  # type: ignore[assignment]  # not the installed one

from onereshape.arrays.layout import copy_plan  # noqa: E402
from tests.copying import random_dims, random_view  # noqa: E402

LIBC = ctypes.CDLL(None)
LIBC.malloc.restype = ctypes.c_void_p
LIBC.malloc.argtypes = [ctypes.c_size_t]
LIBC.free.argtypes = [ctypes.c_void_p]


def loaded(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location("_copy", path)
    assert spec is not None and spec.loader is not None  # noqa: PT018
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def block(nbytes: int) -> tuple[int, Any]:
    """Memory of exactly so many bytes, which the sanitizer fences."""
    address = LIBC.malloc(nbytes)
    return address, np.frombuffer(memoryview((ctypes.c_uint8 * nbytes).from_address(address)), np.uint8)


def one_copy(kernels: ModuleType, seed: int) -> str:
    random = Random(seed)  # noqa: S311
    item = random.choice((1, 1, 2, 2, 4, 4, 8, 8, 16, 16, random.randint(1, 32)))
    large = random.random() < 0.02
    dims = random_dims(random, ((3 << 20) if large else (1 << 14)) // item)
    source_address, source = block(int(np.prod(dims)) * item)
    source[:] = np.random.default_rng(seed).integers(0, 256, source.size, np.uint8)
    view = random_view(random, source.view(f"V{item}").reshape(dims))
    destination_address, destination = block(view.nbytes)
    plan = copy_plan(view.shape, view.strides, item)
    made = kernels.Plan(plan.kind, plan.item, plan.dims, plan.source, plan.destination, plan.source_axis, plan.tile)
    kernels.copy_array(made, destination.view(f"V{item}").reshape(view.shape), view, random.choice((1, 1, 2, 5)))
    assert destination.tobytes() == view.tobytes(), f"seed {seed}: {plan}"
    LIBC.free(source_address)
    LIBC.free(destination_address)
    return plan.kind


def main() -> None:
    kernels = loaded(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    kinds: dict[str, int] = {}
    for seed in range(count):
        kind = one_copy(kernels, seed)
        kinds[kind] = kinds.get(kind, 0) + 1
    print(f"{count} copies, no byte out of place: {kinds}")


if __name__ == "__main__":
    main()
