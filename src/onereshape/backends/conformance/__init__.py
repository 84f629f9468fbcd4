"""The case table, put to the engines that are installed, and what they answered beside what the specifications say.

A new engine is a function `EngineQuestion -> Output` in `*_engines`, which raises `EngineRefused` where the engine
refuses; a row of `ENGINES` in `engines`; its name in the help of `cli/conform`; and rows of `REASONS` in `reasons` for
what it does differently.  `python -m docs.write_recorded` keeps the answers of a `shipped` engine for other machines.
The tests ask engines by other code, on more inputs: a row of `ENGINES` in `tests/engines/engines.py`, its column of
`tests/data/engine_answers.json`, and rows of `tests/engines/differences.py` with the rulings.  Then:

    onereshape conform --engine NAME; onereshape conform --markdown docs/conformance.md
    pytest tests/backends/test_conformance.py tests/engines

Door: case_table, engines, page, record, report, result.
"""
