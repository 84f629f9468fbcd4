"""Protobuf messages with fields dropped, doubled, moved, retargeted, of another kind, or added where none was."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor  # type: ignore[import-untyped]

from tests.fuzz import odd

_WHOLE = {
    FieldDescriptor.TYPE_INT32: (-(2**31), 2**31 - 1),
    FieldDescriptor.TYPE_INT64: (-(2**63), 2**63 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 2**64 - 1),
}
_BROKEN = {FieldDescriptor.TYPE_FLOAT, FieldDescriptor.TYPE_DOUBLE}


def scrambled(message: Any, random: Random) -> None:
    """Damages one field somewhere in a message."""
    found = list(_parts(message))
    texts = sorted({text for part in found for text in _texts(part)})
    part = random.choice(found)
    present = [field for field, _ in part.ListFields()]
    field = random.choice(present if present and random.random() < 0.8 else part.DESCRIPTOR.fields)
    value = getattr(part, field.name)
    if hasattr(value, "extend"):
        _repeated(value, field, random, texts, found)
    elif random.random() < 0.3:
        part.ClearField(field.name)
    elif field.message_type is not None:
        value.CopyFrom(_another(field.message_type, random, found))
    else:
        setattr(part, field.name, _scalar(field, value, random, texts))


def _parts(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if hasattr(value, "extend") else [value]:
                yield from _parts(each)


def _texts(message: Any) -> Iterator[str]:
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_STRING:
            yield from value if hasattr(value, "extend") else [value]


def _repeated(value: Any, field: Any, random: Random, texts: list[str], found: list[Any]) -> None:
    place = random.randrange(len(value)) if value else 0
    is_message = field.message_type is not None
    match random.randrange(5) if value else 5:
        case 0:
            del value[place]
        case 1:
            value.append(value[place])
        case 2:
            other = random.randrange(len(value))
            kept = list(value)
            kept[place], kept[other] = kept[other], kept[place]
            del value[:]
            value.extend(kept)
        case 3:
            del value[:]
        case 4 if not is_message:
            value[place] = _scalar(field, value[place], random, texts)
        case _:
            made = _another(field.message_type, random, found) if is_message else _scalar(field, None, random, texts)
            value.append(made)


def _another(kind: Any, random: Random, found: list[Any]) -> Any:
    """A message of the same kind from elsewhere, or an empty one."""
    same = [part for part in found if part.DESCRIPTOR is kind]
    made = kind._concrete_class()
    if same and random.random() < 0.8:
        made.CopyFrom(random.choice(same))
    return made


def _scalar(field: Any, value: Any, random: Random, texts: list[str]) -> Any:
    if field.type == FieldDescriptor.TYPE_ENUM:
        known = [each.number for each in field.enum_type.values]
        return random.choice(known)  # protobuf sets no other; damaged bytes hold them
    if field.type in _WHOLE:
        low, high = _WHOLE[field.type]
        return min(max(odd.integer(random), low), high)
    if field.type in _BROKEN:
        return odd.number(random)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return odd.damaged(value or b"", random)
    return odd.text(random, texts)
