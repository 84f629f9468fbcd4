"""An OpenVINO IR as the ONNX graph that says the same, and back: rules and proofs know ONNX alone.

Begin with `to_onnx`, then a file of `layers`; `from_onnx` and `ir_writing` are the way back.

Door: drawing, ir_writing, to_onnx.
"""
