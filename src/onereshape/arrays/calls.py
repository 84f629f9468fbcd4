"""What calls remember: how an answer was made, found again by all that it depends on.

The key of a call holds the layout of data, the target, and, where no operator is given, the specification and its flag.
Only an exact int is a word of a key: a bool, a float and NumPy's integers are read each time.  A plan is the output
dims, the maker of the answer (a method of data, a function of data and of the dims, None for NumPy's own), and whatever
must stay alive for its key to mean the same.

Where the C++ was built it finds keys of NumPy's arrays and torch's tensors, and answers a call before its `__call__` is
asked.  That one stays in Python, and is what torch traces.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import MethodDescriptorType
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from onereshape.arrays.chunked import chunked_library
from onereshape.arrays.libraries import library_of
from onereshape.rule.specs import BY_NAME, FLAGS, Spec

try:
    from onereshape.arrays import _calls
except ImportError:  # installed without a compiler
    _calls = None  # type: ignore[assignment]

CallPlan = tuple[Any, ...]
Plans = dict[Any, CallPlan]

MOST = 256
"""How many plans are remembered together: one more, and Python forgets all of them, the C++ one."""

_ABSENT = object()


def plain_key(data: Any, target: Any, spec: Any = None, /, **attributes: Any) -> Hashable | None:
    """All that the answer of a call depends on; None where that cannot be said."""
    layout = _layout(data)
    words = _words(target)
    if layout is None or words is _ABSENT:
        return None
    if spec is None:
        return layout, words
    row = BY_NAME.get(spec) if type(spec) is str else spec if type(spec) is Spec else None
    flag = _flag(attributes)
    return None if row is None or flag is _ABSENT else (layout, words, row, flag)


def _layout(data: Any) -> Hashable | None:
    if type(data) is np.ndarray:
        return data.shape, data.strides, data.dtype
    if isinstance(data, np.ndarray | np.generic) or chunked_library(data) is not None:
        return None
    library = library_of(data)
    return None if library is None or library.tracing(data) else (type(data), *library.layout(data))


def _words(target: Any) -> Any:
    if target is None:
        return None
    if type(target) is list or type(target) is tuple:
        words = tuple(target)
        return words if all(type(word) is int for word in words) else _ABSENT
    if type(target) is np.ndarray and target.ndim == 1 and target.dtype.kind in "iu":
        return target.dtype, target.tobytes()
    return _ABSENT


def _flag(attributes: dict[str, Any]) -> Any:
    """The flag of a call as a part of its key: `{"allowzero": 1} -> ("allowzero", 1)`; _ABSENT for other attributes."""
    if not attributes:
        return None
    name, value = next(iter(attributes.items()))
    known = len(attributes) == 1 and name in FLAGS and (type(value) is bool or type(value) is int)
    return (name, value) if known and value in {0, 1} else _ABSENT


def plain_quick(
    plans: Plans, data: Any, target: Any, spec: Any = None, attributes: dict[str, Any] | None = None
) -> Any:
    """The answer of a call that is remembered, or None; where memory is short, the call says it by itself."""
    found = plain_key(data, target, spec, **(attributes or {})) if plans else None
    plan = None if found is None else plans.get(found)
    if plan is None:
        return None
    output, act = plan[:2]
    try:
        if isinstance(act, MethodDescriptorType):
            return act(data, *output) if output else act(data, output)
        return data.reshape(output) if act is None else act(data, output)
    except MemoryError:
        return None
    except RuntimeError:  # torch's word for whatever it refuses
        if type(data) is np.ndarray:
            raise
        return None


def still(target: Any) -> Any:
    """A target that nobody can change while it is read: a list as a tuple, an array as a copy."""
    if type(target) is list:
        return tuple(target)
    return target.copy() if type(target) is np.ndarray else target


class _Remembered:
    """The plans of earlier calls, found by keys in Python: where no C++ was built."""

    __slots__ = ("others",)

    def __init__(self) -> None:
        self.others: Plans = {}

    def __len__(self) -> int:
        return len(self.others)


class PlainDoor:
    """The base of a class whose calls are remembered, without the C++."""

    __slots__ = ("_plans",)

    _plans: _Remembered

    def __new__(cls, *_: object, **__: object) -> Self:
        made = super().__new__(cls)
        made._plans = _Remembered()
        return made


key: Callable[..., Any] = plain_key
ASKED = _calls is not None
"""Whether calls are looked up before a `__call__` is asked."""

if _calls is not None:
    _calls.know_specs(Spec, BY_NAME, *FLAGS)
    _calls.know_others(plain_key, plain_quick)
    key = _calls.key

if TYPE_CHECKING or _calls is None:  # noqa: SIM108 - a type checker takes no expression for a base class
    Door = PlainDoor
else:
    Door = _calls.Door


def remember(
    plans: Any, call: tuple[Any, ...], attributes: dict[str, Any], before: Hashable | None, plan: CallPlan
) -> None:
    """Notes the plan of a call, if the call still has the key that it had before it was answered."""
    if before is None or key(*call, **attributes) != before:
        return
    kept = (*plan, call[0].dtype, call[1:])
    if isinstance(before, bytes):
        plans.keep(before, kept)
        return
    if len(plans.others) >= MOST:
        plans.others.clear()
    plans.others[before] = kept


def open_doors(operator: type, reshape: type) -> None:
    """Has calls of the two classes looked up first, if the C++ is there."""
    if _calls is not None:
        _calls.open_operator(operator)
        _calls.open_reshape(reshape)
