"""Writes the answers that are shipped, of engines that are not on every machine, from docs/conformance.json."""

from __future__ import annotations

from pathlib import Path

from onereshape.backends import conformance
from onereshape.backends.conformance.record import SHIPPED, read_record, to_ship

ROOT = Path(__file__).parent.parent


def recorded() -> str:
    """What the file holds."""
    return to_ship(read_record((ROOT / "docs" / "conformance.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    Path(conformance.__path__[0], SHIPPED).write_text(recorded(), encoding="utf-8")
