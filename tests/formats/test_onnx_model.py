"""ONNX model files: save(load(f)) changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.formats.model import load, save
from onereshape.formats.onnx.onnx_merge import merged, to_ir
from onereshape.formats.onnx.onnx_rows import completed, shortened
from onereshape.ground.errors import FormatError
from tests.budget import part
from tests.models import SHIPPED, model, nested, rich, saved, small, write


class TestRoundTrip:
    """save(load(f)) gives f."""

    def test_there_are_models(self) -> None:
        assert len(SHIPPED) > 100

    @pytest.mark.parametrize("path", [*part(SHIPPED, 2)], ids=lambda path: path.parent.name)
    def test_every_shipped_model(self, path: Path, tmp_path: Path) -> None:
        found = load(path)
        save(found, tmp_path / "again.onnx")
        save(found, tmp_path / "again.onnx.gz")
        save(load(tmp_path / "again.onnx.gz"), tmp_path / "back.onnx")

        assert path.read_bytes() == (tmp_path / "again.onnx").read_bytes()
        assert saved(path) == saved(tmp_path / "back.onnx")

    @pytest.mark.parametrize("path", [*part(SHIPPED, 2)], ids=lambda path: path.parent.name)
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

    @pytest.mark.parametrize("seed", [*part(range(4), 2)])
    def test_onnx_ir_is_shown_what_differs_only_and_writes_the_same(self, seed: int) -> None:
        for proto in [*(saved(path) for path in part(SHIPPED, 3)), rich(), nested(), noted(), small()]:
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
