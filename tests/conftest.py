"""What every process of the tests begins with."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Signals as a terminal leaves them: `nohup`, and a shell in the background, have them ignored, children too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
