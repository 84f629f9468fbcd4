"""The fields of a kept certificate, read with a check of each: whoever wrote the file, nothing in it surprises."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final, TypeGuard, get_args

from onereshape.formats.refusals import unreadable
from onereshape.prove.certify import CertifyQuestion
from onereshape.prove.evidence import Carried
from onereshape.prove.judge import Status
from onereshape.terms.proof import Verdict

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_LONGEST: Final = 4096
"""Signs of a path."""
_MOST_SEED: Final = 2**128
_OLD: Final = "differs"
"""What older files call terms that are another expression."""
SEVERAL: Final = ("witness", "like")
ROLES: Final = ("original", "repaired", *SEVERAL)
"""What a model is in a certificate; there may be several witnesses, and several others that it was fitted on."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A certificate as a file has it."""

    path: str
    models: Mapping[str, Sequence[Mapping[str, Any]]]
    """Role -> its models, each with path, digest, and digests of the data."""
    says: str
    """The claim of the certificate in words: `proven: ...`."""
    question: CertifyQuestion
    seed: int
    versions: Mapping[str, str]
    certificate: Mapping[str, Any]


class _WrongError(Exception):
    """A field of a kept certificate that is missing or wrong; the message names it."""


def read_fields(path: str, fields: Mapping[str, Any]) -> Kept:
    """All fields of a file, or a FormatError that names the first one that is wrong."""
    try:
        certificate = _certificate(fields.get("certificate"))
        models = {role: [_model(fields.get(role), role)] for role in ROLES if role not in SEVERAL}
        for role in SEVERAL:
            _check(isinstance(fields.get(role, []), list), role)
            models[role] = [_model(each, role) for each in fields.get(role, [])]
        versions = _mapping(fields.get("versions", {}), "versions")
        says = _text(fields.get("says"), "says")
        _check(all(isinstance(each, str) for each in versions.values()), "versions")
        question = _question(_mapping(fields.get("asked"), "asked"), certificate)
    except _WrongError as wrong:
        raise unreadable(path, f"is not a certificate that can be checked: {wrong}") from None
    return Kept(path, models, says, question, certificate["seed"], versions, certificate)


def _check(right: bool, field: str) -> None:
    if not right:
        raise _WrongError(f"its field {field!r} is missing or wrong")


def _mapping(value: Any, field: str) -> Mapping[str, Any]:
    _check(isinstance(value, dict), field)
    found: Mapping[str, Any] = value
    return found


def _text(value: Any, field: str) -> str:
    _check(isinstance(value, str), field)
    return str(value)


def _model(value: Any, role: str) -> Mapping[str, Any]:
    fields = _mapping(value, role)
    path, data = fields.get("path"), _mapping(fields.get("data"), f"{role}.data")
    _check(isinstance(path, str) and 0 < len(path) <= _LONGEST and "\0" not in path, f"{role}.path")
    _check(not PurePosixPath(str(path)).is_absolute(), f"{role}.path")
    for digest in (fields.get("sha256"), *data.values()):
        _check(isinstance(digest, str) and _DIGEST.fullmatch(digest) is not None, f"{role}.sha256")
    return {"path": path, "sha256": fields["sha256"], "data": data}


def _question(asked: Mapping[str, Any], certificate: Mapping[str, Any]) -> CertifyQuestion:
    conditions = asked.get("conditions", [])
    _check(isinstance(conditions, list) and all(isinstance(each, str) for each in conditions), "asked.conditions")
    batch, free = asked.get("batch"), asked.get("free")
    _check(batch is None or free is None, "asked")
    outputs = None
    if batch is not None:
        _check(bool(_mapping(batch, "asked.batch")) and all(map(_is_count, batch.values())), "asked.batch")
        outputs = _places(certificate)
    if free is not None:
        free = {name: _axes(axes) for name, axes in _mapping(free, "asked.free").items()}
        _check(bool(free), "asked.free")
    real = certificate["equivalence"] is not None
    thorough = asked.get("thorough", False)
    _check(isinstance(thorough, bool), "asked.thorough")
    return CertifyQuestion(batch, free, tuple(conditions), outputs, real=real, thorough=thorough)


def _axes(value: Any) -> dict[int, str]:
    axes = _mapping(value, "asked.free")
    right = all(re.fullmatch("[0-9]{1,4}", axis) and isinstance(name, str) for axis, name in axes.items())
    _check(bool(axes) and right, "asked.free")
    return {int(axis): name for axis, name in axes.items()}


def _places(certificate: Mapping[str, Any]) -> dict[str, Any] | None:
    """Where the outputs are said to carry the batch."""
    outputs = certificate["outputs"]
    if not outputs:
        return None
    lost = _lost(certificate)
    return {
        each["name"]: None
        if each["axis"] is None
        else Carried(each["axis"], each["outer"], None, each.get("new"), lost=each["name"] in lost)
        for each in outputs
    }


def _lost(certificate: Mapping[str, Any]) -> set[str]:
    """The outputs that are said to lose the axis of the batch at one sample."""
    asked = [each for each in certificate.get("evidence", []) if each["record"] == "asked"]
    return {
        name
        for each in asked
        for name, place in _mapping(each.get("outputs"), "certificate.evidence").items()
        if isinstance(place, dict) and place.get("lost") is True and isinstance(place.get("new"), int)
    }


def _certificate(value: Any) -> Mapping[str, Any]:
    found = _mapping(value, "certificate")
    _check(found.get("status") in get_args(Status), "certificate.status")
    _text(found.get("reason"), "certificate.reason")
    _check(found.get("kind") in {"batch", "other", "same"}, "certificate.kind")
    seed = found.get("seed")
    _check(_is_count(seed) and seed < _MOST_SEED, "certificate.seed")
    _check(isinstance(found.get("outputs"), list), "certificate.outputs")
    for each in found["outputs"]:
        output = _mapping(each, "certificate.outputs")
        axis, outer = output.get("axis"), output.get("outer")
        named = isinstance(output.get("name"), str) and (axis is None or (_is_count(axis) and axis < _LONGEST))
        _check(named and _is_count(outer) and outer > 0, "certificate.outputs")
        new = output.get("new")
        _check(new is None or (_is_count(new) and axis == 0 and outer == 1), "certificate.outputs")
    evidence = found.get("evidence", [])
    _check(isinstance(evidence, list), "certificate.evidence")
    for each in evidence:
        _text(_mapping(each, "certificate.evidence").get("record"), "certificate.evidence")
    if (proof := found.get("proof")) is not None:
        told = _mapping(proof, "certificate.proof")
        told = {**told, "verdict": "other"} if told.get("verdict") == _OLD else told
        _check(told.get("verdict") in get_args(Verdict), "certificate.proof.verdict")
        _check(isinstance(told.get("always"), bool), "certificate.proof.always")
        found = {**found, "proof": told}
    if (reading := found.get("equivalence")) is not None:
        told = _mapping(reading, "certificate.equivalence")
        _check(isinstance(told.get("verdict"), str), "certificate.equivalence.verdict")
    return {"proof": None, "equivalence": None, **found}


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
