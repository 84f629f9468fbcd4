"""Reshape of free sizes: all ways to read its target, and how it grows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from onereshape.graphs.edit import Edit
from onereshape.graphs.free_rules.alignment import Axis, readings, size_of
from onereshape.graphs.free_rules.grown import Growing, Inputs
from onereshape.graphs.free_rules.state import FreeAnswer, shown, sizes
from onereshape.graphs.free_rules.view import FreeView
from onereshape.graphs.node_view import Refused
from onereshape.graphs.rewrite import Rewriter
from onereshape.graphs.words import meant
from onereshape.rule.sizes import Size, exact, product


def free_reshape(view: FreeView) -> Iterator[FreeAnswer]:
    """The target is rewritten to say the free sizes, unless it does so already."""
    words = list(view.attribute("shape", ())) if view.opset < 5 else view.live(1)
    if None in view.dims(0) or None in view.output():
        yield _as_written(view, words)
        return
    data = tuple(view.state.apart(axis) for axis in view.known(0))
    output = [size for size in view.output() if size is not None]
    if 0 in output:
        raise Refused("it reshapes an empty tensor")
    computed = view.opset >= 5 and view.value(1) in view.state.contents
    if computed and (stands := _stands(view, data, words)) is not None:
        yield FreeAnswer((_with_factors(view, data, stands, output),))  # computed from shapes, and right
        return
    inferred = words.index(-1) if words is not None and -1 in words else None
    found, rules = False, view.state.rules
    for reading in readings(data, output, view.state.then, inferred):
        view.state.rules = rules
        if all(view.same(one, other) for one, other in reading.conditions):
            found = True
            wanted = [size_of(axis) for axis in reading.axes]
            edits = () if _right(view, data, words, wanted) else _rewritten(view, data, wanted, words)
            yield FreeAnswer((reading.axes,), edits, reading.alone)
    if not found:
        view.state.rules = rules
        raise Refused(f"where {shown(sizes(data))} goes in its output {shown(output)} cannot be told")


def _as_written(view: FreeView, words: Sequence[Size | None] | None) -> FreeAnswer:
    """Where a dim is not known: the words as they are, if none of them could be a free size."""
    output, dims = view.output(), view.dims(0)
    if words is None or not any(word is not None for word in words):
        return FreeAnswer((tuple([None] * len(output)),))
    literal = bool(view.attribute("allowzero", 0))
    copied = [dims[axis] if word == 0 and not literal else None for axis, word in enumerate(words)]
    left, tail = _behind(view, dims, words)
    for axis, word in enumerate(words[: len(words) - len(tail)]):
        if isinstance(word, int) and word > 1:
            why = f"a size of {view.value(0).name} is not known, so shape[{axis}] = {word} cannot be decided"
            raise Refused(why)
    if any(axis is not None and view.move(size_of(axis)) for axis in dims[:left]) and len(tail) < len(words) - 1:
        raise Refused(f"a size of {view.value(0).name} is not known, so its target {shown(words)} cannot be decided")
    for axis, word in enumerate(words):
        if word is not None and word not in {0, -1}:
            copied[axis] = (word,)
    return FreeAnswer((tuple(copied),))


def _behind(
    view: FreeView, dims: Sequence[Axis | None], words: Sequence[Size | None]
) -> tuple[int, Sequence[Size | None]]:
    """The longest end of the words that holds as many elements as some last dims of data, all of them numbers."""
    left, best = len(dims), list[Size | None]()
    data: Size = 1
    for place in reversed(range(len(dims))):
        own = dims[place]
        if own is None or view.move(size_of(own)):
            break
        data = data * size_of(own)
        said: Size = 1
        for axis in reversed(range(len(words))):
            word = words[axis]
            if not isinstance(word, int) or word <= 0:
                break
            said = said * word
            if said == data:
                left, best = place, list(words[axis:])
    return left, best


def _stands(view: FreeView, data: Sequence[Axis], words: Sequence[Size | None] | None) -> list[Size] | None:
    """The sizes that the words give as they are, if they give as many elements as data has."""
    if words is None or None in words:
        return None
    found = [size for size in _said(view, data, words) if size is not None]
    total = product(map(size_of, data))
    if -1 in found:
        place = found.index(-1)
        others = [size for axis, size in enumerate(found) if axis != place]
        rest = exact(total, product(others), [*map(size_of, data), *others])
        if rest is None:
            return None
        found[place] = rest
    return found if view.state.same(product(found), total) else None


def _right(view: FreeView, data: Sequence[Axis], words: Sequence[Size | None] | None, wanted: Sequence[Size]) -> bool:
    """Whether the words give these sizes; a -1 does if all others do."""
    if words is None or len(words) != len(wanted):
        return False
    pairs = zip(_said(view, data, words), wanted, strict=True)
    return all(said == -1 or (said is not None and view.state.same(said, size)) for said, size in pairs)


def _said(view: FreeView, data: Sequence[Axis], words: Sequence[Size | None]) -> list[Size | None]:
    return meant([*map(size_of, data)], words, zero_copies=not view.attribute("allowzero", 0))


def _with_factors(
    view: FreeView, data: Sequence[Axis], stands: Sequence[Size], output: Sequence[Size]
) -> tuple[Axis, ...]:
    """The dims with their factors, as far as these can be read."""
    for reading in readings(data, output, view.state.then):
        if all(view.state.same(size_of(axis), size) for axis, size in zip(reading.axes, stands, strict=True)):
            return reading.axes
    return tuple((size,) for size in stands)


def _rewritten(
    view: FreeView, data: Sequence[Axis], wanted: Sequence[Size], before: Sequence[Size | None] | None
) -> tuple[Edit, ...]:
    """The edit that makes the output of a Reshape have the wanted dims: by numbers, 0, -1, or computed entries."""
    words = [_word(view, data, axis, size, before) for axis, size in enumerate(wanted)]
    missing = [axis for axis, word in enumerate(words) if word is None]
    hard = [axis for axis in missing if not view.computes([wanted[axis]])]
    if len(hard) > 1 or (view.opset < 5 and len(missing) > 1):
        raise Refused(f"its output {shown(wanted)} cannot be said")
    kept = before.index(-1) if before is not None and -1 in before else None
    if len(missing) == 1:
        hard = missing
    elif not missing and kept is not None:
        hard = [kept]
    beside = [None if axis in hard else word for axis, word in enumerate(words)]
    if hard and _takes_empty(view, data, beside, before) and view.computes([wanted[axis] for axis in hard]):
        hard = []
    entries: list[Size] = [
        -1 if axis in hard else wanted[axis] if word is None else word for axis, word in enumerate(words)
    ]
    return (_edit(view, entries, wanted, before),)


def _takes_empty(
    view: FreeView, data: Sequence[Axis], words: Sequence[int | None], before: Sequence[Size | None] | None
) -> bool:
    """Whether a -1 would stand beside a copied dim that may be 0, and did not before: then it cannot be inferred."""
    if view.opset < 5 or (before is not None and -1 in before and _copies_empty(view, data, before)):
        return False
    return _copies_empty(view, data, words)


def _copies_empty(view: FreeView, data: Sequence[Axis], words: Sequence[Size | None]) -> bool:
    """Whether a dim is copied that has a name in the original, which so takes any size of it."""
    copied = [size_of(data[axis]) for axis, word in enumerate(words) if word == 0 and axis < len(data)]
    return any(not isinstance(view.state.then(size), int) for size in copied)


def _word(
    view: FreeView, data: Sequence[Axis], axis: int, size: Size, before: Sequence[Size | None] | None
) -> int | None:
    """The entry of a target for a dim: its number, 0 where the dim is copied; None where only -1 or a formula fits."""
    copied = axis < len(data) and view.state.same(size_of(data[axis]), size)
    if isinstance(size, int):
        return 0 if copied and before is not None and axis < len(before) and before[axis] == 0 else size
    return 0 if copied else None


def _edit(view: FreeView, entries: list[Size], wanted: Sequence[Size], before: Sequence[Size | None] | None) -> Edit:
    node, flag = view.node, bool(view.attribute("allowzero", 0))
    code, message = _diagnosis(view, wanted, before)
    if view.opset < 5:
        numbers = [entry for entry in entries if isinstance(entry, int)]
        return view.set_attribute("shape", message, before or (), numbers).reported(code=code)

    def apply(writer: Rewriter) -> None:
        node.replace_input_with(1, writer.vector(entries))
        if flag and 0 in entries:
            node.attributes.pop("allowzero")

    change = replace(view.change(view.value(1), message, shown(before), shown(entries)), code=code)
    return Edit((change,), apply, node, 1, entries=tuple(entries))


def _diagnosis(view: FreeView, wanted: Sequence[Size], before: Sequence[Size | None] | None) -> tuple[str, str]:
    """The code of the finding, and how the target as written loses a freed size, or fixes it, in words."""
    moving = [axis for axis, size in enumerate(wanted) if view.move(size)]
    axis = next((each for each in moving if before is not None and before[each] not in (0, -1, wanted[each])), None)
    if before is None or axis is None:
        return "baked-dim", f"{shown([wanted[each] for each in moving])} is lost in the target of {view.label}"
    if -1 in before:
        lost = before.index(-1)
        why = f"the -1 at shape[{lost}] swallows {wanted[axis]}, which belongs in shape[{axis}] = {before[axis]}"
        return "absorbed-dim", f"{view.label}: {why}"
    return "baked-dim", view.forced(wanted[axis], f"shape[{axis}]", before[axis])


def grow_reshape(growing: Growing) -> Inputs:
    """A dim that is a dim of data too: both begin and end at the same place in row-major order."""
    view = growing.view
    target = view.integers(1) if view.opset >= 5 else None
    output, data = view.output(), sizes(view.dims(0))
    if target is None or None in output or None in data or len(target) != len(output):
        raise Refused(f"the target of {view.label} is not a constant")
    own: dict[int, Size] = {}
    entries: list[Size] = list(target)
    for axis, size in growing.wanted.items():
        place = _counterpart(data, output, axis)
        if place is None:
            raise Refused(f"{view.label} makes the {output[axis]} at axis {axis} of other dims, where {size} is needed")
        own[place] = size
        if target[axis] > 0:
            entries[axis] = size
    found = {0: growing.exactly(0, own)}
    if entries != target:
        found[1] = growing.vector(1, entries, "shape")
    return found, {}


def _counterpart(data: Sequence[Size | None], output: Sequence[Size | None], axis: int) -> int | None:
    before = _product(output[:axis])
    for place, size in enumerate(data):
        if size == output[axis] and size != 1 and _product(data[:place]) == before:
            return place
    return None


def _product(parts: Sequence[Size | None]) -> Size:
    total: Size = 1
    for part in parts:
        total = total * (part or 0)
    return total
