"""Resize from opset 10 to 11, which onnx's converter turns into other numbers.

Resize-10 has no words for where a sample is taken; what runs it (onnxruntime) divides the index by the scale, without
the half pixel that is Resize-11's default, and for mode "nearest" takes the floor along an axis that grows and the
ceiling along one that shrinks.  Resize-11 can say each, but one of them for all axes.
"""

from __future__ import annotations

import onnx
from onnx import helper, numpy_helper

_OLD, _NEW = 10, 11


def resized(model: onnx.ModelProto, new: int) -> onnx.ModelProto | None:
    """The one Resize of a model in opset 11, None where it is none, or not all axes are read alike."""
    node = model.graph.node[0]
    if node.op_type != "Resize" or (model.opset_import[0].version, new) != (_OLD, _NEW):
        return None
    mode = next((helper.get_attribute_value(each) for each in node.attribute if each.name == "mode"), b"nearest")
    attributes = {"mode": mode.decode(), "coordinate_transformation_mode": "asymmetric"}
    if mode == b"nearest":
        scales = next((tensor for tensor in model.graph.initializer if tensor.name == node.input[1]), None)
        if scales is None:
            return None
        factors = numpy_helper.to_array(scales)
        if not ((factors >= 1).all() or (factors <= 1).all()):
            return None
        attributes["nearest_mode"] = "floor" if (factors >= 1).all() else "ceil"
    made = onnx.ModelProto()
    made.CopyFrom(model)
    made.opset_import[0].version = _NEW
    roi = helper.make_tensor("roi", onnx.TensorProto.FLOAT, [0], [])
    made.graph.initializer.append(roi)
    inputs = [node.input[0], "roi", node.input[1]]
    made.graph.node[0].CopyFrom(helper.make_node("Resize", inputs, list(node.output), **attributes))
    return made
