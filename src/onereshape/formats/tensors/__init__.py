"""Tensor files: .npy, .npz and ONNX's .pb; begin with `tensor_files`, where the suffix chooses.

A new format is a module with `read` and `write`, a row of _WRITERS and a call of its `read` in `tensor_files`, its
suffix in the help of `cli/run.py`, and a row of KINDS in `tests/fuzz/formats.py`, by which its files are damaged.

    pytest tests/formats/test_tensor_files.py tests/formats/test_unsound_files.py tests/cli/test_cli_run.py

Door: npy, npz, tensor, tensor_files.
"""
