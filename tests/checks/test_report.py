"""report(): what a page says, that it stays small and is the same each time, and where things stand in a picture."""

from __future__ import annotations

import html
import itertools
import random
import re
import shlex
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from onereshape.checks.reports import report
from onereshape.checks.reports.gathering import Asking, gathered
from onereshape.checks.reports.layers import Item
from onereshape.checks.reports.lettering import cells, cut
from onereshape.checks.reports.neighbourhood import Neighbourhood
from onereshape.checks.reports.picture import Box, Look, Picture, Wire
from onereshape.checks.reports.picture_layout import Placed, placed
from onereshape.checks.reports.svg import svg
from onereshape.checks.reports.ways import Ways
from onereshape.cli import main
from onereshape.formats.model import load
from onereshape.graphs.request import given_model
from onereshape.ground.errors import ReshapeError
from onereshape.repair.fix import fix
from tests.checks import report_models
from tests.commands import Captured, refused, said
from tests.models import model

CORPUS = Path(__file__).parent.parent / "data" / "corpus"
YOLO = CORPUS / "hand_yolo_head.ts.onnx"
LARGEST = 1_000_000


def plain(page: str) -> str:
    """The text of a page, without its tags and its style."""
    return html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL)))


def test_a_repair_with_its_certificate() -> None:
    page = report(YOLO, batch=True)
    text = plain(page)

    assert "Repaired and proven." in text
    assert "onnxruntime agrees at N = 1, 2, 3" in text
    assert f"onereshape fix {YOLO} --batch -o {YOLO.with_name('hand_yolo_head.ts-dynamic.onnx')}" in text
    assert page.count("<svg") == 4
    assert page.count('class="box constant goes"') == page.count('class="box constant comes"') == 4
    for words in ("[1, 3, 7, 16, 16]", "[0, 3, 7, 16, 16]", "pytorch 2.13.0", "ai.onnx 17", "[N, 960, 7]"):
        assert words in text


def test_the_command_that_repeats_it_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the page shows as a command makes the same page."""
    path = tmp_path / "it's a $model.onnx"
    path.write_bytes(YOLO.read_bytes())
    page = report(path, batch={"x": 0}, certify=False, seed=3)
    line = next(line for line in plain(page).splitlines() if line.strip().startswith("onereshape report"))
    monkeypatch.chdir(tmp_path)

    assert main(shlex.split(line)[1:]) == 0
    assert Path("report.html").read_text(encoding="utf-8") == page


def test_names_that_begin_as_options_do_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = 'g (float[1, 2, 3] "-x") => (float[1, 6] y) <int64[2] s = {1, 6}> { y = Reshape ("-x", s) }'
    report_models.text_model(tmp_path / "-m.onnx", text)
    page = report("-m.onnx", batch={"-x": 0}, certify=False)
    line = next(line for line in plain(page).splitlines() if line.strip().startswith("onereshape report"))

    assert main(shlex.split(line)[1:]) == 0
    assert "Repaired, not certified." in plain(Path("report.html").read_text(encoding="utf-8"))


def test_a_command_names_files_only() -> None:
    """What the page of a repaired model shows is not in the file that was read; nor is an export that is no file."""
    repaired = fix(YOLO, batch=True, certify=False).model
    page = plain(report(repaired))
    other = plain(report(YOLO, batch=True, like=load(YOLO.read_bytes()), certify=False))

    assert "onereshape report" not in page
    assert "orx.report(model)" in page
    assert "--like OTHER " in other


def test_without_anything_asked_it_shows_what_check_finds(tmp_path: Path) -> None:
    text = plain(report(report_models.declared(tmp_path / "m.onnx")))

    assert "1 error." in text
    assert "N is forced to 2" in text
    assert re.search(r"x\[0\] =\s+N\s+Relu\s+Sigmoid\s+Reshape\s+stops here", text)


def test_a_refusal_is_shown_as_one() -> None:
    page = report(CORPUS / "neg_minibatch_std.ts.onnx", batch=True)

    assert "Refused." in page
    assert "mixes the samples" in page
    assert "<svg" in page


def test_nothing_to_repair(tmp_path: Path) -> None:
    path = report_models.text_model(tmp_path / "m.onnx", "g (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }")
    text = plain(report(path, batch=True))

    assert "Nothing to repair." in text
    assert "The model has no Reshape." in text


def test_not_certified_is_said() -> None:
    assert "Repaired, not certified." in plain(report(YOLO, batch=True, certify=False))


def test_other_exports() -> None:
    """The exports a repair is fitted on, and the one that witnesses it, are in the command too."""
    folder = Path(__file__).parent.parent / "data" / "sizes"
    page = report(
        folder / "bert.dynamo.A.onnx", like=folder / "bert.dynamo.C.onnx", witness=folder / "bert.dynamo.B.onnx"
    )
    text = plain(page)

    assert "Repaired and proven." in text
    assert f"--like {folder / 'bert.dynamo.C.onnx'} --witness {folder / 'bert.dynamo.B.onnx'}" in text
    assert "holds if" in text


def test_sizes_at_which_a_fitted_model_stops() -> None:
    """As many fractions as the step gives, which no inference knows, and 8 of them in both exports."""
    body = """agraph (float[1, {s}] x) => (float[1, 8] y) <int64[3] k = {{1, 1, {s}}}, int64[2] flat = {{1, 8}},
        float first = {{0}}, float last = {{0.99}}, float step = {{0.125}}> {{
            r = Reshape(x, k)
            p = AveragePool <kernel_shape = [8], strides = [8]> (r)
            a = Range(first, last, step)
            z = Add(p, a)
            y = Reshape(z, flat)
        }}"""
    text = plain(report(model(body.format(s=64)), like=[model(body.format(s=71))]))

    assert re.search(r"only ran at x_1 = 65\b", text)
    assert re.search(r"did not run at x_1 = 128, 32\b", text)


def test_it_is_the_same_each_time(tmp_path: Path) -> None:
    for path, asked in ((YOLO, {"batch": True}), (report_models.hostile(tmp_path / "h.onnx"), {})):
        assert report(path, **asked) == report(path, **asked)  # type: ignore[arg-type]


def test_the_model_is_not_changed() -> None:
    model = load(YOLO)
    before = [str(node) for node in model.ir.graph]
    report(model, batch=True, certify=False)

    assert [str(node) for node in model.ir.graph] == before


def test_a_page_is_one_file_without_scripts(tmp_path: Path) -> None:
    for path, asked in ((YOLO, {"batch": True}), (report_models.hostile(tmp_path / "h.onnx"), {"batch": True})):
        page = report(path, certify=False, **asked)  # type: ignore[arg-type]
        assert not re.search(r"<(script|img|iframe|object|embed|base|form)\b", page)
        assert not re.search(r"<[^>]*\s(on\w+|src)=", re.sub(r'"[^"]*"', '""', page))
        assert set(re.findall(r'href="([^"#]*)', page)) <= {"", "data:,"}
        assert "url(" not in page
        assert "@import" not in page


def test_two_thousand_reshapes_with_long_names_stay_small(tmp_path: Path) -> None:
    """As bad as it gets: only Reshapes, all of them wrong, each with a name that is hard to escape."""
    names = tuple(f"{'<&>' * 60}{number}" for number in range(7))
    made: list[Any] = []
    held: list[Any] = []
    for number in range(2000):
        dims = [1, 4, 6] if number % 2 == 0 else [1, 24]
        held.append(numpy_helper.from_array(np.array(dims, np.int64), f"{'&' * 90}{number}"))
        source = "x" if number == 0 else f"{'<' * 90}{number - 1}"
        name = f"{names[number % 7]}{number}"
        made.append(helper.make_node("Reshape", [source, f"{'&' * 90}{number}"], [f"{'<' * 90}{number}"], name=name))
    made.append(helper.make_node("Relu", [f"{'<' * 90}1999"], ["y"]))
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 24])]
    ends = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    graph = helper.make_graph(made, "g", given, ends, held)
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), path)
    page = report(path, batch=True, certify=False)

    assert len(page.encode()) < LARGEST
    assert "more without a picture" in page
    assert "more left out" in page


def test_the_time_grows_with_the_model(tmp_path: Path) -> None:
    """Ten times the nodes take about ten times as long; a square would take a hundred times."""
    seconds = []
    for nodes in (300, 3000):
        model = load(report_models.long_chain(tmp_path / "m.onnx", nodes))
        start = time.process_time()
        report(model, batch=True, certify=False)
        seconds.append(time.process_time() - start)

    assert seconds[1] < 35 * seconds[0] + 1


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, capsys: Captured) -> None:
    page = tmp_path / "page.html"
    page.write_text("before", encoding="utf-8")
    broken = tmp_path / "m.onnx"
    broken.write_bytes(b"\x08\x0a\xff")
    code, message = refused(capsys, "report", str(broken), "-o", str(page))

    assert code == 2
    assert "\n" not in message
    assert page.read_text(encoding="utf-8") == "before"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["m.onnx", "page.html"]


def test_the_input_is_never_written_over(tmp_path: Path, capsys: Captured) -> None:
    path = report_models.declared(tmp_path / "m.onnx")
    before = path.read_bytes()
    code, message = refused(capsys, "report", str(path), "-o", str(path))

    assert code == 2
    assert "never changed" in message
    assert path.read_bytes() == before


def test_usage(tmp_path: Path, capsys: Captured) -> None:
    path = str(report_models.declared(tmp_path / "m.onnx"))

    assert "name the page to write" in refused(capsys, "report", path)[1]
    assert "a model is missing" in refused(capsys, "report", "-o", "p.html")[1]
    assert "is a second" in refused(capsys, "report", path, "--batch", path, "-o", "p.html")[1]
    assert "no input 'z'" in refused(capsys, "report", path, "--batch", "z:0", "-o", str(tmp_path / "p.html"))[1]
    assert not (tmp_path / "p.html").exists()


def test_the_command_writes_the_page(tmp_path: Path, capsys: Captured) -> None:
    path = report_models.declared(tmp_path / "m.onnx")
    page = tmp_path / "page.html"
    printed = said(capsys, "report", str(path), "-o", str(page))

    assert page.read_text(encoding="utf-8") == report(path)
    assert printed == f"{page.stat().st_size:,} bytes, written to {page}\n"
    assert said(capsys, "report", str(path), "-o", "-") == report(path)


@pytest.mark.parametrize("options", [{"timeout": -1.0}, {"seed": -1}, {"batch": 7}, {"progress": 3}])
def test_options_are_those_of_fix(options: dict[str, Any]) -> None:
    with pytest.raises(ReshapeError):
        report(YOLO, **({"batch": True} | options))


# What is drawn


def neighbourhood(path: Path, node: str, **asked: Any) -> Picture:
    story = gathered(given_model(path), Asking(certify=False, **asked))
    side = story.repaired or story.original
    assert side is not None
    return Neighbourhood(story.inlined, story.repaired, side.names[node]).picture()


def test_what_goes_and_what_comes() -> None:
    picture = neighbourhood(YOLO, "/Reshape", batch=True)
    looks = {(box.look, box.title) for box in picture.boxes if box.kind == "constant"}
    dims = {(wire.source, wire.target): wire.dims for wire in picture.wires}

    assert looks == {("before", "[1, 3, 7, 16, 16]"), ("after", "[0, 3, 7, 16, 16]")}
    assert dims["input\nx", "/c1/Conv"] == "[N, 8, 16, 16]"
    assert dims["/Reshape", "/Transpose"] == "[N, 3, 7, 16, 16]"


def test_the_nodes_that_a_repair_adds_come_with_what_they_need() -> None:
    picture = neighbourhood(CORPUS / "hand_index_batch.ts.onnx", "/Gather_2", batch=True)
    added = {box.title for box in picture.boxes if box.look == "after" and box.kind == "node"}

    assert added == {"Range", "Mul", "Mod", "Add"}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.onnx"))[::5], ids=lambda path: path.name)
def test_pictures_of_real_models(path: Path) -> None:
    """5 to 15 boxes, all of them joined to the node; every wire ends at boxes that are there."""
    story = gathered(given_model(path), Asking(batch=True, certify=False))
    for case in story.changes:
        assert case.change is not None
        side = story.inlined
        assert side is not None
        key = side.names.get(case.change.node)
        if key is None:
            continue
        picture = Neighbourhood(side, story.repaired, key).picture((case.change.before, case.change.after, ""))
        keys = {box.key for box in picture.boxes}
        assert 5 <= len(keys) <= 15
        assert all({wire.source, wire.target} <= keys for wire in picture.wires)
        reached, pending = {key}, [key]
        while pending:
            here = pending.pop()
            near = {wire.target for wire in picture.wires if wire.source == here}
            near |= {wire.source for wire in picture.wires if wire.target == here}
            pending += near - reached
            reached |= near
        assert reached == keys


def test_the_way_of_a_size(tmp_path: Path) -> None:
    story = gathered(given_model(report_models.long_chain(tmp_path / "m.onnx", 60)), Asking(batch=True, certify=False))
    assert story.repaired is not None
    way = Ways(story.repaired, story.names).to("/encoder/layer.15/attention/self/Reshape15")

    assert way is not None
    assert (way.start, way.name, way.left_out) == ("x[0]", "N", 3 * 15 - 5)
    assert [name for _, name in way.first] == ["/encoder/layer.0/attention/self/Reshape0", "/encoder/layer.0/Relu"]
    assert way.last[-1] == ("Neg", "/encoder/layer.14/Neg")


def test_a_way_goes_on_outside_of_a_body(tmp_path: Path) -> None:
    story = gathered(given_model(report_models.control(tmp_path / "m.onnx")), Asking(batch={"x": 0}, certify=False))
    assert story.repaired is not None
    way = Ways(story.repaired, story.names).to(story.repaired.names["Reshape of w"])

    assert way is not None
    assert way.start == "x[0]"


# Where everything stands


def drawn_at_random(seed: int) -> Picture:
    """A picture of as many boxes as there may be, wired at random."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    looks: list[Look] = ["plain", "before", "after"]
    count = draw.randint(1, 15)
    boxes = tuple(
        Box(
            f"b{number}",
            draw.choice(["node", "constant", "input", "output"]),
            draw.choice(looks),
            draw.choice(["Relu", "Reshape", "[1, 2, 3]", "漢字" * 9, "w" * 60, ""]),
            draw.choice(["", "/layer.0/x", "n" * 90]),
        )
        for number in range(count)
    )
    wires = []
    for _ in range(draw.randint(0, 2 * count)):
        source, target = draw.randrange(count), draw.randrange(count)
        dims = draw.choice(["", "[N, 3, 4]", "[" + "N*S, " * 20 + "1]"])
        wires.append(Wire(f"b{source}", f"b{target}", draw.choice(["v", "w"]), dims, draw.choice(looks)))
    keys = frozenset(box.key for box in boxes if draw.random() < 0.3)
    return Picture(boxes, tuple(dict.fromkeys(wires)), keys, keys)


def overlaps(found: Placed) -> list[str]:
    """Items that lie on one another, or outside of the picture."""
    items = [item for floor in found.floors.floors for item in floor]
    wrong = [item.key for item in items if not _inside(item, found)]
    for one, other in itertools.combinations([item for item in items if item.height], 2):
        beside = abs(one.x - other.x) >= (one.width + other.width) / 2 - 0.2
        above = one.y + one.height <= other.y or other.y + other.height <= one.y
        if not beside and not above:
            wrong.append(f"{one.key} on {other.key}")
    return wrong


def _inside(item: Item, found: Placed) -> bool:
    across = item.x - item.width / 2 >= 0 and item.x + item.width / 2 <= found.width
    return across and item.y >= 0 and item.y + item.height <= found.height


@pytest.mark.parametrize("start", range(0, 150, 50))
def test_no_item_lies_on_another(start: int) -> None:
    for seed in range(start, start + 50):
        picture = drawn_at_random(seed)
        found = placed(picture)

        assert overlaps(found) == []
        assert set(found.boxes) == {box.key for box in picture.boxes}
        assert svg(picture, 1, "t", "d", ["N"]) == svg(picture, 1, "t", "d", ["N"])


def test_wires_go_down_from_floor_to_floor() -> None:
    """So they pass no box: each has an item of its own on every floor that it passes."""
    for seed in range(100):
        found = placed(drawn_at_random(seed))
        floor = {id(item): number for number, each in enumerate(found.floors.floors) for item in each}
        for lane in found.floors.lanes:
            numbers = [floor[id(item)] for item in lane.items]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_a_planted_bug_is_found() -> None:
    found = placed(drawn_at_random(3))
    first, second, *_ = found.boxes.values()
    second.x, second.y = first.x, first.y

    assert overlaps(found) != []


def test_text_is_cut_by_cells() -> None:
    for text in ("", "a", "a" * 30, "漢字" * 30, "e\u0301" * 30, "a漢" * 20):
        for most in range(3, 40):
            short = cut(text, most)
            assert cells(short) <= most
            assert (short == text) == (cells(text) <= most)
