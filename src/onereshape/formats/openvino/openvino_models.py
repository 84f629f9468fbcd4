"""Models that OpenVINO holds in memory, as the IRs that they would be in files, and back."""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
import weakref
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onereshape.formats.model_data import ModelData
from onereshape.formats.openvino.openvino_ir import load, original_of, root_of
from onereshape.formats.openvino.openvino_xml import encoded
from onereshape.formats.refusals import cause, unreadable
from onereshape.ground.errors import ReshapeError
from onereshape.ground.text import shown

if TYPE_CHECKING:
    import openvino


class _Folder:
    """A temporary folder, removed when nothing holds the object any more."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="onereshape-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


def is_held(given: Any) -> bool:
    """Whether an object is an `openvino.Model`; whoever has such a model has imported openvino."""
    openvino = sys.modules.get("openvino")
    kind = getattr(openvino, "Model", None)
    return kind is not None and isinstance(given, kind)


def held(given: Any) -> ModelData:
    """The IR of an `openvino.Model`, in files that go when nobody needs them any more."""
    import openvino  # noqa: PLC0415 - it is there: see is_held

    folder = _Folder()
    path = folder.path / "model.xml"
    name = f"openvino.Model {shown(given.get_friendly_name(), 80)}"
    try:
        openvino.serialize(given, path)
    except RuntimeError as error:
        raise unreadable(name, f"cannot be written by OpenVINO: {cause(error)}") from None
    model = load(str(path))
    return replace(model, path=name, original=replace(original_of(model), folder=folder))


def opened(model: ModelData) -> openvino.Model:
    """An IR as an `openvino.Model`."""
    if model.format != "openvino":
        raise ReshapeError("bad-usage", why=f"{model.path} is no OpenVINO IR")
    try:
        import openvino  # noqa: PLC0415 - an extra
    except ImportError:
        why = "openvino is not installed: pip install 'onereshape[openvino]'"
        raise ReshapeError("bad-usage", why=why) from None
    original = original_of(model)
    weights = b"" if original.stamp is None else original.weights.read_bytes()
    if original.added:
        weights = weights.ljust(original.start, b"\0") + original.added
    content = io.BytesIO(encoded(root_of(model), model.path))
    try:
        return openvino.Core().read_model(content, io.BytesIO(weights))
    except RuntimeError as error:
        raise unreadable(model.path, f"is refused by OpenVINO: {re.sub(chr(10), ' ', cause(error))}") from None
