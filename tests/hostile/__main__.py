"""`python -m tests.hostile SEED ...` shows graphs and their verdicts; without seeds it runs as long as it is told."""

from __future__ import annotations

import argparse
import sys

from tests.hostile.generator import text
from tests.hostile.judge import judged, judged_case
from tests.hostile.runner import hunt
from tests.hostile.shrink import shrunk


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--start", type=int, default=0, help="the first seed of a hunt")
    parser.add_argument("--count", type=int, default=None, help="graphs of a hunt")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rooms", nargs="*", default=None)
    parser.add_argument("--log", default=None, help="a file for the failures")
    parser.add_argument("--shrink", action="store_true", help="the smallest graph that fails alike")
    args = parser.parse_args()
    if not args.seeds:
        return hunt(args)
    code = 0
    for seed in args.seeds:
        found = judged(seed, None if args.rooms is None else frozenset(args.rooms))
        print(text(found.case.proto))
        print(f"seed {seed}: {found.case.size} samples in {found.case.batch}, said {found.case.batch_said!r}")
        for verdict in found.verdicts:
            print(f"  {verdict}")
            code |= not verdict.lawful
        for room, kind in dict.fromkeys((each.room, each.kind) for each in found.unlawful if args.shrink):
            small = shrunk(found.case, room, kind)
            print(f"\nThe smallest with {room}: {kind}, {small.size} samples in {small.batch}\n{text(small.proto)}")
            print("\n".join(f"  {each}" for each in judged_case(small, frozenset({room})).verdicts))
    return code


if __name__ == "__main__":
    sys.exit(main())
