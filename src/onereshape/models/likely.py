"""Where the batch is likely to be, if nobody says it: by the names and the sizes of dims that inputs declare.

What is likely is a beginning.  The rules decide whether it can be, and which of the other places can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, islice, product
from typing import Final

from onereshape.errors import FixError

Declared = int | str | None
"""A size, a name, or nothing."""
Shapes = Mapping[str, tuple[Declared, ...]]
Axes = dict[str, int]

_BATCH: Final = frozenset({"batch", "batchsize", "bs", "bsz", "nbatch"})
_HEIGHT: Final = frozenset({"h", "height", "rows"})
_WIDTH: Final = frozenset({"w", "width", "cols", "columns"})
_OTHERS: Final = frozenset(
    "channel channels depth edge edges feature features frame frames freq hidden l layer layers len length lengths "
    "node nodes past pixel pixels point points positions s seq seqlen seqlength sequence sequences step steps t time "
    "times timestep timesteps token tokens vocab".split()
)
"""Words for dims along which a model runs, or looks."""
_COLOURS: Final = frozenset({1, 3, 4})
_SMALL_IMAGE: Final = 8
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MOST: Final = 24
"""Places of the batch that are tried."""
_MOST_MOVED: Final = 3


def likely_axes(shapes: Shapes) -> Axes:
    """The axes that share one dim by its name, or axis 0 by its size; a FixError where none can be the batch."""
    ranked = {name: dims for name, dims in shapes.items() if dims}
    if not ranked:
        raise FixError("no-batch", why="the model has no inputs" if not shapes else "none has an axis that is declared")
    called = next((dim for dims in ranked.values() for dim in dims if is_batch(dim)), None)
    firsts = [dims[0] for dims in ranked.values()]
    if called is None and is_length(firsts[0]):
        # Another input may name the batch; a size of 1 alone says too little.
        called = next((dim for dim in firsts if isinstance(dim, str) and not is_length(dim)), None)
        if called is None and (image := _image(ranked)):
            raise _without(image, ranked[image])
    first = firsts[0] if called is None else called
    found: Axes = {}
    for name, dims in ranked.items():
        places = [axis for axis, dim in enumerate(dims[: None if isinstance(first, str) else 1]) if dim == first]
        if places:
            found[name] = places[0]
    return found


def other_axes(shapes: Shapes, axes: Mapping[str, int]) -> Iterator[list[Axes]]:
    """Other places that the batch may have, those with the fewest moves first; inputs of the same dims move alike."""
    first = next(iter(axes))
    batch = shapes[first][axes[first]]
    size = batch if isinstance(batch, int) else 1
    moves: dict[tuple[object, ...], tuple[list[str], list[int]]] = {}
    for name, dims in shapes.items():
        here = axes.get(name)
        options = [] if name == first else [*_options(dims, here, batch, size)]
        if options:
            key = (here, *(dim if isinstance(dim, int) else None for dim in dims))
            moves.setdefault(key, ([], options))[0].append(name)
    for count in range(1, min(_MOST_MOVED, len(moves)) + 1):
        level = (_moved(axes, each) for each in _choices([*moves.values()], count))
        if found := [*islice(level, _MOST)]:
            yield found
    if isinstance(batch, int) and batch != 1 and 1 in shapes[first]:  # time comes first, and then a batch of 1
        yield [{name: dims.index(1) for name, dims in shapes.items() if 1 in dims}]


def is_length(dim: Declared) -> bool:
    """Whether a dim has the name of a length, and not of a number of samples."""
    return isinstance(dim, str) and bool(_words(dim) & (_HEIGHT | _WIDTH | _OTHERS)) and not is_batch(dim)


def is_batch(dim: Declared) -> bool:
    """Whether a dim has the name of a number of samples."""
    return isinstance(dim, str) and bool(_words(dim) & _BATCH)


def unlikely(shapes: Shapes, axes: Mapping[str, int]) -> FixError | None:
    """Why an input that the rules do not free has no batch at all, if its dims say so."""
    name, axis = next(iter(axes.items()))
    dims = shapes[name]
    if is_length(dims[axis]) or _is_picture(dims):
        return _without(name, dims)
    return None


def said(axes: Mapping[str, int]) -> str:
    """Axes as the command takes them."""
    return " ".join(f"{name}:{axis}" for name, axis in axes.items())


def _words(name: str) -> set[str]:
    """The words of a name, small: `seqLen`, `seq_len` and `seqlen` have `len` or `seqlen`."""
    return {word.lower() for word in _WORD.findall(name)}


def _options(dims: tuple[Declared, ...], here: int | None, batch: Declared, size: int) -> Iterator[int]:
    """The other axes that an input may carry the batch at."""
    for axis, dim in enumerate(dims):
        free = (axis == 0 or dim is None) and not isinstance(dim, int) and not is_length(dim)
        named = free and not isinstance(batch, int)
        taken = named and dim is not None and dim == batch
        if axis != here and not taken and (dim == size or (here is None and named)):
            yield axis


def _choices(moves: list[tuple[list[str], list[int]]], count: int) -> Iterator[list[tuple[list[str], int]]]:
    """Every choice of so many groups, each at one of its other axes."""
    for groups in combinations(moves, count):
        for axes in product(*(options for _, options in groups)):
            yield [(names, axis) for (names, _), axis in zip(groups, axes, strict=True)]


def _moved(axes: Mapping[str, int], moves: list[tuple[list[str], int]]) -> Axes:
    return {**axes, **{name: axis for names, axis in moves for name in names}}


def _image(shapes: Shapes) -> str | None:
    """An input that begins with the height and the width of a picture."""
    for name, dims in shapes.items():
        two = [_words(dim) if isinstance(dim, str) else set() for dim in dims[:2]]
        if len(two) == 2 and ((two[0] & _HEIGHT and two[1] & _WIDTH) or (two[0] & _WIDTH and two[1] & _HEIGHT)):
            return name
    return None


def _is_picture(dims: tuple[Declared, ...]) -> bool:
    """Whether dims are those of one picture: height, width, colours."""
    if len(dims) != 3 or dims[2] not in _COLOURS:
        return False
    return all(not isinstance(dim, int) or dim >= _SMALL_IMAGE for dim in dims[:2]) and isinstance(dims[0], int)


def _without(name: str, dims: tuple[Declared, ...]) -> FixError:
    shown = ", ".join("?" if dim is None else str(dim) for dim in dims)
    why = (
        f"{name} is [{shown}], one sample without an axis for several; export the model with a batch axis "
        f"([1, {shown}]), or name the axis that is the batch (--batch {name}:0)"
    )
    return FixError("no-batch", why=why)
