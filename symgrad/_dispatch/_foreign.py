"""What compiled functions offer to other machine code: kernels for Numba, functions for C."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._core.base.argument_checks import as_path
from .._core.base.fork_safety import undisturbed
from ._specialization import Specialization

if TYPE_CHECKING:
    from ._c_function import CFunction


_IN_NUMBA = "a kernel in Numba's code has no Python objects to write to"


class Foreign:
    """The methods of a compiled function by which Numba and C call it."""

    _specialization: Callable[..., Specialization]
    _recipe: tuple[Any, ...]

    def kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Return the numba dispatcher for arguments of these kinds.

        It can be called inside ``@njit`` and ``prange`` with arguments of the same types,
        of any sizes for which the trace holds (else it raises ValueError): 0, 1 and the short
        axes of matrices (up to 8, the last one up to 16) keep their sizes. What is a constant
        of the trace (True and False, the integers up to 1, strings, None) must be given as
        it was. Tuples are passed as they are; where an argument contains dicts, lists or
        dataclasses, which numba does not have, the kernel takes the leaves that are no
        constants one by one.
        """
        return self._specialization(args, kwargs, True, True, alone=_IN_NUMBA).kernel(into=False)

    def kernel_into(self, *args: Any, **kwargs: Any) -> Any:
        """Return a numba dispatcher that writes into given arrays and allocates nothing.

        It takes the arguments of :meth:`kernel` and then one C-contiguous array for each
        array of the result, in order. It returns the result with these arrays in it: for
        ``value_and_grad``, ``(value, out)``. An array that has another shape than its result,
        or overlaps with another argument, is a ValueError. If sizes never change, a kernel of
        ``sg.compile(g, dynamic=False)`` is faster: LLVM then knows them in the caller, too.

        Examples
        --------
        >>> import numpy as np
        >>> import symgrad as sg
        >>> from numba import njit
        >>> x = np.array([3.0, 4.0])
        >>> step = sg.value_and_grad(lambda x: np.sum(x**2)).kernel_into(x)
        >>> @njit
        ... def descend(x, steps):
        ...     slope = np.empty_like(x)
        ...     for _ in range(steps):
        ...         value, _ = step(x, slope)
        ...         x = x - 0.1 * slope
        ...     return value
        >>> print(f"{descend(x, 50):.3e}")
        7.957e-09
        """
        return self._specialization(args, kwargs, True, True, alone=_IN_NUMBA).kernel(into=True)

    def cfunc(self, *args: Any, signature: str | None = None, **kwargs: Any) -> CFunction:
        """Return a C function for arguments of these kinds: an address that any language calls.

        Parameters
        ----------
        *args, **kwargs:
            Example arguments; only their kinds matter.
        signature:
            The type that a library wants: ``"double (int, double *, void *)"`` for
            ``scipy.integrate``, ``"int (double *, npy_intp, double *, void *)"`` for
            ``scipy.ndimage.generic_filter``, ``"void (double, double *, double *, void *)"`` for
            NumbaLSODA, ``"int (size_t, const double *, double *, double *, void *)"`` and
            ``"int (size_t, size_t, const double *, double *, void *)"`` for nutpie.
            Then it is for just the sizes of these arguments. None: sizes of arrays first, then
            the arguments, arrays as pointers, then a pointer for each result; what it returns
            is 0, or says what is wrong. :meth:`export` writes the same function to files.

        Returns
        -------
        CFunction
            With ``address``, ``signature``, ``declaration``, ``ctypes`` and
            ``low_level_callable``. Values that ``f`` captures are those of
            this moment: a pointer cannot check for changes.

        Raises
        ------
        ArgumentError
            If the signature is not known, or not for such arguments and results.
        UnsupportedError
            If ``f`` calls Python functions that are not traced.

        Examples
        --------
        >>> import symgrad as sg
        >>> from scipy.integrate import quad
        >>> g = sg.grad(lambda x, a: x**a)
        >>> slope = g.cfunc(1.0, 3.0, signature="double (int, double *)")
        >>> quad(slope.low_level_callable, 0.0, 2.0, args=(3.0,))[0]
        8.0
        >>> print(g.cfunc(1.0, 3.0).signature)
        int (double, double, double *)
        """
        with undisturbed():
            from ._c_function import callback_type, make_c_function  # noqa: PLC0415
        name, title = c_names(self)
        kind = None if signature is None else callback_type(signature)
        found = self._specialization(args, kwargs, fixed=kind is not None)
        return make_c_function(found, name, title, kind)

    def export(
        self, path: str | os.PathLike[str], *args: Any, target: str | None = None,
        name: str | None = None, **kwargs: Any,
    ) -> list[Path]:  # fmt: skip
        """Write the function for programs without Python: object file, library, or C source.

        Parameters
        ----------
        path:
            ``f.o`` for an object file, ``f.so`` for a shared library (which takes a C compiler),
            ``f.c`` for C source. Beside it come a header, ``f.h``, and ``f.cmake``, which
            CMake includes.
        *args, **kwargs:
            Example arguments; only their kinds matter. Array sizes become parameters.
        target:
            The processor: ``"x86-64"``, ``"x86-64-v2"``, ``"x86-64-v3"``, ``"x86-64-v4"``,
            ``"aarch64"`` or, for an object file, ``"wasm32"``. By default the level of this one.
            Where a lesser processor is to load the library, glibc refuses to.
        name:
            The name of the C function; by default that of ``f``.

        Returns
        -------
        list of Path
            The files. The function has the signature of :meth:`cfunc`; on every target it needs
            the C library and ``libm`` only, and LAPACK if it factors matrices. What ``f`` reads
            besides its arguments is in it, with its values of now.

        Raises
        ------
        ArgumentError
            If the path does not say what to write, the target is not known, ``name`` is no name
            in C, or no C compiler is there to link a library.
        UnsupportedError
            If ``f`` needs a function of SciPy's, NumPy's or the user's that is not compiled by
            symgrad: the message names it.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> import symgrad as sg
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = sg.grad(lambda x: np.sum(x**2)).export(f"{folder}/f.o", np.ones(3))
        ...     print([file.name for file in files])
        ['f.o', 'f.h', 'f.cmake']
        """
        with undisturbed():
            from ._export_files import write_export  # noqa: PLC0415
        own, title = c_names(self)
        found = self._specialization(args, kwargs)
        own = own if name is None else name
        return write_export(found, as_path(path, "export: path"), own, title, target)


def c_names(function: Any) -> tuple[str, str]:
    """Return what a compiled function is called in C, and the words for it."""
    chain = []
    while isinstance(function, Foreign):
        chain.append(function._recipe[0].__name__.strip("_"))
        function = getattr(function, "__wrapped__", None)
    own = getattr(function, "__name__", "f").replace("<lambda>", "f")
    chain = [word for word in chain if word != "compile"]
    return "_".join([own, *(chain or ["value"])]), " of ".join([*chain, own])
