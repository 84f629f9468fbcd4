"""Random small models: three to eight operators, each fed with what earlier ones made."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random

import numpy as np

from tests.laws.batching_dice import MOST, Tensor, World, changed
from tests.laws.batching_layout import factored, written
from tests.laws.batching_sizes import USES
from tests.laws.batching_sketch import BOOL, INT, Sketch


def reshape(w: World) -> Tensor:
    x = w.pick()
    output = factored(w.rng, prod(x.dims))
    if w.rng.random() < 0.5 and x.dims:  # two neighbours joined, or one dim divided: what models do
        axis = w.axis(x)
        if axis + 1 < len(x.dims) and w.rng.random() < 0.5:
            output = [*x.dims[:axis], x.dims[axis] * x.dims[axis + 1], *x.dims[axis + 2 :]]
        else:
            part = w.rng.choice([each for each in range(1, x.dims[axis] + 1) if x.dims[axis] % each == 0])
            output = list(changed(x.dims, axis, part, x.dims[axis] // part))
    writing = w.rng.choice(("literal", "inferred", "copied", "computed", "node"))
    return w.op("Reshape", tuple(output), x.name, written(w.sketch, (x.name, x.dims), output, writing, w.rng))


def transpose(w: World) -> Tensor:
    x = w.pick(2)
    order = w.rng.sample(range(len(x.dims)), len(x.dims))
    return w.op("Transpose", tuple(x.dims[each] for each in order), x.name, perm=order)


def matmul(w: World) -> Tensor:
    x = w.pick(2)
    if w.rng.random() < 0.3:
        rows = w.rng.choice((1, 2, 3))
        return w.op("MatMul", (*x.dims[:-2], rows, x.dims[-1]), w.some((rows, x.dims[-2])), x.name)
    columns = w.rng.choice((1, 2, 3))
    return w.op("MatMul", (*x.dims[:-1], columns), x.name, w.some((x.dims[-1], columns)))


def matmul_itself(w: World) -> Tensor:
    """With its own transpose, as attention does."""
    x = w.pick(2)
    order = [*range(len(x.dims) - 2), len(x.dims) - 1, len(x.dims) - 2]
    turned = w.op("Transpose", tuple(x.dims[each] for each in order), x.name, perm=order)
    return w.op("MatMul", (*x.dims[:-1], x.dims[-2]), x.name, turned.name)


def _partly(w: World, dims: tuple[int, ...]) -> tuple[int, ...]:
    """Dims that broadcast to these, sometimes of lower rank."""
    kept = dims[w.rng.randint(0, len(dims)) if w.rng.random() < 0.4 else 0 :]
    return tuple(1 if w.rng.random() < 0.4 else dim for dim in kept)


def add_constant(w: World) -> Tensor:
    x = w.pick()
    if w.rng.random() < 0.15 and x.dims:  # a constant that is wider than data
        axis = w.axis(x)
        if x.dims[axis] == 1:
            wide = changed((1,) * len(x.dims), axis, 3)
            return w.op("Add", changed(x.dims, axis, 3), x.name, w.some(wide))
    return w.op("Add", x.dims, x.name, w.some(_partly(w, x.dims)))


def where(w: World) -> Tensor:
    x = w.pick()
    condition = w.sketch.op("Greater", x.name, w.sketch.const(0.5, np.float32))
    return w.op("Where", x.dims, condition, x.name, w.some(_partly(w, x.dims)))


def masked(w: World) -> Tensor:
    x = w.pick()
    dims = _partly(w, x.dims)
    mask = w.sketch.const(np.arange(prod(dims)).reshape(dims) % 3 == 0, BOOL)
    return w.op("Where", x.dims, mask, w.sketch.const(-1.0, np.float32), x.name)


def two_operands(w: World) -> Tensor:
    x, y = w.pick(), w.rng.choice(w.tensors)
    try:
        dims = np.broadcast_shapes(x.dims, y.dims)
    except ValueError:
        return w.op("Mul", x.dims, x.name, x.name)
    return w.op("Add", dims, x.name, y.name) if prod(dims) <= MOST else w.op("Relu", x.dims, x.name)


def concat(w: World) -> Tensor:
    x = w.pick(1)
    axis = w.axis(x)
    same = [
        each
        for each in w.tensors
        if len(each.dims) == len(x.dims) and changed(each.dims, axis) == changed(x.dims, axis)
    ]
    if w.rng.random() < 0.5:
        other = w.rng.choice(same)
        return w.op("Concat", changed(x.dims, axis, x.dims[axis] + other.dims[axis]), x.name, other.name, axis=axis)
    more = w.rng.choice((1, 2))
    dims = changed(x.dims, axis, more)
    pair = [x.name, w.some(dims)] if w.size == 1 else [x.name, w.sketch.const(np.full(dims, 0.5), np.float32)]
    w.rng.shuffle(pair)
    return w.op("Concat", changed(x.dims, axis, x.dims[axis] + more), *pair, axis=axis)


def expand(w: World) -> Tensor:
    x = w.pick()
    dims = tuple(w.rng.choice((2, 3)) if dim == 1 and w.rng.random() < 0.3 else dim for dim in x.dims)
    if w.rng.random() < 0.3:
        dims = (2, *dims)
    return w.op("Expand", dims, x.name, w.sketch.ints(*dims)) if dims else w.op("Relu", x.dims, x.name)


def tile(w: World) -> Tensor:
    x = w.pick(1)
    repeats = [2 if w.rng.random() < 0.3 else 1 for _ in x.dims]
    return w.op("Tile", tuple(a * b for a, b in zip(x.dims, repeats, strict=True)), x.name, w.sketch.ints(*repeats))


def gather(w: World) -> Tensor:
    x = w.pick(1)
    axis = w.axis(x)
    shape = w.rng.choice(((), (1,), (2,), (2, 2)))
    numbers = np.arange(prod(shape)).reshape(shape) % x.dims[axis] - w.rng.choice((0, x.dims[axis]))
    return w.op("Gather", changed(x.dims, axis, *shape), x.name, w.sketch.const(numbers, INT), axis=axis)


def gather_by_samples(w: World) -> Tensor:
    """By indices that carry the samples themselves."""
    x = w.pick(1)
    axis = w.axis(x) if w.rng.random() < 0.7 else 0
    shape = w.rng.choice(((w.size,), (w.size, 2), (2, w.size)))
    if w.rng.random() < 0.5:
        x = Tensor(w.some((4, 2)), (4, 2))
        axis = 0
    indices = w.sketch.x(shape, shape.index(w.size) if shape != (2, 2) else 0, dtype=INT, low=0, high=x.dims[axis])
    return w.op("Gather", changed(x.dims, axis, *shape), x.name, indices, axis=axis)


def _rows(w: World, limits: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """Rows of numbers, no two alike where there are as many."""
    count = prod(shape)
    flat = np.stack(np.unravel_index(np.arange(count) % prod(limits), limits), -1)
    return w.sketch.const(flat.reshape(*shape, len(limits)), INT)


def gather_nd(w: World) -> Tensor:
    x = w.pick(1)
    width = w.rng.randint(1, len(x.dims))
    shape = w.rng.choice(((1,), (2,), (1, 2)))
    return w.op("GatherND", (*shape, *x.dims[width:]), x.name, _rows(w, x.dims[:width], shape))


def scatter_nd(w: World) -> Tensor:
    x = w.pick(1)
    width = w.rng.randint(1, len(x.dims))
    shape = (min(prod(x.dims[:width]), w.rng.choice((1, 2))),)
    updates = w.some((*shape, *x.dims[width:]))
    return w.op("ScatterND", x.dims, x.name, _rows(w, x.dims[:width], shape), updates)


def softmax(w: World) -> Tensor:
    x = w.pick(1)
    return w.op("Softmax", x.dims, x.name, axis=-1 if w.rng.random() < 0.6 else w.axis(x))


def reduce_mean(w: World) -> Tensor:
    x = w.pick(1)
    axis = len(x.dims) - 1 if w.rng.random() < 0.5 else w.axis(x)
    keep = w.rng.randint(0, 1)
    dims = changed(x.dims, axis, 1) if keep else changed(x.dims, axis)
    if w.sketch.opset >= 18:
        return w.op("ReduceMean", dims, x.name, w.sketch.ints(axis), keepdims=keep)
    return w.op("ReduceMean", dims, x.name, axes=[axis], keepdims=keep)


def slice_(w: World) -> Tensor:
    x = w.pick(1)
    axis, whole = w.axis(x), w.rng.random() < 0.3
    start = 0 if whole else w.rng.randrange(x.dims[axis])
    end = x.dims[axis] if whole else w.rng.randint(start + 1, x.dims[axis])
    given = [w.sketch.ints(each) for each in (start, w.rng.choice((end, end, 2**63 - 1)), axis)]
    told = w.sketch.constants[given[1]][0]
    count = (x.dims[axis] if told == 2**63 - 1 else end) - start
    return w.op("Slice", changed(x.dims, axis, count), x.name, *given)


def split(w: World) -> Tensor:
    x = w.pick(1)
    axis = w.axis(x)
    if x.dims[axis] < 2:
        return w.op("Relu", x.dims, x.name)
    first = w.rng.choice((1, x.dims[axis] // 2))
    parts = (first, x.dims[axis] - first)
    a, b = w.sketch.op("Split", x.name, w.sketch.ints(*parts), axis=axis, outputs=2)
    w.tensors.append(Tensor(a, changed(x.dims, axis, parts[0])))
    return Tensor(b, changed(x.dims, axis, parts[1]))


def squeeze(w: World) -> Tensor:
    x = w.pick()
    ones = [axis for axis, dim in enumerate(x.dims) if dim == 1]
    if not ones:
        return unsqueeze(w)
    axis = w.rng.choice(ones)
    return w.op("Squeeze", changed(x.dims, axis), x.name, w.sketch.ints(axis))


def unsqueeze(w: World) -> Tensor:
    x = w.pick()
    axis = w.rng.randint(0, len(x.dims))
    return w.op("Unsqueeze", (*x.dims[:axis], 1, *x.dims[axis:]), x.name, w.sketch.ints(axis))


def flatten(w: World) -> Tensor:
    x = w.pick()
    axis = w.rng.randint(0, len(x.dims))
    return w.op("Flatten", (prod(x.dims[:axis]), prod(x.dims[axis:])), x.name, axis=axis)


def computed_expand(w: World) -> Tensor:
    """A constant, expanded to the dims of a tensor and added to it."""
    x = w.pick(1)
    wide = w.sketch.op("Expand", w.some((1,)), w.sketch.op("Shape", x.name))
    return w.op("Mul", x.dims, x.name, wide)


def normalized(w: World) -> Tensor:
    x = w.pick(1)
    return w.op("LayerNormalization", x.dims, x.name, w.some(x.dims[-1:]))


def relu(w: World) -> Tensor:
    x = w.pick()
    return w.op("Relu", x.dims, x.name)


def another_input(w: World) -> Tensor:
    """Another input that carries the samples, at any axis."""
    dims = list(w.pick().dims or (1,))
    axis = w.rng.randrange(len(dims))
    dims[axis] = w.size
    return w.op("Neg", tuple(dims), w.sketch.x(dims, axis))


def einsum(w: World) -> Tensor:
    x = w.pick(2)
    letters = "abcdef"[: len(x.dims)]
    result = [*letters[:-1], "z"]
    w.rng.shuffle(result)
    sizes = dict(zip(letters, x.dims, strict=True)) | {"z": 2}
    weights = w.some((x.dims[-1], 2))
    equation = f"{letters},{letters[-1]}z->{''.join(result)}"
    return w.op("Einsum", tuple(sizes[letter] for letter in result), x.name, weights, equation=equation)


def convolution(w: World) -> Tensor:
    x = w.pick(3)
    return w.op("Conv", (x.dims[0], 2, *x.dims[2:]), x.name, w.some((2, x.dims[1], *[1] * (len(x.dims) - 2))))


def gather_elements(w: World) -> Tensor:
    x = w.pick(1)
    axis = w.axis(x)
    line = np.arange(x.dims[axis])[::-1].reshape([-1 if each == axis else 1 for each in range(len(x.dims))])
    numbers = w.sketch.const(np.broadcast_to(line, x.dims), INT)
    return w.op("GatherElements", x.dims, x.name, numbers, axis=axis)


def largest(w: World) -> Tensor:
    x = w.pick(1)
    axis = w.axis(x)
    values, places = w.sketch.op("TopK", x.name, w.sketch.ints(1), axis=axis, outputs=2)
    w.tensors.append(Tensor(values, changed(x.dims, axis, 1)))
    return w.op("Cast", changed(x.dims, axis, 1), places, to=1)


def running_sum(w: World) -> Tensor:
    x = w.pick(1)
    return w.op("CumSum", x.dims, x.name, w.sketch.const(w.axis(x), INT))


def padded(w: World) -> Tensor:
    x = w.pick(1)
    axis = w.axis(x)
    pads = [int(each == axis) for each in range(len(x.dims))] + [0] * len(x.dims)
    return w.op("Pad", changed(x.dims, axis, x.dims[axis] + 1), x.name, w.sketch.ints(*pads))


def filled(w: World) -> Tensor:
    """Zeros in the dims of a tensor, beside it."""
    x = w.pick(1)
    zeros = w.sketch.op("ConstantOfShape", w.sketch.op("Shape", x.name))
    axis = w.axis(x)
    return w.op("Concat", changed(x.dims, axis, 2 * x.dims[axis]), zeros, x.name, axis=axis)


def picked_by_number(w: World) -> Tensor:
    """The samples by their numbers, if axis 0 is theirs."""
    x = w.pick(1)
    limit = w.sketch.op("Squeeze", w.sketch.dim(x.name, 0), w.sketch.ints(0))
    numbers = w.sketch.op("Range", w.sketch.const(0, INT), limit, w.sketch.const(1, INT))
    return w.op("Gather", x.dims, x.name, numbers, axis=0)


def cut_by_size(w: World) -> Tensor:
    """A part whose end is a dim of a tensor."""
    x, axis = w.pick(1), 0
    other = w.rng.choice([each for each in w.tensors if each.dims] or [x])
    end = w.rng.randrange(len(other.dims)) if other.dims else 0
    axis = w.axis(x)
    count = min(other.dims[end], x.dims[axis])
    given = (w.sketch.ints(0), w.sketch.dim(other.name, end), w.sketch.ints(axis))
    return w.op("Slice", changed(x.dims, axis, count), x.name, *given)


BUILDERS: list[Callable[[World], Tensor]] = [
    *(
        reshape,
        reshape,
        transpose,
        transpose,
        matmul,
        matmul_itself,
        add_constant,
        add_constant,
        where,
        masked,
        two_operands,
    ),
    *(
        concat,
        expand,
        tile,
        gather,
        gather_by_samples,
        gather_nd,
        scatter_nd,
        softmax,
        reduce_mean,
        slice_,
        split,
        squeeze,
    ),
    *(
        unsqueeze,
        flatten,
        computed_expand,
        normalized,
        relu,
        another_input,
        einsum,
        convolution,
        gather_elements,
        largest,
    ),
    *(running_sum, padded, filled, picked_by_number, cut_by_size),
]


def composition(rng: Random) -> Sketch:
    """A model of three to eight operators; in some, many use sizes that are computed."""
    builders = BUILDERS + 2 * USES if rng.random() < 0.4 else BUILDERS
    w = World(rng, rng.choice((1, 1, 2)), rng.choice((13, 17, 18, 20)))
    for _ in range(rng.randint(3, 8)):
        made = rng.choice(builders)(w)
        if prod(made.dims) <= MOST and len(made.dims) <= 6:
            w.tensors.append(made)
    last, *others = [each.name for each in w.tensors[:0:-1]] or [w.tensors[0].name]
    w.sketch.annotated = rng.random() < 0.5
    return w.sketch.out(last, *rng.sample(others, min(len(others), rng.choice((0, 0, 1)))))
