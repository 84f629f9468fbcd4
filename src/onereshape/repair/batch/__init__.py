"""The batch of a model freed: the search through its graph, what is tried where a rule refuses, and the plan made real.

Begin with `search`, then `apply`.  Where a rule refuses, `lifting` gives single elements axes and `dropping` takes the
last nodes out; `stacking` gives outputs an axis for N, and `per_sample` runs the whole model once for each sample.

Door: apply, dropping, lifting, per_sample, search, stacking.
"""
