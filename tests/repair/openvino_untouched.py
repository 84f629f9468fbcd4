"""What of an IR survived its repair, by the two pairs of files alone.

Names are what a user refers to: inputs, outputs, tensors and layers keep theirs, with type, precision and rt_info; and
weights keep their bytes.  What a repair is for (dims, integer constants, layers that come and go) is counted.  Where a
constant takes the place of a target that was computed, what computed it goes with its names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

FLOATS = ("f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "nf4", "i8", "u8", "i4", "u4")
"""What weights are made of; other integers are indices and sizes."""


class Untouched(NamedTuple):
    """What was lost, and what changed."""

    lost: list[str]
    counts: dict[str, int]
    """Layers that are the same but for dims, changed, gone and new."""
    weights: str
    """The .bin: `same`, `longer` (it begins with the original's bytes) or `other`."""


def untouched(original: Path, repaired: Path) -> Untouched:
    before, after = (ET.parse(path).getroot() for path in (original, repaired))  # noqa: S314 - files of our own
    bins = [path.with_suffix(".bin").read_bytes() for path in (original, repaired)]
    lost = list(_lost(before, after)) + list(_bytes_lost(before, after, bins))
    weights = "same" if bins[0] == bins[1] else "longer" if bins[1].startswith(bins[0]) else "other"
    return Untouched(lost, _counts(before, after), weights)


def layers(net: ET.Element) -> dict[str, ET.Element]:
    """The layers of a net by name, those of its bodies after the name of theirs."""
    found: dict[str, ET.Element] = {}
    for layer in net.iterfind("layers/layer"):
        name = layer.get("name", "")
        found[name] = layer
        for body in (*layer.iterfind("body"), *layer.iterfind("then_body"), *layer.iterfind("else_body")):
            found |= {f"{name}/{body.tag}/{inner}": each for inner, each in layers(body).items()}
    return found


def _lost(before: ET.Element, after: ET.Element) -> Iterator[str]:
    if before.attrib != after.attrib or _text(before.find("rt_info")) != _text(after.find("rt_info")):
        yield "the net's name, version or rt_info"
    for kind in ("Parameter", "Result"):
        names = [
            [each.get("name") for each in net.iterfind(f"layers/layer[@type='{kind}']")] for net in (before, after)
        ]
        if names[0] != names[1]:
            yield f"the names or the order of {kind}s: {names[0]} became {names[1]}"
    gone = _tensor_names(before) - _tensor_names(after) - _sizes_gone(before, after)
    if gone:
        yield f"names of tensors: {', '.join(sorted(gone)[:5])}"
    others = layers(after)
    for name, layer in layers(before).items():
        if name in others:
            yield from (f"{name}: {each}" for each in _differs(layer, others[name]))


def _differs(layer: ET.Element, other: ET.Element) -> Iterator[str]:
    """The differences between a layer and its repaired form, in words: attributes, rt_info, precisions."""
    if _attributes(layer) != _attributes(other):
        yield f"its attributes {_attributes(layer)} became {_attributes(other)}"
    if _notes(layer) != _notes(other):
        yield "its rt_info"
    if _precisions(layer) != _precisions(other):
        yield f"precisions {_precisions(layer)} became {_precisions(other)}"


def _bytes_lost(before: ET.Element, after: ET.Element, bins: list[bytes]) -> Iterator[str]:
    """Weights that have other bytes, or that no layer has any more though their user is there."""
    others = layers(after)
    for name, layer in layers(before).items():
        other = others.get(name)
        if layer.get("type") != "Const" or other is None or _data(layer)["element_type"] not in FLOATS:
            continue
        if _held(layer, bins[0]) != _held(other, bins[1]) and _dims(layer) == _dims(other):
            yield f"{name}: the bytes of its {_data(layer)['element_type']} weights"


def _counts(before: ET.Element, after: ET.Element) -> dict[str, int]:
    mine, others = layers(before), layers(after)
    found = Counter(
        "gone" if name not in others else "same" if _said(layer) == _said(others[name]) else "changed"
        for name, layer in mine.items()
    )
    found["new"] = len(others.keys() - mine.keys())
    return {kind: found[kind] for kind in ("same", "changed", "gone", "new")}


def _said(layer: ET.Element) -> object:
    """What a layer says of itself, but for where its bytes are and for the dims of its ports."""
    data = {key: value for key, value in _data(layer).items() if key != "offset"}
    return _kind(layer), data, [port.get("names") for port in layer.iterfind("output/port")]


def _data(layer: ET.Element) -> dict[str, str]:
    data = layer.find("data")
    return {} if data is None else data.attrib


def _held(layer: ET.Element, content: bytes) -> bytes:
    data = _data(layer)
    return content[int(data["offset"]) : int(data["offset"]) + int(data["size"])]


def _kind(layer: ET.Element) -> str:
    return f"{layer.get('type')} of {layer.get('version')}"


def _attributes(layer: ET.Element) -> dict[str, str]:
    return {key: value for key, value in layer.attrib.items() if key != "id"}


def _notes(layer: ET.Element) -> list[str]:
    """The rt_info of a layer and of its ports."""
    return [
        _text(note)
        for path in ("rt_info", "input/port/rt_info", "output/port/rt_info")
        for note in layer.iterfind(path)
    ]


def _precisions(layer: ET.Element) -> list[str | None]:
    return [port.get("precision") for port in layer.iterfind("output/port")]


def _dims(layer: ET.Element) -> str | None:
    return _data(layer).get("shape")


def _tensor_names(net: ET.Element) -> set[str]:
    return {name for port in net.iter("port") for name in (port.get("names") or "").split(",") if name}


def _sizes_gone(before: ET.Element, after: ET.Element) -> set[str]:
    """Names of whole numbers that nobody computes any more: who read them is gone, too, or reads a constant there."""
    here, there = layers(after), _readers(after)
    constants = {layer.get("id") for layer in after.iterfind("layers/layer[@type='Const']")}
    names = {layer.get("id"): layer.get("name", "") for layer in before.iterfind("layers/layer")}
    read: dict[str | None, list[tuple[str, str | None]]] = defaultdict(list)
    for (reader, port), start in _readers(before).items():
        read[start].append((names[reader], port))
    found: set[str] = set()
    for layer in before.iterfind("layers/layer"):
        ports = layer.findall("output/port")
        if layer.get("name") in here or any(port.get("precision") not in {"I32", "I64"} for port in ports):
            continue
        readers = [(here[name].get("id"), port) for name, port in read[layer.get("id")] if name in here]
        if all(there.get(each) in constants for each in readers):
            found.update(name for port in ports for name in (port.get("names") or "").split(",") if name)
    return found


def _readers(net: ET.Element) -> dict[tuple[str | None, str | None], str | None]:
    """The layer that feeds each port of a net."""
    return {(edge.get("to-layer"), edge.get("to-port")): edge.get("from-layer") for edge in net.iterfind("edges/edge")}


def _text(element: ET.Element | None) -> str:
    return "" if element is None else ET.canonicalize(ET.tostring(element, encoding="unicode"), strip_text=True)
