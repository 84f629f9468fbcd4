"""Facts: what is known of the values of a model, by one walk: dims as formulas, types, and what small tensors hold.

The walk asks the record of each node: a Shape of data `(N, 3)` holds `[N, 3]`, so a Reshape by it is known too.  What
no rule can tell stays unknown, and stops nothing.

Begin with `facts`; `asking` is what the rule for a shape sees of its node.

Door: answers, asking, elements, facts, kinds, order, reshape_runs, reshaping, samples, scope, walk, walk_limits.
"""
