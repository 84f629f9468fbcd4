"""Other names for the symbols of a question are other names in its answer, whatever names a user thinks of."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import onnx_ir as ir
import pytest
from hypothesis import given, settings, strategies as st
from onnx import TensorProto, helper

import onereshape as orx
from onereshape.shape_rule import infer_model
from tests.laws.test_random_inference import DATA, FLAGS, targets

IDENTIFIERS = ["_0", "_1", "_2", "__0", "_", "dim_0", "data", "target", "size", "rank", "N_1", "unk__0", "x", "é"]
"""Names that an inventor of names might invent too."""
OTHERS = ["_.0", "_.1", "data[x]", "data[0] + 1", "rank", "size(x)", "a b", "x/y", "(a) + (b)", "-x", "?", "1..8", "0x"]
NAMES = (st.permutations(["_0", "_1", "_2", "_3"]) | st.permutations([*IDENTIFIERS, *OTHERS])).map(
    lambda names: dict(zip("KMN", names, strict=False))
)
MIXED = st.lists(st.sampled_from([None, (1, 8), "N", "M", 2]), min_size=2, max_size=3)
OURS = [f"{what}[{axis}]" for what in ("data", "target") for axis in range(8)] + [
    "size(data)", "rank(data)", "is divisible by", "data and output have the same number of elements",
    "the entries known only at run time fit", "past + 1",
]  # fmt: skip


def renamed(dims: Any, new: dict[str, str]) -> Any:
    """The dims with other names, in parentheses: a name such as `a b` is one symbol only there."""
    if dims is None:
        return None
    return [re.sub(r"\b[KMN]\b", lambda m: f"({new[m[0]]})", dim) if isinstance(dim, str) else dim for dim in dims]


def said(data: Any, target: Any, flag: Any, names: dict[str, str], bounds: Any) -> Any:
    spec, attributes = flag
    try:
        answer = orx.infer(data, target, spec, bounds=bounds, **attributes)
    except orx.ReshapeError as error:
        return error.code
    dims = [normal(dim, names) if isinstance(dim, str) else dim for dim in answer.dims or ()]
    return dims, sorted(normal(condition, names) for condition in answer.conditions)


def normal(text: str, names: dict[str, str]) -> str:
    """A text with a token for every name, and the factors of each product in one order."""
    tokens = {shape.format(name): f"«{key}»" for key, name in names.items() for shape in ("({})", "{}")}
    tokens |= {shape.format(ours): f"«{index}»" for index, ours in enumerate(OURS) for shape in ("({})", "{}")}
    for token in sorted(tokens, key=len, reverse=True):
        if "«" not in token:
            text = re.sub(rf"(?<![\w«.]){re.escape(token)}(?![\w».])", tokens[token], text)
    return re.sub(r"(?:«\w+»|\d+)(?:\*(?:«\w+»|\d+))+", lambda m: "*".join(sorted(m[0].split("*"))), text)


@settings(deadline=None, max_examples=150)
@given(st.data(), st.none() | DATA | DATA, FLAGS, NAMES, st.booleans())
def test_infer(draws: Any, data: Any, flag: Any, new: dict[str, str], bounded: bool) -> None:
    target = draws.draw(targets(data))
    there = {key for dim in (*(data or ()), *target) if isinstance(dim, str) for key in re.findall(r"\b[KMN]\b", dim)}
    limits = {key: (1, 9) for key in there if bounded}
    before = said(data, target, flag, {key: key for key in new}, limits)
    bounds = {new[key]: pair for key, pair in limits.items()}
    after = said(renamed(data, new), renamed(target, new), flag, new, bounds)

    if not isinstance(before, str) and any(text.endswith(" = 0") for text in before[1]):
        assert any(text.endswith(" = 0") for text in after[1])  # of several that could be 0, the first by name is
        return
    assert after == before


@settings(deadline=None, max_examples=150)
@given(st.data(), DATA | MIXED, FLAGS, NAMES, st.sampled_from(["onnx", "onnx-13", "openvino", "onednn-static"]))
def test_translate(draws: Any, data: list[Any], flag: Any, new: dict[str, str], to: str) -> None:
    words = draws.draw(st.lists(st.sampled_from([0, 0, 0, 1, 2, 6]), max_size=3))
    words.insert(draws.draw(st.integers(0, len(words))), draws.draw(st.sampled_from([-1, 3])))
    spec, attributes = flag

    def outcome(dims: Any) -> str:
        try:
            return repr(orx.translate(orx.Reshape(spec, **attributes), to, target=words, data=dims))
        except orx.ReshapeError as error:
            return error.code

    assert outcome(renamed(data, new)) == outcome(data)


@pytest.mark.parametrize("words", [[-1, 0], [0, -1], [-1, 0, 0], [0, -1, 0], [0, 0, -1]])
def test_translate_beside_dims_without_a_name(words: list[int]) -> None:
    op = orx.Reshape("openvino", special_zero=True)

    def outcome(dims: Any) -> str:
        try:
            return repr(orx.translate(op, "onnx", target=words, data=dims))
        except orx.ReshapeError as error:
            return error.code

    for data in product([None, (1, 8), "N", 2], repeat=3):
        expected = outcome(data)
        for name in ("_0", "_1", "_2"):
            assert outcome(renamed(data, {"N": name})) == expected, (data, name)


def test_a_name_that_translate_might_have_invented() -> None:
    """The limits of the first dim are not those of the second, which may be 0, whatever it is called."""
    op = orx.Reshape("openvino", special_zero=True)
    for name in ("N", "_0", "__0"):
        with pytest.raises(orx.ReshapeError) as refusal:
            orx.translate(op, "onnx", target=[-1, 0], data=[(1, 8), name, 2])
        assert str(refusal.value).splitlines()[1] == f"  data    [1..8, {name}, 2]"


@pytest.mark.parametrize("name", IDENTIFIERS)
@pytest.mark.parametrize(
    ("words", "expected"), [([0, -1], ["X", 12]), ([-1, 6], ["2*X", 6]), ([4, -1], [4, "3*X"]), ([-1, 8], ["3*X/2", 8])]
)
def test_shape_rule(name: str, words: list[int], expected: list[Any]) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [name, 3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    target = helper.make_tensor("s", TensorProto.INT64, [len(words)], words)
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"])], "g", [x], [y], [target])
    model = ir.from_proto(helper.make_model(graph, opset_imports=[helper.make_operatorsetid("", 21)], ir_version=10))
    rule = infer_model(model)

    shape = model.graph.outputs[0].shape
    assert shape is not None
    dims = [dim if isinstance(dim, int) else str(dim.value) for dim in shape.dims]
    assert dims == [each.replace("X", name) if isinstance(each, str) else each for each in expected]
    assert all("_." not in text for texts in rule.conditions.values() for text in texts)
