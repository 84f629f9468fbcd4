'''onereshape as an ONNX backend, and as the Reshape of ONNX's reference evaluator.

The backend runs models of Reshape and Constant nodes, of every opset that `specs` knows; the module itself offers the
functions of `onnx.backend.base.Backend`, so that `onnx.backend.test.BackendTest` takes it.  Only what a model may hold
is decided here; what a Reshape means is in `operator`.

>>> import numpy as np
>>> from onnx import parser, reference
>>> from onereshape import onnx_backend
>>> model = parser.parse_model("""<ir_version: 10, opset_import: ["": 21]>
...     halves (float[2, 3, 4] x, int64[2] shape) => (float[a, b] y) { y = Reshape(x, shape) }""")
>>> x, shape = np.zeros((2, 3, 4), np.float32), np.array([0, -1])
>>> onnx_backend.run_model(model, [x, shape])["y"].shape
(2, 12)

In models that hold other operators too, ONNX's evaluator can take its Reshape from here:

>>> evaluator = reference.ReferenceEvaluator(model, new_ops=[onnx_backend.ReferenceReshape])
>>> evaluator.run(None, {"x": x, "shape": shape})[0].shape
(2, 12)
'''

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict
from onnx.reference.op_run import OpRun

from onereshape.arrays.operator import Reshape
from onereshape.ground.errors import ReshapeError
from onereshape.ground.numpy_types import Array
from onereshape.rule.specs import NEWEST_OPSET, Spec, spec

_ONNX_DOMAIN = ("", "ai.onnx")
"""Two names of one domain."""


class PreparedModel(BackendRep):
    """A graph that was found to hold nothing but Reshapes and constants, ready to run."""

    def __init__(self, graph: GraphProto, opset: int) -> None:
        row = _read_opset(opset)
        if graph.sparse_initializer:
            name = graph.sparse_initializer[0].values.name
            raise _refusal(f"initializer {name!r} is sparse, and a Reshape takes only dense tensors")
        self._constants: dict[str, Array] = {}
        self._steps: list[tuple[str, Reshape, tuple[str, ...], str]] = []
        """For each Reshape: what to call the node, its operator, its inputs, its output."""
        for tensor in graph.initializer:
            _define(tensor.name, self._constants)
            self._constants[tensor.name] = _read_tensor(tensor, f"initializer {tensor.name!r}")
        self._inputs: list[str] = []
        for value in graph.input:
            _define(value.name, self._inputs)
            self._inputs.append(value.name)
        self._defaults = self._constants.keys() & set(self._inputs)
        known = {*self._constants, *self._inputs}
        for node in graph.node:
            self._add(node, opset, row, known)
        self._output_names = [value.name for value in graph.output]
        for name in self._output_names:
            if name not in known:
                raise _refusal(f"the output {name!r} is not made by any node")
        self._outputs: Any = namedtupledict("Outputs", self._output_names)

    def _add(self, node: NodeProto, opset: int, row: Spec, known: set[str]) -> None:
        label = _label(node)
        if node.domain not in _ONNX_DOMAIN:
            raise _refusal(f"{label} is of the domain {node.domain!r}: this backend runs only ONNX's own")
        if node.op_type == "Reshape":
            attributes = _read_reshape(node, row)
            with _noted(label):
                operator = _operator(row, attributes)
            self._steps.append((label, operator, tuple(node.input), node.output[0]))
        elif node.op_type == "Constant":
            _check_places(node, 0)
            self._constants[node.output[0]] = _read_constant(node, opset)
        else:
            raise _refusal(f"{label}: this backend runs only Reshape and Constant")
        for name in node.input:
            if name not in known:
                raise _refusal(f"{label} reads {name!r}, which nothing before it makes")
        _define(node.output[0], known)
        known.add(node.output[0])

    def run(self, inputs: Any, **_kwargs: Any) -> tuple[Array, ...]:
        """The outputs, by position and by name; inputs in the graph's order or by name, or one array alone.

        A list may leave out all inputs that have an initializer as their default, a dict any of them.
        """
        values = self._constants | _read_inputs(inputs, self._inputs, self._defaults)
        for label, operator, names, output in self._steps:
            with _noted(label):
                values[output] = operator(*(values[name] for name in names))
        outputs: tuple[Array, ...] = self._outputs(*(values[name] for name in self._output_names))
        return outputs


class ReshapeBackend(Backend):
    """Runs models of Reshape and Constant nodes on the CPU; all else is refused as `unsupported-model`."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether `prepare` would take the model."""
        try:
            cls.prepare(model, device, **kwargs)
        except ReshapeError:
            return False
        return True

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **_kwargs: Any) -> PreparedModel:
        """The model, checked and ready to run many times."""
        _check_call(model, ModelProto, device)
        if model.functions:
            names = ", ".join(function.name for function in model.functions)
            raise _refusal(f"the model defines functions ({names}): inline them first, with onnx.inliner")
        return PreparedModel(model.graph, _model_opset(model))

    @classmethod
    def run_node(
        cls, node: NodeProto, inputs: Any, device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Array, ...]:
        """One node alone, of the newest opset unless `opset_version` or `opset_imports` says which."""
        del outputs_info  # what an output will be is for the node to say
        _check_call(node, NodeProto, device)
        opset = kwargs.get("opset_version", NEWEST_OPSET)
        if kwargs.get("opset_imports"):
            opset = _imported(kwargs["opset_imports"])
        graph = GraphProto(node=[node])
        for name in dict.fromkeys(node.input):
            graph.input.add(name=name)
        for name in node.output:
            graph.output.add(name=name)
        return PreparedModel(graph, opset).run(_read_inputs(inputs, node.input))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for the CPU alone."""
        return str(device).partition(":")[0] == "CPU"


is_compatible = ReshapeBackend.is_compatible
prepare = ReshapeBackend.prepare
run_model = ReshapeBackend.run_model
run_node = ReshapeBackend.run_node
supports_device = ReshapeBackend.supports_device


class ReferenceReshape(OpRun):
    """Reshape 1 to 25 for `onnx.reference.ReferenceEvaluator(model, new_ops=[ReferenceReshape])`.

    ONNX's own starts at 5 and leaves the rule to NumPy, which takes any negative size for -1.  The evaluator hands
    `new_ops` on to subgraphs, but not to the functions of a model: for those, give it the graph and
    `functions=[ReferenceEvaluator(function, new_ops=[ReferenceReshape]), ...]`.
    """

    op_domain = ""
    op_schema = None  # else the newest version's allowzero=0 would be added to nodes of every version

    def __init__(self, onnx_node: NodeProto, run_params: dict[str, Any], schema: Any = None) -> None:
        self._row = _read_opset(run_params["opsets"][onnx_node.domain])
        self._label = _label(onnx_node)
        attributes = _read_reshape(onnx_node, self._row, in_function=True)
        self._operator: Reshape | None = None
        """None where some attributes are known only when the function around the node is called."""
        if len(attributes) == len(onnx_node.attribute):
            with _noted(self._label):
                self._operator = _operator(self._row, attributes)
        super().__init__(onnx_node, run_params, schema)

    def _run(self, /, *inputs: Array, **attributes: Any) -> tuple[Array]:
        with _noted(self._label):
            operator = self._operator or _operator(self._row, attributes)
            return (operator(*inputs),)


ReferenceReshape.__name__ = "Reshape"  # the evaluator looks for a node's operator under the name of its class


def _refusal(why: str) -> ReshapeError:
    return ReshapeError("unsupported-model", why=why)


@contextmanager
def _noted(label: str) -> Iterator[None]:
    """Adds to a refusal which node it came from: a model may have many."""
    try:
        yield
    except ReshapeError as error:
        error.add_note(f"in the {label}")
        raise


def _label(node: NodeProto) -> str:
    if node.name or not node.output:
        return f"{node.op_type} node {node.name!r}"
    return f"{node.op_type} node that makes {node.output[0]!r}"


def _check_call(proto: Any, wanted: type, device: str) -> None:
    if not ReshapeBackend.supports_device(device):
        raise _refusal(f"device {device!r}: this backend runs only on CPU")
    if not isinstance(proto, wanted):
        raise _refusal(f"a {wanted.__name__} is needed, not a {type(proto).__name__}; onnx.load reads a file")


def _model_opset(model: ModelProto) -> int:
    if not model.opset_import and model.ir_version < 3:  # opsets came with version 3; before, there was only the first
        return 1
    return _imported(model.opset_import)


def _imported(imports: Iterable[Any]) -> int:
    versions = {entry.version for entry in imports if entry.domain in _ONNX_DOMAIN}
    if len(versions) != 1:
        raise _refusal(f"exactly one opset of ONNX must be imported, not {sorted(versions) or 'none'}")
    version: int = versions.pop()
    return version


def _read_opset(opset: Any) -> Spec:
    if opset not in range(1, NEWEST_OPSET + 1):
        raise _refusal(f"ONNX opset {opset} is unknown: onereshape knows 1 to {NEWEST_OPSET}")
    return spec(f"onnx-{opset}")


def _define(name: str, known: Collection[str]) -> None:
    if name in known:
        raise _refusal(f"{name!r} is defined twice")


def _check_places(node: NodeProto, inputs: int) -> None:
    for kind, names, count in (("input", node.input, inputs), ("output", node.output, 1)):
        if len(names) != count or not all(names):
            raise _refusal(f"{_label(node)} has the {kind}s {list(names)}, where exactly {count} must be named")


def _read_reshape(node: NodeProto, row: Spec, *, in_function: bool = False) -> dict[str, Any]:
    """The attributes of a Reshape, less those that only a call of the function around it will give."""
    _check_places(node, 1 if row.target_in == "attribute" else 2)
    values: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in values:
            raise _refusal(f"{_label(node)}: attribute {attribute.name!r} is given twice")
        if not (in_function and attribute.ref_attr_name):
            _check_attribute(node, attribute, (AttributeProto.INT, AttributeProto.INTS))
            values[attribute.name] = helper.get_attribute_value(attribute)
    return values


def _check_attribute(node: NodeProto, attribute: AttributeProto, kinds: Sequence[int]) -> None:
    where = f"{_label(node)}: attribute {attribute.name!r}"
    if attribute.ref_attr_name:
        raise _refusal(f"{where} is linked to {attribute.ref_attr_name!r} of a function, and the node is in none")
    if attribute.type not in kinds:
        name = AttributeProto.AttributeType.Name
        raise _refusal(f"{where} has the type {name(attribute.type)}, not {' or '.join(map(name, kinds))}")


def _operator(row: Spec, attributes: dict[str, Any]) -> Reshape:
    for name in attributes:
        if name in {"self", "spec"} or not isinstance(name, str):  # what a call cannot carry; bytes: not UTF-8
            raise ReshapeError("unknown-attribute", spec=row, attribute=name, hint="")
    return Reshape(row, **attributes)


_CONSTANT_FORMS = {
    "value": (AttributeProto.TENSOR, TensorProto.UNDEFINED),
    "value_float": (AttributeProto.FLOAT, TensorProto.FLOAT),
    "value_floats": (AttributeProto.FLOATS, TensorProto.FLOAT),
    "value_int": (AttributeProto.INT, TensorProto.INT64),
    "value_ints": (AttributeProto.INTS, TensorProto.INT64),
    "value_string": (AttributeProto.STRING, TensorProto.STRING),
    "value_strings": (AttributeProto.STRINGS, TensorProto.STRING),
}
"""What may hold the value of a Constant, and the element type that it then has; all but the first since opset 12."""


def _read_constant(node: NodeProto, opset: int) -> Array:
    label = _label(node)
    if len(node.attribute) != 1:
        given = [attribute.name for attribute in node.attribute]
        raise _refusal(f"{label} has the attributes {given}, where exactly 1 must hold its value")
    attribute = node.attribute[0]
    forms = _CONSTANT_FORMS if opset >= 12 else {"value": _CONSTANT_FORMS["value"]}
    if attribute.name not in forms:
        names = ", ".join(forms)
        raise _refusal(f"{label}: attribute {attribute.name!r} is none of those read in opset {opset}: {names}")
    kind, element_type = forms[attribute.name]
    _check_attribute(node, attribute, (kind,))
    value = helper.get_attribute_value(attribute)
    if kind != AttributeProto.TENSOR:
        dims, elements = ([len(value)], value) if isinstance(value, list) else ([], [value])
        value = helper.make_tensor("", element_type, dims, elements)
    return _read_tensor(value, label)


def _read_tensor(tensor: TensorProto, label: str) -> Array:
    if tensor.data_location == TensorProto.EXTERNAL:
        raise _refusal(f"{label} keeps its data in another file; onnx.load reads that too")
    if min(tensor.dims, default=0) < 0:  # NumPy would take one for the size that fits
        raise _refusal(f"{label} has the dims {list(tensor.dims)}")
    try:
        array = numpy_helper.to_array(tensor)
    except (KeyError, TypeError, ValueError) as error:
        raise _refusal(f"{label} holds no valid tensor: {error}") from None
    array.flags.writeable = False  # an output may be a view of it, and the next run reads it again
    return array


def _read_inputs(inputs: Any, names: Sequence[str], defaults: Collection[str] = ()) -> dict[str, Array]:
    if isinstance(inputs, Mapping):
        for name in inputs:
            if name not in names:
                raise _refusal(f"there is no input {name!r}: the inputs are [{', '.join(names)}]")
        given = dict(inputs)
    else:
        arrays = inputs if isinstance(inputs, list | tuple) else [inputs]
        required = [name for name in names if name not in defaults]
        if len(arrays) == len(required):
            names = required
        if len(arrays) != len(names):
            counts = " or ".join(str(count) for count in sorted({len(required), len(names)}))
            raise _refusal(f"{len(arrays)} input(s) were given, but {counts} are needed: [{', '.join(names)}]")
        given = dict(zip(names, arrays, strict=True))
    for name in names:
        if name in given and not isinstance(given[name], np.ndarray | np.generic):
            kind = type(given[name]).__name__
            raise ReshapeError("not-an-array", what=f"input {name!r}", type=kind, wanted="a NumPy array")
        if name not in given and name not in defaults:
            raise _refusal(f"the input {name!r} is not given")
    return {name: np.asanyarray(array) for name, array in given.items()}
