"""The sizes of free dims that a model takes: which names are free, what a Reshape forces, where it mixes or fails.

Door: forced, free_names, limited, severity.
"""
