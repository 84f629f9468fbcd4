"""The tables of symbols of a shared library: where a loader has a function, and what no damaged file may do."""

from __future__ import annotations

import ctypes
from pathlib import Path
from random import Random

import numpy as np
import pytest

from onereshape.backends.conformance.elf import NotReadable, functions

SMALL = str(next(Path(np.__file__).parent.glob("_core/_operand_flag_tests*.so")))
"""A small library."""
EXPORTED = "PyInit__operand_flag_tests"


def address(path: str, name: str) -> int:
    return ctypes.cast(ctypes.CDLL(path)[name], ctypes.c_void_p).value or 0


def test_an_exported_function_is_where_the_loader_has_it() -> None:
    found = functions(SMALL, [EXPORTED])
    start = address(SMALL, found.anchor) - found.anchor_at

    assert start % 4096 == 0
    assert start + found.found[EXPORTED] == address(SMALL, EXPORTED)


def test_a_function_that_is_kept_to_itself() -> None:
    """torch exports nothing of the oneDNN that is built into it."""
    import torch

    path = str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so")
    found = functions(path, ["dnnl_version"])
    library = ctypes.CDLL(path)
    with pytest.raises(AttributeError):
        library["dnnl_version"]
    start = address(path, found.anchor) - found.anchor_at
    told = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_int * 3))(start + found.found["dnnl_version"])().contents

    assert f"DNN v{told[0]}.{told[1]}.{told[2]} " in torch.__config__.show()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cannot mmap an empty file"),
        (b"MZ" + bytes(98), "is no ELF file of 64 bits, little-endian"),
        (b"\x7fELF\x01\x01" + bytes(98), "is no ELF file of 64 bits, little-endian"),
        (b"\x7fELF\x02\x01" + bytes(98), "it has no f"),
    ],
)
def test_what_is_no_library(content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "library.so"
    path.write_bytes(content)
    with pytest.raises(NotReadable, match=why):
        functions(str(path), ["f"])


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotReadable, match="No such file"):
        functions(str(tmp_path / "library.so"), ["f"])
    with pytest.raises(NotReadable, match="it has no dnnl_version"):
        functions(SMALL, [EXPORTED, "dnnl_version"])


def test_a_name_is_whole() -> None:
    """Neither its beginning nor its end is another function."""
    for part in (EXPORTED[:-1], EXPORTED[1:]):
        with pytest.raises(NotReadable, match=f"it has no {part}"):
            functions(SMALL, [part])


def test_a_damaged_file_is_refused_or_read(tmp_path: Path) -> None:
    sound = Path(SMALL).read_bytes()
    path = tmp_path / "library.so"
    rng = Random(3)  # noqa: S311 - no secrets
    refused = 0
    for _ in range(400):
        content = bytearray(sound)
        table = int.from_bytes(sound[0x28:0x30], "little")
        for _ in range(rng.choice([1, 4, 30])):
            content[rng.choice([rng.randrange(64), rng.randrange(table, len(content))])] = rng.randrange(256)
        path.write_bytes(content[: rng.choice([len(content), rng.randrange(len(content))])])
        try:
            functions(str(path), [EXPORTED])
        except NotReadable:
            refused += 1
    assert 100 < refused < 400
