"""The table of specifications, held against onnx's own schemas and against its rulings."""

from __future__ import annotations

import onnx.defs
import pytest

import onereshape as orx
from onereshape.ground.dtypes import ELEMENT_TYPES
from onereshape.rule.specs import NEWEST_OPSET, SPECS, Spec

ONNX_SCHEMAS = {
    schema.since_version: schema
    for schema in onnx.defs.get_all_schemas_with_history()
    if schema.name == "Reshape" and schema.domain == ""
}
ONNX_ROWS = {row.version: row for row in SPECS if row.dialect == "onnx"}


def test_every_onnx_version_is_a_row() -> None:
    missing = [f"onnx Reshape-{version}" for version in ONNX_SCHEMAS if version not in ONNX_ROWS]

    assert missing == []


def test_the_newest_opset_is_known() -> None:
    assert onnx.defs.onnx_opset_version() <= NEWEST_OPSET


@pytest.mark.parametrize("row", [row for row in ONNX_ROWS.values() if row.version in ONNX_SCHEMAS], ids=str)
def test_an_onnx_row_says_what_the_schema_says(row: Spec) -> None:
    schema = ONNX_SCHEMAS[row.version]
    types = {constraint.type_param_str: constraint.allowed_type_strs for constraint in schema.type_constraints}
    attributes = set(row.ignored_attributes)
    if row.flag is not None:
        attributes.add(row.flag.name)
        assert schema.attributes[row.flag.name].default_value.i == int(bool(row.flag.default))
        assert not schema.attributes[row.flag.name].required
    if row.target_in == "attribute":
        attributes.add("shape")
        assert [item.name for item in schema.inputs] == ["data"]
    else:
        assert [item.name for item in schema.inputs] == ["data", "shape"]
        assert schema.inputs[1].type_str == f"tensor({row.shape_types[0]})"

    assert set(schema.attributes) == attributes
    assert {f"tensor({name})" for name in row.data_types} == set(types[schema.inputs[0].type_str])


def test_the_number_of_types_per_version() -> None:
    """As the rulings count them."""
    assert [len(row.data_types) for row in ONNX_ROWS.values()] == [3, 15, 16, 16, 20, 22, 23, 24, 26]


@pytest.mark.parametrize(
    ("opset", "version"),
    [
        *[(1, 1), (4, 1), (5, 5), (12, 5), (13, 13), (14, 14), (17, 14), (18, 14), (19, 19), (20, 19), (21, 21)],
        *[(22, 21), (23, 23), (24, 24), (25, 25), (26, 25), (28, 25)],
    ],
)
def test_an_opset_names_the_newest_version_not_above_it(opset: int, version: int) -> None:
    assert orx.spec(f"onnx-{opset}").version == version
    assert orx.spec("onnx").version == 25


def test_a_spec_is_its_own_name() -> None:
    assert all(orx.spec(row) is row and orx.spec(row.name) is row for row in SPECS)


@pytest.mark.parametrize("name", ["onnx-0", "onnx-29", "onnx-", "ONNX", "openvino-2", "onednn", "", None, 14, ["onnx"]])
def test_a_name_that_is_no_specification(name: object) -> None:
    with pytest.raises(orx.ReshapeError) as refusal:
        orx.spec(name)  # type: ignore[arg-type]

    assert refusal.value.code == "unknown-spec"


def test_every_type_of_a_row_is_in_the_table_of_types() -> None:
    for row in SPECS:
        named = {element_type.named_in(row.dialect) for element_type in ELEMENT_TYPES}
        assert set(row.data_types) <= named
        assert set(row.shape_types) <= named
