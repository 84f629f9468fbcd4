"""Why engines differ, as data: which engines, in answer to what, and the reason in one line.

A row speaks of the engines it names (or all of a package), of the cases or groups it names, and of the codes with which
the specification refuses; "accepted" stands for a case that it accepts.  The first row that fits is the one.
"""

from __future__ import annotations

from dataclasses import dataclass

from onereshape.backends.conformance.case_table import Case
from onereshape.backends.conformance.engines import Engine
from onereshape.backends.conformance.questions import Answer


@dataclass(frozen=True, slots=True)
class Reason:
    """A row of the table of reasons: its words, and the engines, codes, groups and cases that it speaks of."""

    words: str
    engines: tuple[str, ...]
    codes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()

    def fits(self, engine: Engine, case: Case, code: str) -> bool:
        return (
            bool({engine.name, engine.package} & set(self.engines))
            and code in (self.codes or (code,))
            and case.group in (self.groups or (case.group,))
            and case.name in (self.cases or (case.name,))
        )


_REFERENCE = ("onnx-reference-24", "onnx-reference-13")
_INFERENCE = ("onnx-inference-24", "onnx-inference-13")
_CORE = ("openvino-inference", "openvino-evaluate", "openvino-cpu-static")
_CPU = ("openvino-cpu", "openvino-cpu-constant", "openvino-cpu-static")
_EMPTY_AND_LARGE = ("ovf_with_zero", "ovf_neg1_empty")

REASONS: tuple[Reason, ...] = (
    # onnx
    Reason(
        "numpy.reshape infers whichever dim is negative, and the reference evaluator is a call of it.",
        (*_REFERENCE, "numpy"),
        codes=("below-minus-one",),
    ),
    Reason(
        "NumPy counts the bytes of an empty array without its zeros, and refuses what leaves int64.",
        (*_REFERENCE, "numpy"),
        cases=_EMPTY_AND_LARGE,
    ),
    Reason("No array of NumPy has more than 64 dims.", (*_REFERENCE, "numpy"), cases=("rank_65",)),
    Reason("The type of the shape tensor is not checked; NumPy takes any integers.", _REFERENCE, codes=("shape-type",)),
    Reason("NumPy takes a 0-d target for a list of one, if no 0 is to be looked for.", _REFERENCE, cases=("shape_0d",)),
    Reason(
        "allowzero counts as set only if it is 1, and other values are not refused.",
        (*_REFERENCE, "onnxruntime"),
        codes=("bad-attribute",),
    ),
    Reason(
        "The inference function returns the dims asked for; it looks at the volume only to infer a -1.",
        _INFERENCE,
        codes=("volume",),
    ),
    Reason(
        "The dims are multiplied one after the other, and the product leaves int64 on its way to 0.",
        (*_INFERENCE, "onnxruntime"),
        cases=_EMPTY_AND_LARGE,
    ),
    Reason("A constant shape of any rank is read as a flat list.", _INFERENCE, codes=("shape-rank",)),
    Reason("allowzero counts as set unless it is 0, and other values are not refused.", _INFERENCE, ("bad-attribute",)),
    Reason("An attribute that opset 13 does not have is ignored.", _INFERENCE, codes=("unknown-attribute",)),
    # ONNX Runtime
    Reason(
        "For empty data the kernel leaves zeros out of both products; a constant target is refused before.",
        ("onnxruntime-24",),
        codes=("zero-with-inferred",),
    ),
    Reason("ONNX Runtime has no complex tensors.", ("onnxruntime",), cases=("data_complex64",)),
    # OpenVINO
    Reason(
        "The core compares volumes only for a pattern without -1 and without a 0 that copies; whoever executes goes on "
        "with it, past the end of data or of the output.",
        _CORE,
        codes=("volume",),
        groups=("Zeros", "Empty data"),
    ),
    Reason(
        "Both volumes are 0, so the core drops both, and infers 1 from two empty products.",
        _CORE,
        codes=("zero-with-inferred",),
    ),
    Reason(
        "The CPU plugin infers 0 where the product of the other dims is 0.",
        ("openvino-cpu",),
        codes=("zero-with-inferred",),
    ),
    Reason(
        "The compiler knows that the one dim must be the volume, and replaces a run-time pattern of one entry by -1.",
        ("openvino-cpu",),
        cases=("vol_mismatch", "nonempty_to_empty", "scalar_to_2", "zero_on_scalar"),
    ),
    Reason("The CPU plugin holds a scalar as data of dims [1].", ("openvino-cpu",), cases=("zero_1_on_scalar",)),
    Reason(
        "A 0 beyond the rank of data is taken as it stands.",
        ("openvino-cpu",),
        codes=("copy-beyond-rank",),
        groups=("Empty data",),
    ),
    Reason(
        "The CPU plugin divides with truncation and then compares volumes, which are 0 whatever it got.",
        ("openvino-cpu", "openvino-cpu-constant"),
        cases=("empty_0_neg1_7",),
    ),
    Reason(
        "Of the sizes only the volume is checked, which is 0 whatever the others are.",
        ("openvino-cpu",),
        cases=("empty_0_neg2",),
    ),
    Reason(
        "A run-time pattern is converted to int32, and its entries lose their high bits.",
        ("openvino-cpu",),
        cases=("i64min", "ovf_wrap_equal", "ovf_int32", *_EMPTY_AND_LARGE),
    ),
    Reason("The largest int64 stands for a bound that is not known.", _CORE, cases=("ovf_req",)),
    Reason("The product saturates, and is then taken for a bound that is not known.", _CORE, cases=("ovf_neg1",)),
    Reason(
        "The core divides in double, which holds integers up to 2^53.",
        ("openvino-inference",),
        cases=("exact_quotient", "exact_remainder", "exact_last_digit"),
    ),
    Reason("The product saturates on its way to 0, and stays so.", _CORE, cases=("ovf_with_zero",)),
    Reason("The core makes no tensor of such dims, though it is empty.", ("openvino-evaluate",), ("accepted",)),
    Reason(
        "A constant pattern is converted to int32, and its entries are cut to the largest one.",
        ("openvino-cpu-constant", "openvino-cpu-static"),
        cases=_EMPTY_AND_LARGE,
    ),
    Reason("The CPU plugin keeps a bit for each dim in 32 bits.", _CPU, groups=("Ranks",)),
    Reason("A u64 entry is read as signed, so the largest is -1.", ("openvino",), cases=("shape_uint64_max",)),
    Reason("Data may be of any type at all; the specification says numeric.", ("openvino",), cases=("data_string",)),
    Reason(
        "The reader takes a missing special_zero for false, the opposite of what ONNX does without allowzero.",
        ("openvino-inference",),
        codes=("missing-attribute",),
    ),
    # oneDNN
    Reason(
        "Elements are counted in 32 bits (in 64 since 3.13): a product beyond them is another number, which is "
        "refused, inferred from, or let through to a compiler that aborts.",
        ("onednn",),
        groups=("Large sizes",),
    ),
    Reason(
        "A logical tensor has room for 12 dims, and what infers more of them writes past its end.",
        ("onednn",),
        groups=("Ranks",),
    ),
    # Array libraries
    Reason("The product leaves int64 before its 0, or wraps to one.", ("torch",), cases=_EMPTY_AND_LARGE),
    Reason("The product leaves int64 before its 0, and XLA ends the process.", ("jax",), cases=_EMPTY_AND_LARGE),
)


def reason(engine: Engine, case: Case, expected: Answer) -> str:
    """Why the engine differs from the expected answer, as far as it is known."""
    code = expected.why if expected.kind == "refused" else "accepted"
    return next((row.words for row in REASONS if row.fits(engine, case, code)), "")
