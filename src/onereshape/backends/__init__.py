"""Backends: for those who write one, or move models between them.

Holds translation between dialects, `convert`, the case table that engines are put to, and our Reshape as a backend of
ONNX and inside onnx-shape-inference; what a Reshape means is left to `rule`.  Begin with `translation`, or with
`conformance/case_table`.

Door: conformance, convert, translation.
"""
