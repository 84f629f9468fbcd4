"""Shapes as people type and paste them."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from onereshape.cli.typed import read_dims, read_shape
from onereshape.ground.errors import ReshapeError
from onereshape.rule.dims import Dim
from onereshape.rule.inference import infer
from onereshape.rule.shape import Shape

SHAPES = {
    "2,3,4": (2, 3, 4),
    "[2,3,4]": (2, 3, 4),
    " [ 2, 3 ,4 ] ": (2, 3, 4),
    "(2, 3, 4)": (2, 3, 4),
    "2x3x4": (2, 3, 4),
    "2 X 3 x 4": (2, 3, 4),
    "2x-1": (2, -1),
    "-1x0": (-1, 0),
    "x:1,3,224,224": (1, 3, 224, 224),
    "x:[1,3,224,224]": (1, 3, 224, 224),
    "x:1x3x224x224": (1, 3, 224, 224),
    "x[1,3,224,224]": (1, 3, 224, 224),
    "x [1, 3]": (1, 3),
    "input:0[1,3]": (1, 3),
    "input:0:1,3": (1, 3),
    "/layer.1/x_2:1,3": (1, 3),
    "24": (24,),
    "-1": (-1,),
    "+3": (3,),
    "(3,)": (3,),
    "": (),
    " ": (),
    "[]": (),
    "[ ]": (),
    "()": (),
    "x:": (),
    "x[]": (),
    # as other programs print them
    "{4,512,7,7}": (4, 512, 7, 7),
    "x:{1,3,224,224}": (1, 3, 224, 224),
    "x{1,3}": (1, 3),
    "{}": (),
    "{-1, 3}": (-1, 3),
    "torch.Size([2, 3])": (2, 3),
    "torch.Size([])": (),
    "x.shape: torch.Size([2, 3])": (2, 3),
    "TensorShape((2, 3))": (2, 3),
    "[2 3 4]": (2, 3, 4),
    "(2 3)": (2, 3),
    "{ 2  3 }": (2, 3),
    "shape=(1,3)": (1, 3),
    "shape = [1, 3]": (1, 3),
    "f32[1,3]": (1, 3),
    "float32[1,3]": (1, 3),
    "tensor(float)[1,3]": (1, 3),
    "tensor<1x3x224xf32>": (1, 3, 224),
    "tensor<f32>": (),
    "2\N{MULTIPLICATION SIGN}3": (2, 3),
}
DIMS = {
    "{1,3,?,?}": (1, 3, None, None),
    "['batch', 3, 'height', \"w\"]": ("batch", 3, "height", "w"),
    "TensorShape([None, 3])": (None, 3),
    "[None, 3]": (None, 3),
    "tensor<?x3xf32>": (None, 3),
    "[? 3]": (None, 3),
    "{N,2*S}": ("N", "2*S"),
    "[1..8,?,3..]": ((1, 8), None, (3, None)),
    "{...}": None,
    "x:...": None,
    "(...)": None,
    "2*(past + 1),4": ("2*(past + 1)", 4),
    "[past + 1]": ("past + 1",),
    "N x 3": ("N x 3",),
}
NO_SHAPES = {
    "[2,3": "data is '[2,3', not a list of integers  [not-a-list]",
    "2,3]": "data is '2,3]', not a list of integers  [not-a-list]",
    "[[2,3]]": "data is '[[2,3]]', not a list of integers  [not-a-list]",
    "[2](3)": "data is '[2](3)', not a list of integers  [not-a-list]",
    "2,,3": "data[1] is '', not an integer  [not-an-integer]",
    ",": "data[0] is '', not an integer  [not-an-integer]",
    "2.0,3": "data[0] is '2.0', not an integer  [not-an-integer]",
    "2 3": "data[0] is '2 3', not an integer  [not-an-integer]",
    "2xx3": "data[0] is '2xx3', not an integer  [not-an-integer]",
    "N,3": "data[0] is 'N', not an integer  [not-an-integer]",
    "1_000": "data[0] is '1_000', not an integer  [not-an-integer]",
    "{2,3": "data is '{2,3', not a list of integers  [not-a-list]",
    "{2,3]": "data is '{2,3]', not a list of integers  [not-a-list]",
    "2,3}": "data is '2,3}', not a list of integers  [not-a-list]",
    "{{2},3}": "data is '{{2},3}', not a list of integers  [not-a-list]",
    "torch.Size([2, 3": "data is 'torch.Size([2, 3', not a list of integers  [not-a-list]",
    "torch.Size([2, 3)": "data is 'torch.Size([2, 3)', not a list of integers  [not-a-list]",
    "[2, 3 4]": "data[1] is '3 4', not an integer  [not-an-integer]",
    "[1,3]:f32": "data is '[1,3]:f32', not a list of integers  [not-a-list]",
    "Nx3x224": "data is 'Nx3x224', not a list of integers  [not-a-list]",
    "1 000": "data[0] is '1 000', not an integer  [not-an-integer]",
    "tensor<1x3>": "data[0] is 'tensor<1', not an integer  [not-an-integer]",
    "\u0663": "data[0] is '\u0663', not an integer  [not-an-integer]",
    "9" * 5000: "data[0] has 5000 digits, far beyond int64  [bad-usage]",
}


READ_BACK = [(["N", 6], [4, -1]), (["N", "S", 768], [0, 0, 12, -1]), ([None, (1, 8), 6], [0, -1, 3]), ([2, 3], [6])]


class TestShapes:
    @pytest.mark.parametrize(("text", "dims"), DIMS.items())
    def test_dims(self, text: str, dims: tuple[Dim, ...] | None) -> None:
        assert read_dims(text, "data") == dims

    @pytest.mark.parametrize(("data", "target"), READ_BACK)
    def test_what_infer_prints_can_be_typed(self, data: list[Dim], target: list[Dim]) -> None:
        shape = infer(data, target, "onnx")
        printed = Shape(shape.dims)

        assert read_dims(str(printed), "data") == shape.dims

    @given(st.lists(st.integers(-1, 2**63 - 1), max_size=6))
    def test_every_way_to_write_it_is_the_same(self, dims: list[int]) -> None:
        """Whatever the numbers are: there and back."""
        words = ", ".join(map(str, dims))
        written = [f"[{words}]", f"{{{words}}}", f"x:{{{words}}}", f"torch.Size([{words}])", f"shape=({words})"]
        written += [f"f32[{words}]", str(tuple(dims)), "x".join(map(str, dims)), f"[{' '.join(map(str, dims))}]"]

        assert {read_shape(text, "data") for text in written} == {tuple(dims)}

    @given(st.text("[](){}<>,:=x?. 12N'*-", max_size=14))
    def test_anything_else_is_refused_in_words(self, text: str) -> None:
        for read in (read_shape, read_dims):
            with suppress(ReshapeError):
                read(text, "data")

    @pytest.mark.parametrize(("text", "dims"), SHAPES.items())
    def test_read(self, text: str, dims: tuple[int, ...]) -> None:
        assert read_shape(text, "data") == dims

    @pytest.mark.parametrize(("text", "message"), NO_SHAPES.items(), ids=range(len(NO_SHAPES)))
    def test_refused(self, text: str, message: str) -> None:
        with pytest.raises(ReshapeError) as caught:
            read_shape(text, "data")
        assert str(caught.value) == message
        assert caught.value.usage
