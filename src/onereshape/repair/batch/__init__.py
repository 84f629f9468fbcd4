"""The batch of a model freed: the search through its graph, what is tried where a rule refuses, and the plan made real.

Begin with `search`, then `apply`.

Door: apply, dropping, lifting, per_sample, search, stacking.
"""
