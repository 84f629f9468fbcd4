"""Sorts of all samples: what is proven in every order, and what only seems so."""

from __future__ import annotations

from itertools import permutations

import pytest

from onereshape.terms import batches
from onereshape.terms.orders import Orders, each_order
from onereshape.terms.prove import prove_batch
from onereshape.terms.refusal import NotProven
from tests.shaped_models import read

_HEAD = (
    "g (float[N, 3] x, int64[N] n) => (float[N, 3] y) <int64 zero = {0}, int64 one = {1}, int64[1] first = {0},"
    " int64[1] o = {1}> { s = Shape(n) v, p = TopK<axis = 0>(n, s) c = Squeeze(s, first) r = Range(zero, c, one)"
    " z = ConstantOfShape<value = int64[1] {0}>(s) i = ScatterElements<axis = 0>(z, p, r) a = Gather<axis = 0>(x, p) "
)
_OWN = "b = Softmax<axis = 1>(a) "
_BACK = "y = Gather<axis = 0>(b, i) }"
PROVEN = {
    "there and back": _HEAD + _OWN + _BACK,
    "with what was sorted": _HEAD + "l = CastLike(v, a) m = Unsqueeze(l, o) b = Mul(a, m) " + _BACK,
    "sorted twice": _HEAD + "w, q = TopK<axis = 0>(n, s) a2 = Gather<axis = 0>(x, q) b = Add(a, a2) " + _BACK,
    "back by a sort of places": _HEAD + _OWN + "w, j = TopK<axis = 0, largest = 0>(p, s) y = Gather<axis = 0>(b, j) }",
    "there and back, again": _HEAD
    + _OWN
    + "d = Gather<axis = 0>(b, i) e = Gather<axis = 0>(d, p) y = Gather<axis = 0>(e, i) }",
}
DIFFERS = {
    "not back": _HEAD + "y = Softmax<axis = 1>(a) }",
    "there twice": _HEAD + "b = Softmax<axis = 1>(a) y = Gather<axis = 0>(b, p) }",
    "back by another order": _HEAD + _OWN + "w, q = TopK<axis = 0, largest = 0>(n, s) y = Gather<axis = 0>(b, q) }",
    "the first of all": _HEAD + "h = Gather<axis = 0>(a, zero) b = Sub(a, h) " + _BACK,
    "the longest of all": _HEAD + "h = Gather<axis = 0>(v, zero) l = CastLike(h, a) b = Mul(a, l) " + _BACK,
    "its place in the order": _HEAD + "l = CastLike(p, a) m = Unsqueeze(l, o) b = Mul(a, m) " + _BACK,
    "the one before it": _HEAD + "k = Identity(a) b = CumSum(k, zero) " + _BACK,
    "two orders": _HEAD + "m = Neg(n) w, q = TopK<axis = 0>(m, s) b = Gather<axis = 0>(a, q) " + _BACK,
}


@pytest.mark.parametrize("name", PROVEN)
def test_samples_that_are_sorted_and_put_back(name: str) -> None:
    model = read(PROVEN[name])
    found = prove_batch(model, model, {"x": 0, "n": 0}, seed=7)

    assert (found.verdict, found.reason) == ("proven", "")
    assert not found.always
    assert found.sizes == ({"N": 1}, {"N": 2}, {"N": 3})


@pytest.mark.parametrize("name", DIFFERS)
def test_samples_that_meet_in_their_order(name: str) -> None:
    model = read(DIFFERS[name])

    assert prove_batch(model, model, {"x": 0, "n": 0}, seed=7).verdict == "other"


def test_one_order_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted bug: what is right where nothing is moved seems to be right always."""
    monkeypatch.setattr(batches, "each_order", lambda samples, run: [run(Orders(samples, {}))])
    model = read(DIFFERS["not back"])

    assert prove_batch(model, model, {"x": 0, "n": 0}, seed=7).verdict == "proven"


def test_all_orders_of_all_sorts() -> None:
    met = [*each_order(3, lambda orders: (orders.of(1, 3), orders.of(2, 3), orders.of(1, 3), orders.of(5, 4)))]

    assert len(met) == len({*met}) == 36
    assert all(first == third and fourth is None for first, _, third, fourth in met)
    assert {first for first, *_ in met} == {*permutations(range(3))}


def test_too_many_orders() -> None:
    with pytest.raises(NotProven, match="more than 64 orders"):
        list(each_order(3, lambda orders: [orders.of(word, 3) for word in range(3)]))
