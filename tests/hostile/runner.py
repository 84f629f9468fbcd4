"""A hunt: graphs of many seeds over several processes, and what became of them."""

from __future__ import annotations

import argparse
import multiprocessing
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any, NamedTuple

from tests.hostile.engine import SIGN
from tests.hostile.judge import Judged, judged
from tests.hostile.verdict import UNLAWFUL

BLOCK = 25
_PATIENCE = 90.0
"""Seconds without a word, after which a process is given up."""


class Found(NamedTuple):
    """What a process tells of one seed."""

    seed: int
    verdicts: list[tuple[str, str, str]]
    ops: list[str]
    seconds: float


def _told(seed: int, rooms: frozenset[str] | None) -> Found:
    begun = time.perf_counter()
    found: Judged = judged(seed, rooms)
    return Found(
        seed,
        [(each.room, each.kind, each.text) for each in found.verdicts],
        found.case.ops,
        time.perf_counter() - begun,
    )


def _work(tasks: Any, answers: Any, sign: Any, rooms: frozenset[str] | None) -> None:
    """One process: seeds in, verdicts out, each told before and after, so that a death has a name."""
    SIGN.raised = sign
    while (seeds := tasks.get()) is not None:
        for seed in seeds:
            answers.put(("begun", seed))
            answers.put(("done", _told(seed, rooms)))


class _Worker:
    def __init__(self, rooms: frozenset[str] | None) -> None:
        context = multiprocessing.get_context("spawn")
        self.tasks, self.answers = context.SimpleQueue(), context.Queue()
        self.sign = context.Value("b", 0, lock=False)
        self.process = context.Process(target=_work, args=(self.tasks, self.answers, self.sign, rooms), daemon=True)
        self.process.start()
        self.left: list[int] = []
        self.at: int | None = None
        self.heard = time.monotonic()

    def give(self, seeds: list[int]) -> None:
        self.left = list(seeds)
        if seeds:
            self.tasks.put(seeds)

    def end(self) -> tuple[str, str, str]:
        """What became of a process that says no more."""
        if self.process.is_alive():
            self.process.kill()
            return ("engine", "hang", f"nothing came for {_PATIENCE} s")
        kind = "no witness" if self.sign.value else "died"
        return ("engine", kind, f"exit code {self.process.exitcode}")


def found_of(args: argparse.Namespace) -> Iterator[Found]:
    """The verdicts as they come, until the time or the count is used up."""
    rooms = None if args.rooms is None else frozenset(args.rooms)
    end = None if args.seconds is None else time.monotonic() + args.seconds
    last = None if args.count is None else args.start + args.count
    following = args.start
    workers = [_Worker(rooms) for _ in range(args.jobs)]
    while workers:
        for place, worker in enumerate(workers):
            if not worker.left:
                worker.heard = time.monotonic()
                stop = last if last is not None else following + BLOCK
                seeds = list(range(following, min(following + BLOCK, stop)))
                if not seeds or (end is not None and time.monotonic() > end):
                    worker.tasks.put(None)
                    workers.pop(place)
                    break
                following += len(seeds)
                worker.give(seeds)
            try:
                kind, what = worker.answers.get(timeout=0.2)
            except Empty:
                if worker.process.is_alive() and time.monotonic() - worker.heard < _PATIENCE:
                    continue
                died = worker.left[0] if worker.at is None else worker.at
                yield Found(died, [worker.end()], [], 0)
                rest = [seed for seed in worker.left if seed != died]
                workers[place] = _Worker(rooms)
                workers[place].give(rest)
                continue
            worker.heard = time.monotonic()
            if kind == "begun":
                worker.at = what
            else:
                worker.left.remove(what.seed)
                yield what


def hunt(args: argparse.Namespace) -> int:
    """Runs, prints the failures as they come and a summary at the end; 1 where there were failures."""
    begun = time.monotonic()
    rooms: dict[str, Counter[str]] = {}
    ops: Counter[str] = Counter()
    failures: list[int] = []
    log = None if args.log is None else Path(args.log)
    if log is not None:
        log.write_text("", encoding="utf-8")
    total, since, slowest = 0, 0, (0.0, 0)
    for found in found_of(args):
        total, since = total + 1, since + 1
        slowest = max(slowest, (found.seconds, found.seed))
        ops.update(set(found.ops))
        for room, kind, text in found.verdicts:
            rooms.setdefault(room, Counter())[kind] += 1
            if kind == "no witness":
                print(f"seed {found.seed}: onnxruntime died on the original, {text}", flush=True)
            if kind in UNLAWFUL:
                failures.append(found.seed)
                since = 0
                said = f"seed {found.seed}: {room}: {kind}: {text}"
                print(said, flush=True)
                if log is not None:
                    with log.open("a", encoding="utf-8") as file:
                        file.write(said + "\n")
    print(
        f"\n{total} graphs in {time.monotonic() - begun:.0f} s; the slowest took {slowest[0]:.1f} s (seed {slowest[1]})"
    )
    for room, kinds in sorted(rooms.items()):
        whole = sum(kinds.values())
        print(
            f"  {room:18}" + ", ".join(f"{kind} {count} ({count / whole:.0%})" for kind, count in kinds.most_common())
        )
    rare = ", ".join(f"{op} {count}" for op, count in sorted(ops.items(), key=lambda pair: pair[1])[:25])
    print(f"  {len(ops)} operators; the rarest: {rare}")
    seeds = sorted(set(failures))
    print(f"  {len(seeds)} seeds failed: {' '.join(map(str, seeds[:200]))}" if seeds else f"  all {total} hold")
    return int(bool(seeds))
