"""ONNX models for the tests of model files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

SHIPPED = sorted(Path(onnx.__file__).parent.rglob("*.onnx"))
"""Every model in the onnx wheel."""

PEAK = """
import re
from pathlib import Path

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""
"""Code of a process that asks for its own peak in kB; `ru_maxrss` would begin with the peak of its parent."""

HEADER = '<ir_version: 10, opset_import: ["" : 21, "local" : 1]>'


def model(body: str, header: str = HEADER) -> onnx.ModelProto:
    """A model in the textual form, with the usual header."""
    return parser.parse_model(f"{header}\n{body}")


def write(proto: onnx.ModelProto, path: Path) -> str:
    path.write_bytes(proto.SerializeToString())
    return str(path)


def external(name: str, dims: list[int], location: str, data_type: int = TensorProto.FLOAT, **said: int) -> TensorProto:
    """A tensor whose data are in another file."""
    tensor = TensorProto(name=name, dims=dims, data_type=data_type, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **said}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def small() -> onnx.ModelProto:
    """One Reshape whose target is an initializer."""
    proto = model("agraph (float[N, 6] x) => (float[a, b] y) <int64[2] shape = {-1, 3}> { y = Reshape(x, shape) }")
    proto.graph.node[0].name = "r"
    return proto


def rich() -> onnx.ModelProto:
    """Everything that onnx-ir has no place for, and everything that it writes in another way."""
    proto = small()
    graph = proto.graph
    proto.doc_string = ""
    proto.training_info.add().algorithm.name = "train"
    proto.metadata_props.add(key="b", value="1")
    proto.metadata_props.add(key="a", value="2")
    proto.opset_import.add(domain="ai.onnx.ml", version=3)
    proto.opset_import[0].ClearField("domain")
    graph.doc_string = "a graph"
    graph.node[0].doc_string = ""
    graph.node[0].attribute.add(name="allowzero", type=onnx.AttributeProto.INT, doc_string="").i = 0
    indices = numpy_helper.from_array(np.array([1]), "")
    values = numpy_helper.from_array(np.array([5.0], np.float32), "sparse")
    sparse = onnx.SparseTensorProto(values=values, indices=indices, dims=[3])
    graph.sparse_initializer.append(sparse)
    graph.node.add(op_type="Constant", output=["c"]).attribute.add(
        name="sparse_value", type=onnx.AttributeProto.SPARSE_TENSOR
    ).sparse_tensor.CopyFrom(sparse)
    graph.node.add(op_type="Relu", input=["y"], output=["z"], name="after")
    graph.node.add(op_type="ZipMap", domain="ai.onnx.ml", input=["z"], output=["m"])
    kind = graph.output.add(name="m").type.sequence_type.elem_type.map_type
    kind.key_type = TensorProto.INT64
    kind.value_type.tensor_type.elem_type = TensorProto.FLOAT
    for name in ("z", "nowhere", "y2"):
        graph.value_info.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["M", 3]))
    graph.quantization_annotation.add(tensor_name="nowhere").quant_parameter_tensor_names.add(key="SCALE", value="s")
    graph.initializer.append(external("w", [4], "w.bin", offset=0, length=16))
    graph.initializer[-1].external_data.add(key="checksum", value="abc")
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


def saved(path: str | Path) -> onnx.ModelProto:
    """The message of a file."""
    return onnx.load(path, load_external_data=False)
