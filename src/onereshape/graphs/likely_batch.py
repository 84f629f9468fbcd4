"""Where the batch is likely to be, if nobody says it: by the names and the sizes of dims that inputs declare.

What is likely is a beginning.  The rules decide whether it can be, and which of the other places can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import combinations, islice, product
from typing import Final

from onereshape.ground.errors import FixError

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
_NAMELESS: Final = re.compile(r".*_dim_\d+|.*dynamic_axes_\d+|[su]\d+|unk__\d+|(p2o\.)?DynamicDimension\.\d+")
"""What exporters call a dim that nobody gave a name."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MOST: Final = 24
"""Places of the batch that are tried."""
_MOST_MOVED: Final = 3


def likely_axes(shapes: Shapes) -> Axes:
    """The axes that share one dim by its name, or axis 0 by its size; a FixError where none can be the batch."""
    ranked = {name: dims for name, dims in shapes.items() if dims}
    if not ranked:
        raise FixError("no-batch", why="the model has no inputs" if not shapes else "none has an axis that is declared")
    called = _called(ranked)
    firsts = [dims[0] for dims in ranked.values()]
    if called is None and is_length(firsts[0]):
        # Another input may name the batch; a size of 1 alone says too little.
        called = next((dim for dim in firsts if isinstance(dim, str) and not is_length(dim)), None)
        if called is None and (image := _image(ranked)):
            raise without(image, ranked[image])
    first = firsts[0] if called is None else called
    return _axes_of(ranked, first)


def _axes_of(shapes: Shapes, batch: Declared) -> Axes:
    """Where inputs have this dim: a name anywhere, a size at axis 0."""
    ends = None if isinstance(batch, str) else 1
    return {name: dims.index(batch) for name, dims in shapes.items() if batch in dims[:ends]}


def _called(shapes: Shapes) -> Declared:
    """The dim that has the name of a batch; where that stands for two dims of one sample, the 1 before them."""
    named = [(dim, dims) for dims in shapes.values() for dim in dims if is_batch(dim)]
    if not named:
        return None
    found, dims = named[0]
    lies = dims[0] == 1 and len({dim for dim in dims if is_batch(dim)}) > 1 and not _is_first(shapes, found)
    return 1 if lies else found


def _is_first(shapes: Shapes, dim: Declared) -> bool:
    """Whether an input begins with a dim."""
    return any(dims[0] == dim for dims in shapes.values() if dims)


def other_starts(shapes: Shapes, axes: Mapping[str, int], *, mixes: bool) -> Iterator[Axes]:
    """Where else the batch is looked for, if operators work along the likely one, or, not `mixes`, cannot free it.

    A name behind a 1 may lie, and so may one that is also that of a length; a length may stand before a batch of 1.
    """
    first = next(iter(axes))
    dims = shapes[first]
    batch = dims[axes[first]]
    ones = {name: each.index(1) for name, each in shapes.items() if 1 in each}
    if is_batch(batch):
        if mixes and dims[0] == 1 and not _is_first(shapes, batch):
            yield {name: axis for name, axis in ones.items() if not axis}
        elif mixes and first in ones and _words(str(batch)) & _OTHERS:
            yield ones
    elif isinstance(batch, int):
        if batch != 1 and first in ones:
            yield ones
        elif batch == 1 and mixes and (called := next(filter(is_batch, dims), None)):
            yield _axes_of(shapes, called)
    elif (first in ones and is_length(batch)) or (next(iter(shapes)) in ones and is_nameless(batch)):
        yield ones


def other_axes(shapes: Shapes, axes: Mapping[str, int]) -> Iterator[list[Axes]]:
    """Other places of the batch, the fewest moved inputs first; inputs of equal dims move alike."""
    first = next(iter(axes))
    batch = shapes[first][axes[first]]
    size, home = batch if isinstance(batch, int) else 1, axes[first]
    moves: dict[tuple[object, ...], tuple[list[str], list[int]]] = {}
    nameless: Axes = {}
    for name, dims in shapes.items():
        here = axes.get(name)
        options = [] if name == first else [*_options(dims, here, batch, size)]
        for axis in sorted({0, home}) if isinstance(batch, int) and here is None and name != first else ():
            if axis < len(dims) and is_nameless(dims[axis]):
                options.append(axis)
                nameless.setdefault(name, axis)
        if options:
            key = (here, *(dim if isinstance(dim, int) else None for dim in dims))
            moves.setdefault(key, ([], options))[0].append(name)
    for count in range(1, min(_MOST_MOVED, len(moves)) + 1):
        level = (_moved(axes, each) for each in _choices([*moves.values()], count))
        if found := [*islice(level, _MOST)]:
            yield found
    if len(nameless) > 1 and len(moves) > 1:
        yield [{**axes, **nameless}]


def is_length(dim: Declared) -> bool:
    """Whether a dim has the name of a length, and not of a number of samples."""
    words = _words(dim) if isinstance(dim, str) and not is_nameless(dim) else set()
    return bool(words & (_HEIGHT | _WIDTH | _OTHERS)) and not words & _BATCH


def is_batch(dim: Declared) -> bool:
    """Whether a dim has the name of a number of samples."""
    return isinstance(dim, str) and not is_nameless(dim) and bool(_words(dim) & _BATCH)


def is_nameless(dim: Declared) -> bool:
    """Whether nobody gave a dim its name: it has none, or one that an exporter made up."""
    return dim is None or (isinstance(dim, str) and _NAMELESS.fullmatch(dim) is not None)


def unlikely(shapes: Shapes, axes: Mapping[str, int]) -> FixError | None:
    """Why an input that the rules do not free has no batch at all, if its dims say so."""
    name, axis = next(iter(axes.items()))
    dims = shapes[name]
    if is_length(dims[axis]) or _is_picture(dims):
        return without(name, dims)
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


def without(name: str, dims: tuple[Declared, ...], shown_by: str = "") -> FixError:
    """The refusal of an input that is one sample; `shown_by`: what shows it, if its dims do not."""
    shown = ", ".join("?" if dim is None else str(dim) for dim in dims)
    why = (
        f"{name} is [{shown}], one sample without an axis for several{shown_by}; export the model with a batch axis "
        f"([1, {shown}]), or name the axis that is the batch (--batch {name}:0)"
    )
    return FixError("no-batch", why=why)
