"""Files that another file names as its data: only those in its own folder are read."""

from __future__ import annotations

from pathlib import Path


def file_beside(path: str, location: str) -> Path | None:
    """The file of that name in the folder of `path`; None if it is outside, in whatever way, or a loop of links.

    Both kinds of slash separate, and a drive's letter makes a path absolute, on every system.
    """
    parts = location.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or ":" in parts[0]:
        return None
    folder = Path(path).absolute().parent
    file = folder / location
    try:
        inside = file.resolve().is_relative_to(folder.resolve()) and (file.exists() or not file.is_symlink())
    except (OSError, ValueError, RuntimeError):  # names too long, NUL bytes, loops of links
        return None
    return file if inside else None
