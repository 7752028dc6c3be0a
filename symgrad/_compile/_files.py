"""Entries of the disk cache as files: a folder each, described and checked by digests.

Files appear atomically; what is damaged counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import DataError

#: The file of an entry that describes the others.
DESCRIPTION = "kernel.json"


def write_files(home: Path, files: Mapping[str, bytes], description: Mapping[str, Any]) -> None:
    """Make the entry ``home`` of files and a description, as a whole or not at all.

    Raises
    ------
    OSError
        If there is no such entry afterwards.
    """
    digests = {k: _digest(v) for k, v in files.items()}
    described = _sealed(json.dumps({**description, "digests": digests}))
    scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=home.parent))
    try:
        for name, content in {**files, DESCRIPTION: described}.items():
            (scratch / name).write_bytes(content)
        # Renaming onto an existing folder fails: another process was first, with the same.
        with contextlib.suppress(OSError):
            scratch.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    if not home.exists():
        raise OSError(f"cannot make the cache entry {home}")


def read_files(home: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the description and the files of an entry.

    Raises
    ------
    DataError
        If something in it is not as it was written.
    """
    description = json.loads(read_text(home / DESCRIPTION))
    files = {}
    for name, digest in description["digests"].items():
        files[name] = (home / name).read_bytes()
        if _digest(files[name]) != digest:
            raise DataError(f"the cached file {home / name} is damaged")
    return description, files


def write_text(file: Path, text: str) -> None:
    """Write a file of its own; raises OSError."""
    with tempfile.NamedTemporaryFile(dir=file.parent, prefix=".new-", delete=False) as scratch:
        made = Path(scratch.name)
        try:
            scratch.write(_sealed(text))
            scratch.flush()
            made.replace(file)
        finally:
            made.unlink(missing_ok=True)


def read_text(file: Path) -> str:
    """Return the text of a file, as it was written.

    Raises
    ------
    DataError
        If it is not.
    """
    digest, text = json.loads(file.read_bytes())
    if digest != _digest(text.encode()):
        raise DataError(f"the cached file {file} is damaged")
    return str(text)


def _sealed(text: str) -> bytes:
    return json.dumps([_digest(text.encode()), text]).encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
