"""Arrays: how elements move when an array is reshaped.

Holds `Reshape` and `reshape()`, the choice between view and copy, a module for each array library, and the plans of the
kernels for CPUs and GPUs.  What the output dims are is left to `rule`, arrays in files to `formats`.  Begin with
`operator`, then `view_or_copy`.

A new array library needs nothing, if its arrays name their array-API namespace.  Else it is a module with the functions
that `libraries` lists (`namespace_arrays` has some to share), its package in _ROOTS and its import in `_library_of`
there.  A library of blocks that are not there yet has a module with `read` and `reshape`, and a row of _MODULES in
`chunked`.  It gets a row of LIBRARIES in `tests/arrays/test_array_libraries.py`, its package in the group `test` of
`pyproject.toml`, and an engine of the kind `library` in `backends/conformance`, which shows what it does by itself.

    pytest tests/arrays/test_array_libraries.py tests/arrays/test_operator.py

Door: blocks, chunk_choice, chunking, operator, threads.
"""
