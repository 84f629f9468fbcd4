"""Where oneDNN is looked for: the first place with the graph API and an engine of the CPU, and why others have none."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import numpy as np
import pytest

from onereshape.backends.conformance import onednn_library
from onereshape.backends.conformance.elf import NotReadable
from onereshape.backends.conformance.onednn_library import PLACES, Library, Loader, StatusError, library
from onereshape.backends.conformance.questions import Missing


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The search, made anew."""
    monkeypatch.setattr(onednn_library, "library", onednn_library.library.__wrapped__)
    return monkeypatch


def nowhere(_: tuple[str, ...]) -> tuple[dict[str, int], str]:
    raise NotReadable("nothing is here")


def unloadable(_: tuple[str, ...]) -> tuple[dict[str, int], str]:
    raise OSError("lib.so: cannot open shared object file")


def without_a_cpu(_: tuple[str, ...]) -> tuple[dict[str, int], str]:
    raise StatusError("engine_create", 2)


def test_the_next_place_is_looked_at(looked: pytest.MonkeyPatch) -> None:
    looked.setattr(onednn_library, "PLACES", (nowhere, unloadable, without_a_cpu, *PLACES))
    found = onednn_library.library()

    assert isinstance(found, Library)
    assert (found.release, found.place) == (library().release, library().place)


def test_every_reason_is_told(looked: pytest.MonkeyPatch) -> None:
    looked.setattr(onednn_library, "PLACES", (nowhere, unloadable, without_a_cpu))
    with pytest.raises(Missing) as missing:
        onednn_library.library()

    told = "nothing is here; lib.so: cannot open shared object file; dnnl_engine_create: status 2"
    assert str(missing.value) == f"no oneDNN is found: {told}"


def test_a_mistake_of_ours_comes_out(looked: pytest.MonkeyPatch) -> None:
    def mistaken(_: tuple[str, ...]) -> tuple[dict[str, int], str]:
        raise AttributeError("a name that we have not")

    looked.setattr(onednn_library, "PLACES", (mistaken, *PLACES))
    with pytest.raises(AttributeError, match="a name that we have not"):
        onednn_library.library()


@pytest.mark.parametrize("look", PLACES, ids=["exported", "inside torch"])
def test_a_function_that_is_in_no_library(look: Loader) -> None:
    with pytest.raises((NotReadable, OSError), match=r"dnnl_no_such_function|libdnnl\.so\.3: cannot open"):
        look(("dnnl_no_such_function",))


def test_a_library_that_exports_something_else(monkeypatch: pytest.MonkeyPatch) -> None:
    other = str(next(Path(np.__file__).parent.glob("_core/_operand_flag_tests*.so")))
    load = ctypes.CDLL
    monkeypatch.setattr(ctypes, "CDLL", lambda _name: load(other))
    with pytest.raises(NotReadable, match=f"{re.escape(other)}: it exports no dnnl_version"):
        PLACES[0](("dnnl_version",))
