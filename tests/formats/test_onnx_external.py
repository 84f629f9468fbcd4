"""ONNX models whose weights are in other files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from onereshape.formats.model import load, save
from onereshape.ground.errors import FormatError
from tests.models import PEAK, external, saved, small, write


class TestExternalData:
    """Weights stay in their files."""

    def weighted(self, folder: Path) -> str:
        proto = small()
        proto.graph.initializer[0].CopyFrom(external("shape", [2], "w.bin", TensorProto.INT64, offset=8, length=16))
        (folder / "w.bin").write_bytes(bytes(8) + np.array([-1, 2]).tobytes())
        return write(proto, folder / "model.onnx")

    def test_a_target_in_another_file(self, tmp_path: Path) -> None:
        found = load(self.weighted(tmp_path))
        save(found, tmp_path / "again.onnx")

        assert (found.reshapes[0].target, found.reshapes[0].target_from) == ((-1, 2), "initializer shape")
        assert load(tmp_path / "again.onnx").reshapes == found.reshapes

    def test_onnx_ir_finds_them_from_anywhere(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.weighted(tmp_path)
        monkeypatch.chdir(tmp_path)
        found = load("model.onnx")
        monkeypatch.chdir("/")

        tensor = found.ir.graph.initializers["shape"].const_value
        assert tensor is not None
        assert tensor.numpy().tolist() == [-1, 2]

    def test_another_folder_is_refused(self, tmp_path: Path) -> None:
        found = load(self.weighted(tmp_path))
        (tmp_path / "other").mkdir()
        with pytest.raises(FormatError, match=r"its weights are in 'w\.bin' beside the model that was read; save it"):
            save(found, tmp_path / "other" / "model.onnx")
        assert list((tmp_path / "other").iterdir()) == []

    def test_the_weights_are_not_overwritten(self, tmp_path: Path) -> None:
        proto = small()
        proto.graph.initializer[0].CopyFrom(external("shape", [2], "w.onnx", TensorProto.INT64))
        (tmp_path / "w.onnx").write_bytes(np.array([-1, 2]).tobytes())
        found = load(write(proto, tmp_path / "model.onnx"))
        with pytest.raises(FormatError, match="holds the weights of this very model"):
            save(found, tmp_path / "w.onnx")

    def test_missing_weights_are_missed_only_where_they_are_needed(self, tmp_path: Path) -> None:
        proto = small()
        proto.graph.initializer.append(external("w", [4], "gone.bin"))
        found = load(write(proto, tmp_path / "model.onnx"))
        save(found, tmp_path / "again.onnx")

        assert saved(tmp_path / "again.onnx") == proto

    @pytest.mark.skipif(sys.platform != "linux", reason="peaks are read from /proc")
    def test_two_gigabytes_are_not_read(self, tmp_path: Path) -> None:
        """Loaded, listed, changed and saved in a process whose memory grows by less than 300 MB."""
        proto = small()
        count = 2**29  # of float
        proto.graph.initializer.append(external("w", [count], "w.bin", offset=0, length=4 * count))
        proto.graph.initializer.append(external("part", [count // 4], "w.bin", offset=0, length=count))
        with (tmp_path / "w.bin").open("wb") as file:
            file.truncate(4 * count)  # nothing but a hole
        write(proto, tmp_path / "model.onnx")
        code = f"""{PEAK}
import onnx, onnx_ir

from onereshape.formats.model import load, save
before = peak()
model = load("model.onnx")
assert [entry.target for entry in model.reshapes] == [(-1, 3)]
save(model, "again.onnx")
model.ir.doc_string = "changed"
save(model, "changed.onnx")
print(peak() - before)
model.ir.graph.initializers["part"].const_value.tobytes()
print(peak() - before)
"""
        command = [sys.executable, "-c", code]
        run = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path)  # noqa: S603

        grown, if_read = map(int, run.stdout.split())
        assert grown < 300_000
        assert if_read > 500_000  # the measure sees what it is for
        assert saved(tmp_path / "again.onnx") == proto
        assert saved(tmp_path / "changed.onnx").doc_string == "changed"
