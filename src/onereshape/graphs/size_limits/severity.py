"""Severity: how bad a finding of `check` is."""

from __future__ import annotations

from typing import Literal

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""From the worst on."""
