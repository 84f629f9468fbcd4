"""Reshapes in their plainest form, without a change of what any of them means; begin with `simplify`.

Door: simplify.
"""
