"""Values that are fed: drawn to suit what the operators of a graph take their inputs for; begin with `input_roles`.

Door: draw, input_roles, naming, size_values.
"""
