"""Random formulas in ONNX, rewritten by laws of arithmetic, and changed in one place."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

import onnx_ir as ir
from onnx import parser

HEAD = '<ir_version: 9, opset_import: ["": 20]> agraph (float[3,4] A, float[3,4] B, float[4] C) => (float[3,4] Y) '
UNARY = ("Tanh", "Sigmoid", "Exp", "Sin", "Abs", "Softplus")
BINARY = ("Add", "Sub", "Mul", "Max", "Div")


@dataclass(frozen=True)
class Formula:
    """An operator of formulas; a leaf is an input (`A`) or a number."""

    op: str
    of: tuple[Formula, ...] = ()
    number: float = 0.0


def drawn(rng: random.Random, depth: int) -> Formula:
    """A formula at random."""
    if not depth or rng.random() < 0.1:
        return Formula("number", number=rng.choice([-2.5, -0.75, 0.3, 1.7, 3.1])) if rng.random() < 0.25 else leaf(rng)
    if rng.random() < 0.35:
        return Formula(rng.choice(UNARY), (drawn(rng, depth - 1),))
    op, one, two = rng.choice(BINARY), drawn(rng, depth - 1), drawn(rng, depth - 1)
    return Formula(op, (one, Formula("Exp", (two,)) if op == "Div" else two))  # no formula is divided by 0


def leaf(rng: random.Random) -> Formula:
    return Formula(rng.choice("ABC"))


def rewritten(rng: random.Random, formula: Formula) -> Formula:
    """The same formula by laws: order, grouping, distribution, a difference as a sum, a quotient as a product."""
    of = tuple(rewritten(rng, each) for each in formula.of)
    found = replace(formula, of=of)
    if rng.random() < 0.4:
        return found
    if found.op in {"Add", "Mul", "Max"} and rng.random() < 0.5:
        found = Formula(found.op, of[::-1])
    if found.op in {"Add", "Mul"} and found.of[0].op == found.op:
        (first, second), third = found.of[0].of, found.of[1]
        return Formula(found.op, (first, Formula(found.op, (second, third))))
    if found.op == "Mul" and found.of[1].op in {"Add", "Sub"}:
        factor, total = found.of
        return Formula(total.op, tuple(Formula("Mul", (factor, each)) for each in total.of))
    if found.op == "Sub":
        return Formula("Add", (found.of[0], Formula("Mul", (found.of[1], Formula("number", number=-1.0)))))
    if found.op == "Div":
        return Formula("Mul", (found.of[0], Formula("Reciprocal", (found.of[1],))))
    return found


def changed(rng: random.Random, formula: Formula) -> Formula:
    """The formula with one more number, by which all that comes out of it is moved."""
    if formula.of and rng.random() < 0.7 and formula.op in {"Add", "Sub", *UNARY}:
        place = rng.randrange(len(formula.of))
        of = tuple(changed(rng, each) if at == place else each for at, each in enumerate(formula.of))
        return replace(formula, of=of)
    return Formula("Add", (formula, Formula("number", number=rng.choice([0.001, -0.02, 1.5]))))


def model(formula: Formula) -> ir.Model:
    """The formula as a model."""
    lines: list[str] = []
    numbers: list[str] = []

    def named(each: Formula) -> str:
        if each.op in "ABC":
            return each.op
        if each.op == "number":
            numbers.append(f"float n{len(numbers)} = {{{each.number}}}")
            return f"n{len(numbers) - 1}"
        operands = ", ".join([named(one) for one in each.of])
        lines.append(f"v{len(lines)} = {each.op}({operands})")
        return f"v{len(lines) - 1}"

    last = named(formula)
    inside = " ".join([*lines, f"w = Add(A, {last}) Y = Sub(w, A)"])
    weights = f"<{', '.join(numbers)}> " if numbers else ""
    return ir.serde.deserialize_model(parser.parse_model(f"{HEAD}{weights}{{ {inside} }}"))


def drawn_pair(seed: int) -> tuple[ir.Model, ir.Model, ir.Model]:
    """A model, the same by laws, and one that is another."""
    rng = random.Random(seed)  # noqa: S311 - a world of tests
    formula = drawn(rng, rng.choice([2, 3, 4, 5]))
    while not formula.of:
        formula = drawn(rng, 3)
    return model(formula), model(rewritten(rng, formula)), model(changed(rng, formula))
