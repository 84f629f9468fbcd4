"""Two models of which one is said to be a repair of the other, whoever made it: seen with the same names of dims.

What a certificate must know of a repair is read from what both models declare, and, where that does not say it, from
the terms: where each output carries the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onereshape.graphs.edit import declare
from onereshape.graphs.exports import Freed
from onereshape.graphs.request import inputs_of, shapes_of
from onereshape.ground.errors import FixError
from onereshape.prove.engines.engine import folder_of
from onereshape.prove.evidence import Carried
from onereshape.prove.runs.growing import grown
from onereshape.prove.runs.term_runs import allowed, fresh_seed, guarded
from onereshape.prove.runs.term_sizes import some_sizes
from onereshape.prove.runs.trial import batch_of
from onereshape.prove.values.input_roles import fed
from onereshape.prove.values.naming import with_named_dims
from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch

CarriedAnyhow = Carried | None


def freed_axes(original: ir.Model, repaired: ir.Model) -> dict[str, int] | None:
    """The axis of each input that carries N, if all numbers that became names got one name: `{"x": 0}`; else None."""
    before, after = (shapes_of(inputs_of(model)) for model in (original, repaired))
    names = {
        dim
        for name, dims in before.items()
        for one, dim in zip(dims, after.get(name, ()), strict=False)
        if isinstance(one, int) and isinstance(dim, str)
    }
    if len(names) != 1:
        return None
    (batch,) = names
    return {name: dims.index(batch) for name, dims in after.items() if name in before and batch in dims}


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


def named_as(other: ir.Model, model: ir.Model) -> ir.Model:
    """A model whose nameless dims have the names of another one's: an IR made of an ONNX model has lost them."""
    copy, named = model.clone(), {value.name: value.shape for value in fed(other)}
    for value in fed(copy):
        known = named.get(value.name)
        if value.shape is None or known is None or len(known) != len(value.shape):
            continue
        dims = zip(value.shape, known, strict=True)
        value.shape = ir.Shape([b if not isinstance(a, int) and a.value is None else a for a, b in dims])
    return copy


def called(model: ir.Model, asked: Freed) -> ir.Model:
    """A model whose freed dims have their names: those that have none, or others, would be drawn apart."""
    shapes = {value.name: value.shape for value in model.graph.inputs if value.shape is not None}
    others = {
        name: {axis: new for axis, new in axes.items() if _is_renamed(shapes[name][axis], new)}
        for name, axes in asked.items()
        if name in shapes
    }
    if not any(others.values()):
        return model
    copy = model.clone()
    for value in copy.graph.inputs:
        declare(value, others.get(value.name or "", {}))
    return copy


def _is_renamed(dim: int | ir.SymbolicDim, name: str) -> bool:
    return not isinstance(dim, int) and not _is_called(dim, name)


def carried(  # noqa: PLR0913 - all that may tell it
    original: ir.Model,
    repaired: ir.Model,
    asked: Freed,
    size: int,
    *,
    base_dir: str = "",
    proof: Proof | None = None,
) -> dict[str, CarriedAnyhow]:
    """Where each output carries the batch, by declarations, terms or runs; a FixError where nothing tells it.

    `proof` is what the terms said, where they were asked already.
    """
    after = {value.name: value.shape for value in repaired.graph.outputs}
    options: dict[str, Sequence[CarriedAnyhow]] = {}
    _, symbol = batch_of(asked)
    lists = [value.name for value in original.graph.outputs if isinstance(value.type, ir.SequenceType)]
    for value in original.graph.outputs:
        if value.name in lists:
            continue
        shape = after.get(value.name)
        likely = [*_declared(value.shape, shape, size)]
        named = [each for each in likely if each and shape is not None and _is_called(shape[each.axis], symbol)]
        options[value.name or ""] = named or likely
    if not lists and all(len(each) == 1 for each in options.values()):
        return _unless_lost(repaired, asked, size, {name: each[0] for name, each in options.items()}, base_dir)
    told = _by_terms(original, repaired, asked, size) if proof is None else places_of(proof)
    parts = {name for name in told if any(name.startswith(f"{each}[") for each in lists)}
    if (lists and not parts) or any(_are_apart(places) and name not in told for name, places in options.items()):
        told = {**grown(repaired, asked, size, folder_of(repaired) or base_dir), **told}
    found: dict[str, CarriedAnyhow] = {name: place for name, place in told.items() if name not in options}
    for name, places in options.items():
        if name in told:
            found[name] = told[name]
        elif _are_apart(places):
            axes = dict.fromkeys(place.axis for place in places if place)
            where = " or ".join(str(axis) for axis in axes)
            why = f"it is not known whether output {name!r} carries the batch at axis {where}"
            raise FixError("not-certified", why=why)
        else:
            found[name] = places[0]
    return found


def _unless_lost(
    model: ir.Model, asked: Freed, size: int, places: dict[str, CarriedAnyhow], base_dir: str
) -> dict[str, CarriedAnyhow]:
    """The places of outputs; a declared scalar may be a number per sample, whose axis is lost at N = 1: a run tells."""
    numbers = {value.name or "" for value in model.graph.outputs if value.shape is not None and not len(value.shape)}
    single = [name for name, place in places.items() if place is None and name in numbers]
    return places | (lost_axes(model, asked, size, base_dir) if single else {})


def lost_axes(model: ir.Model, asked: Freed, size: int, base_dir: str) -> dict[str, CarriedAnyhow]:
    """The outputs that have an axis for the batch, but not where that is 1, seen by running the model."""
    told = grown(model, asked, size, folder_of(model) or base_dir) if size == 1 else {}
    return {name: place for name, place in told.items() if place is not None and place.lost}


def _is_called(dim: int | ir.SymbolicDim, name: str) -> bool:
    return not isinstance(dim, int) and dim.value == name


def _are_apart(places: Sequence[CarriedAnyhow]) -> bool:
    """Whether the places that an output may have are at different axes."""
    axes = {place.axis if place else None for place in places}
    return len(axes) > 1 and None not in axes


def _declared(before: Any, after: Any, size: int) -> Iterator[CarriedAnyhow]:
    """The places at which an output may carry the batch, by the dims that both models declare; the likeliest first."""
    if size == 1 and before is not None and len(after or ()) == len(before) + 1 and not isinstance(after[0], int):
        yield Carried(0, new=len(before))
        return
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
    for axis in grown or named:
        dim = before[axis]
        yield Carried(axis, 1, None)
        if isinstance(dim, int) and dim != size:
            yield Carried(axis, max(dim // size, 1), None)
    if not named:
        if before[0] == size:
            yield Carried(0)
        yield None


def batch_proof(  # noqa: PLR0913 - what a proof depends on
    original: ir.Model,
    repaired: ir.Model,
    asked: Freed,
    size: int,
    sizes: Mapping[str, int],
    *,
    for_all: bool = False,
) -> Proof:
    """The proof of a batch on terms, wherever outputs carry N; `sizes` are those of other named dims.

    `for_all`: only a proof for every batch is of use.
    """
    axes, symbol = batch_of(asked)
    seed = fresh_seed()
    return guarded(
        lambda: prove_batch(
            original,
            repaired,
            axes,
            symbol=symbol,
            size=size,
            sizes=sizes,
            seed=seed,
            limits=allowed(),
            for_all=for_all,
        ),
        seed,
        original,
        repaired,
    )


def places_of(proof: Proof) -> dict[str, CarriedAnyhow]:
    """The place at which each output carries the batch, as a proof found it; nothing if it does not hold."""
    if not proof.holds:
        return {}
    return {each.name: None if each.axis is None else Carried(each.axis, each.outer, None) for each in proof.outputs}


def _by_terms(original: ir.Model, repaired: ir.Model, asked: Freed, size: int) -> dict[str, CarriedAnyhow]:
    """The place at which each output carries the batch, by terms at the first sizes of other dims that give a proof."""
    original, repaired = with_named_dims(original), with_named_dims(repaired)
    proofs = (batch_proof(original, repaired, asked, size, sizes) for sizes in some_sizes(original))
    return next(filter(None, map(places_of, proofs)), {})
