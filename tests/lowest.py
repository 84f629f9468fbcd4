"""Prints each dependency of pyproject.toml pinned to its lower bound, as constraints for pip."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

if __name__ == "__main__":
    project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    for requirement in project["project"]["dependencies"] + project["dependency-groups"]["test"]:
        assert requirement.count(">=") + requirement.count("==") >= 1, f"{requirement} has no lower bound"
        print(re.sub(r"\[.*\]", "", requirement).replace(">=", "=="))  # constraints have no extras
