"""Tensor files: .npy, .npz and ONNX's .pb; begin with `tensor_files`, where the suffix chooses.

Door: npy, tensor, tensor_files.
"""
