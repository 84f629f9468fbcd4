"""Every record of a layer is held against openvino, on several cases."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import onnx_ir as ir
import pytest

from onereshape.formats.ir_as_onnx.layer import FLOATS, Layer
from onereshape.formats.ir_as_onnx.layers import RECORDS, LayerRule
from tests.budget import WHOLE, part
from tests.formats.layers.law import ROUGH, Form, broken, forms, rough
from tests.formats.layers.making import Case
from tests.formats.layers.world import CASES

FEWEST = 6
"""Cases of each record."""
ASKED = 3
"""How many of them are asked where not all are."""
PARTS = 16
"""Of the types of layers: openvino compiles the cases of a part together."""


def asked(kind: str) -> Iterator[Form]:
    """The cases of a type of layer that are asked, every second of them with its dims unsaid too."""
    for place, case in enumerate(part(CASES[kind], -(-len(CASES[kind]) // ASKED))):
        yield from forms(case, said_only=not WHOLE and place % 2 > 0)


@pytest.mark.parametrize("start", range(PARTS))
def test_what_is_drawn_answers_as_the_layer(start: int, tmp_path: Path) -> None:
    assert broken((form for kind in sorted(CASES)[start::PARTS] for form in asked(kind)), tmp_path) == []


def test_how_rough_the_plugin_is() -> None:
    """Which is what its answers may be off."""
    assert {kind: found for kind in ROUGH if (found := rough(kind)) > 5e-4} == {}
    assert set(CASES) >= ROUGH.keys()


def test_no_two_cases_have_the_same_name() -> None:
    names = Counter((kind, case.name) for kind, cases in CASES.items() for case in cases)

    assert [name for name, count in names.items() if count > 1] == []


def test_every_record_has_cases() -> None:
    drawn = {kind: sum(case.undrawn is None for case in cases) for kind, cases in CASES.items()}

    assert [kind for kind in RECORDS if drawn.get(kind, 0) < FEWEST] == []


def _even(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Round", [layer.input(0)])]


def _counted(layer: Layer) -> list[ir.Value]:
    places = [layer.draw("Reshape", [layer.input(place), layer.held([1])]) for place in (3, 2)]
    both = layer.draw("Concat", places, {"axis": 0})
    return [layer.draw("OneHot", [layer.int64(0), layer.vector(1), both], {"axis": layer.integer("axis")})]


def _untied(layer: Layer) -> list[ir.Value]:
    return [layer.draw("MatMul", [layer.input(0), layer.input(1)])]


def _down(layer: Layer) -> list[ir.Value]:
    return [layer.draw("Mod", [layer.input(0), layer.input(1)], {"fmod": 0 if layer.kind_of(0) not in FLOATS else 1})]


PLANTED: dict[str, LayerRule] = {"Round": _even, "OneHot": _counted, "MatMul": _untied, "Mod": _down}
"""Records that are wrong."""


@pytest.mark.parametrize("kind", PLANTED)
def test_a_wrong_record_is_found(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECORDS, kind, PLANTED[kind])
    some = part(CASES[kind], max(1, len(CASES[kind]) // FEWEST))

    assert any(_found(case, tmp_path) for case in some)


def _found(case: Case, folder: Path) -> bool:
    try:
        return bool(broken(forms(case, said_only=True), folder))
    except Exception:  # noqa: BLE001 - onnxruntime's refusals have no class in common
        return True


def main(kinds: list[str]) -> None:
    """Prints what is wrong with the cases of some types of layer, or of all."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds or sorted(CASES):
            for case in CASES[kind]:
                try:
                    found = broken(forms(case), Path(folder))
                except Exception as error:  # noqa: BLE001 - shown, and the next
                    found = [f"{kind} {case.name}: {type(error).__name__}: {str(error).strip().splitlines()[-1][:300]}"]
                print(*found, sep="\n", end="\n" if found else "")


if __name__ == "__main__":
    main(sys.argv[1:])
