"""check(): each finding, where it is found, and what is no finding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest

import onereshape as orx
from onereshape.checks.check import check
from onereshape.checks.findings.finding import CODES, Finding
from onereshape.ground.errors import ReshapeError
from tests.checking import HEADER, MODELS, proto, written
from tests.models import model

FOUND: dict[str, tuple[str | None, str, str | None, str | None, bool | None]] = {
    # node, message, tensor, origin, fixable
    "baked-dim": ("n", "s77 is forced to 1 by n: shape[0] = 1", "t", "initializer t", True),
    "absorbed-dim": (
        "n",
        "N is swallowed by n: target[1] = -1 becomes 512*N, while target[0] = 1 stands where N should be",
        "t",
        "initializer t",
        True,
    ),
    "impossible-volume": (
        "n",
        "data [2, 3] and target [4, -1]: target[1] cannot be inferred: 6 elements do not divide by 4 (remainder 2)",
        "t",
        "initializer t",
        False,
    ),
    "spec-error": (
        "n",
        "data [2, 3] and target [-1, -1]: target[1] is a second -1, after target[0]",
        "t",
        "initializer t",
        False,
    ),
    "declared-mismatch": (
        "n",
        "the output y is declared [7], but Reshape gives [6]: dim 0 is 6, not 7",
        "y",
        "declared as a graph output",
        False,
    ),
    "size-condition": (
        "n",
        "n runs only where batch*h*w is divisible by 50176: not at batch = 1, h = 1, w = 1; at batch = 1, h = 224, "
        "w = 448 it runs and turns [1, 3, 224, 448] into [2, 3, 50176], which mixes what data keeps apart",
        "t",
        "initializer t",
        False,
    ),
    "fixed-batch": ("x", "the batch is fixed to 1 at x:0, z:0", "x", None, None),
    "cannot-free": (
        "n",
        "n (Softmax) mixes the samples: its sum runs along axis 0, which is N",
        None,
        None,
        False,
    ),
    "own-scale": (
        "n0",
        "n0 takes one scale from all samples; each of N gets its own, as alone, in 17 nodes",
        "s",
        "computed by DynamicQuantizeLinear n0",
        True,
    ),
    "foldable-target": (
        "n",
        "the target is computed at run time as [N, 2, -1], which always means the same as the constant [0, 2, -1]",
        "t",
        "computed by Concat n2",
        True,
    ),
    "redundant-allowzero": (
        "n",
        "allowzero=1 says nothing here, since the target [-1, 3] has no 0, and keeps engines from fusing it",
        "t",
        "initializer t",
        True,
    ),
    "identity": ("n0", "the output always has the dims of data, [N, 6]", "t", "initializer t", True),
    "chain": ("n", "its data come from another Reshape, n0; one with [-1, 3] does both", "u", "initializer u", True),
    "gave-up": (
        "n0",
        "it would hold more than the 4096 elements that are followed; it is taken as unknown, and nothing is said of "
        "what depends on it",
        None,
        None,
        False,
    ),
}
OPERATORS = {
    "cannot-free": "Softmax",
    "gave-up": "ConstantOfShape",
    "fixed-batch": "input",
    "own-scale": "DynamicQuantizeLinear",
}
PLACES_OF = {"chain": "graph/Reshape#1", "fixed-batch": "graph"}
FREED = "fix m.onnx -o m-dynamic.onnx"
NEXT = {
    "baked-dim": f"{FREED} --batch",
    "absorbed-dim": f"{FREED} --batch",
    "size-condition": "show m.onnx --node n",
    "impossible-volume": "show m.onnx --node n",
    "spec-error": "show m.onnx --node n",
    "declared-mismatch": "show m.onnx --node n",
    "fixed-batch": f"{FREED} --batch",
    "cannot-free": f"{FREED} --batch --per-sample",
    "own-scale": f"{FREED} --batch",
    "foldable-target": "fix m.onnx -o m-simpler.onnx --simplify",
    "redundant-allowzero": "fix m.onnx -o m-simpler.onnx --simplify",
    "identity": "fix m.onnx -o m-simpler.onnx --simplify",
    "chain": "fix m.onnx -o m-simpler.onnx --simplify",
    "gave-up": "show m.onnx",
}
"""What is typed next, after `onereshape`."""


def asked_for(code: str) -> dict[str, Any]:
    return {"batch": True} if code in {"cannot-free", "own-scale"} else {}


def codes(findings: list[Finding]) -> list[str]:
    return [found.code for found in findings]


def of(text: str, folder: Path, **asked: Any) -> list[Finding]:
    return check(written(text, folder), **asked)


def test_every_code_has_a_model() -> None:
    assert set(MODELS) == set(FOUND) == set(NEXT) == set(CODES)


@pytest.mark.parametrize("code", MODELS)
def test_each_finding(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (found,) = of(MODELS[code], Path(), **asked_for(code))
    node, message, tensor, origin, fixable = FOUND[code]

    assert (found.code, found.severity) == (code, CODES[code].severity)
    assert (found.node, found.message, found.tensor, found.origin) == (node, message, tensor, origin)
    assert found.fixable is fixable
    assert found.op == OPERATORS.get(code, "Reshape")
    assert found.place == PLACES_OF.get(code, f"graph/{found.op}#0")
    assert found.next == f"onereshape {NEXT[code]}"
    assert found.to_json() == {
        "code": code,
        "severity": found.severity,
        "node": node,
        "place": found.place,
        "op": found.op,
        "tensor": tensor,
        "origin": origin,
        "message": message,
        "fixable": fixable,
        "next": found.next,
    }


def test_the_public_name_takes_a_model_and_a_path(tmp_path: Path) -> None:
    path = written(MODELS["baked-dim"], tmp_path)

    assert codes(orx.check(Path(path))) == codes(orx.check(orx.load(path))) == ["baked-dim"]


def test_every_code_has_a_heading_in_the_documentation() -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "findings.md").read_text(encoding="utf-8")
    headings = [line.strip("# `") for line in text.splitlines() if line.startswith("## `")]

    assert headings == list(CODES)


SOUND = [
    "g (float[N, 6] x) => (float[M, 3] y) <int64[2] t = {-1, 3}> { y = Reshape(x, t) }",
    "g (float[N, S, 8] x) => (float[N, S, 2, 4] y) <int64[4] t = {0, 0, 2, 4}> { y = Reshape(x, t) }",
    "g (float[N] x) => (float[1, M] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
    "g (float[N, 1] x) => (float[1, M] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
    "g (float[2, 6] x) => (float[1, 12] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
    "g (float[N, 4] x) => (float[2, M] y) <int64[2] t = {2, -1}> { y = Reshape(x, t) }",
    "g (float[N, 4] x, int64[2] t) => (float[?, ?] y) { y = Reshape(x, t) }",
    "g (float[N, 4] x) => (float[other, 4] y) { y = Relu(x) }",
    "g (float[N, 4] x, float[M, 4] z) => (float[Q, 4] y) { y = Concat <axis = 0> (x, z) }",
    "g (float[2, 4] x) => (float[batch, 4] y) { y = Relu(x) }",
    "g (float[N, 4] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }",
    "g (float[N] x) => (int64[1, 3] y) { y = NonZero(x) }",
]


PLACES = {
    "g (float[?, 4] x) => (float[1, 4] y) <int64[2] t = {1, 4}> { y = Reshape(x, t) }": (
        "x[0] is forced to 1 by n: shape[0] = 1"
    ),
    "g (float[M] z, float[?, 4] x) => (float[1, 4] y) <int64[2] t = {1, 4}> { y = Reshape(x, t) }": (
        "x[0] is forced to 1 by n: shape[0] = 1"
    ),
    "g (float[?, ?, 8] x) => (float[?, ?, ?] y) <int64[3] t = {1, -1, 4}> { y = Reshape(x, t) }": (
        "x[0] is swallowed by n: target[1] = -1 becomes 2*x[0]*x[1], while target[0] = 1 stands where x[0] should be"
    ),
}


@pytest.mark.parametrize(("text", "message"), PLACES.items())
def test_a_dim_without_a_name_is_free_too(text: str, message: str, tmp_path: Path) -> None:
    assert message in [each.message for each in of(text, tmp_path)]


@pytest.mark.parametrize("text", SOUND)
def test_a_sound_model_has_no_finding(text: str, tmp_path: Path) -> None:
    assert of(text, tmp_path) == []


BROKEN = [
    ("float[2, 3]", "{0, 0, 0}", "", "target[2] is 0 and copies data[2], but data has 2 dims"),
    ("float[2, 3]", "{-2, 3}", "", "target[0] is -2: only -1, 0 and positive sizes have a meaning"),
    ("float[2, 3]", "{0, -1}", "<allowzero = 1>", "target[1] cannot be inferred beside the literal 0 at target[0]"),
    ("float[2, 3]", "{6}", "<allowzero = 2>", "allowzero is 2, but it takes only 0 or 1"),
    ("float[2, 3]", "{6}", "<special_zero = 1>", "onnx Reshape-14 has no attribute 'special_zero'"),
]


@pytest.mark.parametrize(("data", "target", "attributes", "message"), BROKEN)
def test_what_breaks_the_specification(data: str, target: str, attributes: str, message: str, tmp_path: Path) -> None:
    length = target.count(",") + 1
    text = f"g ({data} x) => (float[?] y) <int64[{length}] t = {target}> {{ y = Reshape {attributes} (x, t) }}"
    found = [each for each in of(text, tmp_path) if each.severity == "error"]

    assert codes(found) == ["spec-error"]
    assert message in found[0].message


def test_a_type_that_the_version_lacks(tmp_path: Path) -> None:
    text = "g (bfloat16[2, 3] x) => (bfloat16[6] y) <int64[1] t = {6}> { y = Reshape(x, t) }"
    made = model(text, HEADER.replace("18", "11"))
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())
    (found,) = check(tmp_path / "m.onnx")

    assert (found.code, found.node, found.message) == (
        "spec-error",
        "graph/Reshape#0",
        "data of type bfloat16 is refused",
    )


def test_a_target_of_the_wrong_type(tmp_path: Path) -> None:
    (found,) = of("g (float[2, 3] x) => (float[6] y) <int32[1] t = {6}> { y = Reshape(x, t) }", tmp_path)

    assert (found.code, found.message) == ("spec-error", "the shape tensor has type int32")


def test_a_target_that_is_not_there(tmp_path: Path) -> None:
    (found,) = of("g (float[2, 3] x) => (float[6] y) { y = Reshape(x) }", tmp_path)

    assert (found.code, found.origin) == ("spec-error", "missing")
    assert found.message == "onnx Reshape-14 takes its target as a second input, and none was given"


def test_an_impossible_volume_of_symbols(tmp_path: Path) -> None:
    (found,) = of("g (float[N, 4] x) => (float[?] y) <int64[2] t = {3, 5}> { y = Reshape(x, t) }", tmp_path)

    assert found.code == "impossible-volume"
    expected = "data [N, 4] and target [3, 5]: no sizes of these dims fit the target: 4*N elements cannot be 15"
    assert found.message == expected


def test_a_target_that_is_computed(tmp_path: Path) -> None:
    text = """g (float[2, 6] x) => (float[?, ?] y) <int64[1] k = {5}, int64[1] z = {0}> {
        s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, k) y = Reshape(x, t)
    }"""
    found = next(each for each in of(text, tmp_path) if each.severity == "error")

    assert (found.code, found.origin) == ("impossible-volume", "computed by Concat n2")
    assert found.message == "data [2, 6] and target [2, 5]: data has 12 elements, but the target asks for 10"


def test_what_is_declared_where_nothing_is_inferred(tmp_path: Path) -> None:
    """After an operator that nobody knows, the file's word is all there is: no more than a warning."""
    text = (
        """g (float[2, 3] x) => (float[?] y) <float[2, 3] h, int64[1] t = {5}> { h = local.Foo(x) y = Reshape(h, t) }"""
    )
    (found,) = of(text, tmp_path)

    assert (found.code, found.severity, found.origin) == ("impossible-volume", "warning", "declared in the file")
    assert found.message == "data [2, 3] and target [5]: data has 6 elements, but the target asks for 5"


DECLARED = [
    (
        "float[2, 3] x",
        "float[2, 4] y",
        "error",
        "the output y is declared [2, 4], but Relu gives [2, 3]: dim 1 is 3, not 4",
    ),
    ("float[2, 3] x", "float[6] y", "error", "the output y is declared [6], but Relu gives [2, 3]: 1 dims are not 2"),
    (
        "float[N, 3] x",
        "float[1, 3] y",
        "warning",
        "the output y is declared [1, 3], but Relu gives [N, 3]: dim 0 is 1 only where N = 1",
    ),
    (
        "float[1, 3] x, float[N] z",
        "float[N, 3] y",
        "warning",
        "the output y is declared [N, 3], but Relu gives [1, 3]: dim 0 is 1 whatever N is",
    ),
]


@pytest.mark.parametrize(("inputs", "output", "severity", "message"), DECLARED)
def test_declarations(inputs: str, output: str, severity: str, message: str, tmp_path: Path) -> None:
    (found,) = of(f"g ({inputs}) => ({output}) {{ y = Relu(x) }}", tmp_path)

    assert (found.code, found.severity, found.message) == ("declared-mismatch", severity, message)


def test_a_declaration_in_between(tmp_path: Path) -> None:
    (found,) = of("g (float[2, 3] x) => (float[2, 3] y) <float[5] h> { h = Relu(x) y = Relu(h) }", tmp_path)

    assert (found.node, found.tensor, found.origin) == ("n0", "h", "declared as value_info")
    assert found.message == "the value h is declared [5], but Relu gives [2, 3]: 1 dims are not 2"


def test_two_dims_that_are_fixed_together(tmp_path: Path) -> None:
    found = of("g (float[N, S, 4] x) => (float[?, ?] y) <int64[2] t = {16, 4}> { y = Reshape(x, t) }", tmp_path)

    assert [each.message for each in found] == ["N*S is forced to 16 by n: shape[0] = 16"]


@pytest.mark.parametrize(("names", "said"), [("é, S", "é*S"), ("a b, é", "(a b)*é"), ("N*S, 3", "(N*S)*(3)")])
def test_two_dims_of_other_names_that_are_fixed_together(names: str, said: str, tmp_path: Path) -> None:
    given = proto("g (float[N, S, 4] x) => (float[?, ?] y) <int64[2] t = {16, 4}> { y = Reshape(x, t) }")
    for dim, name in zip(given.graph.input[0].type.tensor_type.shape.dim, names.split(", "), strict=False):
        dim.dim_param = name
    onnx.save(given, tmp_path / "m.onnx")
    found = check(tmp_path / "m.onnx")

    assert [each.message for each in found] == [f"{said} is forced to 16 by n: shape[0] = 16"]


def test_the_slot_of_the_dim_itself(tmp_path: Path) -> None:
    found = of("g (float[1, N, 4] x) => (float[?, ?, ?] y) <int64[3] t = {1, 1, 4}> { y = Reshape(x, t) }", tmp_path)

    assert [each.message for each in found if each.code == "baked-dim"] == ["N is forced to 1 by n: shape[1] = 1"]


def test_a_baked_dim_that_no_slot_shows(tmp_path: Path) -> None:
    found = of("g (float[N, 4] x) => (float[?, ?] y) <int64[2] t = {3, 8}> { y = Reshape(x, t) }", tmp_path)

    assert [each.message for each in found] == ["N is forced to 6 by n: shape = [3, 8]"]


INNER = {
    "graph/If#0/then_branch/Reshape#0": """g (float[N, 4] x, bool c) => (float[?, ?] y) {
        y = If (c) <
            then_branch = yes () => (float[?, ?] p) { t = Constant <value_ints = [1, 4]> () p = Reshape(x, t) },
            else_branch = no () => (float[?, ?] q) { q = Relu(x) }
        >
    }""",
    "graph/Loop#0/body/Reshape#0": """g (float[N, 4] x, int64 m, bool c) => (float[?, ?] y) {
        y = Loop (m, c, x) <
            body = again (int64 i, bool k, float[?, ?] v) => (bool on, float[?, ?] w) {
                on = Identity(k)
                t = Constant <value_ints = [1, 4]> ()
                w = Reshape(x, t)
            }
        >
    }""",
    "local::f/Reshape#0": """g (float[N, 4] x) => (float[?, ?] y) { y = local.f(x) }
    <domain: "local", opset_import: ["" : 18]>
    f (data) => (out) { t = Constant <value_ints = [1, 4]> () out = Reshape(data, t) }""",
}


@pytest.mark.parametrize("place", INNER)
def test_subgraphs_and_functions_are_searched(place: str, tmp_path: Path) -> None:
    found = [each for each in of(INNER[place], tmp_path) if each.code == "baked-dim"]

    assert [(each.place, each.message) for each in found] == [(place, f"N is forced to 1 by {place}: shape[0] = 1")]
    assert found[0].origin == "Constant node t"


def test_a_function_that_nobody_calls_is_searched_too(tmp_path: Path) -> None:
    text = """g (float[2] x) => (float[2] y) { y = Relu(x) }
    <domain: "local", opset_import: ["" : 18]>
    f (data) => (out) { t = Constant <value_ints = [-1, -1]> () out = Reshape(data, t) }"""

    assert [(each.code, each.place) for each in of(text, tmp_path)] == [("spec-error", "local::f/Reshape#0")]


def test_the_order_of_the_graph(tmp_path: Path) -> None:
    text = """g (float[N, 6] x, float[M, 4] v) => (float[1, 6] y, float[?, ?] z)
        <int64[2] t = {0, 6}, int64[2] u = {1, 4}> {
        h = Reshape(x, t)
        y = Relu(h)
        z = Reshape(v, u)
    }"""

    assert codes(of(text, tmp_path)) == ["identity", "declared-mismatch", "baked-dim"]


STATIC = "g (float[1, 12] x, float[1, 3] z) => (float[1, 3, 4] y) <int64[3] t = {1, 3, 4}> { y = Reshape(x, t) }"


def test_asked_for_a_batch(tmp_path: Path) -> None:
    (found,) = of(STATIC, tmp_path, batch=True)

    assert (found.code, found.severity, found.node, found.place) == ("baked-dim", "error", "n", "graph/Reshape#0")
    assert (found.tensor, found.origin, found.fixable) == ("t", "initializer t", True)
    assert found.message == "N is forced to 1 by n: shape[0] = 1"
    assert codes(of(STATIC, tmp_path, batch={"x": 0})) == ["baked-dim"]
    assert codes(of(STATIC, tmp_path, batch={"z": 0})) == ["fixed-batch"]


def test_asked_for_a_batch_and_another_dim(tmp_path: Path) -> None:
    text = "g (float[1, 12, 4] x) => (float[1, 12, 2, 2] y) <int64[4] t = {1, 12, 2, 2}> { y = Reshape(x, t) }"
    found = of(text, tmp_path, batch=True, free={"x": {1: "S"}})

    assert [each.message for each in found] == [
        "N is forced to 1 by n: shape[0] = 1",
        "S is forced to 12 by n: shape[1] = 12",
    ]


def test_a_node_without_a_name_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "m.onnx").write_bytes(model(STATIC.replace("float[1, 12]", "float[B, 12]"), HEADER).SerializeToString())

    assert [each.place for each in check(tmp_path / "m.onnx", batch={"x": 0})] == ["graph/Reshape#0"]


def test_a_batch_that_has_a_name_already(tmp_path: Path) -> None:
    """One finding, although both ways lead to it."""
    text = STATIC.replace("float[1, 12] x", "float[B, 12] x")

    assert codes(of(text, tmp_path)) == codes(of(text, tmp_path, batch={"x": 0})) == ["baked-dim"]


def test_asking_checks_the_rest_too(tmp_path: Path) -> None:
    text = STATIC.replace("=> (float[1, 3, 4] y)", "=> (float[1, 3, 4] y, float[9] w)").replace(
        "y = ", "w = Relu(z) y = "
    )

    assert codes(of(text, tmp_path, batch={"x": 0})) == ["declared-mismatch", "baked-dim"]


IR_XML = """<net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2,3" element_type="f32"/>
<output><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port></output></layer>
<layer id="1" name="s" type="Parameter" version="opset1"><data shape="2" element_type="i64"/>
<output><port id="0" precision="I64"><dim>2</dim></port></output></layer>
<layer id="2" name="r" type="Reshape" version="opset1"><data special_zero="{flag}"/>
<input><port id="0" precision="FP32"><dim>2</dim><dim>3</dim></port>
<port id="1" precision="I64"><dim>2</dim></port></input>
<output><port id="2" precision="FP32"><dim>4</dim><dim>{last}</dim></port></output></layer>
<layer id="3" name="o" type="Result" version="opset1">
<input><port id="0"><dim>4</dim><dim>{last}</dim></port></input></layer>
</layers><edges><edge from-layer="0" from-port="0" to-layer="2" to-port="0"/>
<edge from-layer="1" from-port="0" to-layer="2" to-port="1"/>
<edge from-layer="2" from-port="2" to-layer="3" to-port="0"/></edges></net>"""


def onednn(folder: Path, target: list[int], output: list[int]) -> Path:
    def tensor(number: int, dims: list[int]) -> dict[str, Any]:
        layout = {"stride": [1] * len(dims), "layout_type": "strided", "property_type": "undef"}
        return {"id": number, "dtype": "f32", "shape": dims, **layout}

    attributes = {"special_zero": {"type": "bool", "value": 0}, "shape": {"type": "s64[]", "value": target}}
    node = {"id": 7, "name": "r", "kind": "StaticReshape", "attrs": attributes}
    node |= {"inputs": [tensor(0, [2, 3])], "outputs": [tensor(1, output)]}
    graph = {"version": "3.3.0", "engine_kind": "cpu", "fpmath_mode": "strict", "input_ports": [0], "output_ports": [1]}
    path = folder / "g.json"
    path.write_text(json.dumps({**graph, "graph": [node]}), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("target", "output", "code", "message"),
    [
        ([-1, -1], [2, 3], "spec-error", "data [2, 3] and target [-1, -1]: target[1] is a second -1, after target[0]"),
        ([5], [5], "impossible-volume", "data [2, 3] and target [5]: data has 6 elements, but the target asks for 5"),
        ([3, 2], [6], "declared-mismatch", "the output is declared [6], but it is [3, 2]: 1 dims are not 2"),
        ([3, 2], [3, 2], None, ""),
    ],
)
def test_a_onednn_graph(target: list[int], output: list[int], code: str | None, message: str, tmp_path: Path) -> None:
    found = check(onednn(tmp_path, target, output))

    assert codes(found) == ([] if code is None else [code])
    assert [(each.node, each.op, each.message) for each in found] == [("r", "StaticReshape", message)] * len(found)


def test_an_openvino_model(tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    path.write_text(IR_XML.format(flag="maybe", last=2), encoding="utf-8")
    (found,) = check(path)

    assert (found.code, found.node, found.op) == ("spec-error", "r", "Reshape")

    path.write_text(IR_XML.format(flag="true", last=2), encoding="utf-8")
    assert check(path) == []


@pytest.mark.parametrize("asked", [{"batch": True}, {"free": {"x": {0: "N"}}}])
def test_other_formats_free_nothing(asked: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(ReshapeError, match=r"dims are freed in ONNX models only, and .*g\.json is a oneDNN graph"):
        check(onednn(tmp_path, [6], [6]), **asked)


OUT_OF_ORDER = "g (float[N, 4] x) => (float[?, ?] y) <int64[2] t = {1, 4}> { h = Relu(x) y = Reshape(h, t) }"


def test_nodes_that_are_out_of_order(tmp_path: Path) -> None:
    made = proto(OUT_OF_ORDER)
    made.graph.node.reverse()
    (tmp_path / "m.onnx").write_bytes(made.SerializeToString())

    assert codes(check(tmp_path / "m.onnx")) == ["baked-dim"]


def test_an_unreadable_file_is_ours_to_refuse(tmp_path: Path) -> None:
    with pytest.raises(ReshapeError) as refusal:
        check(tmp_path / "no.onnx")

    assert refusal.value.code == "unreadable"


@pytest.mark.parametrize("text", [*MODELS.values(), *INNER.values(), STATIC])
def test_checking_changes_nothing(text: str, tmp_path: Path) -> None:
    loaded = orx.load(written(text, tmp_path))
    check(loaded)
    orx.save(loaded, tmp_path / "after.onnx")

    assert (tmp_path / "after.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()
    assert onnx.ModelProto.FromString((tmp_path / "m.onnx").read_bytes()) == proto(text)


def test_dims_that_nobody_knows_may_be_empty(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["": 17]>
        g (float[a, b] x, bool[c] keep) => (float[p, q] y) <int64[2] t = {1, 0}> {
          h = Compress(x, keep)
          y = Reshape<allowzero = 1>(h, t)
        }
    """)
    onnx.save(proto, tmp_path / "m.onnx")
    assert not check(str(tmp_path / "m.onnx"))
