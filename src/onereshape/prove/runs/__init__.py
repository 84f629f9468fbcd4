"""Runs of two models beside each other: at which sizes, on which values, and how far apart answers may be.

Begin with `comparison` (what is asked), `trial` (what is found), and `batch_runs`.

Door: compare, comparison, drawn_runs, growing, neighbours, reference, settings, term_runs, term_sizes, trial, verdict.
"""
