"""``recheck``: a saved certificate against the kernels and exact values of now."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._graph import Node
from .._schedule import Program
from .._trace import Traced, as_node, substitute
from .._verify import Certificate
from ..errors import DataError, VerificationError
from ._certificates import certificate, mean


def recheck(
    path: str | os.PathLike[str], f: Callable[..., Any] | None = None, *args: Any
) -> Certificate:
    """Check a saved certificate again, here and now.

    The same points are looked at: exact values are computed anew, and compared with those of
    the certificate; kernels are compiled anew, and compared with the exact values.

    Parameters
    ----------
    path:
        A file that :meth:`Certificate.save` wrote.
    f, *args:
        The function and its example arguments; without them, the program that was saved with
        the certificate is checked.

    Returns
    -------
    Certificate
        The new one.

    Raises
    ------
    VerificationError
        If a derivative is further off than the certificate allows, or the worst points have
        other exact values than it says.
    DataError
        If the file is no certificate, or has no program and no function was given.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg, pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "tanh.json")
    >>> sg.verify(np.tanh, domain=(-3.0, 3.0), points=4).save(file)
    >>> sg.recheck(file).max_ulp < 4
    True
    """
    old = Certificate.load(path)
    if f is None:
        if not old.program:
            raise DataError(
                f"{path}: no program was saved with it, since the function decides by values in "
                "the domain, or has an op that the format does not: give the function, "
                "sg.recheck(path, f)"
            )
        f, args = _function(Program.from_json(old.program), old)
    intervals = {n: tuple(v) for n, v in old.domain.items()}
    wrt = [r.name.removeprefix("d/d ") for r in old.rows if r.name != "value"]
    new = certificate(
        f, args, wrt, intervals, old.digits, int(old.versions["samples"]), old.limit,
        int(old.versions["points"]), old.seed,
    )  # fmt: skip
    for before in old.rows:
        after = new[before.name]
        if before.worst is None or after.worst is None or before.point != after.point:
            continue  # another processor has its worst point elsewhere
        digits = old.digits - 10
        if sp.Float(before.worst.exact, digits) != sp.Float(after.worst.exact, digits):
            raise VerificationError(
                f"{before.name} at {before.point}: the certificate says {before.worst.exact}, "
                f"now it is {after.worst.exact}"
            )
    return new


def _function(program: Program, old: Certificate) -> tuple[Any, tuple[Any, ...]]:
    """Return a saved program as a function, and example arguments for it."""
    names = [n.name for n in program.inputs]

    def saved(*xs: Any) -> Any:
        swap: dict[Node, Node] = dict(zip(program.inputs, (as_node(x) for x in xs), strict=True))
        found = tuple(Traced(n) for n in substitute(program.outputs, swap))
        return found[0] if len(found) == 1 else found

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    saved.__name__ = old.function
    saved.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(n, kind) for n in names]
    )
    args = []
    for n in program.inputs:
        shape = tuple(map(int, n.shape))
        value = mean(old.domain[n.name]) if n.name in old.domain else old.fixed[n.name]
        args.append(np.broadcast_to(np.asarray(value, n.dtype), shape).copy()[()])
    return saved, tuple(args)
