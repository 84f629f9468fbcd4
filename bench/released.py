"""What `fix --batch` makes of the .onnx files that people install: packages of PyPI and npm, judged by runs alone.

    python bench/released.py CACHE [--fetch] [--only TEXT] [--again] [--verdict WORD]

`released.txt` names the packages; `--fetch` fills CACHE with their models (over the network; nothing else here needs
it).  Printed are, for each distinct file: package, file, producer, opset, fixed or dynamic batch, verdict, what the
naive edit gives, seconds, the most memory that all its processes had at once, and reason; then the counts, and what
took more than a minute or, beside three times its file, more than 2 GB.  The verdicts:

    right      the repaired file gives each sample's own answer at 1, 2, 3 and 5
    left       the file did so already, and nothing was changed
    rewritten  the file did so already, and was changed for the reason that is shown; it still does
    wrong      something was written, or called right, that does not
    refused    nothing was written, for the reason that is shown; `refused!` where the file works already or the naive
               edit is right; those that are not are tried once more with --per-sample
    crash      a traceback, or an exit code that is none of ours
    timeout    more than a minute of the processor
    unjudged   the original does not run here, is random, or has no batch that runs can tell

Answers are kept in CACHE/results: a file is judged once, `--again` asks anew for those that `--only` (a part of the
package's or the file's name, or of the digest) and `--verdict` leave.  What the original does is kept apart from that,
and found once.

To fetch, PIP_INDEX_URL and NPM_CONFIG_REGISTRY must say where the registries are.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.released_files import Found, fetch, found, path_of  # noqa: E402

SECONDS = 60
"""Of the processor, for one repair."""
WAITING = 5
"""How many times as long it may last, on a machine that others use too."""
JUDGING = 150
LOOKING = 0.1
"""Seconds between two looks at how much memory there is in use."""
LARGE = 2 * 10**9
"""Bytes above which a repair takes much, if it takes more than three times its file."""
MEMORY = 8 * 2**30
OURS = ("Traceback", "a mistake of onereshape's")
"""What no answer may say."""
VERDICTS = ("right", "left", "rewritten", "wrong", "refused!", "refused", "crash", "timeout", "unjudged")
GOOD = ("right", "left", "rewritten")

Answer = dict[str, Any]


class Child(NamedTuple):
    """How a process ended; `code` is None where it took too long."""

    code: int | None
    said: str
    complained: str
    seconds: float
    memory: int
    """The most bytes that it and those that it started had at once."""


def run(words: list[str], seconds: int) -> Child:
    """A process with a limit on its time and its memory, and no more than one thread where it can be told."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))

    surroundings = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    before, most = resource.getrusage(resource.RUSAGE_CHILDREN), [0]
    with subprocess.Popen(  # noqa: S603 - our own code
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        env=surroundings,
        start_new_session=True,
        preexec_fn=limit,  # noqa: PLW1509 - one thread here
    ) as child:
        ended = threading.Event()
        watching = threading.Thread(target=_watched, args=(child.pid, ended, most))
        watching.start()
        try:
            said, complained = child.communicate(timeout=seconds * WAITING)
            code: int | None = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            said, complained = child.communicate()
            code = None
        finally:
            ended.set()
            watching.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Child(None if code in {-24, -9} else code, said, complained, spent, most[0])


def _watched(session: int, ended: threading.Event, most: list[int]) -> None:
    """Notes how much memory the processes of a session have, from time to time."""
    while not ended.wait(LOOKING):
        there = 0
        for each in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                if int((each / "stat").read_text().rpartition(")")[2].split()[3]) == session:
                    there += int((each / "statm").read_text().split()[1]) * resource.getpagesize()
        most[0] = max(most[0], there)


def original(cache: Path, digest: str) -> Answer:
    """What the model does by itself, found once."""
    kept = cache / "originals" / f"{digest}.json"
    if kept.exists():
        return _read(kept)
    child = run([str(ROOT / "bench" / "released_judge.py"), str(path_of(cache, digest))], JUDGING)
    if child.code == 0:
        answer: Answer = json.loads(child.said)
    elif child.code is None:
        answer = {"not judged": "the original takes too long"}
    else:
        answer = {"not judged": f"the judge failed: {complaint(child)}"}
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(answer), encoding="utf-8")
    return answer


def answered(path: Path, out: Path, *more: str) -> tuple[Child, Answer | None]:
    """The repair of one file, and the verdict where it ended as no repair may."""
    words = ["-m", "onereshape", "fix", str(path), "--batch", "--copy-weights", "-o", str(out), "--json"]
    child = run([*words, *more], SECONDS)
    answer: Answer = _spent(child)
    if child.code is None:
        return child, {**answer, "verdict": "timeout"}
    if child.code not in {0, 1, 2} or any(words in child.complained for words in OURS):
        return child, {**answer, "verdict": "crash", "reason": complaint(child)}
    return child, None


def verdict(cache: Path, digest: str) -> Answer:
    """What the repair makes of one file."""
    before = original(cache, digest)
    path = path_of(cache, digest)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.onnx"
        child, ended = answered(path, out)
        if ended is not None:
            return ended
        answer: Answer = _spent(child) | {"verdict": "unjudged"}
        said = json.loads(child.said)
        if "error" in said:
            answer |= _refusal(before, said["error"])
            return answer | (_one_by_one(before, path, out) if answer["verdict"] == "refused" else {})
        answer["status"] = (said.get("certificate") or {}).get("status", "")
        if "not judged" in before:
            return {**answer, "reason": before["not judged"]}
        return answer | _written(before, said, path, out)


def _spent(child: Child) -> Answer:
    """What a repair took, and no reason yet."""
    return {"seconds": round(child.seconds, 1), "memory": child.memory, "reason": ""}


def _refusal(before: Answer, error: Answer) -> Answer:
    easy = before.get("works") or before.get("naive") == "right"
    kind = "unjudged" if "not judged" in before else "refused!" if easy else "refused"
    return {"verdict": kind, "code": error["code"], "reason": error["message"]}


def _one_by_one(before: Answer, path: Path, out: Path) -> Answer:
    """What becomes of a model whose samples meet, where it may run once for each of them."""
    child, ended = answered(path, out, "--per-sample")
    if ended is not None and ended["verdict"] == "timeout":
        return {"one by one": "takes too long"}
    if ended is not None:
        return ended | {"reason": f"--per-sample: {ended['reason']}"}
    if not out.exists():
        return {"one by one": json.loads(child.said)["error"]["message"]}
    judged = judgement(path, out, before["way"])
    if judged.get("right", True):
        return {"one by one": "right" if "right" in judged else judged["why"]}
    return {"verdict": "wrong", "reason": f"--per-sample: {judged['why']}"}


def _written(before: Answer, said: Answer, path: Path, out: Path) -> Answer:
    """What the runs say of an answer that calls itself right."""
    if before["works"] and not said["changed"]:
        return {"verdict": "left"}
    if not out.exists():
        return {"verdict": "wrong", "reason": f"nothing to mend, it says, but: {before['naive']}"}
    judged = judgement(path, out, before["way"])
    if "right" not in judged:
        return {"reason": judged["why"]}
    kind = "wrong" if not judged["right"] else "rewritten" if before["works"] else "right"
    mended = "; ".join(said["notes"]) if kind == "rewritten" else ""
    return {"verdict": kind, "reason": judged["why"] or mended, "axes": judged.get("axes")}


def judgement(path: Path, out: Path, way: list[Any]) -> Answer:
    """Whether a repaired file gives the original's answers; without `right` where the judge failed."""
    child = run([str(ROOT / "bench" / "released_judge.py"), str(path), str(out), json.dumps(way)], JUDGING)
    if child.code != 0:
        return {"why": f"the judge failed: {complaint(child)}"}
    judged: Answer = json.loads(child.said)
    return judged


def complaint(child: Child) -> str:
    """The last line of what a process complained of, or how it ended."""
    lines = [line for line in child.complained.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else f"exit code {child.code}"


def _read(path: Path) -> Answer:
    read: Answer = json.loads(path.read_text(encoding="utf-8"))
    return read


def row(cache: Path, each: Found, *, again: str | None) -> Answer:
    """The answer on one file: the one that is kept, or a new one."""
    kept = cache / "results" / f"{each.digest}.json"
    asked = again is not None and kept.exists() and again in _read(kept)["verdict"]
    size = path_of(cache, each.digest).stat().st_size
    about: Answer = {"package": each.package, "file": each.member, "digest": each.digest, "size": size}
    return kept_answer(
        kept, again=asked, ask=lambda: about | original(cache, each.digest) | verdict(cache, each.digest)
    )


def kept_answer(kept: Path, *, again: bool, ask: Callable[[], Answer]) -> Answer:
    """An answer that was found before, or that is found now and kept."""
    if kept.exists() and not again:
        return _read(kept)
    start = time.perf_counter()
    answer = ask()
    answer["wall"] = round(time.perf_counter() - start, 1)
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(answer), encoding="utf-8")
    return answer


def shown(answer: Answer) -> str:
    """One line of the table."""
    batch = {True: "dynamic", False: "fixed", None: "-"}[answer.get("dynamic")]
    edit = answer.get("naive", "-")
    return (
        f"{answer['verdict']:9} {batch:7} naive {edit.split(' ')[0].strip(':'):6} {answer['seconds']:5.1f} s  "
        f"{answer.get('memory', 0) / 1e6:5.0f} MB  "
        f"{answer.get('producer') or '-'}:{answer.get('opset', 0)}  {answer['package']}  {answer['file']}  "
        f"{answer['digest'][:8]}  {' '.join(answer['reason'].split())[:240]}"
    )


def summary(answers: list[Answer]) -> str:
    """The counts, by whether the batch was fixed or dynamic."""
    lines = [f"{len(answers)} files of {len({each['package'] for each in answers})} packages"]
    for title, dynamic in (("batch fixed", False), ("batch dynamic", True), ("unknown", None)):
        several = [each for each in answers if each.get("dynamic") is dynamic]
        counts = Counter(each["verdict"] for each in several)
        lines.append(f"{title} ({len(several)}): " + ", ".join(f"{counts[v]} {v}" for v in VERDICTS if counts[v]))
    judged = [each for each in answers if each["verdict"] != "unjudged"]
    good = sum(each["verdict"] in GOOD for each in judged)
    edit = sum(each.get("naive") == "right" for each in judged)
    lines.append(f"good: {good} of {len(judged)} that can be judged; the naive edit (or nothing): {edit}")
    refused = [each for each in answers if each["verdict"] == "refused"]
    apart = sum(each.get("one by one") == "right" for each in refused)
    lines.append(f"of {len(refused)} refused, which no declaration makes right, {apart} are right with --per-sample")
    lines += [f"much: {shown(each)}" for each in answers if much(each)]
    return "\n".join(lines)


def much(answer: Answer) -> bool:
    """Whether a repair took more than a minute, or more than both 2 GB and three times its file."""
    memory: int = answer.get("memory", 0)
    return answer["verdict"] == "timeout" or memory > max(LARGE, 3 * int(answer.get("size", 0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cache", type=Path)
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--only", default="", metavar="TEXT")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--verdict", default="", metavar="WORD")
    asked = parser.parse_args()
    if asked.fetch:
        fetch(asked.cache, asked.only)
    answers = []
    for each in found(asked.cache):
        if asked.only in f"{each.package} {each.member} {each.digest}":
            answers.append(row(asked.cache, each, again=asked.verdict if asked.again else None))
            if asked.verdict in answers[-1]["verdict"]:
                print(shown(answers[-1]), flush=True)
    print(summary(answers))


if __name__ == "__main__":
    main()
