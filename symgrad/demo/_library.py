"""Finds problems by name, among those that come with symgrad or in a folder of the user's."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from ..errors import DataError
from ._nist import read
from ._problem import DIFFICULTIES, Problem


def load(name: str, data: Path | None = None) -> Problem:
    """Read the problem called ``name``, in any capitalisation.

    Parameters
    ----------
    name:
        Such as ``"Thurber"``.
    data:
        A folder of StRD files; default: the copy that comes with symgrad.

    Raises
    ------
    DataError
        There is no such problem, or its file is damaged.
    """
    files = {_stem(file).lower(): file for file in _files(data)}
    if name.lower() not in files:
        known = ", ".join(_stem(file) for file in files.values())
        raise DataError(f"there is no problem {name!r}; there are {known}")
    return read(files[name.lower()])


def load_all(data: Path | None = None) -> tuple[Problem, ...]:
    """Read all problems of a folder (default: symgrad's), by difficulty and name.

    ``data`` may also be a single file.

    Raises
    ------
    DataError
        The folder cannot be read or has no StRD file, or one of them is damaged.
    """
    problems = [read(file) for file in _files(data)]
    return tuple(sorted(problems, key=lambda p: (DIFFICULTIES.index(p.difficulty), p.name)))


def _files(data: Path | None) -> list[Path | Traversable]:
    if data is None:
        folder: Path | Traversable = resources.files(__package__) / "data"
    elif data.is_dir():
        folder = data
    else:
        return [data]
    try:
        files = [file for file in folder.iterdir() if file.name.endswith(".dat")]
    except OSError as error:
        raise DataError(f"{folder}: cannot be read: {error.strerror}") from error
    if not files:
        raise DataError(f"{folder}: no StRD file (*.dat) in this folder")
    return sorted(files, key=lambda file: file.name)


def _stem(file: Path | Traversable) -> str:
    return file.name.removesuffix(".dat")
