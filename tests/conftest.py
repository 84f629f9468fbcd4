"""What every process of the tests begins with."""

from __future__ import annotations

import gc
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A busy machine is slow for a while: that is no mistake of the code.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_configure() -> None:
    """Signals as a terminal leaves them: `nohup`, and a shell in the background, have them ignored, children too."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Garbage is looked for rarely: to look through all that is loaded again and again took a sixth of the time.

    Not `gc.freeze`: Hypothesis asks who refers to its generator of numbers, and nobody who is frozen answers.
    """
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with a float32 [2, 3, 4] in x.npy."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    return tmp_path
