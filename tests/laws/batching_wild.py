"""Wild models: any operator on any tensors that onnxruntime accepts, sizes and numbers of samples among them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.laws import batching_steps as steps
from tests.laws.batching_law import Unfit
from tests.laws.batching_sketch import BOOL, FLOAT, INT, Sketch
from tests.laws.batching_trials import Wild

Step = Callable[[Wild], str]
STEPS: list[Step] = [
    getattr(steps, name)
    for name in (
        "pointwise pointwise pointwise alone compared compared chosen chosen cast joined joined shaped reshaped "
        "reshaped reshaped turned turned expanded expanded tiled filled ranged ranged shifted column unsqueezed "
        "squeezed flattened sliced sliced split padded gathered gathered elements by_rows by_rows multiplied "
        "linear summed found normalized running largest hot resized equation convolved pooled constant constant "
        "another"
    ).split()
]
"""All of them, those that matter most more than once."""
NUMBERS: list[Step] = [
    getattr(steps, name)
    for name in (
        "pointwise pointwise compared chosen chosen cast joined joined joined shaped reshaped expanded expanded "
        "tiled filled ranged ranged shifted shifted column column unsqueezed squeezed sliced gathered gathered "
        "elements by_rows by_rows hot found constant turned largest"
    ).split()
]
"""Those that have most to do with sizes and with numbers of samples."""


def _begun(rng: Random) -> Wild:
    """A model with its inputs; in half of them there are sizes and numbers from the beginning."""
    w = Wild(rng, rng.choice((9, 10, 11, 12, 13, 14, 16, 17, 18, 20, 21)), rng.choice((1, 1, 1, 2, 3)))
    name = w.input(FLOAT, -4, 5, rng.choice((0, 0, 0, 1, 2)))
    if rng.random() < 0.4:
        steps.another(w)
    if rng.random() < 0.5:
        w.input(INT, 0, 2, rng.choice((0, 0, 1)))
        sizes = w.op("Shape", name)
        w.listed("Unsqueeze", 13, "axes", [rng.randint(0, 1)], sizes)
        if w.opset >= 11 and rng.random() < 0.7:
            steps.ranged(w)
    return w


def wild(rng: Random) -> Sketch:
    """A model of some four to twelve steps, of which the last and some others are outputs."""
    w = _begun(rng)
    kinds = NUMBERS if rng.random() < 0.5 else STEPS
    kinds = rng.choices(kinds, k=8) + rng.choices(STEPS, k=4) if rng.random() < 0.5 else kinds
    made: list[str] = []
    most, tries = rng.randint(4, 12), 0
    while len(made) < most and tries < 100:
        tries += 1
        try:
            name = rng.choice(kinds)(w)
        except (Unfit, ValueError):
            continue
        if name not in w.sketch.inputs and name not in w.sketch.constants:
            made.append(name)
    useful = [name for name in made if w.arrays[name].dtype in (FLOAT, INT, BOOL)]
    if not useful:
        return w.sketch.out(w.sketch.op("Relu", "x"))
    last, *others = useful[::-1]
    return w.sketch.out(*dict.fromkeys([last, *rng.sample(others, min(len(others), rng.choice((0, 1, 2))))]))
