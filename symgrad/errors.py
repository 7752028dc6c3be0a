"""The error hierarchy.

Every error that symgrad raises on purpose derives from :class:`SymgradError` and also from
the built-in exception that ported code is likely to catch::

    SymgradError
    ├── TraceError        (TypeError)     a traced value was used where a number is needed
    ├── ArgumentError     (TypeError)     an argument of a kind symgrad cannot take
    ├── DTypeError        (TypeError)     an element type symgrad cannot take
    ├── ShapeError        (ValueError)    shapes or axes that do not fit together
    ├── NumberError       (ValueError)    numbers that NumPy refuses: negative powers of integers
    ├── IndexingError     (IndexError)    an index out of range or of a wrong kind
    ├── BranchError       (ValueError)    values take another branch than a program was made for
    ├── UnsupportedError  (TypeError)     a NumPy function or option that is refused, and why
    │   └── OutsideError              what is drawn, or read off a clock or a file, while tracing
    ├── DefinitionError   (ValueError)    an op record with a hole, or defined twice
    ├── CycleError        (ValueError)    a hand-made graph that is not acyclic
    ├── CheckError        (AssertionError) a graph or program that breaks the IR's law
    ├── VerificationError (AssertionError) a kernel that disagrees with the exact derivative
    ├── BackwardError     (RuntimeError)  eager backward that cannot run
    ├── ParseError        (ValueError)    formula text that is refused
    ├── DataError         (ValueError)    a data file that is damaged or foreign
    ├── OutOfMemoryError  (MemoryError)   arrays that there is no memory for, or can be none
    ├── MissingExtraError (ImportError)   an optional dependency that is not installed
    └── MissingProgramError (OSError)     a program other than Python that is not installed

A message says what was wrong, where in the user's code, and what to write instead.

Examples
--------
>>> import numpy as np
>>> import symgrad as sg
>>> try:
...     sg.grad(lambda x: x**2)(np.ones(3))
... except sg.errors.ArgumentError as error:
...     print(str(error).partition(",")[0])
grad needs a function that returns one real number
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "ArgumentError",
    "BackwardError",
    "BranchError",
    "CaptureWarning",
    "CheckError",
    "CycleError",
    "DTypeError",
    "DataError",
    "DefinitionError",
    "DegeneracyWarning",
    "DifferencesWarning",
    "EqualityWarning",
    "IndexingError",
    "MissingExtraError",
    "MissingProgramError",
    "NotCompiledWarning",
    "NumberError",
    "OutOfMemoryError",
    "OutsideError",
    "ParseError",
    "PathsWarning",
    "ShapeError",
    "SimplificationWarning",
    "SlowWarning",
    "SparsityWarning",
    "SymgradError",
    "TraceError",
    "UnsupportedError",
    "VerificationError",
]


def _nobody(_: SymgradError) -> None:
    """Note nothing: no trace can be running yet."""


class SymgradError(Exception):
    """Base of all errors that symgrad raises on purpose.

    Attributes
    ----------
    where:
        The line of the traced function that led to it, as ``file.py:12``, or None.
    """

    where: str | None = None
    #: Whether it is of traced values, so that plain numbers do not raise it.
    refuses = False
    #: The files and modules whose code ran around code that has hidden it.
    around: tuple[tuple[str, str], ...] = ()
    #: Notes one that is made, in the trace that runs.
    note: ClassVar[Callable[[SymgradError], None]] = staticmethod(_nobody)
    #: Whether it comes of tracing one example of a batch, by which no example's numbers are known.
    of_batch = False

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)
        if self.refuses:  # whoever catches it may not be who it is for
            SymgradError.note(self)


class TraceError(SymgradError, TypeError):
    """A traced value was used where Python needs a concrete number."""

    refuses = True
    #: Whether it was asked for a decision that no example takes: in a batch, in a loop's body.
    undecided = False


class ArgumentError(SymgradError, TypeError):
    """An argument of a kind that symgrad cannot take."""

    refuses = True


class DTypeError(SymgradError, TypeError):
    """An array's element type that symgrad cannot take."""

    refuses = True


class ShapeError(SymgradError, ValueError):
    """Shapes or axes that do not fit together."""


class NumberError(SymgradError, ValueError):
    """Numbers that NumPy refuses, such as negative powers of integers."""


class IndexingError(SymgradError, IndexError):
    """An index that is out of range or of a wrong kind."""


class BranchError(SymgradError, ValueError):
    """Values that take another branch than the program or kernel was made for."""


class UnsupportedError(SymgradError, TypeError):
    """A NumPy function, or an option of one, that is refused."""

    refuses = True


class OutsideError(UnsupportedError):
    """A number was drawn, or read off a clock or a file, while tracing: the same in every call."""


class DefinitionError(SymgradError, ValueError):
    """An op record that is incomplete, inconsistent or defined twice."""


class CycleError(SymgradError, ValueError):
    """A graph with a cycle; only hand-made or loaded graphs can have one."""


class CheckError(SymgradError, AssertionError):
    """A graph or a program that breaks the law of the intermediate representation."""


class VerificationError(SymgradError, AssertionError):
    """A kernel whose result is further from the exact one than allowed."""


class BackwardError(SymgradError, RuntimeError):
    """An eager backward pass that cannot run."""


class ParseError(SymgradError, ValueError):
    """Formula text that is refused.

    Parameters
    ----------
    message:
        The mistake, and the text to write instead.
    text, position:
        The formula and the offset of the offending character; when both are given the
        message shows the line with a caret below the place.
    """

    def __init__(self, message: str, *, text: str | None = None, position: int | None = None):
        self.text, self.position = text, position
        if text is not None and position is not None:
            begin = text.rfind("\n", 0, position) + 1
            end = text.find("\n", position)
            line = text[begin : len(text) if end < 0 else end]
            column = position - begin
            # Only a window around the place: hostile text may be one very long line.
            left = max(0, column - 60)
            window = line[left : column + 20]
            message = f"{message}\n    {window}\n    {' ' * (column - left)}^"
        super().__init__(message)


class DataError(SymgradError, ValueError):
    """A data file that is damaged or foreign; the message names the file and the line."""


# In this order __new__ is of its first base, and may be called by name, as tblib does (and so
# Dask), which pickles what workers raise.
class OutOfMemoryError(MemoryError, SymgradError):
    """An array that there is no memory for, or whose bytes no 64-bit number counts."""


class MissingExtraError(SymgradError, ImportError):
    """An optional dependency is not installed; the message says how to install it."""

    def __init__(self, module: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs the package {module!r}: pip install 'symgrad[{extra}]'",
            name=module,
        )
        self._given = module, extra, purpose

    def __reduce__(self) -> tuple[type, tuple[str, str, str], dict[str, object]]:
        return type(self), self._given, vars(self)  # by default it is made of the message alone


class MissingProgramError(SymgradError, OSError):
    """A program that is no Python package is not installed; the message says how to install it."""


class CaptureWarning(UserWarning):
    """A compiled function reads variables that are costly to follow."""


class DegeneracyWarning(UserWarning):
    """A derivative is asked for of one among equal eigenvalues or singular values, or its vector.

    There is none: it is nan. Functions of all of them have one.
    """


class DifferencesWarning(UserWarning):
    """A solver takes derivatives by differences, of a function that cannot be traced."""


class EqualityWarning(UserWarning):
    """A derivative is asked for at a point that a function singles out by ``==``."""


class NotCompiledWarning(UserWarning):
    """A function that a solver was given cannot be compiled, and runs as plain Python."""


class PathsWarning(UserWarning):
    """A function decides in many ways, by digits that rounding makes, or searches by halving."""


class SimplificationWarning(UserWarning):
    """A formula is right, but the time for simplifying it has run out."""


class SlowWarning(UserWarning):
    """A first call takes longer than ten seconds; later ones do not."""


class SparsityWarning(UserWarning):
    """A derivative is computed, or stored, with many more entries than it has."""
