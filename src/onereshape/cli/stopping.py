"""Signals that ask a command to end: it ends as at Ctrl-C, and leaves nothing half done."""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

_ASKING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Windows has no SIGHUP."""
_SOON = 0.001
"""Seconds after which an interrupt comes again."""


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
    before = sys.unraisablehook

    def unraised(found: sys.UnraisableHookArgs) -> None:
        """What came while Python called something whose errors it can only print, as imports do, comes again."""
        if not isinstance(found.exc_value, KeyboardInterrupt):
            before(found)
            return
        number = found.exc_value.signal if isinstance(found.exc_value, Stopped) else signal.SIGINT
        if number in ours:
            signal.signal(number, stop)
        _thread.start_new_thread(_again, (number,))

    sys.unraisablehook = unraised
    try:
        yield
    finally:
        sys.unraisablehook = before
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _again(number: int) -> None:
    time.sleep(_SOON)
    _thread.interrupt_main(signal.Signals(number))
