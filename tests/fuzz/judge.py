"""Runs a case in this process, and says what is wrong with what came of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import zarr

from onereshape import cli
from onereshape.formats.model import load
from onereshape.formats.model_formats import SUFFIXES, suffix
from onereshape.formats.tensors.tensor_files import read_tensor
from onereshape.ground.errors import ReshapeError
from tests.fuzz.capture import Capture
from tests.fuzz.case import Case
from tests.fuzz.watch import Watch

PATIENCE = 20.0
"""Seconds for one command, on a machine that has other work; most take a hundredth of one."""
MEMORY = 1 << 30
"""Bytes that one command may take more than the last; the files are of a few kilobytes."""
_OLD = b"old"
_OURS = re.compile(r"onereshape: |  ")


class Judged(NamedTuple):
    """What became of a case: its exit code, None where it did not end, and each offence as (kind, what)."""

    kind: str
    command: str
    code: int | None
    offences: list[tuple[str, str]]
    seconds: float


class _SlowError(BaseException):
    """The time is up."""


def _slow(_: int, frame: FrameType | None) -> None:
    place = "".join(traceback.format_stack(frame, 1)).split("\n")[0].strip() if frame is not None else ""
    raise _SlowError(place)


def judged(case: Case, root: Path, capture: Capture, watch: Watch, patience: float) -> Judged:
    """Lays out the files below `root`, runs the command in their folder, and looks at all that is there afterwards."""
    _lay_out(case, root)
    before = _files(root)
    offences: list[tuple[str, str]] = []
    code: int | None = None
    home = Path.cwd()
    os.chdir(root / "in")
    tempfile.tempdir = str(root / "tmp")
    start = _reset_peak()
    capture.begin()
    watch.begin(root)
    begun = time.perf_counter()
    signal.signal(signal.SIGALRM, _slow)
    try:
        signal.setitimer(signal.ITIMER_REAL, patience)
        code = cli.main(case.words)
        signal.setitimer(signal.ITIMER_REAL, 0)
    except _SlowError as error:
        offences.append(("hang", str(error)))
    except BaseException as error:  # noqa: BLE001 - main lets nothing through
        offences.append(("escaped", f"{type(error).__name__}: {error}"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        seconds = time.perf_counter() - begun
        offences += [("foreign", what) for what in watch.end()]
        out, err = capture.end()
        tempfile.tempdir = None
        os.chdir(home)
    grown = _peak() - start
    if grown > MEMORY:
        offences.append(("memory", f"{grown >> 20} MiB"))
    if code is not None:
        offences += _texts(case, code, out, err)
    offences += _written(case, code, root, before)
    return Judged(case.kind, case.words[0], code, offences, seconds)


def _lay_out(case: Case, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("in", "decoy", "tmp"):
        (root / folder).mkdir(parents=True)
    (root / "decoy" / "kept.bin").write_bytes(bytes(range(64)))
    for name, content in case.files.items():
        path = root / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if case.is_old and case.output is not None:
        (root / "in" / case.output).write_bytes(_OLD)


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _texts(case: Case, code: int, out: str, err: str) -> Iterator[tuple[str, str]]:
    """What is said: in words of ours, and one message where the command could not run."""
    if code not in {0, 1, 2}:
        yield "exit code", str(code)
    said = f"{out}\n{err}"
    if found := re.search(r"[^\n]*\[unforeseen\]|[^\n]*\"unforeseen\"[^\n]*", said):
        place = re.search(r"(\w+ at [\w/]+\.py:\d+|[\w/]+\.py:\d+)", said)
        kind = re.search(r"\b(\w+(?:Error|Exception|Warning|Exit|Iteration))\b", found[0])
        yield "net", f"{kind[1] if kind else ''} {place[1] if place else found[0][:200]}"
    if "Traceback" in said:
        yield "traceback", said[said.index("Traceback") :][:300]
    for line in err.splitlines():
        if not _OURS.match(line):
            yield "noise", line[:300]
            break
    asked = "--json" in case.words or "json" in case.words or "sarif" in case.words
    is_error = code == 2 or (code == 1 and case.words[0] not in {"check", "certify"})
    if asked and not err:
        try:
            json.loads(out)
        except ValueError as error:
            yield "no JSON", f"{error}: {out[:100]!r}"
    elif is_error and len(re.findall(r"^onereshape: ", err, re.MULTILINE)) != 1:
        yield "not one message", f"exit code {code}: {err[:300]!r}"
    elif code == 0 and err:
        yield "not silent", err[:300]


def _written(case: Case, code: int | None, root: Path, before: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    """What is there afterwards: the files as they were, and the output, whole or as it was."""
    after = _files(root)
    ours = _outputs(case)
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) == after.get(name) or (
            code == 0 and any(f"{name}/".startswith(f"{each}/") for each in ours)
        ):
            continue
        how = "lost" if name not in after else "changed" if name in before else "new"
        yield "half file" if name in ours else "foreign", f"{how} {name}, exit code {code}"
    folders = {path.name for path in (root / "in").iterdir() if path.is_dir()}
    if left := sorted(name for name in folders if name.startswith(".onereshape")):
        yield "foreign", f"left {left}"
    if code == 0 and case.output is not None and (why := _unread(root / "in" / case.output)):
        yield "half file", why


def _outputs(case: Case) -> list[str]:
    """The names that a command may write: what it was told to, and what belongs to that."""
    if case.output is None:
        return []
    names = [case.output]
    if case.output.endswith(".xml"):
        names.append(case.output.removesuffix(".xml") + ".bin")
    if "--copy-weights" in case.words:
        names.append(str(Path(case.output).with_name("w.bin")))
    return [f"in/{name}" for name in names]


def _unread(path: Path) -> str | None:
    """Why our own reader does not read a file that was written."""
    if not path.exists():
        return f"{path.name} was not written"
    try:
        if path.suffix == ".zarr":
            zarr.open_array(path, mode="r")[...]
        elif suffix(str(path)) in SUFFIXES:
            load(path)
        elif path.suffix == ".html":
            return None if path.read_bytes().endswith(b"</html>\n") else f"{path.name} is half a page"
        else:
            read_tensor(str(path))
    except (ReshapeError, ValueError, KeyError, OSError) as error:
        return f"{path.name} cannot be read: {str(error).splitlines()[0]}"
    return None


def _reset_peak() -> int:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="ascii"))
    return int(found[1]) << 10 if found else 0
