"""What a command finds around it: streams that are closed or full, folders that are gone, links of other people's."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from onereshape.cli import main
from tests.formats.stored import folder_with_stores, held, stored  # noqa: F401 - a fixture
from tests.models import small

pytestmark = pytest.mark.usefixtures("here")
ONERESHAPE = f"{sys.executable} -P -m onereshape"
WRITES = ["run x.npy --target -1 -o y.npy", "run x.zarr --target -1 -o y.npy"]


def shell(line: str) -> tuple[int, str]:
    """The exit code, and what was said on standard error."""
    found = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False, timeout=60)  # noqa: S603, S607
    return found.returncode, found.stderr


@pytest.mark.parametrize("words", WRITES)
@pytest.mark.parametrize("streams", ["2>&-", "<&- >&- 2>&-"])
def test_closed_streams(words: str, streams: str) -> None:
    assert shell(f"{ONERESHAPE} {words} {streams}")[0] == 0
    assert held("y.npy").shape == (24,)


def test_a_closed_stream_is_no_file_of_ours() -> None:
    """What a library prints would be in it."""
    code = "import os; from onereshape.cli import main; main(['--version']); print(os.open('new', os.O_CREAT) > 2)"
    found = subprocess.run(["bash", "-c", f'{sys.executable} -P -c "{code}" 2>&- <&-'], capture_output=True, check=True)  # noqa: S603, S607
    assert found.stdout.endswith(b"True\n")


@pytest.mark.parametrize("words", ["check none.onnx", "run x.npy --target -1 -o y.npy >/dev/full"])
def test_nothing_can_be_said(words: str) -> None:
    assert shell(f"{ONERESHAPE} {words} 2>/dev/full") == (2, "")


@pytest.mark.parametrize("words", WRITES)
def test_a_working_folder_that_is_gone(words: str) -> None:
    line = words.replace("x.", f"{Path.cwd()}/x.")
    code, text = shell(f"mkdir gone; cd gone; rmdir ../gone; {ONERESHAPE} {line}")
    assert (code, text) == (2, "onereshape: y.npy: No such file or directory  [unwritable]\n")


def test_no_temporary_file() -> None:
    onnx.save(small(), "m.onnx")
    code, text = shell(f"ulimit -f 0; {ONERESHAPE} fix m.onnx --batch -o n.onnx")
    assert (code, text.count("\n")) == (2, 1)
    assert "unforeseen" not in text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a link away")
@pytest.mark.parametrize("words", WRITES)
def test_a_link_of_someone_elses_in_a_shared_folder(words: str) -> None:
    """The kernel does not follow it where it protects them; a path that was resolved is none that it sees."""
    Path("shared").mkdir()
    Path("shared").chmod(0o1777)
    Path("mine.npy").write_bytes(b"mine")
    link = Path("shared/y.npy")
    link.symlink_to(Path("mine.npy").absolute())
    os.chown(link, 4321, 4321, follow_symlinks=False)
    code, text = shell(f"{ONERESHAPE} {words}".replace("y.npy", "shared/y.npy"))
    assert (code, text.count("\n")) == (2, 1)
    assert "is a link of someone else's" in text
    assert Path("mine.npy").read_bytes() == b"mine"
    os.chown(link, os.geteuid(), os.getegid(), follow_symlinks=False)
    assert shell(f"{ONERESHAPE} {words}".replace("y.npy", "shared/y.npy"))[0] == 0
    assert Path("mine.npy").stat().st_size > 4


SWALLOWED = """
import signal, sys, time
from onereshape.cli.stopping import stopping

class Closing:
    def __del__(self):
        signal.raise_signal(signal.{name})

try:
    with stopping():
        Closing()
        for _ in range(500):
            time.sleep(0.01)
        print("lost")
except KeyboardInterrupt as stop:
    print(getattr(stop, "signal", signal.SIGINT))
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_that_python_can_only_print_comes_again(name: str) -> None:
    words = [sys.executable, "-c", SWALLOWED.format(name=name)]
    found = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603
    assert (found.stdout.strip(), found.stderr) == (str(int(getattr(signal, name))), "")


def test_an_interrupt_at_the_start() -> None:
    """While all is imported; the moments are many, and none has a traceback."""
    for number in range(0, 12, 2):
        words = f"{ONERESHAPE} run x.npy --target -1 -o y.npy".split()
        with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:  # noqa: S603
            while run.poll() is None and "onereshape" not in Path(f"/proc/{run.pid}/maps").read_text(encoding="utf-8"):
                time.sleep(0.001)  # Python itself starts until then
            time.sleep(0.01 * number)
            run.send_signal(signal.SIGINT)
            said = run.communicate()[1]
        assert run.returncode in {-signal.SIGINT, 130, 0}
        assert "Traceback" not in said


def test_no_process_outlives_a_killed_run() -> None:
    """Not one that is stopped either."""
    stored("l.zarr", np.ones((80, 80), np.float32), (3, 3))
    words = f"{ONERESHAPE} run l.zarr --target -1 -o y.zarr --scheduler processes".split()
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:  # noqa: S603
        while run.poll() is None and not [*Path().glob(".onereshape-*/0.zarr/c/*")]:
            time.sleep(0.01)
        listed = Path(f"/proc/{run.pid}/task/{run.pid}/children")
        children = [int(child) for child in listed.read_text(encoding="ascii").split()]
        assert children
        for child in children:
            os.kill(child, signal.SIGSTOP)
        run.kill()
    end = time.monotonic() + 20
    while any(_lives(child) for child in children) and time.monotonic() < end:
        time.sleep(0.05)
    alive = [child for child in children if _lives(child)]
    for child in alive:
        os.kill(child, signal.SIGKILL)
    assert not alive


def _lives(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_garbage_of_a_caller_is_left_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a process that is ours, and ends, does without its last search."""
    frozen = gc.get_freeze_count()
    main(["infer", "2,3", "--target", "-1"])
    assert gc.get_freeze_count() == frozen
    monkeypatch.setattr(sys, "argv", ["onereshape", "infer", "2,3", "--target", "-1"])
    try:
        main()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
