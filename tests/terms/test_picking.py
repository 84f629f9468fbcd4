"""Gather, GatherElements, GatherND: by numbers and by data, beside onnxruntime."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.terms.indexing_law import Case, check, numbered


def _shape(rng: Random, least: int = 1, most: int = 4) -> tuple[int, ...]:
    return tuple(rng.randint(1, 4) for _ in range(rng.randint(least, most)))


def _array(rng: Random, shape: tuple[int, ...], low: int, high: int, dtype: Any) -> Any:
    return np.random.default_rng(rng.random().hex().__hash__() % 2**32).integers(low, high, shape).astype(dtype)
