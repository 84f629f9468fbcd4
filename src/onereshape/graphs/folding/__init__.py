"""Constants of a model, calculated before it runs: within limits of work, by records that are held against onnxruntime.

Begin with `folding`, which follows a value back to constants; `folded_operators` calculates one node of them.

Door: folded_operators, folded_work, folding.
"""
