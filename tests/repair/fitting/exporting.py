"""Export: a small model at given sizes, as one of two exporters writes it; Case: a maker of such models.

The exporter `script` writes every constant as a node of its own; `graph` writes initializers, and equal ones only once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.learned import DOMAIN
from tests.running import session

Array = np.ndarray[Any, Any]
Sizes = Mapping[str, int]
EXPORTERS = ("script", "graph")
FLOAT, INT = np.dtype(np.float32), np.dtype(np.int64)


class Export:
    """A model that is being written at given sizes; every method that adds a tensor returns its name."""

    def __init__(self, sizes: Sizes, exporter: str) -> None:
        self.sizes = sizes
        self.freed: dict[str, dict[int, str]] = {}
        self.opset = 18
        self.learned = 3
        self._exporter = exporter
        self._inputs: list[onnx.ValueInfoProto] = []
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[str, Array] = {}

    def x(self, *dims: int | str, name: str = "x", dtype: np.dtype[Any] = FLOAT) -> str:
        """An input; a dim that has a name has the size of that name."""
        self.freed[name] = {axis: dim for axis, dim in enumerate(dims) if isinstance(dim, str)}
        shape = [self.sizes[dim] if isinstance(dim, str) else dim for dim in dims]
        self._inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape))
        return name

    def constant(self, array: Any, dtype: np.dtype[Any] | None = None) -> str:
        """A constant; Python's numbers are float32 or int64."""
        found = np.asarray(array)
        if dtype is None:
            dtype = FLOAT if found.dtype == np.float64 else found.dtype
        found = found.astype(dtype)
        if self._exporter == "script":
            tensor = numpy_helper.from_array(found)
            return self.node("Constant", value=tensor)
        for name, other in self._constants.items():
            if other.dtype == found.dtype and other.shape == found.shape and other.tobytes() == found.tobytes():
                return name
        name = f"val_{len(self._constants)}"
        self._constants[name] = found
        return name

    def node(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """A node; the name of its first output, to which `.1` is added for the second."""
        name = f"/{op}_{len(self._nodes)}"
        names = [f"{name}_out", *(f"{name}_out.{place}" for place in range(1, outputs))]
        self._nodes.append(helper.make_node(op, inputs, names, name, **attributes))
        return names[0]

    def weight(self, *dims: int) -> str:
        """A constant that has nothing to do with a size: the same in all exports."""
        return self.constant(np.random.default_rng(dims).standard_normal(dims), FLOAT)

    def model(self, *outputs: str) -> onnx.ModelProto:
        """The model with these outputs, of which it says nothing but the names."""
        nodes = [*self._nodes]
        infos = []
        for place, output in enumerate(outputs):
            nodes.append(helper.make_node("Identity", [output], [f"y{place}"], f"/last_{place}"))
            infos.append(onnx.ValueInfoProto(name=f"y{place}"))
        graph = helper.make_graph(nodes, "g", self._inputs, infos)
        graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in self._constants.items())
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid(DOMAIN, self.learned)]
        proto = helper.make_model(graph, opset_imports=imports, ir_version=10)
        inferred = onnx.shape_inference.infer_shapes(proto, data_prop=True)
        del proto.graph.output[:]
        proto.graph.output.extend(inferred.graph.output)
        return proto

    def flat(self, value: str) -> str:
        """A tensor in a row, by a target that says how long it is; as it is in a run where no shape is inferred."""
        model = self.model(value)
        known = model.graph.output[0].type.tensor_type
        if known.HasField("shape"):
            counts = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in known.shape.dim]
        else:
            counts = [*self._run(model).shape]
        return self.node("Reshape", value, self.constant(np.array([-1 if -1 in counts else math.prod(counts)])))

    def _run(self, model: onnx.ModelProto) -> Array:
        feeds = {}
        for each in model.graph.input:
            tensor = each.type.tensor_type
            dims = [dim.dim_value for dim in tensor.shape.dim]
            feeds[each.name] = np.zeros(dims, helper.tensor_dtype_to_np_dtype(tensor.elem_type))
        found: Array = session(model).run(None, feeds)[0]
        return found


Build = Callable[[Export], str | Sequence[str]]


class Case(NamedTuple):
    """A maker of models, and the sizes at which they are exported and judged."""

    name: str
    build: Build
    exports: tuple[Sizes, ...]
    """What the repair is shown."""
    unseen: tuple[Sizes, ...]
    """Where it must be right, too."""
    refused: str = ""
    """A near miss: the word that its refusal has (`ambiguous`, `cannot-free` ...)."""

    def __str__(self) -> str:
        return self.name

    def at(self, sizes: Sizes, exporter: str) -> tuple[onnx.ModelProto, dict[str, dict[int, str]]]:
        """The export at these sizes, and which of its dims have names."""
        export = Export(sizes, exporter)
        built = self.build(export)
        outputs = [built] if isinstance(built, str) else built
        return export.model(*outputs), {name: axes for name, axes in export.freed.items() if axes}


SEQUENCE = ({"S": 12}, {"S": 23}), ({"S": 16}, {"S": 31}, {"S": 9})
TABLES = ({"S": 12}, {"S": 23}), ({"S": 16}, {"S": 21}, {"S": 13})
"""A table ends with the larger export."""
EIGHTHS = ({"S": 16}, {"S": 40}), ({"S": 24}, {"S": 48}, {"S": 8})
PICTURE = ({"H": 8, "W": 8}, {"H": 20, "W": 12}), ({"H": 16, "W": 16}, {"H": 12, "W": 28}, {"H": 24, "W": 8})
ODD = ({"H": 9, "W": 9}, {"H": 22, "W": 15}), ({"H": 13, "W": 13}, {"H": 10, "W": 31}, {"H": 17, "W": 8})
TWO = ({"S": 12, "T": 7}, {"S": 23, "T": 14}), ({"S": 16, "T": 9}, {"S": 10, "T": 21}, {"S": 31, "T": 8})
BATCHES = ({"N": 2, "S": 12}, {"N": 3, "S": 23}), ({"N": 5, "S": 16}, {"N": 1, "S": 31}, {"N": 4, "S": 9})

Where = tuple[tuple[Sizes, ...], tuple[Sizes, ...]]


def collected(cases: list[Case]) -> Callable[..., Callable[[Build], Build]]:
    """A decorator that adds a case to a list."""

    def case(where: Where = SEQUENCE, refused: str = "") -> Callable[[Build], Build]:
        def add(build: Build) -> Build:
            cases.append(Case(build.__name__.replace("_", " "), build, *where, refused))
            return build

        return add

    return case
