"""Where the engines differ from `resolve`, as data: which inputs, what the engine answers to them, and why we do not.

A row is exact in both directions: on every input that it names the engine gives the answer it names, on every other
input the engine answers as we do.  An engine that is repaired fails here as loudly as one that breaks.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from math import ceil, floor, prod
from operator import mul

from tests.engines.answers import INT64_MAX, Answer, Dims
from tests.engines.cases import Case, Difference
from tests.engines.engines import Engine
from tests.engines.onednn_engines import ONEDNN_RANK, counted

NUMPY_RANK = 64
OPENVINO_CPU_RANK = 32


# Which inputs


def _inferred_beside(case: Case, *, zero: bool) -> bool:
    """Exactly one -1 and no other negative, with or without a 0."""
    return case.target.count(-1) == 1 and (0 in case.target) == zero and min(case.target) == -1


def _lone_negative(case: Case) -> bool:
    """The only negative is not -1, and would pass if it were."""
    negatives = [dim for dim in case.target if dim < 0]
    return len(negatives) == 1 and negatives[0] < -1 and _as_minus_one(case) is not None


def _volume_differs(case: Case) -> bool:
    """Nothing is wrong but the number of elements."""
    filled = case.filled
    return filled is not None and min(filled, default=0) >= 0 and prod(filled) != prod(case.data)


def _runs_beyond_int64(case: Case) -> bool:
    """The product of the dims asked for leaves int64 on the way, though a later 0 may bring it back."""
    sizes = (dim for dim in case.filled or () if dim >= 0)
    return any(product > INT64_MAX for product in accumulate(sizes, mul))


def _no_array_holds(dims: Answer) -> bool:
    """More float32 than int64 counts bytes, where NumPy leaves zeros out of the count."""
    return isinstance(dims, tuple) and 4 * prod(dim for dim in dims if isinstance(dim, int) and dim) > INT64_MAX


def _literal_zero_on_empty(case: Case) -> bool:
    return case.is_empty and _inferred_beside(case, zero=True)


def _fits_int32(case: Case) -> bool:
    return all(-(2**31) <= dim < 2**31 for dim in case.target)


def _zero_beyond_rank(case: Case) -> bool:
    return 0 in case.target[max(len(case.data), 1) :]


def _rank_above(limit: int) -> Callable[[Case], bool]:
    return lambda case: case.ours is not None and len(case.ours) > limit


# What the engine answers


def _refused(_case: Case) -> None:
    return None


def _inferred_is(case: Case, size: int) -> Answer:
    return tuple(size if dim == -1 else dim for dim in case.target)


def _as_minus_one(case: Case) -> Dims | None:
    return case.asking(tuple(max(dim, -1) for dim in case.target))


def _non_zero_quotient(case: Case) -> Answer:
    """-1 from the dims that are not 0, on both sides."""
    size, remainder = divmod(prod(dim for dim in case.data if dim), prod(dim for dim in case.target if dim > 0))
    return None if remainder else _inferred_is(case, size)


def _one_beside_zero(case: Case) -> Answer:
    output = _inferred_is(case, 1)
    return None if case.engine.name in _NUMPY_CARRIES and _no_array_holds(output) else output


def _left_open(case: Case) -> Answer:
    """The core writes "no upper bound" as -1, and divides by it."""
    left = prod(_uncancelled(case)[0])
    return tuple((1, None if left == 1 else -left) if dim == -1 else dim for dim in case.target)


def _divided_as_floats(case: Case) -> Answer:
    left, others = map(prod, _uncancelled(case))
    size = float(left) / float(others)
    if floor(size) != ceil(size) or case.filled is None:
        return None
    return tuple(floor(size) if dim == -1 else dim for dim in case.filled)


def _uncancelled(case: Case) -> tuple[list[int], list[int]]:
    """The dims of data and target from which OpenVINO infers a -1: not copied, and not on both sides."""
    copied = {axis for axis, dim in enumerate(case.target) if dim == 0 and case.zero_copies}
    left = [dim for axis, dim in enumerate(case.data) if axis not in copied]
    others = []
    for axis, dim in enumerate(case.target):
        if dim > 0 and dim in left:
            left.remove(dim)
        elif dim != -1 and axis not in copied:
            others.append(dim)
    return left, others


def _wrapped_inference(case: Case) -> Answer:
    """What ONNX inference answers when its products wrap around int64."""
    filled = case.filled
    if filled is None or -1 not in filled:
        return filled
    volume, others = (_wrapped(prod(dims)) for dims in (case.data, [dim for dim in filled if dim != -1]))
    if others == 0 or volume % others:
        return None
    return tuple(volume // others if dim == -1 else dim for dim in filled)


def _counted(case: Case, bits: int) -> Dims | None:
    """What oneDNN infers, which counts elements in so many bits."""
    return counted(case.data, case.target, case.zero_copies, bits)


def _wrapped(number: int) -> int:
    return (number + 2**63) % 2**64 - 2**63


def _openvino_cpu(case: Case) -> Answer:
    """The CPU plugin's own arithmetic on a run-time pattern: int32 entries, uint64 sizes, a scalar taken for [1]."""
    data = case.data or (1,)
    pattern = [(dim + 2**31) % 2**32 - 2**31 for dim in case.target]
    if len(pattern) == 1:
        return (prod(data),)
    if pattern.count(-1) > 1 or (min(pattern, default=0) < -1 and not case.is_empty):
        return None
    copies = [dim == 0 and case.zero_copies and axis < len(data) for axis, dim in enumerate(pattern)]
    left = prod(dim for axis, dim in enumerate(data) if axis >= len(copies) or not copies[axis])
    others = prod(dim for dim, copied in zip(pattern, copies, strict=True) if not copied and dim != -1) % 2**64
    inferred = left // others if others else 0
    output = [data[axis] if copies[axis] else inferred if dim == -1 else dim for axis, dim in enumerate(pattern)]
    return tuple(dim % 2**64 for dim in output) if prod(output) == prod(data) else None


_NUMPY_CARRIES = (
    "onnx-reference-24",
    "onnx-reference-13",
    "onnxruntime-24",
    "onnxruntime-24-constant",
    "onnxruntime-13",
    "onnxruntime-1",
    "openvino-evaluate",
    "numpy",
)
"""The engines whose output is a NumPy array."""

DIFFERENCES: tuple[Difference, ...] = (
    # ONNX
    Difference(
        name="any lone negative is taken for -1",
        engines=("onnx-reference-24", "onnx-reference-13", "numpy"),
        zero="either",
        when=_lone_negative,
        theirs=_as_minus_one,
        reason="numpy.reshape infers whichever dim is negative, and the reference evaluator is a call of it",
        ruling="anything below -1 is an error: the specification gives a meaning to -1 alone",
    ),
    Difference(
        name="inference does not compare volumes",
        engines=("onnx-inference-24", "onnx-inference-13"),
        zero="either",
        when=lambda case: _volume_differs(case) and not _runs_beyond_int64(case),
        theirs=lambda case: case.filled,
        reason="the inference function returns the dims asked for; it looks at the volume only to infer a -1",
        ruling="a volume that differs is an error, always",
    ),
    Difference(
        name="opset 1 has no inference",
        engines=("onnx-inference-1",),
        zero="copied",
        when=lambda _case: True,
        theirs=lambda _case: "unknown",
        reason="the schema of Reshape-1 has no inference function, so not even the rank of the output is known",
        ruling="versions 1 to 4 follow the rule of the others; only the place of the target differs",
    ),
    Difference(
        name="-1 beside a literal 0 is inferred from the dims that are not 0",
        engines=("onnxruntime-24",),
        zero="literal",
        when=_literal_zero_on_empty,
        theirs=_non_zero_quotient,
        reason="for empty data the kernel leaves zeros out of both products; a constant target never gets there",
        ruling="a literal 0 together with -1 is an error, always: the specification says so",
    ),
    # OpenVINO
    Difference(
        name="a copied 0 switches the comparison of volumes off",
        engines=("openvino-inference", "openvino-evaluate", "openvino-cpu-static"),
        zero="copied",
        when=lambda case: 0 in case.target and _volume_differs(case),
        theirs=lambda case: case.filled,
        reason="the core compares volumes only for a pattern without -1 and without a 0 that copies",
        ruling="a volume that differs is an error, always: elements would be lost or made up",
    ),
    Difference(
        name="-1 beside a literal 0 is 1",
        engines=("openvino-inference", "openvino-evaluate", "openvino-cpu-static"),
        zero="literal",
        when=_literal_zero_on_empty,
        theirs=_one_beside_zero,
        reason="both volumes are 0, so the core drops both and infers from two empty products",
        ruling="a literal 0 together with -1 is an error: OpenVINO's own engines give 1 and 0, so no answer is safe",
    ),
    Difference(
        name="-1 beside a literal 0 is 0",
        engines=("openvino-cpu",),
        zero="literal",
        when=lambda case: _literal_zero_on_empty(case) and _fits_int32(case),
        theirs=lambda case: _inferred_is(case, 0),
        reason="the CPU plugin infers 0 where the product of the other dims is 0",
        ruling="a literal 0 together with -1 is an error: OpenVINO's own engines give 1 and 0, so no answer is safe",
    ),
    Difference(
        name="a run-time pattern of one entry is not read",
        engines=("openvino-cpu",),
        zero="either",
        when=lambda case: len(case.target) == 1 and case.ours is None,
        theirs=lambda case: (prod(case.data),),
        reason="the compiler knows that the one dim must be the volume, and replaces the pattern by a constant -1",
        ruling="the target is what was asked: a volume that differs is an error, and so is anything below -1",
    ),
    Difference(
        name="a scalar has a dim to copy",
        engines=("openvino-cpu",),
        zero="copied",
        when=lambda case: not case.data and len(case.target) > 1 and case.target[0] == 0 and _fits_int32(case),
        theirs=_openvino_cpu,
        reason="the CPU plugin holds a scalar as data of shape [1]",
        ruling="a copied 0 at an index that is not below the rank of data is an error",
    ),
    Difference(
        name="a copied 0 beyond the rank is literal",
        engines=("openvino-cpu",),
        zero="copied",
        when=lambda case: _zero_beyond_rank(case) and case.is_empty and min(case.target) >= -1 and _fits_int32(case),
        theirs=_openvino_cpu,
        reason="the CPU plugin copies where data has such a dim and otherwise takes the 0 as it stands",
        ruling="a copied 0 at an index that is not below the rank of data is an error",
    ),
    Difference(
        name="-1 beside an empty copied dim is rounded down",
        engines=("openvino-cpu", "openvino-cpu-constant"),
        zero="copied",
        when=lambda case: (
            case.is_empty
            and not _zero_beyond_rank(case)
            and _inferred_beside(case, zero=True)
            and case.ours is None
            and _fits_int32(case)
        ),
        theirs=_openvino_cpu,
        reason="the CPU plugin divides with truncation and then compares volumes, which are 0 whatever it got",
        ruling="copied dims take no part in the division; where the dims left over do not divide, it is an error",
    ),
    Difference(
        name="sizes below -1 pass on empty data",
        engines=("openvino-cpu",),
        zero="either",
        when=lambda case: len(case.target) > 1 and case.is_empty and min(case.target) < -1 and _fits_int32(case),
        theirs=_openvino_cpu,
        reason="the CPU plugin checks only the volume, and the volume of an empty output is 0 whatever its sizes",
        ruling="anything below -1 is an error",
    ),
    Difference(
        name="an entry beyond int32 loses its high bits",
        engines=("openvino-cpu",),
        zero="either",
        when=lambda case: len(case.target) > 1 and not _fits_int32(case),
        theirs=_openvino_cpu,
        reason="the CPU plugin converts an i64 pattern to i32",
        ruling="sizes are exact up to int64 and never wrap",
    ),
    Difference(
        name="the largest int64 is no size",
        engines=("openvino-inference",),
        zero="either",
        when=lambda case: INT64_MAX in case.target and min(case.target) > 0,
        theirs=lambda case: tuple((-1, None) if dim == INT64_MAX else dim for dim in case.target),
        reason="the core stands the largest int64 for a bound that is not known",
        ruling="a volume beyond int64 is an error; arithmetic is exact and never saturates",
    ),
    Difference(
        name="-1 beside a volume beyond int64 is left open",
        engines=("openvino-inference",),
        zero="either",
        when=lambda case: (
            not case.is_empty and _inferred_beside(case, zero=False) and prod(_uncancelled(case)[1]) > INT64_MAX
        ),
        theirs=_left_open,
        reason="the product of the other dims saturates, and the core takes that for a bound that is not known",
        ruling="dims that do not divide are an error; arithmetic is exact and never saturates",
    ),
    Difference(
        name="volumes above 2^53 are divided as floats",
        engines=("openvino-inference",),
        zero="either",
        when=lambda case: (
            case.target.count(-1) == 1
            and prod(_uncancelled(case)[0]) > 2**53
            and 0 < prod(_uncancelled(case)[1]) <= INT64_MAX
        ),
        theirs=_divided_as_floats,
        reason="the core divides in double, which holds integers up to 2^53",
        ruling="arithmetic is exact and never rounds",
    ),
    # oneDNN
    Difference(
        name="the volume wraps",
        engines=("onednn-inference",),
        zero="either",
        when=lambda case: _counted(case, 32) != case.ours and len(case.target) <= ONEDNN_RANK,
        theirs=lambda case: _counted(case, 32),
        reason="the inference function counts elements in 32 bits; compilation of what it lets through aborts",
        ruling="a volume beyond int64 is an error; arithmetic never wraps",
        before="3.13",
    ),
    Difference(
        name="-1 is refused where 32 bits count no elements",
        engines=("onednn-graph",),
        zero="either",
        when=lambda case: _counted(case, 32) is None and case.ours is not None,
        theirs=_refused,
        reason="the other sizes are multiplied in 32 bits, and 2^32 is 0 in them",
        ruling="sizes are exact up to int64 and never wrap",
        before="3.13",
    ),
    Difference(
        name="-1 is refused where 64 bits count no elements",
        engines=("onednn-graph",),
        zero="either",
        when=lambda case: _counted(case, 64) is None and case.ours is not None,
        theirs=_refused,
        reason="the other sizes are multiplied in 64 bits, and 2^64 is 0 in them",
        ruling="sizes are exact up to int64 and never wrap",
        since="3.13",
    ),
    Difference(
        name="no more than 12 dims",
        engines=("onednn-inference", "onednn-graph"),
        zero="either",
        when=_rank_above(ONEDNN_RANK),
        theirs=_refused,
        reason="a logical tensor holds 12 dims, and the inference function writes past them",
        ruling="the specification sets no limit on the rank",
    ),
    # Sizes and ranks that an engine cannot hold
    Difference(
        name="the product of the dims overflows before its 0",
        engines=("onnx-inference-24", "onnx-inference-13"),
        zero="either",
        when=lambda case: case.ours is not None and _runs_beyond_int64(case),
        theirs=_refused,
        reason="the dims are multiplied one after the other, and the product leaves int64 on the way to 0",
        ruling="the volume is exact: no elements are no elements, and every size is within int64",
        since="1.22",
    ),
    Difference(
        name="the product of the dims wraps",
        engines=("onnx-inference-24", "onnx-inference-13"),
        zero="either",
        when=_runs_beyond_int64,
        theirs=_wrapped_inference,
        reason="before release 1.22 the inference function multiplied in int64 without a check",
        ruling="a volume beyond int64 is an error; arithmetic never wraps",
        before="1.22",
    ),
    Difference(
        name="torch refuses a product of dims that overflows before its 0",
        engines=("torch",),
        zero="literal",
        when=lambda case: case.ours is not None and _runs_beyond_int64(case),
        theirs=_refused,
        reason="the product leaves int64 before its 0, and the one such case on record is refused",
        ruling="the volume is exact: no elements are no elements, and every size is within int64",
    ),
    Difference(
        name="the product of the dims overflows before its 0, unless -1 is that 0",
        engines=("openvino-inference", "openvino-cpu-static"),
        zero="literal",
        when=lambda case: case.ours is not None and -1 not in case.target and _runs_beyond_int64(case),
        theirs=_refused,
        reason="the product saturates on the way to 0, and a saturated product stays so; volumes are then compared",
        ruling="the volume is exact: no elements are no elements, and every size is within int64",
    ),
    Difference(
        name="no array has so many bytes, its zeros left out",
        engines=(*_NUMPY_CARRIES, "openvino-cpu-constant"),
        zero="either",
        when=lambda case: _no_array_holds(case.ours),
        theirs=_refused,
        reason="NumPy counts the bytes of an empty array without its zeros, and refuses what leaves int64",
        ruling="the volume is exact: no elements are no elements, and every size is within int64",
    ),
    Difference(
        name="no more than 64 dims",
        engines=(*_NUMPY_CARRIES, "torch"),
        zero="either",
        when=_rank_above(NUMPY_RANK),
        theirs=_refused,
        reason="no array of NumPy or torch has more",
        ruling="the specifications set no limit on the rank",
    ),
    Difference(
        name="no more than 32 dims",
        engines=("openvino-cpu", "openvino-cpu-constant", "openvino-cpu-static"),
        zero="either",
        when=_rank_above(OPENVINO_CPU_RANK),
        theirs=_refused,
        reason="the CPU plugin keeps a bit for each dim in 32 bits",
        ruling="the specification sets no limit on the rank",
    ),
)


def rows_of(engine: Engine, release: str, *, zero_copies: bool) -> tuple[Difference, ...]:
    return tuple(row for row in DIFFERENCES if row.covers(engine, release, zero_copies=zero_copies))
