"""Contractions on terms beside onnxruntime: dims, what depends on what, and differences that must show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import onnx_ir as ir
import pytest

from onereshape.terms.hashing import Hashing
from onereshape.terms.refusal import NotProven
from onereshape.terms.tensor import Tensor, terms
from tests.terms.one_node import Array, Node, agrees, answers, depends, exchanges, run, words


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(13)


def floats(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def small(rng: np.random.Generator, kind: type, *shape: int) -> Array:
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(kind)


MATRICES = [
    ((2, 3, 4), (4, 5)),
    ((2, 3, 4), (2, 4, 5)),
    ((2, 1, 3, 4), (5, 4, 2)),
    ((4,), (4,)),
    ((4,), (2, 4, 5)),
    ((2, 3, 4), (4,)),
    ((2, 1), (1, 3)),
    ((2, 0), (0, 3)),
]


@pytest.mark.parametrize("shapes", MATRICES, ids=str)
@pytest.mark.parametrize("opset", [1, 9, 13])
def test_matmul(rng: np.random.Generator, shapes: tuple[tuple[int, ...], tuple[int, ...]], opset: int) -> None:
    node = Node("MatMul", [floats(rng, *shape) for shape in shapes], {}, max(opset, 7))
    agrees(node)
    depends(node, rng, exact=True, apart=shapes[0][0] == 2 and len(shapes[0]) > 1 and shapes[1][0] != 5)
    exchanges(node, rng, 5)


@pytest.mark.parametrize("addend", [None, (), (1,), (5,), (3, 1), (1, 5), (3, 5)])
@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_gemm(rng: np.random.Generator, addend: tuple[int, ...] | None, left: int, right: int) -> None:
    factors = [floats(rng, *((4, 3) if left else (3, 4))), floats(rng, *((5, 4) if right else (4, 5)))]
    more = [] if addend is None else [floats(rng, *addend)]
    for opset in (7, 11, 13) if addend is not None else (11, 13):
        node = Node("Gemm", [*factors, *more], {"transA": left, "transB": right, "alpha": 0.5, "beta": 2.0}, opset)
        agrees(node)
        depends(node, rng, exact=True, times=1)
        exchanges(node, rng, 5)


def test_gemm_of_old_broadcasts_if_told(rng: np.random.Generator) -> None:
    node = Node("Gemm", [floats(rng, 3, 4), floats(rng, 4, 5), floats(rng, 5)], {"broadcast": 1}, 6)
    assert run(node, Hashing(1))[0].shape == (3, 5)
    with pytest.raises(NotProven, match="do not fit"):
        run(node.but(broadcast=0), Hashing(1))


def test_gemm_is_a_matmul(rng: np.random.Generator) -> None:
    left, right = floats(rng, 3, 4), floats(rng, 4, 5)
    gemm = Node("Gemm", [left, right], {})
    assert np.array_equal(words(gemm)[0], words(Node("MatMul", [left, right], {}))[0])
    other = words(gemm.but(alpha=0.5))[0]
    assert not (words(gemm)[0] == other).any()
    added = Node("Gemm", [left, right, floats(rng, 5)], {})
    betas = [words(added.but(beta=beta))[0] for beta in (1.0, 0.0, 2.0)]
    assert len({int(each[0, 0]) for each in (*betas, words(gemm)[0])}) == 4


def test_elements_of_a_row_and_of_a_column_do_not_change_places() -> None:
    """a0 b0 + a1 b1 is not a0 a1 + b0 b1."""
    hashing = Hashing(7)
    node = Node("MatMul", [np.zeros((1, 2), np.float32), np.zeros((2, 1), np.float32)], {})
    w, x, y, z = hashing.leaves(1, 4)
    answers_ = []
    for row, column in (((w, x), (y, z)), ((w, y), (x, z)), ((w, x), (z, y)), ((w, z), (y, x)), ((y, z), (w, x))):
        feeds = {
            name: of_floats(np.array(part, np.uint64).reshape(shape))
            for name, part, shape in (("x0", row, (1, 2)), ("x1", column, (2, 1)))
        }
        answers_.append(int(run(node, hashing, feeds)[0].array[0, 0]))
    assert len(set(answers_[:4])) == 4
    assert answers_[4] == answers_[0]  # products commute


def of_floats(array: Array) -> Tensor:
    return terms(array, ir.DataType.FLOAT)


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint32])
def test_known_integers_are_multiplied(rng: np.random.Generator, kind: type) -> None:
    for shapes in MATRICES[:-1]:
        node = Node("MatMul", [small(rng, kind, *shape) for shape in shapes], {}, known=frozenset({0, 1}))
        assert np.array_equal(run(node, Hashing(1))[0].array, answers(node)[0])


def test_matmul_refuses(rng: np.random.Generator) -> None:
    for shapes in (((2, 3), (2, 3)), ((2, 3, 4), (3, 4, 5)), ((), (2, 2)), ((2, 1), (3, 1))):
        with pytest.raises(NotProven):
            run(Node("MatMul", [floats(rng, *shape) for shape in shapes], {}), Hashing(1))


@pytest.mark.parametrize("zeros", [((), ()), ((1,), (1,)), (None, (5,)), (None, None), ((), (5,))])
def test_matmul_integer(rng: np.random.Generator, zeros: tuple[tuple[int, ...] | None, tuple[int, ...] | None]) -> None:
    points = [None if shape is None else small(rng, np.uint8, *shape) for shape in zeros]
    points = [None if each is None else np.asarray(each) for each in points]
    node = Node("MatMulInteger", [small(rng, np.uint8, 2, 3, 4), small(rng, np.uint8, 4, 5), *points], {}, 10)
    agrees(node)
    depends(node, rng, apart=True)
    exchanges(node, rng, 5)
    known = replace(node, known=frozenset(range(4)))
    assert np.array_equal(run(known, Hashing(1))[0].array, answers(node)[0])


def test_zero_points_are_subtracted(rng: np.random.Generator) -> None:
    left, right = small(rng, np.uint8, 2, 4), small(rng, np.int8, 4, 5)
    plain = Node("MatMulInteger", [left, right], {})
    zero, one = (Node("MatMulInteger", [left, right, np.array(n, np.uint8)], {}, known=frozenset({2})) for n in (0, 1))
    assert np.array_equal(words(plain)[0], words(zero)[0])
    assert not (words(plain)[0] == words(one)[0]).any()


EQUATIONS = [
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("...ij,...jk", [(2, 3, 4), (1, 4, 5)]),
    ("...ij , ...kj -> ...ik", [(2, 3, 4), (2, 5, 4)]),
    ("ij,kj->ki", [(2, 3), (4, 3)]),
    ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]),
    ("bhij,bjhd->bihd", [(2, 2, 3, 4), (2, 4, 2, 3)]),
    ("ii->i", [(3, 3)]),
    ("ii", [(3, 3)]),
    ("ij->", [(3, 4)]),
    ("ij->j", [(3, 4)]),
    ("bij->bji", [(2, 3, 4)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("bi,bj,bk->bijk", [(2, 3), (2, 2), (2, 4)]),
    ("bij,k->bk", [(2, 3, 4), (2,)]),
    ("iij,j->i", [(2, 2, 4), (4,)]),
    ("abcd,cde->abe", [(2, 3, 4, 5), (4, 5, 6)]),
    ("abcd,dce->eab", [(2, 3, 4, 5), (5, 4, 6)]),
    ("i,j->ij", [(3,), (4,)]),
    ("bi,bi->bi", [(2, 3), (2, 3)]),
    ("bi,bi->b", [(2, 3), (2, 3)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(rng: np.random.Generator, equation: str, shapes: list[tuple[int, ...]]) -> None:
    node = Node("Einsum", [floats(rng, *shape) for shape in shapes], {"equation": equation})
    agrees(node)
    depends(node, rng, exact=True, apart=equation.startswith("b"), times=5)
    exchanges(node, rng, 5)


def test_einsum_is_a_matmul(rng: np.random.Generator) -> None:
    left, right = floats(rng, 2, 3, 4), floats(rng, 2, 4, 5)
    product = words(Node("MatMul", [left, right], {}))[0]

    def einsum(equation: str) -> Array:
        return words(Node("Einsum", [left, right], {"equation": equation}))[0]

    assert np.array_equal(product, einsum("bij,bjk->bik"))
    assert np.array_equal(product, einsum("...ij,...jk->...ik"))
    assert np.array_equal(product.transpose(0, 2, 1), einsum("bij,bjk->bki"))
    assert np.array_equal(product.transpose(1, 0, 2), einsum("bij,bjk->ibk"))


def test_einsums_that_differ(rng: np.random.Generator) -> None:
    """Of square operands, so that all have the same dims."""
    inputs = [floats(rng, 3, 3), floats(rng, 3, 3)]
    two = ["ij,jk->ik", "ij,kj->ik", "ji,jk->ik", "ji,kj->ik", "ij,jk->ki", "ij,ik->jk", "ij,ij->ij", "ij,ji->ij"]
    three = ["ij,jk,kl->il", "ij,jk,lk->il", "ij,kj,kl->il", "ij,jk,kl->li", "ij,ij,jk->ik", "ij,ik,kl->jl"]
    for equations, fed in ((two, inputs), (three, [*inputs, floats(rng, 3, 3)])):
        found = [words(Node("Einsum", fed, {"equation": equation}))[0] for equation in equations]
        real = [answers(Node("Einsum", fed, {"equation": equation}))[0] for equation in equations]
        for first in range(len(found)):
            for second in range(first):
                assert not ((found[first] == found[second]) & ~np.isclose(real[first], real[second])).any()


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ikk", [(2, 3), (3, 4)]),
        ("ij,jk->il", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (4, 5)]),
        ("ij,jk->ik", [(2, 1), (3, 4)]),
        ("i1->i", [(2, 3)]),
        ("ij", [(2, 3, 4)]),
        ("ij,jk", [(2, 3)]),
        ("iJ,jk", [(2, 3), (4, 2)]),
        ("...ij,...jk", [(2, 3, 4), (4, 5)]),
        ("ii->i", [(2, 3)]),
    ],
)
def test_einsum_refuses(rng: np.random.Generator, equation: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(NotProven):
        run(Node("Einsum", [floats(rng, *shape) for shape in shapes], {"equation": equation}), Hashing(1))


def test_det(rng: np.random.Generator) -> None:
    node = Node("Det", [floats(rng, 2, 3, 3)], {}, 11)
    agrees(node)
    depends(node, rng, exact=True, apart=True)
    exchanges(node, rng, 5)
    with pytest.raises(NotProven):
        run(Node("Det", [floats(rng, 2, 3)], {}), Hashing(1))


@pytest.mark.parametrize(("left", "right"), [(0, 0), (1, 0), (0, 1)])
def test_fused_matmul(rng: np.random.Generator, left: int, right: int) -> None:
    factors = [floats(rng, 2, *((4, 3) if left else (3, 4))), floats(rng, 2, *((5, 4) if right else (4, 5)))]
    node = Node("FusedMatMul", factors, {"transA": left, "transB": right, "alpha": 0.5}, domain="com.microsoft")
    agrees(node)
    depends(node, rng, exact=True, apart=True)
    exchanges(node, rng, 5)
    if not left and not right:
        assert np.array_equal(words(node.but(alpha=1.0))[0], words(Node("MatMul", factors, {}))[0])
