"""fix(): the words that it writes for each carrier of a baked batch, what it leaves alone, and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import onereshape as orx
from onereshape.formats.model import refreshed
from onereshape.graphs.edit import Change
from onereshape.ground.errors import FixError, ReshapeError
from onereshape.repair.fix import plan
from onereshape.repair.step import Fixed
from tests.checking import proto, written
from tests.running import session

# What is in the model, and what becomes of it: (operator, before, after) of each change.
CARRIERS: dict[str, tuple[str, list[tuple[str, str, str]]]] = {
    "a Reshape that says 1 for the batch copies it": (
        "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }",
        [("Reshape", "[1, 2, 3]", "[0, 2, 3]")],
    ),
    "a -1 that would swallow the batch stays, beside a copied batch": (
        "g (float[1, 2, 3] x) => (float[1, 6] y) <int64[2] t = {1, -1}> { y = Reshape(x, t) }",
        [("Reshape", "[1, -1]", "[0, -1]")],
    ),
    "with allowzero=1 a 0 is literal, so the batch is inferred": (
        "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape <allowzero = 1> (x, t) }",
        [("Reshape", "[1, 2, 3]", "[-1, 2, 3]")],
    ),
    "heads merged into the batch are a factor of it": (
        "g (float[1, 4, 2, 3] x) => (float[4, 2, 3] y) <int64[3] t = {4, 2, 3}> { y = Reshape(x, t) }",
        [("Reshape", "[4, 2, 3]", "[-1, 2, 3]")],
    ),
    "the batch behind a longer axis stays there": (
        "g (float[1, 5, 6] x) => (float[5, 1, 2, 3] y) <int64[4] t = {5, 1, 2, 3}> {"
        " s = Transpose <perm = [1, 0, 2]> (x) y = Reshape(s, t) }",
        [("Reshape", "[5, 1, 2, 3]", "[5, 0, 2, 3]")],
    ),
    "a Reshape of a bias carries no batch": (
        "g (float[1, 6] x) => (float[1, 6] y) <float[6] b = {1, 2, 3, 4, 5, 6}, int64[2] t = {1, 6}> {"
        " c = Reshape(b, t) y = Add(x, c) }",
        [],
    ),
    "a constant that two nodes share is not disturbed": (
        "g (float[1, 6] x) => (float[1, 2, 3] y) <float[6] b = {1, 2, 3, 4, 5, 6}, int64[3] t = {1, 2, 3}> {"
        " c = Reshape(b, t) d = Reshape(x, t) y = Add(c, d) }",
        [("Reshape", "[1, 2, 3]", "[0, 2, 3]")],
    ),
    "a computed target with a baked piece": (
        "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] rest = {-1}> {"
        " t = Concat <axis = 0> (one, two, rest) y = Reshape(x, t) }",
        [("Reshape", "[1, 2, -1]", "[0, 2, -1]")],
    ),
    "a computed target that follows the batch already": (
        "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[1] z = {0}, int64[1] two = {2}, int64[1] rest = {-1}> {"
        " s = Shape(x) n = Gather(s, z) t = Concat <axis = 0> (n, two, rest) y = Reshape(x, t) }",
        [],
    ),
    "an Expand to a baked batch of several": (
        "g (float[2, 1, 3] x) => (float[2, 4, 3] y) <int64[3] s = {2, 4, 3}> { y = Expand(x, s) }",
        [("Expand", "[2, 4, 3]", "[1, 4, 3]")],
    ),
    "an Expand that copies the sample": (
        "g (float[1, 3] x) => (float[4, 3] y) <int64[2] s = {4, 3}> { y = Expand(x, s) }",
        [("Expand", "one axis", "N x 4 at axis 0")],
    ),
    "a mask of zeros beside the batch": (
        "g (float[1, 3] x) => (float[1, 6] y) <int64[2] s = {1, 3}> {"
        " m = ConstantOfShape(s) y = Concat <axis = 1> (x, m) }",
        [("Concat", "[1, 3]", "spread over N at axis 0")],
    ),
    "a class token in front of the sequence": (
        "g (float[1, 2, 3] x) => (float[1, 3, 3] y) <float[1, 1, 3] token = {7, 8, 9}> {"
        " y = Concat <axis = 1> (token, x) }",
        [("Concat", "[1, 1, 3]", "spread over N at axis 0")],
    ),
    "a Slice of the whole batch": (
        "g (float[1, 3] x) => (float[1, 2] y) <int64[2] a = {0, 0}, int64[2] b = {1, 2}, int64[2] c = {0, 1}> {"
        " y = Slice(x, a, b, c) }",
        [("Slice", "[1, 2]", f"[{2**63 - 1}, 2]")],
    ),
    "a Resize by sizes": (
        "g (float[1, 1, 2, 2] x) => (float[1, 1, 4, 4] y) <int64[4] s = {1, 1, 4, 4}> {"
        ' y = Resize <mode = "nearest"> (x, , , s) }',
        [("Resize", "[1, 1, 4, 4]", "[N, 1, 4, 4]")],
    ),
    "the numbers of the samples in a GatherND": (
        "g (float[1, 4, 3] x, int64[1, 1] last) => (float[1, 3] y) <int64[1, 1] zero = {0}> {"
        " i = Concat <axis = 1> (zero, last) y = GatherND(x, i) }",
        [("Concat", "[1, 1]", "spread over N at axis 0"), ("GatherND", "0", "1 * (0 to N - 1)")],
    ),
    "offsets into a flattened batch": (
        "g (float[1, 4, 3] x, int64[1, 2] i) => (float[1, 2, 3] y) <int64[2] t = {4, 3}> {"
        " f = Reshape(x, t) y = Gather <axis = 0> (f, i) }",
        [("Reshape", "[4, 3]", "[-1, 3]"), ("Gather", "0", "4 * (0 to N - 1)")],
    ),
    "a Squeeze of everything that is 1": (
        "g (float[1, 1, 3] x) => (float[3] y) { y = Squeeze(x) }",
        [("Squeeze", "Squeeze of [1, 1, 3]", "Reshape [-1]")],
    ),
}


@pytest.mark.parametrize("case", CARRIERS)
def test_each_carrier_of_the_batch(case: str, tmp_path: Path) -> None:
    text, wanted = CARRIERS[case]

    fixed = orx.fix(written(text, tmp_path), batch=True)

    assert [(change.op, change.before, change.after) for change in fixed.changes] == wanted
    assert fixed.certificate.status == "proven"
    onnx.checker.check_model(onnx.load(_saved(fixed, tmp_path)), full_check=True)


def _saved(fixed: Fixed, folder: Path) -> str:
    path = folder / "fixed.onnx"
    orx.save(fixed.model, path)
    return str(path)


def test_the_states_of_a_recurrence(tmp_path: Path) -> None:
    """Initial states that are zeros of one sample are spread, whatever made them."""
    text = (
        "g (float[5, 1, 2] x) => (float[5, 1, 1, 3] y, float[1, 1, 3] h)"
        f" <float[1, 12, 2] w = {_numbers(24)}, float[1, 12, 3] r = {_numbers(36)}, int64[3] d = {{1, 1, 3}}> {{"
        " z = ConstantOfShape(d) y, h = LSTM <hidden_size = 3> (x, w, r, , , z, z) }"
    )

    fixed = orx.fix(written(text, tmp_path), batch={"x": 1})

    assert [change.after for change in fixed.changes] == ["spread over N at axis 1"] * 2
    shapes = [list(value.shape or ()) for value in fixed.model.ir.graph.outputs]
    assert [[str(dim) for dim in shape] for shape in shapes] == [["5", "1", "N", "3"], ["1", "N", "3"]]


def _numbers(count: int) -> str:
    return "{" + ", ".join(f"{(7 * place % 11 - 5) / 10}" for place in range(count)) + "}"


def test_a_choice_that_a_later_node_cannot_live_with_is_taken_back(tmp_path: Path) -> None:
    """[1, 1, 6] has two places for the batch, and only the second one goes through the softmax over axis 0."""
    text = (
        "g (float[1, 6] x) => (float[1, 1, 6] y) <int64[3] t = {1, 1, 6}> {"
        " h = Reshape(x, t) y = Softmax <axis = 0> (h) }"
    )

    fixed = orx.fix(written(text, tmp_path), batch=True, certify=False)

    assert [change.after for change in fixed.changes] == ["[1, -1, 6]"]


def test_a_batch_of_several(tmp_path: Path) -> None:
    """A constant that repeats the same row for each of two samples is cut to one, and single samples are certified."""
    text = (
        "g (float[2, 3] x) => (float[2, 1, 3] y) <float[2, 3] m = {1, 2, 3, 1, 2, 3}, int64[3] t = {2, 1, 3}> {"
        " h = Add(x, m) y = Reshape(h, t) }"
    )

    fixed = orx.fix(written(text, tmp_path), batch=True)

    assert [change.after for change in fixed.changes] == ["the first 1 at axis 0", "[0, 1, 3]"]
    assert {tuple(each.items()) for each in fixed.certificate.compared} == {
        (("N", 1),),
        (("N", 2),),
        (("N", 4),),
        (("N", 6),),
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "g (float[2, 3] x) => (float[2, 3] y) <float[2, 3] m = {1, 2, 3, 4, 5, 6}> { y = Add(x, m) }",
            "n (Add): its input m is another constant for each of the 2 samples",
        ),
        (
            "g (float[1, 3] x) => (float[3, 3] y) { t = Transpose(x) y = MatMul(t, x) }",
            "n (MatMul) mixes the samples: it sums over axis 1, which is N",
        ),
        (
            "g (float[1, 3] x) => (float[1, 3] y) { y = Softmax <axis = 0> (x) }",
            "n (Softmax) mixes the samples: its sum runs along axis 0, which is N",
        ),
        (
            "g (float[1, 3] x) => (float[3] y) <int64[1] f = {-1}>"
            "{ t = Transpose(x) a = Reshape(x, f) b = Reshape(t, f) y = Add(a, b) }",
            "n (Add) mixes the samples: its inputs carry N at different places, axis 0 (3*N, N inside 3) and "
            "axis 0 (3*N, N outermost), so each sample would meet all others",
        ),
        (
            "g (float[1, 3] x) => (int64[2, k] y) { y = NonZero(x) }",
            "n (NonZero): it lists the places of all samples that are not 0 one after the other, and how many each has "
            "depends on it",
        ),
        (
            "g (float[1, 1, 1, 2] x) => (float[1, 1, 1, 4] y) <int64[1, 1, 1, 2] at = {0, 3}>"
            " { y = MaxUnpool <kernel_shape = [1, 2], strides = [1, 2]> (x, at) }",
            "n (MaxUnpool): its indices count through all samples",
        ),
        (
            "g (float[1, 3] x) => (int64[2] y) { y = Shape(x) }",
            "n (Shape): the output y would give the size of the whole batch",
        ),
        (
            "g (float[1, 3] x) => (float[1, 3] y)"
            " <int64[1] s = {-1}, int64[1] e = {-9223372036854775807}, int64[1] a = {0}> { y = Slice(x, s, e, a, s) }",
            "n (Slice): it reverses axis 0, which is N, so that the samples come out in another order",
        ),
        (
            "g (float[4, 3] x) => (float[2, 3] y)"
            " <int64[1] s = {1}, int64[1] e = {3}, int64[1] a = {0}> { y = Slice(x, s, e, a) }",
            "n (Slice) mixes the samples: it takes a part of axis 0, which is N",
        ),
        (
            "g (float[2, 3] x) => (float[2, 3] y) <int64[2] i = {1, 0}> { y = Gather(x, i) }",
            "n (Gather) mixes the samples: it picks by i from the 2 samples that the model was exported with, and not "
            "from each sample its own; an export of one sample may be freed",
        ),
        (
            "g (float[2, 3] x) => (float[3] y) <int64 i = {1}> { y = Gather(x, i) }",
            "n (Gather): it picks by i from the 2 samples that the model was exported with, and not from each sample "
            "its own; an export of one sample may be freed",
        ),
        (
            "g (float[1, 12] x, bool[4] m, bool[6] k) => (float[b, c] y)"
            " <int64[1] f = {12}, int64[2] r = {-1, 1}, int64[2] s = {1, -1}>"
            "{ i = NonZero(m) p = Reshape(i, r) j = NonZero(k) q = Reshape(j, s) a = Add(p, q) z = Reshape(x, f)"
            " y = Gather(z, a) }",
            "n (Gather): the sizes N*i[1] and j[1] would have to be computed",
        ),
        (
            "g (float[1, 4] x, bool[4] m) => (float[1, b] y) <int64[2] s = {1, -1}>"
            "{ i = NonZero(m) t = Transpose(i) e = Flatten(t) y = GatherElements <axis = 1> (x, e) }",
            "n (GatherElements): its inputs have 1 and i[1] entries at axis 0, where the batch is",
        ),
    ],
)
def test_what_cannot_be_freed_is_named(text: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(FixError) as refusal:
        orx.fix(written(text, tmp_path), batch=True)

    assert refusal.value.sentence == sentence
    assert not refusal.value.usage


def test_a_sound_model_is_the_model_itself(tmp_path: Path) -> None:
    text = (
        "g (float[N, 4, 3] x, int64[N] last) => (float[N, 3] y)"
        " <int64 z = {0}, int64 one = {1}, int64[1] a = {1}, int64[1] zero = {0}> {"
        " s = Shape(x) n = Gather(s, z) r = Range(z, n, one) b = Unsqueeze(r, a) e = Unsqueeze(last, a)"
        " i = Concat <axis = 1> (b, e) y = GatherND(x, i) }"
    )
    path = Path(written(text, tmp_path))
    model = orx.load(path)

    assert orx.fix(model, batch=True).model is model
    assert orx.fix(model, batch=True, simplify=True).model is model


def test_a_dynamic_input_with_a_baked_constant_is_repaired(tmp_path: Path) -> None:
    """The exporter named the dim, and wrote 1 into the constant all the same."""
    text = "g (float[s77, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"

    fixed = orx.fix(written(text, tmp_path), batch=True)

    assert [change.message for change in fixed.changes] == ["s77 is forced to 1 by n: shape[0] = 1"]
    shape = fixed.model.ir.graph.outputs[0].shape
    assert shape is not None
    assert str(shape[0]) == "s77"


def test_the_model_that_is_given_stays_as_it_was(tmp_path: Path) -> None:
    model = orx.load(written(CARRIERS["heads merged into the batch are a factor of it"][0], tmp_path))
    before = onnx.load(model.path)

    orx.fix(model, batch=True)
    plan(model, batch=True)

    orx.save(refreshed(model), tmp_path / "again.onnx")
    assert onnx.load(tmp_path / "again.onnx") == before


def test_the_answers_of_the_repaired_model(tmp_path: Path) -> None:
    """By hand, without the certificate."""
    text = CARRIERS["the numbers of the samples in a GatherND"][0]
    fixed = orx.fix(written(text, tmp_path), batch=True, certify=False)
    x, last = np.arange(24, dtype=np.float32).reshape(2, 4, 3), np.array([[3], [0]])

    (y,) = session(_saved(fixed, tmp_path), optimized=True).run(None, {"x": x, "last": last})

    assert y.tolist() == [x[0, 3].tolist(), x[1, 0].tolist()]


def test_nothing_asked(tmp_path: Path) -> None:
    with pytest.raises(ReshapeError, match="fix was not told what to do"):
        orx.fix(written(CARRIERS["a class token in front of the sequence"][0], tmp_path))


def test_functions_are_freed_where_they_are_called(tmp_path: Path) -> None:
    made = proto("g (float[1, 6] x) => (float[1, 2, 3] y) { y = local.split(x) }")
    function = onnx.parser.parse_function(
        '<domain: "local", opset_import: ["" : 18]> split (x) => (y) {'
        " t = Constant <value_ints = [1, 2, 3]> () y = Reshape(x, t) }"
    )
    made.functions.append(function)
    path = tmp_path / "m.onnx"
    onnx.save(made, path)

    fixed = orx.fix(path, batch=True)

    assert [change.after for change in fixed.changes] == ["[0, 2, 3]"]


class TestSimplify:
    """Alone, nothing is freed: both models answer the same at every size that is tried."""

    TEXT = (
        "g (float[N, S, 6] x) => (float[N, S, 2, 3] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[2] k = {2, 3}> {"
        " s = Shape(x) n = Gather(s, zero) l = Gather(s, one) t = Concat <axis = 0> (n, l, k) y = Reshape(x, t) }"
    )

    def test_at_several_sizes(self, tmp_path: Path) -> None:
        fixed = orx.fix(written(self.TEXT, tmp_path), simplify=True)

        assert [(change.code, change.after) for change in fixed.changes] == [("foldable-target", "[0, 0, 2, 3]")]
        assert fixed.certificate.kind == "same"
        assert len(fixed.certificate.compared) == 4
        assert fixed.certificate.ran == ()

    def test_a_wrong_simplification_is_not_certified(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Planted: the last two axes exchanged, which one size alone would not show if they were equal."""
        from onereshape.repair.simpler import simplify as module

        right = module.simplify

        def wrong(model: ir.Model) -> list[Change]:
            changes = right(model)
            node = next(node for node in model.graph if node.op_type == "Reshape")
            tensor = ir.tensor(np.array([0, 0, 3, 2]), name="wrong")
            value = ir.Value(name="wrong", const_value=tensor)
            model.graph.register_initializer(value)
            node.replace_input_with(1, value)
            return changes

        monkeypatch.setattr(module, "simplify", wrong)
        with pytest.raises(FixError, match="not certified: output 'y' has dims") as refusal:
            orx.fix(written(self.TEXT, tmp_path), simplify=True)

        assert refusal.value.certificate.status == "differs"

    def test_the_terms_are_those_of_the_original(self, tmp_path: Path) -> None:
        certificate = orx.fix(written(self.TEXT, tmp_path), simplify=True).certificate

        assert certificate.status == "proven"
        assert {0, 1} <= {sizes["N"] for sizes in certificate.proof.sizes}

    def test_a_wrong_simplification_behind_a_gate(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Planted where no drawn value gets: onnxruntime sees nothing, the terms do."""
        from onereshape.repair.simpler import simplify as module

        right = module.simplify

        def wrong(model: ir.Model) -> list[Change]:
            changes = right(model)
            next(node for node in model.graph if node.op_type == "Neg").op_type = "Abs"
            return changes

        gate = " c = Greater(x, limit) a = Neg(x) b = Where(c, a, x) y = Reshape(b, t) }"
        text = self.TEXT.replace(" y = Reshape(x, t) }", gate).replace(
            "<int64[1]", "<float limit = {1e20}, int64[1]", 1
        )
        monkeypatch.setattr(module, "simplify", wrong)
        with pytest.raises(FixError, match=r"output 'y' is another expression at .* from Abs .* on") as refusal:
            orx.fix(written(text, tmp_path), simplify=True)

        assert refusal.value.certificate.status == "not proven"

    def test_only_onnx(self, tmp_path: Path) -> None:
        path = tmp_path / "m.json"
        path.write_text('{"version": "3.0.0", "graph": []}', encoding="utf-8")

        with pytest.raises(ReshapeError):
            orx.fix(path, simplify=True)


class TestWithoutACopy:
    """A model that nobody needs any more is rewritten itself."""

    BAKED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(x, t) }"
    FREE = "g (float[N, 6] x) => (float[N, 2, 3] y) <int64[3] t = {0, 2, 3}> { y = Reshape(x, t) }"
    UNSORTED = "g (float[1, 6] x) => (float[1, 2, 3] y) <int64[3] t = {1, 2, 3}> { y = Reshape(a, t) a = Relu(x) }"

    def saved(self, fixed: Fixed, path: Path) -> bytes:
        orx.save(fixed.model, path)
        return path.read_bytes()

    @pytest.mark.parametrize("certify", [False, True])
    def test_what_is_given_stays_as_it_is(self, tmp_path: Path, certify: bool) -> None:
        path = written(self.BAKED, tmp_path)
        given = orx.load(path)
        fixed = orx.fix(given, batch=True, certify=certify)
        assert fixed.model.ir is not given.ir
        orx.save(given, tmp_path / "again.onnx")

        assert (tmp_path / "again.onnx").read_bytes() == Path(path).read_bytes()

    def test_the_same_file_is_written(self, tmp_path: Path) -> None:
        path = written(self.BAKED, tmp_path)
        files = [
            self.saved(orx.fix(orx.load(path), batch=True, certify=False), tmp_path / "copied.onnx"),
            self.saved(orx.fix(orx.load(path), batch=True, certify=False, copy=False), tmp_path / "spent.onnx"),
            self.saved(orx.fix(path, batch=True, certify=False), tmp_path / "read.onnx"),
            self.saved(orx.fix(path, batch=True), tmp_path / "certified.onnx"),
        ]
        assert len(set(files)) == 1

    def test_it_is_the_model_itself(self, tmp_path: Path) -> None:
        given = orx.load(written(self.BAKED, tmp_path))
        fixed = orx.fix(given, batch=True, certify=False, copy=False)

        assert fixed.model is not given
        assert fixed.model.ir is given.ir
        assert fixed.model.reshapes[0].target == (0, 2, 3)

    def test_nothing_to_do(self, tmp_path: Path) -> None:
        path = written(self.FREE, tmp_path)
        given = orx.load(path)
        fixed = orx.fix(given, batch=True, certify=False, copy=False)

        assert fixed.model is given
        assert self.saved(fixed, tmp_path / "again.onnx") == Path(path).read_bytes()

    def test_a_graph_out_of_order_is_sorted_in_the_same_way(self, tmp_path: Path) -> None:
        path = written(self.UNSORTED, tmp_path)
        fixed = [orx.fix(orx.load(path), batch=True, certify=False, copy=copy) for copy in (True, False)]
        order = [[node.op_type for node in each.model.ir.graph] for each in fixed]

        assert order[0] == order[1]
        assert self.saved(fixed[0], tmp_path / "one.onnx") == self.saved(fixed[1], tmp_path / "other.onnx")

    def test_what_breaks_half_way_is_judged_by_what_was_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken(model: ir.Model, *_: object) -> None:
            model.graph.node(0).op_type = "NoSuchOperator"  # a sound model made unsound by us is not its file's mistake
            raise ZeroDivisionError

        monkeypatch.setattr("onereshape.repair.batch_work.apply_batch", broken)
        path = written(self.BAKED, tmp_path)
        with pytest.raises(ZeroDivisionError):
            orx.fix(path, batch=True, certify=False)
