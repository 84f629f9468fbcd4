"""Prove: two models beside each other, by terms and by runs of an engine, and the certificate that follows.

Ten stops from a question to a printed word: `certify` reads what is asked, `run_both` has the order, `runs/term_runs`
proves, `runs/asking` asks the original, a truth (`runs/truth`, `sample_by_sample`, `other_exports`) says what is
wanted, `runs/wanted` compares.  All that they find is `evidence`, which is `seen` together; `judge` has the status,
`words` every sentence, and a `certificate` is both.  `engines` run models, `values` draws what they are fed.  How a
model is repaired is left to `repair`, expressions are left to `terms`.  Begin with `evidence`, then `run_both`.

Door: certificate, certify, counterexample, engines, evidence, judge, pairing, replay, run_both, runs, seen, values,
words.
"""
