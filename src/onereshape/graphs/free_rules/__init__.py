"""What the rules of free sizes are written in: factors of dims, a node as a rule sees it, constants that must grow.

A dim is a tuple of factors, so that `(S, 64)`, merged from two dims, can be taken apart again.  A rule reads the dims
of the inputs from a `FreeView`, and yields `FreeAnswer`s: the dims of the outputs, and the edits that make them so.  A
constant of the old size grows if it is certain how it goes on (`patterns`): `[0, 1, 2]` becomes `[0, 1 ... S-1]`.

Begin with `state` and `view`; the rules themselves are in `operators`, the search that asks them in `repair/dims`.

Door: alignment, averages, by_shape, grown, growth, indices, meeting, spans, state, view.
"""
