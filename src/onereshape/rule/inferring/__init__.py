"""The parts of `infer`: volumes with symbols, intervals, conditions; `inference` beside this room puts them together.

Begin with `plain`, which answers most questions in one pass, then `balance`.

Door: balance, bounds, conditions, plain, small_intervals.
"""
