"""An OpenVINO IR as the ONNX graph that says the same, and back."""
