"""One model of a corpus as an IR: converted, and judged by runs of OpenVINO.  A process for each; answers are JSON.

    python bench/openvino_judge.py convert FOLDER MODEL IR             an ONNX file becomes an IR of batch 1
    python bench/openvino_judge.py compress FOLDER MODEL IR            the same, with weights of f16
    python bench/openvino_judge.py reshape FOLDER MODEL IR THREADS     what `Model.reshape` gets right
    python bench/openvino_judge.py set_batch FOLDER MODEL IR THREADS   what `set_batch` gets right
    python bench/openvino_judge.py ours FOLDER MODEL IR THREADS OUT    what the repaired IR is worth
    python bench/openvino_judge.py onnx FOLDER MODEL                   the ONNX file, repaired and judged as ever

FOLDER has the manifest, MODEL is the file's name in it.  No two are judged in one process: an engine that was asked
for too much (`Model.reshape`, one thread) may have spoilt its memory, and end at the next question.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import openvino

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.arbiter import Entry, entries  # noqa: E402
from tests.repair.openvino_arbiter import CONFIG, alone, batched, message, reshaped, verdict, written  # noqa: E402
from tests.repair.openvino_untouched import untouched  # noqa: E402

Answer = dict[str, Any]


def convert(entry: Entry, path: Path, *, compressed: bool) -> Answer:
    try:
        openvino.save_model(openvino.convert_model(entry.path), path, compress_to_fp16=compressed)
    except RuntimeError as error:
        return {"found": "not converted", "why": message(error)}
    return {"found": "converted", "why": ""}


def peer(entry: Entry, path: Path, name: str) -> Answer:
    """One of OpenVINO's own two."""
    make = reshaped(entry, path) if name == "reshape" else batched(entry, path)
    return verdict(entry, alone(entry, path), make, dynamic=name == "reshape")._asdict()


def ours(entry: Entry, path: Path, repaired: Path) -> Answer:
    found = verdict(entry, alone(entry, path), written(repaired), dynamic=True)._asdict()
    survived = untouched(path, repaired)
    if survived.lost and found["found"] == "pass":
        found |= {"found": "lost", "why": "; ".join(survived.lost[:5])}
    return {**found, **survived._asdict()}


def onnx(entry: Entry) -> Answer:
    from bench.corpus import answer  # noqa: PLC0415 - no code of ours is in a process that judges an IR

    said: Counter[str] = Counter()
    found, why = answer(entry, said)
    return {"found": found, "why": why, "certificate": " ".join(said)}


def say(found: Answer) -> None:
    print(json.dumps(found), flush=True)


def main() -> None:
    what, folder, name, *more = sys.argv[1:]
    entry = next(each for each in entries(Path(folder)) if each.path.name == name)
    if what == "onnx":
        say(onnx(entry))
        return
    path = Path(more[0])
    if what in {"convert", "compress"}:
        say(convert(entry, path, compressed=what == "compress"))
        return
    CONFIG["INFERENCE_NUM_THREADS"] = int(more[1])
    say(ours(entry, path, Path(more[2])) if what == "ours" else peer(entry, path, what))


if __name__ == "__main__":
    main()
