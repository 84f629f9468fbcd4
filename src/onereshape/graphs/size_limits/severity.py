"""Severity: how bad it is what `check` has found."""

from __future__ import annotations

from typing import Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From the worst on."""
