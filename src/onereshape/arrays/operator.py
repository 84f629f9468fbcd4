"""Reshape: a specification with its attributes, called on arrays.

Here a specification's checks on tensors are made: the types of data and of the shape tensor, its rank, and where the
target is given.  What the target means is in `rule.semantics`; the modules beside this one move the elements.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, overload

import numpy as np

from onereshape.arrays import calls
from onereshape.arrays.accepted import A, AnyArray, Attribute, Chunks, D, GivenTarget, S
from onereshape.arrays.chunked import chunked_library
from onereshape.arrays.libraries import library_of
from onereshape.arrays.numpy_arrays import quickest, reshape_numpy
from onereshape.ground import dtypes
from onereshape.ground.errors import ReshapeError
from onereshape.ground.numpy_types import Array
from onereshape.ground.text import shown
from onereshape.rule.semantics import output_dims
from onereshape.rule.specs import NAMES, SPECS, Spec, spec as find_spec
from onereshape.rule.target import read_flag, read_integers, read_target

_NUMPY = (np.ndarray, np.generic)
_LISTS = (list, tuple)
"""Tuples of types, since torch cannot trace a union of them."""


class _Call(NamedTuple):
    """Where a call is remembered, and what its key is made of besides data."""

    plans: Any
    words: tuple[Any, ...]
    attributes: dict[str, Any]

    def key(self, data: Any, copy: bool | None) -> Any:
        return calls.key(data, *self.words, **self.attributes) if copy is None else None

    def remember(self, data: Any, key: Any, plan: calls.CallPlan) -> None:
        calls.remember(self.plans, (data, *self.words), self.attributes, key, plan)


class _Specified(NamedTuple):
    """What an operator was asked to be."""

    spec: Spec
    zero_copies: bool
    target: tuple[int, ...] | None


def _read(spec: Spec, attributes: dict[str, Any]) -> _Specified:
    """The attributes of a specification, as they were given; those of which nothing can come are refused."""
    given, target = dict(attributes), None
    if spec.target_in == "attribute":
        if given.get("shape") is None:
            raise ReshapeError("target-missing", spec=spec, place="the attribute 'shape'")
        target = read_integers(given.pop("shape"), "shape")
    zero_copies = read_flag(spec, given)
    if target is not None:
        read_target(target, spec, zero_copies=zero_copies)  # refuse now what no data can mend
    return _Specified(spec, zero_copies, target)


class Reshape(calls.Door):
    """The operator of one specification, for repeated calls.

    >>> x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    >>> Reshape("onednn-static", shape=(0, -1), special_zero=True)(x).shape
    (2, 12)
    >>> Reshape("onnx-24", allowzero=1)(x, np.array([4, 6])).shape
    (4, 6)
    """

    __slots__ = ("__weakref__", "_zero_copies", "attributes", "spec", "target")

    spec: Spec
    """The specification."""
    attributes: dict[str, Attribute]
    """The attributes as they were given; none is added."""
    target: tuple[int, ...] | None
    """The target, where it is an attribute of the specification or was bound."""

    def __init__(self, spec: str | Spec, **attributes: Attribute) -> None:
        asked = _read(find_spec(spec), attributes)
        self.spec = asked.spec
        self.attributes = dict(attributes)
        self.target = asked.target
        self._zero_copies = asked.zero_copies

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.spec, self.attributes, self.target)  # what it remembers holds here alone

    def __repr__(self) -> str:
        attributes = "".join(f", {name}={value!r}" for name, value in self.attributes.items())
        bound = f".bind({list(self.target)})" if self.target is not None and "shape" not in self.attributes else ""
        return shown(f"Reshape({self.spec.name!r}{attributes}){bound}")

    @property
    def zero_copies(self) -> bool:
        """Whether a 0 in the target copies a dim of data."""
        return self._zero_copies

    def bind(self, target: GivenTarget) -> Reshape:
        """The Reshape with a constant second input, which a call may leave out.

        >>> Reshape("onnx").bind([0, -1])(np.zeros((2, 3, 4))).shape
        (2, 12)
        """
        if self.spec.target_in == "attribute":
            raise ReshapeError("target-twice")
        bound = Reshape(self.spec, **self.attributes)
        bound.target = _words(self._asked(), target)
        return bound

    @overload
    def __call__(
        self, data: np.ndarray[tuple[int, ...], D], shape: GivenTarget | None = None, *, copy: bool | None = None
    ) -> np.ndarray[tuple[int, ...], D]: ...
    @overload
    def __call__(
        self, data: S, shape: GivenTarget | None = None, *, copy: bool | None = None
    ) -> np.ndarray[tuple[int, ...], np.dtype[S]]: ...
    @overload
    def __call__(
        self,
        data: A,
        shape: GivenTarget | None = None,
        *,
        copy: bool | None = None,
        chunks: Chunks | None = None,
        limit: int | str | None = None,
    ) -> A: ...
    def __call__(
        self, data: Any, shape: Any = None, *, copy: bool | None = None, chunks: Any = None, limit: Any = None
    ) -> Any:
        """`data` in its new dims: a view wherever the strides allow it; `copy` as in the array API.

        `data` is an array of NumPy, PyTorch, JAX, CuPy or the array API, and so is what comes back, on the same device.
        `shape` is the second input: a 1-D array of the type that the specification asks for, or a list of integers.
        `chunks` and `limit` are of Dask arrays: the chunks of output, and the most bytes that a block may have.
        """
        if copy is chunks is limit is None and not calls.ASKED:
            result = calls.plain_quick(self._plans.others, data, shape)
            if result is not None:
                return result
        shape = calls.still(shape)
        call = _Call(self._plans, (shape,), {})
        return _reshape(self._asked(), data, shape, copy, _options(chunks, limit), call)

    def _asked(self) -> _Specified:
        return _Specified(self.spec, self._zero_copies, self.target)

    def output_dims(self, data: AnyArray, shape: GivenTarget | None = None) -> tuple[int, ...]:
        """The dims of the output alone, for data of which only `shape` and `dtype` are there; nothing is moved."""
        return _output_dims(self._asked(), data, shape)


def _reshape(  # noqa: PLR0913, PLR0917 - a call in its parts
    asked: _Specified, data: Any, shape: Any, copy: Any, options: dict[str, Any], call: _Call
) -> Any:
    if copy is not None and not isinstance(copy, bool):
        raise ReshapeError("bad-attribute", attribute="copy", value=repr(copy), allowed="None, True or False")
    if not isinstance(data, _NUMPY):
        return _reshape_other(asked, data, shape, copy, options, call)
    _check_options(options)
    data = np.asarray(data) if isinstance(data, np.generic) else data
    key = call.key(data, copy)
    check_data_type(data, asked.spec)
    output = _output(asked, data.shape, shape)
    result = reshape_numpy(data, output, copy)
    if not data.dtype.hasobject:  # objects must be looked at each time
        call.remember(data, key, (output, quickest(data, output)))
    return result


def _reshape_other(  # noqa: PLR0913, PLR0917
    asked: _Specified, data: Any, shape: Any, copy: bool | None, options: dict[str, Any], call: _Call
) -> Any:
    """An array of another library, through the module that knows it."""
    chunked = chunked_library(data)
    if chunked is not None:
        chunked.read(data)
        check = partial(_check_strings, spec=asked.spec)
        return chunked.reshape(data, _output_dims(asked, data, shape), copy, check, **options)
    _check_options(options)
    library = library_of(data)
    if library is None:
        wanted = "an array of NumPy, PyTorch, JAX, CuPy or the array API"
        raise ReshapeError("not-an-array", what="data", type=type(data).__name__, wanted=wanted)
    if library.tracing(data):
        _check_element_type(dtypes.named(library.type_name(data)), library.type_name(data), asked.spec)
        words = tuple(shape) if isinstance(shape, _LISTS) else _words(asked, shape)
        return library.traced(data, words, asked.spec, asked.zero_copies, copy)
    key = call.key(data, copy)
    _check_element_type(dtypes.named(library.type_name(data)), library.type_name(data), asked.spec)
    output = _output(asked, library.dims(data), shape)
    result = library.reshaped(data, output, copy)
    call.remember(data, key, (output, library.quickest(data, output)))
    return result


def _output(asked: _Specified, data: tuple[int, ...], shape: Any) -> tuple[int, ...]:
    words = _words(asked, shape)
    return output_dims(data, read_target(words, asked.spec, zero_copies=asked.zero_copies, data=data))


def _words(asked: _Specified, shape: Any) -> tuple[int, ...]:
    """The integers of the target, from wherever the specification keeps them."""
    if shape is None:
        if asked.target is None:
            raise ReshapeError("target-missing", spec=asked.spec, place="a second input")
        return asked.target
    if asked.spec.target_in == "attribute":
        raise ReshapeError("target-twice")
    if not isinstance(shape, (np.ndarray, *_LISTS)) and (library := library_of(shape)) is not None:
        shape = library.integers(shape)
    if isinstance(shape, np.ndarray):
        _check_shape_tensor(shape, asked.spec)
        return tuple(shape.tolist())
    words = read_integers(shape, "target")
    _check_fits(words, asked.spec)
    return words


def _output_dims(asked: _Specified, data: Any, shape: Any) -> tuple[int, ...]:
    check_data_type(data, asked.spec)
    return _output(asked, data.shape, shape)


class _Reshaping(calls.Door):
    """The function `reshape`, as an object that remembers."""

    __slots__ = ("__dict__",)

    def __init__(self) -> None:
        self.__name__ = self.__qualname__ = "reshape"
        self.__doc__ = type(self).__call__.__doc__

    @overload
    def __call__(
        self,
        array: np.ndarray[tuple[int, ...], D],
        target: GivenTarget,
        spec: str | Spec,
        *,
        copy: bool | None = None,
        **attributes: Attribute,
    ) -> np.ndarray[tuple[int, ...], D]: ...
    @overload
    def __call__(
        self, array: S, target: GivenTarget, spec: str | Spec, *, copy: bool | None = None, **attributes: Attribute
    ) -> np.ndarray[tuple[int, ...], np.dtype[S]]: ...
    @overload
    def __call__(
        self,
        array: A,
        target: GivenTarget,
        spec: str | Spec,
        *,
        copy: bool | None = None,
        chunks: Chunks | None = None,
        limit: int | str | None = None,
        **attributes: Attribute,
    ) -> A: ...
    def __call__(  # noqa: PLR0913 - the options of arrays are keywords
        self,
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
        if copy is chunks is limit is None and not calls.ASKED:
            result = calls.plain_quick(self._plans.others, array, target, spec, attributes)
            if result is not None:
                return result
        if spec is None:
            example = 'reshape(x, [0, -1], "onnx")'
            raise ReshapeError("spec-missing", function="reshape", example=example, names=", ".join(NAMES))
        target = calls.still(target)
        row = find_spec(spec)
        options, call = _options(chunks, limit), _Call(self._plans, (target, spec), attributes)
        if row.target_in == "input":
            return _reshape(_read(row, attributes), array, target, copy, options, call)
        return _reshape(_read(row, _with_target(target, attributes)), array, None, copy, options, call)

    def __repr__(self) -> str:
        return "<function onereshape.reshape>"

    def __reduce__(self) -> str:
        return "reshape"


# What Python says of wrong calls names the function.  A specification that is left out is refused in our words, and yet
# not optional to who reads the types.
_Reshaping.__call__.__qualname__ = "reshape"
_Reshaping.__call__.__defaults__ = (None,)
calls.open_doors(Reshape, _Reshaping)
reshape = _Reshaping()


def bound(target: Any, spec: str | Spec, **attributes: Any) -> Reshape:
    """The operator of a specification with its target, wherever that specification keeps it."""
    row = find_spec(spec)
    if row.target_in == "input":
        return Reshape(row, **attributes).bind(target)
    return Reshape(row, **_with_target(target, attributes))


def _with_target(target: Any, attributes: dict[str, Any]) -> dict[str, Any]:
    if "shape" in attributes:
        raise ReshapeError("target-twice")
    return {"shape": target, **attributes}


def _again(kind: type[Reshape], spec: Spec, attributes: dict[str, Any], target: tuple[int, ...] | None) -> Reshape:
    """The operator that was pickled or copied."""
    made = kind(spec, **attributes)
    made.target = target
    return made


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


def _options(chunks: Any, limit: Any) -> dict[str, Any]:
    """The options of Dask arrays that are given."""
    if chunks is limit is None:
        return {}
    return {name: each for name, each in (("chunks", chunks), ("limit", limit)) if each is not None}


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
