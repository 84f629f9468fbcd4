"""oneDNN graph files: save(load(f)) changes nothing, and the view says what the file says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.arrays.operator import Reshape
from onereshape.formats.model import load, refreshed, save
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.onednn.onednn_graph import graph_of
from onereshape.ground.errors import FormatError

UNKNOWN = -(2**63)


def tensor(number: int, dims: list[int], dtype: str = "f32", property_type: str = "undef") -> dict[str, Any]:
    strides = [int(np.prod(dims[axis + 1 :])) for axis in range(len(dims))]
    return {
        "id": number,
        "dtype": dtype,
        "shape": dims,
        "stride": strides,
        "layout_type": "strided",
        "property_type": property_type,
    }


def operator(kind: str = "StaticReshape", name: str = "r", **changed: Any) -> dict[str, Any]:
    attributes: dict[str, Any] = {"special_zero": {"type": "bool", "value": 0}}
    if kind == "StaticReshape":
        attributes["shape"] = {"type": "s64[]", "value": [128, 512, 16, 64]}
    return {
        "id": 7,
        "name": name,
        "kind": kind,
        "attrs": attributes,
        "inputs": [tensor(0, [128, 512, 1024])],
        "outputs": [tensor(1, [128, 512, 16, 64])],
    } | changed


def graph(*operators: dict[str, Any]) -> dict[str, Any]:
    return {
        "version": "3.3.0",
        "engine_kind": "cpu",
        "fpmath_mode": "strict",
        "input_ports": [0],
        "output_ports": [1],
        "graph": list(operators),
    }


def write(value: Any, folder: Path) -> Path:
    path = folder / "graph.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def only(value: dict[str, Any], folder: Path) -> ReshapeNode:
    (found,) = load(write(graph(value), folder)).reshapes
    return found


class TestRoundTrip:
    """save(load(f)) gives f."""

    @pytest.mark.parametrize("indent", [None, 2, "\t"])
    def test_the_same_bytes(self, indent: Any, tmp_path: Path) -> None:
        path = tmp_path / "graph.json"
        path.write_text(json.dumps(graph(operator()), indent=indent).replace("],", "], ") + "\n\n", encoding="utf-8")
        save(load(path), tmp_path / "again.json")

        assert (tmp_path / "again.json").read_bytes() == path.read_bytes()

    def test_a_change_changes_nothing_else(self, tmp_path: Path) -> None:
        value = graph(operator(), operator("Reshape"))
        found = load(write(value, tmp_path))
        found.reshapes[0].node["attrs"]["special_zero"]["value"] = 1
        save(found, tmp_path / "again.json")

        value["graph"][0]["attrs"]["special_zero"]["value"] = 1
        assert json.loads((tmp_path / "again.json").read_text(encoding="utf-8")) == value
        assert refreshed(found).reshapes[0].attributes["special_zero"] == 1
        assert load(tmp_path / "again.json").reshapes == refreshed(found).reshapes

    def test_what_json_cannot_hold(self, tmp_path: Path) -> None:
        found = load(write(graph(operator()), tmp_path))
        graph_of(found)["graph"][0]["attrs"]["x"] = {"value": float("nan")}
        with pytest.raises(FormatError, match="the graph cannot be written"):
            save(found, tmp_path / "again.json")
        assert not (tmp_path / "again.json").exists()


class TestView:
    """One entry per Reshape, with what the file says and nothing more."""

    def test_static(self, tmp_path: Path) -> None:
        entry = only(operator(), tmp_path)

        assert (entry.name, entry.place, entry.spec.name) == ("r", "graph/StaticReshape#0", "onednn-static")
        assert (entry.data, entry.output) == ((128, 512, 1024), (128, 512, 16, 64))
        assert (entry.target, entry.target_from) == ((128, 512, 16, 64), "attribute")
        assert (entry.element_type, entry.target_type) == ("f32", None)
        assert entry.attributes == {"special_zero": 0, "shape": [128, 512, 16, 64]}
        Reshape(entry.spec, **entry.attributes)

    @pytest.mark.parametrize(("kind", "spec"), [("Reshape", "onednn-reshape"), ("DynamicReshape", "onednn-dynamic")])
    @pytest.mark.parametrize(
        ("property_type", "source"),
        [("undef", "input 5"), ("constant", "constant tensor 5, whose values are not in the file")],
    )
    def test_the_target_as_an_input(
        self, kind: str, spec: str, property_type: str, source: str, tmp_path: Path
    ) -> None:
        shape = tensor(5, [3], "s32", property_type)
        entry = only(operator(kind, inputs=[tensor(0, [2, 3, 4]), shape]), tmp_path)

        assert (entry.spec.name, entry.target, entry.target_from) == (spec, (None, None, None), source)
        assert (entry.target_type, entry.attributes) == ("s32", {"special_zero": 0})

    def test_a_computed_target(self, tmp_path: Path) -> None:
        maker = operator("Wildcard", "w", inputs=[], outputs=[tensor(5, [2], "s32")])
        taker = operator("Reshape", inputs=[tensor(0, [2, 3, 4]), tensor(5, [2], "s32")])
        (entry,) = load(write(graph(maker, taker), tmp_path)).reshapes

        assert (entry.target, entry.target_from) == ((None, None), "computed by w")

    @pytest.mark.parametrize(
        ("dims", "expected"),
        [([UNKNOWN], None), ([UNKNOWN, 4], (None, 4)), ([-1, 4], (None, 4)), ([-1], (None,)), ([], ()), ([0], (0,))],
    )
    def test_dims(self, dims: list[int], expected: Any, tmp_path: Path) -> None:
        entry = only(operator(inputs=[tensor(0, dims)], outputs=[tensor(1, dims)]), tmp_path)
        assert (entry.data, entry.output) == (expected, expected)

    def test_what_is_missing_is_missing(self, tmp_path: Path) -> None:
        entry = only(operator(name="", attrs={}, inputs=[tensor(0, [2], "undef")], outputs=[]), tmp_path)

        assert (entry.name, entry.attributes, entry.target) == ("graph/StaticReshape#0", {}, None)
        assert (entry.target_from, entry.element_type, entry.output) == ("missing", None, None)
        assert only({"kind": "Reshape"}, tmp_path).target_from == "missing"

    def test_a_shape_that_is_no_list_of_integers(self, tmp_path: Path) -> None:
        entry = only(operator(attrs={"shape": {"type": "f32[]", "value": [2.0, 3]}}), tmp_path)
        assert (entry.target, entry.attributes) == (None, {"shape": [2.0, 3]})


HOSTILE: dict[str, tuple[str, str]] = {
    "empty": ("", "is not sound JSON: Expecting value: line 1 column 1 (char 0)"),
    "cut off": (json.dumps(graph(operator()))[:-9], "is not sound JSON: Unterminated string"),
    "NaN": ('{"graph": [NaN]}', "is not sound JSON: NaN is no finite number"),
    "infinity": ('{"graph": [-Infinity]}', "is not sound JSON: -Infinity is no finite number"),
    "overflow": ('{"graph": [1e999]}', "is not sound JSON: 1e999 is no finite number"),
    "many digits": ('{"graph": [1' + "0" * 9999 + "]}", "is not sound JSON: Exceeds the limit"),
    "a key twice": ('{"graph": [], "graph": []}', "is not sound JSON: the key 'graph' stands twice in one object"),
    "deep": ('{"graph": ' + "[" * 100_000, "has lists within lists, deeper than any graph"),
    "deep objects": ('{"graph": ' + '{"a":' * 100_000, "has lists within lists, deeper than any graph"),
    "a list": ("[]", "is no oneDNN graph: it has no list of operators under the key 'graph'"),
    "another document": ('{"graph": {}}', "is no oneDNN graph"),
    "no list of ports": ('{"graph": [], "output_ports": 1.5}', "is no oneDNN graph: its output_ports are no list"),
    "no list of numbers": ('{"graph": [], "input_ports": [[1]]}', "is no oneDNN graph: its input_ports are no list"),
    "not UTF-8": ('{"graph": []} \udcff', "is not JSON: it is not UTF-8"),
    "no kind": ('{"graph": [{}]}', "has an operator without a kind"),
    "an operator that is none": ('{"graph": [1]}', "has an operator without a kind"),
    "a name that is none": ('{"graph": [{"kind": "A", "name": 1}]}', "has a A whose name is no text"),
    "inputs that are none": ('{"graph": [{"kind": "A", "inputs": [1]}]}', "the inputs or outputs of A  are no list"),
    "an id that is none": ('{"graph": [{"kind": "A", "inputs": [{"id": true}]}]}', "whose id is no integer"),
    "an attribute without a value": (json.dumps(graph(operator(attrs={"shape": 1}))), "'shape' of r has no value"),
    "dims that are none": (json.dumps(graph(operator(inputs=[{"id": 0, "shape": [1.5]}]))), "no list of integers"),
    "a negative dim": (json.dumps(graph(operator(inputs=[{"id": 0, "shape": [-3]}]))), "tensor 0 has a dim of -3"),
    "a circle": (
        json.dumps(graph(operator(outputs=[tensor(0, [1])]))),
        "its operators are in a circle: graph/StaticReshape#0 -> graph/StaticReshape#0",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile(case: str, tmp_path: Path) -> None:
    text, why = HOSTILE[case]
    path = tmp_path / "graph.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(FormatError) as refusal:
        load(path)

    assert refusal.value.code == "unreadable"
    assert why in refusal.value.sentence
    assert refusal.value.__cause__ is None
