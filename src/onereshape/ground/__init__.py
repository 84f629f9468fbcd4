"""The ground: what every room needs, and what knows no Reshape.

Holds the table of all messages, element types, text that is not ours, integers, child processes with limits, and files
that are written whole.  What a Reshape means is left to `rule`.  Begin with `errors`, one table, and `text`, one door.

Door: atomic, delayed, dtypes, errors, installed, integers, isolation, memory, notebook, numpy_types, temporary, text.
"""
