"""The ground: what every room needs, and what knows no Reshape.

Holds the table of all messages, element types, text that is not ours, integers, child processes with limits, files that
are written whole, and the operators that are functions of others.  What a Reshape means is left to `rule`.  Begin with
`errors`, one table, and `text`, one door; an operator of a vendor is a row of `functions`.

Door: atomic, bodies, delayed, dtypes, errors, installed, integers, isolation, memory, notebook, numpy_types, temporary,
text.
"""
