"""What is typed: a command that takes the files of a case, with options drawn."""

from __future__ import annotations

from random import Random
from typing import NamedTuple

import onnx

from tests.fuzz import odd

_FORMATS = ["text", "text", "json", "github", "sarif"]
_SPECS = {"openvino": ".xml", "onednn-static": ".json", "onednn-reshape": ".json", "onednn-dynamic": ".json"}
_TARGETS = [
    "-1", "-1", "-1", "-1", "0,-1", "0,-1", "-1,3", "-1,2", "2,-1,2", "6,4", "24", "3,2", "[]", "0,0,-1", "1,-1",
    "5,-1",
    "-1,-1", "-2", "9223372036854775807,-1", "0", "2x3x4", "x:[2,3,4]", "4611686018427387904,4",
]  # fmt: skip
_DIMS = [
    "N", "N", "S", "?", "0", "1", "2", "2", "3", "3", "4", "6", "1..8", "3..", "(1..2)", "2*N", "N*S", "-1",
    "9223372036854775807", "x", "4294967296", "_a",
]  # fmt: skip
_ODD_DIMS = [
    "...",
    "0*N",
    "N*",
    "1..0",
    "",
    " ",
    "+2",
    "1e3",
    "N=2",
    "9" * 1200,
    "é",
    "٣",
    "9" * 5000,
    "1.." + "9" * 5000,
]


class Typed(NamedTuple):
    """The words, and the file that they ask for."""

    words: list[str]
    output: str | None = None


def drawn(kind: str, name: str, content: bytes, random: Random) -> Typed:
    """A command on the file of that name."""
    if kind == "infer":
        return _infer(random)
    if kind in {"npy", "npz", "pb", "zarr2", "zarr3"}:
        return _run(kind, name, random)
    inputs, nodes = _names(content) if name == "m.onnx" else (["x"], ["r"])
    if kind in {"ir", "onednn"} and random.random() < 0.9:  # dims are freed in ONNX models only
        looking = [["check", name, "--format", random.choice(_FORMATS)], ["show", name]]
        if random.random() < 0.1:
            return _report(name, [], [], random)
        words = random.choice([looking[0], *looking])
        return Typed(words) if random.random() < 0.4 else _convert(name, inputs, ["r", "r0"], random)
    commands = [_check, _fix, _fix, _convert, _certify, _show, _report]
    return random.choice(commands)(name, inputs, nodes, random)


def _names(content: bytes) -> tuple[list[str], list[str]]:
    """The inputs and the Reshapes of a model, as far as it can be read."""
    try:
        proto = onnx.ModelProto.FromString(content)
        inputs = [info.name for info in proto.graph.input if isinstance(info.name, str)]
        nodes = [node.name for node in proto.graph.node if node.op_type == "Reshape" and isinstance(node.name, str)]
    except Exception:  # noqa: BLE001 - protobuf's own, and texts that are none
        return ["x"], ["r"]
    return [name for name in inputs if "\0" not in name] or ["x"], [name for name in nodes if name] + [
        "graph/Reshape#0"
    ]


def _asked(inputs: list[str], random: Random) -> list[str]:
    """The dims that are to be free."""
    name, axis = random.choice(inputs), random.choice([0, 0, 0, 0, 0, 1, 1, 1, 2, 9])
    match random.randrange(6):
        case 0:
            return []
        case 1 | 2:
            return ["--batch"]
        case 3:
            return ["--batch", f"{name}:{axis}"]
        case _:
            return ["--free", f"{name}:{axis}={random.choice(['S', 'S', 'S', 'S', 'S', 'N', 'N', 'é'])}"]


def _some(random: Random, **shares: float) -> list[str]:
    return [f"--{option.replace('_', '-')}" for option, share in shares.items() if random.random() < share]


def _check(name: str, inputs: list[str], _: list[str], random: Random) -> Typed:
    words = ["check", name, *_asked(inputs, random), *_some(random, strict=0.1)]
    return Typed([*words, "--format", random.choice(_FORMATS)])


def _show(name: str, _: list[str], nodes: list[str], random: Random) -> Typed:
    node = ["--node", random.choice(nodes).replace("\0", "")] if random.random() < 0.2 else []
    return Typed(["show", name, *node, *_some(random, json=0.3)])


def _report(name: str, inputs: list[str], _: list[str], random: Random) -> Typed:
    """A page; without inputs nothing is asked to be freed."""
    asked = _asked(inputs, random) if inputs else []
    words = ["report", name, *asked, *_some(random, no_certify=0.6, unwitnessed=0.2, json=0.2)]
    return Typed([*words, "-o", "out.html"], "out.html")


def _certify(name: str, inputs: list[str], _: list[str], random: Random) -> Typed:
    """A model beside itself, which no damage makes another one; a model is no kept certificate."""
    if random.random() < 0.1:
        return Typed(["certify", "--proof", name])
    return Typed(["certify", name, name, *_asked(inputs, random), *_some(random, json=0.3)])


def _fix(name: str, inputs: list[str], _: list[str], random: Random) -> Typed:
    endings = [".onnx"] * 12 + [".onnx.gz", ".onnx.gz", ".onnxtxt", ".onnxtxt", ".xml"]
    output = random.choice(["out", "out", "out", "out", "out", "out", "deep/out"]) + random.choice(endings)
    asked = _asked(inputs, random)
    words = ["fix", name, *asked, *_some(random, simplify=0.4 if asked else 0.9)]
    words += _some(random, diff=0.3, no_certify=0.4, unwitnessed=0.3, json=0.2, copy_weights=0.1)
    if random.random() < (0.1 if "--free" in words else 0.01):
        words += ["--witness", name]
    if random.random() < 0.03:
        words += ["--like", name]
    if random.random() < 0.05:
        return Typed([*words, "--in-place"], name)
    return Typed([*words, "-o", output], output)


def _convert(name: str, _: list[str], nodes: list[str], random: Random) -> Typed:
    spec = random.choice(["onnx", "onnx-1", "onnx-5", "onnx-13", "onnx-14", "onnx-19", "onnx-23", *_SPECS])
    output = f"out{_SPECS.get(spec) or random.choice(['.onnx', '.onnx', '.onnxtxt'])}"
    words = ["convert", name, "--to", spec, "-o", output, *_some(random, json=0.2)]
    if random.random() < 0.4:
        words.append(f"--node={random.choice(nodes)}")
    return Typed([word.replace("\0", "") for word in words], output)


def _run(kind: str, name: str, random: Random) -> Typed:
    name = "x.zarr" if kind.startswith("zarr") else name
    words = ["run", name, "--target", random.choice(_TARGETS), *_some(random, json=0.2)]
    words += random.choice([[], [], [], ["--spec", "onnx-5"], ["--spec", "openvino", "--special-zero", "true"]])
    if random.random() < 0.1:
        words += ["--dtype", random.choice(["int4", "float8e4m3fn", "bfloat16", "float32", "string", "nonsense"])]
    if random.random() < (0.3 if kind == "npz" else 0.03):
        words += ["--array", random.choice(["x", "x", "y", "", "..", "/"])]
    stored = kind.startswith("zarr")
    if stored or random.random() < 0.02:
        words += random.choice(
            [[], [], [], ["--memory", "1MB"], ["--memory", "100"], ["--chunks", "2"], ["--chunks", "1"]]
        )
    endings = [".npy", ".zarr"] if stored else [".npy", ".npz", ".pb", *([".zarr"] if random.random() < 0.1 else [])]
    output = random.choice([None, *(f"out{ending}" for ending in endings), *(f"out{ending}" for ending in endings)])
    return Typed([*words, *(["-o", output] if output else [])], output)


def _infer(random: Random) -> Typed:
    def shape() -> str:
        dims = [random.choice(_DIMS) for _ in range(random.randint(1, 4))]
        return ",".join([*dims, random.choice(_ODD_DIMS)] if random.random() < 0.1 else dims)

    words = ["infer", f"--data={shape()}", f"--target={random.choice([shape(), random.choice(_TARGETS)])}"]
    words += random.choice(
        [[], ["--spec", "onnx-13"], ["--allowzero", "1"], ["--spec", "openvino", "--special-zero", "false"]]
    )
    words += random.choice([[], [], ["--bounds", "N=1..8"], ["--bounds", f"N={odd.text(random, [])}"]])
    return Typed([word.replace("\0", "") for word in [*words, *_some(random, json=0.2)]])
