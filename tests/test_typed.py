"""Shapes as people type and paste them."""

from __future__ import annotations

import pytest

from onereshape.cli.typed import read_shape
from onereshape.errors import ReshapeError

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
    "\u0663": "data[0] is '\u0663', not an integer  [not-an-integer]",
    "9" * 5000: "data[0] has 5000 digits, far beyond int64  [bad-usage]",
}


class TestShapes:
    @pytest.mark.parametrize(("text", "dims"), SHAPES.items())
    def test_read(self, text: str, dims: tuple[int, ...]) -> None:
        assert read_shape(text, "data") == dims

    @pytest.mark.parametrize(("text", "message"), NO_SHAPES.items(), ids=range(len(NO_SHAPES)))
    def test_refused(self, text: str, message: str) -> None:
        with pytest.raises(ReshapeError) as caught:
            read_shape(text, "data")
        assert str(caught.value) == message
        assert caught.value.usage
