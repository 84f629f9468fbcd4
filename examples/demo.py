"""onereshape at work on the specifications' own examples: `make demo`."""

from __future__ import annotations

import numpy as np

import onereshape as orx

EXAMPLES = [
    ("OpenVINO, example 1", [2, 5, 5, 0], [0, 4], "openvino", {"special_zero": False}),
    ("OpenVINO, example 2", [2, 5, 5, 24], [0, -1, 4], "openvino", {"special_zero": True}),
    ("OpenVINO, example 3", [2, 2, 3], [0, 0, 1, -1], "openvino", {"special_zero": True}),
    ("OpenVINO, example 4", [3, 1, 1], [-1, 0], "openvino", {"special_zero": True}),
    ("OpenVINO, example 5", [3, 1, 1], [0, -1], "openvino", {"special_zero": True}),
    ("oneDNN StaticReshape", [3, 4, 5], [0, -1], "onednn-static", {"special_zero": True}),
    ("ONNX, a 0 copies", [2, 3, 4], [2, 0, 4, 1], "onnx", {}),
    ("ONNX, a 0 is literal", [0, 3, 4], [3, 4, 0], "onnx", {"allowzero": 1}),
    ("ONNX, a scalar", [1, 1], [], "onnx-5", {}),
    ("one question ...", [0, 3], [0, -1], "openvino", {"special_zero": True}),
    ("... two answers", [0, 3], [0, -1], "onnx", {}),
]


def answer(data: list[int], target: list[int], spec: str, flags: dict[str, object]) -> str:
    """The output dims on a real array, or the first line of the refusal."""
    array = np.arange(np.prod(data, dtype=int), dtype=np.float32).reshape(data)
    try:
        output = orx.reshape(array, target, spec, **flags)
    except orx.ReshapeError as refusal:
        return f"refused: {refusal.sentence}"
    assert np.array_equal(output.ravel(), array.ravel())
    return str(list(output.shape))


def main() -> None:
    """Prints the table, and one refusal in full."""
    for title, data, target, spec, flags in EXAMPLES:
        said = "".join(f" {name}={value}" for name, value in flags.items())
        print(f"{title:22} {data!s:14} by {target!s:13} {spec + said:28} -> {answer(data, target, spec, flags)}")
    print("\nWhat a refusal looks like:\n")
    try:
        orx.resolve([2, 3, 4], [5, -1], "onnx-14")
    except orx.ReshapeError as refusal:
        print(f"ReshapeError: {refusal}")


if __name__ == "__main__":
    main()
