"""What calls remember: the same answers as without, for every key that could be taken for another."""

from __future__ import annotations

import copy as copying
import gc
import pickle
import subprocess
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import onereshape as orx
from onereshape.arrays import _calls, calls, operator
from onereshape.rule.specs import SPECS, Spec
from tests.budget import part
from tests.laws.definition import DATA, TARGETS
from tests.strategies import Array, layouts

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NAMES = ["onnx", "onnx-1", "onnx-13", "openvino", "onednn-static", "onednn-reshape"]


def plain(*call: Any, **named: Any) -> Any:
    """A call of `reshape` by an object that remembers nothing yet, the way of Python."""
    return operator._Reshaping.__call__(operator._Reshaping(), *call, **named)


def outcome(function: Any, *call: Any, **named: Any) -> Any:
    """What comes of a call, to compare: the elements and where they lie, or the message."""
    try:
        result = function(*call, **named)
    except orx.ReshapeError as error:
        return str(error)
    if isinstance(result, torch.Tensor):
        return result.shape, result.stride(), result.dtype, result.data_ptr() == call[0].data_ptr(), result.tolist()
    shares = np.shares_memory(result, call[0])
    return type(result), result.shape, result.strides, result.dtype, result.tobytes(), shares


def flags(row: Spec, copies: bool) -> dict[str, Any]:
    return {} if row.flag is None else {row.flag.name: row.flag.value(copies=copies)}


def test_the_quick_way_is_built() -> None:
    """Else these tests would hold Python against itself."""
    assert calls.ASKED
    assert isinstance(calls.key(X, [1]), bytes)


@pytest.mark.parametrize("name", NAMES)
def test_the_small_world(name: str) -> None:
    row = orx.spec(name)
    for copies in (False, True):
        for data in part(DATA, 6):
            array = np.arange(np.prod(data, dtype=int), dtype=np.float32).reshape(data)
            for target in part(TARGETS, 11):
                expected = outcome(plain, array, target, name, **flags(row, copies))
                for _ in range(2):
                    assert outcome(orx.reshape, array, list(target), name, **flags(row, copies)) == expected


SCRIPT = """
import hashlib, sys
{hidden}
import numpy as np, onereshape as orx
from onereshape.arrays import calls
from tests.laws.definition import DATA, TARGETS
digest = hashlib.sha256()
for data in DATA[::4]:
    array = np.arange(np.prod(data, dtype=int), dtype=np.float32).reshape(data)
    for target in TARGETS[::13]:
        for name, given in (("onnx", dict(allowzero=1)), ("openvino", dict(special_zero=True))):
            for words in (list(target), np.array(target, np.int64)):
                for _ in range(2):
                    try:
                        found = orx.reshape(array, words, name, **given)
                        digest.update(repr((found.shape, found.strides)).encode())
                    except orx.ReshapeError as error:
                        digest.update(str(error).encode())
print(calls.ASKED, digest.hexdigest())
"""


def test_without_the_cpp() -> None:
    """The package without its extension answers alike."""
    runs = []
    for hidden in ("", "sys.modules['onereshape.arrays._calls'] = None"):
        code = SCRIPT.format(hidden=hidden)
        run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
        runs.append(run.stdout.split())

    assert [asked for asked, _ in runs] == ["True", "False"]
    assert runs[0][1] == runs[1][1]


WORDS = st.lists(st.integers(-2, 6), max_size=4)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_calls_in_any_order(data: st.DataObject) -> None:
    """A few arrays and targets, asked again and again: whatever was remembered, each answer is that of a fresh call."""
    arrays: list[Array] = [data.draw(layouts()) for _ in range(2)]
    arrays += [arrays[0].astype(arrays[0].dtype.newbyteorder()), arrays[0].T]
    targets = [data.draw(WORDS) for _ in range(3)] + [[-1], [0, -1]]
    for _ in range(12):
        array = arrays[data.draw(st.integers(0, len(arrays) - 1))]
        target: Any = targets[data.draw(st.integers(0, len(targets) - 1))]
        row = orx.spec(data.draw(st.sampled_from(NAMES)))
        given_ = flags(row, data.draw(st.booleans()))
        kinds: list[Any] = [list, tuple, np.array, lambda x: np.array(x, np.int32)]
        target = data.draw(st.sampled_from(kinds))(target)
        copy = data.draw(st.sampled_from([None, None, None, True, False]))
        assert outcome(orx.reshape, array, target, row, copy=copy, **given_) == outcome(
            plain, array, target, row, copy=copy, **given_
        )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_calls_on_tensors(data: st.DataObject) -> None:
    dims = data.draw(st.lists(st.integers(0, 4), max_size=4))
    numbers = torch.arange(int(np.prod(dims, dtype=int))).reshape(dims)
    tensors = [numbers.to(each) for each in (torch.int8, torch.float32)]
    tensors += [tensors[0].T if len(dims) == 2 else tensors[0][None], tensors[1].clone().requires_grad_()]
    op = orx.Reshape("onnx")
    for _ in range(10):
        tensor = tensors[data.draw(st.integers(0, len(tensors) - 1))]
        target = data.draw(WORDS)
        expected = outcome(plain, tensor, target, "onnx")
        assert outcome(orx.reshape, tensor, target, "onnx") == outcome(op, tensor, target) == expected


class Words(list[int]):
    """A list that says something else than it holds."""

    def __iter__(self) -> Any:
        return iter([4, 6])


class Mine(np.ndarray[Any, Any]):
    """An array of another class."""


class Name(str):
    """A text of another class."""

    __slots__ = ()


class TestKeys:
    """What is nearly the same call is another one."""

    @pytest.mark.parametrize(
        "target",
        [
            [True, 24],
            [1.0, 24],
            [np.int64(1), 24],
            [np.True_, 24],
            Words([1, 24]),
            np.array([1, 24], np.int32),
            np.array([1, 24], np.uint64),
            np.array([1.0, 24.0]),
            np.array([[1, 24]]),
            np.array([1, 24], object),
            np.array([24, 1])[::-1],
            np.array([1, 24], ">i8"),
            (1, 24),
            "1,24",
            [1, 2**63],
            [1, 2**200],
            [1, -(2**63) - 1],
            {1: 2, 24: 3},
        ],
    )
    def test_targets(self, target: Any) -> None:
        for name, given_ in (("onnx", {}), ("openvino", {"special_zero": True}), ("onnx-1", {})):
            for near in ([1, 24], [1, -1], np.array([1, 24])):
                outcome(orx.reshape, X, near, name, **given_)
            for _ in range(2):
                assert outcome(orx.reshape, X, target, name, **given_) == outcome(plain, X, target, name, **given_)

    @pytest.mark.parametrize("value", [0, 1, True, False, 1.0, 0.0, np.int64(1), np.True_, 2, -1, None, "1"])
    def test_flags(self, value: Any) -> None:
        empty = np.zeros((0, 3), np.float32)
        for array, target in ((X, [0, -1]), (X, [0, 3, 4]), (empty, [0, 3]), (empty, [3, 0])):
            for name in ("onnx", "onnx-13", "openvino"):
                for flag in ("allowzero", "special_zero", "allow" + "zero", "zero"):
                    named = {flag: value}
                    for _ in range(2):
                        found = outcome(orx.reshape, array, target, name, **named)
                        assert found == outcome(plain, array, target, name, **named)

    @pytest.mark.parametrize("name", ["onnx", "onnx-25", "onnx-13", Name("onnx"), "ONNX", 5, None, orx.spec("onnx-5")])
    def test_specifications(self, name: Any) -> None:
        bfloat = X.astype("float16")
        for array in (X, bfloat, X.astype(np.int64)):
            for _ in range(2):
                assert outcome(orx.reshape, array, [0, -1], name) == outcome(plain, array, [0, -1], name)

    def test_types_of_data(self) -> None:
        orx.reshape(X, [4, 6], "onnx-1")
        assert type(orx.reshape(X.view(Mine), [4, 6], "onnx-1")) is Mine
        with pytest.raises(orx.ReshapeError, match="data of type int32 is refused"):
            orx.reshape(X.view(np.int32), [4, 6], "onnx-1")
        swapped = X.astype(">f4")
        assert orx.reshape(swapped, [4, 6], "onnx-1").dtype == swapped.dtype
        with pytest.raises(orx.ReshapeError, match="not an array"):
            orx.reshape(X.tolist(), [4, 6], "onnx-1")  # type: ignore[call-overload]

    def test_layouts_of_data(self) -> None:
        for copy in (None, False):
            orx.reshape(X, [-1], "onnx", copy=copy)
        turned = X.transpose(2, 1, 0)
        assert np.array_equal(orx.reshape(turned.transpose(), [-1], "onnx"), X.reshape(-1))
        assert np.array_equal(orx.reshape(turned, [-1], "onnx"), turned.reshape(-1))
        with pytest.raises(orx.ReshapeError, match="allow no view"):
            orx.reshape(turned, [-1], "onnx", copy=False)
        square = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
        whole = torch.from_numpy(square)
        for _ in range(2):
            assert not np.shares_memory(orx.reshape(square.T, [-1], "onnx"), square)
            assert np.shares_memory(orx.reshape(square, [-1], "onnx"), square)
            assert orx.reshape(whole.T, [-1], "onnx").data_ptr() != whole.data_ptr()
            assert orx.reshape(whole, [-1], "onnx").data_ptr() == whole.data_ptr()

    def test_target_arrays_that_begin_alike(self) -> None:
        one, words = np.zeros(1, np.float32), np.array([2, 12, 4, 6])
        for _ in range(2):
            assert orx.reshape(one, np.array([1]), "onnx").shape == (1,)
            with pytest.raises(orx.ReshapeError, match="has 2 dims"):
                orx.reshape(one, np.array([[1]]), "onnx")
            assert orx.reshape(X, words[:2], "onnx").shape == (2, 12)
            with pytest.raises(orx.ReshapeError):
                orx.reshape(X, words[::2], "onnx")

    def test_a_list_that_changes(self) -> None:
        target = [0, -1]
        op = orx.Reshape("onnx")
        for words, dims in (([0, -1], (2, 12)), ([-1, 0], (8, 3)), ([24], (24,)), ([2, 2, -1], (2, 2, 6))):
            target[:] = words
            assert orx.reshape(X, target, "onnx").shape == op(X, target).shape == dims

    def test_copies_are_made_each_time(self) -> None:
        large = np.arange(1024 * 768, dtype=np.float32).reshape(1024, 768).T
        for _ in range(3):
            assert orx.reshape(large, [-1], "onnx").base is not large
            assert not np.shares_memory(orx.reshape(X, [-1], "onnx", copy=True), X)
            assert np.shares_memory(orx.reshape(X, [-1], "onnx"), X)

    def test_objects_are_looked_at_each_time(self) -> None:
        words = np.array(["a", "b"], object)
        for _ in range(2):
            assert orx.reshape(words, [2, 1], "onnx").shape == (2, 1)
        words[1] = 5
        with pytest.raises(orx.ReshapeError, match="must hold only str or bytes"):
            orx.reshape(words, [2, 1], "onnx")

    @pytest.mark.filterwarnings("ignore")  # of torch, about types that are new or old
    def test_types_of_torch_have_keys_of_their_own(self) -> None:
        orx.reshape(torch.zeros(1), [1], "onnx")  # now torch is known
        types = [each for each in vars(torch).values() if isinstance(each, torch.dtype)]
        keys: dict[bytes, torch.dtype] = {}
        for each in dict.fromkeys(types):
            try:
                tensor = torch.empty(2, 3, dtype=each)
            except (RuntimeError, NotImplementedError):
                continue
            key = calls.key(tensor, None)
            assert key is None or keys.setdefault(key, each) is each
        assert len(keys) > 12
        assert all(isinstance(key, bytes) for key in keys)

    def test_a_long_call_is_not_remembered(self) -> None:
        assert calls.key(X, [1] * 300) is None
        assert orx.reshape(X, [1] * 60 + [24], "onnx").shape == (1,) * 60 + (24,)


class TestDoors:
    def test_keywords_and_places(self) -> None:
        op: Any = orx.Reshape("onnx")
        reshape: Any = orx.reshape
        for _ in range(2):
            assert op(data=X, shape=[4, 6]).shape == op(X, shape=[4, 6]).shape == (4, 6)
            assert orx.reshape(array=X, target=[4, 6], spec="onnx").shape == (4, 6)
            for given_ in ({}, {"copy": True}, {"allowzero": 1}):
                with pytest.raises(orx.ReshapeError, match="takes a specification, and none was given"):
                    reshape(X, [4, 6], **given_)
            with pytest.raises(TypeError, match=r"^reshape\(\) missing 1 required positional argument: 'target'$"):
                reshape(X, spec="onnx")
            with pytest.raises(TypeError, match=r"^reshape\(\) takes .* positional arguments but 5 were given$"):
                reshape(X, [4, 6], "onnx", None)
            with pytest.raises(TypeError):
                op()
            with pytest.raises(TypeError):
                op(X, [4, 6], None)

    def test_options_are_not_forgotten(self) -> None:
        op = orx.Reshape("onnx").bind([4, 6])
        for _ in range(2):
            assert np.shares_memory(op(X), X)
            assert np.shares_memory(op(X, [6, 4]), X)
            assert not np.shares_memory(op(X, copy=True), X)
            assert not np.shares_memory(op(X, [6, 4], copy=True), X)

    def test_a_class_derived_from_it(self) -> None:
        class Loud(orx.Reshape):
            def __call__(self, *call: Any, **named: Any) -> Any:
                return "loud", super().__call__(*call, **named)

        class Quiet(orx.Reshape):
            pass

        for _ in range(2):
            assert Loud("onnx")(X, [4, 6])[0] == "loud"
            assert Quiet("onnx")(X, [4, 6]).shape == (4, 6)

    def test_what_it_remembers_is_bounded(self) -> None:
        op = orx.Reshape("onnx").bind([-1])
        for rows in range(2000):
            assert op(np.zeros((rows, 2), np.float32)).shape == (2 * rows,)
        assert 0 < len(op._plans) <= calls.MOST
        assert len(orx.reshape._plans) <= 2 * calls.MOST

    def test_what_it_remembers_goes_with_it(self) -> None:
        op = orx.Reshape("onnx")
        dtype = np.dtype(">f4", copy=True)
        array = X.astype(dtype)
        op(array, [4, 6])
        alive = weakref.ref(op)
        del op
        gc.collect(1)  # it is young
        assert alive() is None

    def test_nothing_is_held_for_longer(self) -> None:
        """By counts of references: none is lost, and none is taken twice."""
        array = X.astype(">f4")
        kind, dtype, operators = array.dtype, sys.getrefcount(array.dtype), sys.getrefcount(orx.Reshape)
        made = [orx.Reshape("onnx") for _ in range(10)]
        for op in made:
            op(array, [4, 6])
        assert sys.getrefcount(kind) > dtype
        del op, made
        gc.collect(1)
        assert (sys.getrefcount(kind), sys.getrefcount(orx.Reshape)) == (dtype, operators)

    def test_a_place_holds_one_plan(self) -> None:
        plans = _calls.Plans(1)
        first, second = ((24,), None, object()), ((12, 2), None, object())
        others, before = plans.others, [sys.getrefcount(each) for each in (first, second, plans.others)]
        plans.keep(bytes(8), first)
        plans.keep(bytes(16), second)
        found = [sys.getrefcount(each) for each in (first, second, others)]
        assert (len(plans), found) == (1, [before[0], before[1] + 1, before[2]])
        del plans
        assert [sys.getrefcount(each) for each in (first, second, others)] == [*before[:2], before[2] - 1]

    def test_pickles_and_copies(self) -> None:
        op = orx.Reshape("openvino", special_zero=True).bind([0, -1])
        op(X)
        for again in (pickle.loads(pickle.dumps(op)), copying.copy(op), copying.deepcopy(op)):  # noqa: S301 - our own
            assert len(again._plans) == 0
            assert repr(again) == repr(op)
            assert again(X).shape == (2, 12)
        assert pickle.loads(pickle.dumps(orx.reshape)) is orx.reshape  # noqa: S301

    def test_it_looks_like_a_function(self) -> None:
        import inspect

        assert list(inspect.signature(orx.reshape).parameters)[:3] == ["array", "target", "spec"]
        assert orx.reshape.__name__ == "reshape"
        assert "one call of its operator" in (orx.reshape.__doc__ or "")

    def test_errors_of_a_kernel_are_not_swallowed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from onereshape.arrays import cpu_copy

        def broken(*_: Any, **__: Any) -> Any:
            raise ZeroDivisionError

        large = np.arange(1024 * 768, dtype=np.float32).reshape(1024, 768).T
        op = orx.Reshape("onnx").bind([-1])
        monkeypatch.setattr(cpu_copy, "copied", broken)
        with pytest.raises(ZeroDivisionError):
            op(large)
        with pytest.raises(ZeroDivisionError):
            op(large)

    def test_an_error_that_comes_once_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from onereshape.arrays import cpu_copy

        copied, left = cpu_copy.copied, [0, 1]

        def broken_once(*call: Any, **named: Any) -> Any:
            if left and left.pop(0):
                raise ZeroDivisionError
            return copied(*call, **named)

        large = np.arange(1024 * 768, dtype=np.float32).reshape(1024, 768).T
        op = orx.Reshape("onnx").bind([-1])
        monkeypatch.setattr(cpu_copy, "copied", broken_once)
        op(large)
        with pytest.raises(ZeroDivisionError):
            op(large)
        assert op(large).shape == (1024 * 768,)

    def test_memory_that_is_short_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from onereshape.arrays import cpu_copy

        large = np.arange(1024 * 768, dtype=np.float32).reshape(1024, 768).T
        op = orx.Reshape("onnx").bind([-1])
        short = [False]
        copied = cpu_copy.copied

        def sometimes(*call: Any, **named: Any) -> Any:
            if short[0]:
                raise MemoryError
            return copied(*call, **named)

        monkeypatch.setattr(cpu_copy, "copied", sometimes)
        assert op(large).shape == (1024 * 768,)
        short[0] = True
        with pytest.raises(orx.ReshapeError, match="not enough memory"):
            op(large)

    def test_many_threads(self) -> None:
        op = orx.Reshape("onnx")
        wrong: list[Any] = []
        target = [0, -1]

        def ask(seed: int) -> None:
            rng = np.random.default_rng(seed)
            for _ in range(1000):
                rows, columns = (int(each) for each in rng.integers(1, 40, 2))
                array = np.zeros((rows, columns, 2), np.float32)
                found = {op(array, [0, -1]).shape, orx.reshape(array, [0, -1], "onnx").shape}
                if found != {(rows, 2 * columns)}:
                    wrong.append(found)
                target[:] = [-1, 0] if seed % 2 else [0, -1]
                shape = orx.reshape(array, target, "onnx").shape
                if shape not in {(rows, 2 * columns), (2 * rows, columns)}:
                    wrong.append(shape)

        threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


class TestTensors:
    def test_gradients_from_memory(self) -> None:
        for _ in range(3):
            x = torch.randn(2, 3, 4, requires_grad=True)
            result = orx.reshape(x, [0, -1], "onnx")
            (grad,) = torch.autograd.grad((result**2).sum(), x)
            assert torch.equal(grad, 2 * x)

    def test_transforms_beside_what_is_remembered(self) -> None:
        x = torch.randn(5, 2, 3, 4)
        orx.reshape(x[0], [0, -1], "onnx")
        many = torch.func.vmap(lambda y: orx.reshape(y, [0, -1], "onnx"))(x)
        assert torch.equal(many, x.reshape(5, 2, 12))  # type: ignore[arg-type]
        grad = torch.func.grad(lambda y: (orx.reshape(y, [0, -1], "onnx") ** 2).sum())(x[0])
        assert torch.allclose(grad, 2 * x[0])

    def test_classes_and_layouts(self) -> None:
        x = torch.randn(2, 3, 4)
        orx.reshape(x, [0, -1], "onnx")
        assert orx.reshape(torch.nn.Parameter(x), [0, -1], "onnx").shape == (2, 12)
        with pytest.raises(orx.ReshapeError, match="not strided"):
            orx.reshape(x.to_sparse(), [0, -1], "onnx")
        with pytest.raises(orx.ReshapeError, match="data of type bfloat16 is refused"):
            orx.reshape(x.bfloat16(), [0, -1], "onnx-5")
        assert orx.reshape(x.to("meta"), [0, -1], "onnx").device.type == "meta"

    def test_scalars(self) -> None:
        for _ in range(2):
            assert orx.reshape(torch.zeros(1, 1), [], "onnx").shape == ()
            assert orx.reshape(torch.zeros(()), [1, 1], "onnx").shape == (1, 1)

    def test_modes_see_it(self) -> None:
        from torch.utils._python_dispatch import TorchDispatchMode

        class Watch(TorchDispatchMode):
            seen = 0

            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                Watch.seen += 1
                return func(*args, **(kwargs or {}))

        x = torch.randn(64, 90)
        orx.reshape(x.T, [-1], "onnx")
        with Watch():  # type: ignore[no-untyped-call]
            result = orx.reshape(x.T, [-1], "onnx")
        assert Watch.seen > 1
        assert torch.equal(result, x.T.reshape(-1))


def test_every_specification_remembers() -> None:
    for row in SPECS:
        given_ = flags(row, copies=True)
        first = orx.reshape(X, [0, -1], row, **given_)
        assert orx.reshape(X, [0, -1], row.name, **given_).shape == first.shape == (2, 12)
        assert calls.key(X, [0, -1], row, **given_) == calls.key(X, [0, -1], row.name, **given_)
