"""Exports of one model at several sizes, and from them the model of any size: what each constant becomes, as a formula.

Begin with `plan`, then `matching` (which constants differ) and `fitted` (what they stand for); `families` has the kinds
of tables that are known.

Door: contradicted, plan.
"""
