"""Checks: what is wrong with a model, told and drawn.

Holds `check()`, `show()` and `report()`: findings with what to do next, and pages about them.  The repair itself is
left to `repair`.  Begin with `check`, then `findings/finding`, the table of what there is to say.

Door: check, findings, reports, show, summary.
"""
