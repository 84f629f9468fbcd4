"""Runs of two models beside each other: at which sizes, on which values, and how far apart answers may be.

A `truth` says what is wanted of the repaired model; that of a freed batch is `sample_by_sample`, that of other freed
dims `other_exports`.  All of them ask the original first (`asking`), compare by `wanted` and
`compare`, and note what they find in a `trial`.  Terms are put beside each other at the same sizes (`term_runs`).  The
engine is left to `engines`, a value to draw to `values`.  Begin with `trial`, then `wanted`, then `truth`.

Door: asking, compare, comparison, examples, first_tensor, growing, other_exports, reference,
sample_by_sample, settings, term_runs, term_sizes, trial, truth.
"""
