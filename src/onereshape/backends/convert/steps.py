"""The steps of a plan: a Reshape of a file, and what `translate` has proven equal to it for the dims of its data."""

from __future__ import annotations

from typing import Any

from onereshape.arrays.operator import Reshape
from onereshape.backends.translation import translate
from onereshape.formats.model_data import ReshapeNode
from onereshape.formats.reshape_plan import PlanTensor, ReshapeStep
from onereshape.ground.dtypes import ElementType, named
from onereshape.ground.errors import ReshapeError
from onereshape.rule.dims import MaybeDims
from onereshape.rule.inference import infer
from onereshape.rule.specs import Spec


def operator_of(node: ReshapeNode) -> Reshape:
    """The operator that a file describes, with its target where that is constant; refuses one that is not sound."""
    unknown = [name for name, value in node.attributes.items() if value is None]
    if unknown:
        why = f"the attribute {unknown[0]!r} of {node.name} is given by the caller of its function"
        raise ReshapeError("unsupported-model", why=why)
    op = Reshape(node.spec, **node.attributes)
    if node.spec.target_in == "attribute":
        return op
    if node.target_from == "missing":
        raise ReshapeError("target-missing", spec=node.spec, place="its second input")
    if node.target is None and ", which has dims " in node.target_from:
        why = f"the target of {node.name} is {node.target_from}: a target has exactly 1 dim"
        raise ReshapeError("unsupported-model", why=why)
    if node.target_type not in {None, *node.spec.shape_types}:
        types = " ".join(node.spec.shape_types)
        raise ReshapeError("shape-type", spec=node.spec, type=node.target_type, types=types)
    words = known(node.target)
    return op if words is None else op.bind(words)


def known(target: MaybeDims) -> tuple[int, ...] | None:
    """The integers of a target that is constant."""
    if target is None:
        return None
    words = [word for word in target if isinstance(word, int)]
    return tuple(words) if len(words) == len(target) else None


def planned(node: ReshapeNode, spec: Spec, data: PlanTensor | None, names: tuple[str, str, str]) -> ReshapeStep:
    """The step for a Reshape; `data` is what an earlier step gives it, `names` are those of data, shape and output.

    An error has the name of the node as a note.
    """
    try:
        return _planned(node, spec, data, names)
    except ReshapeError as error:
        error.add_note(f"node    {node.name}")
        raise


def _planned(node: ReshapeNode, spec: Spec, data: PlanTensor | None, names: tuple[str, str, str]) -> ReshapeStep:
    before = operator_of(node)
    assumed = data is None and node.element_type is None
    if data is None:
        data = PlanTensor(names[0], node.data, element_type(node))
    after = translate(before, spec, data=data.dims, dtype=data.type)
    target = None
    if after.target is None:
        length = None if node.target is None else len(node.target)
        target = PlanTensor(names[1], (length,), _named(spec.shape_types[0]))
    flags: dict[str, Any] = {name: value for name, value in before.attributes.items() if name != "shape"}
    words = node.target if before.target is None else before.target
    output = _merged(infer(data.dims, words, node.spec, **flags).dims, node.output)
    return ReshapeStep(node.name, before, after, data, target, PlanTensor(names[2], output, data.type), assumed)


def _merged(inferred: MaybeDims, declared: MaybeDims) -> MaybeDims:
    """The inferred dims, and the declared ones where nothing was inferred."""
    if inferred is None or declared is None or len(inferred) != len(declared):
        return declared if inferred is None else inferred
    return tuple(said if dim is None else dim for dim, said in zip(inferred, declared, strict=True))


def element_type(node: ReshapeNode) -> ElementType:
    """The type of data; float32, which every Reshape takes, where nobody can tell it."""
    return _named("float32" if node.element_type is None else node.element_type)


def _named(name: str) -> ElementType:
    found = named(name)
    if found is None:
        raise ReshapeError("unsupported-model", why=f"{name!r} is not an element type that is known here")
    return found
