"""Damaged files of every format, and the judge of what the commands make of them.

A seed is a case: some files and one command on them.  Whatever is in the files, the command answers with exit code 0, 1
or 2 and in words of ours, within limits of time and memory; it writes what it was told to, whole or not at all, and
nothing else.  `python -m tests.fuzz 123` shows one case; `make fuzz COUNT=100000` runs as many as it is told.

A new format needs a row of `KINDS` in `formats.py`, the maker of its damaged files, and its name in `docs/security.md`;
a new command or option its words in `commands.py`.  Then `python -m tests.fuzz --count 2000 --kinds KIND` hunts, and
`python -m tests.fuzz SEED` leaves the files of the case in a folder and shows the traceback.
"""
