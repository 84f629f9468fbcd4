"""`python -m tests.hostile SEED ...` shows graphs and their verdicts; without seeds it runs as long as it is told."""

from __future__ import annotations

import argparse
import sys

from tests.hostile.generator import text
from tests.hostile.judge import judged
from tests.hostile.runner import hunt


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--start", type=int, default=0, help="the first seed of a hunt")
    parser.add_argument("--count", type=int, default=None, help="graphs of a hunt")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rooms", nargs="*", default=None)
    parser.add_argument("--log", default=None, help="a file for the failures")
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
    return code


if __name__ == "__main__":
    sys.exit(main())
