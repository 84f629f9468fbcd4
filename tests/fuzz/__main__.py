"""`python -m tests.fuzz SEED ...` shows cases and their offences; without seeds it runs as long as it is told."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.fuzz.case import case
from tests.fuzz.formats import KINDS
from tests.fuzz.runner import found_of, hunt, workers
from tests.fuzz.worker import Room


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("seeds", nargs="*", type=int)
    parser.add_argument("--start", type=int, default=0, help="the first seed of a hunt")
    parser.add_argument("--count", type=int, default=None, help="cases of a hunt")
    parser.add_argument("--seconds", type=float, default=None)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=None)
    parser.add_argument("--log", default=None, help="a file for the offences")
    args = parser.parse_args()
    if not args.seeds:
        return hunt(args)
    room = Room(None if args.kinds is None else frozenset(args.kinds))
    code = 0
    for seed in args.seeds:
        code |= _show(seed, room)
    return code


def _show(seed: int, room: Room) -> int:
    """Leaves the files of a case in a folder, runs its command there, and says what the judge finds."""
    one = case(seed, room.kinds)
    folder = Path(tempfile.mkdtemp(prefix=f"fuzz-{seed}-"))
    for name, content in one.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    print(f"seed {seed}: {one.kind}\n  cd {folder} && onereshape {shlex.join(one.words)}", flush=True)
    command = [sys.executable, "-P", "-m", "onereshape", *one.words]
    environment = {**os.environ, "ONERESHAPE_TRACEBACK": "1"}
    subprocess.run(command, cwd=folder, env=environment, check=False)  # noqa: S603 - ours
    ((_, found),) = found_of(workers(1, room), [[seed]])
    for kind, text in found.offences:
        print(f"  {kind}: {text}")
    return int(bool(found.offences))


if __name__ == "__main__":
    sys.exit(main())
