"""Distributions with given parameters: ``norm(0.0, scale=2.0)``."""

from __future__ import annotations

from typing import Any

from .._core.ops.np_common import is_traced
from .._core.trace.namespace import holds


class Frozen:
    """A distribution with given parameters, which may be traced."""

    def __init__(self, distribution: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.distribution, self.args, self.kwargs = distribution, args, kwargs

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self.distribution, name)

        def asked(*x: Any, **options: Any) -> Any:
            return method(*x, *self.args, **self.kwargs, **options)

        asked.__name__ = name
        return asked


class Either:
    """A distribution with plain parameters: SciPy's, and what is traced of it."""

    def __init__(self, original: Any, traced: Frozen, own: tuple[str, ...]) -> None:
        self._original, self._traced, self._own = original, traced, own

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._traced if name in self._own else self._original, name)


def frozen(
    distribution: Any, args: tuple[Any, ...], kwargs: dict[str, Any], own: tuple[str, ...]
) -> Frozen | Either:
    """Return a distribution with parameters; with plain ones it is SciPy's.

    ``own``: its methods that take traced values.
    """
    traced = Frozen(distribution, args, kwargs)
    if any(holds(v, is_traced) for v in (*args, *kwargs.values())):
        return traced
    return Either(distribution.original(*args, **kwargs), traced, own)
