"""Universal functions inside of traced functions: the function of an example under ``vmap``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._core.base.broadcast import broadcast, is_one, normalize_axis
from .._core.base.sizes import Dimension, Shape, hint, same
from .._core.ops.np_common import dims
from .._core.trace import Complex, Traced, flatten, kind_of, require_traced
from .._syntax._control import fori_loop, scan
from ..errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from ._vmap import vmap_body

#: The core axes of each operand, by name, with a question mark where an axis may be missing.
Axes = Sequence[Sequence[str]]


class Core:
    """What a universal function computes of traced values.

    Parameters
    ----------
    f:
        The function of one example.
    inputs, outputs:
        The core axes of the arguments and of the results.
    types:
        For each loop the element types of all operands.
    """

    def __init__(
        self, f: Callable[..., Any], inputs: Axes, outputs: Axes, types: Sequence[str]
    ) -> None:
        self.f, self.inputs, self.outputs, self.types = f, inputs, outputs, types
        self.name = getattr(f, "__name__", "the function")

    def __call__(
        self, *args: Any, method: str = "__call__", _top: bool = False, **options: Any
    ) -> Any:
        """Return what the universal function, or one of its methods, returns."""
        for option in options.keys() & {"signature", "where"}:
            raise UnsupportedError(f"{self.name}(..., {option}=) is not traced: leave it out")
        if method == "__call__":
            return self._results(*args, **options)
        return self._fold(method, *args, **options)

    def _results(
        self, *args: Any, dtype: Any = None, axes: Any = None, axis: Any = None,
        keepdims: bool = False,
    ) -> Any:  # fmt: skip
        """Return the results; ``dtype``, ``axes``, ``axis``, ``keepdims`` are NumPy's."""
        chars = self._loop(args, dtype)
        given = [_cast(x, char) for x, char in zip(args, chars, strict=False)]
        missing = self._missing(given)
        inputs, outputs = (
            [[name for name in names if name not in missing] for names in side]
            for side in (self.inputs, self.outputs)
        )
        places = self._places(given, inputs, outputs, axes, axis, keepdims)
        moved = [_moved(x, at, range(-len(at), 0)) for x, at in zip(given, places, strict=False)]
        sizes = self._sizes(moved, inputs)
        said = written(self.inputs, self.outputs)
        kinds = chars[len(args) :]

        def example(*parts: Any) -> Any:
            # As in a compiled loop, an axis that is missing has length one.
            full = [_expanded(x, n, missing) for x, n in zip(parts, self.inputs, strict=True)]
            return self.f(*full)

        loops = [dims(x)[: x.ndim - len(n)] for x, n in zip(moved, inputs, strict=True)]
        loop, results = self._mapped(example, moved, loops)
        lengths = {**sizes, **dict.fromkeys(missing, 1)}
        check_results(results, self.outputs, lengths, loop, kinds, said)
        made = []
        for x, names, at, char in zip(
            results, self.outputs, places[len(args) :], kinds, strict=True
        ):
            gone = [k - len(names) for k, name in enumerate(names) if name in missing]
            x = _cast(np.squeeze(x, tuple(gone)) if gone else x, char)
            made.append(np.expand_dims(x, at) if keepdims else _moved(x, range(-len(at), 0), at))
        return made[0] if len(made) == 1 else tuple(made)

    def _fold(
        self, method: str, x: Any, axis: Any = 0, dtype: Any = None, keepdims: bool = False,
        initial: Any = None,
    ) -> Any:  # fmt: skip
        """Return ``reduce`` or ``accumulate`` along an axis, of a function of two numbers."""
        if (self.inputs, self.outputs) != ([[], []], [[]]):
            raise ArgumentError(f"{self.name}.{method}: only a function of two numbers that gives "
                                "one is reduced")  # fmt: skip
        if x.ndim == 0 or isinstance(axis, tuple) or (axis is None and x.ndim > 1):
            raise ArgumentError(f"{self.name}.{method} goes along one axis in a traced function, "
                                f"not along axis={axis} of {x.ndim}")  # fmt: skip
        at = normalize_axis(axis or 0, x.ndim)
        x = np.moveaxis(_cast(x, self._loop((x, x), dtype)[0]), at, 0)
        if method == "accumulate":
            found = scan(lambda s, row: (self(s, row),) * 2, x[0], x[1:])[1]
            return np.moveaxis(np.concatenate([x[:1], found]), 0, at)
        start, rest = (x[0], x[1:]) if initial is None else (x[0] * 0 + initial, x)
        found = fori_loop(0, len(rest), lambda k, s: self(s, rest[k]), start)
        return np.expand_dims(found, at) if keepdims else found

    # ---------------------------------------------------------------- what NumPy does for a loop

    def _loop(self, args: Sequence[Any], dtype: Any) -> str:
        """Return the types of the loop: the first that all arguments are cast to safely."""
        kinds = list(map(_kind, args))
        if not any(isinstance(kind, np.dtype) for kind in kinds):
            kinds = list(map(np.dtype, kinds))
        for chars in self.types:
            if dtype is not None:
                if np.dtype(dtype).char == chars[len(args)]:
                    return chars
            elif all(_fits(kind, char) for kind, char in zip(kinds, chars, strict=False)):
                return chars
        said = (
            ", ".join(np.dtype(k).name for k in kinds)
            if dtype is None
            else f"dtype={np.dtype(dtype)}"
        )
        raise DTypeError(
            f"{self.name} has no loop for {said}: it has those for "
            f"{', '.join(f'{c[: len(args)]}->{c[len(args) :]}' for c in self.types)}"
        )

    def _missing(self, args: Sequence[Any]) -> set[str]:
        """Return the axes that may be missing and are."""
        missing: set[str] = set()
        for k, (x, names) in enumerate(zip(args, self.inputs, strict=True)):
            least = sum(not name.endswith("?") for name in names)
            if x.ndim < least:
                raise ShapeError(
                    f"{self.name}: argument {k} has {x.ndim} axes, in the signature "
                    f"{written(self.inputs, self.outputs)} it has {least} at least"
                )
            if x.ndim < len(names):
                missing.update(name for name in names if name.endswith("?"))
        return missing

    def _places(
        self, args: Sequence[Any], inputs: Axes, outputs: Axes, axes: Any, axis: Any, keepdims: bool
    ) -> list[list[int]]:
        """Return where the core axes of each operand are, counted from the back."""
        core = [*inputs, *outputs]
        counts = [len(names) for names in core]
        said = written(inputs, outputs)
        if keepdims and (len(set(counts[: len(args)])) > 1 or any(counts[len(args) :])):
            raise ArgumentError(
                f"{self.name}: keepdims= is for results without core axes, of arguments with "
                f"equally many, not for {said}"
            )
        if axis is not None:
            if len({name for names in core for name in names}) != 1 or max(counts) > 1:
                raise ArgumentError(f"{self.name}: axis= is for one core axis, not for {said}")
            axes = [(axis,) * (1 if keepdims else count) for count in counts]
        if axes is None:
            axes = [range(-count, 0) for count in counts]
        axes = [(x,) if hasattr(x, "__index__") else tuple(x) for x in axes]
        if len(axes) == len(args) and not any(counts[len(args) :]):
            axes = [*axes, *[()] * len(outputs)]
        if keepdims:  # the axes of a result are those that are kept
            counts = [*counts[: len(args)], *[counts[0]] * len(outputs)]
            axes = [at or (axes[0] if k >= len(args) else at) for k, at in enumerate(axes)]
        if [len(at) for at in axes] != counts:
            raise ArgumentError(
                f"{self.name}: axes= has the core axes of all operands of {said}, a tuple each, "
                f"not {axes}"
            )
        lead = max((x.ndim - n for x, n in zip(args, counts, strict=False)), default=0)
        ranks = [*(x.ndim for x in args), *(lead + n for n in counts[len(args) :])]
        return [
            [normalize_axis(k, rank) - rank for k in at]
            for at, rank in zip(axes, ranks, strict=True)
        ]

    def _sizes(self, args: Sequence[Any], inputs: Axes) -> dict[str, Dimension]:
        """Return the lengths of the core axes, of which those of one name are equal."""
        sizes: dict[str, Dimension] = {}
        for k, (x, names) in enumerate(zip(args, inputs, strict=True)):
            for name, size in zip(names, dims(x)[x.ndim - len(names) :], strict=True):
                wanted = int(name) if name.isdecimal() else sizes.setdefault(name, size)
                if not same(size, wanted):
                    raise ShapeError(
                        f"{self.name}: the axis {name} of argument {k} has length {hint(size)}, "
                        f"not {hint(wanted)}"
                    )
        return sizes

    def _mapped(
        self, function: Callable[..., Any], args: Sequence[Any], loops: list[Shape]
    ) -> tuple[Shape, list[Any]]:
        """Return the axes of the loop and the results: one ``vmap`` for each of the axes."""
        try:
            loop = broadcast(*loops)
        except ShapeError as error:
            raise ShapeError(f"{self.name}: {error}") from None
        singles = [k for k, size in enumerate(loop) if is_one(size)]
        parts = []
        among: list[list[int]] = []  # the axes of the loop that an argument has
        for x, own in zip(args, loops, strict=True):
            ones = [k for k, size in enumerate(own) if is_one(size)]
            parts.append(np.squeeze(x, tuple(ones)) if ones else x)
            among.append([k + len(loop) - len(own) for k in range(len(own)) if k not in ones])
        for k in reversed(range(len(loop))):
            if k not in singles:
                function = vmap_body(function, tuple(0 if k in a else None for a in among), 0)
        results = results_of(function(*parts))
        return loop, [np.expand_dims(x, singles) for x in results] if singles else results


# ---------------------------------------------------------------- results


def written(inputs: Axes, outputs: Axes) -> str:
    """Return core axes as text."""
    return "->".join(",".join(f"({','.join(x)})" for x in side) for side in (inputs, outputs))


def results_of(value: Any) -> list[Any]:
    """Return what a function has returned as a list of traced values."""
    leaves, tree = flatten(value)
    rest = (require_traced(x, "what the function returns") for x in leaves)
    return [next(rest) if n == 1 else Complex.of(next(rest), next(rest)) for n in tree.units]


def check_results(
    results: Sequence[Any], axes: Axes, sizes: dict[str, Any], lead: Shape, chars: str, core: str
) -> None:
    """Raise if the results are not as many, of the shapes and types that were said.

    They have axes ``lead`` before those of an example.
    """
    if len(results) != len(axes):
        raise ArgumentError(
            f"the function has {len(results)} results, the signature {core} has {len(axes)}"
        )
    for k, (x, names, char) in enumerate(zip(results, axes, chars, strict=True)):
        shape = dims(x)
        wanted = *lead, *(sizes.get(name, int(name) if name.isdecimal() else 0) for name in names)
        if len(shape) != len(wanted) or not all(map(same, shape, wanted)):
            found, said = (tuple(map(hint, s[len(lead) :])) for s in (shape, wanted))
            raise ShapeError(f"result {k} has shape {found}, in the signature {core} it has {said}")
        kind, dtype = np.dtype(char), np.dtype(x.dtype)
        if dtype.kind != kind.kind:
            raise DTypeError(
                f"result {k} is {dtype}, in this loop it is to be {kind}: say so, as in "
                f'types=["d->{dtype.char}"]'
            )


# ---------------------------------------------------------------- operands


def _kind(x: Any) -> Any:
    """Return the element type of an operand, or the Python type of a number."""
    if isinstance(x, complex) and not isinstance(x, np.generic):
        return complex
    dtype = getattr(x, "dtype", None)
    return dtype if dtype is not None and dtype.kind == "c" else kind_of(x)


def _fits(kind: Any, char: str) -> bool:
    """Tell whether an operand, a Python number if it is weak, is cast to a type safely."""
    if isinstance(kind, np.dtype):
        return bool(np.can_cast(kind, char, "safe"))
    return np.dtype(char).kind in {int: "iufc", float: "fc"}.get(kind, "c")


def _cast(x: Any, char: str) -> Any:
    x = x if isinstance(x, (Traced, Complex)) else np.asarray(x)
    return x if x.dtype == np.dtype(char) else x.astype(char)


def _moved(x: Any, source: Sequence[int], target: Sequence[int]) -> Any:
    return np.moveaxis(x, list(source), list(target)) if len(source) else x


def _expanded(x: Any, names: Sequence[str], missing: set[str]) -> Any:
    """Return an example with axes of one element for those that are missing."""
    new = [k - len(names) for k, name in enumerate(names) if name in missing]
    return np.expand_dims(x, tuple(new)) if new else x
