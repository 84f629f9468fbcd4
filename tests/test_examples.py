"""Every worked example of the five specifications, and each sentence of theirs that can be right or wrong.

Class docstrings are the specification's names for what is tested; test docstrings its sentences, in our words.
"""

from __future__ import annotations

import numpy as np
import pytest

import onereshape as orx
from onereshape.rule.specs import SPECS, Spec

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
LITERAL_ZERO = [row for row in SPECS if row.dialect == "onnx" and row.flag is not None]


def refused(data: list[int], target: list[int], spec: str | Spec, **attributes: object) -> str:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.resolve(data, target, spec, **attributes)  # type: ignore[arg-type]
    return refusal.value.code


class TestOpenVINO:
    """Reshape-1, its examples 1 to 5."""

    def test_example_1_reshape_empty_tensor(self) -> None:
        assert orx.resolve([2, 5, 5, 0], [0, 4], "openvino", special_zero=False) == (0, 4)

    def test_example_2_preserve_first_calculate_second_fix_third(self) -> None:
        assert orx.resolve([2, 5, 5, 24], [0, -1, 4], "openvino", special_zero=True) == (2, 150, 4)

    def test_example_3_preserve_first_two_fix_third_calculate_fourth(self) -> None:
        assert orx.resolve([2, 2, 3], [0, 0, 1, -1], "openvino", special_zero=True) == (2, 2, 1, 3)

    def test_example_4_calculate_first_preserve_second(self) -> None:
        assert orx.resolve([3, 1, 1], [-1, 0], "openvino", special_zero=True) == (3, 1)

    def test_example_5_preserve_first_calculate_second(self) -> None:
        assert orx.resolve([3, 1, 1], [0, -1], "openvino", special_zero=True) == (3, 1)

    def test_not_more_than_one_inferred(self) -> None:
        assert refused([2, 3], [-1, -1], "openvino", special_zero=True) == "two-inferred"

    def test_the_index_of_a_copied_zero_is_within_the_rank(self) -> None:
        assert refused([2, 3], [2, 3, 0], "openvino", special_zero=True) == "copy-beyond-rank"

    def test_special_zero_is_required(self) -> None:
        assert refused([2, 3], [6], "openvino") == "missing-attribute"

    @pytest.mark.parametrize(
        ("data", "target", "output"),
        [([0, 3], [0, -1], (0, 3)), ([2, 0, 3], [0, 0, -1], (2, 0, 3)), ([4, 0, 2], [-1, 0], (8, 0))],
    )
    def test_copied_dims_take_no_part_in_the_division(
        self, data: list[int], target: list[int], output: tuple[int, ...]
    ) -> None:
        """The ruling's own examples."""
        assert orx.resolve(data, target, "openvino", special_zero=True) == output

    def test_what_is_left_over_must_divide(self) -> None:
        assert refused([0, 3], [0, -1, 7], "openvino", special_zero=True) == "indivisible"


class TestOneDNN:
    """Reshape-1, StaticReshape-1 and DynamicReshape-1 of oneDNN Graph."""

    def test_static_reshape_of_3_4_5_by_0_and_minus_1(self) -> None:
        assert orx.resolve([3, 4, 5], [0, -1], "onednn-static", special_zero=True) == (3, 20)
        x = np.zeros((3, 4, 5), np.float32)
        assert orx.Reshape("onednn-static", shape=(0, -1), special_zero=True)(x).shape == (3, 20)

    @pytest.mark.parametrize("name", ["onednn-reshape", "onednn-static", "onednn-dynamic"])
    def test_zero_is_literal_or_copied(self, name: str) -> None:
        """special_zero false: as it is, for empty tensors; true: the dimension of data."""
        assert orx.resolve([0, 4], [4, 0], name, special_zero=False) == (4, 0)
        assert orx.resolve([3, 4], [0, 2, 2], name, special_zero=True) == (3, 2, 2)
        assert refused([2, 4], [0, 8], name, special_zero=False) == "volume"

    @pytest.mark.parametrize("name", ["onednn-reshape", "onednn-static", "onednn-dynamic"])
    def test_both_attributes_are_required(self, name: str) -> None:
        assert refused([2, 3], [6], name) == "missing-attribute"
        if name == "onednn-static":
            with pytest.raises(orx.ReshapeError, match="takes its target as the attribute 'shape'"):
                orx.Reshape(name, special_zero=True)

    @pytest.mark.parametrize("name", ["onednn-reshape", "onednn-static", "onednn-dynamic"])
    def test_not_both_a_literal_zero_and_an_inferred_dim(self, name: str) -> None:
        assert refused([0, 4], [0, -1], name, special_zero=False) == "zero-with-inferred"

    @pytest.mark.parametrize("name", ["onednn-reshape", "onednn-static", "onednn-dynamic"])
    def test_values_are_at_least_minus_one(self, name: str) -> None:
        assert refused([2, 3], [-2, 3], name, special_zero=True) == "below-minus-one"


class TestONNX:
    """Reshape: each sentence of its description."""

    def test_similar_to_numpy_reshape(self) -> None:
        np.testing.assert_array_equal(orx.reshape(X, [4, 6], "onnx"), X.reshape(4, 6))

    def test_the_first_input_is_data_the_second_the_shape(self) -> None:
        assert orx.Reshape("onnx-24")(X, np.array([4, 6])).shape == (4, 6)

    def test_at_most_one_dimension_is_minus_one(self) -> None:
        assert refused([2, 3, 4], [-1, -1], "onnx") == "two-inferred"

    def test_it_is_inferred_from_the_size_and_the_remaining_dimensions(self) -> None:
        assert orx.resolve([2, 3, 4], [2, -1, 2], "onnx") == (2, 6, 2)

    def test_a_zero_is_taken_from_the_input_tensor(self) -> None:
        assert orx.resolve([2, 3, 4], [2, 0, 4, 1], "onnx") == (2, 3, 4, 1)

    @pytest.mark.parametrize("row", LITERAL_ZERO, ids=str)
    def test_with_allowzero_a_zero_is_set_explicitly(self, row: Spec) -> None:
        assert orx.resolve([0, 3, 4], [3, 4, 0], row, allowzero=1) == (3, 4, 0)
        assert refused([2, 3, 4], [2, 0, 4], row, allowzero=1) == "volume"

    def test_an_empty_shape_converts_to_a_scalar(self) -> None:
        assert orx.resolve([1, 1], [], "onnx") == ()
        assert refused([2], [], "onnx") == "volume"
        assert orx.reshape(np.array([[5]], np.float32), np.array([], np.int64), "onnx").shape == ()

    def test_the_same_number_of_elements_is_required(self) -> None:
        assert refused([2, 3, 4], [5, 5], "onnx") == "volume"

    @pytest.mark.parametrize("row", LITERAL_ZERO, ids=str)
    def test_with_allowzero_both_zero_and_minus_one_are_invalid(self, row: Spec) -> None:
        assert refused([0, 3], [0, -1], row, allowzero=1) == "zero-with-inferred"
        assert refused([2, 3], [0, -1], row, allowzero=1) == "zero-with-inferred"

    def test_by_default_a_zero_copies(self) -> None:
        for row in LITERAL_ZERO:
            assert orx.resolve([2, 3], [0, 3], row) == orx.resolve([2, 3], [0, 3], row, allowzero=0) == (2, 3)

    def test_reshape_1_has_its_shape_as_an_attribute(self) -> None:
        assert orx.Reshape("onnx-1", shape=[0, -1], consumed_inputs=[0])(X).shape == (2, 12)
