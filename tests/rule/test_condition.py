"""Condition: a sentence about sizes whose kind and sides a program can read."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import onereshape as orx
from onereshape.rule.condition import SENTENCES, Condition, OneOf, Written, at_least, equals, never_empty
from onereshape.rule.dims import Product

N = Product(1, ("N",))
TARGET = Product(1, ("target[1]",))

EVERY: dict[str, Condition] = {
    "N = 6": Condition("equal", N, 6),
    "2*N = 3*M": Condition("equal", Product(2, ("N",)), Product(3, ("M",))),
    "M*N = 0": Condition("equal", Product(1, ("M", "N")), 0),
    "N >= 3": Condition("least", N, 3),
    "N <= 5": Condition("most", N, 5),
    "2*(past + 1) is divisible by N": Condition("divisible", Product(2, ("past + 1",)), N),
    "past + 1 is divisible by 4": Condition("divisible", Product(1, ("past + 1",)), 4),
    "target[1] = 12": Condition("among", TARGET, OneOf([12])),
    "target[1] = 12 or -1": Condition("among", TARGET, OneOf([12, -1])),
    "rank(data) >= 2": Condition("rank", 2),
    "the entries known only at run time fit": Condition("fits"),
    "data and output have the same number of elements": Condition("agrees"),
    "the input 100% has its default value": Condition("default", "100%"),
    "(a.b)*floor(N/2) = 4": Condition("equal", Written(1, ("(a.b)", "floor(N/2)")), 4),
}


def test_every_kind_is_here() -> None:
    assert {condition.kind for condition in EVERY.values()} == set(SENTENCES)


@pytest.mark.parametrize("sentence", EVERY)
def test_a_condition_is_its_sentence(sentence: str) -> None:
    condition = EVERY[sentence]

    assert condition == sentence
    assert {sentence: 1}[condition] == 1
    assert (str(condition), repr(condition), f"{condition}") == (sentence, repr(sentence), sentence)
    assert json.dumps([condition]) == json.dumps([sentence])


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda given: pickle.loads(pickle.dumps(given))])  # noqa: S301
@pytest.mark.parametrize("sentence", EVERY)
def test_a_copy_knows_the_same(sentence: str, again: Any) -> None:
    condition, other = EVERY[sentence], again(EVERY[sentence])

    assert (other, other.kind, other.sides) == (condition, condition.kind, condition.sides)
    assert list(map(type, other.sides)) == list(map(type, condition.sides))


def test_it_never_changes() -> None:
    for name in ("kind", "sides", "other"):
        with pytest.raises(AttributeError, match="never changes"):
            setattr(EVERY["N = 6"], name, "x")
        with pytest.raises(AttributeError, match="never changes"):
            delattr(EVERY["N = 6"], name)


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("2*N = 3*M", {"M", "N"}),
        ("2*(past + 1) is divisible by N", {"N", "past + 1"}),
        ("(a.b)*floor(N/2) = 4", {"a.b", "floor(N/2)"}),
        ("rank(data) >= 2", set()),
        ("the input 100% has its default value", set()),
    ],
)
def test_the_names_in_it(sentence: str, names: set[str]) -> None:
    assert EVERY[sentence].names == names


def test_a_name_that_looks_like_a_product_is_one() -> None:
    product = Product(1, ("N*S",))

    assert Condition("equal", product, 4).names == {"N*S"}
    assert Condition("equal", N, 4).renamed(lambda _: "(N*S)").names == {"N*S"}


def test_what_it_forces() -> None:
    assert {sentence: EVERY[sentence].forces for sentence in EVERY if EVERY[sentence].forces} == {
        "N = 6": (N, 6),
        "M*N = 0": (Product(1, ("M", "N")), 0),
        "(a.b)*floor(N/2) = 4": (Product(1, ("(a.b)", "floor(N/2)")), 4),
    }


def test_what_is_never_empty() -> None:
    several = Condition("least", Product(1, ("M", "N")), 1)
    said = [at_least("N", 1), at_least("2*S", 1), at_least("M", 2), equals("K", 1), Condition("rank", 1), several]

    assert never_empty(said) == {"N", "2*S"}
    assert never_empty([at_least("N", 1).renamed(lambda _: "(past + 1)")]) == {"past + 1"}
    assert never_empty(["N >= 1", "past + 1 >= 1", "N >= 11", "N = 1"]) == {"N", "past + 1"}


def test_other_names() -> None:
    names = {"_.0": "(past + 1)", "_.1": "floor(N/2)", "data[0]": "data[0]"}
    asked = Condition("divisible", Product(3, ("_.0", "_.1")), Product(1, ("_.0",))).renamed(names.__getitem__)

    assert asked == "3*(past + 1)*floor(N/2) is divisible by (past + 1)"
    assert asked.renamed(lambda text: text.replace("past", "(a b)")) == (
        "3*((a b) + 1)*floor(N/2) is divisible by ((a b) + 1)"
    )
    for sentence in ("target[1] = 12 or -1", "rank(data) >= 2", "the input 100% has its default value"):
        assert EVERY[sentence].renamed(lambda name: name) == sentence


@pytest.mark.parametrize(
    ("data", "target", "kinds"),
    [
        (["N"], [4, -1], ["divisible"]),
        (["N", "M"], [6], ["equal"]),
        (["N"], [6], ["equal"]),
        (["N", "M"], ["K", -1], ["least", "divisible"]),
        ([(3, 5)], [(4, 8)], ["fits", "least"]),
        ([2, 6], [2, None, 3], ["among"]),
        (None, [0, 2], ["rank", "equal"]),
        (["N"], None, ["agrees"]),
    ],
)
def test_what_infer_says(data: Any, target: Any, kinds: list[str]) -> None:
    found = orx.infer(data, target, "onnx").conditions

    assert [each.kind for each in found if isinstance(each, Condition)] == kinds
    assert all(Condition(each.kind, *each.sides) == each for each in found if isinstance(each, Condition))
