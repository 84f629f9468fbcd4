"""Prove: two models beside each other, by runs of an engine and by terms, and the certificate that follows.

Holds `certify()` and all that its words rest on.  How a model is repaired is left to `repair`.  Begin with
`certificate` (what is said), then `run_both` (what is done), then `runs/batch_runs`.

Door: certificate, certify, engines, pairing, run_both, runs, steps, values.
"""
