"""Numba's cache files with a digest in front: what is damaged counts as absent.

Numba keeps the machine code of a cached function in an index file and data files. It trusts
them: a truncated file is an error, a changed byte is executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

from ..errors import DataError

SIZE = hashlib.sha256().digest_size


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """Numba's reader and writer of cache files, with digests."""

    def save(self, key: Any, data: Any) -> None:
        """Save an entry; a cache that cannot be written to is no error."""
        with contextlib.suppress(OSError):
            super().save(key, data)

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
        content = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest() + content)

    def _unsealed(self, path: str) -> Any:
        sealed = Path(path).read_bytes()
        digest, content = sealed[:SIZE], sealed[SIZE:]
        if hashlib.sha256(content).digest() != digest:
            raise DataError(f"the cached file {path} is damaged")
        return pickle.loads(content)  # noqa: S301  from the user's private folder, as numba does


def seal(kernel: Any) -> None:
    """Make a cached numba function use sealed files, and survive a cache it cannot write to."""
    cache = kernel._cache
    files = cache._cache_file
    sealed = SealedFiles.__new__(SealedFiles)
    sealed.__dict__.update(files.__dict__)
    cache._cache_file = sealed
    save = cache.save_overload

    def save_overload(signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):
            save(signature, data)

    cache.save_overload = save_overload
