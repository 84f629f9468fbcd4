"""Dims other than the batch freed, by the rules of operators: the search through a graph, and the plan made real.

Begin with `search`, then `freeing`.

Door: freeing.
"""
