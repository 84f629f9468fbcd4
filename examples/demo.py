"""onereshape at work: `make demo` checks a real export, repairs it and proves that the result answers alike.

The model is a detection head as PyTorch exports it at batch 1: some constants of its Reshapes stop it at batch 2,
others let it run there and answer wrongly.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import onereshape as orx
from onereshape.cli import main as onereshape

MODEL = Path(__file__).parent.parent / "tests" / "data" / "corpus" / "hand_yolo_head.ts.onnx"

QUESTIONS = [
    ("one question ...", [0, 3], [0, -1], "openvino", {"special_zero": True}),
    ("... two answers", [0, 3], [0, -1], "onnx", {}),
    ("a 0 copies", [2, 3, 4], [2, 0, 4, 1], "onnx", {}),
    ("symbols", ["N", 12, 64], [0, -1], "onnx", {}),
]


def command(*words: str) -> None:
    """Runs a command line as it would be typed."""
    print(f"\n$ onereshape {shlex.join(words)}", flush=True)
    onereshape(words)
    sys.stdout.flush()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(MODEL, Path(folder) / "detection_head.onnx")
        os.chdir(folder)
        command("check", "detection_head.onnx", "--batch")
        command("fix", "detection_head.onnx", "-o", "dynamic.onnx", "--batch", "--diff")
        command("check", "dynamic.onnx", "--batch")
        command("certify", "detection_head.onnx", "dynamic.onnx", "--batch")
        os.chdir(Path(__file__).parent)
    print("\nThe operator itself, in every dialect:\n")
    for title, data, target, spec, flags in QUESTIONS:
        try:
            said = str(orx.infer(data, target, spec, **flags))
        except orx.ReshapeError as refusal:
            said = f"refused: {refusal.sentence}"
        print(f"{title:17} {data!s:14} by {target!s:13} {spec:9} -> {said}")


if __name__ == "__main__":
    main()
