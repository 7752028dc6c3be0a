"""What compiled functions offer to callers in C and other languages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._forks import undisturbed
from ._specialization import Specialization


class ForC:
    """The methods of a compiled function by which C calls it."""

    _specialization: Callable[..., Specialization]
    _recipe: tuple[Any, ...]

    def cfunc(self, *args: Any, signature: str | None = None, **kwargs: Any) -> Any:
        """Return a C function for arguments of these kinds: an address that any language calls.

        Parameters
        ----------
        *args, **kwargs:
            Example arguments; only their kinds matter.
        signature:
            The type that a library wants: ``"double (int, double *, void *)"`` for
            ``scipy.integrate``, ``"int (double *, npy_intp, double *, void *)"`` for
            ``scipy.ndimage.generic_filter``, ``"void (double, double *, double *, void *)"`` for
            NumbaLSODA, ``"int (size_t, const double *, double *, double *, void *)"`` for nutpie.
            Then it is for just the sizes of these arguments. None: sizes of arrays first, then
            the arguments, arrays as pointers, then a pointer for each result; what it returns
            is 0, or says what is wrong. ``symgrad.export_c`` gives the same function in C.

        Returns
        -------
        CFunction
            With ``address``, ``signature``, ``declaration``, ``ctypes`` and
            ``low_level_callable``. What ``f`` reads besides its arguments has in it the values
            of now: a pointer cannot look for changes.

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


def c_names(function: Any) -> tuple[str, str]:
    """Return what a compiled function is called in C, and the words for it."""
    chain = []
    while isinstance(function, ForC):
        chain.append(function._recipe[0].__name__.strip("_"))
        function = getattr(function, "__wrapped__", None)
    own = getattr(function, "__name__", "f").replace("<lambda>", "f")
    chain = [word for word in chain if word != "compile"]
    return "_".join([own, *(chain or ["value"])]), " of ".join([*chain, own])
