"""The view of an ONNX model: one entry per Reshape, with what the file says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onereshape.arrays.operator import Reshape
from onereshape.formats.model import load, refreshed
from onereshape.formats.model_data import ReshapeNode
from tests.models import model, nested, small, write


def reshapes(proto: onnx.ModelProto, folder: Path) -> tuple[ReshapeNode, ...]:
    return load(write(proto, folder / "model.onnx")).reshapes


def only(proto: onnx.ModelProto, folder: Path) -> ReshapeNode:
    (found,) = reshapes(proto, folder)
    return found


class TestView:
    """One entry per Reshape, with what the file says and nothing more."""

    def test_an_entry(self, tmp_path: Path) -> None:
        found = load(write(small(), tmp_path / "model.onnx"))
        (entry,) = found.reshapes

        assert (found.format, found.path) == ("onnx", str(tmp_path / "model.onnx"))
        assert isinstance(found.ir, ir.Model)
        assert (entry.name, entry.place, str(entry.spec)) == ("r", "graph/Reshape#0", "onnx Reshape-21")
        assert (entry.data, entry.target, entry.output) == (("N", 6), (-1, 3), ("a", "b"))
        assert (entry.attributes, entry.element_type, entry.target_type) == ({}, "float", "int64")
        assert entry.target_from == "initializer shape"
        assert entry.node.op_type == "Reshape"

    def test_branches_functions_and_names(self, tmp_path: Path) -> None:
        found = reshapes(nested(), tmp_path)

        assert [entry.name for entry in found] == [
            "graph/Reshape#0",
            "graph/If#0/then_branch/Reshape#0",
            "graph/If#0/else_branch/Reshape#0",
            "local::block/Reshape#0",
        ]
        assert [entry.target for entry in found] == [(-1, 3), (2, -1), (-1, 3), (0, 2, 3)]
        assert [entry.spec.name for entry in found] == ["onnx-21", "onnx-21", "onnx-21", "onnx-13"]
        assert found[3].attributes == {"allowzero": None}
        assert (found[3].data, found[3].output, found[3].element_type) == (None, None, None)

    def test_nodes_without_names_are_counted(self, tmp_path: Path) -> None:
        body = "g (float[6] x, int64[1] s) => (y) { a = Reshape(x, s) b = Relu(a) y = Reshape(b, s) }"
        assert [entry.place for entry in reshapes(model(body), tmp_path)] == ["graph/Reshape#0", "graph/Reshape#1"]

    def test_loop_and_scan(self, tmp_path: Path) -> None:
        body = """
        agraph (float[2, 6] x, int64[1] n, bool c) => (float[2, 6] y, float[2, 6] z)
        {
          y = Loop <body = b (int64 i, bool k, float[2, 6] v) => (bool k2, float[2, 6] o)
                   { k2 = Identity(k) s = Shape(v) o = Reshape(v, s) }> (n, c, x)
          z = Scan <num_scan_inputs = 1, body = d (float[6] u) => (float[6] p)
                   { t = Constant <value_int = 6> () p = Reshape(u, t) }> (x)
        }
        """
        first, second = reshapes(model(body), tmp_path)

        assert (first.place, second.place) == ("graph/Loop#0/body/Reshape#0", "graph/Scan#0/body/Reshape#0")
        assert (first.target, first.target_from, first.data) == (None, "computed by Shape s", (2, 6))
        assert (second.target, second.target_from) == (None, "Constant node t, which has dims []")

    @pytest.mark.parametrize(
        ("make", "target", "source"),
        [
            ("s = Constant <value = int64[2] {2, -1}> ()", (2, -1), "Constant node s"),
            ("s = Constant <value_ints = [2, -1]> ()", (2, -1), "Constant node s"),
            ("s = Constant <value_floats = [2.0]> ()", None, "Constant node s, which has no integers"),
            ("s = Constant <value = float[2] {2, 1}> ()", (None, None), "Constant node s"),
            ("s = Constant <value = int64[1, 2] {2, 1}> ()", None, "Constant node s, which has dims [1, 2]"),
            ("k = Constant <value_ints = [4]> () s = Identity(k)", (4,), "Constant node k"),
            ("s = Identity(given)", (None, None, None), "input given"),
            ("s = Identity(free)", None, "input free"),
            ("k = Constant <value = int32[2] {2, -1}> () s = Cast <to = 7> (k)", (2, -1), "computed by Cast s"),
            ("k = Constant <value = float[2] {2, 1}> () s = Cast <to = 7> (k)", None, "computed by Cast s"),
            (
                "k = Constant <value_int = 5> () ax = Constant <value_ints = [0]> () s = Unsqueeze(k, ax)",
                (5,),
                "Unsqueeze",
            ),
            (
                "k = Size(x) ax = Constant <value_ints = [0]> () s = Unsqueeze(k, ax)",
                (None,),
                "computed by Unsqueeze s",
            ),
            (
                "k = Constant <value_ints = [2, -1]> () s = Concat <axis = 0> (k, one, k)",
                (2, -1, None, 2, -1),
                "Concat s",
            ),
            ("k = Constant <value_int = 5> () s = Concat <axis = 0> (k, one)", None, "computed by Concat s"),
            ("s = Concat <axis = 0> (one, free)", None, "computed by Concat s"),
            ("s = local.Constant <value_ints = [2, -1]> ()", None, "computed by Constant s"),
        ],
    )
    def test_where_the_target_comes_from(self, make: str, target: Any, source: str, tmp_path: Path) -> None:
        body = (
            f"agraph (float[N, 6] x, int64[3] given, int64[1] one, int64[L] free) => (y) {{ {make} y = Reshape(x, s) }}"
        )
        entry = only(model(body), tmp_path)

        assert (entry.target, source in entry.target_from) == (target, True), entry.target_from

    @pytest.mark.parametrize(
        ("ir_version", "target", "source"),
        [
            (3, (-1, 3), "initializer shape"),  # where an initializer must be an input too, and stays what it is
            (4, (None, None), "input shape, whose default can be overridden"),
        ],
    )
    def test_an_initializer_that_is_an_input(self, ir_version: int, target: Any, source: str, tmp_path: Path) -> None:
        proto = small()
        proto.ir_version = ir_version
        proto.graph.input.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [2]))
        entry = only(proto, tmp_path)

        assert (entry.target, entry.target_from) == (target, source)

    def test_the_target_as_an_attribute(self, tmp_path: Path) -> None:
        header = '<ir_version: 3, opset_import: ["" : 4]>'
        entry = only(model("g (float[2, 6] x) => (y) { y = Reshape <shape = [3, -1]> (x) }", header), tmp_path)
        none = only(model("g (float[2, 6] x) => (y) { y = Reshape (x) }", header), tmp_path)

        assert (entry.spec.name, entry.target, entry.target_from) == ("onnx-1", (3, -1), "attribute")
        assert Reshape(entry.spec, **entry.attributes)(np.zeros((2, 6), np.float32)).shape == (3, 4)
        assert (none.target, none.target_from, none.attributes) == (None, "missing", {})

    def test_a_missing_second_input(self, tmp_path: Path) -> None:
        entry = only(model("g (float[2, 6] x) => (y) { y = Reshape (x) }"), tmp_path)
        assert (entry.target, entry.target_from) == (None, "missing")

    def test_attributes_are_those_of_the_file(self, tmp_path: Path) -> None:
        proto = model("g (float[2] x, int64[1] s) => (y) { y = Reshape <allowzero = 2, odd = 0.5> (x, s) }")
        assert only(proto, tmp_path).attributes == {"allowzero": 2, "odd": 0.5}

    def test_dims(self, tmp_path: Path) -> None:
        proto = small()
        dims = proto.graph.input[0].type.tensor_type.shape.dim
        dims[0].dim_value = -1
        dims[1].dim_param = "2*S"
        dims.add()
        proto.graph.output[0].type.tensor_type.ClearField("shape")
        entry = only(proto, tmp_path)

        assert (entry.data, entry.output) == ((None, "2*S", None), None)

    @pytest.mark.parametrize("kind", ["bfloat16", "float8e4m3fn", "uint4", "string", "bool", "complex64", "double"])
    def test_the_element_type_is_onnx_s_name(self, kind: str, tmp_path: Path) -> None:
        proto = small()
        proto.graph.input[0].type.tensor_type.elem_type = TensorProto.DataType.Value(kind.upper())
        entry = only(proto, tmp_path)

        assert entry.element_type == kind
        assert kind in entry.spec.data_types

    def test_other_operators_of_that_name(self, tmp_path: Path) -> None:
        assert reshapes(model("g (float[2] x, int64[1] s) => (y) { y = local.Reshape (x, s) }"), tmp_path) == ()

    def test_nodes_out_of_order_are_no_circle(self, tmp_path: Path) -> None:
        proto = model("g (float[2] x) => (y) { y = Reshape(x, s) s = Constant <value_ints = [-1]> () }")
        assert only(proto, tmp_path).target == (-1,)

    def test_shared_parts_are_read_once(self, tmp_path: Path) -> None:
        chain = " ".join(f"k{n} = Concat <axis = 0> (k{n - 1}, k{n - 1})" for n in range(1, 60))
        proto = model(f"g (float[2] x) => (y) {{ k0 = Constant <value_ints = [1]> () {chain} y = Reshape(x, k59) }}")
        assert only(proto, tmp_path).target is None

    def test_refreshed_after_a_change(self, tmp_path: Path) -> None:
        found = load(write(small(), tmp_path / "model.onnx"))
        found.ir.graph.initializers["shape"].const_value = ir.tensor(np.array([0, 2, 3]), name="shape")

        assert found.reshapes[0].target == (-1, 3)
        assert refreshed(found).reshapes[0].target == (0, 2, 3)
