"""Constants of a model, calculated before it runs: within limits of work, by records that are held against onnxruntime.

Door: folded_operators, folded_work, folding.
"""
