"""The engines that run models, each in a child process: ONNX Runtime and OpenVINO.

A `Session` of `engine` has a child load a model (`served`, `served_openvino`), feeds it and returns the answers, or
raises a `Refusal`; what answers mean is left to `runs`.  Begin with `engine`.

Door: engine, inside.
"""
