"""The engines that run models, each in a child process: ONNX Runtime and OpenVINO; begin with `engine`, the one door.

Door: engine, inside.
"""
