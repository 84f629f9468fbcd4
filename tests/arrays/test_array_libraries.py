"""reshape() of every array library: NumPy's elements, the same type, device and element type, views where promised."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import onereshape as orx
from onereshape.arrays import cpu_copy
from onereshape.arrays.view_or_copy import view_strides
from tests.arrays.copying import random_array
from tests.strategies import Array, factored


@dataclass(frozen=True, slots=True)
class Library:
    """What the tests need to know of one library."""

    name: str
    make: Callable[[Array], Any]
    read: Callable[[Any], Array]
    address: Callable[[Any], int] | None
    """Where an array's memory begins, for libraries whose views can be seen."""


def read_only(array: Array) -> Array:
    array.flags.writeable = False
    return array


def numpy_address(array: Any) -> int:
    found: int = np.asarray(array).__array_interface__["data"][0]
    return found


LIBRARIES = [
    Library("numpy", lambda x: x, lambda x: x, numpy_address),
    Library("read-only numpy", read_only, lambda x: x, numpy_address),
    Library("torch", lambda x: torch.from_numpy(x.copy()), lambda x: x.numpy(), lambda x: x.data_ptr()),
    Library("jax", jnp.asarray, np.asarray, None),
    Library("array-api-strict", array_api_strict.asarray, np.asarray, numpy_address),
]


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.name)
def xp(request: pytest.FixtureRequest) -> Library:
    found: Library = request.param
    return found


TYPES = ["float32", "int8", "int32", "bool", "uint8", "complex64"]
OTHERWISE = np.arange(2 * 30 * 40).reshape(2, 30, 40)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_elements_of_numpy(xp: Library, dtype: str) -> None:
    numbers = OTHERWISE.astype(dtype)
    data = xp.make(numbers)
    for target, output in [([0, -1], (2, 1200)), ([-1], (2400,)), ([0, 0, 8, -1], (2, 30, 8, 5))]:
        result = orx.reshape(data, target, "onnx")
        assert type(result) is type(data)
        assert result.dtype == data.dtype
        assert getattr(result, "device", None) == getattr(data, "device", None)
        assert np.array_equal(xp.read(result), numbers.reshape(output))


def test_what_needs_a_copy(xp: Library) -> None:
    numbers = np.arange(64 * 90, dtype=np.float32).reshape(64, 90)
    data = xp.make(numbers)
    turned = data.T
    for copy in (None, True):
        result = orx.reshape(turned, [-1], "onnx", copy=copy)
        assert type(result) is type(data)
        assert np.array_equal(xp.read(result), numbers.T.reshape(-1))


def test_views_share_memory(xp: Library) -> None:
    data = xp.make(OTHERWISE.astype(np.float32))
    if xp.address is None:
        with pytest.raises(orx.ReshapeError, match="JAX gives no view"):
            orx.reshape(data, [-1], "onnx", copy=False)
        return
    for copy in (None, False):
        assert xp.address(orx.reshape(data, [0, -1], "onnx", copy=copy)) == xp.address(data)
    assert xp.address(orx.reshape(data, [0, -1], "onnx", copy=True)) != xp.address(data)


def test_views_that_do_not_exist_are_refused(xp: Library) -> None:
    data = xp.make(np.arange(12, dtype=np.float32).reshape(3, 4)).T
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.reshape(data, [12], "onnx", copy=False)

    assert refusal.value.code in {"needs-copy", "no-view"}


def test_empty_arrays_and_scalars(xp: Library) -> None:
    assert orx.reshape(xp.make(np.zeros((0, 3), np.float32)), [3, 0], "onnx", allowzero=1).shape == (3, 0)
    assert orx.reshape(xp.make(np.full((1, 1), 5, np.float32)), [], "onnx").shape == ()


def test_types_that_a_specification_lacks(xp: Library) -> None:
    with pytest.raises(orx.ReshapeError, match="data of type complex64 is refused: no Reshape of openvino takes it"):
        orx.reshape(xp.make(np.zeros((2, 2), np.complex64)), [4], "openvino", special_zero=True)


def test_the_shape_tensor_of_the_same_library(xp: Library) -> None:
    op = orx.Reshape("openvino", special_zero=True)
    data = xp.make(OTHERWISE.astype(np.float32))
    assert op(data, xp.make(np.array([0, -1], np.int32))).shape == (2, 1200)
    with pytest.raises(orx.ReshapeError, match="the shape tensor has type f32"):
        op(data, xp.make(np.array([0, -1], np.float32)))


def test_refusals_are_ours(xp: Library) -> None:
    data = xp.make(OTHERWISE.astype(np.float32))
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.reshape(data, [7, -1], "onnx")

    assert refusal.value.code == "indivisible"


def test_an_operator_remembers_each_library_by_itself() -> None:
    op = orx.Reshape("onnx-5").bind([-1])
    for _ in range(2):
        for xp in LIBRARIES:
            result = op(xp.make(OTHERWISE.astype(np.float32)))
            assert np.array_equal(xp.read(result), OTHERWISE.reshape(-1))
    with pytest.raises(orx.ReshapeError, match="data of type bfloat16 is refused"):
        op(torch.zeros(2, 30, 40, dtype=torch.bfloat16))


@pytest.mark.parametrize("nothing", ["text", 5, [1, 2], object(), torch, torch.float32, jax])
def test_what_is_no_array(nothing: Any) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.reshape(nothing, [1], "onnx")

    assert refusal.value.code == "not-an-array"


class TestTorch:
    @settings(max_examples=150)
    @given(st.data())
    def test_any_layout(self, data: st.DataObject) -> None:
        array = random_array(
            data.draw(st.integers(0, 2**32)), 1 << 14, itemsize=data.draw(st.sampled_from([1, 2, 4, 8])), offset=0
        )
        if min(array.strides, default=0) < 0:  # torch has none
            array = array.copy()  # ascontiguousarray would leave those of axes of size 1
        words = {1: np.uint8, 2: np.int16, 4: np.int32, 8: np.int64}[array.itemsize]
        base = np.lib.stride_tricks.as_strided(np.asarray(array), array.shape, array.strides).view(words)
        tensor = torch.from_numpy(base.copy() if not base.flags.writeable and 0 in base.strides else base)
        output = data.draw(factored(array.size))
        result = orx.reshape(tensor, output, "onnx", allowzero=1)
        exists = view_strides(tuple(tensor.shape), tensor.stride(), 1, output) is not None

        assert torch.equal(result, tensor.reshape(output))
        assert (result.data_ptr() == tensor.data_ptr()) == exists

    @pytest.mark.parametrize("shape", [(6, 4), (64, 90)])  # below and above where the kernels begin
    def test_gradients(self, shape: tuple[int, int]) -> None:
        x = torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for view in (x, x.T):
            result = orx.reshape(view, [-1], "onnx")
            (grad,) = torch.autograd.grad((result**3).sum(), x, create_graph=True)
            assert torch.allclose(grad, 3 * x**2)
            (second,) = torch.autograd.grad(grad.sum(), x)
            assert torch.allclose(second, 6 * x)

    def test_lazy_conjugates_and_negatives(self) -> None:
        x = torch.randn(64, 64, dtype=torch.complex64)
        for lazy in (x.T.conj(), x.conj().imag.T):
            assert torch.equal(orx.reshape(lazy, [-1], "onnx"), lazy.reshape(-1))

    @pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch's own
    def test_function_transforms(self) -> None:
        x = torch.randn(3, 50, 60)
        flat = orx.Reshape("onnx").bind([-1])
        assert torch.equal(torch.func.vmap(lambda y: flat(y.T))(x), x.transpose(1, 2).reshape(3, -1))
        tangent = torch.func.jvp(lambda y: flat(y.T), (x[0],), (x[1],))[1]
        assert torch.equal(tangent, x[1].T.reshape(-1))

    def test_parameters_and_subclasses(self) -> None:
        class Mine(torch.Tensor):
            pass

        for data in (torch.nn.Parameter(torch.randn(64, 64)), torch.randn(64, 64).as_subclass(Mine)):
            assert torch.equal(orx.reshape(data.T, [-1], "onnx"), data.T.reshape(-1))

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.uint16, torch.float16])
    def test_types_that_numpy_lacks(self, dtype: torch.dtype) -> None:
        x = torch.randn(64, 90).to(dtype)
        result = orx.reshape(x.T, [-1], "onnx")

        assert result.dtype == dtype
        assert torch.equal(result.view(torch.uint8), x.T.contiguous().view(torch.uint8).reshape(-1))

    def test_other_layouts_are_refused(self) -> None:
        with pytest.raises(orx.ReshapeError, match="data is sparse_coo, not strided"):
            orx.reshape(torch.eye(3).to_sparse(), [9], "onnx")

    def test_other_devices(self) -> None:
        result = orx.reshape(torch.empty(4, 6, device="meta").T, [-1], "onnx")

        assert (result.device.type, result.shape) == ("meta", (24,))

    def test_the_kernel_makes_the_copy(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = []
        monkeypatch.setattr(cpu_copy, "copied_between", lambda *words: seen.append(words[0]))
        orx.reshape(torch.zeros(64, 90).T, [-1], "onnx")

        assert seen == [(90, 64)]
