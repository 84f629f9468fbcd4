"""Reshapes in their plainest form, without a change of what any of them means.

Begin with `simplify`, then `proven_reshapes` (what is known of a Reshape) and `agreement` (whether two mean the same).

Door: simplify.
"""
