"""The Program: steps, and what a user does with them; saved ones are loaded."""

from __future__ import annotations

import dataclasses
import os
from html import escape
from typing import Any

import sympy as sp

from ...errors import CheckError, CycleError, DataError, UnsupportedError
from ..base.argument_checks import as_path
from ..base.providers import provided
from ..graph import Body, as_sympy, check
from ._guard_implications import unknown
from ._json import save, to_json
from ._read import from_json
from ._run import admits, bind_sizes, call, holds, run
from ._source import source
from ._steps import Steps
from ._text import program_text

#: Programs of more steps have no formula that SymPy could work with.
LARGEST_FORMULA = 2000

#: A program of a million steps has 100 MB.
LARGEST_FILE = 2**30


class Program(Steps):
    """Steps in Kahn order; at once the formula, the program and the kernel's blueprint.

    Attributes
    ----------
    inputs:
        Input nodes, in the order of the function's flattened arguments.
    outputs:
        Result nodes.
    steps:
        All computed nodes in the order in which they run.
    levels:
        ``levels[k]`` is the round of Kahn's algorithm in which ``steps[k]`` is ready;
        steps of one level do not depend on each other.
    guards:
        Relations between sizes under which the program is the function's.
    conditions:
        Truth values under which it is: those by which Python's ``if`` was decided.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> program = sg.compile(lambda x: np.sum(np.sin(x))).program(np.ones(3))
    >>> [step.op.name for step in program.steps], program.run(np.zeros(5))
    (['Sin', 'Sum'], (np.float64(0.0),))
    """

    __call__ = call
    __str__ = program_text
    admits = admits
    bind_sizes = bind_sizes
    holds = holds
    run = run
    save = save
    source = source

    def latex(self) -> str:
        r"""Return the program as a LaTeX ``align`` block, one line a step.

        Steps on arrays are in index notation.

        Examples
        --------
        >>> import numpy as np
        >>> import symgrad as sg
        >>> print(sg.compile(lambda x: np.sum(np.sin(x))).program(np.ones(3)).latex())
        \begin{align}
        {v_{0}}_{i} &= \sin{\left({x}_{i} \right)} \\
        v_{1} &= \sum_{i=0}^{n - 1} {v_{0}}_{i}
        \end{align}
        """
        return str(provided("latex", self))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"

    def to_sympy(self) -> list[sp.Expr]:
        """Return the outputs as SymPy expressions; array ops appear as functions by name.

        For formulas of array functions in index notation there is :func:`symgrad.symbolic`.

        Raises
        ------
        UnsupportedError
            If the program is too long for one expression, or compares with nan.

        Examples
        --------
        >>> import numpy as np
        >>> import symgrad as sg
        >>> sg.grad(lambda x: np.sin(x) ** 2).program(0.5).to_sympy()
        [2*sin(x)*cos(x)]
        """
        if len(self.steps) > LARGEST_FORMULA:
            raise UnsupportedError(
                f"a program of {len(self.steps)} steps is too long for one SymPy expression "
                f"(at most {LARGEST_FORMULA}): print the program instead"
            )
        try:
            return [as_sympy(x) for x in self.outputs]
        except RecursionError:
            raise UnsupportedError(
                "the program is nested too deeply for one SymPy expression: print it instead"
            ) from None
        except TypeError as error:  # SymPy does not compare with nan
            raise UnsupportedError(f"the program has no SymPy form: {error}") from None

    @classmethod
    def of(cls, body: Body) -> Program:
        """Return the body of a loop or a branch as a program.

        Its sizes are those of the program around it.
        """
        return cls.schedule(body.inputs, body.outputs)

    @classmethod
    def from_json(cls, text: str) -> Program:
        """Return the program that JSON text holds, checked; see :func:`symgrad.load`."""
        saved = from_json(text)
        program = cls(
            saved.inputs, saved.outputs, saved.steps, saved.levels, saved.guards, saved.conditions
        )
        try:
            check(program)
        except CheckError as error:
            raise DataError(f"no sound program: {error}") from None
        if program.fingerprint != saved.fingerprint:
            raise DataError("the program is not as it was saved: its fingerprint differs")
        missing = unknown(saved.needed, saved.guards)
        return (
            dataclasses.replace(program, guards={**saved.guards, **missing}) if missing else program
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Program.from_json, (to_json(self),)


schedule = Program.schedule


def load(path: str | os.PathLike[str]) -> Program:
    """Read a program that :meth:`Program.save` wrote.

    The file is data: no code runs, whoever wrote it. The content is checked like
    a program that a pass has made.

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
        with as_path(path, "load: path").open("rb") as file:
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
