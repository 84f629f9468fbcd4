"""The words of a target: what they say, and constant_words(), those that make one shape out of another at all sizes.

Only the words are chosen here; which Reshape gets them is left to those who rewrite models.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from onereshape.ground.errors import ReshapeError
from onereshape.rule.inference import infer
from onereshape.rule.sizes import Formula, Size, product


def meant(data: Sequence[Size], words: Sequence[Size | None], *, zero_copies: bool) -> list[Size | None]:
    """The words as sizes: a 0 that copies is the dim of data; a -1 stays, and so does what is not known.

    >>> meant([4, 3], [0, -1, 0], zero_copies=True)
    [4, -1, 0]
    """
    copied = len(data) if zero_copies else 0
    return [data[axis] if word == 0 and axis < copied else word for axis, word in enumerate(words)]


def constant_words(
    data: Sequence[Size] | None, output: Sequence[Size], *, zero_copies: bool, keep: Sequence[int] | None = None
) -> list[int] | None:
    """The constants that reshape `data` into `output` for all sizes of the symbols, or None if none do.

    A number stands for itself, a symbol is copied (0) where data has it at the same axis, and one other is inferred
    (-1).  Words to `keep` stay wherever they are right, the inferred one included.  Data of unknown rank is taken to
    hold as many elements as the output.

    A symbol may be 0.  Words without -1 are right then too, so nothing is inferred that can be said otherwise.  Where
    an entry must be inferred beside a copied symbol (or `keep` has them so), ONNX refuses an empty copied dim; there is
    no constant that means it for all sizes from 0 on, and these words mean it for all sizes from 1 on.

    >>> from onereshape.rule.sizes import symbol
    >>> N = symbol("N")
    >>> constant_words([N, 12, 64], [N, 768], zero_copies=True)
    [0, 768]
    >>> constant_words([N, 12, 64], [12 * N, 64], zero_copies=True, keep=[12, 64])
    [-1, 64]
    """
    given = None if data is None else tuple(data)
    found = _constant_words(given, tuple(output), None if keep is None else tuple(keep), zero_copies=zero_copies)
    return None if found is None else list(found)


@lru_cache(maxsize=4096)
def _constant_words(
    data: tuple[Size, ...] | None, output: tuple[Size, ...], keep: tuple[int, ...] | None, *, zero_copies: bool
) -> tuple[int, ...] | None:
    """Remembered, because the layers of a model ask the same again and again."""
    kept = keep if keep is not None and len(keep) == len(output) else [None] * len(output)
    words = [_word(data, axis, dim, kept[axis], zero_copies=zero_copies) for axis, dim in enumerate(output)]
    inferred = [axis for axis, word in enumerate(words) if word is None]
    if not inferred and keep is not None and list(kept).count(-1) == 1:
        inferred = [list(kept).index(-1)]
        if not _divides(output, inferred[0]):
            inferred = []
    if len(inferred) > 1 or (inferred and not _divides(output, inferred[0])):
        return None
    found = [-1 if axis in inferred else word for axis, word in enumerate(words)]
    target = [word for word in found if word is not None]
    return tuple(target) if data is None or _same(data, output, target, zero_copies=zero_copies) else None


def _word(data: Sequence[Size] | None, axis: int, dim: Size, kept: int | None, *, zero_copies: bool) -> int | None:
    """The entry of a target for a dim: its number, 0 where the dim is copied; None where only -1 is right."""
    copied = zero_copies and data is not None and axis < len(data) and data[axis] == dim
    if isinstance(dim, Formula) or (zero_copies and (dim == 0 or (kept == 0 and copied))):
        return 0 if copied else None
    return dim


def _divides(output: Sequence[Size], axis: int) -> bool:
    """Whether the dim can be found from the others: they are not empty, whatever the symbols are."""
    return product(dim for other, dim in enumerate(output) if other != axis) != 0


def _same(data: Sequence[Size], output: Sequence[Size], target: list[int], *, zero_copies: bool) -> bool:
    """Whether both hold the same number of elements for all sizes; then each word is right on its own."""
    if product(data) == product(output):
        return True
    return -1 in target and _same_quotient(data, output, target, zero_copies=zero_copies)


def _same_quotient(data: Sequence[Size], output: Sequence[Size], target: list[int], *, zero_copies: bool) -> bool:
    """Whether the output names the inferred dim by the very division that finds it: `N/4`, if it divides."""
    try:
        found = infer(list(map(_dim, data)), target, "onnx-14", allowzero=int(not zero_copies))
    except ReshapeError:
        return False
    return found.dims == tuple(map(_dim, output))


def _dim(size: Size) -> int | str:
    return size if isinstance(size, int) else str(size)
