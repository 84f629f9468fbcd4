"""Results whose names are whatever a file may call its nodes: for the tests of reprs, JSON and notebooks."""

from __future__ import annotations

from typing import Any, get_args

from hypothesis import strategies as st

from onereshape.checks.findings.finding import Finding, Findings
from onereshape.formats.model import Model
from onereshape.formats.model_data import ReshapeNode
from onereshape.graphs.edit import Change
from onereshape.prove.certificate import Certificate, joined, judged
from onereshape.prove.evidence import (
    Asked,
    AskedEngine,
    Carried,
    Compared,
    Contrast,
    Differs,
    Evidence,
    Exported,
    Failed,
    FittedOn,
    Formula,
    Held,
    Measured,
    Neighbours,
    Ran,
    RefusedSize,
    Terms,
    TimeOver,
    Untestable,
    Unusual,
)
from onereshape.prove.judge import Status
from onereshape.repair.step import Fixed
from onereshape.rule.shape import Shape
from onereshape.rule.specs import spec
from onereshape.terms.equivalence import Equivalence
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


def certificate(
    name: str, status: Status = "certified", *more: Evidence, ran: bool = True, compared: bool = True
) -> Certificate:
    """A certificate of that status, with the name wherever a file could put one."""
    dims = status in {"fitted", "unwitnessed"}
    outputs = (Measured(name, 0.5, 2.0, 6, 6), Measured(f"{name}b", float("nan"), 0.0, 6, 6, counts=False))
    sizes = ({name: 1},) if status == "unwitnessed" else ({name: 1}, {name: 2})
    evidence: list[Evidence] = [
        Asked("other" if dims else "same" if status == "equivalent" else "batch", 0, 1e-3, 1e-4, {name: Carried(0)}),
        AskedEngine((name,), (name,)),
        Contrast(name, 1e9),
        *(Compared(each, outputs) for each in sizes if compared),
        *([Ran({name: 3})] if ran else []),
        *(RefusedSize(each, name) for each in ({name: 9}, {})),
        *(Held("size", (name,), "4"), Unusual(name), Neighbours(name)),
        *([Exported({name: 1})] if dims else []),
        *more,
    ]
    told = {"output": name, "difference": 0.5, "at": {name: 2}}
    shown: dict[Status, Evidence] = {
        "proven": Terms(proof(name, always=True)),
        "equivalent": Formula(Equivalence("equivalent", "", sizes, 1e-6, "", 1)),
        "fitted": FittedOn({name: 2}),
        "untested": Untestable("undrawable", {"why": name}),
        "out-of-time": TimeOver("after 3 s"),
        "not proven": Terms(proof(name, verdict="other")),
        "differs": Differs("value", told, None),
        "failed": Failed("not-loaded", {"engine": name, "why": name}),
    }
    found = judged([*evidence, *([shown[status]] if status in shown else [])])
    assert found.status == status or not compared
    return found


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
        certificate(name, compared=False, ran=False),
        joined(certificate(name, "fitted"), certificate(name)),
        fixed(name),
        fixed(name, certificate=None, changes=(), notes=()),
        fixed(name, changes=(change(name),) * 400),
    ]
