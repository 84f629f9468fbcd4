"""Which plugin openvino has for the CPU of this machine: that of Arm does some things in its own way."""

from __future__ import annotations

import platform
from typing import Final

ARM: Final = platform.machine().lower().startswith(("aarch64", "arm"))
