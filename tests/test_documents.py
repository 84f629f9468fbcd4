"""The documents: links lead somewhere, pages written from the code are up to date, and what they show is what runs."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import onereshape as orx
from onereshape.cli.commands import COMMANDS
from onereshape.cli.parsing import parser_of

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])
SNIPPET = re.compile(r'^--8<-- "([^":]+)(?::(\w+))?"$', re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
RUNNER = """
import contextlib, io, json, os, runpy, sys, traceback
for folder, script in json.loads(sys.argv[1]):
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    code, printed, complaint = 0, io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(script, run_name="__main__")
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            code, complaint = 1, traceback.format_exc()
    print(json.dumps([code, printed.getvalue(), complaint]))
"""
"""Runs scripts one after the other, each as if it were typed in a folder of its own: torch is imported once for all."""


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def links(page: Path) -> Iterator[str]:
    """What a page links to within the project, outside its code."""
    text = re.sub(r"`[^`\n]*`", "", FENCED.sub("", read(page)))
    found = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset|href)="([^"]+)"', text)
    yield from (link for link in found if not re.match(r"[a-z]+:", link))


def run(scripts: list[Path], folder: Path) -> list[tuple[int, str, str]]:
    """The exit code, the output and the traceback of each, run in a folder of its name."""
    typed = json.dumps([[str(folder / script.stem), str(script)] for script in scripts])
    done = subprocess.run([sys.executable, "-c", RUNNER, typed], capture_output=True, text=True, check=False)  # noqa: S603 - our own code

    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them of plain words."""
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", read(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page

        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), link


def test_links_are_seen() -> None:
    assert {"docs/figures.md", "docs/picture.svg", "docs/picture-dark.svg"} <= set(links(ROOT / "README.md"))
    assert "findings.md#gave-up" in set(links(DOCS / "security.md"))
    assert "gave-up" in anchors(DOCS / "findings.md")


def test_the_navigation_names_every_page() -> None:
    named = re.findall(r": (\S+\.md)$", read(ROOT / "mkdocs.yml"), re.MULTILINE)

    assert sorted(named) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_nothing_is_fetched() -> None:
    """Neither fonts nor scripts: the site can be read without a network."""
    settings = read(ROOT / "mkdocs.yml")

    assert "font: false" in settings
    assert "https://" not in settings


class TestPython:
    """docs/reference/python.md."""

    def test_every_public_name_has_an_entry(self) -> None:
        entries = re.findall(r"^::: onereshape\.(\w+)$", read(DOCS / "reference" / "python.md"), re.MULTILINE)

        assert sorted(entries) == sorted(set(orx.__all__) - {"__version__"})

    @pytest.mark.parametrize("name", sorted(set(orx.__all__) - {"__version__"}))
    def test_every_public_name_has_a_docstring_with_an_example(self, name: str) -> None:
        about = getattr(orx, name).__doc__

        assert about
        assert ">>>" in about


class TestCommands:
    """docs/reference/commands.md."""

    def test_the_page_is_written_from_the_parsers(self) -> None:
        from docs.write_commands import page

        assert read(DOCS / "reference" / "commands.md") == page()

    @pytest.mark.parametrize("command", COMMANDS)
    def test_every_command_and_option_is_in_it(self, command: str) -> None:
        section = read(DOCS / "reference" / "commands.md").partition(f"\n## {command}\n")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)
        listed = {name.partition(" ")[0] for row in rows for name in row.split(", ")}

        assert {name for name in parser_of(command).options if name.startswith("-")} <= listed
        assert section.count("$ onereshape ") >= 1


def test_the_picture_is_drawn_by_its_script() -> None:
    from docs.picture import PICTURES, picture

    for name, colours in PICTURES.items():
        assert read(DOCS / name) == picture(colours)


def test_the_figures_of_the_readme_are_those_of_the_page() -> None:
    """Every number in its table is on the page of figures."""
    table = re.findall(r"^\| .* \|$", read(ROOT / "README.md").partition("## Figures")[2], re.MULTILINE)
    known = set(re.findall(r"[\d,.]*\d", read(DOCS / "figures.md")))

    assert len(table) > 4
    assert [number for row in table for number in re.findall(r"[\d,.]*\d", row) if number not in known] == []


def test_the_cases_of_the_copies_are_those_that_were_noted() -> None:
    noted = json.loads(read(DOCS / "copies.json"))
    arm, intel = noted.values()
    page = read(DOCS / "figures.md")

    assert len(intel) == len(arm) == 10
    for case in intel:
        shares = [str(machine[case][who]) for machine in (intel, arm) for who in ("onereshape", "NumPy", "torch")]
        assert f"| {case} | {' | '.join(shares)} |" in page


def test_every_bench_is_on_the_page_of_figures() -> None:
    parts = {"__init__", "model_graphs", "model_parts", "openvino_corpus", "openvino_judge", "sizes"}
    parts |= {
        "released_files",
        "released_inputs",
        "released_judge",
        "drawn_pictures",
        "small_pictures",
        "small_sequences",
        "pair_judge",
        "pair_plants",
        "pair_worker",
    }
    named = set(re.findall(r"bench/(\w+)\.py", read(DOCS / "figures.md")))

    assert named == {path.stem for path in (ROOT / "bench").glob("*.py")} - parts


def test_the_readme_is_short() -> None:
    assert len(read(ROOT / "README.md").splitlines()) <= 130


class TestExamples:
    """examples/*.py: run, and shown in the tutorials as they are."""

    SCRIPTS = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "demo")

    def test_they_run_and_so_does_the_first_code_of_the_readme(self, tmp_path: Path) -> None:
        first = re.findall(r"^```python\n(.*?)^```", read(ROOT / "README.md"), re.MULTILINE | re.DOTALL)[0]
        readme = tmp_path / "readme.py"
        readme.write_text(first, encoding="utf-8")
        scripts = [*self.SCRIPTS, readme]
        runs = run(scripts, tmp_path)

        assert [(script.stem, *run) for script, run in zip(scripts, runs, strict=True) if run[0] or run[2]] == []
        assert "for all N" in runs[-1][1]
        assert {found.severity for found in orx.check(tmp_path / "readme" / "dynamic.onnx", batch=True)} <= {"note"}

    @pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
    def test_it_is_short_and_shown(self, script: Path) -> None:
        shown = {file for page in (DOCS / "tutorials").glob("*.md") for file, _ in SNIPPET.findall(read(page))}

        assert len(read(script).splitlines()) < 60
        assert f"examples/{script.name}" in shown

    @pytest.mark.parametrize("page", sorted((DOCS / "tutorials").glob("*.md")), ids=lambda page: page.stem)
    def test_every_part_that_is_shown_is_there(self, page: Path) -> None:
        for name, part in SNIPPET.findall(read(page)):
            text = read(ROOT / name)
            if part:
                assert f"--8<-- [start:{part}]" in text
                assert f"--8<-- [end:{part}]" in text

    def test_every_part_is_shown(self) -> None:
        shown = {part for page in (DOCS / "tutorials").glob("*.md") for part in SNIPPET.findall(read(page))}
        there = {
            (f"examples/{script.name}", part)
            for script in self.SCRIPTS
            for part in re.findall(r"--8<-- \[start:(\w+)\]", read(script))
        }

        assert there <= shown

    def test_the_check_of_a_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """Of a model that is baked, and of its repair."""
        baked = ROOT / "tests" / "data" / "corpus" / "hand_yolo_head.ts.onnx"
        for name, model in (("baked", orx.load(baked)), ("free", orx.fix(baked, batch=True).model)):
            (tmp_path / name).mkdir()
            model.save(tmp_path / name / "model.onnx")
        for name, code, said in (("free", 0, ""), ("baked", 1, "next: onereshape fix")):
            monkeypatch.setattr(sys, "argv", ["check_models.py", str(tmp_path / name)])
            with pytest.raises(SystemExit) as end:
                runpy.run_path(str(ROOT / "examples" / "ci" / "check_models.py"), run_name="__main__")
            printed = capsys.readouterr().out

            assert end.value.code == code
            assert said in printed
            assert bool(said) == bool(printed)

    def test_workflows_name_what_there_is(self) -> None:
        """The hook and the inputs of the action."""
        from yaml import safe_load as read_yaml

        hooks = read_yaml(read(ROOT / ".pre-commit-hooks.yaml"))
        typed = read_yaml(read(ROOT / "examples" / "ci" / "pre-commit-config.yaml"))["repos"][0]["hooks"]
        steps = read_yaml(read(ROOT / "examples" / "ci" / "check.yml"))["jobs"]["check"]["steps"]
        inputs = read_yaml(read(ROOT / "action.yml"))["inputs"]

        assert {each["id"] for each in typed} <= {each["id"] for each in hooks}
        assert {*steps[-1]["with"]} <= {*inputs}
        assert {*inputs} == {*re.findall(r"^\| `(\w+)` \|", read(DOCS / "tutorials" / "ci.md"), re.MULTILINE)}
