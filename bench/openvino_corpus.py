"""How many models of a corpus become batch-dynamic as OpenVINO IRs, by an arbiter that shares no code with the repair.

    python bench/corpus.py --openvino [FOLDER] [--cache CACHE] [--only TEXT] [--compressed]
                             [--columns onnx,ir,peers] [--threads 2] [--onnx-kept] [--json]

Each ONNX model is converted by openvino (batch 1), its batch is freed by `onereshape fix MODEL.xml`, and OpenVINO runs
both files (tests/repair/openvino_arbiter.py): the original on each sample alone, the repaired one on 1, 2, 3 and 5 at
once.  Beside it stand the same model repaired as ONNX, and what `Model.reshape` to -1 and `set_batch` make of the IR.

    pass       it gives each sample's own answers, and all that no repair is for survived
               (tests/repair/openvino_untouched.py)
    refused    nothing was written, or the engine said an error
    untested   no output depends on the sample
    wrong      it runs, and answers differ
    lost       the answers are right, and names, rt_info or weights are not those of the original
    crash      a traceback, a lost process, or more than the time that it has

IRs and answers are kept in CACHE and asked anew where the model, OpenVINO or our code is another; with --onnx-kept the
ONNX column is taken as it was found last.  --compressed saves weights as f16.  OpenVINO has 2 threads: with one its CPU
plugin does not look at how many elements a Reshape has at run time, and what was refused is silently wrong.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openvino
from tests.arbiter import Entry, entries

from bench.released import OURS, Child, complaint, run

ROOT = Path(__file__).resolve().parent.parent
JUDGE = ROOT / "bench" / "openvino_judge.py"
ARBITER = [JUDGE, *(ROOT / "tests" / f"{name}.py" for name in ("arbiter", "openvino_arbiter"))]
SECONDS = 180
"""Of the processor, for one process."""
COLUMNS = {
    "onnx": "the ONNX model, by fix",
    "ir": "its IR, by fix",
    "reshape": "its IR, by Model.reshape to -1",
    "set_batch": "its IR, by set_batch(N)",
}
KINDS = ("pass", "refused", "untested", "wrong", "lost", "crash")
_WORDS = {"blind": "untested"}

Answer = dict[str, Any]


def table(words: list[str]) -> None:
    """Asks for every model of a folder, and prints what is not a pass of ours, and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "tests" / "data" / "corpus")
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--compressed", action="store_true")
    parser.add_argument("--columns", default="onnx,ir,peers", metavar="LIST")
    parser.add_argument("--threads", type=int, default=2, metavar="COUNT")
    parser.add_argument("--onnx-kept", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(words)
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        cache = Path(temporary) if asked.cache is None else asked.cache
        cache.mkdir(parents=True, exist_ok=True)
        rows = []
        for entry in entries(asked.folder):
            if asked.only in entry.path.name:
                rows.append(row(cache, entry, asked))
                print("\n".join(lines(rows[-1])), end="", flush=True, file=sys.stderr if asked.json else sys.stdout)
    if asked.json:
        print(json.dumps({"openvino": openvino.__version__, "counts": counts(rows), "models": rows}, indent=1))
    else:
        print(shown(rows))
        print(f"{time.perf_counter() - start:.0f} s")


def row(cache: Path, entry: Entry, asked: argparse.Namespace) -> Answer:
    """What becomes of one model, in every column that is asked for."""
    name = entry.path.name.removesuffix(".onnx")
    kept = cache / "answers" / f"{name}{'.f16' if asked.compressed else ''}"
    kept.parent.mkdir(exist_ok=True)
    path = cache / f"{kept.name}.xml"
    model = f"{_digest([entry.path])} {openvino.__version__}"
    theirs = f"{model} {_digest(ARBITER)} {asked.threads}"
    found: Answer = {"model": name}
    if "onnx" in asked.columns:
        found["onnx"] = _kept(
            Path(f"{kept}.onnx.json"), None if asked.onnx_kept else f"{model} {_ours()}", lambda: _onnx(entry)
        )
    made = _kept(Path(f"{kept}.ir.json"), model, lambda: _converted(entry, path, compressed=asked.compressed))
    if made["found"] != "converted":
        return {**found, "not converted": made["why"]}
    if "ir" in asked.columns:
        found["ir"] = _kept(
            Path(f"{kept}.ours.json"), f"{theirs} {_ours()}", lambda: _repaired(entry, path, asked.threads)
        )
    if "peers" in asked.columns:
        found |= _kept(Path(f"{kept}.peers{asked.threads}.json"), theirs, lambda: _peers(entry, path, asked.threads))
    return found


def lines(found: Answer) -> list[str]:
    """What is said of one model: nothing, where it passes in both forms; its last line ends."""
    if "not converted" in found:
        return [f"openvino does not convert {found['model']}: {found['not converted']}", ""]
    said = []
    for column in ("onnx", "ir"):
        answer = found.get(column, {"found": "pass"})
        if kind_of(answer) != "pass":
            said.append(f"{column:4} {kind_of(answer):8} {found['model']}: {' '.join(answer['why'].split())[:300]}")
        if answer.get("note"):
            said.append(f"{column:4} the engine alone differs, {found['model']}: {answer['note']}")
    return [*said, ""] if said else []


def kind_of(found: Answer) -> str:
    return str(_WORDS.get(found["found"], found["found"]))


def counts(rows: list[Answer]) -> dict[str, dict[str, int]]:
    """How many of each kind, of the models that were converted."""
    converted = [each for each in rows if "not converted" not in each]
    return {
        column: dict(Counter(kind_of(each[column]) for each in converted))
        for column in COLUMNS
        if converted and column in converted[0]
    }


def shown(rows: list[Answer]) -> str:
    """The table."""
    converted = [each for each in rows if "not converted" not in each]
    said = [
        f"{len(rows)} models, {len(converted)} converted by openvino {openvino.__version__}",
        f"{'':32}" + "".join(f"{kind:>10}" for kind in KINDS),
    ]
    for column, found in counts(rows).items():
        said.append(f"{COLUMNS[column]:32}" + "".join(f"{found.get(kind, 0):10}" for kind in KINDS))
    both = [each for each in converted if "ir" in each and kind_of(each.get("onnx", {"found": ""})) == "pass"]
    if both:
        passed = sum(kind_of(each["ir"]) == "pass" for each in both)
        said.append(f"of {len(both)} that pass as ONNX, {passed} pass as IR ({passed / len(both):.1%})")
    codes = Counter(each["ir"]["code"] for each in converted if "code" in each.get("ir", {}))
    if codes:
        said.append("refused as IR: " + ", ".join(f"{count} {code}" for code, count in codes.most_common()))
    return "\n".join(said)


def _onnx(entry: Entry) -> Answer:
    return _last(run([str(JUDGE), "onnx", str(entry.path.parent), entry.path.name], SECONDS))


def _converted(entry: Entry, path: Path, *, compressed: bool) -> Answer:
    what = "compress" if compressed else "convert"
    return _last(run([str(JUDGE), what, str(entry.path.parent), entry.path.name, str(path)], SECONDS))


def _peers(entry: Entry, path: Path, threads: int) -> Answer:
    """Both answers, each of a process of its own."""
    words = [str(entry.path.parent), entry.path.name, str(path), str(threads)]
    return {name: _last(run([str(JUDGE), name, *words], SECONDS)) for name in ("reshape", "set_batch")}


def _repaired(entry: Entry, path: Path, threads: int) -> Answer:
    """The repair of an IR, in a process of its own, and what the arbiter says of it in another."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.xml"
        axes = [f"{name}:{axis}" for name, axis in entry.batch.items()]
        child = run(["-m", "onereshape", "fix", str(path), "-o", str(out), "--json", "--batch", *axes], SECONDS)
        seconds = round(child.seconds, 1)
        if child.code not in {0, 1, 2} or any(word in child.complained for word in OURS):
            return {**_crash(child), "seconds": seconds}
        said = json.loads(child.said)
        if "error" in said:
            error = said["error"]
            return {"found": "refused", "why": error["message"], "code": error["code"], "seconds": seconds}
        words = [str(JUDGE), "ours", str(entry.path.parent), entry.path.name, str(path), str(threads), str(out)]
        status = (said.get("certificate") or {}).get("status", "")
        return {**_last(run(words, SECONDS)), "seconds": seconds, "status": status}


def _last(child: Child) -> Answer:
    if child.code != 0:
        return _crash(child)
    found: Answer = json.loads(child.said.splitlines()[-1])
    return found


def _crash(child: Child) -> Answer:
    return {"found": "crash", "why": "takes too long" if child.code is None else complaint(child)}


def _kept(path: Path, key: str | None, ask: Callable[[], Answer]) -> Answer:
    """The answer that was found for the same key, or for any; else a new one."""
    if path.exists():
        found: Answer = json.loads(path.read_text(encoding="utf-8"))
        if key in {None, found["of"]}:
            return dict(found["answer"])
    answer = ask()
    path.write_text(json.dumps({"of": key, "answer": answer}), encoding="utf-8")
    return answer


def _ours() -> str:
    sources = sorted((ROOT / "src" / "onereshape").rglob("*.py"))
    return _digest([*sources, *(ROOT / "tests" / f"{name}.py" for name in ("arbiter", "openvino_untouched"))])


def _digest(paths: list[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
