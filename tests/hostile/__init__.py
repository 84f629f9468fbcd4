"""Hostile graphs: random models made to catch onereshape in a wrong answer, and the judge that knows the right one.

`python -m tests.hostile 123` shows what became of one seed; `make hostile SECONDS=600` runs for as long as it is told.
"""
