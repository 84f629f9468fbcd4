"""Converting: a Reshape, a file of Reshapes or the opset of an ONNX model, written in another dialect's words.

Door: extract, files, opset, whole.
"""
