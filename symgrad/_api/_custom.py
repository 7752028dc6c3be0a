"""Functions with derivatives of one's own. JAX's names and usage."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic

import numpy as np

from .._core.base.argument_checks import as_count, as_function
from .._core.base.pickling import Travels
from .._core.base.state import now
from .._core.control import ByPullback, ByTangent, Slopes, Values, build_custom
from .._core.op import registry
from .._core.trace import Traced, flatten
from .._dispatch import R
from ..errors import ArgumentError


def stop_gradient(x: Any) -> Any:
    """Return ``x``, as a constant to all derivatives.

    Parameters
    ----------
    x : array_like or nested
        An array or number, or a nested value of them.

    Returns
    -------
    array_like or nested
        The same value; its derivative is zero.

    Examples
    --------
    >>> import symgrad as sg
    >>> sg.grad(lambda x: x * sg.stop_gradient(x))(3.0)
    np.float64(3.0)
    """
    leaves, tree = flatten(x)
    stop = registry.ops["StopGradient"]
    return tree.unflatten([
        stop(v) if isinstance(v, Traced) or hasattr(type(v), "__symgrad_bind__") else v
        for v in leaves
    ])  # fmt: skip


class _Custom(Travels, Generic[R]):
    """A function whose derivative is given by a rule."""

    what = ""

    def __init__(self, fun: Callable[..., R], nondiff_argnums: Sequence[int] = ()) -> None:
        if not callable(fun):
            raise ArgumentError(f"{self.what} takes a function, not {type(fun).__name__}")
        self.fun = fun
        given = (
            nondiff_argnums if isinstance(nondiff_argnums, (tuple, list)) else (nondiff_argnums,)
        )
        what = f"{self.what}: nondiff_argnums"
        self.static = tuple(as_count(k, what, None) for k in given)
        #: The function as a step of eager computations, by the structure of its arguments.
        self.steps: dict[Any, Any] = {}
        functools.update_wrapper(self, fun)
        #: How many arguments a call can leave nothing out with.
        self._count = 0
        with contextlib.suppress(TypeError, ValueError):  # of C functions that do not say
            self._count = sum(
                p.kind is not p.VAR_POSITIONAL for p in inspect.signature(fun).parameters.values()
            )

    def _made_by(self) -> tuple[Any, ...]:
        rules = {k: v for k, v in vars(self).items() if k in ("fwd", "bwd", "jvp")}
        return type(self), (self.fun, self.static), {}, rules

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        """Call the function; its rule is given all arguments by position, with defaults."""
        self.require_rule()
        args = self._by_position(args, kwargs)
        if now().guards is None:
            kinds = {type(x) for x in flatten(args)[0]}
            for kind in kinds:
                whole = getattr(kind, "__symgrad_whole__", None)
                if whole is not None:  # eager tensors: a step of theirs
                    return whole(self, args)  # type: ignore[no-any-return]
            if Traced not in kinds:
                return self.fun(*args)
        static = {k % len(args): args[k] for k in self.static}
        free = [x for k, x in enumerate(args) if k not in static]

        def together(values: Sequence[Any]) -> list[Any]:
            rest = iter(values)
            return [static[k] if k in static else next(rest) for k in range(len(args))]

        first = [static[k] for k in sorted(static)]
        result: R = build_custom(
            self.what, functools.wraps(self.fun)(lambda *xs: self.fun(*together(xs))), free,
            lambda arguments, results: self.rule(first, together, arguments, results),
        )  # fmt: skip
        return result

    def _by_position(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return the arguments of a call by position, with those that it leaves out."""
        if not kwargs and len(args) >= self._count:
            return args
        try:
            given = inspect.signature(self.fun).bind(*args, **kwargs)
        except (TypeError, ValueError) as error:
            name = getattr(self, "__name__", "f")
            raise ArgumentError(f"{self.what}: {name}(): {error}") from None
        given.apply_defaults()
        named = [name for name in given.kwargs if name in kwargs]  # others are the function's own
        if named:
            raise ArgumentError(
                f"{self.what}: {', '.join(named)} can be given by name only, and the rule has "
                "arguments by position. Write instead: a function without `*` among its parameters"
            )
        return given.args

    def require_rule(self) -> None:
        """Raise if the rule is not given yet."""
        raise NotImplementedError

    def rule(
        self, first: Sequence[Any], together: Callable[..., Any], arguments: Values, results: Values
    ) -> Slopes:
        """Return the rule for arguments and results of these structures."""
        raise NotImplementedError


class custom_vjp(_Custom[R]):  # noqa: N801  JAX's name
    """A function with a custom reverse-mode rule.

    Parameters
    ----------
    fun:
        A NumPy function whose arguments can be given by position. The rule is given all of
        them, also those that a call names or leaves to their defaults.
    nondiff_argnums:
        Positions of arguments that are no numbers, or without a derivative; ``bwd`` gets
        them first.

    Notes
    -----
    Give the rule by ``defvjp``. Forward mode works, too: the rule is linear in the
    cotangent, and is transposed.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> @sg.custom_vjp
    ... def clip_slope(x):
    ...     return x
    >>> clip_slope.defvjp(lambda x: (x, None), lambda _, ct: (np.clip(ct, -1.0, 1.0),))
    >>> sg.grad(lambda x: 5.0 * clip_slope(x))(2.0)
    np.float64(1.0)
    """

    what = "custom_vjp"
    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Give the rule.

        Parameters
        ----------
        fwd:
            ``fwd(*args) -> (result, residual)``; the residual is any nested value.
        bwd:
            ``bwd(residual, ct) -> cotangents``: a tuple with one entry for each argument,
            None for zero.
        """
        self.fwd = as_function(fwd, "defvjp: fwd")
        self.bwd = as_function(bwd, "defvjp: bwd")

    def require_rule(self) -> None:
        """Raise if the rule is not given yet."""
        if self.fwd is None or self.bwd is None:
            name = getattr(self, "__name__", "f")
            raise ArgumentError(f"custom_vjp: {name} has no rule: call {name}.defvjp(fwd, bwd)")

    def rule(
        self, first: Sequence[Any], together: Callable[..., Any], arguments: Values, results: Values
    ) -> Slopes:
        """Return the rule for arguments and results of these structures."""
        fwd, bwd = self.fwd, self.bwd
        assert fwd is not None
        assert bwd is not None
        return ByPullback(
            functools.wraps(fwd)(lambda *xs: fwd(*together(xs))),
            functools.wraps(bwd)(lambda residual, ct: bwd(*first, residual, ct)),
            arguments, results,
        )  # fmt: skip


class custom_jvp(_Custom[R]):  # noqa: N801  JAX's name
    """A function with a custom forward-mode rule.

    Parameters
    ----------
    fun:
        A NumPy function whose arguments can be given by position. The rule is given all of
        them, also those that a call names or leaves to their defaults.
    nondiff_argnums:
        Positions of arguments that are no numbers, or without a derivative; the rule gets
        them first.

    Notes
    -----
    Give the rule by ``defjvp`` or ``defjvps``. Reverse mode works, too: the rule is
    linear in the tangents, and is transposed.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> @sg.custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1.0 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return log1pexp(x), t * (1.0 - 1.0 / (1.0 + np.exp(x)))
    >>> sg.grad(log1pexp)(100.0)
    np.float64(1.0)
    """

    what = "custom_jvp"
    jvp: Callable[..., Any] | None = None

    def defjvp(self, jvp: Callable[..., Any]) -> Callable[..., Any]:
        """Give the rule ``jvp(primals, tangents) -> (result, tangent)``; return it."""
        self.jvp = as_function(jvp, "defjvp: jvp")
        return jvp

    def defjvps(self, *slopes: Callable[..., Any] | None) -> None:
        """Give the rule as one function ``(tangent, result, *args) -> term`` an argument.

        The terms are added; None stands for zero.
        """
        for k, slope in enumerate(slopes):
            if slope is not None:
                as_function(slope, f"defjvps: the rule of argument {k}")
        self.jvp = functools.partial(_added, self, slopes)

    def require_rule(self) -> None:
        """Raise if the rule is not given yet."""
        if self.jvp is None:
            name = getattr(self, "__name__", "f")
            raise ArgumentError(f"custom_jvp: {name} has no rule: decorate it by {name}.defjvp")

    def rule(
        self, first: Sequence[Any], together: Callable[..., Any], arguments: Values, results: Values
    ) -> Slopes:
        """Return the rule for arguments and results of these structures."""
        jvp = self.jvp
        assert jvp is not None
        named = functools.wraps(jvp)(lambda primals, tangents: jvp(*first, primals, tangents))
        return ByTangent(named, arguments, results)


def _added(
    function: custom_jvp[Any], slopes: Sequence[Callable[..., Any] | None],
    primals: Any, tangents: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """Return result and tangent of a function whose rule is one function an argument."""
    result = function(*primals)
    total: Any = None
    for slope, t in zip(slopes, tangents, strict=True):
        if slope is not None:
            term = slope(t, result, *primals)
            total = term if total is None else np.add(total, term)
    return result, np.zeros_like(result) if total is None else total
