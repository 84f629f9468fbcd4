"""Formats: files of models and of tensors, and stores that outgrow memory.

Holds `Model` with `load` and `save`, a room for each format, and an IR as the ONNX graph that says the same.  A format
knows how its bytes are laid out, and knows no other.  What a model computes is left to `graphs`.  Begin with `model`
and `model_formats`, the table of formats.

Door: given, held, ir_as_onnx, model, model_data, model_formats, naming, onnx, onnx_weights, openvino, overwriting,
reading, refusals, reshape_plan, tensors, typed.
"""
