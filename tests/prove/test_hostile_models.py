"""Models and arguments that ask for too much, or for what nobody has: each is answered, or refused in words of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onereshape as orx
from onereshape import ReshapeError, cli
from onereshape.prove.runs.compare import FLOATS, Meter, scale_of
from onereshape.prove.runs.sample_by_sample import _rotated, _shuffled

Captured = pytest.CaptureFixture[str]


def saved(nodes: list[onnx.NodeProto], dims: list[Any], **tensors: Any) -> str:
    """A model of these nodes, from x to y."""
    values = [numpy_helper.from_array(np.asarray(value), name) for name, value in tensors.items()]
    shapes = [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    graph = helper.make_graph(nodes, "g", shapes, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], values)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    Path("m.onnx").write_bytes(proto.SerializeToString())
    return "m.onnx"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def small() -> str:
    return saved([helper.make_node("Reshape", ["x", "t"], ["y"])], [1, 4], t=np.array([1, 2, 2]))


WRONG: list[dict[str, Any]] = [
    *({"seed": seed} for seed in (-1, None, 1.5, "x", [1], {"x": 0})),
    *({"timeout": each} for each in (None, "1", True, 0, -1, 10**400, -(10**400), float("nan"), [1], 1j)),
    *({"memory": each} for each in ("2GB", 1.5, True, -(10**400), 0, [1])),
    *({"progress": each} for each in (1, "x")),
    *({"batch": each} for each in ({"x": 0.0}, {"x": None}, {"x": True}, [0], "x", 1.5)),
    {"witness": b"m.onnx", "batch": None, "free": {"x": {1: "S"}}},
]


@pytest.mark.parametrize("given", WRONG, ids=", ".join)
def test_arguments_of_wrong_types(given: dict[str, Any], small: str) -> None:
    with pytest.raises(ReshapeError):
        orx.fix(small, **{"batch": True, **given})


@pytest.mark.parametrize("path", [None, 1, [], {}, object(), np.array([1])], ids=lambda path: type(path).__name__)
def test_paths_of_wrong_types(path: Any, small: str) -> None:
    asked = (lambda: orx.load(path), lambda: orx.check(path), lambda: orx.save(orx.load(small), path))
    for ask in (*asked, lambda: orx.save(path, "o.onnx")):
        with pytest.raises(ReshapeError) as told:
            ask()
        assert told.value.code == "bad-usage"


def test_integers_of_numpy(small: str) -> None:
    given: dict[str, Any] = {"batch": {"x": np.int64(-2)}, "seed": np.int64(1), "timeout": np.float32(60)}
    fixed = orx.fix(small, certify=False, **given)
    assert [str(dim) for dim in fixed.model.ir.graph.inputs[0].shape or ()] == ["N", "4"]


def test_a_seed_below_0(small: str, capsys: Captured) -> None:
    assert cli.main(["fix", small, "--batch", "-o", "o.onnx", "--seed", "-1"]) == 2
    assert "a seed is 0 or more" in capsys.readouterr().err


def test_more_memory_than_can_be_counted(small: str, capsys: Captured) -> None:
    code = cli.main(["fix", small, "--batch", "-o", "o.onnx", "--memory", "999999999999999999TiB"])
    assert (code, capsys.readouterr().err) == (0, "")


FLOAT4 = np.ones((2, 2, 2, 2), np.float32)
ODD: dict[str, tuple[str, list[int], dict[str, Any], list[Any]]] = {
    **{
        f"the equation {equation!r}": ("Einsum", [1, 2, 8, 8], {"equation": equation}, [])
        for equation in ("", "->", "ij", "abcd->z", "abcd,abcd->abcd", "abcde->a", "a...b->", "aaaa")
    },
    "a padding of no name": ("Conv", [1, 2, 8, 8], {"auto_pad": "x"}, [FLOAT4]),
    "a padding of half a sign": ("Conv", [1, 2, 8, 8], {"auto_pad": b"VALI\xe5"}, [FLOAT4]),
    "a window of fewer dims": ("Conv", [1, 2, 8, 8], {}, [FLOAT4[0]]),
    "a window of a single dim": ("Conv", [1, 2, 8, 8], {}, [FLOAT4[0, 0, 0]]),
    "a window of no dims": ("ConvTranspose", [1, 2, 8, 8], {}, [np.float32(1)]),
    "data of a single dim": ("MaxPool", [8], {"kernel_shape": [2]}, []),
    "scales of no dims": ("BatchNormalization", [1, 2, 8], {}, [np.float32(1)] * 4),
    "a recurrence over rows": ("RNN", [4, 1], {"hidden_size": 2}, [FLOAT4[0, 0], FLOAT4[0, 0]]),
    "a matrix of no dims": ("MatMul", [1, 2, 8], {}, [np.float32(1)]),
    "a product of rows": ("Gemm", [8], {}, [FLOAT4[0, 0, 0]]),
    "indices of no dims": ("GatherND", [1, 2, 8], {"batch_dims": 1}, [np.int64(0)]),
    "indices of fewer dims": ("GatherElements", [1, 2, 8], {"axis": 1}, [np.zeros(1, np.int64)]),
    "a grid of a single dim": ("GridSample", [1, 2, 8, 8], {}, [np.ones(2, "f")]),
    "space of no dims": ("DepthToSpace", [8], {"blocksize": 2}, []),
    "repeats for one axis": ("Tile", [1, 2, 8], {}, [np.ones(1, np.int64)]),
    "starts for one axis": ("Slice", [1, 2, 8], {}, [np.zeros(1, np.int64), np.ones(2, np.int64)]),
    "pads for one axis": ("Pad", [1, 2, 8], {}, [np.ones(2, np.int64)]),
    "sizes for one axis": ("Resize", [1, 2, 8], {}, [np.ones(0, "f"), np.ones(0, "f"), np.ones(1, np.int64)]),
    "scales for one axis": ("Resize", [1, 2, 8], {}, [np.ones(0, "f"), np.ones(1, "f")]),
    "a split into less": ("Split", [1, 2, 8], {"axis": 2}, [np.ones(2, np.int64)]),
    "an order of one axis": ("Transpose", [1, 2, 8], {"perm": [0]}, []),
    "a window of more dims": ("ConvTranspose", [1, 2, 8, 8], {}, [FLOAT4[None]]),
    "strides for one axis": ("MaxPool", [1, 2, 8, 8], {"kernel_shape": [2, 2], "strides": [2]}, []),
    "a kernel for one axis": ("AveragePool", [1, 2, 8, 8], {"kernel_shape": [2]}, []),
    "a direction of half a sign": ("GRU", [4, 1, 2], {"direction": b"revers\xe5"}, [FLOAT4[0], FLOAT4[0]]),
    "updates of too few dims": ("ScatterND", [1, 2, 8], {}, [np.zeros((1, 1), np.int64), np.ones(8, "f")]),
    "updates of no dims": ("ScatterND", [1, 2, 8], {}, [np.zeros((1, 2), np.int64), np.float32(1)]),
    "weights without a third dim": ("LSTM", [4, 1, 2], {"hidden_size": 2}, [np.ones((1, 8, 2), "f"), FLOAT4[0, 0]]),
}


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ODD)
def test_nodes_that_the_checker_lets_pass(name: str, axis: int, capsys: Captured) -> None:
    op, dims, attributes, weights = ODD[name]
    tensors = {f"w{place}": weight for place, weight in enumerate(weights)}
    nodes = [
        helper.make_node(op, ["x", *tensors], ["h"], **attributes),
        helper.make_node("Reshape", ["h", "t"], ["y"]),
    ]
    model = saved(nodes, dims, t=np.array([1, -1]), **tensors)
    for words in (["check", model], ["fix", model, "-o", "o.onnx", "--no-certify"]):
        code = cli.main([*words, *(["--free", f"x:{axis}=S"] if axis else ["--batch"])])
        said = capsys.readouterr()
        assert code in {0, 1, 2}, said
        assert "[unforeseen]" not in said.err


def test_a_batch_of_very_many_samples(capsys: Captured) -> None:
    model = saved([helper.make_node("Reshape", ["x", "t"], ["y"])], [20000, 4], t=np.array([20000, 2, 2]))

    assert cli.main(["fix", model, "--batch", "-o", "o.onnx"]) == 0
    said = capsys.readouterr().out
    assert "proven: for all N >= 1 " in said
    assert "onnxruntime agrees at N = 20000, 40000, 60000, 1" in said


def test_samples_are_picked_as_they_were_split() -> None:
    rng = np.random.default_rng(0)
    pieces = [{"a": rng.random((3, 5)), "b": rng.random((5, 3)), "c": rng.random(2)} for _ in range(3)]
    axes, size = {"a": 1, "b": 0}, 5
    rows = {name: [np.split(piece[name], size, axis) for piece in pieces] for name, axis in axes.items()}
    for name, axis in axes.items():
        shuffled = np.concatenate([rows[name][place % 2][size - 1 - place] for place in range(size)], axis)
        assert np.array_equal(_shuffled(pieces, axes, size)[name], shuffled)
        for turn in range(3):
            rotated = np.concatenate([rows[name][(turn + place) % 3][place] for place in range(size)], axis)
            assert np.array_equal(_rotated(pieces, axes, size, turn)[name], rotated)


@pytest.mark.parametrize("dims", [(7,), (7, 3), (70000, 2), (3, 40000), (2, 0), (0, 2)])
def test_many_samples_measure_as_one_by_one(dims: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    want = rng.normal(size=dims).astype(np.float32)
    got = want + rng.normal(size=dims).astype(np.float32) * np.float32(1e-3)
    if want.size:
        want.reshape(-1)[-1], got.reshape(-1)[0] = np.nan, np.inf
    where = rng.random(dims) < 0.7
    meter = Meter("y", None, scale_of([want]), FLOATS, FLOATS)
    few = range(0, len(want), max(1, len(want) // 50))
    alone = [meter.distance(got[place : place + 1], want[place : place + 1], where[place : place + 1]) for place in few]
    together = meter.distance(got[few.start :: few.step], want[:: few.step], where[:: few.step])

    assert together.units == max((each.units for each in alone), default=0)
    assert together.absolute == max((each.absolute for each in alone), default=0)


def test_one_value_many_times(capsys: Captured) -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "t"], ["r"]),
        helper.make_node("Concat", ["r"] * 20000, ["c"], axis=1),
        helper.make_node("Reshape", ["c", "t"], ["y"]),
    ]
    assert cli.main(["check", saved(nodes, [1, 4], t=np.array([1, -1]))]) == 0
    assert "1 note in m.onnx" in capsys.readouterr().out  # that the batch is fixed


def test_many_names(capsys: Captured) -> None:
    nodes = [helper.make_node("Reshape", [f"x{place}", "t"], [f"y{place}"]) for place in range(300)]
    infos = [helper.make_tensor_value_info(f"x{place}", 1, [1, f"a{place}", 4]) for place in range(300)]
    outputs = [helper.make_tensor_value_info(f"y{place}", 1, None) for place in range(300)]
    graph = helper.make_graph(nodes, "g", infos, outputs, [numpy_helper.from_array(np.array([1, 4]), "t")])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    Path("m.onnx").write_bytes(proto.SerializeToString())

    assert cli.main(["check", "m.onnx"]) == 1
    assert "300 errors" in capsys.readouterr().out
