"""Graphs: what is known of a whole ONNX model, and how it is rewritten.

Holds the facts of all values (dims, types, small elements), a record with the rules of each operator, the words in
which rules ask and answer, and the edits that they may ask for.  Which rules are tried is left to `repair`, whether two
models agree to `prove`.  Begin with `record`, then `operators/reshape` (how the target of a Reshape is rewritten), then
`facts/facts`.

Door: backtracking, batch_rules, constants, edit, export_sizes, exports, facts, folding, free_rules, irs, likely_batch,
node_view, operators, record, registry, request, rewrite, shapes, size_limits, takes, unneeded, words.
"""
