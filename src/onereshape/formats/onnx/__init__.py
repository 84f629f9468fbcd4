"""ONNX models as files: protobuf, packed or text, weights beside them, more than 2 GiB; begin with `onnx_model`.

Door: onnx_bulk, onnx_graphs, onnx_held, onnx_lists, onnx_message, onnx_native, onnx_plans, onnx_reshapes, onnx_sound.
"""
