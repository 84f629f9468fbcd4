"""A hunt: graphs of many seeds over several processes, and what became of them."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.hostile.engine import SIGN
from tests.hostile.judge import Judged, judged
from tests.hostile.verdict import UNLAWFUL
from tests.hunting import Worker, blocks, hunted

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


def _begin(sign: Any, _: frozenset[str] | None) -> None:
    SIGN.raised = sign


def found_of(args: argparse.Namespace) -> Iterator[Found]:
    """The verdicts as they come, until the time or the count is used up."""
    rooms = None if args.rooms is None else frozenset(args.rooms)
    workers = [Worker(_begin, _told, rooms) for _ in range(args.jobs)]
    for seed, what in hunted(workers, blocks(args.start, args.count, args.seconds), _PATIENCE):
        if isinstance(what, Found):
            yield what
        elif what.how == "hang":
            yield Found(seed, [("engine", "hang", f"nothing came for {_PATIENCE} s")], [], 0)
        else:
            yield Found(seed, [("engine", "no witness" if what.sign else "died", f"exit code {what.code}")], [], 0)


def hunt(args: argparse.Namespace) -> int:
    """Runs, prints the failures as they come and a summary at the end; 1 where there were failures."""
    begun = time.monotonic()
    rooms: dict[str, Counter[str]] = {}
    ops: Counter[str] = Counter()
    open_ends: Counter[str] = Counter()
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
            if kind in {"not proven", "proven", "differs"}:
                open_ends[f"{kind}: {text}"] += 1
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
    for said, count in open_ends.most_common(20):
        print(f"    {count} {said}")
    rare = ", ".join(f"{op} {count}" for op, count in sorted(ops.items(), key=lambda pair: pair[1])[:25])
    print(f"  {len(ops)} operators; the rarest: {rare}")
    seeds = sorted(set(failures))
    print(f"  {len(seeds)} seeds failed: {' '.join(map(str, seeds[:200]))}" if seeds else f"  all {total} hold")
    return int(bool(seeds))
