"""Where each dim of an output comes from, in words."""

from __future__ import annotations

from math import prod

from onereshape.target import Copied, Fixed, Target


def explain(data: tuple[int, ...], target: Target, output: tuple[int, ...]) -> list[str]:
    """One phrase for each dim of `output`, which is what `target` makes of `data`.

    >>> from onereshape.semantics import output_dims
    >>> from onereshape.specs import spec
    >>> from onereshape.target import read_target
    >>> target = read_target([0, 4, -1], spec("onnx"), zero_copies=True)
    >>> explain((2, 3, 4), target, output_dims((2, 3, 4), target))
    ['copied from data[0]', 'fixed by target[1]', 'inferred: 24 / 8']
    """
    phrases = []
    for axis, entry in enumerate(target.entries):
        if isinstance(entry, Copied):
            phrases.append(f"copied from data[{entry.axis}]")
        elif isinstance(entry, Fixed):
            phrases.append(f"fixed by target[{axis}]")
        else:
            phrases.append(_division(data, target, output, axis))
    return phrases


def _division(data: tuple[int, ...], target: Target, output: tuple[int, ...], inferred: int) -> str:
    others = prod(dim for axis, dim in enumerate(output) if axis != inferred)
    if others:
        return f"inferred: {prod(data)} / {others}"
    # Beside a copied dim of size 0, copied dims take no part in the division: see Spec.empty_copy_beside_inferred.
    copied = {entry.axis for entry in target.entries if isinstance(entry, Copied)}
    left = prod(dim for axis, dim in enumerate(data) if axis not in copied)
    fixed = prod(entry.size for entry in target.entries if isinstance(entry, Fixed))
    return f"inferred: {left} / {fixed}, among the dims that are not copied"
