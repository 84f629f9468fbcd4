"""Dims other than the batch freed, by the rules of operators: the search through a graph, and the plan made real.

Begin with `freeing`, then `search`; `numbers` refuses constants that may follow a size, though no rule says so.

Door: freeing.
"""
