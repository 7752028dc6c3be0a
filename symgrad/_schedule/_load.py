"""Loading saved programs."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import CycleError, DataError
from ._program import Program

#: A program of a million steps has 100 MB.
LARGEST_FILE = 2**30


def load(path: str | os.PathLike[str]) -> Program:
    """Read a program that :meth:`Program.save` wrote.

    The file is data: no code runs, whoever wrote it. What is read is checked as a
    program that a pass has made.

    Parameters
    ----------
    path:
        The file to read.

    Returns
    -------
    Program
        Call it with one array or number for each input; it prints and computes like the
        program that was saved.

    Raises
    ------
    DataError
        If the file is damaged or foreign, or names an op that there is not.
    CycleError
        If steps need each other in a circle.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "gradient.json")
    >>> sg.grad(lambda x: np.sum(x**2)).program(np.ones(3)).save(file)
    >>> sg.load(file)(np.array([1.0, 5.0]))
    array([ 2., 10.])
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise DataError(f"{path}: no symgrad program: it has more than {LARGEST_FILE} bytes")
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: no symgrad program: {error}") from None
    try:
        return Program.from_json(text)
    except (DataError, CycleError) as error:
        raise type(error)(f"{path}: {error}") from None
