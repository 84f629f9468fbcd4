"""Repair: a dim of a model freed, or its Reshapes made plainer; planned, written and certified.

Holds `fix()` and the searches that ask the rules of `graphs`.  What is wrong with a model is left to `checks`.  Begin
with `fix`, then `batch_work`, `batch/search` and `batch/apply`.

Door: fix, last_word, longest, proof_file, simpler, step.
"""
