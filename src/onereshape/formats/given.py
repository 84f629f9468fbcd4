"""What a model may be given as, for the signatures of all that takes one; nothing is imported to name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import os

    import onnx
    import onnx_ir

    from onereshape.formats.model_data import ModelData


STREAM = "-"
"""What a command line calls standard input, and standard output."""


class BinaryFile(Protocol):
    """A file that was opened with `"rb"`, or anything else whose `read` gives bytes."""

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes, no more than `size` of them; none at the end."""


class Program(Protocol):
    """What `torch.onnx.export(..., dynamo=True)` gives: a `torch.onnx.ONNXProgram`."""

    @property
    def model(self) -> onnx_ir.Model:
        """The exported model."""


class OpenvinoModel(Protocol):
    """An `openvino.Model`."""

    def get_friendly_name(self) -> str:
        """The model's name."""

    def reshape(self, *args: object, **kwargs: object) -> None:
        """Gives the model's inputs other dims."""


Given: TypeAlias = (
    "ModelData | str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryFile"
    " | onnx.ModelProto | onnx_ir.Model | Program | OpenvinoModel"
)
"""A model, the path of its file, its bytes, or what another library holds it as."""
