"""A law of simplify: whatever a chain of Reshapes gives in onnxruntime, it gives simplified, at every size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from hypothesis import given, settings, strategies as st

from onereshape.repair.simpler.simplify import simplify
from onereshape.rule.sizes import Size, symbol
from tests.running import session
from tests.symbolic_models import model_of

N, M = symbol("N"), symbol("M")
FACTORS: list[Size] = [N, M, 2, 3]
SIZES = [(1, 1), (2, 3), (3, 1), (2, 2), (1, 4)]


class Chain:
    """A model that is being written: x of dims [N, M, 6], then Reshapes and now and then a Relu."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.lines = ["q = Shape(x)", "p0 = Gather(q, i0)", "p1 = Gather(q, i1)", "n = Squeeze(p0)"]
        self.constants = ["int64[1] i0 = {0}", "int64[1] i1 = {1}"]
        self.now = "x"
        self.dims: list[Size] = [N, M, 6]
        self.outputs: list[str] = []

    def chance(self, of: int) -> bool:
        return self.draw(st.integers(1, of)) == of

    def name(self) -> str:
        return f"v{len(self.lines)}_{len(self.constants)}"

    def constant(self, *numbers: int) -> str:
        name = self.name()
        self.constants.append(f"int64[{len(numbers)}] {name} = {{{', '.join(map(str, numbers))}}}")
        return name

    def node(self, text: str) -> str:
        name = self.name()
        self.lines.append(f"{name} = {text}")
        return name

    def computed(self, size: Size) -> str:
        """A vector of one size, by one of the ways that exporters know."""
        here = [axis for axis, dim in enumerate(self.dims) if dim == size]
        if here and self.chance(2):
            shape = self.node(f"Shape({self.now})")
            return self.node(f"Gather({shape}, {self.constant(here[0])})")
        ((names, number),) = [((), size)] if isinstance(size, int) else size.terms
        parts = [{"N": "p0", "M": "p1"}[str(name)] for name in names] or [self.constant(1)]
        found = self.constant(int(number)) if number != 1 else parts.pop()
        for part in parts:
            found = self.node(f"Mul({found}, {part})")
        if self.chance(4):
            found = self.node(f"Unsqueeze({self.node(f'Squeeze({found})')}, i0)")
        return found

    def word(self, axis: int, size: Size, literal: bool, spent: bool) -> int | str:
        """One entry of a target: a constant, or the name of the vector that holds it."""
        ways = ["computed"]
        if isinstance(size, int):
            ways += ["number"] * 2
        elif size == N:
            ways += ["wrong"]
        if not literal and axis < len(self.dims) and self.dims[axis] == size:
            ways += ["copied"] * 2
        if not spent:
            ways += ["inferred"]
        way = self.draw(st.sampled_from(ways))
        if way == "computed":
            return self.computed(size)
        return {"number": size if isinstance(size, int) else 0, "wrong": 2, "copied": 0, "inferred": -1}[way]

    def reshape(self) -> None:
        dims: list[Size] = [1 for _ in range(self.draw(st.integers(1, 4)))]
        for factor in FACTORS:
            axis = self.draw(st.integers(0, len(dims) - 1))
            dims[axis] = dims[axis] * factor
        literal, words = self.chance(2), list[int | str]()
        for axis, size in enumerate(dims):
            words.append(self.word(axis, size, literal, -1 in words))
        numbers = [word for word in words if isinstance(word, int)]
        if len(numbers) == len(words):
            target = self.constant(*numbers)
        else:
            parts = [word if isinstance(word, str) else self.constant(word) for word in words]
            target = self.node(f"Concat<axis = 0>({', '.join(parts)})")
        self.now = self.node(f"Reshape<allowzero = {int(literal)}>({self.now}, {target})")
        self.dims = dims

    def written(self) -> ir.Model:
        for _ in range(self.draw(st.integers(1, 4))):
            self.reshape()
            if self.chance(4):
                self.outputs.append(self.now)
            if self.chance(3):
                self.now = self.node(f"Relu({self.now})")
        self.lines.append(f"y = Identity({self.now})")
        outputs = ", ".join(f"float[] {name}" for name in dict.fromkeys(["y", *self.outputs]))
        model = model_of(
            f"<{', '.join(self.constants)}> {{ {' '.join(self.lines)} }}", "float[N, M, 6] x", outputs=outputs
        )
        for value in model.graph.outputs:
            value.shape = None
        return model


@st.composite
def chains(draw: st.DrawFn) -> ir.Model:
    return Chain(draw).written()


def answers(proto: onnx.ModelProto, sizes: Sequence[tuple[int, int]]) -> list[list[Any] | None]:
    """What onnxruntime gives at each size, None where it refuses."""
    running = session(proto)
    found: list[list[Any] | None] = []
    for dims in sizes:
        x = np.arange(np.prod(dims) * 6, dtype=np.float32).reshape(*dims, 6)
        try:
            found.append(running.run(None, {"x": x}))
        except Exception:  # noqa: BLE001 - onnxruntime has many
            found.append(None)
    return found


def same(before: list[list[Any] | None], after: list[list[Any] | None]) -> bool:
    """Whether every answer is still given."""
    given = [(old, new) for old, new in zip(before, after, strict=True) if old is not None]
    return all(new is not None and all(map(np.array_equal, old, new)) for old, new in given)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(chains())
def test_a_simplified_chain_gives_what_it_gave(model: ir.Model) -> None:
    before = ir.to_proto(model)
    count = len(model.graph)
    changes = simplify(model)
    after = ir.to_proto(model)

    assert same(answers(before, SIZES), answers(after, SIZES)), [change.to_json() for change in changes]
    assert (before == after) == (changes == [])
    assert len(model.graph) <= count
    assert simplify(ir.from_proto(after)) == []


def test_most_chains_are_simplified_and_most_answers_are_compared() -> None:
    """Else the law would say little."""
    counts = {"models": 0, "foldable-target": 0, "chain": 0, "identity": 0, "redundant-allowzero": 0, "answers": 0}

    @settings(max_examples=60, deadline=None, derandomize=True, database=None)
    @given(chains())
    def count(model: ir.Model) -> None:
        counts["models"] += 1
        counts["answers"] += sum(found is not None for found in answers(ir.to_proto(model), SIZES))
        for change in simplify(model):
            counts[change.code] += 1

    count()

    assert counts.pop("models") >= 50
    assert counts.pop("answers") >= 100
    assert min(counts.values()) >= 5, counts


def test_the_oracle_sees_a_wrong_dim() -> None:
    right, wrong = ([[np.zeros(dims)]] for dims in ((2, 3), (3, 2)))

    assert same(right, right)  # type: ignore[arg-type]
    assert not same(right, wrong)  # type: ignore[arg-type]
    assert not same(right, [None])  # type: ignore[arg-type]
