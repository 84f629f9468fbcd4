"""What the usual scripts make of a folder of models, judged as `bench/corpus.py` judges `fix`.

    python bench/heuristics.py [FOLDER]

Each row is a way to free the batch that people publish in issues and answers, written here as kindly as it can be: a
Reshape gets a constant of its own before it is changed, so that no other reader of the old one is hurt.

    declare      the batch axes of the inputs get a name, and nothing else is done
    + onnxsim    the same, then onnxsim; `+ onnxslim` and `+ onnxscript` likewise
    update dims  onnx.tools.update_model_dims
    -1 first     -1 is written into the first entry of every constant target
    1 to 0       a leading 1 of every constant target becomes 0
    -1, batched  -1 first, in targets whose data depends on a batched input; another -1 there becomes the exported size

`fix` is the last row.  Counted are models that pass, that do not load or run, that run and answer wrongly, and those
whose outputs do not depend on the sample, of which nothing can be said.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
from onnx import numpy_helper
from onnx.tools import update_model_dims

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.arbiter import Entry, entries, verdict  # noqa: E402

import onereshape as orx  # noqa: E402

Heuristic = Callable[[onnx.ModelProto, Entry], onnx.ModelProto]


def declare(model: onnx.ModelProto, entry: Entry) -> onnx.ModelProto:
    """The batch axes get a name; what the file declares of other values is forgotten, since it may hold no longer."""
    for value in model.graph.input:
        if value.name in entry.batch:
            value.type.tensor_type.shape.dim[entry.batch[value.name]].dim_param = "N"
    for value in model.graph.output:
        if (axis := entry.outputs.get(value.name)) is not None and value.type.tensor_type.HasField("shape"):
            value.type.tensor_type.shape.dim[axis].dim_param = "N"
    del model.graph.value_info[:]
    return model


def update_dims(model: onnx.ModelProto, entry: Entry) -> onnx.ModelProto:
    """onnx's own tool."""
    wanted = [
        {value.name: dims_of(value, axes.get(value.name)) for value in values}
        for values, axes in ((model.graph.input, entry.batch), (model.graph.output, entry.outputs))
    ]
    return update_model_dims.update_inputs_outputs_dims(model, *wanted)


def dims_of(value: onnx.ValueInfoProto, axis: int | None) -> list[int | str]:
    """The declared dims, with N for the batch."""
    dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    return ["N" if place == axis else size for place, size in enumerate(dims)]


def minus_one_first(model: onnx.ModelProto, entry: Entry) -> onnx.ModelProto:
    return rewritten(declare(model, entry), lambda target, _: [-1, *target[1:]])


def one_to_zero(model: onnx.ModelProto, entry: Entry) -> onnx.ModelProto:
    return rewritten(declare(model, entry), lambda target, _: [0, *target[1:]] if target[0] == 1 else target)


def minus_one_batched(model: onnx.ModelProto, entry: Entry) -> onnx.ModelProto:
    """The exported dims are read before the batch is declared free."""
    known = exported_dims(model)
    reached = depending(model, set(entry.batch))

    def better(target: list[int], node: onnx.NodeProto) -> list[int]:
        if node.input[0] not in reached:
            return target
        dims = known.get(node.output[0], target)
        if len(dims) != len(target):
            return target
        fixed = [size if asked == -1 else asked for asked, size in zip(target, dims, strict=True)]
        return [-1, *fixed[1:]]

    return rewritten(declare(model, entry), better)


def exported_dims(model: onnx.ModelProto) -> dict[str, list[int]]:
    """The dims of all values at the exported size, as far as onnx infers them."""
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return {
        value.name: [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        for value in (*inferred.graph.value_info, *inferred.graph.output)
        if all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    }


def depending(model: onnx.ModelProto, names: set[str]) -> set[str]:
    """The values that depend on these inputs."""
    reached = set(names)
    for node in model.graph.node:
        if reached & set(node.input):
            reached |= set(node.output)
    return reached


def rewritten(model: onnx.ModelProto, better: Callable[[list[int], onnx.NodeProto], list[int]]) -> onnx.ModelProto:
    """Every Reshape with a constant target gets the target that `better` makes of it, as a constant of its own."""
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    for place, node in enumerate(model.graph.node):
        if node.op_type == "Reshape" and len(node.input) > 1 and node.input[1] in constants:
            target = [int(entry) for entry in constants[node.input[1]]]
            if target:
                name = f"heuristic_{place}"
                model.graph.initializer.append(numpy_helper.from_array(np.array(better(target, node), np.int64), name))
                node.input[1] = name
    return model


def simplified(how: str) -> Heuristic:
    """Declared, and then given to another tool."""

    def run(model: onnx.ModelProto, entry: Entry) -> onnx.ModelProto:
        found: Any = declare(model, entry)
        tool: Any = import_module("onnxscript.optimizer" if how == "onnxscript" else how)
        if how == "onnxsim":
            made: onnx.ModelProto = tool.simplify(found)[0]
        else:
            made = tool.slim(found) if how == "onnxslim" else tool.optimize(found)
        return made

    return run


HEURISTICS: dict[str, Heuristic] = {
    "declare": declare,
    "+ onnxsim": simplified("onnxsim"),
    "+ onnxslim": simplified("onnxslim"),
    "+ onnxscript": simplified("onnxscript"),
    "update dims": update_dims,
    "-1 first": minus_one_first,
    "1 to 0": one_to_zero,
    "-1, batched": minus_one_batched,
}
KINDS = {"pass": "pass", "refused by the engine": "fail", "wrong": "wrong", "blind": "untested"}


def judged(entry: Entry, heuristic: Heuristic) -> str:
    """The verdict on a model rewritten by a heuristic: pass, wrong, fail, untested, or `tool missing`."""
    try:
        made = heuristic(onnx.load(entry.path), entry).SerializeToString()
    except ImportError:
        return "tool missing"
    except Exception:  # noqa: BLE001 - whatever another tool raises
        return "fail"
    return KINDS[verdict(entry, made)[0]]


def repaired(entry: Entry) -> str:
    """The verdict on a model repaired by `fix`, as `judged` gives it."""
    try:
        fixed = orx.fix(entry.path, batch=entry.batch)
    except orx.ReshapeError:
        return "fail"
    return KINDS[verdict(entry, ir.to_proto(fixed.model.ir).SerializeToString())[0]]


def main() -> None:
    folder = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "tests" / "data" / "corpus"
    models = entries(folder)
    print(f"{len(models)} models of {folder.name}")
    print(f"{'':12} {'pass':>5} {'fails':>6} {'silently wrong':>15} {'untested':>9}")
    for name, heuristic in HEURISTICS.items():
        said(name, Counter(judged(entry, heuristic) for entry in models))
    said("fix", Counter(map(repaired, models)))


def said(name: str, counts: Counter[str]) -> None:
    if counts["tool missing"]:
        print(f"{name:12} is not installed", flush=True)
        return
    print(
        f"{name:12} {counts['pass']:5} {counts['fail']:6} {counts['wrong']:15} {counts['untested']:9}",
        flush=True,
    )


if __name__ == "__main__":
    main()
