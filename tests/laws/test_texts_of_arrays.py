"""Whatever an array or its file is called, and whatever is typed: each line printed is ours, and JSON is exact."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
import zarr

from onereshape.ground.text import LONGEST, printable
from tests.checking import proto
from tests.laws.texts_world import (
    BAKED,
    ENDLESS,
    MIXING,
    VICIOUS,
    Captured,
    asked,
    each_name,
    file_name,
    ours,
    renamed,
    run,
    written,
)


class TestArrays:
    @each_name
    def test_npz(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / f"{file_name(name)}.npz"
        stored = name.replace("\0", "")  # zip cuts names off at a NUL
        for count, words, code in ((2, [], 2), (2, ["--array", "no"], 2), (2, ["--array", stored], 0), (1, [], 0)):
            with zipfile.ZipFile(path, "w") as archive:
                for index in range(count):
                    with archive.open(stored + index * "2" + ".npy", "w") as file:
                        np.lib.format.write_array(file, np.arange(6))
            assert run(capsys, "run", str(path), "--target", "2,3", *words)[0] == code
            assert run(capsys, "run", str(path), "--target", "2,3", *words)[1].count("\n") == 1
            found = asked(capsys, "run", str(path), "--target", "2,3", *words)
            assert code or (found["array"], found["input"]) == (stored, str(path))
        out = tmp_path / f"{file_name(name)} o.npy"
        assert run(capsys, "run", str(path), "--target", "2,3", "-o", str(out))[1].count("\n") == 2

    @each_name
    def test_a_line_that_begins_with_a_path(
        self, name: str, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        np.save(f"{file_name(name)}.npy", np.arange(6))
        model = Path(written(tmp_path, BAKED, name)).name
        assert run(capsys, "run", f"{file_name(name)}.npy", "--target", "2,3")[1].count("\n") == 1
        assert asked(capsys, "run", f"{file_name(name)}.npy", "--target", "2,3")["input"] == f"{file_name(name)}.npy"
        for words in (["check", model, "--batch"], ["check", model, "no.onnx", "--batch"]):
            assert run(capsys, *words)[1].count("\n") == len(words) - 1

    @each_name
    def test_damaged_npz(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        path = tmp_path / f"{file_name(name)}.npz"
        header = f"{{'descr': {name!r}, 'fortran_order': {name!r}, 'shape': (1,)}}".encode(errors="surrogatepass")
        content = b"\x93NUMPY\x03\0" + len(header).to_bytes(4, "little") + header
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(f"{name}.npy", content)
        (tmp_path / "x.npy").write_bytes(content)
        for file in (str(path), str(tmp_path / "x.npy"), str(tmp_path / f"{file_name(name)} no.npy")):
            code, text = run(capsys, "run", file, "--target", "2,3")
            assert (code, text.count("\n")) == (2, 1)

    @pytest.mark.parametrize("name", ["controls", "GitHub, on a line of its own", "of a page"])
    def test_a_group(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        member = file_name(VICIOUS[name]).replace("\\", "")  # a slash, to Zarr
        path = tmp_path / f"{member}.zarr"
        group = zarr.open_group(path, mode="w")
        group.create_array("a", shape=(6,), dtype="f4")
        (path / "a").rename(path / member)
        (path / f"{member} no array").mkdir()
        for words, code in (([], 2), (["--array", f"no{member}"], 2), (["--array", member], 0)):
            found, text = run(capsys, "run", str(path), "--target", "2,3", *words)
            assert (found, text.count("\n")) == (code, 1)
            assert printable(member) in text
        (path / member / "zarr.json").write_text(
            json.dumps({"node_type": "array", member: member, "zarr_format": member})
        )
        assert run(capsys, "run", str(path), "--array", member, "--target", "2,3")[1].count("\n") == 1

    @each_name
    def test_a_tensor_of_onnx(self, name: str, tmp_path: Path, capsys: Captured) -> None:
        tensor = onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [6], range(6))
        path = tmp_path / f"{file_name(name)}.pb"
        path.write_bytes(tensor.SerializeToString())
        assert run(capsys, "run", str(path), "--target", "2,3", "-o", str(tmp_path / "o.npz"))[1].count("\n") == (
            1 if "\0" in name else 2
        )
        assert asked(capsys, "run", str(path), "--target", "2,3")["array"] == name
        for location in (name, f"../{name}"):
            outside = onnx.TensorProto(name=name, dims=[6], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
            outside.external_data.add(key="location", value=location)
            path.write_bytes(outside.SerializeToString())
            assert run(capsys, "run", str(path), "--target", "2,3")[0] == 2


class TestWords:
    @each_name
    def test_infer(self, name: str, capsys: Captured) -> None:
        dims = name.replace(",", "").replace("[", "").replace("]", "").replace(":", "")
        for data, target, *more in (
            (f"N{dims},2", "0,-1"),
            (f"N{dims},6", "4,-1"),
            (f"N{dims},3,N{dims}", f"N{dims},2,5"),
            (name, f"{name},-1"),
            ("2,3", "6", "--bounds", f"{name}=1..2"),
            ("N,3", "-1", "--bounds", f"N{dims}=1..2"),
            ("2,3", "6", "--spec", name),
            ("2,3", "6", "--allowzero", name),
        ):
            code, text = run(capsys, "infer", f"--data={data}", f"--target={target}", *more)
            assert text.startswith("onereshape: " if code else "[")
            assert code or all(line.startswith("  ") for line in text.rstrip().split("\n")[1:])
            run(capsys, "infer", f"--data={data}", f"--target={target}", *more, "--json")

    @each_name
    def test_commands_and_options(self, name: str, capsys: Captured) -> None:
        for words in ([name], ["run", name, "--target", name], ["run", "x.npy", "--target", "1", "--dtype", name],
                      ["run", "x.zarr", "--target", "1", "--memory", name],
                      ["conform", "--engine", name.replace(":", "")],
                      ["conform", "--case", name], ["conform", "--markdown", name], ["fix", name, name, name],
                      ["convert", name, "--to", name, "-o", name], ["check", name]):  # fmt: skip
            code, text = run(capsys, *words)
            assert code == 2
            assert all(line.startswith("  ") for line in text.rstrip("\n").split("\n")[1:])
            assert json.loads(run(capsys, *words, "--json")[1])["error"]["code"]

    def test_what_an_engine_says(self, tmp_path: Path) -> None:
        name = VICIOUS["GitHub, on a line of its own"] + VICIOUS["clears the screen"] + VICIOUS["GitHub, of old"]
        (tmp_path / "mine.py").write_text(f"def f(*_, **__): raise ValueError({name!r})\n\nraise SystemExit({name!r})")
        (tmp_path / "yours.py").write_text(f"class E(Exception): pass\nraise E({name!r})")
        for engine in ("mine:f", "yours:f"):
            for more in ([], ["--json"]):
                command = [
                    sys.executable,
                    "-m",
                    "onereshape",
                    "conform",
                    "--engine",
                    engine,
                    "--case",
                    "flatten",
                    *more,
                ]
                done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)  # noqa: S603
                assert "\n" in ours((done.stdout + done.stderr).decode())

    def test_bytes_that_are_no_text(self, tmp_path: Path) -> None:
        path = os.fsencode(tmp_path) + b"/\xff\x1b::error::\n.npz"
        with open(path, "wb") as file:  # noqa: PTH123 - any bytes
            np.savez(file, np.arange(6))
        for more, encoding in (([], "utf-8"), ([], "ascii"), (["--json"], "utf-8")):
            command: list[str | bytes] = [sys.executable, "-m", "onereshape", "run", path, "--target", "2,3", *more]
            settings = os.environ | {"PYTHONIOENCODING": encoding}
            done = subprocess.run(command, capture_output=True, check=False, env=settings)  # noqa: S603
            text = ours(done.stdout.decode(encoding))
            assert (done.returncode, done.stderr, text.count("\n")) == (0, b"", 1)
            if more:
                assert os.fsencode(json.loads(text)["input"]) == path
            else:
                assert text.endswith("/\\udcff\\x1b::error::\\n.npz: int64 [6] -> [2, 3]\n")


class TestEndless:
    """A name is shown by its ends; a machine is told all of it."""

    def test_check(self, tmp_path: Path, capsys: Captured) -> None:
        path = written(tmp_path, BAKED, ENDLESS)
        for words in (["--format", "text"], ["--format", "github"]):
            code, text = run(capsys, "check", path, "--batch", *words)
            assert (code, len(text) < 5 * LONGEST) == (1, True)
            assert re.search(r"aaa \.\.\. \d{7,8} characters \.\.\. aaa", text)
            assert "baked-dim" in text
        assert asked(capsys, "check", path, "--batch")["models"][0]["findings"][0]["node"] == f"{ENDLESS}n"

    @pytest.mark.parametrize(
        "words",
        [
            ["fix", "m.onnx", "--batch", "--diff", "--no-certify", "-o", "o.onnx"],
            ["fix", "mixing.onnx", "--batch", "-o", "o.onnx"],
            ["fix", "m.onnx", "--batch", "y:0", "-o", "o.onnx"],
            ["convert", "m.onnx", "--to", "onnx-13", "-o", "o.onnx"],
            ["convert", "m.onnx", "--to", "openvino", "-o", "o.xml", "--node", "x"],
        ],
    )
    def test_the_others(
        self, words: list[str], tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for file, text in (("m.onnx", BAKED), ("mixing.onnx", MIXING)):
            Path(file).write_bytes(renamed(proto(text), ENDLESS[-500_000:]))
        text = run(capsys, *words)[1]
        assert " characters ... " in text
        assert len(text) < 6 * LONGEST

    def test_many_arrays(self, tmp_path: Path, capsys: Captured) -> None:
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            for index in range(1000):
                archive.writestr(f"a{index:04}.npy", b"")
        said = run(capsys, "run", str(tmp_path / "x.npz"), "--target", "1")[1]
        assert "holds 1000 arrays, choose with --array: a0000, a0001, " in said
        assert "a0031 and 968 more  [unreadable]" in said
