"""ONNX models that other libraries hold in memory, and back: `onnx.ModelProto`, `onnx_ir.Model`, torch's ONNXProgram.

What is given is never changed.  A message is copied; of an `onnx_ir.Model` the graph is, and its tensors are shared,
however large they are.
"""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import onnx
import onnx_ir as ir

from onereshape.formats.model_data import ModelData
from onereshape.formats.onnx.onnx_data import tensors_of
from onereshape.formats.onnx.onnx_graphs import (
    check_external,
    every,
    external_file,
    external_tensors,
    graphs,
    in_order,
    own_external,
    roots,
)
from onereshape.formats.onnx.onnx_large import inner_size, is_large, message_of_ir
from onereshape.formats.onnx.onnx_lists import lists_of, with_lists
from onereshape.formats.onnx.onnx_message import LARGEST
from onereshape.formats.onnx.onnx_model import Original, check_graphs, in_memory, message_of
from onereshape.formats.onnx.onnx_nameless import forget_nameless
from onereshape.formats.onnx.onnx_reshapes import reshapes as find_reshapes
from onereshape.formats.refusals import cause, unreadable, unwritable
from onereshape.ground.text import shown

_LONGEST_NAME = 80


def from_proto(given: onnx.ModelProto) -> ModelData:
    """The model of a message."""
    name = _called("ModelProto", given.graph.name)
    copy = onnx.ModelProto()
    copy.CopyFrom(given)
    return in_memory(Original(copy), name)


def from_ir(given: ir.Model, kind: str, *, named: bool = True) -> ModelData:
    """The model of an `onnx_ir.Model`, copied and checked; `kind` is the type that the caller gave, for messages."""
    name = _called(kind, getattr(given.graph, "name", None) if named else None)
    try:
        copy = _copied(given)
    except Exception as error:  # noqa: BLE001 - whatever onnx-ir raises for a graph that is none
        raise unreadable(name, f"is not a sound ONNX model: {cause(error)}") from None
    _check_values(copy, name)
    check_graphs(copy, name)
    forget_nameless(copy)
    folder = _folder(copy, name)
    if folder is not None:
        check_external(copy, name, folder)
    return ModelData("onnx", name, find_reshapes(copy, name), copy, given, "" if folder is None else str(folder))


def proto_of(model: ModelData) -> onnx.ModelProto:
    """The message of a model as it is now, with all weights in it."""
    size = inner_size(model.ir) + sum(tensor.nbytes for tensor in external_tensors(model.ir))
    too_large = f"has {size} bytes of weights, and a ModelProto holds less than 2 GiB: save(path) writes it"
    if size > LARGEST:
        raise unwritable(model.path, too_large)
    if isinstance(model.original, Original):
        found, _ = message_of(model.original, model.ir, model.path)
        proto = onnx.ModelProto()
        proto.CopyFrom(with_lists(found, {**model.original.lists, **lists_of(model.ir)}))
    else:
        proto = message_of_ir(model.ir, model.path)
    _bring_in(proto, model)
    if is_large(proto):
        raise unwritable(model.path, too_large)
    return proto


def _called(kind: str, name: object) -> str:
    return f"{kind} {shown(name, _LONGEST_NAME)}" if isinstance(name, str) and name else kind


def _copied(given: ir.Model) -> ir.Model:
    """A copy of a model that shares its tensors; external ones, which are but a place in a file, are copied too."""
    if all(in_order(root) for root, _ in roots(given)):
        copy = given.clone()
    else:  # onnx-ir clones nodes in the order that they have
        copy = ir.from_proto(ir.to_proto(given))
        for old, new in zip(external_tensors(given), external_tensors(copy), strict=True):
            new.base_dir = old.base_dir
    own_external(copy)
    for root, _ in roots(copy):
        for node in every(root):
            for value in node.outputs:
                value.const_value = None  # what some tool found out of it: no part of the model, and shared
    return copy


def _check_values(model: ir.Model, name: str) -> None:
    """Refuses values that no file can tell apart, and initializers without a value."""
    for part in (part for root, _ in roots(model) for part in graphs(root)):
        initializers = getattr(part, "initializers", {}).values()
        for value in initializers:
            if value.const_value is None:
                raise unreadable(name, f"its initializer {value.name!r} has no value")
        values = dict.fromkeys([*part.inputs, *initializers, *(value for node in part for value in node.outputs)])
        counts = Counter(value.name for value in values if value.name)
        if twice := next((which for which, count in counts.items() if count > 1), None):
            raise unreadable(name, f"has two values called {twice!r}: onnx_ir.passes.common.NameFixPass() renames one")


def _folder(model: ir.Model, name: str) -> Path | None:
    """The one folder of all external data, which a model says itself; None where it has none."""
    folders: dict[Path, None] = {}
    for tensor in external_tensors(model):
        folder = Path(tensor.base_dir).absolute()
        folders[folder] = None
        if not str(tensor.base_dir) and not (folder / str(tensor.location)).exists():
            why = f"the data of {tensor.name!r} are in the file {str(tensor.location)!r}, which is not in the working "
            raise unreadable(name, f"{why}folder: onnx_ir.external_data.set_base_dir(model.graph, FOLDER) says where")
    if len(folders) > 1:
        shown_folders = " and ".join(shown(repr(str(folder)), _LONGEST_NAME) for folder in [*folders][:2])
        raise unreadable(name, f"its data are in files of several folders, {shown_folders}: save it to one first")
    return next(iter(folders), None)


def _bring_in(proto: onnx.ModelProto, model: ModelData) -> None:
    """Puts the data of other files into a message."""
    there = {(str(tensor.location), tensor.offset or 0): tensor for tensor in external_tensors(model.ir)}
    for tensor, what in tensors_of(proto) if there else ():
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            continue
        said = {entry.key: entry.value for entry in tensor.external_data}
        held = there[said.get("location", ""), int(said.get("offset", 0))]
        file = external_file(held, model.path)
        try:
            with file.open("rb") as stream:
                stream.seek(held.offset or 0, os.SEEK_SET)
                data = stream.read(held.nbytes)
        except OSError as error:
            why = f"the data of {what} in {str(held.location)!r} cannot be read ({error.strerror})"
            raise unreadable(model.path, why) from None
        if len(data) < held.nbytes:
            raise unreadable(model.path, f"the data of {what} are cut off in {str(held.location)!r}")
        tensor.raw_data = data
        tensor.ClearField("external_data")
        tensor.ClearField("data_location")
