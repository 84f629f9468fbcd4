"""The rule: what a Reshape means, on numbers or on dims that are not known.

Holds the specifications, the exact rule, and its inference with symbols and intervals.  Elements are left to `arrays`.
Begin with `specs`, the table in which the dialects differ, then `semantics`, a hundred lines.

Door: condition, dims, explain, factors, inference, semantics, shape, sizes, specs, target.
"""
