"""The sizes that a graph is asked at, and what the original answers there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx

from tests.hostile.engine import Array, Engine, Failed, with_all_values
from tests.hostile.generator import Case
from tests.hostile.quirks import FRAGILE, doubtful

COUNTS = (1, 2, 3, 5, 7)


class Run(NamedTuple):
    """One run of the original."""

    samples: int
    sizes: Mapping[str, int]
    feeds: Mapping[str, Array]
    values: Mapping[str, Any]
    """Every value of the graph that the engine is a witness of."""


class Opened(NamedTuple):
    """The original with all its values as outputs."""

    case: Case
    engine: Engine
    names: list[str]

    def run(self, feeds: Mapping[str, Array]) -> dict[str, Any]:
        """All values of a run, but those that the engine is no witness of."""
        found = dict(zip(self.names, self.engine(feeds), strict=True)) | dict(feeds)
        for name in doubtful(self.case.proto.graph, found):
            found.pop(name, None)
        return found


def opened(case: Case, *, free: bool = False) -> Opened:
    """The original, opened; `free`: and told nothing of its dims."""
    proto = with_all_values(case.proto)
    if free:
        proto = undeclared(proto)
    engine = Engine(proto)
    return Opened(case, engine, engine.outputs)


def undeclared(proto: Any) -> Any:
    """The model without any dims of its inputs, its outputs and what is between."""
    bare = onnx.ModelProto()
    bare.CopyFrom(proto)
    for value in (*bare.graph.input, *bare.graph.output):
        rank = len(value.type.tensor_type.shape.dim)
        if value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.ClearField("shape")
            if any(value.name == each.name for each in bare.graph.input):
                value.type.tensor_type.shape.dim.extend([onnx.TensorShapeProto.Dimension()] * rank)
    del bare.graph.value_info[:]
    return bare


def sizes_of(case: Case, rng: np.random.Generator, *, zero: bool = True) -> Iterator[dict[str, int]]:
    """Sizes for the named dims: as exported, all 1, others, one of them 0."""
    yield dict(case.named)
    if not case.named:
        return
    yield dict.fromkeys(case.named, 1)
    yield {name: int(rng.integers(1, 8)) for name in case.named}
    yield {name: size * 2 for name, size in case.named.items()}
    one = list(case.named)[int(rng.integers(len(case.named)))]
    yield {**case.named, one: 1}
    yield {**case.named, one: size if (size := int(rng.integers(2, 9))) else 1}
    if zero:
        yield {**case.named, one: 0}


def declared_runs(case: Case, rng: np.random.Generator) -> tuple[list[Run], bool]:
    """Runs of the original at sizes that its declaration allows, and whether none failed."""
    whole = opened(case)
    free = not isinstance(case.batch_said, int) and bool(case.batch)
    asked: list[tuple[int, dict[str, int]]] = [(case.size, dict(case.named))] * 2
    for sizes in sizes_of(case, rng):
        count = int(rng.choice(COUNTS)) if free else case.size
        asked.append((count, sizes))
    if free:
        asked += [(count, dict(case.named)) for count in (1, 2, 3, 0)]
        asked.append((int(rng.choice([0, 1, 5])), {name: int(rng.integers(0, 4)) for name in case.named}))
    return _made(case, whole, rng, asked)


def freed_runs(case: Case, rng: np.random.Generator) -> list[Run]:
    """Runs of the original at sizes that its declaration does not allow, with the engine told of none."""
    try:
        whole = opened(case, free=True)
    except Failed:
        return []
    asked = [(count, sizes) for count, sizes in zip((1, 2, 5, 3, 0), [*sizes_of(case, rng)] * 5, strict=False)]
    return _made(case, whole, rng, asked)[0]


def fragile(case: Case) -> bool:
    """Whether an empty tensor could end the process."""
    return not FRAGILE.isdisjoint(op.rpartition("::")[2] for op in case.ops)


def _made(case: Case, whole: Opened, rng: np.random.Generator, asked: Any) -> tuple[list[Run], bool]:
    runs, failed = [], False
    for samples, sizes in asked:
        if fragile(case) and (not samples or not all(sizes.values())):
            continue
        parts = case.draw(rng, max(1, samples), sizes)
        feeds = case.feed(parts, list(range(samples)))
        try:
            runs.append(Run(samples, sizes, feeds, whole.run(feeds)))
        except Failed:
            failed = True
    return runs, not failed
