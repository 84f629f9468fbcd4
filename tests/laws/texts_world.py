"""Vicious names, files that have them everywhere, and what may be printed of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import onnx
import pytest

import onereshape
from onereshape import cli
from onereshape.ground.text import LONGEST
from tests.checking import MODELS, proto

Captured = pytest.CaptureFixture[str]

PLAIN = "plain"
"""Stands where the others do, to see what is printed of a name that is none of these."""
CONTROLS = "".join(map(chr, [*range(1, 0x20), 0x7F, *range(0x80, 0xA0)]))
UNSEEN = (
    "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\u200b\u200c\u200d\u2060\ufeff"
    "\u00a0\u00ad\u3000\u034f\u115f\u3164\uffa0\ufe0f\u180e\ue000\U000e0041\U000e0100\U0010fffd\uffff\u0378"
)
VICIOUS = {
    "controls": CONTROLS,
    "NUL": "a\0b",
    "unseen": UNSEEN,
    "clears the screen": "\x1b[2J\x1b[1;1H\x1b[31m",
    "a link of a terminal": "\x1b]8;;http://e.vil\x1b\\here\x1b]8;;\x1b\\\x9b2J",
    "overwrites its line": "\rfine\x08\x08\x7f",
    "GitHub": "::error file=x::y",
    "GitHub, on a line of its own": "a\n::error::b\r::error::c\r\n  ::error::d\u2028::error::e\x85::error::f",
    "GitHub, behind spaces": " \u00a0::error::x",
    "GitHub, behind nothing": "\u200b\ufe0f::error::x",
    "GitHub, of old": "a ##[error]x ###[x]",
    "other servers": "##vso[task.complete]##teamcity[x]",
    "escaped": "%0A::error::x%0D,a:b",
    "of a page": "<script>alert(1)</script>|`x`[a](http://e.vil)**{0}\\",
    "formats": "{name!r} %s {} [bold red]x[/] [link=x]",
}
LETTERS = "é_漢字_ω.ζ/x"
ENDLESS = "a" * 2_000_000 + "z"


CHECKED = ["baked-dim", "impossible-volume", "declared-mismatch", "cannot-free", "foldable-target", "chain"]
BAKED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"
MIXING = "g (float[1, 6] x) => (float[1, 6] y) { y = Softmax <axis = 0> (x) }"
ROOT = Path(onereshape.__file__).parent

each_name = pytest.mark.parametrize("name", VICIOUS.values(), ids=VICIOUS)


def ours(text: str, *, commands: bool = False) -> str:
    """No sign that a terminal obeys or does not show, and no line that a build server obeys but for ours."""
    assert [sign for sign in set(text) - {"\n"} if not sign.isprintable() or sign in UNSEEN] == []
    assert "Traceback" not in text
    assert not re.search(r"##\w*\[", text)
    starts = [line.lstrip().startswith("::") for line in text.splitlines()]
    assert all(starts) if commands else not any(starts)
    return text


def run(capsys: Captured, *words: str) -> tuple[int, str]:
    """The exit code and all that was printed, which is ours."""
    code = cli.main(list(words))
    printed = capsys.readouterr()
    return code, ours(printed.out + printed.err, commands="github" in words)


def asked(capsys: Captured, *words: str) -> Any:
    """What the command answers machines."""
    return json.loads(run(capsys, *words, "--json")[1])


def exact(found: Any, plain: Any, name: str) -> None:
    """The same JSON but for the name; sentences may have it between quotes, with escapes."""
    if isinstance(found, dict):
        assert [key.replace(name, PLAIN) for key in found] == list(plain)
        for key, other in zip(found, plain, strict=True):
            if key not in {"message", "input", "written", "path", "next"}:
                exact(found[key], plain[other], name)
    elif isinstance(found, list):
        assert len(found) == len(plain)
        for one, other in zip(found, plain, strict=True):
            exact(one, other, name)
    else:
        assert (found.replace(name, PLAIN) if isinstance(found, str) else found) == plain


def file_name(name: str) -> str:
    """As much of the name as a file can have."""
    return name.replace("/", "").replace("\0", "")[:60]


def renamed(made: onnx.ModelProto, name: str, dims: str = "") -> bytes:
    """The model with the name at the start of every name that its maker chose."""
    graph = made.graph
    made.producer_name, made.doc_string, graph.name = name, name, name
    made.metadata_props.add(key=name, value=name)
    for node in graph.node:
        node.name, node.doc_string = name + node.name, name
        node.input[:] = [name + each for each in node.input]
        node.output[:] = [name + each for each in node.output]
    for value in [*graph.input, *graph.output, *graph.value_info]:
        value.name = name + value.name
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_param = dims + dim.dim_param
    for tensor in graph.initializer:
        tensor.name = name + tensor.name
    content: bytes = made.SerializeToString()
    return content


def written(folder: Path, text: str, name: str, file: str = "m.onnx") -> str:
    path = folder / (file_name(name) + file)
    path.write_bytes(renamed(proto(text), name, name if len(name) < LONGEST else ""))
    return str(path)


def checked(folder: Path, name: str) -> list[str]:
    """A model for each kind of finding."""
    folder.mkdir()
    return [written(folder, MODELS[code], name, f"{code}.onnx") for code in CHECKED]


def findings(found: Any) -> list[Any]:
    return [finding for model in found["models"] for finding in model["findings"]]
