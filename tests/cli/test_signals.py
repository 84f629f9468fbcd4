"""Signals that ask a command to end: exit codes by convention, handlers given back, and nothing taken from others."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest

from onereshape import cli
from onereshape.cli.commands import module_of

ASKING = [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]


def plant(monkeypatch: pytest.MonkeyPatch, *numbers: int) -> list[str]:
    """A command that gets signals, the later ones while it tidies up."""
    tidied: list[str] = []

    def answer(_: Any) -> Any:
        try:
            os.kill(os.getpid(), numbers[0])
            tidied.append("went on")
        finally:
            for number in numbers[1:]:
                os.kill(os.getpid(), number)
            tidied.append("tidied")
        return "", {}

    monkeypatch.setattr(module_of("infer"), "answer", answer)
    return tidied


WORDS = ["infer", "--data", "2,3", "--target", "6"]


@pytest.mark.parametrize(("number", "code"), ASKING)
def test_it_tidies_up(number: int, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tidied = plant(monkeypatch, number)
    before = [signal.getsignal(each) for each, _ in ASKING]

    assert cli.main(WORDS) == code
    assert tidied == ["tidied"]
    assert [signal.getsignal(each) for each, _ in ASKING] == before


def test_only_the_first_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """`timeout` sends its signal to the process and to its group."""
    tidied = plant(monkeypatch, signal.SIGTERM, signal.SIGTERM, signal.SIGHUP)

    assert cli.main(WORDS) == 143
    assert tidied == ["tidied"]


def test_what_is_ignored_stays_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    tidied = plant(monkeypatch, signal.SIGHUP)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert cli.main(WORDS) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    assert tidied == ["went on", "tidied"]


def test_in_another_thread() -> None:
    codes: list[int] = []
    thread = threading.Thread(target=lambda: codes.append(cli.main(WORDS)))
    thread.start()
    thread.join()

    assert codes == [0]
