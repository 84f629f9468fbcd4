"""Dims of the inputs of a node in one line: a name is one size everywhere, and the refusal says which is another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onereshape.terms.call import Call, TermRun
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import numbers
from tests.terms.single_nodes import HASHING


def call_of(*shapes: tuple[int, ...] | None) -> Call:
    inputs = tuple(None if shape is None else numbers(np.zeros(shape, np.float32)) for shape in shapes)
    return Call(TermRun(HASHING, 1 << 20), "Norm", "n", 1, 20, inputs, {})


@pytest.mark.parametrize(("shapes", "patterns", "known", "found"), [
    ([(7, 3, 8, 9), (3,)], ["N C *S", "C"], {}, (7, 3, (8, 9))),
    ([(7, 3), (3,), (3,)], ["N C *S", "C", "C ?"], {}, (7, 3, ())),
    ([(7, 3), (3,), None], ["N C *S", "C", "C ?"], {}, (7, 3, ())),
    ([(7, 3)], ["N C", "C D?"], {}, (7, 3, None)),
    ([(7, 5, 2, 3)], ["*B R C"], {}, ((7, 5), 2, 3)),
    ([(7, 3), (1, 3), (7, 1)], ["N C", "1|N C", "1|N 1|C"], {}, (7, 3)),
    ([(2, 12, 5), (2, 12, 3)], ["D 4H I", "D 4H H"], {"D": 2}, (3, 5)),
    ([(7, 4), ()], ["R 4", ""], {}, (7,)),
    ([(7, 4)], ["_ C"], {}, (4,)),
])  # fmt: skip
def test_names_stand_for_sizes(shapes: Any, patterns: Any, known: dict[str, int], found: tuple[Any, ...]) -> None:
    assert call_of(*shapes).dims(*patterns, **known) == found


@pytest.mark.parametrize(("shapes", "patterns", "known", "why"), [
    ([(7, 3, 8), (5,)], ["N C *S", "C"], {}, "input 1 has dims [5], and should have [C] with C = 3"),
    ([(7,)], ["N C *S"], {}, "input 0 has dims [7], and should have [N C *S]"),
    ([(7, 3), (3,), (7,)], ["N C", "C", "C ?"], {}, "input 2 has dims [7], and should have [C] with C = 3"),
    ([(2, 3), (3, 2)], ["*S", "*S"], {}, "input 1 has dims [3, 2], and should have [*S] with S = 2, 3"),
    ([(2, 11, 5)], ["D 4H I"], {"D": 2}, "input 0 has dims [2, 11, 5], and should have [D 4H I] with D = 2"),
    ([(7, 4), (7, 2)], ["N C", "1|N 1|C"], {}, "input 1 has dims [7, 2], and should have [1|N 1|C] with N = 7, C = 4"),
    ([(7, 4)], ["R 5"], {}, "input 0 has dims [7, 4], and should have [R 5]"),
    ([(7, 4), None], ["R 4", "R"], {}, "input 1 is missing"),
    ([(1,)], [""], {}, "input 0 has dims [1], and should have []"),
])  # fmt: skip
def test_what_does_not_fit_is_refused(shapes: Any, patterns: Any, known: dict[str, int], why: str) -> None:
    with pytest.raises(NotProven) as stop:
        call_of(*shapes).dims(*patterns, **known)
    assert stop.value.why == f"Norm n: {why}"
