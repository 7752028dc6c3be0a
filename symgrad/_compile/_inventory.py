"""What is in the disk cache: programs with their sizes and ages, and how to remove them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ._cache import cache_folder
from ._files import DESCRIPTION, read_text
from ._private import NEW, discard
from ._recall import notes_of_kernels

#: What is still being written is younger, in seconds.
UNFINISHED = 3600.0


@dataclass(frozen=True)
class Stored:
    """A program in the disk cache.

    Attributes
    ----------
    folder:
        Its folder.
    notes:
        The notes that lead to it.
    size:
        Size of all these files, in bytes.
    made:
        When it was compiled, in seconds since the epoch.
    inputs, outputs:
        Element types and ranks, as ``float64[2]``; empty for a damaged entry.
    """

    folder: Path
    notes: tuple[Path, ...]
    size: int
    made: float
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


def stored() -> list[Stored]:
    """Return the programs in the user's cache folder, the oldest first."""
    folder = cache_folder()
    if folder is None:
        return []
    found = []
    notes = notes_of_kernels(folder)
    for home in folder.iterdir():
        # Another process may be removing it.
        with contextlib.suppress(OSError):
            if not home.name.startswith(".") and home.is_dir() and not home.is_symlink():
                own = tuple(notes.get(home.name, ()))
                size = sum(p.lstat().st_size for p in (*home.iterdir(), *own) if not p.is_dir())
                inputs, outputs = (tuple(_leaves(home, key)) for key in ("inputs", "outputs"))
                found.append(Stored(home, own, size, home.stat().st_mtime, inputs, outputs))
    return sorted(found, key=lambda s: s.made)


def _leaves(home: Path, key: str) -> Iterator[str]:
    try:
        leaves = json.loads(read_text(home / DESCRIPTION))[key]
    except (OSError, ValueError, KeyError, TypeError):
        return
    yield from (f"{dtype}[{ndim}]" if ndim else dtype for dtype, ndim in leaves)


def remove(entries: list[Stored]) -> int:
    """Remove programs from the cache; return how many are gone.

    Processes that have loaded one keep it: code is read once. What killed processes have left
    unfinished goes as well.
    """
    for entry in entries:
        discard(entry.folder)
        for note in entry.notes:
            with contextlib.suppress(OSError):
                note.unlink()
                note.parent.rmdir()  # if it was the last one
    folder = cache_folder()
    for place in [] if folder is None else list(folder.rglob(f"{NEW}*")):
        with contextlib.suppress(OSError):
            if time.time() - place.lstat().st_mtime > UNFINISHED:
                discard(place)
    return sum(not entry.folder.exists() for entry in entries)
