"""Results whose names are whatever a file may call its nodes: for the tests of reprs, JSON and notebooks."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from onereshape.checks.findings.finding import Finding, Findings
from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.graphs.edit import Change
from onereshape.prove.certificate import Certificate, OutputAnswer, RefusedSize, Status
from onereshape.repair.step import Fixed
from onereshape.rule.shape import Shape
from onereshape.rule.specs import spec
from onereshape.terms.proof import OutputTerms, Proof

HOSTILE = [
    "",
    "\n\r\t\0\x1b[2J\x7f\x9b",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "&lt;b&gt; &amp; &#60;",
    "javascript:alert(1)",
    "\u202e\u2066abc\u2069\u200b\ufeff",
    "::error::x ##[error]y",
    "</td></table><h1>",
    "\ud800 alone",
    "漢字 עברית é",
    "{0} %s \\ `x` $(x)",
    "a" * 5000,
    "\U000e0100" * 300,
]
NAMES = st.sampled_from(HOSTILE) | st.text(max_size=300)
STATUSES: tuple[Status, ...] = get_args(Status)


def finding(name: str, **fields: Any) -> Finding:
    whole = {"code": "baked-dim", "severity": "error", "place": name, "op": name, "tensor": name, "origin": name}
    return Finding(**{**whole, "node": name, "message": name, "fixable": True, **fields})


def change(name: str) -> Change:
    return Change("baked-dim", name, name, name, name, name, name, name, (name,))


def proof(name: str, *, always: bool = False, verdict: Any = "proven") -> Proof:
    sizes = ({name: 1, "S": 4}, {name: 2, "S": 4})
    return Proof(verdict, name, sizes, always, name, (name,), (OutputTerms(name, 0, 1, 6),), 7)


def certificate(name: str, status: Status = "certified", **fields: Any) -> Certificate:
    sizes = ({name: 1}, {name: 2})
    whole: dict[str, Any] = {
        "status": status,
        "reason": name,
        "kind": "batch",
        "compared": sizes,
        "ran": ({name: 3},),
        "outputs": (
            OutputAnswer(name, 0, 0.5, 2.0, blind=False),
            OutputAnswer(name, None, float("nan"), 0.0, blind=True),
        ),
        "refused": (RefusedSize({name: 9}, name), RefusedSize({}, name)),
        "held": (name,),
        "extremes": (name,),
        "fitted": sizes,
        "witnesses": (),
        "seed": 0,
        "engine": name,
        "relative": 1e-3,
        "absolute": 1e-4,
        "proof": proof(name),
    }
    return Certificate(**{**whole, **fields})


def fixed(name: str, **fields: Any) -> Fixed:
    model = Model("onnx", name, (), None, None)
    whole: dict[str, Any] = {"changes": (change(name),), "certificate": certificate(name), "conditions": (name,)}
    return Fixed(model, **{**whole, "freed": {name: {0: name}}, "notes": (name,), **fields})


def node(name: str) -> ReshapeNode:
    return ReshapeNode(name, name, spec("onnx"), (name, 3), (name,) * 70, {name: 1}, name, None, name)


def every(name: str) -> list[Any]:
    """One of each result, with that name wherever a file could put one."""
    found = [certificate(name, status) for status in STATUSES]
    return [
        Shape([name or "N", (1, 8), None], [name]),
        Model("onnx", name, (node(name),) * 9, None, None),
        node(name),
        finding(name),
        Findings([finding(name)] * 3),
        change(name),
        proof(name),
        proof(name, always=True),
        proof(name, verdict="other"),
        *proof(name).outputs,
        *found,
        *found[0].outputs,
        *found[0].refused,
        certificate(name, proof=None),
        certificate(name, compared=(), ran=()),
        certificate(name, "fitted", basis=certificate(name)),
        fixed(name),
        fixed(name, certificate=None, changes=(), notes=()),
        fixed(name, changes=(change(name),) * 400),
    ]
