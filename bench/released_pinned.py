"""Released models whose batch is free, pinned to one sample by onnxsim and freed again by `fix --batch`.

    python bench/released_pinned.py CACHE [--only TEXT] [--again]

CACHE is that of `released.py`, which has judged the files before.  Each one that answers rightly at every batch is
given fixed sizes (one sample; its other free dims as large as the judge runs them), simplified by onnxsim, which bakes
what it can, and repaired.  The truth is the released file itself: the repaired one must give its answers at 1, 2, 3
and 5.  Printed are package, file, verdict, seconds and reason, then the counts.  A file that onnxsim cannot pin, or
whose pinned form does not run or answers otherwise itself, is not counted.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.released import Answer, answered, complaint, judgement, kept_answer, run  # noqa: E402
from bench.released_files import Found, found, path_of  # noqa: E402
from bench.released_inputs import Way, drawn, first_place, inputs_of, sample_dims  # noqa: E402
from bench.released_judge import session  # noqa: E402

PINNING = 120
"""Seconds of the processor for onnxsim."""


def pin(path: Path, out: Path, way: Way) -> None:
    """The model with one sample's sizes, simplified, and run once; this is done in a process of its own."""
    model = onnx.load(path)
    inputs = inputs_of(model)
    first, axis = first_place(inputs)
    base = next(each for each in inputs if each.name == first).dims[axis]
    shapes = {each.name: sample_dims(each, way, base) for each in inputs}
    onnx.save(import_module("onnxsim").simplify(model, overwrite_input_shapes=shapes)[0], out)
    rng = np.random.default_rng(100)
    session(out).run(None, {each.name: drawn(rng, each, shapes[each.name], way) for each in inputs})


def verdict(cache: Path, digest: str) -> Answer:
    """What becomes of one file, pinned and freed."""
    before = json.loads((cache / "originals" / f"{digest}.json").read_text(encoding="utf-8"))
    path = path_of(cache, digest)
    way = {"way": before["way"], "axes": before["axes"]}
    with tempfile.TemporaryDirectory() as folder:
        pinned, out = Path(folder) / "pinned.onnx", Path(folder) / "out.onnx"
        child = run([__file__, "--pin", str(path), str(pinned), json.dumps(way)], PINNING)
        if child.code != 0:
            return {"verdict": "unjudged", "seconds": 0.0, "reason": f"not pinned: {complaint(child)}"}
        child, answer = answered(pinned, out)
        if answer is not None:
            return answer
        said = json.loads(child.said)
        judged = judgement(path, out, before["way"]) if out.exists() else {"right": False, "why": "nothing was written"}
        seconds = round(child.seconds, 1)
        if "error" in said:
            return {"verdict": "refused", "seconds": seconds, "reason": said["error"]["message"]}
        if not judged["right"] and judgement(pinned, out, before["way"]).get("right"):
            why = f"what onnxsim made differs from the released file by itself: {judged['why']}"
            return {"verdict": "unjudged", "seconds": seconds, "reason": why}
        return {"verdict": "right" if judged["right"] else "wrong", "seconds": seconds, "reason": judged["why"]}


def rows(cache: Path, only: str, *, again: bool) -> list[Answer]:
    """The answers on all files that work by themselves, the kept ones first."""
    answers = []
    for each in found(cache):
        before = cache / "originals" / f"{each.digest}.json"
        if only not in f"{each.package} {each.member} {each.digest}" or not before.exists():
            continue
        if json.loads(before.read_text(encoding="utf-8")).get("works"):
            answers.append(row(cache, each, again=again))
            print(shown(answers[-1]), flush=True)
    return answers


def row(cache: Path, each: Found, *, again: bool) -> Answer:
    """The answer on one file: the one that is kept, or a new one."""
    kept = cache / "pinned" / f"{each.digest}.json"
    about: Answer = {"package": each.package, "file": each.member, "digest": each.digest}
    return kept_answer(kept, again=again, ask=lambda: about | verdict(cache, each.digest))


def shown(answer: Answer) -> str:
    reason = " ".join(answer["reason"].split())[:240]
    name = f"{answer['package']}  {answer['file']}  {answer['digest'][:8]}"
    return f"{answer['verdict']:9} {answer['seconds']:5.1f} s  {name}  {reason}"


def main() -> None:
    if sys.argv[1:2] == ["--pin"]:
        told = json.loads(sys.argv[4])
        way = Way(*told["way"])
        return pin(Path(sys.argv[2]), Path(sys.argv[3]), way._replace(axes=told["axes"]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--again", action="store_true")
    asked = parser.parse_args()
    counts = Counter(each["verdict"] for each in rows(asked.cache, asked.only, again=asked.again))
    judged = sum(counts.values()) - counts["unjudged"]
    print(
        f"right again: {counts['right']} of {judged} ({', '.join(f'{n} {word}' for word, n in counts.most_common())})"
    )
    return None


if __name__ == "__main__":
    main()
