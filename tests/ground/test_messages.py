"""Each way to be refused, with its whole message."""

from __future__ import annotations

import pickle
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import onereshape as orx
from onereshape.ground.errors import CODES, FixError, FormatError, ReshapeError
from onereshape.ground.isolation.budget import late

X = np.zeros((2, 3), np.float32)

# code: (a call that is refused, its message).
MESSAGES: dict[str, tuple[Callable[[], Any], str]] = {
    "unknown-spec": (
        lambda: orx.spec("onx-14"),
        "'onx-14' is not a specification (did you mean 'onnx-14'?); the names are onnx, onnx-1 to onnx-28, openvino, "
        "onednn-reshape, onednn-static, onednn-dynamic  [unknown-spec]",
    ),
    "spec-missing": (
        lambda: cast("Any", orx.reshape)(X, [0, -1]),
        'reshape takes a specification, and none was given: reshape(x, [0, -1], "onnx"); the names are onnx, onnx-1 to '
        "onnx-28, openvino, onednn-reshape, onednn-static, onednn-dynamic  [spec-missing]",
    ),
    "unknown-attribute": (
        lambda: orx.resolve([2, 3], [6], "onnx-13", allowzero=1),
        "onnx Reshape-13 has no attribute 'allowzero' (since onnx Reshape-14)  [unknown-attribute]",
    ),
    "missing-attribute": (
        lambda: orx.resolve([2, 3], [6], "openvino"),
        "openvino Reshape-1 requires the attribute 'special_zero', which has no default  [missing-attribute]",
    ),
    "bad-attribute": (
        lambda: orx.resolve([2, 3], [6], "onnx", allowzero=2),
        "allowzero is 2, but it takes only 0 or 1  [bad-attribute]",
    ),
    "target-twice": (
        lambda: orx.Reshape("onnx-1", shape=[6])(X, np.array([6])),
        "the target is given twice: as the attribute 'shape' and beside it  [target-twice]",
    ),
    "target-missing": (
        lambda: orx.Reshape("onnx")(X),
        "onnx Reshape-25 takes its target as a second input, and none was given  [target-missing]",
    ),
    "not-a-list": (lambda: orx.resolve([2, 3], 6, "onnx"), "target is 6, not a list of integers  [not-a-list]"),  # type: ignore[arg-type]
    "not-an-integer": (
        lambda: orx.resolve([2, 3], [2, 3.0], "onnx"),  # type: ignore[list-item]
        "target[1] is 3.0, not an integer  [not-an-integer]",
    ),
    "bad-dim": (
        lambda: orx.infer(["N", 2.5], [-1], "onnx"),  # type: ignore[list-item]
        "data[1] is 2.5, but a dim is an integer, None, a name or a pair  [bad-dim]",
    ),
    "unknown-name": (
        lambda: orx.infer(["N", "S"], [0, -1], "onnx", bounds={"M": (1, 8)}),
        "bounds limits 'M', which is no name in data or target; the names are N, S  [unknown-name]",
    ),
    "bad-bounds": (
        lambda: orx.infer(["N"], [-1], "onnx", bounds={"N": (8, 1)}),
        "the bounds of N are (8, 1), not a pair (low, high) of sizes with low <= high, or high None  [bad-bounds]",
    ),
    "negative-dim": (
        lambda: orx.resolve([2, -3], [6], "onnx"),
        "data[1] is -3: a dimension cannot be negative  [negative-dim]\n  data    [2, -3]\n              ^^",
    ),
    "not-an-array": (
        lambda: orx.reshape([[1, 2]], [2], "onnx"),
        "data is of type list, not an array of NumPy, PyTorch, JAX, CuPy or the array API  [not-an-array]",
    ),
    "below-minus-one": (
        lambda: orx.resolve([2, 3], [2, -2], "onnx"),
        "target[1] is -2: only -1, 0 and positive sizes have a meaning\n"
        "  data    [2, 3]  (6 elements)\n"
        "  target  [2, -2]\n"
        "              ^^\n"
        "  rule    onnx Reshape-25: -1 is the only negative value of a target  [below-minus-one]",
    ),
    "two-inferred": (
        lambda: orx.resolve([2, 3], [-1, 1, -1], "openvino", special_zero=True),
        "target[2] is a second -1, after target[0]\n"
        "  data    [2, 3]  (6 elements)\n"
        "  target  [-1, 1, -1]\n"
        "                  ^^\n"
        "  rule    openvino Reshape-1: at most one dimension may be -1  [two-inferred]",
    ),
    "copy-beyond-rank": (
        lambda: orx.resolve([2, 3], [2, 3, 0], "onnx-13"),
        "target[2] is 0 and copies data[2], but data has 2 dims\n"
        "  data    [2, 3]  (6 elements)\n"
        "  target  [2, 3, 0]\n"
        "                 ^\n"
        "  rule    onnx Reshape-13: a 0 copies the dimension of data at its own index  [copy-beyond-rank]",
    ),
    "zero-with-inferred": (
        lambda: orx.resolve([0, 3], [0, -1], "onnx-14", allowzero=1),
        "target[1] cannot be inferred beside the literal 0 at target[0]: every size would fit\n"
        "  data    [0, 3]  (0 elements)\n"
        "  target  [0, -1]\n"
        "              ^^\n"
        "  rule    onnx Reshape-14: a literal 0 and -1 must not be in the same target  [zero-with-inferred]",
    ),
    "empty-copy-with-inferred": (
        lambda: orx.resolve([0, 3], [0, -1], "onednn-static", special_zero=True),
        "target[1] cannot be inferred: target[0] copies a dim of size 0, so every size would fit\n"
        "  data    [0, 3]  (0 elements)\n"
        "  target  [0, -1]\n"
        "              ^^\n"
        "  rule    onednn StaticReshape-1: the size of -1 must be determined by the other dimensions"
        "  [empty-copy-with-inferred]",
    ),
    "indivisible": (
        lambda: orx.resolve([2, 3, 4], [5, -1], "onnx-14"),
        "target[1] cannot be inferred: 24 elements do not divide by 5 (remainder 4)\n"
        "  data    [2, 3, 4]  (24 elements)\n"
        "  target  [5, -1]\n"
        "              ^^\n"
        "  rule    onnx Reshape-14: input and output must have the same number of elements  [indivisible]",
    ),
    "volume": (
        lambda: orx.resolve([2, 3], [7], "onnx"),
        "data has 6 elements, but the target asks for 7\n"
        "  data    [2, 3]  (6 elements)\n"
        "  target  [7]\n"
        "  rule    onnx Reshape-25: input and output must have the same number of elements  [volume]",
    ),
    "impossible-volume": (
        lambda: orx.infer(["N", 7], [4, 9], "onnx"),
        "no sizes of these dims fit the target: 7*N elements cannot be 36\n"
        "  data    [N, 7]\n"
        "  target  [4, 9]\n"
        "  rule    onnx Reshape-25: input and output must have the same number of elements  [impossible-volume]",
    ),
    "overflow": (
        lambda: orx.resolve([2**32, 2**32], [-1], "onnx"),
        "the number of elements is 18446744073709551616, beyond the largest int64 (9223372036854775807)\n"
        "  data    [4294967296, 4294967296]  (18446744073709551616 elements)\n"
        "  target  [-1]\n"
        "  rule    onnx Reshape-25: sizes and numbers of elements are int64  [overflow]",
    ),
    "untranslatable": (
        lambda: orx.translate(orx.Reshape("onnx", allowzero=1), "onnx-13", target=[3, 0, 0], data=[0, 3]),
        "target[1] = 0 cannot be said in onnx Reshape-13: it is a literal 0, and there a 0 always copies; it can be "
        "said in onnx-14, onnx-19, onnx-21, onnx-23, onnx-24, onnx-25, openvino, onednn-reshape, onednn-static, "
        "onednn-dynamic  [untranslatable]\n"
        "  data    [0, 3]  (0 elements)\n"
        "  target  [3, 0, 0]\n"
        "              ^",
    ),
    "data-type": (
        lambda: orx.reshape(X.astype(np.int8), [6], "onnx-1"),
        "data of type int8 is refused: allowed since onnx Reshape-5\n"
        "  rule    onnx Reshape-1: data is one of float16 float double  [data-type]",
    ),
    "shape-type": (
        lambda: orx.reshape(X, np.array([6], np.int32), "onnx"),
        "the shape tensor has type int32\n  rule    onnx Reshape-25: the shape tensor is one of int64  [shape-type]",
    ),
    "shape-value": (
        lambda: orx.reshape(X, [6, 2**31], "onednn-dynamic", special_zero=True),
        "target[1] is 2147483648, which does not fit the shape tensor's type s32  [shape-value]\n"
        "  target  [6, 2147483648]\n"
        "              ^^^^^^^^^^",
    ),
    "shape-rank": (
        lambda: orx.reshape(X, np.array([[6]]), "onnx"),
        "the shape tensor has 2 dims\n  rule    onnx Reshape-25: the shape tensor has exactly 1 dim  [shape-rank]",
    ),
    "array-limit": (
        lambda: orx.reshape(X[:1, :1], [1] * 65, "onnx"),
        "NumPy cannot hold an array of dims [1, 1, ...]: 65 dims are more than its 64  [array-limit]",
    ),
    "unknown-chunks": (
        lambda: orx.reshape(_masked(), [-1], "onnx"),
        "the chunks of data along axis 0 have unknown sizes: call compute_chunk_sizes() on the array first"
        "  [unknown-chunks]",
    ),
    "needs-copy": (
        lambda: orx.reshape(X.T, [6], "onnx", copy=False),
        "copy=False, but the strides [4, 12] allow no view of dims [6]  [needs-copy]",
    ),
    "no-view": (
        lambda: _fail(ReshapeError("no-view", library="JAX", output=[6])),
        "copy=False, but JAX gives no view of dims [6]  [no-view]",
    ),
    "unreadable": (
        lambda: _fail(FormatError("unreadable", path="x.npy", why="it is a folder")),
        "x.npy: it is a folder  [unreadable]",
    ),
    "unwritable": (
        lambda: _fail(FormatError("unwritable", path="y.npy", why="no space left")),
        "y.npy: no space left  [unwritable]",
    ),
    "unsupported-model": (
        lambda: _fail(ReshapeError("unsupported-model", why="the node 'a' is a Conv")),
        "the node 'a' is a Conv  [unsupported-model]",
    ),
    "bad-usage": (lambda: _fail(ReshapeError("bad-usage", why="no --target")), "no --target  [bad-usage]"),
    "unforeseen": (
        lambda: _fail(ReshapeError("unforeseen", type="KeyError", place="checks/check.py:7", variable="TRACE")),
        "KeyError at checks/check.py:7, a mistake of onereshape's: please report it with the command, its file and "
        "what `onereshape --version` says (TRACE=1 shows the traceback)  [unforeseen]",
    ),
    "unknown-input": (
        lambda: _fail(
            FixError("unknown-input", name="pixels", nearest=" (did you mean 'pixel_values'?)", there="it has 1")
        ),
        "the model has no input 'pixels' (did you mean 'pixel_values'?); it has 1  [unknown-input]",
    ),
    "axis-range": (
        lambda: _fail(FixError("axis-range", input="x", rank=2, asked=2)),
        "the input x has 2 dims, so it has no axis 2  [axis-range]",
    ),
    "unknown-rank": (
        lambda: _fail(FixError("unknown-rank", input="x")),
        "the rank of the input x is not declared, so none of its axes can be freed  [unknown-rank]",
    ),
    "already-dynamic": (
        lambda: _fail(FixError("already-dynamic", input="x", asked=0, dim="batch", name="N")),
        "axis 0 of the input x is already dynamic: its name is batch, not N  [already-dynamic]",
    ),
    "bad-name": (
        lambda: _fail(FixError("bad-name", name="2N")),
        "'2N' is no name of a dim: letters, digits and _, and no digit first  [bad-name]",
    ),
    "name-taken": (
        lambda: _fail(FixError("name-taken", name="S", first="x[1] = 16", second="y[1] = 8")),
        "S would name two sizes: x[1] = 16 and y[1] = 8  [name-taken]",
    ),
    "asked-twice": (
        lambda: _fail(FixError("asked-twice", input="x", asked=1, first="S", second="T")),
        "axis 1 of the input x is asked for twice, as S and as T  [asked-twice]",
    ),
    "batch-sizes": (
        lambda: _fail(FixError("batch-sizes", first="x[0] = 1", second="y[0] = 2")),
        "the batch has two sizes: x[0] = 1 and y[0] = 2  [batch-sizes]",
    ),
    "no-batch": (
        lambda: _fail(FixError("no-batch", why="the model has no inputs")),
        "no input carries a batch: the model has no inputs  [no-batch]",
    ),
    "mixes-samples": (
        lambda: _fail(FixError("mixes-samples", node="/Softmax", op="Softmax", why="its axis 0 is the batch")),
        "/Softmax (Softmax) mixes the samples: its axis 0 is the batch  [mixes-samples]",
    ),
    "several-batches": (
        lambda: _fail(FixError("several-batches", options="--batch x:0 h:1 or --batch x:0 h:2")),
        "the batch can be at several places, and nothing tells which is right; say it: --batch x:0 h:1 or --batch x:0 "
        "h:2  [several-batches]",
    ),
    "no-batching-rule": (
        lambda: _fail(FixError("no-batching-rule", node="/Foo", op="custom:Foo", tensor="x")),
        "/Foo: custom:Foo has no batching rule, and its input x carries the batch  [no-batching-rule]",
    ),
    "cannot-free": (
        lambda: _fail(FixError("cannot-free", node="/Loop", op="Loop", why="its body carries the batch")),
        "/Loop (Loop): its body carries the batch  [cannot-free]",
    ),
    "unlike": (
        lambda: _fail(FixError("unlike", why="the initializer w has other values in c.onnx")),
        "the exports do not go together: the initializer w has other values in c.onnx  [unlike]",
    ),
    "ambiguous": (
        lambda: _fail(
            FixError(
                "ambiguous", node="/R", op="Reshape", what="entry 1 of t", one="H/8", two="W/8", sizes="H = 64, W = 96"
            )
        ),
        "/R (Reshape): entry 1 of t can be read as H/8 or as W/8, and the exports do not tell which is right; one more "
        "export would, at H = 64, W = 96  [ambiguous]",
    ),
    "nothing-asked": (
        lambda: _fail(FixError("nothing-asked")),
        "fix was not told what to do: free the batch (batch, --batch) or other dims (free or like, --free or --like), "
        "or simplify (--simplify)  [nothing-asked]",
    ),
    "not-certified": (
        lambda: _fail(FixError("not-certified", why="y differs by 3 at N = 2")),
        "the repaired model is not certified: y differs by 3 at N = 2  [not-certified]",
    ),
    "other-file": (
        lambda: _fail(FixError("other-file", path="m.onnx", proof="proof.json", what="its weights in 'w' are others")),
        "m.onnx is not the file that proof.json was made for: its weights in 'w' are others  [other-file]",
    ),
    "unwitnessed": (
        lambda: _fail(FixError("unwitnessed", why="compared at S = 6 (the exported size); ran at S = 12")),
        "nobody witnessed the repaired model at another size: compared at S = 6 (the exported size); ran at S = 12; "
        "give an export at another size (--like OTHER.onnx), or have the file all the same (--unwitnessed)"
        "  [unwitnessed]",
    ),
    "out-of-time": (
        lambda: _fail(late(0.5, "compared at N = 1, 2")),
        "out of time after 0.5 s: compared at N = 1, 2; --timeout SECONDS (timeout=) gives the whole command more"
        "  [out-of-time]",
    ),
    "engine-refused": (
        lambda: _fail(
            FixError("engine-refused", engine="onnxruntime", what="load the original model", why="Foo is no operator")
        ),
        "onnxruntime cannot load the original model: Foo is no operator  [engine-refused]",
    ),
}


def _masked() -> Any:
    import dask.array as da

    array = da.ones((4, 6), chunks=(2, 3), dtype=np.float32)
    return array[array.sum(axis=1) > 0]


def _fail(error: Exception) -> None:
    raise error


def test_every_code_has_its_message() -> None:
    assert set(MESSAGES) == set(CODES)


@pytest.mark.parametrize("code", MESSAGES)
def test_the_whole_message(code: str) -> None:
    call, message = MESSAGES[code]
    with pytest.raises(orx.ReshapeError) as refusal:
        call()

    assert str(refusal.value) == message
    assert refusal.value.code == code


@pytest.mark.parametrize("code", MESSAGES)
def test_a_refusal_can_cross_processes(code: str) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        MESSAGES[code][0]()
    back = pickle.loads(pickle.dumps(refusal.value))  # noqa: S301 - our own bytes

    assert type(back) is type(refusal.value)
    assert str(back) == str(refusal.value)


@pytest.mark.parametrize("kind", [orx.ReshapeError, orx.FormatError, orx.FixError, orx.TranslateError])
def test_an_error_names_the_package_alone(kind: type[orx.ReshapeError]) -> None:
    """Tracebacks and pickles stay what they are when a file of ours gets another name."""
    error = kind("unreadable", path="m.onnx", why="No such file or directory")
    error.add_note("a note")
    pickled = pickle.dumps(error)

    assert traceback.format_exception_only(error)[0].startswith(f"onereshape.{kind.__name__}: m.onnx: No such file")
    assert b"onereshape." not in pickled
    assert pickle.loads(pickled).to_json() == error.to_json()  # noqa: S301 - our own bytes


def test_every_code_has_a_heading_in_the_documentation() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "errors.md").read_text(encoding="utf-8")
    headings = re.findall(r"^### `([a-z-]+)`$", text, re.MULTILINE)

    assert sorted(headings) == sorted(CODES)


def test_a_number_too_long_to_print() -> None:
    with pytest.raises(orx.ReshapeError, match=r"the number of elements is 2\^18600 or more, beyond the largest int64"):
        orx.resolve([2**62] * 300, [-1], "onnx")


def test_the_fields_are_on_the_exception() -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.resolve([2, 3, 4], [5, -1], "onnx-14")
    error = refusal.value

    assert (error.code, error.axis, error.data, error.target) == ("indivisible", 1, (2, 3, 4), (5, -1))
    assert error.spec.name == "onnx-14"
    assert error.to_json() == {
        "code": "indivisible",
        "message": "target[1] cannot be inferred: 24 elements do not divide by 5 (remainder 4)",
        "axis": 1,
        "data": [2, 3, 4],
        "target": [5, -1],
        "spec": "onnx-14",
        "notes": [],
    }


@pytest.mark.parametrize(
    ("dim", "value"),
    [("9" * 60, "a number of 60 digits"), ("9" * 60 + "*N", "a product of numbers that are too large")],
)
def test_a_text_with_too_large_numbers(dim: str, value: str) -> None:
    """No specification is asked for it, so the rule is nobody's."""
    with pytest.raises(orx.ReshapeError) as caught:
        orx.infer([dim], [-1], "onnx")

    assert str(caught.value) == (
        f"data[0] is {value}, beyond the largest int64 (9223372036854775807)\n"
        "  rule    sizes and numbers of elements are int64  [overflow]"
    )
