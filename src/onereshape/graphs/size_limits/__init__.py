"""The sizes of free dims that a model takes: which names are free, what a Reshape forces, where it mixes or fails.

Begin with `limited`, which finds the Reshapes that not every declared size suits; `forced` finds dims that are called
free and take one size only.

Door: forced, free_names, limited, severity.
"""
