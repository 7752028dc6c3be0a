"""``checkpoint``: functions whose values reverse mode computes again instead of keeping them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, Generic

from .._core.base.argument_checks import refuse_kernel
from .._core.base.pickling import Travels
from .._core.base.state import now
from .._core.control import build_branch
from .._core.trace import Traced, as_node, flatten
from .._dispatch import P, R
from ..errors import ArgumentError


def checkpoint(fun: Callable[P, R]) -> Callable[P, R]:
    """Return ``fun`` such that reverse mode computes its intermediate values again.

    Its derivative keeps only the arguments, not what was computed from them: less memory
    for more work. Apply it to the body of a scan, or to a part of a long function.

    Parameters
    ----------
    fun:
        A NumPy function.

    Returns
    -------
    callable
        A function that computes the same.

    Raises
    ------
    ArgumentError
        If ``fun`` is no function.

    Notes
    -----
    A. Griewank, A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 12.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> f = sg.checkpoint(lambda x: np.sin(np.exp(x)))
    >>> sg.grad(f)(0.0) == np.cos(1.0)
    np.True_
    """
    if not callable(fun):
        raise ArgumentError(f"checkpoint takes a function, not {type(fun).__name__}")
    refuse_kernel(fun, "checkpoint")
    return _Checkpointed(fun)


class _Checkpointed(Travels, Generic[P, R]):
    """A function whose intermediate values are computed again."""

    def __init__(self, fun: Callable[P, R]) -> None:
        self._recipe: tuple[Any, ...] = checkpoint, (fun,), {}
        self._fun = fun
        functools.update_wrapper(self, fun, updated=())

    def _made_by(self) -> tuple[Any, ...]:
        return self._recipe

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        fun = self._fun
        if now().guards is None:
            return fun(*args, **kwargs)
        written: list[bool] = []
        draws = now().draws
        once = nullcontext if draws is None else draws.once()

        @functools.wraps(fun)
        def given(values: Any) -> Any:
            with once():
                found = fun(*values[0], **values[1])
            inner = flatten(values)[0]
            written[:] = [isinstance(x, Traced) and bool(x.ndim) and x.overwritten for x in inner]
            return found, tuple(x for x, new in zip(inner, written, strict=True) if new)

        made = build_branch("checkpoint", as_node(0), (given,), ((args, kwargs),), kept=True)
        result: R = made[0]
        outer = flatten((args, kwargs))[0]  # some plain, if all that is traced is closed over
        changed = [x for x, new in zip(outer, written, strict=True) if new]
        for x, content in zip(changed, made[1], strict=True):
            x[...] = content
        return result
