"""What is installed, and what is said where something is not: extras, other distributions, other systems, workflows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from onereshape.ground import temporary
from onereshape.ground.installed import runtime
from tests.commands import process
from tests.lowest import lowest, requirements
from tests.packed import complaints
from tests.test_installed import baked

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))

HIDE = """
import os, signal, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
for module, names in ((os, {of_os!r}), (signal, {of_signal!r})):
    for name in names:
        delattr(module, name)
os.process_cpu_count = os.cpu_count  # Python 3.13 defines it by what was taken away
"""
UNIX = ("fcntl", "grp", "pwd", "resource", "termios")
UNIX_OF_OS = tuple(
    "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK fchmod fork geteuid getuid posix_fallocate pread preadv "
    "sched_getaffinity sysconf".split()
)
UNIX_OF_SIGNAL = ("SIGHUP", "alarm")


def without(
    folder: Path, modules: tuple[str, ...], of_os: tuple[str, ...] = (), of_signal: tuple[str, ...] = ()
) -> dict[str, str]:
    """The environment of a process, and of its children, that has no such modules."""
    folder.mkdir()
    text = HIDE.format(modules=set(modules), of_os=of_os, of_signal=of_signal)
    (folder / "sitecustomize.py").write_text(text, encoding="utf-8")
    paths = [str(folder), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def cases(job: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = job.get("strategy", {}).get("matrix", {})
    return found


class TestExtras:
    """Every extra that is named somewhere can be installed."""

    def test_those_in_messages_and_documents_exist(self) -> None:
        files = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
        files += [ROOT / "Makefile", *(ROOT / "examples").glob("*")]
        named = {
            extra
            for file in files
            if file.is_file()
            for found in re.findall(r"onereshape\[([\w,-]+)\]", file.read_text(encoding="utf-8"))
            for extra in found.split(",")
        }

        assert {"onnxruntime", "openvino", "dask"} <= named
        assert named <= set(EXTRAS)

    def test_all_is_all(self) -> None:
        assert EXTRAS["all"] == [f"onereshape[{','.join(sorted(set(EXTRAS) - {'all'}))}]"]

    def test_one_bound_for_each_distribution(self) -> None:
        found = requirements(ROOT / "pyproject.toml")
        names = [re.split(r"[<>=\[]", each)[0] for each in found]

        assert sorted(set(names)) == sorted(names)

    def test_no_distribution_of_onnxruntime_is_forced_on_anyone(self) -> None:
        assert not [each for each in PROJECT["project"]["dependencies"] if each.startswith("onnxruntime")]


class TestWithoutOnnxruntime:
    """It is found when a model is run, and asked for by name where it is not there."""

    @pytest.fixture
    def env(self, tmp_path: Path) -> dict[str, str]:
        return without(tmp_path / "hidden", ("onnxruntime",))

    def test_what_runs_no_model(self, env: dict[str, str], tmp_path: Path) -> None:
        path = baked(tmp_path / "m.onnx")
        checked = process("check", path, "--batch", env=env)
        inferred = process("infer", "--data", "N,3,4", "--target", "0,-1", "--spec", "onnx", env=env)
        out = str(tmp_path / "out.onnx")
        fixed = process("fix", path, "--batch", "--no-certify", "-o", out, env=env)

        assert (checked.returncode, checked.stderr) == (1, "")
        assert "baked-dim" in checked.stdout
        assert (inferred.returncode, inferred.stderr) == (0, "")
        assert (fixed.returncode, fixed.stderr) == (0, "")
        assert process("check", out, "--batch", env=env).returncode == 0

    def test_fix_says_what_to_type(self, env: dict[str, str], tmp_path: Path) -> None:
        found = process("fix", baked(tmp_path / "m.onnx"), "--batch", "-o", str(tmp_path / "out.onnx"), env=env)

        assert (found.returncode, found.stdout) == (1, "")
        assert (
            "onnxruntime cannot load the original model: it is not installed: pip install 'onereshape[onnxruntime]' "
            "(or onnxruntime-gpu, which brings the same module)"
        ) in found.stderr
        assert not (tmp_path / "out.onnx").exists()

    @pytest.mark.parametrize(
        ("distributions", "there", "expected"),
        [
            ((), False, ("onnxruntime", "not installed")),
            ((), True, ("onnxruntime", "of an unknown version")),
            (("onnxruntime",), True, ("onnxruntime", "1.2.3")),
            (("onnxruntime_gpu",), True, ("onnxruntime-gpu", "1.2.3")),
            (("onnxruntime", "onnxruntime_gpu"), True, ("onnxruntime and onnxruntime-gpu", "1.2.3 and 1.2.3")),
            (("ort_nightly",), True, ("ort-nightly", "1.2.3")),
        ],
    )
    def test_whichever_distribution_brings_it(
        self,
        distributions: tuple[str, ...],
        there: bool,
        expected: tuple[str, str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name in distributions:
            folder = tmp_path / f"{name}-1.2.3.dist-info"
            folder.mkdir()
            metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.2.3\n"
            (folder / "METADATA").write_text(metadata, encoding="utf-8")
            (folder / "top_level.txt").write_text("onnxruntime\n", encoding="utf-8")
        if there:
            (tmp_path / "onnxruntime").mkdir()
            (tmp_path / "onnxruntime" / "__init__.py").touch()
        monkeypatch.setattr(sys, "path", [str(tmp_path)])
        monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)

        assert runtime() == expected


class TestWithoutUnix:
    """A system without Unix's modules and functions; that nothing else differs on Windows is not shown by this."""

    NEEDS_MORE = ("arrays.cupy", "arrays.dask", "arrays.jax", "arrays.torch", "formats.stores")
    """What needs libraries of arrays, or Unix."""

    @pytest.fixture
    def env(self, tmp_path: Path) -> dict[str, str]:
        return without(tmp_path / "hidden", UNIX, UNIX_OF_OS, UNIX_OF_SIGNAL)

    def test_everything_else_is_imported(self, env: dict[str, str]) -> None:
        code = f"""
import importlib, pkgutil, onereshape
for found in pkgutil.walk_packages(onereshape.__path__, "onereshape."):
    if not found.name.removeprefix("onereshape.").startswith({self.NEEDS_MORE!r}) and "__main__" not in found.name:
        importlib.import_module(found.name)
"""
        command = [sys.executable, "-P", "-c", code]
        found = subprocess.run(command, check=False, capture_output=True, text=True, env=env)  # noqa: S603

        assert (found.returncode, found.stderr) == (0, "")

    def test_a_model_is_checked_and_repaired(self, env: dict[str, str], tmp_path: Path) -> None:
        path, out = baked(tmp_path / "m.onnx"), tmp_path / "out.onnx"
        out.write_text("old", encoding="ascii")
        checked = process("check", path, "--batch", env=env)
        fixed = process("fix", path, "--batch", "-o", str(out), env=env)

        assert (checked.returncode, checked.stderr) == (1, "")
        assert (fixed.returncode, fixed.stderr) == (0, "")
        assert process("check", str(out), "--batch", env=env).returncode == 0
        assert sorted(each.name for each in tmp_path.iterdir()) == ["hidden", "m.onnx", "out.onnx"]

    def test_arrays_beyond_memory_are_refused_by_name(self, env: dict[str, str], here: Path) -> None:
        words = ("run", "x.npy", "--target", "-1", "--spec", "onnx", "--memory", "1GB", "-o", "y.npy")
        found = process(*words, env=env, cwd=here)

        assert found.returncode == 2
        assert found.stderr.startswith("onereshape: arrays beyond memory need Linux or macOS")

    def test_files_are_closed_before_they_are_renamed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Windows renames no open file."""
        from onereshape.ground import atomic

        monkeypatch.setattr(temporary, "HOLDS", False)
        monkeypatch.setattr(atomic, "HOLDS", False)
        renamed = Path.replace

        def closed(self: Path, target: Path) -> Path:
            assert file.closed
            return renamed(self, target)

        monkeypatch.setattr(Path, "replace", closed)
        with atomic.replacing(str(tmp_path / "a")) as file:
            file.write(b"new")

        assert (tmp_path / "a").read_bytes() == b"new"


class TestPackages:
    """What is packed."""

    def test_every_pattern_begins_at_the_root(self) -> None:
        packed = PROJECT["tool"]["scikit-build"]["sdist"]

        assert all(each.removeprefix("!").startswith("/") for each in packed["include"])
        assert packed["exclude"] == ["*"]

    @pytest.mark.parametrize(
        "name", [".venv/lib/python3/site-packages/six.py", "src/onereshape/a.so", "build/a", "x.py"]
    )
    def test_what_does_not_belong_there_is_found(self, name: str, tmp_path: Path) -> None:
        needed = "CMakeLists.txt LICENSE Makefile README.md pyproject.toml src/onereshape/__init__.py".split()
        for names in (needed, [*needed, name]):
            with tarfile.open(tmp_path / "p.tar.gz", "w:gz") as archive:
                for each in names:
                    archive.addfile(tarfile.TarInfo(f"onereshape-1/{each}"))
            assert bool(complaints(tmp_path / "p.tar.gz")) == (name in names)

    def test_lists_of_tests_name_tests(self) -> None:
        for name in ("quick.txt", "lowest.txt"):
            files = (ROOT / "tests" / name).read_text(encoding="ascii").split()
            assert files == sorted(set(files))
            assert [each for each in files if not (ROOT / each).exists()] == []


class TestPins:
    """What `make` installs: releases that a list names, so that no release of others can fail a test."""

    GROUPS = {"newest": tuple(PROJECT["dependency-groups"]), "lowest": ("test", "sanitize")}

    @staticmethod
    def pins(name: str) -> dict[str, Version]:
        lines = (ROOT / "tests" / "pinned" / f"{name}.txt").read_text(encoding="ascii").splitlines()
        found = [Requirement(line) for line in lines]
        return {canonicalize_name(each.name): Version(str(each.specifier).removeprefix("==")) for each in found}

    @pytest.mark.parametrize("name", GROUPS)
    def test_everything_that_is_asked_for_is_pinned_as_it_may_be(self, name: str) -> None:
        pins = self.pins(name)
        asked = [each for group in self.GROUPS[name] for each in PROJECT["dependency-groups"][group]]
        asked += [
            *PROJECT["project"]["dependencies"],
            *EXTRAS["onnxruntime"],
            *PROJECT["build-system"]["requires"],
            "pip",
        ]
        for each in map(Requirement, asked):
            known = canonicalize_name(each.name)
            if known == "torch":
                assert str(each.specifier).startswith("==")  # pinned there already
            else:
                assert pins.get(known, Version("0")) in each.specifier, (name, str(each))

    def test_the_lowest_are_the_lower_bounds(self) -> None:
        pins = self.pins("lowest")
        asked = [*PROJECT["dependency-groups"]["test"], *PROJECT["project"]["dependencies"]]
        bounds = [Requirement(lowest(each)) for each in asked if not each.startswith("torch")]
        assert [str(each) for each in bounds if pins[canonicalize_name(each.name)] not in each.specifier] == []

    @pytest.mark.parametrize("name", GROUPS)
    def test_nothing_is_installed_without_them(self, name: str, tmp_path: Path) -> None:
        targets = ["test-lowest"] if name == "lowest" else ["demo", "test", "lint", "dist", "docs", "bench", "sanitize"]
        folders = [f"VENV={tmp_path / 'v'}", f"LOWEST={tmp_path / 'l'}"]
        asked = ["make", "--dry-run", "--always-make", *folders, *targets]
        plain = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "PINNED")}
        said = subprocess.run(  # noqa: S603 - our own
            asked, cwd=ROOT, env=plain, capture_output=True, text=True, check=True
        ).stdout
        installs = [line for line in said.splitlines() if "pip install" in line]
        assert len(installs) >= 2
        assert [line for line in installs if f"--constraint tests/pinned/{name}.txt" not in line] == []


class TestWorkflows:
    """They say what pyproject.toml says."""

    SAID = [
        each.rpartition(" ")[2]
        for each in PROJECT["project"]["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", each)
    ]

    @pytest.fixture(params=WORKFLOWS, ids=lambda path: path.name)
    def workflow(self, request: pytest.FixtureRequest) -> dict[Any, Any]:
        found: dict[Any, Any] = yaml.safe_load(request.param.read_text(encoding="utf-8"))
        return found

    def test_there_are_four(self) -> None:
        assert [path.stem for path in WORKFLOWS] == ["docs", "test", "wheels", "worlds"]

    def test_versions_of_python(self) -> None:
        jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
        wheels = PROJECT["tool"]["cibuildwheel"]["build"]

        assert PROJECT["project"]["requires-python"] == f">={self.SAID[0]}"
        assert cases(jobs["whole"])["python"] == cases(jobs["core"])["python"] == self.SAID
        assert wheels == [f"cp{each.replace('.', '')}-*" for each in self.SAID]

    def test_they_may_do_little(self, workflow: dict[Any, Any]) -> None:
        assert workflow["permissions"] == {"contents": "read"}
        for name, job in workflow["jobs"].items():
            assert "timeout-minutes" in job
            assert ("permissions" in job) == (name == "publish")

    def test_actions_have_a_version(self, workflow: dict[Any, Any]) -> None:
        used = [step["uses"] for job in workflow["jobs"].values() for step in job["steps"] if "uses" in step]

        assert used
        assert [each for each in used if not re.fullmatch(r"[\w-]+/[\w-]+@(release/)?v\d+", each)] == []

    def test_they_call_what_make_has(self, workflow: dict[Any, Any]) -> None:
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
        called = [step.get("run", "") for job in workflow["jobs"].values() for step in job["steps"]]

        assert {word for run in called for word in re.findall(r"\bmake ([a-z-]+)", run)} <= targets


def test_make_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: ((?:.*\\\n)*.*)$", makefile, re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].replace("\\\n", " ").split())
    told = set(re.findall(r"@echo \"make (\S+)", makefile))

    assert targets - {"help", "programs", "sanitize-memory", "sanitize-threads"} == told
