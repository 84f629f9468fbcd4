"""The files of a plan: which suffix a specification's files have, and writing all of them or none."""

from __future__ import annotations

import io
from pathlib import Path

from onereshape.convert.plan import Plan
from onereshape.errors import ReshapeError
from onereshape.formats.atomic import replacing
from onereshape.formats.model import Model
from onereshape.formats.model_files import data_files, suffix
from onereshape.formats.overwriting import refuse_overwriting
from onereshape.specs import Spec

SUFFIXES = {"onnx": (".onnx", ".onnxtxt", ".onnx.gz"), "openvino": (".xml",), "onednn": (".json",)}
"""How the names of each dialect's files end."""


def write(plan: Plan, path: str) -> None:
    """Writes the model of a plan; what it is made of is known before the first file is opened."""
    # Each writer is imported when it is asked for: onnx takes long.
    if plan.spec.dialect == "openvino":
        from onereshape.convert.write_openvino import openvino_bytes  # noqa: PLC0415
        from onereshape.formats.openvino_pair import write_pair  # noqa: PLC0415

        xml, weights = openvino_bytes(plan, path)
        write_pair(path, xml, io.BytesIO(weights))
        return
    if plan.spec.dialect == "onnx":
        from onereshape.convert.write_onnx import onnx_bytes  # noqa: PLC0415

        content = onnx_bytes(plan, path, suffix(path))
    else:
        from onereshape.convert.write_onednn import onednn_bytes  # noqa: PLC0415

        content = onednn_bytes(plan)
    with replacing(path) as file:
        file.write(content)


def check_output(read: str, written: str, spec: Spec) -> None:
    """Refuses an output that cannot be one, before anything is read."""
    endings = SUFFIXES[spec.dialect]
    if suffix(written) not in endings:
        why = f"{written}: a model of {spec} is written to a name that ends in {' or '.join(endings)}"
        raise ReshapeError("bad-usage", why=why)
    refuse_overwriting(_written(written, spec), read)


def check_weights(model: Model, written: str, spec: Spec) -> None:
    """Refuses an output that would take the place of the weights of the model that is read."""
    refuse_overwriting(_written(written, spec), model.path, data_files(model))


def _written(path: str, spec: Spec) -> list[str]:
    return [path, str(Path(path).with_suffix(".bin"))] if spec.dialect == "openvino" else [path]
