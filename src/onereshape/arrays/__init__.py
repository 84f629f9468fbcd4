"""Arrays: how elements move when an array is reshaped.

Holds `Reshape` and `reshape()`, the choice between view and copy, a module for each array library, and the plans of the
kernels for CPUs and GPUs.  What the output dims are is left to `rule`, arrays in files to `formats`.  Begin with
`operator`, then `view_or_copy`.

Door: blocks, chunk_choice, chunking, operator, threads.
"""
