"""A file is written wholly or not at all."""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onereshape.formats.tensors.tensor import Tensor
from onereshape.formats.tensors.tensor_files import write_tensor
from onereshape.ground.errors import FormatError
from tests.formats.tensors import write_refusal


class Full(io.BufferedIOBase):
    """A file on a disk that is full after 100 bytes."""

    def __init__(self, path: Path) -> None:
        self.raw = io.FileIO(path, "x")
        self.room = 100

    def write(self, data: Any) -> int:
        self.room -= len(data)
        if self.room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return self.raw.write(data)

    def fileno(self) -> int:
        return self.raw.fileno()

    def close(self) -> None:
        self.raw.close()


def full(path: Path, mode: str = "r", **options: Any) -> Any:
    return Full(path) if mode == "xb" else OPEN(path, mode, **options)


OPEN = Path.open


class TestWriting:
    @pytest.mark.parametrize("suffix", [".npy", ".npz", ".pb"])
    @pytest.mark.parametrize("existing", [True, False])
    def test_a_full_disk_leaves_nothing(
        self, suffix: str, existing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / f"a{suffix}"
        if existing:
            path.write_bytes(b"before")
        with monkeypatch.context() as patch:
            patch.setattr(Path, "open", full)
            assert write_refusal(path, Tensor(np.zeros(100))) == "No space left on device"
        if existing:
            assert path.read_bytes() == b"before"

    def test_a_failed_rename_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: Any) -> None:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

        monkeypatch.setattr(Path, "replace", refuse)
        assert write_refusal(tmp_path / "a.npy", Tensor(np.zeros(3))) == os.strerror(errno.EXDEV)

    def test_an_interrupt_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt(*_: Any) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(Path, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_tensor(str(tmp_path / "a.npy"), Tensor(np.zeros(3)))
        assert not list(tmp_path.iterdir())

    def test_permissions(self, tmp_path: Path) -> None:
        """A new file gets what the umask leaves, an old one keeps its own."""
        path = tmp_path / "a.npy"
        mask = os.umask(0o027)
        try:
            write_tensor(str(path), Tensor(np.zeros(3)))
        finally:
            os.umask(mask)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        write_tensor(str(path), Tensor(np.ones(3)))

        assert stat.S_IMODE(path.stat().st_mode) == 0o604

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "far").mkdir()
        (tmp_path / "a.npy").symlink_to(tmp_path / "far" / "b.npy")
        write_tensor(str(tmp_path / "a.npy"), Tensor(np.ones(3)))
        assert (tmp_path / "a.npy").is_symlink()

        assert [file.name for file in (tmp_path / "far").iterdir()] == ["b.npy"]

    def test_a_name_as_long_as_can_be(self, tmp_path: Path) -> None:
        write_tensor(str(tmp_path / ("a" * 251 + ".npy")), Tensor(np.ones(3)))

    def test_places_that_cannot_be_written(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        tensor = Tensor(np.zeros(3))
        (tmp_path / "dir.npy").mkdir()
        os.mkfifo(tmp_path / "pipe.npy")
        (tmp_path / "kept.npy").write_bytes(b"before")
        monkeypatch.setattr(os, "access", lambda path, _: path.name != "kept.npy")
        assert write_refusal(tmp_path / "dir.npy", tensor) == "is a folder"
        assert write_refusal(tmp_path / "pipe.npy", tensor) == "is not a regular file"
        assert write_refusal(tmp_path / "kept.npy", tensor) == "is write-protected"
        with pytest.raises(FormatError, match="its folder does not exist"):
            write_tensor(str(tmp_path / "none" / "a.npy"), tensor)

    def test_too_large_for_protobuf(self, tmp_path: Path) -> None:
        array = np.broadcast_to(np.zeros(1), (2**28,))
        why = "an ONNX tensor file holds less than 2 GiB, and this one needs 2147483648 bytes"
        assert write_refusal(tmp_path / "a.pb", Tensor(array)) == why

    def test_strings_too_wide_for_npy(self, tmp_path: Path) -> None:
        array = np.full(200_000, "", object)
        array[0] = "x" * 100_000_000
        why = "in fixed width its longest string makes it 80000000000000 bytes, too many"
        assert write_refusal(tmp_path / "a.npy", Tensor(array)) == why
