"""Facts: what is known of the values of a model, by one walk: dims as formulas, types, and what small tensors hold.

Begin with `facts`; `asking` is what the rule for a shape sees of its node.

Door: answers, asking, elements, facts, kinds, order, reshape_runs, reshaping, samples, scope, walk, walk_limits.
"""
