"""Functions with a rule of the user's, and compiled ones, as one step of an eager computation.

A ``custom_vjp``, ``custom_jvp`` or ``implicit_root`` function computes its value at once; what
goes on inside is not recorded. Its way back is the compiler's: ``vjp`` of the function, which
knows the rule. That is a function in turn, and a step of its own under ``create_graph=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._api._at_values import vjp
from .._api._transforms import compile
from .._core.op import Code, Op, Products
from .._core.trace import Traced, Tree, flatten, is_value
from .._dispatch import Function
from ..errors import UnsupportedError
from ._composites import no_push
from ._mode import mode
from ._record import bind
from ._tensor import Tensor, wrap

#: How many structures of arguments are known of a function.
MOST = 64


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class _Whole(Op):
    """The op of a step; on traced values it is the function itself."""

    traced: Callable[..., Any]
    #: Its rule computes the result again, if it needs it.
    reads_result: ClassVar[bool] = False
    kind = "routine"

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
        self, function: Callable[..., Any], name: str, tree: Tree, leaves: Sequence[Any],
        rounding: str | None = None,
    ) -> None:  # fmt: skip
        self.function, self.name, self.tree, self.leaves = function, name, tree, list(leaves)
        self.places = [k for k, x in enumerate(leaves) if _is_number(x)]
        for k in self.places:
            self.leaves[k] = None  # only their places are of interest
        self.rounding = rounding
        self.results: Tree | None = None
        self.found: list[Any] = []
        self.op = _Whole(
            name, evaluate=self.evaluate, rule=Products(self.pulled, no_push), traced=self.flat
        )
        Code(source=lambda *xs: f"{name}({', '.join(map(str, xs))})").put(self.op)
        self.compiled: Callable[..., Any] | None = None
        self.behind: _Step | None = None

    def __call__(self, numbers: Sequence[Any]) -> Any:
        """Apply the function to numbers of which some are tensors."""
        packed = self.op(*numbers)
        assert self.results is not None
        found, parts, start = self.found, [], 0
        if len(found) == 1 and _is_float(found[0]):
            return self.results.unflatten([packed])
        for x in found:
            if not _is_float(x):
                parts.append(wrap(np.asarray(x)))
                continue
            size = int(np.prod(np.shape(x), dtype=int))
            part = np.reshape(packed[start : start + size], np.shape(x))
            parts.append(part.astype(np.asarray(x).dtype))
            start += size
        return self.results.unflatten(parts)

    def flat(self, *numbers: Any) -> Any:
        """Return the results for numbers in their places: the floats among them, as one array."""
        leaves = list(self.leaves)
        for k, x in zip(self.places, numbers, strict=True):
            leaves[k] = x
        self.found, self.results = flatten(self.function(*self.tree.unflatten(leaves)))
        _check_real(self.found, self.name)
        found = [x for x in self.found if _is_float(x)]
        if len(found) == len(self.found) == 1:
            return found[0]
        if not found:
            return np.zeros(0)
        return np.concatenate([np.ravel(x) for x in found])

    def evaluate(self, *arrays: Any) -> Any:
        """Return the packed results of plain arrays."""
        return np.asarray(
            self.flat(*(x[()] if x.ndim == 0 else x for x in map(np.asarray, arrays)))
        )

    def pulled(self, ct: Any, _: Any, *xs: Any) -> list[Any]:
        """Return the cotangents of the numbers, None for those that are not floats."""
        given = (ct, *xs)
        if any(isinstance(x, Tensor) for x in given):
            if self.behind is None:
                self.behind = _back_step(self, given)
            found = self.behind(given)
        else:
            if self.compiled is None:
                self.compiled = compile(self.back, rounding=self.rounding)
            found = self.compiled(*(x[()] if x.ndim == 0 else x for x in map(np.asarray, given)))
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
    compiled = compile(step.back, rounding=step.rounding)
    made = _Step(step.back, f"{step.name}Backward", tree, given, step.rounding)

    def back(*args: Any) -> Any:
        plain = not any(isinstance(x, Traced) for x in args)
        return compiled(*args) if plain else step.back(*args)

    made.function = back
    return made


def _check_real(results: Sequence[Any], name: str) -> None:
    if any(np.iscomplexobj(x) for x in results if not isinstance(x, Traced)):
        raise UnsupportedError(
            f"a result of {name} is complex, and eager tensors are real: give it "
            "t.detach().numpy() in place of a tensor"
        )


def _is_number(x: Any) -> bool:
    return isinstance(x, Tensor) or is_value(x)


def _is_float(x: Any) -> bool:
    dtype = x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype
    return bool(dtype.kind == "f")


def _known(
    steps: dict[Any, _Step], name: str, function: Callable[..., Any], leaves: Sequence[Any],
    tree: Tree, rounding: str | None = None,
) -> tuple[_Step, list[Any]]:  # fmt: skip
    """Return the step of a function for arguments of a structure, and the numbers in them."""
    places = [k for k, x in enumerate(leaves) if _is_number(x)]
    others = tuple(x for x in leaves if not _is_number(x))
    key = (tree, tuple(places), tuple(map(id, others)))
    step = steps.get(key)  # it holds what the key has the ids of
    if step is None:
        if len(steps) >= MOST:
            steps.clear()
        step = steps[key] = _Step(function, name, tree, leaves, rounding)
    return step, [leaves[k] for k in places]


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
    if not _recorded(leaves):
        return custom.fun(*args)
    name = getattr(custom, "__name__", "")
    name = name if name.isidentifier() else custom.what
    step, numbers = _known(custom.steps, name, custom, leaves, tree)
    return step(numbers)


def _recorded(leaves: Sequence[Any]) -> bool:
    return mode.recording and any(isinstance(x, Tensor) and x.requires_grad for x in leaves)


def compiled_step(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any
) -> Any:
    """Apply a compiled function to arguments of which some are tensors: one step.

    Parameters
    ----------
    function:
        What :func:`symgrad.compile`, :func:`symgrad.grad` or another transformation returned.
    args, kwargs, out:
        Its arguments.

    Returns
    -------
    Any
        The results, which are tensors; their gradients are computed by the compiled ``vjp``.

    Raises
    ------
    UnsupportedError
        With ``out=``, and if a result is complex.
    """
    if out is not None:
        raise UnsupportedError(
            "out= is for arrays: give the function t.detach().numpy() in place of a tensor, or "
            "leave out= out"
        )
    leaves, tree = flatten((args, kwargs))
    if _recorded(leaves):
        name = str(getattr(function, "__name__", ""))
        step, numbers = _known(
            function.steps, name if name.isidentifier() else "compiled",
            lambda args, kwargs: function(*args, **kwargs), leaves, tree, function.rounding,
        )  # fmt: skip
        return step(numbers)
    given, named = tree.unflatten([x._data if isinstance(x, Tensor) else x for x in leaves])
    found, results = flatten(function(*given, **named))
    _check_real(found, str(getattr(function, "__name__", "the function")))
    return results.unflatten([wrap(np.asarray(x)) if is_value(x) else x for x in found])


Tensor.__symgrad_step__ = staticmethod(compiled_step)  # type: ignore[attr-defined]
Tensor.__symgrad_whole__ = staticmethod(whole)  # type: ignore[attr-defined]
