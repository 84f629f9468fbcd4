"""Zarr stores and .npy files to reshape, for the tests of stores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

from tests.strategies import Array, Dims

DATA = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.fixture(name="here")
def folder_with_stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with x.zarr and x.npy."""
    monkeypatch.chdir(tmp_path)
    stored("x.zarr", DATA, (2, 3))
    np.save("x.npy", DATA)
    return tmp_path


def stored(path: str, data: Array, chunks: Dims, **options: Any) -> None:
    array = zarr.create_array(path, shape=data.shape, chunks=chunks, dtype=data.dtype, **options)
    array[...] = data


def opened(path: str) -> Any:
    return zarr.open_array(path, mode="r")


def held(path: str) -> Array:
    return np.asarray(np.load(path) if path.endswith(".npy") else opened(path)[...])


def files() -> list[str]:
    """What is in the folder that is worked in."""
    return sorted(path.name for path in Path().iterdir())


def run(*words: str) -> tuple[str, ...]:
    """The words of a run that has memory enough: this process has loaded far more than the command does."""
    return ("run", *words) if "--memory" in words else ("run", *words, "--memory", "64GB")
