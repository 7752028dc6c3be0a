"""Numba's cache files with a digest in front: what is damaged counts as absent.

Numba keeps the machine code of a cached function in an index file and data files. It trusts
them: a truncated file is an error, a changed byte is executed, and so is what lies under the
name that the index has for other arguments.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
import sys
from pathlib import Path
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile

from ..errors import DataError
from ._private import check_folder, read_private, replace_private

SIZE = hashlib.sha256().digest_size


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's reader and writer of cache files, with digests."""

    def save(self, key: Any, data: Any) -> None:
        """Save an entry."""
        super().save(key, (key, data))

    def load(self, key: Any) -> Any:
        """Return what was saved under ``key``, or None."""
        found = super().load(key)
        # Two processes may have chosen one name for different arguments.
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        try:
            version, stamp, overloads = self._unsealed(self._index_path)
        except (OSError, DataError):
            return {}
        current = version == self._version and stamp == self._source_stamp
        return dict(overloads) if current else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._seal(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        try:
            return self._unsealed(self._data_path(name))
        except DataError as error:
            raise OSError(str(error)) from error  # to numba: there is no such file

    def _save_data(self, name: str, data: Any) -> None:
        self._seal(self._data_path(name), data)

    def _seal(self, path: str, value: Any) -> None:
        file, content = Path(path), self._dump(value)
        check_folder(file.parent)
        replace_private(file, _digest(file, content) + content)

    def _unsealed(self, path: str) -> Any:
        file = Path(path)
        check_folder(file.parent)
        sealed = read_private(file)
        digest, content = sealed[:SIZE], sealed[SIZE:]
        if _digest(file, content) != digest:
            raise DataError(f"the cached file {path} is damaged")
        return pickle.loads(content)  # noqa: S301  from the user's private folder, as numba does


def _digest(file: Path, content: bytes) -> bytes:
    """Return the digest of a file's content at its place in the cache."""
    digest = hashlib.sha256(f"{file.parent.name}/{file.name}\0".encode())
    digest.update(content)
    return digest.digest()


class _Home:
    """Where numba keeps a function's files: what it asks of a locator."""

    def __init__(self, home: Path) -> None:
        self._home = str(home)

    def get_cache_path(self) -> str:
        return self._home

    def ensure_cache_path(self) -> None:
        pass  # writing fails where it is gone

    def get_source_stamp(self) -> str:
        return ""  # the folder's name stands for all that the code depends on

    def get_disambiguator(self) -> str:
        return ""


class _Results(CompileResultCacheImpl):  # type: ignore[misc]
    def __init__(self, function: Any, home: Path) -> None:
        self._lineno = function.__code__.co_firstlineno
        self._locator = _Home(home)
        stem = Path(function.__code__.co_filename).stem
        self._filename_base = self.get_filename_base(stem, getattr(sys, "abiflags", ""))

    def check_cachable(self, _: Any) -> bool:
        """A kernel is kept in its program's folder; callers of kernels are not cached."""
        return True


class SealedCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function, in sealed files in ``home``.

    Numba itself would look for a folder, by ``NUMBA_CACHE_DIR`` first, that others may write to.
    A cache that cannot be written to is no error.
    """

    def __init__(self, function: Any, home: Path) -> None:
        self._name, self._py_func = repr(function), function
        self._impl, self._cache_path = _Results(function, home), str(home)
        self._cache_file = SealedFiles(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )
        self.enable()

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save the code for arguments of these types."""
        with contextlib.suppress(OSError):
            super().save_overload(signature, data)
