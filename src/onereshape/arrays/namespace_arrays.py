"""Any array of the Python array API, through the namespace that it names itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from onereshape.ground.errors import ReshapeError


def dims(data: Any) -> tuple[int, ...]:
    found = tuple(data.shape)
    if not all(isinstance(dim, int) for dim in found):  # the array API has None for a dim that is not known yet
        raise ReshapeError(
            "array-limit", library=_name(data), output="that are asked for", why=f"data has dims {found}"
        )
    return found


def type_name(data: Any) -> str:
    """The namespace's name for the type, such as `float32`."""
    return str(data.dtype).rpartition(".")[2]


def integers(shape: Any) -> Any:
    """A shape tensor as a NumPy array: a few integers, wherever they are."""
    return np.asarray(shape.tolist() if hasattr(shape, "tolist") else shape)


def layout(data: Any) -> tuple[Any, ...]:
    """The element type and the dims of data, on which a remembered answer depends."""
    return data.dtype, data.shape


def quickest(data: Any, output: tuple[int, ...]) -> Any:  # noqa: ARG001 - as in every library
    """The function that reshapes arrays of this layout from now on: always `reshaped`."""
    return reshaped


def tracing(data: Any) -> bool:  # noqa: ARG001 - as in every library
    """Whether the dims of data may be symbols; of the libraries named here, only torch and JAX have such."""
    return False


def reshaped(data: Any, output: tuple[int, ...], copy: bool | None = None) -> Any:
    try:
        return data.__array_namespace__().reshape(data, output, copy=copy)
    except MemoryError:
        raise _limit(data, output, "not enough memory") from None
    except Exception as error:  # noqa: BLE001 - each library has its own errors, and none may reach a user
        if copy is False:
            raise ReshapeError("no-view", library=_name(data), output=list(output)) from None
        raise _limit(data, output, f"{type(data).__name__} says {error}") from None


def _limit(data: Any, output: tuple[int, ...], why: str) -> ReshapeError:
    return ReshapeError("array-limit", library=_name(data), output=list(output), why=why)


def _name(data: Any) -> str:
    return type(data).__module__.partition(".")[0]
