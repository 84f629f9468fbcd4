"""Values that are fed: drawn to suit what the operators of a graph take their inputs for.

`input_roles` reads the role of each input from the graph (an index, a mask, a size), `draw` draws numbers for it, and
`size_values` those of inputs that serve as sizes; `naming` gives a name to every dim that has none.  Which sizes the
dims get is left to `runs`.  Begin with `input_roles`.

Door: draw, input_roles, naming, size_values.
"""
