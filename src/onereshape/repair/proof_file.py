"""A certificate that is kept: what was asked, of which files, and what was found; and checking it again.

Nothing that such a file says is believed: the digests say whether the models at hand are those that it was made for,
and then the whole certificate is made again, with the engine's seed of before and a new one for the terms.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from onereshape.formats.model import Model, data_files, load
from onereshape.formats.onnx.onnx_sound import blamed
from onereshape.formats.reading import content_of
from onereshape.formats.refusals import unreadable
from onereshape.graphs.irs import imaged
from onereshape.graphs.request import Free, Progress, requested
from onereshape.ground.atomic import replacing
from onereshape.ground.errors import FixError
from onereshape.ground.isolation.budget import Limits
from onereshape.ground.text import exact_json
from onereshape.prove.certificate import Certificate
from onereshape.prove.certify import CertifyQuestion, ModelPair, certified
from onereshape.repair.dims_work import free_work, like_work
from onereshape.repair.proof_fields import ROLES, SEVERAL, Kept, read_fields
from onereshape.repair.step import copied
from onereshape.repair.work import Work

FORM: Final = "onereshape certificate"
VERSION: Final = 1
_LARGEST: Final = 1 << 24
"""Bytes of a file that is read; a certificate of thousands of outputs has less."""
_PACKAGES: Final = ("numpy", "onnx", "onnx-ir")
_SAME: Final = ("kind", "compared", "ran", "refused", "held", "extremes", "fitted", "witnesses", "relative", "absolute")
"""What does not depend on the machine; the numbers in a reason do, and its words do not."""
_NUMBERS: Final = re.compile(r"(?:(?:\d+(\.\d+)?(e[+-]\d+)?|\binf\b|\bnan\b)(?:, )?)+")
_PLACES: Final = re.compile(r"\(\.\.\.\)(?:, \(\.\.\.\))*")
_COMPANY: Final = re.compile(r"; no sample changed beside others of \S+ kinds?")
_RUNS: Final = ("compared", "ran", "extremes")
"""What older certificates, which have no evidence, may have more of: there all was run, though terms had proven it."""
_SEEN: Final = {
    **dict.fromkeys(("exported", "fitted-on", "witnessed", "compared", "ran", "refused-size"), ("sizes",)),
    **dict.fromkeys(("unusual", "neighbours"), ("values",)),
    "asked": ("kind", "seed", "relative", "absolute"),
    "held": ("what", "names", "value"),
}
"""The records of evidence that do not depend on the machine, and what of them does not."""


@dataclass(frozen=True, slots=True)
class Rechecked:
    """What was found when a kept certificate was made again."""

    kept: Kept
    certificate: Certificate
    other: tuple[str, ...]
    """What is not as it was, in words."""

    @property
    def holds(self) -> bool:
        """Whether the file says what is so, and the repaired model may be used."""
        return not self.other and self.certificate.holds

    @property
    def suffices(self) -> bool:
        """Whether the file says what is so, and `fix` would write the model without being told to."""
        return not self.other and self.certificate.suffices


def digests(model: Model) -> dict[str, Any]:
    """The SHA-256 of a model's file and of the files that hold its weights."""
    folder = Path(model.path).parent
    data = {os.path.relpath(file, folder): _digest(file) for file in data_files(model)}
    return {"sha256": _digest(model.path), "data": dict(sorted(data.items()))}


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None


def keep(
    path: str,
    models: Mapping[str, Sequence[tuple[str, Mapping[str, Any]]]],
    question: CertifyQuestion,
    found: Certificate,
) -> None:
    """Writes a certificate; `models` gives the paths and the digests of those of each role (`ROLES`)."""
    folder = os.path.realpath(Path(path).parent)
    named = {
        role: [{"path": os.path.relpath(os.path.realpath(file), folder), **told} for file, told in each]
        for role, each in models.items()
    }
    asked: dict[str, Any] = {"conditions": list(question.conditions)}
    if isinstance(question.batch, Mapping):
        asked["batch"] = dict(question.batch)
    if question.thorough:
        asked["thorough"] = True
    if question.free is not None:
        asked["free"] = {name: {str(axis): each for axis, each in axes.items()} for name, axes in question.free.items()}
    content = {
        "form": FORM,
        "version": VERSION,
        "says": _claim(found.status, found.reason),
        "asked": asked,
        **{role: each if role in SEVERAL else each[0] for role, each in named.items() if each},
        "versions": versions(),
        "certificate": found.to_json(),
    }
    with replacing(path) as file:
        file.write(f"{exact_json(content)}\n".encode())


def versions() -> dict[str, str]:
    """The versions of all packages that a certificate rests on."""
    from onereshape import __version__  # noqa: PLC0415 - it imports us
    from onereshape.ground.installed import runtime, version_of  # noqa: PLC0415 - takes long

    engine, version = runtime()
    return {"onereshape": __version__, **{name: version_of(name) for name in _PACKAGES}, engine: version}


def read_proof(path: str) -> Kept:
    """What a file says; a FormatError where it is none."""
    if "\0" in path:
        raise unreadable(path, "is not a path")
    try:
        if not Path(path).is_file():
            raise unreadable(path, "there is no such file")
        content = content_of(path, _LARGEST, "and no certificate has")
    except OSError as error:
        raise unreadable(path, error.strerror or str(error)) from None
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        raise unreadable(path, "is not JSON") from None
    if not isinstance(fields, dict) or fields.get("form") != FORM:
        raise unreadable(path, "is not a certificate that onereshape keeps")
    if fields.get("version") != VERSION:
        raise unreadable(path, f"is a certificate of version {fields.get('version')!r}, and {VERSION} is known here")
    return read_fields(path, fields)


def recheck(
    kept: Kept, original: str | None, repaired: str | None, *, limit: Limits, progress: Progress | None = None
) -> Rechecked:
    """Makes a kept certificate again, and compares both.

    `original`, `repaired`: the paths of models to take in place of those that the certificate names.
    """
    given = {"original": original, "repaired": repaired}
    models: dict[str, list[Model]] = {role: [] for role in ROLES}
    for role, each in kept.models.items():
        for wanted in each:
            path = given.get(role) or os.path.normpath(Path(kept.path).parent / wanted["path"])
            models[role].append(_matching(kept, load(path), wanted))
    pair = ModelPair(models["original"][0], models["repaired"][0], tuple(models["witness"]), tuple(models["like"]))
    work = None if kept.question.free is None else _decided(pair, kept.question.free)
    question = kept.question if work is None else replace(kept.question, comparison=work.comparison)
    if "evidence" not in kept.certificate:
        question = replace(question, thorough=True)
    found = certified(pair, question, seed=kept.seed, term_seed=None, limit=limit, progress=progress)
    other = _differences(kept.certificate, json.loads(exact_json(found.to_json())))
    stated = () if work is None else work.conditions
    other += [f"{each!r} is no condition there, and it is one" for each in stated if each not in question.conditions]
    if kept.says != (says := _claim(kept.certificate["status"], kept.certificate["reason"])):
        other.append(f"it says {_short(kept.says)}, and its own certificate {_short(says)}")
    return Rechecked(kept, found, tuple(other))


def _decided(pair: ModelPair, free: Free) -> Work:
    """The repair that was made, decided again: it tells the conditions, and the dims that the outputs have."""
    given = imaged(pair.original)
    others, witnesses = (tuple(map(imaged, models)) for models in (pair.fitted, pair.witnesses))
    freed, model = requested(given, None, free), copied(given, inline=True)
    with blamed(given):
        if others:
            return like_work(given, freed, others, witnesses, model)
        return free_work(given, freed, witnesses, model)


def _claim(status: str, reason: str) -> str:
    return f"{status}: {reason}"


def _matching(kept: Kept, model: Model, wanted: Mapping[str, Any]) -> Model:
    """The model, if its digests are those in a certificate; else a FixError."""
    found = digests(model)
    if found["sha256"] != wanted["sha256"]:
        what = f"its SHA-256 is {found['sha256'][:16]}..., and not {wanted['sha256'][:16]}..."
        raise FixError("other-file", path=model.path, proof=kept.path, what=what)
    if found["data"] != wanted["data"]:
        names = sorted(found["data"].keys() | wanted["data"].keys())
        name = next(each for each in names if found["data"].get(each) != wanted["data"].get(each))
        raise FixError("other-file", path=model.path, proof=kept.path, what=f"its weights in {name!r} are others")
    return model


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What two certificates do not agree in; how large a difference is depends on the machine."""
    pairs: list[tuple[str, Any, Any]] = [("status", before["status"], after["status"])]
    was, now = (_PLACES.sub("...", _NUMBERS.sub("...", side["reason"])) for side in (before, after))
    if "evidence" in before:
        pairs.append(("evidence", _seen(before), _seen(after)))
    else:
        now = now if _COMPANY.search(was) else _COMPANY.sub("", now)
    pairs.append(("reason", was, now))
    names = [name for name in _SAME if "evidence" in before or name not in _RUNS]
    pairs += [(name, before.get(name), after[name]) for name in names]
    for name in _RUNS if "evidence" not in before else ():
        told = before.get(name)
        known = isinstance(told, list) and all(each in [*after[name], *after["compared"]] for each in told)
        pairs += [] if known else [(name, told, after[name])]
    pairs.append(("outputs", _places(before), _places(after)))
    one, two = (side["proof"] or {} for side in (before, after))
    parts = ("verdict", "always", "sizes", "held", "outputs")
    pairs += [(f"proof {name}", one.get(name), two.get(name)) for name in parts]
    one, two = (side["equivalence"] or {} for side in (before, after))
    pairs += [(f"equivalence {name}", one.get(name), two.get(name)) for name in ("verdict", "sizes", "tolerance")]
    return [f"{name} is {_short(was)} there, and now it is {_short(now)}" for name, was, now in pairs if was != now]


def _seen(certificate: Mapping[str, Any]) -> list[str]:
    """What the evidence says, without what depends on the machine, in any order, and each once."""
    told = [
        (each["record"], *(each.get(name) for name in _SEEN.get(each["record"], ())))
        for each in certificate["evidence"]
    ]
    return sorted({json.dumps(each, sort_keys=True) for each in told if each[0] in _SEEN})


def _places(certificate: Mapping[str, Any]) -> list[Any]:
    return [[each.get(key) for key in ("name", "axis", "outer", "new")] for each in certificate["outputs"]]


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
