"""Reshapes that torch and JAX trace: their own reshape in the graph, with symbols for sizes; refusals in our words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import onnx
import pytest
import torch
from jax import export as jax_export
from onnx import numpy_helper
from torch._dynamo.backends.common import aot_autograd

import onereshape as orx
from tests import running

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's own, about how it traces

OP = orx.Reshape("onnx")
STATIC = orx.Reshape("onednn-static", shape=(0, -1), special_zero=True)
VIEWS = {"aten.view.default", "aten.reshape.default"}
COPIES = {"aten.clone.default", "aten._unsafe_view.default"}

Function = Callable[[Any], Any]
SHAPED: Any = jax.ShapeDtypeStruct


def traced(function: Function, dims: Sequence[tuple[int, ...]], *, dynamic: bool) -> set[str]:
    """The operators of torch in the graphs of a compiled function, which answers as it does uncompiled."""
    seen: set[str] = set()

    def look(graph: torch.fx.GraphModule, _: Any) -> torch.fx.GraphModule:
        seen.update(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph

    torch._dynamo.reset()
    backend = aot_autograd(fw_compiler=look, bw_compiler=look)
    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic, backend=backend)
    for each in dims:
        x = torch.randn(each, requires_grad=True)
        result = compiled(x)
        assert torch.equal(result, function(x))
        (grad,) = torch.autograd.grad((result**3).sum(), x)
        (expected,) = torch.autograd.grad((function(x) ** 3).sum(), x)
        assert torch.equal(grad, expected)
    return {name for name in seen if name.startswith("aten.")}


class TestCompiled:
    DIMS = [(4, 6, 8), (7, 4, 2), (30, 40, 8)]

    @pytest.mark.parametrize("dynamic", [False, True])
    @pytest.mark.parametrize(
        "function",
        [
            lambda x: OP(x, [0, -1]),
            lambda x: OP(x, (0, 2, -1)),
            lambda x: STATIC(x * 1) * 1,
            lambda x: orx.reshape(x, [0, -1], "onnx"),
            lambda x: orx.reshape(x, [0, -1], "onnx-1"),
            lambda x: orx.reshape(x, [0, -1], "openvino", special_zero=True),
            lambda x: orx.reshape(x, [x.shape[0], -1], "onnx", allowzero=1),
            lambda x: orx.reshape(x, [0, -1], "onnx", copy=False),
        ],
    )
    def test_is_a_view_and_nothing_else(self, function: Function, dynamic: bool) -> None:
        dims = self.DIMS if dynamic else self.DIMS[::2]  # each is compiled anew
        assert traced(function, dims, dynamic=dynamic) <= VIEWS | {"aten.mul.Tensor"}

    @pytest.mark.parametrize("dynamic", [False, True])
    def test_copies_where_it_must_or_is_told_to(self, dynamic: bool) -> None:
        def turned(x: Any) -> Any:
            return OP(x.transpose(0, 1), [0, -1])

        def told(x: Any) -> Any:
            return OP(x, [0, -1], copy=True)

        dims = self.DIMS if dynamic else self.DIMS[::2]
        assert traced(turned, dims, dynamic=dynamic) <= VIEWS | COPIES | {"aten.transpose.int"}
        assert "aten.clone.default" in traced(told, dims, dynamic=dynamic)

    def test_inductor_makes_no_kernel_for_it(self) -> None:
        """Two elementwise operators around a Reshape are one kernel, as they are without it."""
        from torch._inductor import config, metrics

        def around(x: Any) -> Any:
            return orx.reshape(x * 2, [0, -1], "onnx") + 1

        torch._dynamo.reset()
        metrics.reset()
        x = torch.randn(8, 16, 4)
        with config.patch(compile_threads=1):  # not many workers for one kernel
            assert torch.equal(torch.compile(around, fullgraph=True)(x), around(x))
        assert metrics.generated_kernel_count == 1

    @pytest.mark.parametrize("fullgraph", [False, True])
    @pytest.mark.parametrize("dynamic", [False, True])
    @pytest.mark.parametrize(
        ("words", "copy", "said"),
        [
            ([5, -1], None, "target[1] cannot be inferred: 24 elements do not divide by 5 (remainder 4)"),
            ([5, 5], None, "data has 24 elements, but the target asks for 25"),
            ([0, 0, 0], None, "target[2] is 0 and copies data[2], but data has 2 dims"),
            ([-1, -1], None, "target[1] is a second -1, after target[0]"),
            ([-2, 3], None, "target[0] is -2: only -1, 0 and positive sizes have a meaning"),
            ([-1], False, "copy=False, but the strides [1, 6] allow no view of dims [24]"),
        ],
    )
    def test_refusals_are_in_our_words(
        self, words: list[int], copy: bool | None, said: str, dynamic: bool, fullgraph: bool
    ) -> None:
        torch._dynamo.reset()
        compiled = torch.compile(
            lambda x: OP(x.T, words, copy=copy), fullgraph=fullgraph, dynamic=dynamic, backend="eager"
        )
        with pytest.raises((RuntimeError, orx.ReshapeError)) as refusal:
            compiled(torch.zeros(4, 6))

        assert said in str(refusal.value)

    def test_a_target_that_changes(self) -> None:
        """torch takes integers that change for symbols; a 0, a -1 and a size stay what they are."""
        torch._dynamo.reset()
        compiled = torch.compile(lambda x, words: OP(x, words) * 2, fullgraph=True, dynamic=True, backend="aot_eager")
        x = torch.randn(4, 6, 5)
        for words in ([0, -1], [-1, 5], [8, 15], [-1, 0], [120, 1], [3, -1]):
            assert torch.equal(compiled(x, words), OP(x, words) * 2)  # type: ignore[arg-type]

    def test_types_are_checked(self) -> None:
        torch._dynamo.reset()
        compiled = torch.compile(lambda x: orx.reshape(x, [4], "onnx-5"), backend="eager")
        with pytest.raises((RuntimeError, orx.ReshapeError), match="data of type bfloat16 is refused"):
            compiled(torch.zeros(2, 2, dtype=torch.bfloat16))


class Model(torch.nn.Module):
    """A Reshape among other operators."""

    def __init__(self, function: Function) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any) -> Any:
        return self.function(x * 2) + 1


class Models(torch.nn.Module):
    """Several of them on one input, each with a factor of its own: an export takes seconds."""

    def __init__(self, functions: list[Function]) -> None:
        super().__init__()
        self.functions = functions

    def forward(self, x: Any) -> Any:
        return tuple(function(x * factor) + 1 for factor, function in enumerate(self.functions, 2))


class TestExported:
    @pytest.mark.parametrize("strict", [True, False])
    @pytest.mark.parametrize(
        "function", [lambda x: OP(x, [0, 2, -1]), lambda x: orx.reshape(x, [0, 2, -1], "openvino", special_zero=True)]
    )
    def test_with_symbolic_sizes(self, function: Function, strict: bool) -> None:
        dims = {0: torch.export.Dim("N", min=2), 1: torch.export.Dim("S", min=2)}
        program = torch.export.export(
            Model(function), (torch.zeros(4, 5, 6),), dynamic_shapes={"x": dims}, strict=strict
        )
        operators = {str(node.target) for node in program.graph.nodes if node.op == "call_function"}
        assert {name for name in operators if name.startswith("aten.")} <= VIEWS | {
            "aten.mul.Tensor",
            "aten.add.Tensor",
            "aten.sym_size.int",
        } | {"aten._assert_scalar.default"}
        x = torch.randn(9, 7, 6)

        assert torch.equal(program.module()(x), x.reshape(9, 2, 21) * 2 + 1)

    def test_refusals_are_ours(self) -> None:
        model = Model(lambda x: OP(x, [7, -1]))
        with pytest.raises(orx.ReshapeError, match="120 elements do not divide by 7"):
            torch.export.export(model, (torch.zeros(4, 5, 6),), strict=False)

    @pytest.mark.parametrize("copy", [None, True, False])
    def test_recorded_by_torch_jit(self, copy: bool | None) -> None:
        model = Model(lambda x: OP(x, [0, -1], copy=copy))
        recorded = torch.jit.trace(model, (torch.zeros(2, 3, 4),))
        for dims in [(2, 3, 4), (5, 6, 7)]:
            x = torch.randn(dims)
            assert torch.equal(recorded(x), x.reshape(dims[0], -1) * 2 + 1)

    def test_recorded_with_sizes_for_words(self) -> None:
        recorded = torch.jit.trace(
            Model(lambda x: OP(x, [x.shape[1], x.shape[0], -1])),
            (torch.zeros(2, 3, 4),),
        )
        x = torch.randn(5, 6, 7)

        assert torch.equal(recorded(x), x.reshape(6, 5, 7) * 2 + 1)

    def test_nothing_remembered_is_recorded(self) -> None:
        """What the eager call knows of these dims must not become a number of the trace."""
        x = torch.zeros(2, 3, 4)
        for _ in range(2):
            orx.reshape(x, [0, -1], "onnx")
        recorded = torch.jit.trace(Model(lambda x: orx.reshape(x, [0, -1], "onnx")), (x,))

        assert recorded(torch.zeros(7, 5)).shape == (7, 5)

    def test_large_copies_are_recorded_too(self) -> None:
        recorded = torch.jit.trace(Model(lambda x: OP(x.T, [-1])), (torch.randn(64, 90),))
        x = torch.randn(70, 80)

        assert torch.equal(recorded(x), x.T.reshape(-1) * 2 + 1)

    def test_large_copies_under_make_fx(self) -> None:
        from torch.fx.experimental.proxy_tensor import make_fx

        graph = make_fx(lambda x: orx.reshape(x.T, [-1], "onnx"))(torch.randn(64, 90))
        x = torch.randn(64, 90)

        assert torch.equal(graph(x), x.T.reshape(-1))


class TestExportedToOnnx:
    CASES: list[tuple[Function, list[int], int]] = [
        (lambda x: OP(x, [0, -1]), [0, -1], 0),
        (lambda x: orx.reshape(x, [0, -1], "onnx"), [0, -1], 0),
        (lambda x: orx.reshape(x, (0, 0, 2, -1), "openvino", special_zero=True), [0, 0, 2, -1], 0),
        (lambda x: orx.reshape(x, [-1, 12], "onnx", allowzero=1), [-1, 12], 1),
        (STATIC, [0, -1], 0),
    ]

    def check(self, path: Path, cases: list[tuple[Function, list[int]]]) -> list[Any]:
        """The Reshapes of a model with an output for each case."""
        model = onnx.load(path)
        reshapes = [node for node in model.graph.node if node.op_type == "Reshape"]
        assert len(reshapes) == len(cases)
        assert {node.op_type for node in model.graph.node} <= {"Reshape", "Mul", "Add", "Constant"}
        values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant":
                values[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        assert [values[node.input[1]].tolist() for node in reshapes] == [words for _, words in cases]
        session = running.session(path, optimized=True)
        for batch in (2, 1, 7):
            x = np.random.default_rng(0).random((batch, 3, 4), np.float32)
            results = session.run(None, {session.get_inputs()[0].name: x})
            for factor, (result, (function, _)) in enumerate(zip(results, cases, strict=True), 2):
                assert np.array_equal(result, function(torch.from_numpy(x) * factor).numpy() + 1)
        return reshapes

    def test_by_the_exporter(self, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        program = torch.onnx.export(
            Models([function for function, _, _ in self.CASES]), (torch.zeros(2, 3, 4),),
            dynamo=True, dynamic_shapes={"x": {0: "N"}}, verbose=False,
        )  # fmt: skip
        assert program is not None
        program.save(path)
        nodes = self.check(path, [(function, words) for function, words, _ in self.CASES])

        found = [[each.i for each in node.attribute if each.name == "allowzero"] for node in nodes]
        assert found == [[literal] for _, _, literal in self.CASES]

    @pytest.mark.parametrize(("function", "words", "literal"), CASES)
    def test_by_the_older_exporter(self, function: Function, words: list[int], literal: int, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        axes = {"x": {0: "N"}}
        torch.onnx.export(
            Model(function), (torch.zeros(2, 3, 4),), str(path), dynamo=False, input_names=["x"], dynamic_axes=axes
        )
        (node,) = self.check(path, [(function, words)])

        assert literal in {0, 1}
        assert not node.attribute or node.attribute[0].i == literal

    def test_sizes_for_words(self, tmp_path: Path) -> None:
        """A target that is no numbers has no words: torch's own reshape is exported."""
        path = tmp_path / "model.onnx"
        model = Model(lambda x: OP(x, [x.shape[0], -1]))
        torch.onnx.export(
            model, (torch.zeros(2, 3, 4),), str(path), dynamo=False, input_names=["x"], dynamic_axes={"x": {0: "N"}}
        )
        session = running.session(path, optimized=True)
        (result,) = session.run(None, {"x": np.ones((5, 3, 4), np.float32)})

        assert result.shape == (5, 12)


class TestJax:
    def test_under_jit(self) -> None:
        x = jnp.arange(24.0).reshape(2, 3, 4)
        for function in (lambda x: orx.reshape(x, [0, -1], "onnx"), OP.bind([0, -1])):
            jaxpr = jax.make_jaxpr(function)(x)
            assert [str(each.primitive) for each in jaxpr.eqns] == ["reshape"]
            assert np.array_equal(jax.jit(function)(x), x.reshape(2, 12))

    def test_gradients_and_batches(self) -> None:
        x = jnp.arange(24.0).reshape(2, 3, 4)

        assert np.array_equal(jax.grad(lambda y: (orx.reshape(y, [-1], "onnx") ** 2).sum())(x), 2 * x)
        assert np.array_equal(jax.vmap(lambda y: orx.reshape(y, [0, 2, -1], "onnx"))(x), x.reshape(2, 3, 2, 2))

    @pytest.mark.parametrize(
        ("target", "row", "flags"),
        [
            ([0, -1], "onnx", {}),
            ([-1, 4], "onnx", {}),
            ([0, 2, -1], "onnx", {}),
            ([-1, 0, 2], "openvino", {"special_zero": True}),
            ([0, 12], "onednn-static", {"special_zero": True}),
        ],
    )
    def test_exported_with_symbolic_sizes(self, target: list[int], row: str, flags: dict[str, Any]) -> None:
        (batch,) = jax_export.symbolic_shape("b")
        argument = SHAPED((batch, 3, 4), jnp.float32)
        exported: Any = jax_export.export(jax.jit(lambda x: orx.reshape(x, target, row, **flags)))(argument)
        for size in (1, 2, 5):
            x = np.arange(12 * size, dtype=np.float32).reshape(size, 3, 4)
            assert np.array_equal(exported.call(x), orx.reshape(x, target, row, **flags))

    @pytest.mark.parametrize(
        ("target", "said"),
        [
            ([0, 5, -1], "12 elements do not divide by 5"),
            ([0, 0, 0, 0], "but data has 3 dims"),
            ([-1, -1], "a second -1"),
            ([0, 13], "JAX"),
        ],
    )
    def test_symbols_that_do_not_fit(self, target: list[int], said: str) -> None:
        (batch,) = jax_export.symbolic_shape("b")
        argument = SHAPED((batch, 3, 4), jnp.float32)
        with pytest.raises(orx.ReshapeError, match=said):
            jax_export.export(jax.jit(lambda x: orx.reshape(x, target, "onnx")))(argument)

    def test_a_copy_that_is_told(self) -> None:
        (batch,) = jax_export.symbolic_shape("b")
        argument = SHAPED((batch, 3), jnp.float32)
        assert jax_export.export(jax.jit(lambda x: OP(x, [-1], copy=True)))(argument).out_avals[0].ndim == 1
        with pytest.raises(orx.ReshapeError, match="JAX gives no view"):
            jax_export.export(jax.jit(lambda x: OP(x, [-1], copy=False)))(argument)

    def test_a_traced_target_is_refused(self) -> None:
        with pytest.raises(orx.ReshapeError, match="the target of a Reshape must be static"):
            jax.jit(lambda x, shape: orx.reshape(x, shape, "onnx"))(jnp.zeros(4), jnp.array([2, 2]))
