"""Runs of two models beside each other: at which sizes, on which values, and how far apart answers may be.

A freed batch is run by `batch_runs`, other freed dims by `other_runs`, models without freed dims by `same_runs`; all of
them ask the original first (`asking`), and measure distances by `compare`.  Terms are run at the same sizes
(`term_runs`).  The engine is left to `engines`, a value to draw to `values`.  Begin with `comparison` (what is asked),
`trial` (what is found), and `batch_runs`.

Door: compare, comparison, drawn_runs, examples, first_tensor, growing, neighbours, real_runs, reference, settings,
term_runs, term_sizes, trial, verdict.
"""
