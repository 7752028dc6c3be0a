"""Functions with a derivative rule of the user's, as one step of an eager computation.

A ``custom_vjp``, ``custom_jvp`` or ``implicit_root`` function computes its value at once; what
goes on inside is not recorded. Its way back is the compiler's: ``vjp`` of the function, which
knows the rule. That is a function in turn, and a step of its own under ``create_graph=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._api._transforms import compile, vjp
from .._op import Op
from .._trace import Traced, Tree, flatten, is_value
from ._mode import mode
from ._record import bind
from ._tensor import Tensor

#: How many structures of arguments are known of a function.
MOST = 64


@dataclass(frozen=True, eq=False, kw_only=True)
class _Whole(Op):
    """The op of a step; on traced values it is the function itself."""

    traced: Callable[..., Any]

    def __call__(self, *operands: Any, **params: Any) -> Any:
        if any(isinstance(x, Traced) for x in operands):
            return self.traced(*operands)
        return bind(self, operands, params)


class _Step:
    """A function of arguments of one structure, as an op of the numbers in them.

    Attributes
    ----------
    flat:
        The function of the numbers alone; several results are one vector.
    op:
        The op.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, tree: Tree, leaves: Sequence[Any]
    ) -> None:
        self.function, self.name, self.tree, self.leaves = function, name, tree, list(leaves)
        self.places = [k for k, x in enumerate(leaves) if _is_number(x)]
        for k in self.places:
            self.leaves[k] = None  # only their places are of interest
        self.results: Tree | None = None
        self.shapes: list[tuple[int, ...]] = []
        self.op = _Whole(
            name=name, kind="routine", evaluate=self.evaluate, vjp=self.pulled, traced=self.flat,
            source=lambda *xs: f"{name}({', '.join(map(str, xs))})",
        )  # fmt: skip
        self.compiled: Callable[..., Any] | None = None
        self.behind: _Step | None = None

    def __call__(self, numbers: Sequence[Any]) -> Any:
        """Apply the function to numbers of which some are tensors."""
        packed = self.op(*numbers)
        assert self.results is not None
        if len(self.shapes) == 1:
            return self.results.unflatten([packed])
        parts, start = [], 0
        for shape in self.shapes:
            size = int(np.prod(shape, dtype=int))
            parts.append(np.reshape(packed[start : start + size], shape))
            start += size
        return self.results.unflatten(parts)

    def flat(self, *numbers: Any) -> Any:
        """Return the results for numbers in their places, as one array."""
        leaves = list(self.leaves)
        for k, x in zip(self.places, numbers, strict=True):
            leaves[k] = x
        found, self.results = flatten(self.function(*self.tree.unflatten(leaves)))
        self.shapes = [np.shape(x) for x in found]
        return found[0] if len(found) == 1 else np.concatenate([np.ravel(x) for x in found])

    def evaluate(self, *arrays: Any) -> Any:
        """Return the packed results of plain arrays."""
        return np.asarray(self.flat(*(x[()] for x in map(np.asarray, arrays))))

    def pulled(self, ct: Any, _: Any, *xs: Any) -> list[Any]:
        """Return the cotangents of the numbers, None for those that are not floats."""
        given = (ct, *xs)
        if any(isinstance(x, Tensor) for x in given):
            if self.behind is None:
                self.behind = _back_step(self, given)
            found = self.behind(given)
        else:
            if self.compiled is None:
                self.compiled = compile(self.back)
            found = self.compiled(*given)
        parts = iter(found)
        return [next(parts) if _is_float(x) else None for x in xs]

    def back(self, ct: Any, *xs: Any) -> tuple[Any, ...]:
        """Return the cotangents of the floats among the numbers, by the compiler."""
        floats = [k for k, x in enumerate(xs) if _is_float(x)]

        def of(*values: Any) -> Any:
            numbers = list(xs)
            for k, value in zip(floats, values, strict=True):
                numbers[k] = value
            return self.flat(*numbers)

        _, pullback = vjp(of, *(xs[k] for k in floats))
        return pullback(ct)


def _back_step(step: _Step, given: tuple[Any, ...]) -> _Step:
    """Return the way back of a step as a step; its values are computed by the kernel."""
    _, tree = flatten(given)
    compiled = compile(step.back)
    made = _Step(step.back, f"{step.name}Backward", tree, given)

    def back(*args: Any) -> Any:
        plain = not any(isinstance(x, Traced) for x in args)
        return compiled(*args) if plain else step.back(*args)

    made.function = back
    return made


def _is_number(x: Any) -> bool:
    return isinstance(x, Tensor) or is_value(x)


def _is_float(x: Any) -> bool:
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return bool(dtype.kind == "f")


def whole(custom: Any, args: tuple[Any, ...]) -> Any:
    """Apply a function with a rule of the user's to arguments of which some are tensors.

    Parameters
    ----------
    custom:
        The function; it keeps its steps in ``custom.steps``.
    args:
        Its arguments: nested values of tensors, arrays, and whatever it takes.
    """
    leaves, tree = flatten(args)
    tensors = [x for x in leaves if isinstance(x, Tensor)]
    if not mode.recording or not any(x.requires_grad for x in tensors):
        return custom.fun(*args)
    places = [k for k, x in enumerate(leaves) if _is_number(x)]
    others = tuple(x for x in leaves if not _is_number(x))
    key = (tree, tuple(places), tuple(map(id, others)))
    step = custom.steps.get(key)  # it holds what the key has the ids of
    if step is None:
        if len(custom.steps) >= MOST:
            custom.steps.clear()
        name = getattr(custom, "__name__", "")
        name = name if name.isidentifier() else custom.what
        step = custom.steps[key] = _Step(custom, name, tree, leaves)
    return step([leaves[k] for k in places])


Tensor.__symgrad_whole__ = staticmethod(whole)  # type: ignore[attr-defined]

__all__ = ["whole"]
