"""Exits with 1 if a model under a folder cannot run at every batch: `python check_models.py models`."""

from __future__ import annotations

import sys
from pathlib import Path

import onereshape as orx

wrong = 0
for path in sorted(Path(sys.argv[1]).rglob("*.onnx")):
    for finding in orx.check(path, batch=True):
        if finding.severity == "error":
            wrong += 1
            print(f"{path}: {finding.node}: {finding.message}")
            print(f"  next: {finding.next}")
sys.exit(wrong > 0)
