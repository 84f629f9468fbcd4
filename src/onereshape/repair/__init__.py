"""Repair: a dim of a model freed, or its Reshapes made plainer; planned, written and certified.

Holds `fix()` and the searches that ask the rules of `graphs`: `batch` frees the batch, `dims` other dims, `fitting` by
what other exports show, and `simpler` mends Reshapes.  Runs and proofs are left to `prove`, what is wrong with a model
to `checks`.  Begin with `fix`, then `unrepaired` (models that need none), `step` (a repair with its certificate),
`batch_work`, `batch/search` and `batch/apply`.

Door: fix, last_word, longest, proof_file, simpler, step.
"""
