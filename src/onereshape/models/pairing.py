"""Two models of which one is said to be a repair of the other, whoever made it: seen with the same names of dims.

What a certificate must know of a repair is read from what both models declare, and, where that does not say it, from
the terms: where each output carries the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import onnx_ir as ir

from onereshape.errors import FixError
from onereshape.models.certificates.compare import Carried
from onereshape.models.certificates.suits import fed
from onereshape.models.certificates.term_runs import allowed, fresh_seed, guarded
from onereshape.models.certificates.term_sizes import some_sizes
from onereshape.models.certificates.trial import Freed, batch_of
from onereshape.terms.prove import prove_batch

Place = Carried | None


def aligned(original: ir.Model, repaired: ir.Model, asked: Freed) -> ir.Model:
    """The repaired model with the original's names of dims; a dim that was freed unasked has its size of before."""
    copy = repaired.clone()
    before = {value.name: value.shape for value in fed(original)}
    for value in fed(copy):
        known = before.get(value.name)
        if value.shape is None or known is None or len(known) != len(value.shape):
            continue
        names = asked.get(value.name or "", {})
        dims: list[Any] = []
        for axis, dim in enumerate(value.shape):
            if isinstance(dim, int):
                dims.append(dim)
            elif axis in names:
                dims.append(ir.SymbolicDim(names[axis]))
            else:
                dims.append(known[axis])
        value.shape = ir.Shape(dims)
    return copy


def carried(original: ir.Model, repaired: ir.Model, asked: Freed, size: int) -> dict[str, Place]:
    """Where each output carries the batch; a FixError where nothing tells it."""
    after = {value.name: value.shape for value in repaired.graph.outputs}
    options: dict[str, Sequence[Place]] = {}
    for value in original.graph.outputs:
        options[value.name or ""] = [*_declared(value.shape, after.get(value.name), size, batch_of(asked)[1])]
    if all(len(each) == 1 for each in options.values()):
        return {name: each[0] for name, each in options.items()}
    told = _by_terms(original, repaired, asked, size)
    found: dict[str, Place] = {}
    for name, places in options.items():
        if name in told:
            found[name] = told[name]
        elif len(axes := {place.axis if place else None for place in places}) > 1 and None not in axes:
            where = " or ".join(str(axis) for axis in axes)
            why = f"it is not known whether output {name!r} carries the batch at axis {where}"
            raise FixError("not-certified", why=why)
        else:
            found[name] = places[0]
    return found


def _declared(before: Any, after: Any, size: int, symbol: str) -> Iterator[Place]:
    """The places at which an output may carry the batch, by the dims that both models declare; the likeliest first."""
    if before is None or after is None or len(before) != len(after):
        yield Carried(0, 1, None)
        yield None
        return
    if not len(before):
        yield None
        return
    grown = [
        axis
        for axis, (one, two) in enumerate(zip(before, after, strict=True))
        if not isinstance(two, int) and isinstance(one, int)
    ]
    named = [axis for axis, dim in enumerate(after) if not isinstance(dim, int)]
    ours = [axis for axis in named if after[axis].value == symbol]
    for axis in ours if len(ours) == 1 else grown or named:
        dim = before[axis]
        yield Carried(axis, 1, None)
        if isinstance(dim, int) and dim != size:
            yield Carried(axis, max(dim // size, 1), None)
    if not named:
        if before[0] == size:
            yield Carried(0)
        yield None


def _by_terms(original: ir.Model, repaired: ir.Model, asked: Freed, size: int) -> dict[str, Place]:
    """Where the terms find it; nothing where they do not tell."""
    axes, symbol = batch_of(asked)
    seed, sizes = fresh_seed(), some_sizes(original)
    proof = guarded(
        lambda: prove_batch(
            original, repaired, axes, symbol=symbol, size=size, sizes=sizes, seed=seed, limits=allowed()
        ),
        seed,
        original,
        repaired,
    )
    if not proof.holds:
        return {}
    return {each.name: None if each.axis is None else Carried(each.axis, each.outer, None) for each in proof.outputs}
