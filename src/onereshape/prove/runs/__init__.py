"""Runs of two models beside each other: at which sizes, on which values, and how far apart answers may be.

A `truth` says what is wanted of the repaired model: `sample_by_sample` of a freed batch, `other_exports` of other freed
dims, `same_values` where nothing was freed.  All of them ask the original first (`asking`), compare by `wanted` and
`compare`, and note what they find in a `trial`.  Terms are put beside each other at the same sizes (`term_runs`).  The
engine is left to `engines`, a value to draw to `values`.  Begin with `trial`, then `wanted`, then `same_values`.

Door: asking, compare, comparison, examples, first_tensor, growing, other_exports, reference, same_values,
sample_by_sample, settings, term_runs, term_sizes, trial, truth.
"""
