"""Prints each requirement of pyproject.toml pinned to its lower bound, as constraints for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path


def lowest(requirement: str) -> str:
    """A requirement as a constraint, which has no extras.

    >>> lowest("dask[array]>=2025.1"), lowest("onnx-shape-inference>=0.4,<0.5")
    ('dask==2025.1', 'onnx-shape-inference==0.4,<0.5')
    """
    assert requirement.count(">=") + requirement.count("==") == 1, f"{requirement} has no lower bound"
    return re.sub(r"\[.*\]", "", requirement).replace(">=", "==")


def requirements(pyproject: Path) -> list[str]:
    """All that can be installed with the package or for its tests; an extra of extras adds nothing."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8"))
    extras = [each for listed in project["project"]["optional-dependencies"].values() for each in listed]
    found = project["project"]["dependencies"] + extras + project["dependency-groups"]["test"]
    return sorted({each for each in found if not each.startswith("onereshape[")})


if __name__ == "__main__":
    print("\n".join(map(lowest, requirements(Path(sys.argv[1])))))
