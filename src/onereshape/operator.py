"""Reshape: a specification with its attributes, called on arrays.

Here a specification's checks on tensors are made: the types of data and of the shape tensor, its rank, and where the
target is given.  What the target means is in `semantics`; how elements move is in `arrays`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from onereshape import dtypes
from onereshape.arrays import cpu_copy
from onereshape.arrays.chunked import chunked_library
from onereshape.arrays.libraries import library_of
from onereshape.arrays.numpy_arrays import Array, needs_copy, reshape_numpy
from onereshape.errors import ReshapeError
from onereshape.semantics import output_dims
from onereshape.specs import SPECS, Spec, spec as find_spec
from onereshape.target import read_flag, read_integers, read_target

_ndarray = np.ndarray  # one look-up less in every call

_NUMPY = (np.ndarray, np.generic)
_LISTS = (list, tuple)
"""Tuples of types, since torch cannot trace a union of them."""

_PLANS = 256
"""How many results of `output_dims` one operator remembers."""


class Reshape:
    """The operator of one specification, for repeated calls.

    >>> x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    >>> Reshape("onednn-static", shape=(0, -1), special_zero=True)(x).shape
    (2, 12)
    >>> Reshape("onnx-24", allowzero=1)(x, np.array([4, 6])).shape
    (4, 6)
    """

    __slots__ = ("_plans", "_zero_copies", "attributes", "spec", "target")

    def __init__(self, spec: str | Spec, **attributes: Any) -> None:
        self.spec = find_spec(spec)
        self.attributes = dict(attributes)
        given = dict(attributes)
        self.target: tuple[int, ...] | None = None
        """The target, where it is an attribute of the specification or was bound."""
        if self.spec.target_in == "attribute":
            if given.get("shape") is None:
                raise ReshapeError("target-missing", spec=self.spec, place="the attribute 'shape'")
            self.target = read_integers(given.pop("shape"), "shape")
        self._zero_copies = read_flag(self.spec, given)
        if self.target is not None:
            read_target(self.target, self.spec, zero_copies=self._zero_copies)  # refuse now what no data can mend
        self._plans: dict[Any, tuple[tuple[int, ...], Any]] = {}

    def __repr__(self) -> str:
        attributes = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        bound = f".bind({list(self.target)})" if self.target is not None and "shape" not in self.attributes else ""
        return f"Reshape({self.spec.name!r}{attributes}){bound}"

    @property
    def zero_copies(self) -> bool:
        """Whether a 0 in the target copies a dim of data."""
        return self._zero_copies

    def bind(self, target: Any) -> Reshape:
        """The same operator with a constant second input, which a call may leave out.

        >>> Reshape("onnx").bind([0, -1])(np.zeros((2, 3, 4))).shape
        (2, 12)
        """
        if self.spec.target_in == "attribute":
            raise ReshapeError("target-twice")
        bound = Reshape(self.spec, **self.attributes)
        bound.target = self._words(target)
        return bound

    def __call__(
        self, data: Any, shape: Any = None, *, copy: bool | None = None, chunks: Any = None, limit: Any = None
    ) -> Any:
        """`data` in its new dims: a view wherever the strides allow it; `copy` as in the array API.

        `data` is an array of NumPy, PyTorch, JAX, CuPy or the array API, and so is what comes back, on the same device.
        `shape` is the second input: a 1-D array of the type that the specification asks for, or a list of integers.
        `chunks` and `limit` are of Dask arrays: the chunks of output, and the most bytes that a block may have.
        """
        key: Any = None
        if copy is chunks is limit is None and type(data) is _ndarray:
            if shape is None:
                key = (data.shape, data.strides, data.dtype)
            elif type(shape) is _ndarray:
                key = (data.shape, data.strides, data.dtype, shape.dtype, shape.shape, shape.tobytes())
            plan = self._plans.get(key)
            if plan is not None:
                try:
                    return plan[1](data, plan[0]) if plan[1] is not None else data.reshape(plan[0])
                except MemoryError:
                    pass  # said below in our words
        if chunks is limit is None:
            return self._reshape(data, shape, copy, key, {})
        options = {"chunks": chunks, "limit": limit}
        return self._reshape(data, shape, copy, key, {name: each for name, each in options.items() if each is not None})

    def _reshape(self, data: Any, shape: Any, copy: Any, key: Any, options: dict[str, Any]) -> Any:
        """A call whose answer was not remembered."""
        if copy is not None and not isinstance(copy, bool):
            raise ReshapeError("bad-attribute", attribute="copy", value=repr(copy), allowed="None, True or False")
        if not isinstance(data, _NUMPY):
            return self._reshape_other(data, shape, copy, options)
        _check_options(options)
        data = np.asarray(data) if isinstance(data, np.generic) else data
        check_data_type(data, self.spec)
        output = self._output(data.shape, shape)
        result = reshape_numpy(data, output, copy)
        if key is not None and not data.dtype.hasobject:  # objects must be looked at each time
            kernel = cpu_copy.copied if cpu_copy.takes(data) and needs_copy(data, output) else None
            self._remember(key, output, kernel)
        return result

    def _reshape_other(self, data: Any, shape: Any, copy: bool | None, options: dict[str, Any]) -> Any:
        """An array of another library, through the module that knows it."""
        chunked = chunked_library(data)
        if chunked is not None:
            chunked.read(data)
            check = partial(_check_strings, spec=self.spec)
            return chunked.reshape(data, self.output_dims(data, shape), copy, check, **options)
        _check_options(options)
        library = library_of(data)
        if library is None:
            wanted = "an array of NumPy, PyTorch, JAX, CuPy or the array API"
            raise ReshapeError("not-an-array", what="data", type=type(data).__name__, wanted=wanted)
        if library.tracing():
            self._check_type(library.type_name(data))
            words = tuple(shape) if isinstance(shape, _LISTS) else self._words(shape)
            return library.traced(data, words, self.spec, self._zero_copies, copy)
        key = (library, *library.layout(data)) if shape is None and copy is None else None
        plan = self._plans.get(key)
        if plan is not None:
            return plan[1](data, plan[0], None)
        self._check_type(library.type_name(data))
        output = self._output(library.dims(data), shape)
        result = library.reshaped(data, output, copy)
        if key is not None:
            self._remember(key, output, library.quickest(data, output))
        return result

    def _check_type(self, name: str) -> None:
        _check_element_type(dtypes.named(name), name, self.spec)

    def _remember(self, key: Any, output: tuple[int, ...], kernel: Any) -> None:
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        self._plans[key] = output, kernel

    def _output(self, data: tuple[int, ...], shape: Any) -> tuple[int, ...]:
        words = self._words(shape)
        return output_dims(data, read_target(words, self.spec, zero_copies=self._zero_copies, data=data))

    def _words(self, shape: Any) -> tuple[int, ...]:
        """The integers of the target, from wherever the specification keeps them."""
        if shape is None:
            if self.target is None:
                raise ReshapeError("target-missing", spec=self.spec, place="a second input")
            return self.target
        if self.spec.target_in == "attribute":
            raise ReshapeError("target-twice")
        if not isinstance(shape, (_ndarray, *_LISTS)) and (library := library_of(shape)) is not None:
            shape = library.integers(shape)
        if isinstance(shape, np.ndarray):
            _check_shape_tensor(shape, self.spec)
            return tuple(shape.tolist())
        words = read_integers(shape, "target")
        _check_fits(words, self.spec)
        return words

    def output_dims(self, data: Any, shape: Any = None) -> tuple[int, ...]:
        """The dims of the output alone, for data of which only `shape` and `dtype` are there; nothing is moved."""
        check_data_type(data, self.spec)
        return self._output(data.shape, shape)


def reshape(  # noqa: PLR0913 - the options of arrays are keywords
    array: Any,
    target: Any,
    spec: str | Spec,
    *,
    copy: bool | None = None,
    chunks: Any = None,
    limit: Any = None,
    **attributes: Any,
) -> Any:
    """`array` reshaped to `target` under a specification: one call of its operator.

    >>> reshape(np.zeros((2, 3, 4), np.float32), [0, -1], "onnx").shape
    (2, 12)
    """
    row = find_spec(spec)
    if row.target_in == "input":
        return Reshape(row, **attributes)(array, target, copy=copy, chunks=chunks, limit=limit)
    return bound(target, row, **attributes)(array, copy=copy, chunks=chunks, limit=limit)


def bound(target: Any, spec: str | Spec, **attributes: Any) -> Reshape:
    """The operator of a specification with its target, wherever that specification keeps it."""
    row = find_spec(spec)
    if row.target_in == "input":
        return Reshape(row, **attributes).bind(target)
    if "shape" in attributes:
        raise ReshapeError("target-twice")
    return Reshape(row, shape=target, **attributes)


def check_data_type(data: Any, spec: Spec) -> None:
    """Refuses data of a type that the specification does not list, and says which version lists it first."""
    _check_element_type(dtypes.of_dtype(data.dtype), str(data.dtype), spec)
    if data.dtype == np.object_ and isinstance(data, np.ndarray):  # other arrays look at their blocks, later
        _check_strings(data, spec)


def _check_element_type(element_type: dtypes.ElementType | None, shown: str, spec: Spec) -> None:
    name = None if element_type is None else element_type.named_in(spec.dialect)
    if name in spec.data_types:
        return
    first = next((row for row in SPECS if row.dialect == spec.dialect and name in row.data_types), None)
    if first is None:
        allowed = f": no Reshape of {spec.dialect} takes it"
    else:
        allowed = f": allowed {'since' if first.operator == spec.operator else 'by'} {first}"
    raise _type_refusal("data-type", name or shown, spec, spec.data_types, allowed=allowed)


def _check_options(options: dict[str, Any]) -> None:
    if options:
        raise ReshapeError("bad-usage", why=f"{' and '.join(options)}: only Dask arrays have chunks")


def _check_strings(data: Array, spec: Spec) -> None:
    """Refuses objects that are no strings."""
    for element in data.flat:
        if not isinstance(element, str | bytes):
            allowed = ": an array of objects must hold only str or bytes"
            raise _type_refusal("data-type", type(element).__name__, spec, spec.data_types, allowed=allowed)


def _check_shape_tensor(shape: Array, spec: Spec) -> None:
    element_type = dtypes.of_dtype(shape.dtype)
    name = None if element_type is None else element_type.named_in(spec.dialect)
    if name not in spec.shape_types:
        raise _type_refusal("shape-type", name or str(shape.dtype), spec, spec.shape_types)
    if shape.ndim != 1:
        raise ReshapeError("shape-rank", spec=spec, rank=shape.ndim)


def _check_fits(words: tuple[int, ...], spec: Spec) -> None:
    """Refuses integers that no shape tensor of the specification could hold."""
    widest = dtypes.named(spec.shape_types[0])
    assert widest is not None and widest.numpy is not None  # noqa: PT018, S101 - a row of our own tables
    limits = np.iinfo(widest.numpy)
    for axis, word in enumerate(words):
        if not limits.min <= word <= limits.max:
            kind = spec.shape_types[0]
            raise ReshapeError("shape-value", target=words, spec=spec, axis=axis, value=word, type=kind)


def _type_refusal(code: str, name: str, spec: Spec, types: tuple[str, ...], **fields: Any) -> ReshapeError:
    return ReshapeError(code, spec=spec, type=name, types=" ".join(types), **fields)
