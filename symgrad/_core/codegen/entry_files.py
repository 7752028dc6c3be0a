"""Entries of the disk cache as files: a folder each, described and checked by digests.

Files appear atomically; what is damaged, or not where it was written to, counts as absent.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import DataError
from ..base.signals import foreseen, tolerating
from .private_files import (
    check_folder,
    discard,
    read_private,
    replace_private,
    scratch_name,
    write_private,
)

#: The file of an entry that describes the others.
DESCRIPTION = "kernel.json"


def write_files(home: Path, files: Mapping[str, bytes], description: Mapping[str, Any]) -> None:
    """Make the entry ``home`` of files and a description, as a whole or not at all.

    Raises
    ------
    OSError
        If there is no such entry afterwards.
    """
    digests = {k: [len(v), _digest(v)] for k, v in files.items()}
    text = json.dumps({**description, "files": digests})
    described = {DESCRIPTION: _sealed(home / DESCRIPTION, text)}
    scratch = scratch_name(home.parent)
    try:
        scratch.mkdir(mode=0o700)
        for name, content in {**files, **described}.items():
            write_private(scratch / name, content)
        # Renaming onto an existing folder fails: another process was first, with the same.
        with tolerating(OSError):
            scratch.rename(home)
    finally:
        discard(scratch)
    check_folder(home)


def read_files(home: Path) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the description and the files of an entry.

    Raises
    ------
    OSError, DataError
        If something in it is not as it was written.
    """
    description = json.loads(read_text(home / DESCRIPTION))
    files = {}
    for name, (size, digest) in description["files"].items():
        files[name] = read_private(home / name, size)
        if _digest(files[name]) != digest:
            raise DataError(f"the cached file {home / name} is damaged")
    return description, files


def write_text(file: Path, text: str) -> None:
    """Write a file of its own, in a folder of such files; raises OSError."""
    folder = file.parent
    try:
        check_folder(folder)
    except foreseen(OSError):
        discard(folder)
        folder.mkdir(mode=0o700, exist_ok=True)
    replace_private(file, _sealed(file, text))


def read_text(file: Path) -> str:
    """Return the text of a file, as it was written.

    Raises
    ------
    OSError, DataError
        If it is not.
    """
    check_folder(file.parent)
    digest, text = json.loads(read_private(file))
    if digest != _seal(file, text):
        raise DataError(f"the cached file {file} is damaged")
    return str(text)


def _sealed(file: Path, text: str) -> bytes:
    return json.dumps([_seal(file, text), text]).encode()


def _seal(file: Path, text: str) -> str:
    """Return the digest of a text at its place in the cache: elsewhere it is another's."""
    return _digest(f"{file.parent.name}/{file.name}\0{text}".encode())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
