"""The room for native code: children that die, hang, eat, lie or are left alone, and a parent none the worse."""

from __future__ import annotations

import fcntl
import gc
import io
import os
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from onereshape.formats.onnx.onnx_native import inferred_dims, refused_by_checker
from onereshape.ground.isolation import messages
from onereshape.ground.isolation.budget import Limits, limited, limits
from onereshape.ground.isolation.room import Child, Ended, here
from tests.models import model, write

_LIMIT = Limits(60, 2 * 10**9)
_PLANTED = """
import os, sys, time
import numpy as np
from onereshape.ground.isolation.kept import KEPT, keep

def echo(told, arrays): return told, arrays
def pid(told, arrays): return {"pid": os.getpid(), "kept": len(KEPT)}, {}
def kept(told, arrays): return {"number": keep(object())}, {}
def aborts(told, arrays): print("the last word"); sys.stdout.flush(); os.abort()
def leaves(told, arrays): os._exit(3)
def hangs(told, arrays):
    if "mark" in told:
        open(told["mark"], "x").close()
    time.sleep(600)

def raises(told, arrays): raise KeyError("what")
def eats(told, arrays): return {}, {"x": np.ones(1 << 40, np.uint8)}
def prints(told, arrays):
    print("noise")
    os.write(1, b"noise")
    os.write(2, b"noise")
    return {"read": sys.stdin.read()}, {}
def writes(told, arrays): open(told["path"], "wb").truncate(1 << 27); return {}, {}
def large(told, arrays): return {}, {"x": np.ones(1 << 20, np.uint8)}
def lingers(told, arrays): sys.modules["__main__"].IDLE = 0.01; return {}, {}

def garbage(told, arrays):
    for number in range(3, 64):
        try:
            os.write(number, b"\\x08" + bytes(7) + b"no JSON!")
        except OSError:
            pass
    return {}, {}
"""


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Asks a child, which knows the functions above, within limits."""
    (tmp_path / "planted.py").write_text(_PLANTED, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    child = Child()

    def ask(name: str, limit: Limits = _LIMIT, **more: Any) -> Any:
        nonlocal child
        child = child if child.lives else Child()
        return child.ask(f"planted:{name}", more.pop("told", {}), more.pop("arrays", {}), limit, **more)

    return ask


class TestEnds:
    @pytest.mark.parametrize(
        ("name", "limit", "told"),
        [
            ("aborts", _LIMIT, ("crash", "SIGABRT: the last word", "ended its process (SIGABRT)")),
            ("leaves", _LIMIT, ("crash", "exit code 3", "ended its process (exit code 3)")),
            ("hangs", Limits(0.5, 10**9), ("hang", "no answer in 0.5 s", "did not answer in 0.5 s")),
            ("raises", _LIMIT, ("crash", "KeyError: 'what'", "fails: KeyError: 'what'")),
            ("eats", _LIMIT, ("memory", "exit code 77", "needed more than 2.0 GB of memory")),
            ("garbage", _LIMIT, ("crash", "garbage", "gave what is no answer")),
        ],
    )
    def test_each_is_told_and_another_child_goes_on(
        self, planted: Callable[..., Any], name: str, limit: Limits, told: tuple[str, str, str]
    ) -> None:
        planted("pid")
        with pytest.raises(Ended) as ended:
            planted(name, limit)

        assert (ended.value.kind, ended.value.how, str(ended.value)) == told
        assert planted("echo", told={"a": 1}) == ({"a": 1}, {})

    @pytest.mark.usefixtures("planted")
    def test_a_child_that_has_ended_tells_how_again(self) -> None:
        with Child() as child:
            for _ in range(2):
                with pytest.raises(Ended, match="SIGABRT"):
                    child.ask("planted:aborts", {}, {}, _LIMIT)

    def test_an_answer_that_is_too_large(self, planted: Callable[..., Any]) -> None:
        assert planted("large")[1]["x"].size == 1 << 20
        with pytest.raises(Ended, match=r"gave an answer of 1 MB, too much for 2\.0 GB of memory"):
            planted("large", most=1000)

    def test_a_question_beyond_the_memory_of_the_child(self, planted: Callable[..., Any]) -> None:
        planted("pid", Limits(60, 300 * 10**6))
        with pytest.raises(Ended, match=r"needed more than 300 MB of memory"):
            planted("echo", Limits(60, 300 * 10**6), arrays={"x": np.ones(400 * 10**6, np.uint8)})

    def test_what_is_printed_is_no_answer_and_reaches_nobody(
        self, planted: Callable[..., Any], capfd: pytest.CaptureFixture[str]
    ) -> None:
        assert planted("prints") == ({"read": ""}, {})
        assert capfd.readouterr() == ("", "")

    def test_no_program_to_start(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "executable", "/no/such/python")
        with pytest.raises(Ended, match="could not be started"):
            Child()

    def test_a_child_that_nobody_asks_goes(self, planted: Callable[..., Any]) -> None:
        pid = planted("pid")[0]["pid"]
        planted("lingers")
        _wait(lambda: _is_gone(pid))

        assert planted("pid")[0]["pid"] != pid


class TestLocks:
    """A child that writes what was asked for has a lock; one that does not has no business with large files."""

    def test_without_a_lock_no_large_file(self, planted: Callable[..., Any], tmp_path: Path) -> None:
        with pytest.raises(Ended, match="File too large"):
            planted("writes", told={"path": str(tmp_path / "x")})

    @pytest.mark.usefixtures("planted")
    def test_it_is_held_as_long_as_the_child_lives(self, tmp_path: Path) -> None:
        with (tmp_path / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            child = Child(lock=lock.fileno())
        with child, (tmp_path / "lock").open("w") as other:
            child.ask("planted:writes", {"path": str(tmp_path / "x")}, {}, _LIMIT)
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            child.end()
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


class TestKeeping:
    def test_one_child_for_all_questions_of_a_thread(self) -> None:
        assert here() is here()

    @pytest.mark.usefixtures("planted")
    def test_what_is_let_go_is_gone_with_the_next_question(self) -> None:
        with Child() as child:
            ask = partial(child.ask, plain={}, arrays={}, limit=_LIMIT)
            numbers = [ask("planted:kept")[0]["number"] for _ in range(3)]
            assert ask("planted:pid")[0]["kept"] == 3
            child.free(numbers[1])
            assert ask("planted:pid")[0]["kept"] == 2

    def test_a_child_ends_with_the_last_who_knows_it(self) -> None:
        child = Child()
        pid = child._process.pid
        del child
        gc.collect()

        assert _is_gone(pid)

    def test_two_threads_at_once(self) -> None:
        found: list[Child] = []
        both = threading.Barrier(2, timeout=60)

        def ask() -> None:
            child = here()
            both.wait()
            assert child.ask("onereshape.prove.engines.served:name", {}, {}, _LIMIT)[0]["name"]
            found.append(child)

        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert len({child._process.pid for child in found}) == 2
        assert here() not in found

    def test_a_fork_has_a_child_of_its_own(self) -> None:
        code = (
            "import os, sys\n"
            "from onereshape.ground.isolation.room import here\n"
            "first = here()\n"
            "fork = os.fork()\n"
            "if not fork:\n"
            "    sys.exit(here() is first or not here().lives)\n"
            "print(os.waitpid(fork, 0)[1], here() is first and first.lives)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603

        assert (done.stdout, done.stderr) == ("0 True\n", "")

    def test_limits_are_those_of_the_innermost(self) -> None:
        with limited(Limits(1, 2)), limited(Limits(3, 4)):
            assert limits() == Limits(3, 4)
        assert limits().seconds == 120


class TestMessages:
    @pytest.mark.parametrize(
        "array",
        [
            np.arange(24.0).reshape(2, 3, 4)[:, ::-1],
            np.array(3, np.int64),
            np.empty((0, 7), np.float16),
            np.array([True, False]),
            np.array([[1, 2]], ml_dtypes.bfloat16),
            np.array(["a", "\ud800", ""], object),
            np.array([1 + 2j], np.complex64),
        ],
        ids=lambda array: str(array.dtype),
    )
    def test_an_array_arrives_as_it_was(self, array: Any) -> None:
        stream = io.BytesIO()
        messages.write(stream, {"n": 1}, {"x": array})
        stream.seek(0)
        plain, arrays = messages.read(stream, 10**6)

        assert plain == {"n": 1}
        assert arrays["x"].dtype == array.dtype
        assert arrays["x"].shape == array.shape
        assert arrays["x"].tolist() == array.tolist()
        assert arrays["x"].flags.writeable

    @pytest.mark.parametrize(
        "head",
        [
            b"[]",
            b"{}",
            b"\xff",
            b"[" * 100_000,
            b'{"plain": {}, "arrays": [{"name": "x", "type": "float32", "dims": [-1]}]}',
            b'{"plain": {}, "arrays": [{"name": "x", "type": "object", "dims": [1]}]}',
            b'{"plain": {}, "arrays": [{"name": "x", "type": "string", "dims": [2], "items": ["a"]}]}',
            b'{"plain": {}, "arrays": [{"name": "x", "type": "float32", "dims": [1.5]}]}',
            b'{"plain": {}, "arrays": 7}',
            b'{"plain": 7, "arrays": []}',
        ],
    )
    def test_what_is_no_message(self, head: bytes) -> None:
        with pytest.raises(ValueError, match=r"."):
            messages.read(io.BytesIO(struct.pack("<Q", len(head)) + head), 10**6)

    def test_what_is_cut_off(self) -> None:
        stream = io.BytesIO()
        messages.write(stream, {}, {"x": np.ones(5)})
        for length in range(len(stream.getvalue())):
            with pytest.raises(EOFError):
                messages.read(io.BytesIO(stream.getvalue()[:length]), 10**6)

    @pytest.mark.parametrize("dims", ["[300]", "[1099511627776, 1099511627776]"])
    def test_what_claims_too_much_is_not_even_begun(self, dims: str) -> None:
        head = f'{{"plain": {{}}, "arrays": [{{"name": "x", "type": "float32", "dims": {dims}}}]}}'.encode()
        with pytest.raises(messages.TooLarge):
            messages.read(io.BytesIO(struct.pack("<Q", len(head)) + head), 1000)
        with pytest.raises(messages.TooLarge):
            messages.read(io.BytesIO(struct.pack("<Q", 1 << 60)), 1000)


_ENDLESS = """agraph (float[1, 6] x) => (float[1, 2, 3] y, float[2] q)
    <int64[3] k = {1, 2, 3}, bool c = {1}, float[2] o = {1, 2}, float zero = {0}> {
        y = Reshape(x, k)
        q = Loop(, c, o) <body = b (int64 i, bool d, float[2] v) => (bool e, float[2] w) {
            w = Abs(v)
            f = ReduceMax <keepdims = 0> (w)
            e = Greater(f, zero)
        }>
    }"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
class TestEndsOfTheParent:
    @pytest.fixture
    def running(self, tmp_path: Path) -> Any:
        """`onereshape fix` in the midst of an endless Loop, and the process that runs it."""
        path = write(model(_ENDLESS), tmp_path / "endless.onnx")
        command = [sys.executable, "-m", "onereshape", "fix", path, "-o", str(tmp_path / "out.onnx"), "--batch"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # noqa: S603
        _wait(lambda: any(_seconds(pid) > 0.7 for pid in _children(process.pid)))  # imports take less
        yield process, _children(process.pid)
        process.kill()
        process.communicate()

    def test_ctrl_c(self, running: Any, tmp_path: Path) -> None:
        process, children = running
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=30)

        assert (process.returncode, output) == (130, (b"", b""))
        assert time.monotonic() - begin < 10
        assert all(map(_is_gone, children))
        assert [path.name for path in tmp_path.iterdir()] == ["endless.onnx"]

    def test_no_child_survives_a_parent_that_is_killed(self, tmp_path: Path) -> None:
        (tmp_path / "planted.py").write_text(_PLANTED, encoding="utf-8")
        code = (
            "from onereshape.ground.isolation.room import Child, Limits\n"
            "child = Child()\n"
            "print(child._process.pid, flush=True)\n"
            f"child.ask('planted:hangs', {{'mark': {str(tmp_path / 'begun')!r}}}, {{}}, Limits(600, 10**9))\n"
        )
        env = os.environ | {"PYTHONPATH": str(tmp_path)}
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=env) as process:  # noqa: S603
            child = int(process.stdout.readline())
            _wait((tmp_path / "begun").exists)
            process.kill()
            process.wait(30)
            _wait(lambda: _is_gone(child))


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()]
    except OSError:
        return []


def _seconds(pid: int) -> float:
    """What a process has computed so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()[0] in {"Z", "X"}
    except OSError:
        return True


def _wait(until: Callable[[], bool]) -> None:
    for _ in range(600):
        if until():
            return
        time.sleep(0.05)
    raise AssertionError("waited in vain")


class TestOnnx:
    """onnx's checker and inference, on a dim of -1, which ends their process in a Slice."""

    @pytest.fixture
    def negative(self) -> bytes:
        body = (
            "(float[2, 3] x) => (float[a, b] y) <int64[1] s = {0}, int64[1] e = {2}> { z = Slice(x, s, e) y = Relu(z) }"
        )
        proto = model(f"agraph {body}")
        proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
        return bytes(proto.SerializeToString())

    def test_the_checker(self, negative: bytes) -> None:
        assert refused_by_checker(negative) == "onnx.checker ended its process (SIGABRT)"
        assert (
            refused_by_checker(model("agraph (float[2] x) => (float[2] y) { y = Relu(x) }").SerializeToString()) is None
        )

    def test_the_inference(self, negative: bytes) -> None:
        fine = model("agraph (float[2, N] x) => (float[a, b] y) { z = Relu(x) y = Relu(z) }").SerializeToString()

        assert inferred_dims(negative) == {}
        assert inferred_dims(fine) == {"z": (2, "N")}


def test_children_keep_the_memory_of_large_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the user says otherwise."""
    monkeypatch.setenv("MALLOC_MMAP_MAX_", "7")
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    wanted, told = {b"MALLOC_MMAP_MAX_=7", b"MALLOC_TRIM_THRESHOLD_=1073741824"}, set[bytes]()
    with Child() as child:
        for _ in range(500):  # until it runs its own program, it has the words of its parent
            told = {*Path(f"/proc/{child._process.pid}/environ").read_bytes().split(b"\0")}
            if wanted <= told:
                break
            time.sleep(0.01)

    assert wanted <= told
