"""Models and what optimisers make of them: how many of these pairs `certify` confirms, and is anything wrong confirmed?

    python bench/pairs.py [FOLDER] [--tools NAME ...] [--only NAME] [--plants N] [--timeout SECONDS] [--cache FOLDER]

Of each model of FOLDER (default: tests/data/corpus) onnxsim, onnxslim, onnxscript's optimizer and onnxruntime (its
basic and its extended level) make another.  A judge that shares no code with `certify` (`bench/pair_judge.py`) runs
both on drawn inputs: a pair is right, or the optimiser broke it, which is reported by its name.  `certify` is asked of
every pair, and so is the certificate that onnxsim ships (it needs z3-solver).  In an even part of the right pairs,
drawn by --seed, one change is planted that changes an answer (`bench/pair_plants.py`): none of these may be confirmed,
which is to say proven, equivalent or certified.  *differs* must come with an input that shows it; it is run again here.

Pairs are asked in a process that lives on (`bench/pair_worker.py`); seconds are those of the wall, without its start.
With --cache FOLDER what was made is kept, and made no second time.  --json FILE keeps all rows.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Final

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from bench.pair_judge import listed  # noqa: E402
from bench.pair_plants import KINDS  # noqa: E402
from bench.pair_worker import TOOLS, Said  # noqa: E402

PACKAGES: Final = ("onereshape", "onnxsim", "onnxslim", "onnxscript", "onnxruntime", "z3-solver")
CONFIRMED: Final = ("proven", "equivalent", "certified")
STATUSES: Final = (*CONFIRMED, "not proven", "differs", "out-of-time", "error")
SHOWN: Final = ("proven", "equivalent")
THEIR_STATUSES: Final = ("proved", "skipped", "refuted", "error")
WAITING: Final = 240
"""Seconds beyond three times the timeout after which a part of an answer is no longer waited for."""


class Worker:
    """A process that answers about pairs; a new one is started where it ended."""

    def __init__(self, timeout: float) -> None:
        self.patience = 3 * timeout + WAITING
        self.process: subprocess.Popen[str] | None = None
        self.lines: queue.Queue[str] = queue.Queue()

    def ask(self, asked: Said) -> Said:
        """The row of one pair; what ended the process is in `failed`."""
        row = {name: asked[name] for name in ("model", "tool")}
        process = self._running()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            while "end" not in (part := json.loads(self.lines.get(timeout=self.patience))):
                row.update(part)
        except (OSError, ValueError, queue.Empty) as error:
            self.stop()
            died = "took too long" if isinstance(error, queue.Empty) else "the process ended"
            row["failed"] = f"{died}, after {', '.join(list(row)[2:]) or 'nothing'}"
        return row

    def _running(self) -> subprocess.Popen[str]:
        if self.process is not None and self.process.poll() is not None:
            self.stop()
        if self.process is None:
            self.lines = queue.Queue()
            self.process = subprocess.Popen(  # noqa: S603 - our own code
                [sys.executable, str(ROOT / "bench" / "pair_worker.py")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            threading.Thread(target=_read, args=(self.process, self.lines), daemon=True).start()
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            for pipe in (self.process.stdin, self.process.stdout):
                assert pipe is not None
                with suppress(OSError):
                    pipe.close()
            self.process = None


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with suppress(ValueError):  # closed from outside
        for line in process.stdout:
            lines.put(line)
    lines.put("")  # no JSON: the process ended


# The tables


def status_of(row: Said, who: str = "ours") -> str:
    """What a certificate says of a pair; where there is none, that is an error."""
    return str(row[who]["status"]) if who in row else "error"


def right(rows: Iterable[Said]) -> list[Said]:
    return [row for row in rows if row.get("judged") == "right"]


def seconds(answers: Iterable[Said]) -> str:
    """The median, the sum and the worst: `0.81 / 62 / 9.4`."""
    each = [answer["seconds"] for answer in answers]
    return f"{median(each):.2f} / {sum(each):.0f} / {max(each):.1f}" if each else "-"


def table(title: str, heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Rows of a table in Markdown, with its title above."""
    lines = [f"| {' | '.join(row)} |" for row in (heads, ("---",) * len(heads), *rows)]
    return "\n".join([title, "", *lines, ""])


def by_tool(rows: list[Said], line: Callable[[list[Said]], tuple[str, ...]]) -> list[tuple[str, ...]]:
    tools = list(dict.fromkeys(row["tool"] for row in rows))
    parts = [(tool, [row for row in rows if row["tool"] == tool]) for tool in tools]
    return [(name, *line(part)) for name, part in [*parts, ("all", rows)]]


def counted(said: Counter[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """How often each of some words was said, the others in words: `("3", "0", "1 untested")`."""
    rest = ", ".join(f"{count} {word}" for word, count in said.items() if word not in names)
    return (*(str(said[name]) for name in names), rest or "-")


def our_line(rows: list[Said]) -> tuple[str, ...]:
    fine = right(rows)
    said = Counter(status_of(row) for row in fine)
    share = sum(said[status] for status in SHOWN) / max(1, len(fine))
    answers = [row["ours"] for row in fine if "ours" in row]
    return (f"{len(fine)} of {len(rows)}", *counted(said, STATUSES), f"{share:.1%}", seconds(answers))


def their_line(rows: list[Said]) -> tuple[str, ...]:
    fine = right(rows)
    said = Counter(status_of(row, "theirs") for row in fine)
    answers = [row["theirs"] for row in fine if "theirs" in row]
    return (*counted(said, THEIR_STATUSES), f"{said['proved'] / max(1, len(fine)):.1%}", seconds(answers))


def planted(rows: Iterable[Said]) -> list[Said]:
    """The changes that were planted, with the names of their pairs."""
    names = ("model", "tool")
    found = [{**row["plant"], **{name: row[name] for name in names}} for row in rows if "plant" in row]
    return [plant for plant in found if plant["kind"] != "none"]


def plant_lines(plants: list[Said]) -> list[tuple[str, ...]]:
    parts = [(kind, [each for each in plants if each["kind"] == kind]) for kind in KINDS]
    lines = []
    for name, part in [*parts, ("all", plants)]:
        said = Counter(status_of(each) for each in part)
        proved = sum(status_of(each, "theirs") == "proved" for each in part)
        lines.append((name, str(len(part)), str(confirmed(part)), *counted(said, STATUSES[3:]), str(proved)))
    return lines


def confirmed(plants: Iterable[Said]) -> int:
    return sum(status_of(each) in CONFIRMED for each in plants)


def shown_differences(rows: list[Said]) -> str:
    """How many answers of `differs` there are, and what became of their counterexamples."""
    answers = [each["ours"] for each in [*rows, *planted(rows)] if status_of(each) == "differs" and "ours" in each]
    said = Counter(answer["counterexample"].split(":")[0] for answer in answers)
    told = ", ".join(f"{count} {word}" for word, count in said.items()) or "none"
    return f"{len(answers)} answers *differs*, of their counterexamples: {told}"


def tables(rows: list[Said]) -> str:
    """All that is told at the end."""
    finds = [
        f"- {row['model']} by {row['tool']}: {row.get('judged', 'failed')}: {row.get('why') or row['failed']}"
        for row in rows
        if row.get("judged") != "right"
    ]
    plants = planted(rows)
    wrong = [
        f"- {each['kind']} in {each['model']} by {each['tool']}: {each['where']}: {status_of(each)}"
        for each in plants
        if status_of(each) in CONFIRMED
    ]
    ours = table(
        "`onereshape certify`, of the right pairs; seconds are median / sum / worst",
        ("tool", "right", *STATUSES, "else", "proven or equivalent", "seconds"),
        by_tool(rows, our_line),
    )
    made = table(
        "Planted changes; of those that it confirms none may be",
        ("kind", "planted", "confirmed", *STATUSES[3:], "else", "proved by onnxsim"),
        plant_lines(plants),
    )
    parts = [ours, made]
    if any("theirs" in row for row in rows):
        heads = ("tool", *THEIR_STATUSES, "else", "proved", "seconds")
        parts.insert(1, table("`onnxsim.certify`, of the same pairs", heads, by_tool(rows, their_line)))
    stuck = [f"- {row['model']} by {row['tool']}: {row['not loaded']}" for row in right(rows) if row.get("not loaded")]
    parts += [shown_differences(rows), f"\n{len(finds)} pairs that are not right", *finds]
    parts += ["\nright, but onnxruntime's own optimisations do not load them", *stuck] if stuck else []
    return "\n".join([*parts, *(["\nplanted and confirmed", *wrong] if wrong else [])])


def line(row: Said) -> str:
    """A pair in one line."""
    name = f"{row['model'].removesuffix('.onnx'):32} {row['tool']:13}"
    if row.get("judged") != "right" or "ours" not in row:
        return f"{name}{row.get('judged', 'failed')}: {row.get('why') or row.get('failed', '')}"
    ours, theirs = row["ours"], row.get("theirs", {"status": "-", "seconds": 0.0})
    plant = f"  planted {row['plant']['kind']}: {status_of(row['plant'])}" if "ours" in row.get("plant", {}) else ""
    changes = " ".join(f"{more:+}{name}" for name, more in row["operators"].items())
    why = "" if ours["status"] == "proven" else f"  {ours['reason'][:160]} [{changes[:160]}]"
    both = f"{ours['status']:12}{ours['seconds']:7.2f} s  {theirs['status']:8}{theirs['seconds']:7.2f} s"
    return f"{name}{both}{plant}{why}"


def questions(asked: argparse.Namespace, cache: Path) -> list[Said]:
    """The pairs that are asked, in the order of models, those to be planted with the kind that comes first."""
    models = [entry.path.name for entry in listed(asked.folder) if asked.only in entry.path.name]
    found: list[Said] = [
        {"folder": str(asked.folder), "model": model, "tool": tool, "cache": str(cache), "plant": None}
        for model in models
        for tool in asked.tools
    ]
    shuffled = list(range(len(found)))
    random.Random(asked.seed).shuffle(shuffled)  # noqa: S311 - no secret
    for number, place in enumerate(sorted(shuffled[: asked.plants])):
        found[place]["plant"] = number
    for place, each in enumerate(found):
        each.update(seed=asked.seed + place, timeout=asked.timeout, theirs=not asked.alone)
    return found


def ask_all(asked: argparse.Namespace, cache: Path) -> list[Said]:
    found: list[Said] = []
    workers: queue.Queue[Worker] = queue.Queue()
    for _ in range(asked.jobs):
        workers.put(Worker(asked.timeout))

    def ask(question: Said) -> Said:
        worker = workers.get()
        try:
            return worker.ask(question)
        finally:
            workers.put(worker)

    with ThreadPoolExecutor(asked.jobs) as pool:
        for row in pool.map(ask, questions(asked, cache)):
            found.append(row)
            if asked.verbose:
                print(line(row), flush=True)
            if asked.json:
                asked.json.write_text(json.dumps(found, indent=1), encoding="utf-8")
    while not workers.empty():
        workers.get().stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="What certify says of models and what optimisers make of them.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests" / "data" / "corpus")
    parser.add_argument("--tools", nargs="+", choices=list(TOOLS), default=list(TOOLS))
    parser.add_argument("--only", default="", help="a part of the names of models")
    parser.add_argument("--plants", type=int, default=100, help="in how many of the pairs a change is planted")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one certificate")
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument("--alone", action="store_true", help="without the certificate of onnxsim")
    parser.add_argument("--cache", type=Path, help="a folder that keeps what was made")
    parser.add_argument("--json", type=Path, help="a file for all rows")
    parser.add_argument("-v", "--verbose", action="store_true", help="a line for each pair")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cache = asked.cache or Path(folder)
        cache.mkdir(parents=True, exist_ok=True)
        rows = ask_all(asked, cache)
    print(", ".join(f"{name} {version(name)}" for name in PACKAGES))
    print(tables(rows))


if __name__ == "__main__":
    main()
