"""What the rules of free sizes are written in: factors of dims, a node as a rule sees it, constants that must grow.

Begin with `state` and `view`; the rules themselves are in `operators`, the search that asks them in `repair/dims`.

Door: alignment, averages, by_shape, grown, growth, indices, meeting, spans, state, view.
"""
