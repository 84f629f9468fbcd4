"""`x + pe[:, :seq]`: a size meets the part of a table that it cuts, and has to be known as itself after it."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from random import Random

import onnx_ir as ir
import pytest
from hypothesis import given, settings, strategies as st
from onnx import parser

import onereshape as orx
from onereshape.graphs.shapes import facts_of
from onereshape.rule.sizes import Formula, Size, cut, largest, meeting, met, smallest, symbol
from tests.repair.sample_by_sample import compared
from tests.shaped_models import HEAD, dims, read

ROWS = 6
MEETS = {
    "Add": "m = Add(x, p)",
    "Add, the other way round": "m = Add(p, x)",
    "Where": "c = Greater(x, p) m = Where(c, x, p)",
    "Sum": "m = Sum(p, x, p)",
    "Max": "m = Max(x, p)",
    "Expand": "d = Shape(x) m = Expand(p, d)",
    "PRelu": "m = PRelu(x, p)",
    "Mean": "q = Slice(pe, zero, k, one) m = Mean(p, q, x)",
}


def encoder(meets: str, rows: int = ROWS, dims: str = "1, seq, 4", shift: int = 0) -> bytes:
    """Positions are added, and the heads of an attention split with sizes that the model computes."""
    entries = ", ".join(str(each / 8) for each in range(rows * 4))
    k = "k = Identity(n)" if not shift else f"by = Constant <value_ints = [{shift}]> () k = Add(n, by)"
    text = (
        f"g (float[{dims}] x) => (float[1, seq, 4] y) <float[1, {rows}, 4] pe = {{{entries}}}>"
        " { zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> ()"
        f" two = Constant <value_ints = [2]> () s = Shape(x) n = Slice(s, one, two) {k}"
        f" p = Slice(pe, zero, k, one) {meets}"
        " heads = Constant <value_ints = [2, 2]> () t = Concat <axis = 0> (one, n, heads) r = Reshape(m, t)"
        " a = Transpose <perm = [0, 2, 1, 3]> (r) b = Transpose <perm = [0, 2, 3, 1]> (r) w = MatMul(a, b)"
        " f = Softmax <axis = -1> (w) v = MatMul(f, a) g = Transpose <perm = [0, 2, 1, 3]> (v)"
        " four = Constant <value_ints = [4]> () u = Concat <axis = 0> (one, n, four) y = Reshape(g, u) }"
    )
    return bytes(parser.parse_model(HEAD + text).SerializeToString())


def repaired(model: bytes, folder: Path, status: str = "proven") -> bytes:
    (folder / "model.onnx").write_bytes(model)
    fixed = orx.fix(folder / "model.onnx", batch=True)
    assert fixed.certificate.status == status
    return bytes(ir.to_proto(fixed.model.ir).SerializeToString())


@pytest.mark.parametrize("meets", MEETS)
def test_what_meets_its_positions_has_its_own_size(meets: str, tmp_path: Path) -> None:
    model = encoder(MEETS[meets])
    other = repaired(model, tmp_path)

    for size in range(1, ROWS + 2):
        found, wrong = compared(model, other, {"seq": size})
        assert not wrong
        assert found == (4 if size <= ROWS else 0)


@pytest.mark.parametrize(("rows", "most"), [(1, 9), (2, 2), (5, 5)])
def test_a_table_of_one_row_gives_way_to_any_size(rows: int, most: int, tmp_path: Path) -> None:
    model = encoder(MEETS["Add"], rows)
    other = repaired(model, tmp_path)

    for size in (*range(1, ROWS), 9):
        found, wrong = compared(model, other, {"seq": size})
        assert not wrong
        assert found == (4 if size <= most else 0)


def test_positions_of_another_size_meet_where_the_table_ends(tmp_path: Path) -> None:
    """Of seq + 1 rows one is too many, but where the table has only seq."""
    model = encoder(MEETS["Add"], shift=1)
    other = repaired(model, tmp_path, "certified")

    for size in range(1, ROWS + 2):
        found, wrong = compared(model, other, {"seq": size})
        assert not wrong
        assert found == (4 if size == ROWS else 0)


def test_leading_dims_of_a_product_meet_too() -> None:
    found = facts_of(
        read(
            "g (float[h, s, 4] x, float[6, 4, 3] w) => (float[p, q, r] y) {"
            " zero = Constant <value_ints = [0]> () one = Constant <value_ints = [1]> () d = Shape(x)"
            " n = Slice(d, zero, one) v = Slice(w, zero, n) y = MatMul(x, v) }"
        )
    )

    assert dims(found)["y"] == ("h", "s", 3)


# The rule itself

S, T = symbol("S"), symbol("T")
KNOWN = [
    (S, smallest(S, 16), S),
    (S, smallest(S, 1), S),
    (S, largest(S, 16), largest(S, 16)),
    (S, largest(S, 1), S),
    (largest(0, S - 1), largest(0, smallest(S, 16) - 1), largest(0, S - 1)),
    (largest(0, S - 3), smallest(largest(0, S - 3), 16), largest(0, S - 3)),
    (cut(S, 2), smallest(cut(S, 2), 9), cut(S, 2)),
    (2 * S, smallest(2 * S, 9), 2 * S),
    (S * T, smallest(S * T, 9), S * T),
    (S + T, smallest(S + T, 9), S + T),
    (S, smallest(smallest(S, 9), T + 1), S),
    (smallest(S, 7), smallest(S, 9), smallest(S, 7)),
    (S, smallest(S, T), None),  # of S = 1 and T = 0 it is 0
    (S, S + 1, None),
    (S, T, None),
    (S, 2 * T, 2 * T),
    (S, cut(S, 2), None),
]


@pytest.mark.parametrize(("one", "other", "together"), KNOWN)
def test_what_two_sizes_have_together(one: Formula, other: Formula, together: Size | None) -> None:
    assert met(one, other) == met(other, one) == together


def calculated(rng: Random, depth: int) -> Size:
    if depth == 0:
        leaves: list[Size] = [S, S, T, rng.randint(0, 4)]
        return rng.choice(leaves)
    one = calculated(rng, depth - 1)
    match rng.choice("+*/<>-"):
        case "+":
            return one + rng.randint(-3, 3)
        case "-":
            return one - calculated(rng, depth - 1)
        case "*":
            return one * rng.randint(1, 3)
        case "/":
            return cut(one, rng.randint(1, 3))
        case "<":
            return smallest(one, rng.randint(0, 4))
        case _:
            return largest(one, calculated(rng, depth - 1))


def fault(rng: Random) -> str | None:
    """Where two sizes can be broadcast, and have not together what is said of them."""
    one = other = calculated(rng, rng.randint(0, 3))
    for _ in range(rng.randint(1, 2)):
        parts: list[Size] = [rng.randint(0, 4), S, T]
        part = rng.choice(parts)
        other = rng.choice([smallest(other, part), largest(other, part), other + rng.randint(-1, 1), cut(other, 2)])
    if isinstance(one, int) or isinstance(other, int) or (found := met(one, other)) is None:
        return None
    for s, t in product(range(7), repeat=2):
        sizes = {"S": s, "T": t}
        first, second = one.at(sizes), other.at(sizes)
        runs = first >= 0 and second >= 0 and (first == second or 1 in {first, second})
        if runs and found.at(sizes) != (second if first == 1 else first):
            return f"{one} and {other} have together {found}, and not at {sizes}"
    return None


@settings(deadline=None, max_examples=400)
@given(st.randoms(use_true_random=False))
def test_no_sizes_that_can_be_broadcast_have_another(rng: Random) -> None:
    assert fault(rng) is None


def test_planted_bugs_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    inward = meeting._inward
    for name, wrong in (
        ("_is_one_beside", lambda *_: True),
        ("_inward", lambda known: (inner := inward(known)) and inner._replace(low=1, high=1)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(meeting, name, wrong)
            assert any(fault(Random(seed)) for seed in range(4000))  # noqa: S311
