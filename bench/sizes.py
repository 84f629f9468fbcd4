"""How many modules become right at a size that nobody showed, by an arbiter that shares no code with the repair.

`python bench/corpus.py --sizes [FOLDER]`; the folder holds exports of modules at sizes A, B, C and perhaps D, and a
manifest.json, as tests/data/sizes does (which is the default).  Each is fitted on A and C, and judged at all of them.
Printed are a line for each module and the counts: right, limited (it does not run at a size that its condition
excludes), ambiguous, refused, fails, wrong; and how long pairing and fitting took, beside a check of the same file,
and for how many of those that can be freed it took longer.
"""

from __future__ import annotations

import gc
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import onnx_ir as ir
from tests.repair.sizes_arbiter import Exports, exports_of, sizes_verdict

import onereshape as orx
from onereshape.ground.errors import FixError
from onereshape.repair.fitting.plan import like_plan

_TIMES = 3
"""How often each is timed; the least counts."""
KINDS = ("right", "limited", "ambiguous", "refused", "fails", "wrong")
_PLAIN = re.compile(r"\b(\w+) (<=|>=|is divisible by) (\d+)")
_LEAVES = re.compile(r"\b(\w+) leaves (\d+) when divided by (\d+)")


class Row(NamedTuple):
    """The verdict on one module, its reason, and the seconds that it took."""

    found: str
    why: str
    seconds: float
    fitting: float
    checking: float


def measured(exports: Exports) -> Row:
    """Repairs and judges one module."""
    times = [(_check(exports), _fit(exports)) for _ in range(_TIMES)]  # side by side: a machine changes its speed
    checking, fitting = map(min, zip(*times, strict=True))
    start = time.perf_counter()
    others = [exports.files["C"]] if "C" in exports.files else None
    try:
        fixed = orx.fix(exports.files["A"], like=others, free=exports.free)
    except FixError as refusal:
        seconds = time.perf_counter() - start
        return Row(
            "ambiguous" if refusal.code == "ambiguous" else "refused", refusal.sentence, seconds, fitting, checking
        )
    seconds = time.perf_counter() - start
    if exports.impossible:
        return Row("wrong", "freed, where the module runs at one size only", seconds, fitting, checking)
    found, why = sizes_verdict(exports, ir.to_proto(fixed.model.ir).SerializeToString())
    conditions = "; ".join(fixed.conditions)
    if found == "fails" and any(_excluded(conditions, sizes) for sizes in exports.sizes.values()):
        found = "limited"
    why = "; ".join(filter(None, [why, conditions and f"holds if {conditions}"]))
    return Row("wrong" if found == "fixed" else found, why, seconds, fitting, checking)


def table(folder: Path) -> None:
    """Prints the rows and the counts of a folder."""
    possible: Counter[str] = Counter()
    impossible: Counter[str] = Counter()
    fitting = checking = 0.0
    longer: list[float] = []
    for exports in exports_of(folder):
        row = measured(exports)
        (impossible if exports.impossible else possible)[row.found] += 1
        if not exports.impossible:
            fitting, checking = fitting + row.fitting, checking + row.checking
            longer += [row.fitting - row.checking] if row.fitting > row.checking else []
        times = f"{row.seconds:5.1f} s, fitted in {row.fitting * 1e3:5.0f} ms (check {row.checking * 1e3:5.0f} ms)"
        print(f"{row.found:9} {exports.name:32} {times}  {row.why}".rstrip(), flush=True)
    print(f"{possible.total()} modules: " + ", ".join(f"{possible[kind]} {kind}" for kind in KINDS))
    if impossible:
        print(f"{impossible.total()} that run at one size only: {impossible['refused']} refused")
    most = f", by {max(longer) * 1e3:.0f} ms at most" if longer else ""
    print(f"pairing and fitting {fitting:.1f} s, check {checking:.1f} s; longer for {len(longer)} modules{most}")


def _check(exports: Exports) -> float:
    with _uncollected():
        start = time.process_time()
        orx.check(exports.files["A"])
        return time.process_time() - start


def _fit(exports: Exports) -> float:
    """How long pairing and fitting take, files read; until the refusal, where there is one."""
    if "C" not in exports.files:
        return 0.0
    model, other = (ir.load(exports.files[letter]) for letter in "AC")
    with _uncollected():
        start = time.process_time()
        with suppress(FixError):
            like_plan(model, [other], exports.free)
        return time.process_time() - start


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without Python's collection of garbage, as `timeit` has it: what one model leaves is not the next one's time."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _excluded(conditions: str, sizes: dict[str, int]) -> bool:
    """Whether a condition of a plain kind excludes these sizes."""
    for name, kind, number in _PLAIN.findall(conditions):
        size, bound = sizes.get(name), int(number)
        if size is not None and not {"<=": size <= bound, ">=": size >= bound}.get(kind, size % bound == 0):
            return True
    return any(
        name in sizes and sizes[name] % int(divisor) != int(rest) for name, rest, divisor in _LEAVES.findall(conditions)
    )
