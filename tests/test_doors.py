"""The doors for other tools: the pre-commit hook, the GitHub Action and the pass of Olive say what the commands say."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import onnx_ir as ir
import pytest
import yaml

import onereshape as orx
from onereshape.cli import main
from onereshape.ground.errors import FixError
from tests.commands import Captured

ROOT = Path(__file__).parent.parent
YOLO = "tests/data/corpus/hand_yolo_head.ts.onnx"
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
PRINTED = """printf '%s\\n' "$@" """
BASH = shutil.which("bash") or "bash"


class TestPreCommit:
    def test_the_hook_runs_the_command(self, capsys: Captured) -> None:
        (hook,) = HOOKS
        command, *words = hook["entry"].split()

        assert (hook["id"], hook["language"]) == ("onereshape-check", "python")
        assert f'\n{command} = "onereshape.cli:main"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
        assert main([*words, YOLO]) == 0
        assert main([*words, "--batch", YOLO]) == 1
        assert main([*words, "--batch", "--strict", YOLO, YOLO]) == 1
        capsys.readouterr()

    @pytest.mark.parametrize(
        ("name", "taken"),
        [("a.onnx", True), ("b/c.xml", True), ("onnx", False), ("a.onnx.md", False), ("a.json", False)],
    )
    def test_the_files_that_it_is_given(self, name: str, taken: bool) -> None:
        assert bool(re.search(HOOKS[0]["files"], name)) is taken


class TestAction:
    def step(self) -> dict[str, Any]:
        found: dict[str, Any] = ACTION["runs"]["steps"][-1]
        return found

    def run(self, folder: Path, models: str, *, real: bool = False, **inputs: Any) -> subprocess.CompletedProcess[str]:
        """The last step, as a runner executes it in a folder; the command is the real one, or prints its words."""
        defaults = {name.upper(): about.get("default", "") for name, about in ACTION["inputs"].items()}
        given = {**defaults, "MODELS": models, **{name.upper(): text for name, text in inputs.items()}}
        path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        (folder / "bin").mkdir(exist_ok=True)
        command = folder / "bin" / "onereshape"
        ours = f'PYTHONPATH={ROOT / "src"} exec {sys.executable} -P -m onereshape "$@"'
        command.write_text(f"#!/bin/sh\n{ours if real else PRINTED}\n", encoding="utf-8")
        command.chmod(0o755)
        script = folder / "step.sh"
        script.write_text(self.step()["run"], encoding="utf-8")
        words = [BASH, "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        return subprocess.run(  # noqa: S603
            words, cwd=folder, env={**os.environ, **given, "PATH": path}, capture_output=True, text=True, check=False
        )

    def test_inputs_reach_scripts_through_the_environment_alone(self) -> None:
        steps = ACTION["runs"]["steps"]

        assert ACTION["runs"]["using"] == "composite"
        assert all(step["shell"] == "bash" for step in steps)
        assert not [step for step in steps if "${{" in step["run"]]
        expected = {name.upper(): f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"]}
        assert self.step()["env"] == expected

    def test_it_checks_what_matches(self, tmp_path: Path) -> None:
        (tmp_path / "a" / "b c").mkdir(parents=True)
        for name in ("a/one.onnx", "a/b c/two.onnx", "-x.onnx", "[x].onnx"):
            shutil.copy(YOLO, tmp_path / name)
        found = self.run(tmp_path, "a/**/*.onnx\n\n  -x.onnx \r\n[x].onnx\n", batch="true", real=True)

        assert found.returncode == 1
        named = set(re.findall(r"^::error file=([^,]*),", found.stdout, re.MULTILINE))
        assert named == {"a/one.onnx", "a/b c/two.onnx", "-x.onnx", "[x].onnx"}
        assert self.run(tmp_path, "a/*.onnx", real=True).returncode == 0
        some = self.run(tmp_path, "a/one.onnx", batch=" x:0 \n", free="x:2=H\nx:3=W\n", strict="true", real=True)
        assert (some.returncode, some.stderr) == (1, "")
        assert "N is forced to 1" in some.stdout
        assert "H is forced to 16" in some.stdout

    @pytest.mark.parametrize(
        ("inputs", "words"),
        [
            ({}, []),
            ({"batch": "false"}, []),
            ({"batch": "true", "strict": "true"}, ["--strict", "--batch"]),
            ({"batch": "x:0\n\n y z:1"}, ["--batch", "x:0", "y z:1"]),
            ({"free": "x:1=S\r\ny:1=S\r\n"}, ["--free", "x:1=S", "y:1=S"]),
        ],
    )
    def test_what_it_types(self, inputs: dict[str, Any], words: list[str], tmp_path: Path) -> None:
        found = self.run(tmp_path, "a.onnx\nb c.onnx", **inputs)

        assert found.stdout.splitlines() == ["check", "--format", "github", *words, "--", "a.onnx", "b c.onnx"]

    @pytest.mark.parametrize(
        ("models", "inputs", "said"),
        [
            ("nothing/*.onnx", {}, r"onereshape: no file matches nothing/\*.onnx"),
            ("\n \n", {}, "onereshape: models names no file: $'\\n \\n'"),
            ("a.onnx", {"strict": "maybe"}, "onereshape: strict is true or false, not maybe"),
            ("a.onnx", {"batch": "--json"}, "onereshape: an INPUT:AXIS does not begin with a dash: --json"),
            ("a.onnx", {"free": "x:0=N\n-h"}, "onereshape: an INPUT:AXIS=NAME does not begin with a dash: -h"),
        ],
    )
    def test_what_it_cannot_run(self, models: str, inputs: dict[str, Any], said: str, tmp_path: Path) -> None:
        found = self.run(tmp_path, models, **inputs)

        assert (found.returncode, found.stdout, found.stderr.strip()) == (2, "", said)

    @pytest.mark.parametrize(
        "text", ["$(touch pwned)", "`touch pwned`", "'; touch pwned; '", '"; touch pwned; "', "a\n; touch pwned"]
    )
    def test_no_text_is_run(self, text: str, tmp_path: Path) -> None:
        for where in ("models", "batch", "free", "strict"):
            given: dict[str, Any] = {"models": "a.onnx", where: text}
            found = self.run(tmp_path, **given)
            assert found.returncode == 2 or text.splitlines()[0] in found.stdout

        assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "step.sh"]


# Olive is not installed here: these stand in for what the pass takes of it, with the same names and arguments


@dataclass
class Param:
    type_: Any
    default_value: Any = None
    description: str = ""


@dataclass
class Handler:
    model_path: str

    def load_ir_model(self) -> ir.Model:
        return ir.load(self.model_path)


class Pass:
    def run(self, model: Handler, config: Any, output_model_path: str) -> Handler:
        found: Handler = self._run_for_config(model, config, output_model_path)  # type: ignore[attr-defined]
        return found


def written(model: ir.Model, output_model_path: str, external_data_config: Any) -> Handler:
    assert external_data_config.save_as_external_data is False
    ir.save(model, output_model_path)
    return Handler(output_model_path)


OLIVE: dict[str, dict[str, Any]] = {
    "olive": {},
    "olive.hardware": {"AcceleratorSpec": object},
    "olive.model": {"ONNXModelHandler": Handler},
    "olive.model.utils": {"resolve_onnx_path": lambda path: str(Path(path) / "model.onnx")},
    "olive.passes": {"Pass": Pass},
    "olive.passes.onnx": {},
    "olive.passes.onnx.common": {
        "get_external_data_config": lambda: {"save_as_external_data": Param(bool, False)},
        "ir_model_to_olive_model": written,
    },
    "olive.passes.pass_config": {"BasePassConfig": object, "PassConfigParam": Param},
}


class TestOlive:
    FOLDER = ROOT / "examples" / "olive"

    @pytest.fixture
    def named(self, monkeypatch: pytest.MonkeyPatch) -> Any:
        """The class that the package config names, as Olive imports it."""
        for name, about in OLIVE.items():
            module = ModuleType(name)
            module.__dict__.update(about)
            monkeypatch.setitem(sys.modules, name, module)
        monkeypatch.syspath_prepend(str(self.FOLDER))
        package = json.loads((self.FOLDER / "package.json").read_text(encoding="utf-8"))
        workflow = json.loads((self.FOLDER / "workflow.json").read_text(encoding="utf-8"))
        kind = workflow["passes"]["free_batch"]["type"]
        module_name, _, class_name = package["passes"][kind]["module_path"].rpartition(".")
        monkeypatch.delitem(sys.modules, module_name, raising=False)
        assert class_name == kind
        return getattr(__import__(module_name), class_name)

    def config(self, named: Any, **given: Any) -> Any:
        defaults = {name: param.default_value for name, param in named._default_config(None).items()}
        assert given.keys() <= defaults.keys()
        return SimpleNamespace(**{**defaults, **given})

    def test_the_batch_is_freed(self, named: Any, tmp_path: Path) -> None:
        found = named().run(Handler(YOLO), self.config(named, simplify=True), str(tmp_path))

        assert orx.check(found.model_path, batch=True) == []
        assert orx.certify(YOLO, found.model_path, batch=True).status == "proven"

    def test_a_refusal_writes_nothing(self, named: Any, tmp_path: Path) -> None:
        with pytest.raises(FixError, match="mixes the samples"):
            named().run(Handler("tests/data/corpus/neg_minibatch_std.ts.onnx"), self.config(named), str(tmp_path))
        assert [*tmp_path.iterdir()] == []

    def test_the_axes_can_be_named(self, named: Any, tmp_path: Path) -> None:
        found = named().run(Handler(YOLO), self.config(named, batch={"x": 0}, certify=False), str(tmp_path))

        shape = ir.load(found.model_path).graph.inputs[0].shape
        assert shape is not None
        assert str(shape[0]) == "N"
