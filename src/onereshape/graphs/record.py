"""Record: all that is known of one operator, in one place.

The families in `operators` write the records; the searches, the growth of tensors and the folding read them.
A record is made of what the rules of shapes, of the batch and of free dims see: it stands above `facts`, `batch_rules`
and `free_rules`, which look their operators up in `registry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import onnx_ir as ir

from onereshape.graphs import registry
from onereshape.graphs.batch_rules.view import BatchAnswer, BatchState, BatchView
from onereshape.graphs.facts.asking import Asking, Dims
from onereshape.graphs.facts.elements import ElementArray, Holding
from onereshape.graphs.facts.kinds import KindRule
from onereshape.graphs.folding.folded_operators import Use
from onereshape.graphs.free_rules.grown import Growing, Grown, Inputs
from onereshape.graphs.free_rules.spans import Spans
from onereshape.graphs.free_rules.state import FreeAnswer, Limit
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.takes import Stretch, Take
from onereshape.rule.sizes import Size


class Record(NamedTuple):
    """One operator: its rules, and what it does to the elements that it is given.  What is left out is not known.

    A Transpose moves every element of its input just once, so sizes go through it, and it may be folded::

        "Transpose": Record(
            shape=shape_transpose,
            elements=held_transpose,
            batch=batch_transpose,
            free=by_shape,
            grows=grow_transpose,
            moves=True,
            keeps=True,
            beside=True,
            folds=True,
        )

    A flag that is left off is safe: then nothing is followed through the operator.
    """

    shape: Callable[[Asking], Sequence[Dims | None]] | None = None
    """The dims of the outputs, None for one of which not even the rank is known; what it says holds in every run."""
    elements: Callable[[Holding], Sequence[ElementArray | None]] | None = None
    """What the outputs hold, where they are small tensors of integers, truth values or floating-point numbers."""
    kinds: KindRule | None = None
    """The element types of its first outputs, where an attribute chooses them; the others have those of its schema."""
    from_dims: Callable[[ir.Node, Sequence[int]], ElementArray] | None = None
    """What it gives, where that follows from the dims of its input alone: a Shape, a Size."""

    # The batch

    batch: Callable[[BatchView], Iterator[BatchAnswer]] | None = None
    """Where N goes: the answers, the best first; none of them mixes samples."""
    slots: frozenset[int] = frozenset()
    """The inputs that hold sizes, which the batch rule reads itself."""
    several: bool = False
    """Whether the batch rule can have more than one answer."""

    # Dims other than the batch

    free: Callable[[FreeView], Iterator[FreeAnswer]] | None = None
    """How the dims of the outputs follow from those of the inputs when some of them are free."""
    grows: Callable[[Growing], Inputs] | None = None
    """Which of the inputs must be larger for an axis of the output to be so."""
    limits: Callable[[Growing, Mapping[int, Grown]], tuple[Limit, ...]] | None = None
    """How far a copy may grow: its indices, or its slice, must stay within a table."""
    span: Callable[[Spans, ir.Node, int], Size | None] | None = None
    """The largest entry of its output, of integers or truth values; one that `moves` has that of its first input."""

    # What it does to elements

    moves: bool = False
    """Its output holds elements of its first input and no others: moved, copied, left out; the other inputs say how."""
    picks: bool = False
    """It moves, and takes the elements by numbers that another input holds."""
    keeps: bool = False
    """It moves every element, and each of them just once."""
    by_place: bool = False
    """What it does with the numbers of samples depends on how many elements stand on each axis."""
    sums: bool = False
    """It adds its inputs, or lays them side by side: beside numbers of samples, any other input adds 0 to them."""
    indexes: int | None = None
    """The input that may be numbers of samples, by which it looks up."""
    multiplies: bool = False
    """It multiplies its inputs: numbers of samples by a constant, a sum by what makes it a mean."""
    divides: bool = False
    """It divides its first input by the second."""
    from_zero: Callable[[ir.Node, BatchState], bool] | None = None
    """Whether nothing that it gives is below 0; of one that moves, and does not pick, its first input tells."""
    beside: bool = False
    """It moves sizes, and so too what is not known, so that sizes go on beside it."""

    carries: frozenset[int] = frozenset()
    """The inputs of which elements may come out unchanged, beside others: a Pad's data, every input of a Concat.

    One that `moves` gives nothing but elements of its first input, and so carries it without saying so here.
    """
    in_order: bool = False
    """It carries all elements of its first input, in their order: what it gives is read as that input would be.

    A Transpose `keeps` them in another order; a Dropout does not move them for sure, and yet gives them in order.
    """

    # What is drawn for its inputs

    takes: Mapping[int, Take] = MappingProxyType({})
    """What it takes its inputs for, by their number: a Slice `{1: "starts", 2: "ends", 3: "axes", 4: "steps"}`.

    Unlike `slots` it has every input that decides on dims, whatever the batch rule reads, and indices that are no
    numbers of samples, which `indexes` is about.
    """
    stretch: Callable[[Stretch, int, tuple[int, int] | None], Stretch | None] | None = None
    """How it calculates with integers, given as which input, and the smallest and largest of the other where known."""

    # Folding

    folds: bool = False
    """Whether it may be calculated before the model runs: it is held against onnxruntime in all its versions."""
    fold: Callable[[Use], Sequence[ElementArray]] | None = None
    """What it gives then, where onnx.reference is wrong, or more sure than the specification is."""
    work: Callable[[Use], int] | None = None
    """How much it would make of its inputs, or calculate; None: no more elements than it is given."""


NOTHING = Record()
"""Of an operator that nobody wrote a record for."""

registry.RECORDS.nothing = NOTHING

# The registry for all that stands above this file: its values are records.
RECORDS: dict[str, Record] = registry.RECORDS
record_named: Callable[[str], Record] = registry.record_named
record_of: Callable[[ir.Node], Record] = registry.record_of
