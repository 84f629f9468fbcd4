"""Prove: two models beside each other, by runs of an engine and by terms, and the certificate that follows.

Holds `certify()` and all that a certificate's words rest on: `engines` run models, `values` draws what they are fed,
`runs` compares their answers, and `combining` draws the conclusion from runs and terms.  How a model is repaired is
left to `repair`, expressions are left to `terms`.  Begin with `certificate` (what is said), then `run_both` (what is
done), then `runs/batch_runs`.

Door: certificate, certify, counterexample, engines, pairing, replay, run_both, runs, steps, values.
"""
