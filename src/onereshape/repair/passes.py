"""Repairs as passes of onnx_ir, for a line in an export pipeline.

    onnx_ir.passes.Sequential(..., onereshape.passes.FreeBatch())(model)

A pass changes the model that it is given, as passes of onnx_ir do: it has another graph afterwards.  Where the repair
is refused it is exactly what it was.  A refusal is our own error; a `Sequential` raises its `PassError` from it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import onnx_ir as ir

from onereshape.formats.model import Model, load
from onereshape.graphs.exports import Exports
from onereshape.graphs.request import Batch, Free
from onereshape.ground.isolation.budget import WHOLE
from onereshape.repair.fix import fix
from onereshape.repair.step import Fixed

__all__ = ["FreeBatch", "Simplify"]


class _Repair(ir.passes.InPlacePass):
    """A repair as a pass."""

    fixed: Fixed | None = None
    """What the last call did: its changes, conditions and certificate."""

    def __init__(self, fix: Callable[[Model], Fixed], said: str) -> None:
        self._fix = fix
        self._said = said

    def __repr__(self) -> str:
        """Short, since a PassError has it."""
        return self._said

    def call(self, model: ir.Model) -> ir.passes.PassResult:
        """Repairs the model; `modified` says whether anything had to be done."""
        self.fixed = None
        given = load(model)
        self.fixed = self._fix(given)
        if self.fixed.model is given:
            return ir.passes.PassResult(model, modified=False)
        repaired = self.fixed.model.ir
        functions = dict(repaired.functions)
        model.graph, model.ir_version = repaired.graph, repaired.ir_version
        model.functions.clear()
        model.functions.update(functions)
        return ir.passes.PassResult(model, modified=True)


class FreeBatch(_Repair):
    """Frees the batch of a model, or other dims, as `onereshape.fix` does with the same options.

    >>> import onnx_ir
    >>> model = onnx_ir.load("tests/data/corpus/hand_yolo_head.ts.onnx")
    >>> free = FreeBatch(batch={"x": 0})
    >>> onnx_ir.passes.Sequential(free)(model).modified
    True
    >>> print(model.graph.inputs[0].shape, free.fixed.certificate.status)
    [N,8,16,16] proven
    """

    def __init__(  # noqa: PLR0913 - the options of fix
        self,
        batch: Batch = True,
        free: Free = None,
        *,
        like: Exports = None,
        per_sample: bool = False,
        simplify: bool = False,
        certify: bool = True,
        witness: Exports = None,
        unwitnessed: bool = False,
        new_axis: bool = True,
        thorough: bool = False,
        seed: int = 0,
        timeout: float = WHOLE,
        memory: int | None = None,
    ) -> None:
        asked = {"batch": batch, "free": free}
        said = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value is not None)
        repair = partial(
            fix,
            batch=batch,
            free=free,
            like=like,
            per_sample=per_sample,
            simplify=simplify,
            certify=certify,
            witness=witness,
            unwitnessed=unwitnessed,
            new_axis=new_axis,
            thorough=thorough,
            seed=seed,
            timeout=timeout,
            memory=memory,
        )
        super().__init__(repair, f"FreeBatch({said})")


class Simplify(_Repair):
    """Simplifies the Reshapes of a model, as `onereshape.fix(model, simplify=True)` does."""

    def __init__(
        self, *, certify: bool = True, seed: int = 0, timeout: float = WHOLE, memory: int | None = None
    ) -> None:
        repair = partial(fix, simplify=True, certify=certify, seed=seed, timeout=timeout, memory=memory)
        super().__init__(repair, "Simplify()")
