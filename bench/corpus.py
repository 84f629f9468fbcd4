"""How many models of a folder become batch-dynamic, by an arbiter that shares no code with the repair.

    python bench/corpus.py [FOLDER]
    python bench/corpus.py --sizes [FOLDER]      dims other than the batch, from two exports (bench/sizes.py)
    python bench/corpus.py --openvino [FOLDER]   the same models as OpenVINO IRs (bench/openvino_corpus.py)

The folder holds models and a manifest.json, as tests/data/corpus does (which is the default).  Printed are all models
that do not pass, with the reason, and the counts: pass, refused, untested (no output depends on the sample), wrong;
then what the certificates of those that were repaired say.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import onnx_ir as ir

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.arbiter import Entry, entries, verdict  # noqa: E402

import onereshape as orx  # noqa: E402
from bench import openvino_corpus  # noqa: E402
from bench.sizes import table  # noqa: E402
from onereshape.ground.errors import FixError  # noqa: E402


def answer(entry: Entry, said: Counter[str]) -> tuple[str, str]:
    """What became of one model, and why; what its certificate says is counted."""
    try:
        fixed = orx.fix(entry.path, batch=entry.batch)
    except FixError as refusal:
        certificate = refusal.certificate
        untested = certificate is not None and certificate.status == "untested"
        return "untested" if untested else "refused", refusal.sentence
    if fixed.certificate is not None:
        proof = fixed.certificate.proof
        said[fixed.certificate.status + (" for all N" if proof is not None and proof.always else "")] += 1
    found, why = verdict(entry, ir.to_proto(fixed.model.ir).SerializeToString())
    return {"pass": "pass", "blind": "untested"}.get(found, "wrong"), why


def main() -> None:
    asked = sys.argv[1:]
    if asked[:1] == ["--sizes"]:
        table(Path(asked[1]) if asked[1:] else ROOT / "tests" / "data" / "sizes")
        return
    if asked[:1] == ["--openvino"]:
        openvino_corpus.table(asked[1:])
        return
    folder = Path(asked[0]) if asked else ROOT / "tests" / "data" / "corpus"
    counts: Counter[str] = Counter()
    said: Counter[str] = Counter()
    start = time.perf_counter()
    for entry in entries(folder):
        found, why = answer(entry, said)
        counts[found] += 1
        if found != "pass":
            print(f"{found:9} {entry.path.name}: {why}", flush=True)
    print(
        f"{sum(counts.values())} models: "
        + ", ".join(f"{counts[kind]} {kind}" for kind in ("pass", "refused", "untested", "wrong"))
    )
    print("certificates: " + ", ".join(f"{count} {what}" for what, count in said.most_common()))
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
