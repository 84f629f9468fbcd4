"""fix --batch on terms: what is proven is right in onnxruntime, and what is right there is not said to differ."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx_ir as ir

from onereshape.terms.limits import Limits
from onereshape.terms.proof import Proof
from onereshape.terms.prove import prove_batch
from tests.hostile.engine import Array, Engine
from tests.hostile.generator import Case
from tests.hostile.judge_batch import Home, Truth, judge_batch, judge_fault
from tests.hostile.verdict import Verdict

ROOM = "terms"
MANY = 13
"""Samples at which onnxruntime is asked once more if terms say that it holds for every number of them."""


def proof_of(case: Case, fixed: ir.Model) -> Proof:
    """The terms of both models; inputs that serve as sizes are given numbers."""
    size = case.size if isinstance(case.batch_said, int) else 1
    given: dict[str, Array] = {}
    while True:
        found = prove_batch(
            _sized(case, case.proto),
            _sized(case, ir.to_proto(fixed)),
            case.batch,
            size=size,
            sizes=dict(case.named),
            given=given,
            seed=case.seed,
            limits=Limits(15.0, 1 << 22),
        )
        left = [name for name, each in case.givens.items() if each.axis is None and name not in given]
        if "needs the numbers" not in found.reason or not left:
            return found
        parts = case.draw(np.random.default_rng([case.seed, 5]), 1, dict(case.named))
        given = {name: parts[name][0] for name in [*given, *left]}


def _sized(case: Case, proto: Any) -> ir.Model:
    """A model whose dims without a name are as they were exported."""
    model: ir.Model = ir.from_proto(proto)
    for value in model.graph.inputs:
        given = case.givens.get(value.name or "")
        if given is None or value.shape is None:
            continue
        dims: list[Any] = list(value.shape)
        for axis, (dim, said) in enumerate(zip(given.dims, given.said, strict=True)):
            if said is None and axis != given.axis:
                dims[axis] = dim
        value.shape = ir.Shape(dims)
    return model


def judge_terms(case: Case, fixed: ir.Model, *, empty: bool) -> Verdict:
    """The verdict of the terms beside that of the engine, which is asked only where it may contradict."""
    proof = proof_of(case, fixed)
    if proof.verdict == "not proven":
        return Verdict(ROOM, "not proven", reason(proof.reason))
    engine = judge_batch(case, ir.to_proto(fixed), case.seed, empty=empty)
    if proof.verdict == "other":
        if engine.kind in {"right", "edited"} and not case.random:
            return Verdict(ROOM, "false alarm", proof.reason)
        return Verdict(ROOM, "differs", reason(proof.reason))
    if engine.kind == "wrong":
        return Verdict(ROOM, "wrong", f"proven, and {engine.text}")
    if not proof.always:
        return Verdict(ROOM, "proven", reason(proof.not_always))
    return _many(case, ir.to_proto(fixed)) or Verdict(ROOM, "always")


def _many(case: Case, fixed: Any) -> Verdict | None:
    """At more samples than the terms had."""
    truth = Truth(case, Engine(case.proto), dict(case.named), [case.seed, 3], MANY)
    if not truth.answers:
        return None
    possible: dict[int, list[Home]] = {}
    fault = judge_fault(case, truth, Engine(fixed, ours=True), possible, np.random.default_rng([case.seed, 4]))
    return None if fault is None or fault.kind != "wrong" else Verdict(ROOM, "wrong", f"always, and {fault.text}")


def reason(text: str) -> str:
    """Why, without names and numbers: reasons are counted."""
    return re.sub(r"\d+", "#", re.sub(r"^(from )?(\w+) \S+?(:| on)", r"\1\2\3", text))[:90]
