"""JSON values and XML elements with members dropped, doubled, moved, or of another kind."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any
from xml.etree import ElementTree as ET

from tests.fuzz import odd

_DIGITS = "a number of 5000 digits"


def scrambled_json(value: Any, random: Random) -> Any:
    """A copy of a JSON value with one to three members damaged."""
    made = copy.deepcopy(value)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        places = list(_places(made))
        if not places:
            return _leaf(None, random)
        holder, key = random.choice(places)
        match random.randrange(7):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[key]))
            case 1:
                holder[odd.text(random, list(holder))] = copy.deepcopy(holder[key])
            case 2:
                other, there = random.choice(places)
                holder[key] = copy.deepcopy(other[there])
            case 3:
                holder[key] = random.choice([[], {}, None, [holder[key]], {"x": holder[key]}])
            case _:
                holder[key] = _leaf(holder[key], random)
    return made


def json_text(value: Any) -> bytes:
    """A JSON value as a file holds it, numbers that Python would not print among them."""
    return json.dumps(value).replace(json.dumps(_DIGITS), "9" * 5000).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _leaf(value: Any, random: Random) -> Any:
    """Another value of the same kind, or one of another."""
    if random.random() < 0.6:
        if isinstance(value, str):
            return odd.text(random, [])
        if isinstance(value, int):
            return odd.integer(random)
    others = [odd.integer(random), odd.text(random, []), odd.number(random), True, False, None, "\ud800", _DIGITS]
    return random.choice(others)


def scrambled_xml(root: ET.Element, random: Random) -> None:
    """One to three damages to an element or what is in it."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        holders = [each for each in root.iter() if len(each)]
        everything = list(root.iter())
        if not holders:
            return
        holder = random.choice(holders)
        one = random.choice(list(holder))
        match random.randrange(8):
            case 0:
                holder.remove(one)
            case 1:
                holder.insert(random.randrange(len(holder) + 1), copy.deepcopy(one))
            case 2:
                random.choice(holders).append(copy.deepcopy(one))
            case 3:
                random.choice(everything).tag = odd.text(random, [each.tag for each in everything])
            case 4:
                random.choice(everything).text = random.choice([str(odd.integer(random)), odd.text(random, [])])
            case _:
                _attribute(random.choice([each for each in everything if each.attrib] or [root]), everything, random)


def _attribute(one: ET.Element, everything: list[ET.Element], random: Random) -> None:
    key = random.choice(list(one.attrib) or ["x"])
    same = [each.attrib[key] for each in everything if key in each.attrib]
    match random.randrange(4):
        case 0:
            one.attrib.pop(key, None)
        case 1:
            one.set(key, odd.text(random, same))
        case 2:
            one.set(key, random.choice([str(odd.integer(random)), "9" * 5000, "1,2,3", "?", "1..4", "-1..", ""]))
        case _:
            one.set(random.choice([*one.attrib, "special_zero", "shape", "offset"]), odd.text(random, same))
