"""One pair of models: an original and what an optimiser makes of it; a process that answers one JSON line per question.

`bench/pairs.py` starts it, since strangers' native code may end it.  What an answer holds comes in parts, so that
what is known is not lost with the process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.arbiter import Entry  # noqa: E402
from tests.running import session  # noqa: E402

import onereshape as orx  # noqa: E402
from bench.pair_judge import Judge, answers_of, first_line, listed  # noqa: E402
from bench.pair_plants import plants  # noqa: E402

Said = dict[str, Any]
MOST_DRAWN: Final = 60
"""How many changes are drawn until one shows in an answer."""
SOLVER_MEMORY: Final = 4000
"""Megabytes that the solver of onnxsim's certificate may use."""


# The optimisers


def _onnxsim(path: Path) -> onnx.ModelProto:
    made: onnx.ModelProto = import_module("onnxsim").simplify(onnx.load(path))[0]
    return made


def _onnxslim(path: Path) -> onnx.ModelProto:
    made: onnx.ModelProto = import_module("onnxslim").slim(onnx.load(path))
    return made


def _onnxscript(path: Path) -> onnx.ModelProto:
    made: onnx.ModelProto = import_module("onnxscript.optimizer").optimize(onnx.load(path))
    return made


def _onnxruntime(level: str) -> Callable[[Path, Path], None]:
    def write(path: Path, out: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, f"ORT_ENABLE_{level}")
        options.optimized_model_filepath = str(out)
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])

    return write


def _saved(make: Callable[[Path], onnx.ModelProto]) -> Callable[[Path, Path], None]:
    return lambda path, out: onnx.save(make(path), out)


TOOLS: Final[dict[str, Callable[[Path, Path], None]]] = {
    "onnxsim": _saved(_onnxsim),
    "onnxslim": _saved(_onnxslim),
    "onnxscript": _saved(_onnxscript),
    "ort-basic": _onnxruntime("BASIC"),
    "ort-extended": _onnxruntime("EXTENDED"),
}


# The certificates


def ours(original: Path, made: Path, timeout: float) -> Said:
    """The certificate of a pair, its seconds, and whether its counterexample replays."""
    start = time.perf_counter()
    try:
        certificate = orx.certify(original, made, timeout=timeout)
    except Exception as error:  # noqa: BLE001 - a row, not a crash
        return {"status": "error", "reason": f"{type(error).__name__}: {first_line(error)}", "seconds": since(start)}
    proof = certificate.proof
    return {
        "status": certificate.status,
        "reason": certificate.reason,
        "seconds": since(start),
        "terms": None if proof is None else f"{proof.verdict}: {proof.reason}",
        "counterexample": replayed(certificate.counterexample, original, made),
    }


def replayed(shown: Any, original: Path, made: Path) -> str:
    """Whether a counterexample shows in fresh sessions what it says: `replays`, `none`, or why it does not."""
    if shown is None:
        return "none"
    try:
        fed = ((original, shown.beside or shown.feeds), (made, shown.feeds))
        one, other = (np.asarray(answers_of(session(str(path)), dict(feeds))[shown.output]) for path, feeds in fed)
        if shown.what != "value":
            return "replays" if (one.shape, one.dtype) != (other.shape, other.dtype) else "does not replay: alike"
        seen = [np.asarray(array[place]).item() for array, place in zip((one, other), shown.indices, strict=True)]
        shows = _as_far(seen, shown.values)
    except Exception as error:  # noqa: BLE001 - a row, not a crash
        return f"does not replay: {type(error).__name__}: {first_line(error)}"
    return "replays" if shows else f"does not replay: {seen} for {list(shown.values)}"


def _as_far(seen: list[Any], told: tuple[str, str]) -> bool:
    """Whether two values differ, and by half as much as was told at least: kernels may round otherwise."""
    if isinstance(seen[0], str | bytes | bool):
        return bool(seen[0] != seen[1])
    one, other = (float(each) for each in seen)
    apart, wanted = abs(one - other), abs(float(told[0]) - float(told[1]))
    if not np.isfinite(apart) or not np.isfinite(wanted):
        return one != other and not (np.isnan(one) and np.isnan(other))
    return apart > 0 and apart >= wanted / 2


def theirs(original: Path, made: Path, timeout: float) -> Said:
    """What the certificate of onnxsim says of the pair: `proved`, `refuted`, `skipped`, or an error."""
    start = time.perf_counter()
    try:
        import_module("z3").set_param("memory_max_size", SOLVER_MEMORY)
        certify = import_module("onnxsim.certify").certify
        start = time.perf_counter()
        report = certify(onnx.load(original), onnx.load(made), total_timeout_ms=int(timeout * 1000))
    except Exception as error:  # noqa: BLE001 - a row, not a crash
        return {"status": "error", "reason": f"{type(error).__name__}: {first_line(error)}", "seconds": since(start)}
    said = set(report.outputs.values())
    status = "proved" if report.ok else "refuted" if "refuted" in said else "skipped"
    details = [each.detail for each in report.windows if not each.status.startswith("proved") and each.detail]
    return {"status": status, "reason": "; ".join(details)[:300], "seconds": since(start)}


def since(start: float) -> float:
    return round(time.perf_counter() - start, 3)


# One pair


@cache
def _entries(folder: str) -> dict[str, Entry]:
    return {entry.path.name: entry for entry in listed(Path(folder))}


_judges: dict[Path, Judge] = {}


def judge_of(entry: Entry) -> Judge:
    """The judge of a model, kept for the pairs that follow of the same one."""
    if entry.path not in _judges:
        _judges.clear()
        _judges[entry.path] = Judge(entry)
    return _judges[entry.path]


def pair(asked: Said) -> Iterator[Said]:
    """The parts of the row of one pair, one after the other."""
    entry = _entries(asked["folder"])[asked["model"]]
    made = Path(asked["cache"]) / f"{entry.path.stem}.{asked['tool']}.onnx"
    if not made.exists():
        part = made.with_suffix(".part")
        try:
            TOOLS[asked["tool"]](entry.path, part)
        except Exception as error:  # noqa: BLE001 - a row, not a crash
            yield {"judged": "not made", "why": f"{type(error).__name__}: {first_line(error)}"}
            return
        part.rename(made)
    yield {"made": True}
    judge = judge_of(entry)
    judged = judge.judged(str(made))
    yield {"judged": judged.kind, "why": judged.why, "difference": judged.difference}
    yield {"operators": differing_operators(entry.path, made), "not loaded": unloadable(made)}
    yield {"ours": ours(entry.path, made, asked["timeout"])}
    if asked["theirs"]:
        yield {"theirs": theirs(entry.path, made, asked["timeout"])}
    if asked["plant"] is not None and judged.kind == "right":
        yield {"planting": True}
        yield {"plant": planted(asked, entry, judge, made, judged.difference)}


def planted(asked: Said, entry: Entry, judge: Judge, made: Path, before: float) -> Said:
    """One change that shows in an answer, and what the certificates say of it."""
    for number, plant in enumerate(plants(onnx.load(made), asked["plant"], asked["seed"])):
        if number >= MOST_DRAWN:
            break
        content = plant.model.SerializeToString()
        difference = judge.changed(content, before)
        if difference is None:
            continue
        path = made.with_name(f"{made.stem}.planted.onnx")
        path.write_bytes(content)
        found: Said = {"kind": plant.kind, "where": plant.where, "difference": difference, "drawn": number + 1}
        found["ours"] = ours(entry.path, path, asked["timeout"])
        if asked["theirs"]:
            found["theirs"] = theirs(entry.path, path, asked["timeout"])
        return found
    return {"kind": "none", "where": "no change that was drawn shows"}


def unloadable(made: Path) -> str:
    """Why the engine does not load a model when it optimises it as it does by default; empty where it does."""
    try:
        session(str(made), optimized=True)
    except Exception as error:  # noqa: BLE001 - whatever the engine raises
        return first_line(error)
    return ""


def differing_operators(original: Path, made: Path) -> dict[str, int]:
    """How many nodes of each operator there are more, or fewer: `{"MatMul": -4, "Gemm": 4}`."""
    counts = [
        Counter(f"{node.domain}.{node.op_type}".removeprefix(".").removeprefix("ai.onnx.") for node in graph.node)
        for graph in (onnx.load(path, load_external_data=False).graph for path in (original, made))
    ]
    names = sorted(counts[0] | counts[1])
    return {name: more for name in names if (more := counts[1][name] - counts[0][name])}


def main() -> None:
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)  # what others print is no answer
        warm = ROOT / "tests" / "data" / "corpus" / "hand_cls_token_expand.ts.onnx"
        orx.certify(warm, warm)  # the engine's own process has started
        for line in sys.stdin:
            try:
                for part in pair(json.loads(line)):
                    print(json.dumps(part), file=answers, flush=True)
            except Exception as error:  # noqa: BLE001 - a row, not a crash
                print(json.dumps({"failed": f"{type(error).__name__}: {first_line(error)}"}), file=answers, flush=True)
            print(json.dumps({"end": True}), file=answers, flush=True)


if __name__ == "__main__":
    main()
