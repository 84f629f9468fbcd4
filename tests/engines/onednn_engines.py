"""oneDNN as it runs graphs that are said in its own words: the operators of a dump, compiled and executed.

The library is found as `conform` finds it; how it is asked is written anew.  A StaticReshape that would end the process
is not put to it here: `counted` says which those are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint8, c_void_p
from functools import cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from onereshape.backends.conformance.onednn_library import PLACES, library
from onereshape.ground.dtypes import named
from tests.engines.answers import Answer, Array, Dims, elements

UNKNOWN = -(2**63)
ONEDNN_RANK = 12
KINDS = {"StaticReshape": 72}
ATTRIBUTES = {"shape": 0x48, "special_zero": 0x64}
TYPES = ("undef", "f16", "bf16", "f32", "s32", "s8", "u8", "f64", "boolean")
REFUSALS = {3, 7, 8, 9, 10}
"""unimplemented, and invalid: graph, operator, shape, type."""


UNSUPPORTED = "the partition is not supported"


class RefusedError(Exception):
    """The library refuses a graph."""


class Tensor(ctypes.Structure):
    _fields_ = [
        ("number", c_size_t),
        ("rank", c_int),
        ("dims", c_int64 * 12),
        ("type", c_int),
        ("property", c_int),
        ("layout", c_int),
        ("strides", c_int64 * 12),
    ]


_MORE = ("set_dump_mode", "partition_get_input_ports_num", "partition_get_output_ports_num")
_PORTS = ("partition_get_input_ports", "partition_get_output_ports")


@cache
def _functions() -> dict[str, Callable[..., int]]:
    """Functions by their names without `dnnl_graph_`, of the library that `conform` found."""
    names = """graph_create graph_destroy graph_finalize graph_filter graph_get_partition_num graph_get_partitions
        add_op op_create op_destroy op_set_attr_s64 op_set_attr_bool op_add_input op_add_output partition_is_supported
        partition_compile partition_destroy compiled_partition_create compiled_partition_destroy
        compiled_partition_query_logical_tensor compiled_partition_execute tensor_create tensor_destroy""".split()
    wanted = tuple(f"dnnl_graph_{name}" for name in (*names, *_MORE, *_PORTS))
    inside = library().place.startswith("torch")
    found, _ = PLACES[1 if inside else 0](wanted)
    return {
        name.removeprefix("dnnl_graph_"): ctypes.CFUNCTYPE(c_int)(address)  # arguments as they are given
        for name, address in found.items()
    }


def call(name: str, *given: Any) -> None:
    status = _functions()[name](*given)
    if status in REFUSALS:
        raise RefusedError(f"{name}: {status}")
    assert status == 0, f"{name}: {status}"


def made(name: str, *given: Any) -> c_void_p:
    handle = c_void_p()
    call(name, byref(handle), *given)
    return handle


def logical(described: Mapping[str, Any], **changed: Any) -> Tensor:
    """A tensor as a dump describes it; a shape of one unknown dim says that nothing is known of it."""
    told = {**described, **changed}
    dims, strides = told["shape"], told["stride"]
    rank = -1 if dims == [UNKNOWN] else len(dims)
    assert rank <= ONEDNN_RANK
    layout = {"any": 1, "strided": 2}[told["layout_type"]]
    tensor = Tensor(told["id"], rank, type=TYPES.index(told["dtype"]), layout=layout)
    tensor.property = {"undef": 0, "variable": 1, "constant": 2}[told["property_type"]]
    for axis in range(rank):
        tensor.dims[axis], tensor.strides[axis] = dims[axis], strides[axis]
    for axis in range(max(rank, 0), ONEDNN_RANK):
        tensor.dims[axis] = tensor.strides[axis] = UNKNOWN
    return tensor


@contextmanager
def built(graph: Mapping[str, Any]) -> Iterator[c_void_p]:
    """The graph of a dump, finalized."""
    assert (graph["engine_kind"], graph["fpmath_mode"]) == ("cpu", "strict")
    there = made("graph_create", c_int(1))
    try:
        for told in graph["graph"]:
            op = made("op_create", c_size_t(told["id"]), c_int(KINDS[told["kind"]]), c_char_p(told["name"].encode()))
            try:
                _describe(op, told)
                call("add_op", there, op)
            finally:
                call("op_destroy", op)
        call("graph_finalize", there)
        yield there
    finally:
        call("graph_destroy", there)


def _describe(op: c_void_p, told: Mapping[str, Any]) -> None:
    for name, attribute in told["attrs"].items():
        assert list(attribute) == ["type", "value"]  # in this order: benchdnn reads no other
        value = attribute["value"]
        if attribute["type"] == "s64[]":
            call("op_set_attr_s64", op, c_int(ATTRIBUTES[name]), (c_int64 * len(value))(*value), c_size_t(len(value)))
        else:
            assert attribute["type"] == "bool"
            call("op_set_attr_bool", op, c_int(ATTRIBUTES[name]), (c_uint8 * 1)(value), c_size_t(1))
    for side, function in (("inputs", "op_add_input"), ("outputs", "op_add_output")):
        for tensor in told[side]:
            call(function, op, byref(logical(tensor)))


class Computed(NamedTuple):
    """A tensor that was computed; no array of NumPy has some of the dims that oneDNN has."""

    dims: Dims
    elements: Array
    """In C order."""

    @property
    def array(self) -> Array:
        return self.elements.reshape(self.dims)


def run_graph(graph: Mapping[str, Any], feeds: Mapping[int, Array]) -> dict[int, Computed]:
    """Every tensor that the operators of a dump put out, by its id, computed from those of its input ports.

    What a tensor of a feed is, its strides too, is told when a partition is compiled, which is where oneDNN wants to
    know it; what the file says of all other tensors must fit.
    """
    described = {tensor["id"]: tensor for op in graph["graph"] for tensor in (*op["inputs"], *op["outputs"])}
    arrays, computed = dict(feeds), dict[int, Computed]()
    with built(graph) as there:
        for partition in (partitions := _partitions(there)):
            ins, outs = (_ports(partition, side) for side in ("input", "output"))
            tensors = {number: _fed(described[number], arrays[number]) for number in ins}
            wanted = {number: logical(described[number]) for number in outs}
            computed |= _executed(partition, tensors, wanted, arrays)
            call("partition_destroy", partition)
            if partition is not partitions[-1]:
                arrays |= {number: computed[number].array for number in outs}
    return computed


def _fed(described: Mapping[str, Any], array: Array) -> Tensor:
    strides = [stride // array.itemsize for stride in array.strides]
    told = [dim for dim in described["shape"] if dim != UNKNOWN]
    if len(told) == len(described["shape"]):
        assert told == list(array.shape)
    return logical(described, shape=list(array.shape), stride=strides, layout_type="strided")


def _partitions(graph: c_void_p) -> list[c_void_p]:
    """The partitions of a graph; a partition stands after the partitions whose outputs it reads."""
    call("graph_filter", graph, c_int(1))
    count = c_size_t()
    call("graph_get_partition_num", graph, byref(count))
    found = (c_void_p * count.value)()
    call("graph_get_partitions", graph, count, found)
    return [c_void_p(each) for each in found]


def _ports(partition: c_void_p, side: str) -> list[int]:
    count = c_size_t()
    call(f"partition_get_{side}_ports_num", partition, byref(count))
    ports = (Tensor * count.value)()
    call(f"partition_get_{side}_ports", partition, count, ports)
    return [port.number for port in ports]


def _executed(
    partition: c_void_p, ins: Mapping[int, Tensor], outs: Mapping[int, Tensor], arrays: Mapping[int, Array]
) -> dict[int, Computed]:
    supported = c_uint8()
    call("partition_is_supported", partition, byref(supported))
    if not supported.value:
        raise RefusedError(UNSUPPORTED)
    compiled = made("compiled_partition_create", partition)
    try:
        pointers = ((POINTER(Tensor) * len(side))(*map(ctypes.pointer, side.values())) for side in (ins, outs))
        given, wanted = pointers
        counts = c_size_t(len(ins)), c_size_t(len(outs))
        call("partition_compile", partition, compiled, counts[0], given, counts[1], wanted, library().engine)
        put: dict[int, Array] = {}
        for number, tensor in outs.items():
            call("compiled_partition_query_logical_tensor", compiled, c_size_t(number), byref(tensor))
            put[number] = _room(tensor)
        with _tensors(ins, arrays) as fed, _tensors(outs, put) as filled:
            call("compiled_partition_execute", compiled, library().stream, counts[0], fed, counts[1], filled)
        return {number: _seen(put[number], outs[number]) for number in outs}
    finally:
        call("compiled_partition_destroy", compiled)


def _room(tensor: Tensor) -> Array:
    """Memory for a dense tensor, full of what no test puts in."""
    found = named(TYPES[tensor.type])
    assert found is not None
    assert found.numpy is not None
    dims = tuple(tensor.dims[: tensor.rank])
    return np.frombuffer(b"\xa5" * (prod(dims) * found.numpy.itemsize), found.numpy).copy()


def _seen(memory: Array, tensor: Tensor) -> Computed:
    dims, strides = tuple(tensor.dims[: tensor.rank]), tuple(tensor.strides[: tensor.rank])
    assert tensor.layout == 2
    steps = [stride * memory.itemsize for stride in strides]
    return Computed(dims, np.lib.stride_tricks.as_strided(memory, dims, steps).ravel() if memory.size else memory)


@contextmanager
def _tensors(described: Mapping[int, Tensor], arrays: Mapping[int, Array]) -> Iterator[ctypes.Array[c_void_p]]:
    engine = library().engine
    handles = [
        made("tensor_create", byref(tensor), engine, c_void_p(arrays[number].ctypes.data))
        for number, tensor in described.items()
    ]
    try:
        yield (c_void_p * len(handles))(*handles)
    finally:
        for handle in handles:
            call("tensor_destroy", handle)


@contextmanager
def dumping() -> Iterator[None]:
    """The library writes each graph that is finalized into the working folder."""
    call("set_dump_mode", c_int(2))
    try:
        yield
    finally:
        call("set_dump_mode", c_int(0))


def one_reshape(data: Sequence[int], target: Sequence[int], *, zero_copies: bool, dtype: str = "f32") -> dict[str, Any]:
    """A graph of one StaticReshape, whose output is left to the library."""
    strides = [prod(max(dim, 1) for dim in data[axis + 1 :]) for axis in range(len(data))]
    plain = {"dtype": dtype, "layout_type": "strided", "property_type": "undef"}
    shape, flag = {"type": "s64[]", "value": list(target)}, {"type": "bool", "value": int(zero_copies)}
    operator = {
        "id": 0,
        "name": "r",
        "kind": "StaticReshape",
        "attrs": {"special_zero": flag, "shape": shape},
        "inputs": [{"id": 0, "shape": list(data), "stride": strides, **plain}],
        "outputs": [{"id": 1, "shape": [UNKNOWN], "stride": [UNKNOWN], **plain}],
    }
    return {"engine_kind": "cpu", "fpmath_mode": "strict", "graph": [operator]}


def onednn_graph(data: Dims, target: Dims, zero_copies: bool) -> Answer:
    """A graph of one StaticReshape, compiled and executed."""
    try:
        output = run_graph(one_reshape(data, target, zero_copies=zero_copies), {0: elements(data)})[1]
    except RefusedError:
        return None
    assert np.array_equal(output.elements, elements(data).ravel()), (data, target)
    return output.dims


@cache
def takes(dtype: str) -> bool:
    """Whether the library supports a type on this CPU; f32 is supported on all, f16 and bf16 only where it has them."""
    kind = named(dtype)
    assert kind is not None
    try:
        run_graph(one_reshape([2], [2], zero_copies=True, dtype=dtype), {0: np.ones(2, kind.numpy)})
    except RefusedError as error:
        assert str(error) == UNSUPPORTED  # noqa: PT017 - any other refusal is another matter
        return False
    return True


def counted(data: Dims, target: Dims, zero_copies: bool, bits: int) -> Dims | None:
    """What the library infers, which counts elements in so many bits; None where it refuses."""
    filled = list(target)
    for axis, dim in enumerate(target):
        if dim < -1 or (dim == 0 and zero_copies and axis >= len(data)):
            return None
        if dim == 0 and zero_copies:
            filled[axis] = data[axis]
    if filled.count(-1) > 1:
        return None
    volume, others = (_wrapped(prod(dim for dim in dims if dim >= 0), bits) for dims in (data, filled))
    if -1 not in filled:
        return tuple(filled) if volume == others else None
    if others == 0 or volume % others:
        return None
    return tuple(volume // others if dim == -1 else dim for dim in filled)


def _wrapped(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


def onednn_survives(data: Dims, target: Dims, zero_copies: bool) -> bool:
    """Where it infers a volume that data does not have, or more dims than it has room for, the compiler aborts."""
    major, minor, *_ = map(int, library().release.split("."))
    output = counted(data, target, zero_copies, 32 if (major, minor) < (3, 13) else 64)
    if max(len(data), len(target)) > ONEDNN_RANK:
        return False
    return output is None or prod(output) == prod(data)
