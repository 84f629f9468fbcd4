"""facts_of: every dim and every number that is claimed of a value must be true in every run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from tests.hostile.generator import Case
from tests.hostile.verdict import Verdict
from tests.hostile.worlds import Run

ROOM = "shapes"
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_WORDS = {
    "floor": floor,
    "ceiling": ceil,
    "Max": max,
    "Min": min,
    "Abs": abs,
    "Mod": lambda a, b: a % b,
    "sign": lambda a: (a > 0) - (a < 0),
}


class Unbound(Exception):  # noqa: N818 - no mistake
    """A formula with a name that stands for nothing yet."""


def evaluated(formula: str, bound: Mapping[str, int]) -> Fraction | int:
    """A formula of dims; `/` is exact."""

    def name(found: re.Match[str]) -> str:
        word = found[0]
        if word in bound:
            return f"Q({bound[word]})"
        if word in _WORDS:
            return word
        raise Unbound(word)

    said = _NAME.sub(name, formula)
    said = re.sub(r"(?<!Q\()(?<![\w.])(\d+)(?![\w.])", r"Q(\1)", said)
    try:
        found = eval(said, {"__builtins__": {}, "Q": Fraction, **_WORDS})  # noqa: S307 - our own formulas
    except (SyntaxError, TypeError, ZeroDivisionError, NameError) as error:
        raise Unbound(formula) from error
    return found  # type: ignore[no-any-return]


class Binding:
    """What the names of one run stand for."""

    def __init__(self, names: Mapping[str, int], generated: Iterable[str]) -> None:
        self.bound, self.free = dict(names), set(generated)

    def untrue(self, claimed: Any, real: int) -> bool:
        """Whether a claim is false; a free name takes the value that it is first seen with."""
        if claimed is None:
            return False
        if isinstance(claimed, tuple | list):
            low, high = claimed
            return real < low or (high is not None and real > high)
        if isinstance(claimed, int):
            return claimed != real
        if claimed in self.free and claimed not in self.bound:
            self.bound[claimed] = real
            return False
        try:
            return bool(evaluated(claimed, self.bound) != real)
        except Unbound:
            return False


def judge_shapes(case: Case, shapes: Any, names: Mapping[str, Mapping[int, str]], runs: Iterable[Run]) -> Verdict:
    """Holds claims against the runs; `names` are those of the inputs' dims."""
    order = [*case.givens, *(name for node in case.proto.graph.node for name in node.output)]
    dims = {value.name: found for value, found in shapes.dims.items()}
    values = {value.name: found for value, found in shapes.values.items()}
    # Other operators than Reshape have conditions where the engine is no witness: such values are left out of a run.
    said = [text for node, texts in shapes.conditions.items() if node.op_type == "Reshape" for text in texts]
    tried = 0
    for run in runs:
        bound = {called: run.feeds[name].shape[axis] for name, axes in names.items() for axis, called in axes.items()}
        if not all(holds(text, bound) for text in said):
            continue
        binding = Binding(bound, shapes.unnamed)
        # A literal 0 beside a -1 the specification refuses, and onnxruntime takes it where the data are empty.
        errors = {node: error for node, error in shapes.errors.items() if error.code != "zero-with-inferred"}
        if errors:
            node, error = next(iter(errors.items()))
            return Verdict(ROOM, "false alarm", f"{node.name} at {bound}: {error.sentence}")
        tried += 1
        fault = _false(order, dims, run, binding) or _false_number(order, values, run, binding)
        if fault is not None:
            return Verdict(ROOM, "untrue shape", f"{fault} where {bound}")
    return Verdict(ROOM, "right" if tried else "no truth")


def _false(order: list[str], dims: Mapping[str, Any], run: Run, binding: Binding) -> str | None:
    for bare in (True, False):  # names alone first: they say what the free ones stand for
        for name in order:
            real = run.values.get(name)
            if name not in dims or real is None or isinstance(real, list):
                continue
            if len(dims[name]) != real.ndim:
                return f"{name} is said to be {list(dims[name])}, and is {list(real.shape)}"
            for claimed, size in zip(dims[name], real.shape, strict=True):
                if (claimed in binding.free if isinstance(claimed, str) else True) != bare:
                    continue
                if binding.untrue(claimed, size):
                    return f"{name} is said to be {list(dims[name])}, and is {list(real.shape)}"
    return None


def _false_number(order: list[str], values: Mapping[str, Any], run: Run, binding: Binding) -> str | None:
    for name in order:
        real = run.values.get(name)
        if name not in values or real is None or isinstance(real, list):
            continue
        if len(values[name]) != real.size:
            return f"{name} is said to hold {list(values[name])}, and holds {real.tolist()}"
        for claimed, number in zip(values[name], real.ravel().tolist(), strict=True):
            if isinstance(claimed, int | str) and binding.untrue(claimed, number):
                return f"{name} is said to hold {list(values[name])}, and holds {real.tolist()}"
    return None


_DIVISIBLE = re.compile(r"(.+) is divisible by (.+)")
_RELATION = re.compile(r"(.+?) (=|>=|<=|!=|>|<) (.+)")


def holds(condition: str, bound: Mapping[str, int]) -> bool:
    """Whether a condition of ours is known to hold."""
    try:
        if found := _DIVISIBLE.fullmatch(condition):
            return evaluated(found[1], bound) % evaluated(found[2], bound) == 0
        if found := _RELATION.fullmatch(condition):
            one, other = evaluated(found[1], bound), evaluated(found[3], bound)
            return {
                "=": one == other,
                ">=": one >= other,
                "<=": one <= other,
                "!=": one != other,
                ">": one > other,
                "<": one < other,
            }[found[2]]
    except (Unbound, ZeroDivisionError):
        return False
    return False
