"""ONNX model files: save(load(f)) changes nothing, and the view says what the file says."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.errors import FormatError
from onereshape.formats.model import ReshapeNode
from onereshape.formats.model_files import load, refreshed, save
from onereshape.formats.onnx_merge import merged, to_ir
from onereshape.formats.onnx_rows import completed, shortened
from onereshape.operator import Reshape
from tests.models import PEAK, SHIPPED, external, model, rich, small, write


def saved(path: str | Path) -> onnx.ModelProto:
    return onnx.load(path, load_external_data=False)


def reshapes(proto: onnx.ModelProto, folder: Path) -> tuple[ReshapeNode, ...]:
    return load(write(proto, folder / "model.onnx")).reshapes


def only(proto: onnx.ModelProto, folder: Path) -> ReshapeNode:
    (found,) = reshapes(proto, folder)
    return found


class TestRoundTrip:
    """save(load(f)) gives f."""

    def test_there_are_models(self) -> None:
        assert len(SHIPPED) > 100

    @pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
    def test_every_shipped_model(self, path: Path, tmp_path: Path) -> None:
        found = load(path)
        save(found, tmp_path / "again.onnx")
        save(found, tmp_path / "again.onnx.gz")
        save(load(tmp_path / "again.onnx.gz"), tmp_path / "back.onnx")

        assert path.read_bytes() == (tmp_path / "again.onnx").read_bytes()
        assert saved(path) == saved(tmp_path / "back.onnx")

    @pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.parent.name)
    def test_a_change_changes_nothing_else(self, path: Path, tmp_path: Path) -> None:
        found = load(path)
        found.ir.doc_string = "changed"
        nodes = list(found.ir.graph)
        nodes[-1].metadata_props["k"] = "v"
        save(found, tmp_path / "again.onnx")

        expected = saved(path)
        expected.doc_string = "changed"
        expected.graph.node[-1].metadata_props.add(key="k", value="v")
        assert expected == saved(tmp_path / "again.onnx")

    @pytest.mark.parametrize("seed", range(4))
    def test_onnx_ir_is_shown_what_differs_only_and_writes_the_same(self, seed: int) -> None:
        for proto in [*(saved(path) for path in SHIPPED), rich(), nested(), noted(), small()]:
            changed = to_ir(proto)
            rng = np.random.default_rng(seed)
            for edit in edits(changed) if seed else ():
                if rng.random() < 0.05:
                    edit()
            before, after = ir.to_proto(to_ir(proto)), ir.to_proto(changed)
            short = shortened(proto, changed)

            assert short.unchanged == (before == after)
            assert completed(short) == merged(proto, before, after)

    @pytest.mark.parametrize("make", [lambda: noted(), lambda: rich(), lambda: nested()])  # noqa: PLW0108 - below
    def test_each_single_edit_is_seen(self, make: Callable[[], onnx.ModelProto]) -> None:
        proto = make()
        before = ir.to_proto(to_ir(proto))
        for index in range(len(edits(to_ir(proto)))):
            changed = to_ir(proto)
            edits(changed)[index]()
            after, short = ir.to_proto(changed), shortened(proto, changed)

            assert short.unchanged == (before == after), index
            assert completed(short) == merged(proto, before, after), index

    def test_what_onnx_ir_loses(self, tmp_path: Path) -> None:
        proto = rich()
        (tmp_path / "w.bin").write_bytes(bytes(16))
        found = load(write(proto, tmp_path / "model.onnx"))
        save(found, tmp_path / "again.onnx")
        assert (tmp_path / "model.onnx").read_bytes() == (tmp_path / "again.onnx").read_bytes()

        found.ir.graph.initializers["shape"].const_value = ir.tensor(np.array([3, -1]), name="shape")
        found.ir.graph.outputs[1].doc_string = "a list of maps"
        save(found, tmp_path / "again.onnx")

        proto.graph.output[1].doc_string = "a list of maps"
        proto.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.array([3, -1]), "shape"))
        assert proto == saved(tmp_path / "again.onnx")

    def test_a_node_more_and_a_node_less(self, tmp_path: Path) -> None:
        proto = rich()
        (tmp_path / "w.bin").write_bytes(bytes(16))
        found = load(write(proto, tmp_path / "model.onnx"))
        relu = next(node for node in found.ir.graph if node.op_type == "Relu")
        new = ir.Node("", "Identity", [relu.inputs[0]], name="new")
        new.outputs[0].name = "z"
        found.ir.graph.insert_before(relu, new)
        relu.outputs[0].replace_all_uses_with(new.outputs[0])
        found.ir.graph.remove(relu)
        save(found, tmp_path / "again.onnx")

        changed = proto.graph.node[2]
        changed.Clear()
        changed.CopyFrom(helper.make_node("Identity", ["y"], ["z"], name="new"))
        again = saved(tmp_path / "again.onnx")
        assert list(proto.graph.node) == list(again.graph.node)
        assert list(proto.training_info) == list(again.training_info)

    def test_a_new_node_is_where_it_was_put(self, tmp_path: Path) -> None:
        found = load(write(small(), tmp_path / "model.onnx"))
        reshape = found.reshapes[0].node
        new = ir.Node("", "Relu", [reshape.inputs[0]], name="new")
        new.outputs[0].name = "relu"
        found.ir.graph.insert_before(reshape, new)
        reshape.replace_input_with(0, new.outputs[0])
        save(found, tmp_path / "again.onnx")

        assert [node.op_type for node in saved(tmp_path / "again.onnx").graph.node] == ["Relu", "Reshape"]
        onnx.checker.check_model(saved(tmp_path / "again.onnx"))

    def test_a_change_in_a_branch_or_a_function_stays_there(self, tmp_path: Path) -> None:
        proto = nested()
        found = load(write(proto, tmp_path / "model.onnx"))
        for entry in found.reshapes:
            entry.node.doc_string = "seen"
        save(found, tmp_path / "again.onnx")

        branches = [attribute.g.node[-1] for attribute in proto.graph.node[1].attribute]
        for node in (proto.graph.node[0], *branches, proto.functions[0].node[1]):
            node.doc_string = "seen"
        assert proto == saved(tmp_path / "again.onnx")

    def test_the_file_that_was_read_may_change_or_go(self, tmp_path: Path) -> None:
        proto = small()
        path = tmp_path / "model.onnx"
        found = load(write(proto, path))
        path.write_bytes(b"something else")
        save(found, tmp_path / "one.onnx")
        path.unlink()
        save(found, tmp_path / "two.onnx")

        assert saved(tmp_path / "one.onnx") == proto
        assert saved(tmp_path / "two.onnx") == proto

    def test_in_place(self, tmp_path: Path) -> None:
        path = write(small(), tmp_path / "model.onnx")
        before = Path(path).read_bytes()
        save(load(path), path)

        assert Path(path).read_bytes() == before

    def test_textual(self, tmp_path: Path) -> None:
        text = "# a comment\n" + onnx.printer.to_text(small())
        path = tmp_path / "model.onnxtxt"
        path.write_text(text, encoding="utf-8")
        found = load(path)
        save(found, tmp_path / "again.onnxtxt")
        assert found.reshapes[0].target == (-1, 3)
        assert (tmp_path / "again.onnxtxt").read_text(encoding="utf-8") == text

        found.ir.graph.name = "other"
        save(found, tmp_path / "changed.onnxtxt")
        assert load(tmp_path / "changed.onnxtxt").ir.graph.name == "other"

    def test_the_textual_form_has_no_words_for_all(self, tmp_path: Path) -> None:
        (tmp_path / "w.bin").write_bytes(bytes(16))
        found = load(write(rich(), tmp_path / "model.onnx"))
        with pytest.raises(FormatError, match=r"no words for some of this model; save it as \.onnx"):
            save(found, tmp_path / "again.onnxtxt")
        assert not (tmp_path / "again.onnxtxt").exists()

    def test_another_name(self, tmp_path: Path) -> None:
        found = load(write(small(), tmp_path / "blob"))
        assert found.reshapes[0].name == "r"
        with pytest.raises(FormatError, match=r"an ONNX model is saved under a name that ends in \.onnx or "):
            save(found, tmp_path / "model.xml")


def edits(found: ir.Model) -> list[Callable[[], object]]:
    """Everything that is tried on a model: other names, declarations, attributes, inputs, constants, nodes, orders."""
    graph = found.graph
    made: list[Callable[[], object]] = []
    for place, node in enumerate(graph):
        new = ir.Node("", "Identity", list(node.inputs[:1]), name=f"new{place}")
        new.outputs[0].name = f"new{place}"
        value = node.outputs[0]
        made += [
            partial(setattr, node, "name", f"{node.name}/changed"),
            partial(setattr, node, "doc_string", "changed"),
            partial(node.metadata_props.update, k="v"),
            partial(node.attributes.add, ir.AttrFloat32("new", -0.0)),
            partial(node.attributes.pop, next(iter(node.attributes), ""), None),
            partial(setattr, value, "shape", ir.Shape(["N", 3])),
            partial(setattr, value, "type", ir.TensorType(ir.DataType.INT8)),
            partial(setattr, value, "doc_string", "said"),
            partial(value.metadata_props.update, k="w"),
            partial(value.meta.update, quant_parameter_tensor_names={"SCALE_TENSOR": "s"}),
            partial(graph.insert_before, node, new),
            partial(_moved, graph, node),
            partial(_removed, graph, node),
        ]
        made += [partial(node.attributes.add, each) for each in map(_other, node.attributes.values()) if each]
        made += [partial(node.replace_input_with, 0, None)] if node.inputs else []
    for name, value in graph.initializers.items():
        made += [
            partial(setattr, value, "const_value", ir.tensor(np.array([7]), name=name)),
            partial(setattr, value, "shape", ir.Shape(["N", 3])),
            partial(setattr, value, "type", ir.TensorType(value.dtype or ir.DataType.INT8, denotation="IMAGE")),
            partial(setattr, value, "doc_string", "said"),
            partial(value.metadata_props.update, k="w"),
            partial(value.meta.update, quant_parameter_tensor_names={"SCALE_TENSOR": "s"}),
            partial(graph.initializers.pop, name, None),
        ]
    return made


def _other(attribute: ir.Attr) -> ir.Attr | None:
    """An attribute of the same name and kind, and of another value."""
    changes: dict[ir.AttributeType, Callable[[Any], Any]] = {
        ir.AttributeType.INT: lambda value: value + 1,
        ir.AttributeType.FLOAT: lambda value: -value,
        ir.AttributeType.STRING: lambda value: f"{value}!",
        ir.AttributeType.INTS: lambda value: (*value, 1),
        ir.AttributeType.TENSOR: lambda _: ir.tensor(np.array([7])),
    }
    changed = changes.get(attribute.type)
    return None if changed is None else ir.Attr(attribute.name, attribute.type, changed(attribute.value))


def _moved(graph: ir.Graph, node: ir.Node) -> None:
    if node.graph is graph:
        graph.remove(node)
        graph.append(node)


def _removed(graph: ir.Graph, node: ir.Node) -> None:
    if node.graph is graph and not any(value.uses() or value.is_graph_output() for value in node.outputs):
        graph.remove(node)


def noted() -> onnx.ModelProto:
    """A model that says something of every value: types, dims, notes, a quantisation; and of two constants."""
    proto = model(
        """
        agraph (float[N, 6] x) => (float[P, Q] z)
        <int64[2] shape = {-1, 3}, float[1] scale = {0.5}, float[1] other = {2.5}, float[1] unused = {1.5}>
        {
          a = LeakyRelu<alpha = 0.0>(x)
          k = Constant<value = float[1] {3.5}>()
          b = Reshape(a, shape)
          c = Mul(b, scale)
          d, e = Split<num_outputs = 2>(c)
          z = Mul(d, other)
        }
        """
    )
    for name in ("a", "b", "c", "d", "scale"):
        info = proto.graph.value_info.add()
        info.CopyFrom(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["M", 3], doc_string=""))
    proto.graph.value_info[1].metadata_props.add(key="k", value="v")
    note = proto.graph.quantization_annotation.add(tensor_name="a")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="scale")
    for node in proto.graph.node:
        node.metadata_props.add(key="z", value="1")
        node.metadata_props.add(key="a", value="2")
        node.doc_string = ""
    return proto


def nested() -> onnx.ModelProto:
    """Reshapes without names: in the graph, in both branches of an If, and in a function with its own opset."""
    return model(
        """
        agraph (float[N, 6] x, bool c) => (float[N, 6] y, float[P, Q] z)
        <int64[2] shape = {-1, 3}, int64[2] back = {0, 6}>
        {
          a = Reshape(x, shape)
          z = If <then_branch = g1 () => (float[P, Q] t) { s = Constant <value_ints = [2, -1]> () t = Reshape(x, s) },
                  else_branch = g2 () => (float[P, Q] e) { e = Reshape(x, shape) }> (c)
          y = local.block <az = 1> (x)
        }
        <domain: "local", opset_import: ["" : 13]>
        block <az> (v) => (w)
        { s = Constant <value = int64[3] {0, 2, 3}> () w = Reshape <allowzero: int = @az> (v, s) }
        """
    )


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


class TestExternalData:
    """Weights stay in their files."""

    def weighted(self, folder: Path) -> str:
        proto = small()
        proto.graph.initializer[0].CopyFrom(external("shape", [2], "w.bin", TensorProto.INT64, offset=8, length=16))
        (folder / "w.bin").write_bytes(bytes(8) + np.array([-1, 2]).tobytes())
        return write(proto, folder / "model.onnx")

    def test_a_target_in_another_file(self, tmp_path: Path) -> None:
        found = load(self.weighted(tmp_path))
        save(found, tmp_path / "again.onnx")

        assert (found.reshapes[0].target, found.reshapes[0].target_from) == ((-1, 2), "initializer shape")
        assert load(tmp_path / "again.onnx").reshapes == found.reshapes

    def test_onnx_ir_finds_them_from_anywhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.weighted(tmp_path)
        monkeypatch.chdir(tmp_path)
        found = load("model.onnx")
        monkeypatch.chdir("/")

        assert found.ir.graph.initializers["shape"].const_value.numpy().tolist() == [-1, 2]

    def test_another_folder_is_refused(self, tmp_path: Path) -> None:
        found = load(self.weighted(tmp_path))
        (tmp_path / "other").mkdir()
        with pytest.raises(FormatError, match=r"its weights are in 'w\.bin' beside the model that was read; save it"):
            save(found, tmp_path / "other" / "model.onnx")
        assert list((tmp_path / "other").iterdir()) == []

    def test_the_weights_are_not_overwritten(self, tmp_path: Path) -> None:
        proto = small()
        proto.graph.initializer[0].CopyFrom(external("shape", [2], "w.onnx", TensorProto.INT64))
        (tmp_path / "w.onnx").write_bytes(np.array([-1, 2]).tobytes())
        found = load(write(proto, tmp_path / "model.onnx"))
        with pytest.raises(FormatError, match="holds the weights of this very model"):
            save(found, tmp_path / "w.onnx")

    def test_missing_weights_are_missed_only_where_they_are_needed(self, tmp_path: Path) -> None:
        proto = small()
        proto.graph.initializer.append(external("w", [4], "gone.bin"))
        found = load(write(proto, tmp_path / "model.onnx"))
        save(found, tmp_path / "again.onnx")

        assert saved(tmp_path / "again.onnx") == proto

    @pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
    def test_two_gigabytes_are_not_read(self, tmp_path: Path) -> None:
        """Loaded, listed, changed and saved in a process whose memory grows by less than 300 MB."""
        proto = small()
        count = 2**29  # of float
        proto.graph.initializer.append(external("w", [count], "w.bin", offset=0, length=4 * count))
        with (tmp_path / "w.bin").open("wb") as file:
            file.truncate(4 * count)  # nothing but a hole
        write(proto, tmp_path / "model.onnx")
        code = f"""{PEAK}
import onnx, onnx_ir
from onereshape.formats.model_files import load, save
before = peak()
model = load("model.onnx")
assert [entry.target for entry in model.reshapes] == [(-1, 3)]
save(model, "again.onnx")
model.ir.doc_string = "changed"
save(model, "changed.onnx")
print(peak() - before)
model.ir.graph.initializers["w"].const_value.tobytes()
print(peak() - before)
"""
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)  # noqa: S603

        grown, if_read = map(int, run.stdout.split())
        assert grown < 300_000
        assert if_read > 2_000_000  # the measure sees what it is for
        assert saved(tmp_path / "again.onnx") == proto
        assert saved(tmp_path / "changed.onnx").doc_string == "changed"
