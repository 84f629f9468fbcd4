"""Signals that ask a command to end: it ends as at Ctrl-C, and leaves nothing half done."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ASKING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Windows has no SIGHUP."""


class Stopped(KeyboardInterrupt):
    """A signal came; whatever tidies up at Ctrl-C tidies up now."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.signal = number


@contextmanager
def stopping() -> Iterator[None]:
    """Raises `Stopped` in the block when a signal asks this process to end.

    Only the first one counts: `timeout` sends two, and the second must not interrupt the tidying up.  Where signals are
    somebody else's, they stay so: in another thread, where the program has handlers of its own, and after `nohup`.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    ours = [number for number in _ASKING if signal.getsignal(number) is signal.SIG_DFL]

    def stop(number: int, _: FrameType | None) -> NoReturn:
        for each in ours:
            signal.signal(each, signal.SIG_IGN)
        raise Stopped(number)

    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
