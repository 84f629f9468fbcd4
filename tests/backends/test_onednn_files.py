"""The oneDNN graphs that we write are those that oneDNN dumps: it builds, compiles and executes them, and gives what
our operator gives."""

from __future__ import annotations

import json
from ctypes import byref, c_int, c_int64
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import onereshape as orx
from onereshape.backends.conformance.onednn_library import LogicalTensor, library
from onereshape.backends.convert.extract import extract
from onereshape.backends.convert.files import write
from onereshape.backends.convert.whole import whole
from onereshape.formats.model import load
from onereshape.formats.onednn.onednn_plans import _VERSION
from onereshape.ground.dtypes import named
from tests.backends.converting import here, onnx_source
from tests.engines.answers import Array, Dims
from tests.engines.onednn_engines import RefusedError, built, call, dumping, onednn_survives, run_graph, takes
from tests.models import model, write as write_model

__all__ = ["here"]  # a fixture, for pytest to find

UNKNOWN = -(2**63)
QUESTIONS = 400
TYPES = ("f32", "f16", "bf16")


def written(dims: Any, words: Dims, *, copies: bool, dtype: str = "float") -> dict[str, Any]:
    """The graph of one Reshape, as it is written from an ONNX model."""
    write(extract(load(onnx_source(dims, words, copies, dtype)), "r", "onednn-static"), "out.json")
    return read()


def read() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path("out.json").read_text(encoding="utf-8"))
    return found


def run(graph: dict[str, Any], x: Array) -> Array:
    (given,), (wanted,) = graph["input_ports"], graph["output_ports"]
    return run_graph(graph, {given: x})[wanted].array


class TestTheForm:
    """Field by field what the library writes of the same graph."""

    @pytest.mark.parametrize(
        ("dims", "words", "copies"),
        [
            ((2, 3, 4), (0, -1), True),
            ((2, 0, 3), (3, 0, 7), False),
            ((1, 1), (), True),
            ((), (1, 1), True),
            (None, (-1, 3), True),
        ],
    )
    def test_a_dump_of_the_library(self, dims: Any, words: Dims, copies: bool) -> None:
        graph = written(dims, words, copies=copies)
        with dumping(), built(graph) as there:
            call("graph_filter", there, c_int(1))  # when it is dumped
            (path,) = Path().glob("graph-*[0-9].json")
            dumped = json.loads(path.read_text(encoding="utf-8"))

        assert dumped.pop("version") == library().release
        assert graph.pop("version") == _VERSION
        assert dumped == graph
        assert [*graph] == [*dumped]
        assert [*graph["graph"][0]] == [*dumped["graph"][0]]
        assert [*graph["graph"][0]["inputs"][0]] == [*dumped["graph"][0]["inputs"][0]]

    @pytest.mark.parametrize("dims", [(), (5,), (2, 3, 4), (0, 3), (2, 0, 3), (2, 0, 0, 4), (1, 7, 1)])
    def test_strides_are_those_that_the_library_gives(self, dims: Dims) -> None:
        tensor = LogicalTensor()
        given = byref(tensor), 0, 3, len(dims), (c_int64 * len(dims))(*dims), 2, 0
        library().call("graph_logical_tensor_init_with_dims", *given)
        (data,) = written(dims, (-1,), copies=True)["graph"][0]["inputs"]

        assert data["stride"] == tensor.strides[: len(dims)]

    def test_the_whole_file(self) -> None:
        written((2, 3), (-1,), copies=True)
        tensor = {"dtype": "f32", "layout_type": "strided", "property_type": "undef"}
        expected = {
            "version": "3.12.0",
            "engine_kind": "cpu",
            "fpmath_mode": "strict",
            "fpmath_mode_apply_to_int": "false",
            "input_ports": [1],
            "output_ports": [2],
            "graph": [
                {
                    "id": 0,
                    "name": "r",
                    "kind": "StaticReshape",
                    "attrs": {
                        "special_zero": {"type": "bool", "value": 1},
                        "shape": {"type": "s64[]", "value": [-1]},
                    },
                    "inputs": [{"id": 1, **tensor, "shape": [2, 3], "stride": [3, 1]}],
                    "outputs": [{"id": 2, **tensor, "shape": [6], "stride": [1]}],
                }
            ],
        }
        assert read() == expected

    def test_dims_that_are_known_stay_beside_those_that_are_not(self) -> None:
        """Of what comes in; what comes out is left to the library, which infers less if it is told a part of it."""
        (operator,) = written(("N", 6), (3, -1), copies=True)["graph"]
        (data,), (output,) = operator["inputs"], operator["outputs"]

        assert (data["shape"], data["stride"], data["layout_type"]) == ([UNKNOWN, 6], [UNKNOWN] * 2, "strided")
        assert (output["shape"], output["stride"], output["layout_type"]) == ([UNKNOWN], [UNKNOWN], "strided")

    def test_an_output_that_is_empty_only_if_data_is(self) -> None:
        """Told that it is empty, the library would drop the elements of data that is not."""
        x = np.ones((2, 3), np.float32)
        graph = written(("N", 3), (0, 7), copies=False)
        assert graph["graph"][0]["outputs"][0]["shape"] == [UNKNOWN]
        assert theirs(graph, x) is None
        assert run(graph, x[:0]).shape == (0, 7)
        graph["graph"][0]["outputs"][0].update(shape=[0, 7], stride=[7, 1])
        assert run(graph, x).shape == (0, 7)
        assert written((0, 3), (0, 7), copies=False)["graph"][0]["outputs"][0]["shape"] == [0, 7]

    @pytest.mark.parametrize("dims", [("N",), None])
    def test_nothing_is_known(self, dims: Any) -> None:
        (data,) = written(dims, (3, -1), copies=True)["graph"][0]["inputs"]
        assert (data["shape"], data["stride"]) == ([UNKNOWN], [UNKNOWN])


def draw(rng: Random) -> tuple[Dims, Dims, bool]:
    """Data and a target that often fits: its sizes in other groups, some of them copied, one inferred."""
    data = tuple(rng.choices([0, 1, 2, 3, 4, 5], [1, 3, 4, 4, 2, 2], k=rng.randrange(6)))
    copies = rng.random() < 0.5
    left, words = prod(data), []
    for axis in range(rng.randrange(6)):
        size = rng.choice([each for each in range(1, 7) if left == 0 or left % each == 0])
        left //= size
        words.append(0 if copies and axis < len(data) and data[axis] == size and rng.random() < 0.7 else size)
    words.append(left)
    if rng.random() < 0.6:
        words[rng.randrange(len(words))] = -1
    if rng.random() < 0.15:
        words[rng.randrange(len(words))] = rng.choice([-2, -1, 0, 2, 7])
    return data, tuple(words), copies


def declared(rng: Random, data: Dims) -> Any:
    """What the file says of data: all, a part, or nothing."""
    kind = rng.random()
    if kind < 0.1:
        return None
    return tuple(f"D{axis}" if kind < 0.5 and rng.random() < 0.5 else dim for axis, dim in enumerate(data))


def fed(rng: Random, data: Dims, dtype: str) -> Array:
    """Data whose elements tell their positions, in C order, permuted in memory, or with gaps between rows.

    Numbers that are not tiny: oneDNN puts bf16 through the conversions of the CPU, some of which flush them to 0.
    """
    kind = named(dtype)
    assert kind is not None
    order = rng.sample(range(len(data)), k=len(data))
    x = np.arange(1, 1 + prod(data)).astype(kind.numpy).reshape([data[axis] for axis in order])
    layout = rng.random()
    if layout < 0.3:
        return x.transpose(np.argsort(order).astype(int).tolist())
    if layout < 0.5 and data:
        wide = np.full((*data[:-1], data[-1] + 3), 99).astype(kind.numpy)
        wide[..., : data[-1]] = x.reshape(data)
        return wide[..., : data[-1]]
    return x.reshape(data)


def ours(x: Array, words: Dims, *, copies: bool) -> Array | None:
    try:
        found: Array = orx.reshape(x, words, "onednn-static", special_zero=copies)
    except orx.ReshapeError:
        return None
    return found


def theirs(graph: dict[str, Any], x: Array) -> Array | None:
    try:
        return run(graph, x)
    except RefusedError:
        return None


def question(seed: int) -> tuple[str, str | None]:
    """What became of one drawn Reshape, and what is wrong with it."""
    rng = Random(seed)  # noqa: S311 - no secrets
    data, words, copies = draw(rng)
    dtype, dims = rng.choice([dtype for dtype in TYPES if takes(dtype)]), declared(rng, data)
    kind = named(dtype)
    assert kind is not None
    said = f"{seed}: {dtype} {data} declared {dims} by {words}, copies {copies}"
    x = fed(rng, data, dtype)
    try:
        graph = written(dims, words, copies=copies, dtype=kind.onnx or "")
    except orx.ReshapeError:
        if ours(x, words, copies=copies) is not None:  # what is not known may forbid the same words
            return "untranslatable", None if any(not isinstance(dim, int) for dim in dims or [None]) else said
        return "refused by convert", None
    assert onednn_survives(data, words, copies)
    expected, got = ours(x, words, copies=copies), theirs(graph, x)
    if expected is None or got is None:
        return "refused by both", None if expected is got else f"{said}: {expected} and {got}"
    same = got.dtype == expected.dtype and got.shape == expected.shape and np.array_equal(got, expected)
    return "executed", None if same else f"{said}: {got} for {expected}"


def test_what_is_written_is_executed_as_our_operator_does() -> None:
    answers = [question(seed) for seed in range(QUESTIONS)]
    complaints = [said for _, said in answers if said is not None]
    kinds = [kind for kind, _ in answers]

    assert not complaints, "\n".join(complaints[:10])
    assert kinds.count("executed") > QUESTIONS // 2
    assert kinds.count("refused by both") > 5
    assert kinds.count("refused by convert") > 5


@pytest.mark.parametrize("dtype", ["s32", "s8", "u8", "f64", "boolean"])
def test_a_type_that_it_does_not_take_is_refused_by_both(dtype: str) -> None:
    kind = named(dtype)
    assert kind is not None
    graph = written((2, 3), (3, 2), copies=True)
    for tensor in (*graph["graph"][0]["inputs"], *graph["graph"][0]["outputs"]):
        tensor["dtype"] = dtype
    with pytest.raises(RefusedError, match="add_op: 8"):
        run(graph, np.zeros((2, 3), kind.numpy))
    with pytest.raises(orx.ReshapeError, match="onednn StaticReshape-1 does not take it"):
        written((2, 3), (3, 2), copies=True, dtype=kind.onnx or "")


def test_several_in_one_graph() -> None:
    proto = model(
        """g (float[2, "N", 6] x) => (float[a, b] y, float[c] z)
        <int64[3] s = {-1, 3, 4}, int64[2] t = {0, -1}, int64[1] u = {-1}>
        { h = Reshape(x, s)  y = Reshape(h, t)  z = Reshape(h, u) }"""
    )
    write(whole(load(write_model(proto, Path("m.onnx"))), "onednn-static"), "out.json")
    graph = read()
    x = np.arange(48, dtype=np.float32).reshape(2, 4, 6)
    computed = run_graph(graph, {graph["input_ports"][0]: x})

    assert [computed[port].dims for port in graph["output_ports"]] == [(4, 12), (48,)]
    assert all(np.array_equal(computed[port].elements, x.ravel()) for port in graph["output_ports"])


@pytest.mark.parametrize(
    "planted",
    [
        lambda operator: operator["attrs"]["shape"]["value"].reverse(),
        lambda operator: operator["attrs"]["special_zero"].update(value=0),
        lambda operator: operator["outputs"][0].update(shape=[4, 6], stride=[6, 1]),
        lambda operator: operator["inputs"][0].update(dtype="f16"),
        lambda operator: operator["attrs"].pop("special_zero"),
    ],
)
def test_a_file_that_says_something_else_is_seen(planted: Any) -> None:
    graph = written((2, 3, 4), (0, -1), copies=True)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert np.array_equal(run(graph, x), x.reshape(2, 12))
    planted(graph["graph"][0])
    got = theirs(graph, x)

    assert got is None or got.shape != (2, 12)
