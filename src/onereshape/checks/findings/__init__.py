"""Findings: what there is to say of a model, where it stands in a file, and how it is printed; begin with `finding`.

Door: declared, finding, formats, next_step, places, reshapes.
"""
