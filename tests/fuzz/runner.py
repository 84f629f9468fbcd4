"""A hunt: cases of many seeds over several processes, and what became of them."""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.fuzz.judge import PATIENCE, Judged
from tests.fuzz.worker import Room, begin, told
from tests.hunting import Ended, Worker, blocks, hunted

_PATIENCE = 3 * PATIENCE
"""Seconds without a word, after which a process is killed: native code does not hear that its time is up."""


def workers(jobs: int, room: Room) -> list[Worker]:
    return [Worker(begin, told, room) for _ in range(jobs)]


def found_of(crew: list[Worker], tasks: Iterable[list[int]], *, keep: bool = False) -> Iterator[tuple[int, Judged]]:
    """The verdicts as they come."""
    for seed, what in hunted(crew, iter(tasks), _PATIENCE, keep=keep):
        if isinstance(what, Ended):
            text = f"the process ended with {what.code}" if what.how == "died" else f"no word for {_PATIENCE:.0f} s"
            yield seed, Judged("process", "", None, [(what.how, text)], 0)
        else:
            yield seed, what


def hunt(args: argparse.Namespace) -> int:
    """Runs, prints the offences as they come and a summary at the end; 1 where there were any."""
    begun = time.monotonic()
    room = Room(None if args.kinds is None else frozenset(args.kinds))
    kinds: dict[str, Counter[str]] = {}
    offences: dict[tuple[str, str], list[int]] = {}
    total, slowest = 0, (0.0, 0)
    log = None if args.log is None else Path(args.log)
    for seed, found in found_of(workers(args.jobs, room), blocks(args.start, args.count, args.seconds)):
        total += 1
        slowest = max(slowest, (found.seconds, seed))
        kinds.setdefault(found.kind, Counter())[f"{found.command} {found.code}"] += 1
        for kind, text in found.offences:
            offences.setdefault((kind, text), []).append(seed)
            said = f"seed {seed}: {found.kind}: {found.command}: {kind}: {text}"
            print(said, flush=True)
            if log is not None:
                with log.open("a", encoding="utf-8") as file:
                    file.write(said + "\n")
    seconds = time.monotonic() - begun
    print(f"\n{total} cases in {seconds:.0f} s; the slowest took {slowest[0]:.1f} s (seed {slowest[1]})")
    for name, counts in sorted(kinds.items()):
        print(f"  {name:11}" + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    for (kind, text), seeds in sorted(offences.items(), key=lambda pair: -len(pair[1])):
        print(f"  {len(seeds):5} {kind}: {text[:160]} (seeds {' '.join(map(str, seeds[:5]))})")
    print(f"  {len(offences)} kinds of offence" if offences else f"  all {total} hold")
    return int(bool(offences))
