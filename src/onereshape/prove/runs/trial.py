"""Trial: two models under question, and the evidence so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import onnx_ir as ir

from onereshape.graphs.exports import Freed
from onereshape.prove.counterexample import Counterexample
from onereshape.prove.engines.engine import Array, Refusal, Session, engine_of, folder_of
from onereshape.prove.evidence import Carried, Differs, Evidence, Failed, Held, Kind, Ran, Rounding, Sizes, Untestable
from onereshape.prove.judge import is_same_expression
from onereshape.prove.runs.comparison import Comparison
from onereshape.prove.runs.examples import FedRun
from onereshape.prove.seen import Seen
from onereshape.prove.values.input_roles import fed

Feeds = dict[str, Array]
Answers = Mapping[str, Array]


def batch_of(freed: Freed) -> tuple[dict[str, int], str]:
    """The axes that carry a batch, and its name."""
    axes = {name: axis for name, dims in freed.items() for axis in dims}
    return axes, next(name for dims in freed.values() for name in dims.values())


class Stop(Exception):  # noqa: N818 - an end, good or bad
    """Ends the runs of a trial with a record of evidence: nothing more needs to be run."""

    def __init__(self, record: Differs | Failed | Untestable) -> None:
        self.record = record
        super().__init__(record)


class NoRoom(Stop):
    """A run needed more memory than there is: it says nothing of what the model answers."""

    def __init__(self, record: Failed, why: str) -> None:
        self.why = why
        super().__init__(record)


def failed(code: str, **fields: object) -> Stop:
    """An end: the repaired model does not run."""
    return Stop(Failed(code, fields))


def untestable(code: str, **fields: object) -> Stop:
    """An end: runs can show nothing more."""
    return Stop(Untestable(code, fields))


@dataclass
class Trial:
    """Two models, what is asked of them, and the evidence, to which records are only added."""

    original: ir.Model
    repaired: ir.Model
    freed: Freed
    asked: Comparison
    base_dir: str
    evidence: list[Evidence] = field(default_factory=list)
    first: FedRun | None = None
    """The first run of the original."""
    steps: int = 12
    """How many there will be, as far as is known: fewer, where terms prove it."""
    done: int = 0

    @cached_property
    def declared(self) -> Mapping[str, ir.Shape | None]:
        """The dims that the repaired model declares for its outputs."""
        return {value.name or "": value.shape for value in self.repaired.graph.outputs}

    @property
    def kind(self) -> Kind:
        """What was freed."""
        return self.asked.kind

    @property
    def size(self) -> int:
        """The original's batch; 1 where none is freed."""
        return self.asked.size if self.kind == "batch" else 1

    @property
    def outputs(self) -> Mapping[str, Carried | None]:
        """Where outputs carry the batch."""
        return self.asked.outputs if self.kind == "batch" else {}

    def step(self, text: str) -> None:
        """Tells the caller's progress function the next step, in words."""
        if self.asked.progress is not None:
            self.asked.progress(min(self.done, self.steps - 1), self.steps, text)
        self.done += 1

    @property
    def widened(self) -> Mapping[str, float]:
        """By what the tolerance of an output is multiplied, as the original differs that much from itself."""
        return Seen(self.evidence).widened

    @property
    def doubts(self) -> dict[str, Rounding]:
        """Outputs with a difference that rounding may make."""
        return {each.output: each for each in self.evidence if isinstance(each, Rounding)}

    @property
    def proven(self) -> bool:
        """Whether terms prove all that is asked, of a batch for every N, so that the engine is asked little."""
        seen = Seen(self.evidence)
        always = self.kind != "batch" or (seen.here is not None and seen.here.always)
        return is_same_expression(seen) and always and not self.asked.thorough

    def counts(self, output: str) -> bool:
        """Whether an output can show that the samples are kept apart; the labels of maps cannot."""
        if self.kind == "batch":
            return self.outputs.get(output) is not None
        names = (value.name for value in self.original.graph.outputs)
        return any(output == name or output.startswith(f"{name}[") for name in names)

    def opened(self) -> Session:
        """The repaired model in the engine."""
        base_dir = folder_of(self.repaired) or self.base_dir
        try:
            return Session(self.repaired, base_dir)
        except Refusal as refusal:
            stop = failed("not-loaded", engine=engine_of(self.repaired), why=refusal.why)
        if self.kind != "same":
            raise stop
        try:  # an optimiser may not load what it wrote, if it is to optimise it again
            session = Session(self.repaired, base_dir, optimize=False)
        except Refusal:
            raise stop from None
        self.evidence.append(Held("optimiser", (session.engine,)))
        return session

    def run(self, session: Session, feeds: Answers, at: Sizes, *, listed: bool = True) -> Answers:
        """The repaired model's answers."""
        try:
            found = session.run(feeds)
        except Refusal as refusal:
            record = Failed("not-run", {"engine": session.engine, "at": dict(at), "why": refusal.why})
            raise (NoRoom(record, refusal.why) if refusal.kind == "memory" else Stop(record)) from None
        if listed:
            self.evidence.append(Ran(dict(at)))
        if self.first is not None and (odd := self.first.answers.keys() ^ found.keys()):
            name = min(odd)
            mine = name in self.first.answers
            values = ("given", "not given") if mine else ("not given", "given")
            who = "the original" if mine else "the repaired model"
            beside = feeds if self.kind == "same" else self.first.feeds
            example = Counterexample(name, "tensors", ("original", "repaired"), values, None, dict(at), beside, feeds)
            raise Stop(Differs("tensors", {"who": who, "output": name, "at": dict(at)}, example))
        return found


def check_interface(original: ir.Model, other: ir.Model, what: str) -> None:
    """Stops, unless the inputs and outputs have the same names, and the inputs the same types: no input is for both.

    The types of outputs are seen in a run.
    """
    for role, mine, theirs in (
        ("inputs", fed(original), fed(other)),
        ("outputs", original.graph.outputs, other.graph.outputs),
    ):
        names = [[value.name for value in values] for values in (mine, theirs)]
        if names[0] != names[1]:
            raise failed("names", model=what, role=role, got=names[1], wanted=names[0])
        for before, after in zip(mine, theirs, strict=True) if role == "inputs" else ():
            if before.dtype != after.dtype:
                raise failed("input-type", name=after.name, model=what, got=str(after.dtype), wanted=str(before.dtype))


def check_free(trial: Trial) -> None:
    """Stops where an input of the repaired model still has a number where a dim was freed."""
    for value in fed(trial.repaired):
        for axis, symbol in trial.freed.get(value.name or "", {}).items():
            dim = None if value.shape is None else value.shape[axis]
            if isinstance(dim, int):
                raise failed("still-fixed", name=value.name, size=dim, axis=axis, symbol=symbol)
