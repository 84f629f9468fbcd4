"""Opening, listing and saving a model with 2 GB of weights beside it: `python bench/formats.py`.

Each reader runs in a process of its own on the same files; the peak is what that process grew by after its imports.
The weights are a file of zeros that is really written, so that a reader that reads them pays for it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
from onnx import TensorProto, helper, numpy_helper

GIGABYTES = 2
LAYERS = 200

READERS = {
    "onereshape, .onnx": (
        "from onereshape.formats import onnx_model\nfrom onereshape.formats.model import load, save",
        "model = load('model.onnx'); found = len(model.reshapes)",
        "save(model, 'again.onnx')",
    ),
    "onnx_ir, .onnx": (
        "import onnx, onnx_ir",
        "model = onnx_ir.load('model.onnx'); found = sum(n.op_type == 'Reshape' for n in model.graph)",
        "onnx_ir.save(model, 'again.onnx')",
    ),
    "onnx, .onnx": (
        "import onnx",
        "model = onnx.load('model.onnx'); found = sum(n.op_type == 'Reshape' for n in model.graph.node)",
        "onnx.save(model, 'again.onnx', save_as_external_data=True, location='again.bin')",
    ),
    "onereshape, .xml": (
        "from onereshape.formats import openvino_ir\nfrom onereshape.formats.model import load, save",
        "model = load('model.xml'); found = len(model.reshapes)",
        "save(model, 'model.xml')",
    ),
    "openvino, .xml": (
        "import openvino as ov",
        "model = ov.Core().read_model('model.xml')"
        "\nfound = sum(n.get_type_name() == 'Reshape' for n in model.get_ops())",
        "ov.save_model(model, 'again.xml', compress_to_fp16=False)",
    ),
}
CHILD = """
import re, time
from pathlib import Path
{imports}
def peak():  # of this process alone: ru_maxrss begins with its parent's
    return int(re.search("VmHWM:\\\\s+(\\\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
start = time.perf_counter()
{load}
middle = time.perf_counter()
{save}
end = time.perf_counter()
grown = peak() - before
print(found, middle - start, end - middle, grown / 1024)
"""


def write_models(folder: Path) -> None:
    """The same layers for both: a weight, an Add and a Reshape."""
    count = GIGABYTES * 10**9 // LAYERS // 4
    weights = np.zeros(count, np.float32)
    nodes, initializers, value = [], [numpy_helper.from_array(np.array([-1, 8]), "shape")], "x"
    with (folder / "model.bin").open("wb") as file:
        for layer in range(LAYERS):
            weight = TensorProto(name=f"w{layer}", dims=[count], data_type=TensorProto.FLOAT)
            weight.data_location = TensorProto.EXTERNAL
            for key, entry in (("location", "model.bin"), ("offset", 4 * count * layer), ("length", 4 * count)):
                weight.external_data.add(key=key, value=str(entry))
            initializers.append(weight)
            nodes.append(helper.make_node("Add", [value, f"w{layer}"], [f"a{layer}"]))
            nodes.append(helper.make_node("Reshape", [f"a{layer}", "shape"], [f"r{layer}"]))
            weights.tofile(file)
            value = "x"
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [count])]
    outputs = [helper.make_tensor_value_info(f"r{layer}", TensorProto.FLOAT, [None, 8]) for layer in range(LAYERS)]
    graph = helper.make_graph(nodes, "layers", inputs, outputs, initializers)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "model.onnx"
    )


def measure(name: str, folder: Path) -> None:
    imports, load, save = READERS[name]
    code = CHILD.format(imports=imports, load=load, save=save)
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)  # noqa: S603
    if run.returncode:
        print(f"{name:20} failed: {run.stderr.strip().splitlines()[-1]}")
        return
    found, load_s, save_s, peak = run.stdout.split()
    print(f"{name:20} {found:>8} {float(load_s):9.3f} {float(save_s):9.3f} {float(peak):10.0f}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_models(folder)
        ov.save_model(ov.Core().read_model(folder / "model.onnx"), folder / "model_ir.xml", compress_to_fp16=False)
        (folder / "model_ir.xml").rename(folder / "model.xml")
        (folder / "onnx").mkdir()
        for file in ("model.onnx", "model.bin"):
            (folder / file).rename(folder / "onnx" / file)
        (folder / "model_ir.bin").rename(folder / "model.bin")
        print(f"{GIGABYTES} GB of weights  Reshapes    load s    save s    peak MB")
        for reader in READERS:
            measure(reader, folder / "onnx" if reader.endswith(".onnx") else folder)
