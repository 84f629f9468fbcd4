"""judged(seed): the verdicts on one hostile graph: its shapes, `check`, `fix`, terms, `convert`, each a *room* here."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
import onnx_ir as ir

import onereshape as orx
from onereshape.backends.convert.opset import change_opset
from onereshape.formats.model import Model
from onereshape.graphs.shapes import facts_of
from onereshape.ground.errors import ReshapeError
from tests.hostile.engine import Engine, Failed, line
from tests.hostile.generator import Case, case as made
from tests.hostile.judge_batch import judge_batch
from tests.hostile.judge_shapes import judge_shapes
from tests.hostile.judge_terms import judge_terms
from tests.hostile.noise import Pair
from tests.hostile.quirks import clouded
from tests.hostile.verdict import Verdict, difference
from tests.hostile.worlds import Run, declared_runs, freed_runs

LIMIT = 20.0
"""Seconds that one graph may take in one room."""

_PLACES = {
    "baked-dim": re.compile(r"\S*\[\d+\]"),
    "size-condition": re.compile(r".* runs only where [^:]*\w\[\d+\]"),
}
"""What `check` says of a dim that has no name, which it calls by its place."""


class Hang(BaseException):
    """A room that does not come back."""


class Judged(NamedTuple):
    """A graph and all verdicts on it."""

    case: Case
    verdicts: list[Verdict]
    features: frozenset[str]

    @property
    def unlawful(self) -> list[Verdict]:
        return [each for each in self.verdicts if not each.lawful]


@contextmanager
def limited() -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Court:
    """One graph, and the runs of the original."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.rng = np.random.default_rng([case.seed, 99])
        self.path = folder / "hostile.onnx"
        self.path.write_bytes(case.proto.SerializeToString())
        self.runs, self.healthy = declared_runs(case, np.random.default_rng([case.seed, 98]))
        self.features: set[str] = set()

    def load(self) -> Model:
        return orx.load(str(self.path))

    def fresh(self, ask: Callable[[], Verdict]) -> Callable[[], Verdict]:
        """The same dice for every room, whoever was asked before."""

        def asked() -> Verdict:
            self.rng = np.random.default_rng([self.case.seed, 99])
            return ask()

        return asked

    # The rooms

    def shapes(self) -> Verdict:
        names = {
            name: {axis: said for axis, said in enumerate(given.said) if isinstance(said, str)}
            for name, given in self.case.givens.items()
        }
        return judge_shapes(self.case, facts_of(self.load().ir), names, self.runs)

    def shapes_freed(self) -> Verdict:
        """With the batch free, and with all dims free."""
        runs = freed_runs(self.case, self.rng)
        freed = {name: {axis: "N"} for name, axis in self.case.batch.items()}
        for name, given in self.case.givens.items():
            for axis, said in enumerate(given.said):
                if isinstance(said, str) and axis != given.axis:
                    freed.setdefault(name, {})[axis] = said
        return judge_shapes(self.case, facts_of(self.load().ir, freed), freed, runs)

    def check(self) -> Verdict:
        found = [each for each in orx.check(self.load()) if each.severity == "error"]
        # An absorbed dim says nothing of what runs; a literal 0 beside a -1 runs against the specification.
        wrong = [each for each in found if each.code != "absorbed-dim" and "beside the literal 0" not in each.message]
        # A dim without a name is as it was exported in every run, so that none can show that it is forced.
        wrong = [each for each in wrong if not (each.code in _PLACES and _PLACES[each.code].match(each.message))]
        if not wrong:
            return Verdict("check", "right")
        self.features.add("check:found")
        first = f"{wrong[0].node}: {wrong[0].code}: {wrong[0].message}"
        graph = self.load().ir.graph
        inside = {node.name for node in graph.all_nodes()} - {node.name for node in graph}
        if wrong[0].node in inside:  # a branch that no run has taken
            return Verdict("check", "no truth", first)
        if self.healthy or (self.runs and wrong[0].code in {"spec-error", "impossible-volume"}):
            return Verdict("check", "false alarm", first)
        return Verdict("check", "no truth", first)

    def batch(self, *, certify: bool = False, simplify: bool = False) -> Verdict:
        case = self.case
        if not case.batch:
            return Verdict("batch", "no truth")
        fixed = orx.fix(self.load(), batch=case.batch, certify=certify, simplify=simplify)
        verdict = judge_batch(
            case, ir.to_proto(fixed.model.ir), case.seed, empty=">= 1" not in " ".join(fixed.conditions)
        )
        if fixed.changes and verdict.kind == "right":
            verdict = verdict._replace(kind="edited")
        return verdict

    def terms(self) -> Verdict:
        """What is written, on terms."""
        if not self.case.batch or self.case.random:
            return Verdict("terms", "no truth")
        fixed = orx.fix(self.load(), batch=self.case.batch, certify=False, new_axis=False)
        return judge_terms(self.case, fixed.model.ir, empty=">= 1" not in " ".join(fixed.conditions))

    def simplify(self) -> Verdict:
        if "Reshape" not in self.case.ops:
            return Verdict("simplify", "no truth", "no Reshape")
        fixed = orx.fix(self.load(), simplify=True, certify=False)
        if not fixed.changes:
            return Verdict("simplify", "right")
        said = " ".join([*fixed.conditions, *(change.message for change in fixed.changes)])
        fault = self._unlike("simplify", ir.to_proto(fixed.model.ir), empty=">= 1" not in said)
        return fault or Verdict("simplify", "edited")

    def convert(self) -> Verdict:
        opset = int(self.rng.integers(7, 27))
        target = self.folder / "converted.onnx"
        target.unlink(missing_ok=True)
        change_opset(self.load(), opset, str(target))
        fault = self._unlike("convert", onnx.load(target), empty=True)
        if fault is not None:
            return fault._replace(text=f"to opset {opset}: {fault.text}")
        return Verdict("convert", "edited")

    def free(self) -> Verdict:
        """Another dim than the batch is freed; at the exported size the model must stay what it was."""
        case = self.case
        places = [
            (name, axis)
            for name, given in case.givens.items()
            for axis, said in enumerate(given.said)
            if isinstance(said, int) and axis != given.axis and not given.choices
        ]
        if not places:
            return Verdict("free", "no truth")
        name, axis = places[int(self.rng.integers(len(places)))]
        fixed = orx.fix(self.load(), free={name: {axis: "Z"}}, certify=False)
        fault = self._unlike("free", ir.to_proto(fixed.model.ir), empty=">= 1" not in " ".join(fixed.conditions))
        return fault or Verdict("free", "edited" if fixed.changes else "right")

    def _unlike(self, room: str, proto: Any, *, empty: bool) -> Verdict | None:
        """Where a model answers otherwise than the original, at any size that the original takes."""
        try:
            ours = Engine(proto, ours=True)
        except Failed as failure:
            if "NOT_IMPLEMENTED" in str(failure):
                return Verdict(room, "no truth", str(failure))
            return Verdict(room, "broken", str(failure))
        for run in self.runs:
            if not empty and not (run.samples and all(run.sizes.values())):
                continue
            said = f"at {run.samples} samples, {dict(run.sizes)}"
            try:
                found = ours(run.feeds)
            except Failed as failure:
                # The engine plans its memory otherwise where it is to give all values; and values that it made of
                # nothing, against the specification, may be what this one misses.
                if self._fails(run) or self._doubtful(run):
                    continue
                return Verdict(room, "broken", f"{said}: {failure}")
            for place, (output, one) in enumerate(zip(self.case.proto.graph.output, found, strict=True)):
                expected = run.values.get(output.name)
                why = None if self.case.random or expected is None else difference(one, expected)
                if why is None or expected is None or clouded(self.case.proto.graph, run.values):
                    continue
                if not Pair(self.case.proto, ours, run.feeds).differs(place, one, expected, self.rng):
                    continue
                return Verdict(room, "wrong", f"{output.name} {said}: {why}")
        return None

    def _doubtful(self, run: Run) -> bool:
        """Whether the engine is no witness of some value in this run: such are left out of it."""
        made = (name for node in self.case.proto.graph.node for name in node.output)
        return any(name and name not in run.values for name in made)

    def _fails(self, run: Run) -> bool:
        """Whether the original, as it is, does not run either."""
        try:
            Engine(self.case.proto)(run.feeds)
        except Failed:
            return True
        return False


def judged(seed: int, rooms: frozenset[str] | None = None) -> Judged:
    """The verdicts on the graph of a seed."""
    return judged_case(made(seed), rooms)


def judged_case(case: Case, rooms: frozenset[str] | None = None) -> Judged:
    """The verdicts on a graph, of all rooms or of `rooms` alone."""
    with tempfile.TemporaryDirectory(dir=_fast()) as folder:
        court = Court(case, Path(folder))
        seed = case.seed
        asked: dict[str, Callable[[], Verdict]] = {
            "shapes": court.shapes,
            "shapes freed": court.shapes_freed,
            "check": court.check,
            "batch": court.batch,
            "terms": court.terms,
            "simplify": court.simplify,
        }
        every = rooms is not None
        if seed % 12 == 0 or every:
            asked["batch certified"] = lambda: court.batch(certify=True)
        if seed % 6 == 1 or every:
            asked["batch simplified"] = lambda: court.batch(simplify=True)
        if seed % 4 == 2 or every:
            asked["convert"] = court.convert
        if seed % 4 == 3 or every:
            asked["free"] = court.free
        verdicts = [_safely(room, court.fresh(ask)) for room, ask in asked.items() if rooms is None or room in rooms]
    return Judged(case, verdicts, frozenset(court.features))


def _fast() -> str | None:
    """Where files cost nothing."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108


def _safely(room: str, ask: Callable[[], Verdict]) -> Verdict:
    """A verdict, whatever is raised."""
    try:
        with limited():
            return ask()._replace(room=room)
    except ReshapeError as refusal:
        return Verdict(room, "refused", line(refusal))
    except Hang:
        return Verdict(room, "hang", f"more than {LIMIT} s")
    except Exception as error:  # noqa: BLE001 - whatever is no refusal breaks the law
        return Verdict(room, "crash", _traced(error))


def _traced(error: Exception) -> str:
    trace = error.__traceback__
    places = []
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{Path(code.co_filename).name}:{trace.tb_lineno}")
        trace = trace.tb_next
    return f"{type(error).__name__}: {line(error)} ({' < '.join(places[::-1][:5])})"
