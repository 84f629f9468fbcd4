"""Hostile graphs: random models made to catch onereshape in a wrong answer, and the judge that knows the right one.

`python -m tests.hostile 123` shows what became of one seed; `make hostile SECONDS=600` runs for as long as it is told.

A new operator of any kind needs a maker (`makers.py`), in the file of its family here, which puts a node of it into a
sketch in every form that it has; once its record has `batch`, it has no place in `WILD` of `generator.py`.  Then
`python -m tests.hostile --count 5000 --rooms batch` hunts, `python -m tests.hostile SEED --shrink` shows the smallest
graph that fails alike, and `pytest tests/test_hostile.py` sees that some graph has the operator.
"""
