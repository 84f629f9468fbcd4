"""Formats: files of models and of tensors, and stores that outgrow memory.

Holds `Model` with `load` and `save`, a room for each format, and an IR as the ONNX graph that says the same.  A format
knows how its bytes are laid out, and knows no other format.  What a model computes is left to `graphs`.  Begin with
`model` and `model_formats`, the table of formats.

A new format of models is a row of FORMATS in `model_formats`, one for each dialect, and two modules that are imported
when such a file is asked for: one with the functions of `Files` (load, read from bytes, save, the Reshapes, the files
of weights), and DIALECT_plans with those of `Plans` (Reshapes alone written, and read for their wiring).  Another form
of a format is a suffix of its row; a library whose objects hold models is a row of _KINDS in `held`.  Files of
strangers are damaged by a row of KINDS in `tests/fuzz/formats.py` (`commands.py` beside it types what reads them), and
named in `docs/security.md`.

    pytest tests/test_dialects.py tests/backends/test_convert.py tests/formats/test_overwriting.py
    python -m tests.fuzz --count 2000 --kinds KIND

Door: given, held, ir_as_onnx, model, model_data, model_formats, naming, onnx, onnx_weights, openvino, overwriting,
reading, refusals, reshape_plan, tensors, typed.
"""
