"""Whether an ONNX model is sound, as onnx.checker sees it: asked where something broke down on it.

A model that is not sound (an input too few, an attribute of another type, a permutation with an axis twice) can break
any rule that reads it.  That is the model's mistake, and is said so; what breaks down on a sound one is ours, and goes
on as it came.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onereshape.formats.model_data import ModelData
from onereshape.formats.onnx.onnx_native import refused_by_checker
from onereshape.formats.refusals import cause, unreadable
from onereshape.ground.errors import ReshapeError

if TYPE_CHECKING:
    import onnx_ir as ir

_LARGEST_CHECKED = 1024
"""Elements of a constant that the checker is shown."""


def complaint(model: ir.Model) -> str | None:  # noqa: C901 - all that the checker minds and engines do not
    """What onnx.checker says against a model; large constants are shown to it as inputs."""
    import onnx  # noqa: PLC0415 - takes long

    from onereshape.formats.onnx.onnx_graphs import MOST_UNFOLDED, unfolded  # noqa: PLC0415
    from onereshape.formats.onnx.onnx_lists import message  # noqa: PLC0415

    if unfolded(model) > MOST_UNFOLDED:  # the checker would unfold them
        return f"its functions unfold to more than {MOST_UNFOLDED} nodes"
    try:
        proto: Any = message(model)[0]
        graph = proto.graph
        for info in (*graph.input, *graph.output, *graph.value_info):
            for dim in info.type.tensor_type.shape.dim:
                if dim.dim_value < 0:  # some write -1 for an unknown dim; onnx's inference of a Slice ends the process
                    dim.Clear()
        for index in reversed(range(len(graph.output))):  # the checker wants a shape there, and engines do not
            if not graph.output[index].type.tensor_type.HasField("shape"):
                del graph.output[index]
        listed = {info.name for info in graph.input}
        for index in reversed(range(len(graph.initializer))):
            tensor = graph.initializer[index]
            size = 1
            for dim in tensor.dims:
                size *= dim
            if size <= _LARGEST_CHECKED and tensor.data_location != onnx.TensorProto.EXTERNAL:
                continue
            if tensor.name not in listed:
                graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
            del graph.initializer[index]
        content = proto.SerializeToString()
    except Exception as error:  # noqa: BLE001 - of a graph that is none
        return cause(error)
    return refused_by_checker(content)


@contextmanager
def blamed(model: ModelData, *, rewritten: bool = False) -> Iterator[None]:
    """Turns what breaks down on a model that is not sound into a refusal that says what is wrong with the model.

    `rewritten`: it may be half another one by then, and its file as it was read is judged.
    """
    try:
        yield
    except OSError as error:
        if model.format == "onnx" and (location := _weights_at(_judged(model, rewritten), error.filename)) is not None:
            raise unreadable(model.path, f"its data in {location!r} cannot be read ({error.strerror})") from None
        raise
    except (ReshapeError, MemoryError, ImportError, NameError, SyntaxError):
        raise  # no model is to blame for these
    except Exception as error:
        why = complaint(_judged(model, rewritten)) if model.format == "onnx" else None
        if why is None:
            raise
        raise ReshapeError("unsupported-model", why=fault(model, why)) from error


def check_data(model: ModelData) -> None:
    """Refuses a model whose data are in files that are not there, before something asks for them."""
    from onereshape.formats.onnx.onnx_graphs import external_tensors  # noqa: PLC0415 - onnx-ir takes long

    places = {str(tensor.path): str(tensor.location) for tensor in external_tensors(model.ir)}
    for path, location in places.items():
        try:
            Path(path).stat()
        except OSError as error:
            raise unreadable(model.path, f"its data in {location!r} cannot be read ({error.strerror})") from None


def fault(model: ModelData, why: str) -> str:
    """What is wrong with a model of which something else says that it is not sound."""
    from onereshape.formats.onnx.onnx_graphs import every  # noqa: PLC0415 - onnx-ir takes long
    from onereshape.formats.onnx.onnx_model import Original  # noqa: PLC0415

    original = model.original
    sparse = original.proto.graph.sparse_initializer if isinstance(original, Original) else ()
    if sparse:  # onnx-ir has no place for them, so what reads them reads nothing
        return f"{model.path}: its initializer {sparse[0].values.name!r} is sparse, and sparse tensors are not followed"
    for node in every(model.ir.graph):
        for value in filter(None, node.inputs):
            if value.producer() is None and not value.is_graph_input() and not value.is_initializer():
                called = f"{node.op_type} {node.name or ''}".rstrip()
                return f"{model.path}: its {called} reads {value.name!r}, which nothing makes"
    return f"{model.path}: is not a sound ONNX model: {why}"


def _judged(model: ModelData, rewritten: bool) -> ir.Model:
    from onereshape.formats.onnx.onnx_model import as_read  # noqa: PLC0415 - onnx-ir takes long

    return as_read(model) if rewritten and model.original is not None else model.ir


def _weights_at(model: ir.Model, path: object) -> str | None:
    """The location of external data, as the model writes it, if the file at `path` holds them; else None."""
    from onereshape.formats.onnx.onnx_graphs import external_tensors  # noqa: PLC0415 - onnx-ir takes long

    found = (tensor for tensor in external_tensors(model) if str(tensor.path) == str(path))
    return next((str(tensor.location) for tensor in found), None)
