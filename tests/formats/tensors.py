"""Tensors to write, and how the refusal of a file is read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.formats.tensors.tensor import Tensor
from onereshape.formats.tensors.tensor_files import read_tensor, write_tensor
from onereshape.ground import dtypes
from onereshape.ground.dtypes import ElementType
from onereshape.ground.errors import FormatError
from onereshape.ground.numpy_types import Array

ONNX_TYPES = [row for row in dtypes.ELEMENT_TYPES if row.onnx is not None]


def sample(row: ElementType) -> Array:
    """Three by four elements of a type, every bit pattern that they can have among them where there are few."""
    if row is dtypes.STRING:
        texts = ["", "a", "é\0ß", "\N{GRINNING FACE}", "two\nlines", " ", "b", "c", "d", "e", "f", "long" * 20]
        return np.array(texts, object).reshape(3, 4)
    assert row.numpy is not None
    bits = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4_e2m1fn": 4, "bool": 1}.get(row.name, 8)
    patterns = np.random.default_rng(1).integers(0, 1 << bits, 12 * row.numpy.itemsize, np.uint8)
    return patterns.view(row.numpy).reshape(3, 4)


def same(one: Array, other: Array) -> bool:
    """The same dtype, dims and bytes; objects are compared as such."""
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    return one.tolist() == other.tolist() if one.dtype == object else one.tobytes() == other.tobytes()


def saved(array: Array) -> bytes:
    """What np.save writes."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def refusal(path: Path, **options: Any) -> str:
    """Why a file is not read."""
    with pytest.raises(FormatError) as caught:
        read_tensor(str(path), **options)
    assert caught.value.code == "unreadable"
    assert caught.value.usage
    sentence = str(caught.value)
    assert sentence.startswith(str(path))
    return sentence.removeprefix(f"{path}: ").removesuffix("  [unreadable]")


def write_refusal(path: Path, tensor: Tensor) -> str:
    """Why a tensor is not written; nothing is left behind."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(FormatError) as caught:
        write_tensor(str(path), tensor)
    assert caught.value.code == "unwritable"
    assert sorted(path.parent.iterdir()) == before
    return str(caught.value).removeprefix(f"{path}: ").removesuffix("  [unwritable]")
