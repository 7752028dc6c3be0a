"""Files that nobody but the user can have written: what is cached is executed.

A folder is private if it is the user's, nobody else can write to it, and nobody else can put
another in its place: every folder above it is the user's or root's, and others can either not
write to it or, as in ``/tmp``, not rename what is not theirs. A file is private if it is the
user's, nobody else can write to it, and it lies in a private folder. Hard links to it elsewhere
change neither.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from pathlib import Path

from ...errors import DataError
from ..base.platform import OWNERS
from ..base.signals import tolerating

#: What others must not be allowed, and what lets them pass through a folder.
_WRITE, _PASS = stat.S_IWGRP | stat.S_IWOTH, stat.S_IXGRP | stat.S_IXOTH

#: Opening a FIFO does not wait for who writes to it; a link's target has owners of its own.
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_WRITE_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

#: Begins the names of files that are being written.
NEW = ".new-"


def private_folder(chosen: Path) -> Path:
    """Return a folder for private files, which is made if need be, without links in its path.

    Raises
    ------
    OSError
        If there can be none there; it says why.
    """
    folder = Path(os.path.realpath(chosen))
    _make(folder)
    if OWNERS:
        check_folder(folder)
        for place in reversed(folder.parents):
            status = place.lstat()
            if status.st_uid not in (0, os.geteuid()):
                raise PermissionError(f"{place} belongs to another user")
            if status.st_mode & _WRITE and not status.st_mode & stat.S_ISVTX:
                raise PermissionError(f"others can write to {place}")
            if status.st_uid == os.geteuid() and not status.st_mode & _PASS:
                break  # nobody else comes further
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{folder} cannot be written to")
    return folder


def _make(folder: Path) -> None:
    if not folder.exists():
        _make(folder.parent)
        with tolerating(FileExistsError):  # another process was first
            folder.mkdir(mode=0o700)


def check_folder(folder: Path) -> None:
    """Raise OSError if a folder in a private one is none itself."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(f"{folder} is not a folder")
    _check(status, folder)


def _check(status: os.stat_result, place: Path) -> None:
    if OWNERS and status.st_uid != os.geteuid():
        raise PermissionError(f"{place} belongs to another user")
    if OWNERS and status.st_mode & _WRITE:
        raise PermissionError(f"others can write to {place}")


def read_private(file: Path, most: int = 1 << 26) -> bytes:
    """Return the content of a file in a private folder, of at most so many bytes.

    Raises
    ------
    OSError, DataError
        If it is not there, not private, or larger.
    """
    handle = os.open(file, _READ)
    try:
        status = os.fstat(handle)
        _check(status, file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            raise DataError(f"the cached file {file} is damaged")
        content = os.read(handle, status.st_size + 1)
        while part := os.read(handle, status.st_size + 1):  # a signal has come in between
            content += part
        return content
    finally:
        os.close(handle)


def write_private(file: Path, content: bytes) -> None:
    """Write a new file, for the user alone whatever the usual mode is; raises OSError."""
    with os.fdopen(os.open(file, _WRITE_NEW, 0o600), "wb") as opened:
        opened.write(content)


def replace_private(file: Path, content: bytes) -> None:
    """Write a file, or put it in another's place; raises OSError."""
    scratch = scratch_name(file.parent)
    try:
        write_private(scratch, content)
        scratch.replace(file)
    finally:
        scratch.unlink(missing_ok=True)


def scratch_name(folder: Path) -> Path:
    """Return a name for what is not complete yet."""
    return folder / f"{NEW}{secrets.token_hex(8)}"


def discard(place: Path) -> None:
    """Remove a file, or a folder with all in it, as far as that is possible."""
    with tolerating(OSError):
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
        else:
            place.unlink()
