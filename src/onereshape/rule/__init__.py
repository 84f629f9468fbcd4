"""The rule: what a Reshape means, on numbers or on dims that are not known.

Holds the specifications, the exact rule, and its inference with symbols and intervals.  Elements are left to `arrays`.
Begin with `specs`, the table in which the dialects differ, then `semantics`, a hundred lines.

A new dialect is its name in `Dialect`, its rows and, if it has one of its own, its flag in `specs`; its column in
`ground/dtypes.py`; a row of `formats/model_formats.py` with its two modules; its engines in `backends/conformance`.
Names, options, messages, `translate`, `check` and `convert` follow from these tables; `tests/test_dialects.py` says
which other files may name a dialect, and why.  Four places say it a second time, on purpose: the ruling in
`docs/semantics.md`, the family in `tests/laws/definition.py`, sentences of the specification in
`tests/test_examples.py`, the names in `tests/ground/test_messages.py`.

    python docs/write_dialects.py
    onereshape conform --markdown docs/conformance.md
    pytest tests/test_dialects.py tests/test_examples.py tests/rule tests/ground/test_messages.py tests/backends
    pytest tests/laws/test_small_world.py tests/laws/test_translate.py

Door: condition, dims, explain, factors, inference, semantics, shape, sizes, specs, target.
"""
