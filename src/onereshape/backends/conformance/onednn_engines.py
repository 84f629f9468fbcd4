"""How oneDNN is asked: a graph of one StaticReshape, compiled by the library and executed where there are elements."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, byref, c_int64, c_size_t, c_uint8, c_void_p, pointer
from math import prod

import numpy as np

from onereshape.backends.conformance.onednn_library import (
    FUSION,
    MOST_DIMS,
    REFUSALS,
    SHAPE,
    SPECIAL_ZERO,
    STATIC_RESHAPE,
    STRIDED,
    TYPES,
    UNKNOWN_RANK,
    Library,
    LogicalTensor,
    StatusError,
    library,
)
from onereshape.backends.conformance.questions import EngineQuestion, EngineRefused, Output
from onereshape.ground.dtypes import named

_DATA, _OUTPUT = 0, 1
"""The ids of the two tensors."""


def version() -> str:
    """The release that answers, and where it was found; `Missing` where there is none."""
    return f"{library().release} ({library().place})"


def compiled(question: EngineQuestion) -> Output:
    """The dims of the output as the compiler infers them; nothing is executed."""
    with _refusing(), ExitStack() as used:
        _, output = _compiled(library(), question, used)
        return Output(_dims(output), executed=False)


def executed(question: EngineQuestion) -> Output:
    """The graph compiled and executed."""
    with _refusing(), ExitStack() as used:
        dnnl = library()
        partition, output = _compiled(dnnl, question, used)
        dims = _dims(output)
        if prod(dims) != prod(question.data):
            return Output(dims)
        given = np.ascontiguousarray(question.elements)
        put = np.frombuffer(b"\xa5" * given.nbytes, given.dtype).copy()  # which no data is made of
        tensors = []
        for tensor, array in ((_data(dnnl, question), given), (output, put)):
            tensors.append(dnnl.made("graph_tensor_create", byref(tensor), dnnl.engine, array.ctypes.data))
            used.callback(dnnl.call, "graph_tensor_destroy", tensors[-1])
        ins, outs = ((c_void_p * 1)(tensor) for tensor in tensors)
        dnnl.call("graph_compiled_partition_execute", partition, dnnl.stream, 1, ins, 1, outs)
        dnnl.call("stream_wait", dnnl.stream)
        return Output(dims, put)


@contextmanager
def _refusing() -> Iterator[None]:
    """Turns a status of the library that is about the question into a refusal of the engine."""
    try:
        yield
    except StatusError as error:
        if error.status in REFUSALS:
            raise EngineRefused(str(error)) from None
        raise


def _data(dnnl: Library, question: EngineQuestion) -> LogicalTensor:
    """The tensor of data; where it has more dims than the library's struct, the library would write past its end."""
    rank = len(question.data)
    if rank > MOST_DIMS:
        raise EngineRefused(f"a logical tensor has no room for {rank} dims")
    dims, made = (c_int64 * rank)(*question.data), LogicalTensor()
    dnnl.call("graph_logical_tensor_init_with_dims", byref(made), _DATA, _type(question), rank, dims, STRIDED, 0)
    return made


def _type(question: EngineQuestion) -> int:
    found = named(question.data_type)
    if found is None or found.onednn is None:
        raise ValueError(f"oneDNN has no {question.data_type}")
    return TYPES[found.onednn]


def _dims(tensor: LogicalTensor) -> tuple[int, ...]:
    return tuple(tensor.dims[: tensor.rank])


def _compiled(dnnl: Library, question: EngineQuestion, used: ExitStack) -> tuple[c_void_p, LogicalTensor]:
    """The one partition of the graph, compiled, and the tensor that it puts out."""
    data, output = _data(dnnl, question), LogicalTensor()
    dnnl.call("graph_logical_tensor_init", byref(output), _OUTPUT, data.type, UNKNOWN_RANK, STRIDED, 0)
    partition = _partition(dnnl, _graph(dnnl, question, data, output, used), used)
    made = dnnl.made("graph_compiled_partition_create", partition)
    used.callback(dnnl.call, "graph_compiled_partition_destroy", made)
    ins, outs = ((POINTER(LogicalTensor) * 1)(pointer(each)) for each in (data, output))
    dnnl.call("graph_partition_compile", partition, made, 1, ins, 1, outs, dnnl.engine)
    dnnl.call("graph_compiled_partition_query_logical_tensor", made, _OUTPUT, byref(output))
    return made, output


def _graph(
    dnnl: Library, question: EngineQuestion, data: LogicalTensor, output: LogicalTensor, used: ExitStack
) -> c_void_p:
    op = dnnl.made("graph_op_create", 0, STATIC_RESHAPE, b"reshape")
    used.callback(dnnl.call, "graph_op_destroy", op)
    words = (c_int64 * len(question.target))(*question.target)
    dnnl.call("graph_op_set_attr_s64", op, SHAPE, words, len(question.target))
    dnnl.call("graph_op_set_attr_bool", op, SPECIAL_ZERO, (c_uint8 * 1)(question.zero_copies), 1)
    dnnl.call("graph_op_add_input", op, byref(data))
    dnnl.call("graph_op_add_output", op, byref(output))
    graph = dnnl.graph()
    used.callback(dnnl.call, "graph_graph_destroy", graph)
    dnnl.call("graph_add_op", graph, op)
    dnnl.call("graph_graph_finalize", graph)
    return graph


def _partition(dnnl: Library, graph: c_void_p, used: ExitStack) -> c_void_p:
    dnnl.call("graph_graph_filter", graph, FUSION)
    count = c_size_t()
    dnnl.call("graph_graph_get_partition_num", graph, byref(count))
    if count.value != 1:
        raise EngineRefused(f"{count.value} partitions")
    found = (c_void_p * 1)()
    dnnl.call("graph_graph_get_partitions", graph, 1, found)
    partition = c_void_p(found[0])
    used.callback(dnnl.call, "graph_partition_destroy", partition)
    supported = c_uint8()
    dnnl.call("graph_partition_is_supported", partition, byref(supported))
    if not supported.value:
        raise EngineRefused("the partition is not supported")
    return partition
