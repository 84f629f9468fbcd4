"""Looks through packages that were built: `python tests/packed.py dist/*.tar.gz dist/*.whl`."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

_LARGEST = 12 * 10**6
"""Bytes of a package; an environment that slips in has more."""
_TOPS = frozenset(
    ".ci .github .gitignore .pre-commit-hooks.yaml CMakeLists.txt LICENSE Makefile PKG-INFO action.yml bench docs "
    "examples mkdocs.yml pyproject.toml src tests".split()
)
_PAGES = frozenset({".md", ".cff"})
_NEEDED = frozenset(
    {"CMakeLists.txt", "LICENSE", "Makefile", "README.md", "pyproject.toml", "src/onereshape/__init__.py"}
)
_UNWANTED = frozenset({"__pycache__", "site-packages", ".hypothesis", ".venv", "build", "dist"})


def complaints(path: Path) -> list[str]:
    """What is wrong with a package."""
    names = _names(path)
    found = [f"{path.stat().st_size} bytes are too many"] if path.stat().st_size > _LARGEST else []
    found += [f"has {name}" for name in names if _UNWANTED & set(PurePosixPath(name).parts)]
    if path.suffix == ".whl":
        tops = {PurePosixPath(name).parts[0] for name in names}
        found += [f"has {top}" for top in tops if top != "onereshape" and not top.endswith((".dist-info", ".libs"))]
        found += [
            f"lacks {name}" for name in ("onereshape/cli/__init__.py", "onereshape/py.typed") if name not in names
        ]
        return found
    found += [f"has {name}" for name in names if name.endswith((".so", ".pyd"))]
    for top in sorted({PurePosixPath(name).parts[0] for name in names} - _TOPS):
        found += [f"has {top}"] if PurePosixPath(top).suffix not in _PAGES else []
    return found + [f"lacks {name}" for name in sorted(_NEEDED - names)]


def _names(path: Path) -> set[str]:
    """The files in a package; those of a source package without its own folder."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return set(archive.namelist())
    with tarfile.open(path) as archive:
        files = [PurePosixPath(member.name) for member in archive.getmembers() if member.isfile()]
    return {str(PurePosixPath(*file.parts[1:])) for file in files}


if __name__ == "__main__":
    wrong = [f"{path}: {each}" for path in sys.argv[1:] for each in complaints(Path(path))]
    print("\n".join(wrong) or f"{len(sys.argv) - 1} package(s) have what they need, and nothing else")
    sys.exit(bool(wrong))
