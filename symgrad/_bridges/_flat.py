"""A NumPy function as another library sees it: arrays in, arrays out, and its derivatives.

A library that differentiates asks for three functions: the product of a Jacobian with a vector,
that of its transpose, and the function of a batch. Each is again a function of arrays, which
symgrad's transformations make of the first; so one class serves any order of derivatives, in any
nesting.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .._api._at_values import jvp, vjp
from .._api._transforms import check_function, compile, vmap
from .._core.base.fork_safety import free_in_children
from .._core.base.pickling import Travels
from .._core.trace import Complex, Traced, Tree, argument_paths, flatten, flatten_traced, is_value
from .._dispatch import Function
from ..errors import ArgumentError, SymgradError, UnsupportedError


class Kind(NamedTuple):
    """Shape and element type of an array."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def real(self) -> bool:
        """Whether its elements have derivatives: real or complex numbers of floating point."""
        return self.dtype.kind in "fc"


def kind_of(array: Any) -> Kind:
    """Return the kind of an array of NumPy's."""
    return Kind(tuple(array.shape), np.dtype(array.dtype))


class Nest(NamedTuple):
    """How the arrays of a result are nested, and where there is None among them."""

    tree: Tree
    present: tuple[bool, ...]

    def pack(self, arrays: Sequence[Any]) -> Any:
        """Return the nested result."""
        rest = iter(arrays)
        return self.tree.unflatten(next(rest) if there else None for there in self.present)


Kinds = Callable[[Sequence[Any]], tuple[list[Kind], Nest | None]]


class Flat:
    """A function of leaves, which are arrays and what else a call may have, with array results.

    Parameters
    ----------
    body:
        Takes the leaves, plain or traced, and returns a nested value.
    count:
        The number of leaves.
    run:
        Does the same for plain leaves, compiled.
    kinds:
        Return the kinds of the results, for leaves whose values do not matter, and how the
        function of the user nests them.
    again:
        The call that makes it, for pickles: PyMC sends models to the processes of its chains.
    refuse_state:
        Raises if the function of the user changes state: a derivative is another call, which
        would meet another state, and change it again.
    """

    def __init__(
        self, body: Callable[..., Any], count: int, run: Callable[..., Any], kinds: Kinds,
        again: tuple[Callable[..., Flat], tuple[Any, ...]], refuse_state: Callable[[], None],
    ) -> None:  # fmt: skip
        self._again, self._refuse_state = again, refuse_state
        self.body, self.count, self.kinds = body, count, kinds
        #: What ``kinds`` has returned, by what it was asked for.
        self.known: dict[Hashable, tuple[list[Kind], Nest | None]] = {}
        self._run = run
        self._made: dict[Hashable, Flat] = {}
        self._lock = free_in_children(threading.Lock())

    def __reduce__(self) -> tuple[Any, ...]:
        return self._again

    def __call__(self, leaves: Sequence[Any]) -> tuple[list[np.ndarray[Any, Any]], Nest]:
        """Return the results for plain leaves, and how they are nested."""
        flat, tree = flatten(self._run(*map(_number, leaves)))
        present = tuple(leaf is not None for leaf in flat)
        return [as_array(leaf) for leaf in flat if leaf is not None], Nest(tree, present)

    def pullback(self, wrt: tuple[int, ...], cotangents: int, conjugate: bool = False) -> Flat:
        """Return ``(*leaves, *cotangents) -> cotangents of the leaves wrt``.

        Parameters
        ----------
        wrt:
            The positions of the leaves to differentiate with respect to.
        cotangents:
            The number of real or complex results: each has a cotangent.
        conjugate:
            Whether cotangents are the conjugates of symgrad's and JAX's, as in PyTorch.
        """
        self._refuse_state()
        turned: Callable[[Any], Any] = np.conj if conjugate else _same

        def body(*given: Any) -> Any:
            leaves, seeds = given[: self.count], given[self.count :]
            _, pull = vjp(self._restricted(leaves, wrt), *(leaves[k] for k in wrt))
            return tuple(map(turned, pull(tuple(map(turned, seeds)))))

        def kinds(leaves: Sequence[Any]) -> tuple[list[Kind], None]:
            return [kind_of(leaves[k]) for k in wrt], None

        again = self.pullback, (wrt, cotangents, conjugate)
        return self._derived(again, body, self.count + cotangents, kinds)

    def pushforward(self, wrt: tuple[int, ...]) -> Flat:
        """Return ``(*leaves, *tangents of the leaves wrt) -> tangents of the real results``."""
        self._refuse_state()

        def body(*given: Any) -> Any:
            leaves, tangents = given[: self.count], given[self.count :]
            chosen = tuple(leaves[k] for k in wrt)
            return jvp(self._restricted(leaves, wrt), chosen, tangents)[1]

        def kinds(leaves: Sequence[Any]) -> tuple[list[Kind], None]:
            return [kind for kind in self.kinds(leaves[: self.count])[0] if kind.real], None

        return self._derived((self.pushforward, (wrt,)), body, self.count + len(wrt), kinds)

    def batched(self, axes: tuple[int | None, ...]) -> Flat:
        """Return the function of batches: an axis of each leaf or None; results have the first."""

        def kinds(leaves: Sequence[Any]) -> tuple[list[Kind], Nest | None]:
            pairs = list(zip(leaves, axes, strict=True))
            size = next(leaf.shape[axis] for leaf, axis in pairs if axis is not None)
            found, nest = self.kinds([_example(*pair) for pair in pairs])
            return [Kind((size, *kind.shape), kind.dtype) for kind in found], nest

        return self._derived((self.batched, (axes,)), vmap(self.body, axes), self.count, kinds)

    def _derived(
        self, again: tuple[Callable[..., Flat], tuple[Any, ...]], body: Callable[..., Any],
        count: int, kinds: Kinds,
    ) -> Flat:  # fmt: skip
        """Return another function of such leaves; made once."""
        key = again[0].__name__, again[1]
        with self._lock:
            if key not in self._made:
                run = body if isinstance(body, Function) else compile(body)
                self._made[key] = Flat(body, count, run, kinds, again, self._refuse_state)
            return self._made[key]

    def _restricted(self, leaves: Sequence[Any], wrt: tuple[int, ...]) -> Callable[..., Any]:
        """Return the real results as a function of some leaves, in a trace."""

        def restricted(*chosen: Any) -> tuple[Any, ...]:
            full = list(leaves)
            for k, leaf in zip(wrt, chosen, strict=True):
                full[k] = leaf
            return tuple(_real_values(self.body(*full)))

        return restricted


def _number(leaf: Any) -> Any:
    """Return an array without axes as a number: calls of the same kind are found much faster."""
    if isinstance(leaf, np.ndarray) and leaf.ndim == 0 and leaf.dtype.kind == "f":
        return leaf[()]
    return leaf


def with_constants(arrays: Sequence[Any], constants: Iterable[tuple[int, Any]]) -> list[Any]:
    """Return all leaves of a call: its arrays, and constants at their positions."""
    found = list(arrays)
    for k, value in constants:
        found.insert(k, value)
    return found


def places_of(wrt: Sequence[int], count: int, constants: Iterable[int]) -> tuple[int, ...]:
    """Return the positions among ``count`` leaves of some of those that are no constants."""
    fixed = set(constants)
    places = [k for k in range(count) if k not in fixed]
    return tuple(places[k] for k in wrt)


def _same(x: Any) -> Any:
    return x


def _example(leaf: Any, axis: int | None) -> Any:
    """Return the leaf of one example, of a batch whose values do not matter."""
    if axis is None:
        return leaf
    shape = (*leaf.shape[:axis], *leaf.shape[axis:][1:])
    return np.ones(shape, leaf.dtype)


def _real_values(result: Any) -> Iterator[Any]:
    """Yield what has derivatives of a nested result in a trace."""
    leaves, tree = flatten_traced(result)
    rest = iter(leaves)
    for width in tree.units:
        if width == 2:
            yield Complex.of(next(rest), next(rest))
            continue
        value = next(rest)
        if isinstance(value, Traced):
            real = value.dtype.kind == "f"
        else:
            real = is_value(value) and np.asarray(value).dtype.kind == "f"
        if real:
            yield value


def as_array(leaf: Any) -> np.ndarray[Any, Any]:
    """Return a leaf of a result as an array, which is not read-only; refuse what is none."""
    if isinstance(leaf, np.ndarray | np.generic | bool | int | float | complex):
        array: np.ndarray[Any, Any] = np.asarray(leaf)
        if array.dtype.kind in "biufc":
            return array if array.flags.writeable else array.copy()
    refuse_result(leaf)


def refuse_result(leaf: Any) -> NoReturn:
    """Refuse a result that another library has no arrays for."""
    raise ArgumentError(
        "a function that another library calls returns arrays and numbers, nested as you like, "
        f"but a {type(leaf).__name__} is among its results. Write instead: a function that returns "
        "the numbers alone, and call the function itself for the rest"
    )


class UnfitLeafError(Exception):
    """A leaf of a call that a bridge cannot take; its call says which argument that is."""

    def __init__(self, position: int, why: str, kind: type[SymgradError] = ArgumentError) -> None:
        super().__init__(why)
        self.position, self.why, self.kind = position, why, kind


#: Why a function that changes state has no derivatives in another library.
_CALLED_AGAIN = "the other library calls it again for derivatives, which would change that again"


class Bridge(Travels):
    """A function of another library's arrays: base of the three kinds.

    Parameters
    ----------
    f:
        The NumPy function.
    maker:
        The public function that makes it, whose name errors have.
    """

    def __init__(self, f: Callable[..., Any], maker: Callable[..., Any]) -> None:
        check_function(f, maker.__name__)
        functools.update_wrapper(self, f, updated=())
        self._maker, self._function = maker, f
        self._compiled = f if isinstance(f, Function) else compile(f)
        self._flats: dict[Tree, Flat] = {}

    def _made_by(self) -> tuple[Any, ...]:
        return self._maker, (self._function,), {}

    def __repr__(self) -> str:
        return f"<symgrad {self._maker.__name__} of {getattr(self, '__name__', '?')}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten((args, kwargs))
        if any(isinstance(leaf, Traced) for leaf in leaves):
            raise ArgumentError(
                f"what {self._maker.__name__} returns is for the other library's arrays, and was "
                "called in a function that symgrad traces. Write instead: the NumPy function, "
                f"{getattr(self, '__name__', 'f')}, which symgrad traces"
            )
        flat = self._flat(tree)
        try:
            return self._applied(flat, leaves)
        except UnfitLeafError as error:
            path = argument_paths(self._function, args, kwargs)[error.position]
            raise error.kind(f"{self._maker.__name__}: argument {path} {error.why}") from None

    def _applied(self, flat: Flat, leaves: list[Any]) -> Any:
        """Return the result for a call's leaves; raises :class:`UnfitLeafError`."""
        raise NotImplementedError

    def _refuse_state(self) -> None:
        function = self._compiled
        if function.traces and function.assigns:
            raise UnsupportedError(
                f"{self._maker.__name__}: {getattr(self, '__name__', 'the function')} assigns "
                f"outside of it, and {_CALLED_AGAIN}. Write instead: pass it as an argument and "
                "return it"
            )

    def _flat(self, tree: Tree) -> Flat:
        """Return the function of the leaves of calls that are nested so."""
        flat = self._flats.get(tree)
        if flat is None:
            compiled, function = self._compiled, self._function

            def body(*leaves: Any) -> Any:
                args, kwargs = tree.unflatten(leaves)
                return function(*args, **kwargs)

            def run(*leaves: Any) -> Any:
                args, kwargs = tree.unflatten(leaves)
                return compiled(*args, **kwargs)

            def kinds(leaves: Sequence[Any]) -> tuple[list[Kind], Nest]:
                args, kwargs = tree.unflatten(leaves)
                return kinds_of(compiled, args, kwargs)

            again = self._flat, (tree,)
            made = Flat(body, tree.leaves, run, kinds, again, self._refuse_state)
            flat = self._flats.setdefault(tree, made)
        return flat


def kinds_of(function: Function, args: Any, kwargs: Any) -> tuple[list[Kind], Nest]:
    """Return the kinds of a function's results, and how they are nested: it is traced."""
    graph = function._specialization(args, kwargs, fixed=True, alone=_CALLED_AGAIN).graph
    leaves, present = [], []
    for leaf, form in zip(graph.leaves, graph.tree.leaf_kinds, strict=True):
        present.append(leaf != (None,))
        if not present[-1]:
            continue
        if isinstance(leaf, tuple):
            leaves.append(kind_of(as_array(leaf[0])))
            continue
        node = graph.outputs[leaf]
        shape, dtype = tuple(map(int, node.shape)), node.dtype
        if form == "packed":
            shape, dtype = shape[:-1], np.result_type(dtype, np.complex64)
        leaves.append(Kind(shape, dtype))
    return leaves, Nest(graph.tree.outline, tuple(present))
