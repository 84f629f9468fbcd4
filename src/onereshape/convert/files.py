"""The files of a plan: which suffix a specification's files have, and writing all of them or none."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

from onereshape.convert.plan import Plan
from onereshape.errors import ReshapeError
from onereshape.formats.atomic import replacing
from onereshape.formats.model import Model
from onereshape.formats.model_files import suffix
from onereshape.specs import Spec

SUFFIXES = {"onnx": (".onnx", ".onnxtxt", ".onnx.gz"), "openvino": (".xml",), "onednn": (".json",)}
"""How the names of each dialect's files end."""


def write(plan: Plan, path: str) -> None:
    """Writes the model of a plan; what it is made of is known before the first file is opened."""
    contents = _contents(plan, path)
    with ExitStack() as files:  # all are written before one is renamed
        for name, content in contents.items():
            files.enter_context(replacing(name)).write(content)


def _contents(plan: Plan, path: str) -> dict[str, bytes]:
    # Each writer is imported when it is asked for: onnx takes long.
    if plan.spec.dialect == "onnx":
        from onereshape.convert.write_onnx import onnx_bytes  # noqa: PLC0415

        return {path: onnx_bytes(plan, path, suffix(path))}
    if plan.spec.dialect == "openvino":
        from onereshape.convert.write_openvino import openvino_bytes  # noqa: PLC0415

        xml, weights = openvino_bytes(plan)
        return {path: xml, str(Path(path).with_suffix(".bin")): weights}
    from onereshape.convert.write_onednn import onednn_bytes  # noqa: PLC0415

    return {path: onednn_bytes(plan)}


def check_output(read: str, written: str, spec: Spec) -> None:
    """Refuses an output that cannot be one, before anything is read."""
    endings = SUFFIXES[spec.dialect]
    if suffix(written) not in endings:
        why = f"{written}: a model of {spec} is written to a name that ends in {' or '.join(endings)}"
        raise ReshapeError("bad-usage", why=why)
    if _same(read, written):
        raise ReshapeError("bad-usage", why=f"{written} is the input itself, which is never changed: name another OUT")


def check_weights(model: Model, written: str, spec: Spec) -> None:
    """Refuses an IR whose .bin would take the place of the weights of the model that is read."""
    if spec.dialect != "openvino":
        return
    beside = str(Path(written).with_suffix(".bin"))
    for file in _weights(model):
        if _same(file, beside):
            why = f"{beside} holds the weights of {model.path}, which are never changed: name another OUT"
            raise ReshapeError("bad-usage", why=why)


def _weights(model: Model) -> list[str]:
    if model.format == "openvino":
        return [str(model.original.weights)]
    if model.format == "onednn":
        return []
    from onereshape.formats.onnx_graphs import external_tensors  # noqa: PLC0415

    return list(dict.fromkeys(os.fspath(tensor.path) for tensor in external_tensors(model.ir)))


def _same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except (OSError, ValueError):  # one of them is not there
        return False
