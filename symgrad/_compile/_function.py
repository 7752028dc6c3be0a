"""Dispatch: a traced function that is compiled for each kind of arguments it meets."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Literal

import numpy as np

from .._graph import Input
from .._rewrite import rewrite
from .._schedule import Program, schedule
from .._trace import (
    Graph,
    Signature,
    Traced,
    Tree,
    argument_names,
    as_leaf,
    flatten,
    signature_of,
    trace,
)
from ..errors import ArgumentError
from ._cache import cached_kernel
from ._kernel import Layout, layout_of

Backend = Literal["numba", "numpy"]

_backend: ContextVar[str | None] = ContextVar("backend", default=None)


def check_backend(name: str) -> str:
    """Return ``name`` if it is a backend, or raise."""
    if name not in ("numba", "numpy"):
        raise ArgumentError(f"backend is 'numba' or 'numpy', not {name!r}")
    return name


@contextlib.contextmanager
def backend(name: Backend) -> Iterator[None]:
    """Run every function called in the block on the given backend.

    Parameters
    ----------
    name:
        ``"numba"`` compiles; ``"numpy"`` runs the program step by step under NumPy, with
        no wait for a compiler.

    Examples
    --------
    >>> import numpy as np
    >>> import symgrad as sg
    >>> with sg.backend("numpy"):
    ...     print(sg.grad(np.sin)(0.0))
    1.0
    """
    token = _backend.set(check_backend(name))
    try:
        yield
    finally:
        _backend.reset(token)


class Specialization:
    """One trace of a function: its graph, its program, and its kernel once needed."""

    def __init__(self, graph: Graph, layout: Layout, traced: list[bool], cache: bool) -> None:
        self.graph, self.layout, self.cache = graph, layout, cache
        outputs = rewrite(graph.outputs)
        self.program = schedule(graph.inputs, outputs, graph.guards)
        self.takes = [k for k, flag in enumerate(traced) if flag]
        self.guarded = bool(graph.guards)
        self._lock = threading.Lock()
        self._kernel: Any = None
        self._unpack = _unpacker(graph)

    def admits(self, leaves: Sequence[Any]) -> bool:
        """Tell whether the trace holds for the sizes of these arguments."""
        if not self.guarded:
            return True
        values = [leaves[k] for k in self.takes]
        return self.program.admits(self.program.bind_sizes(values))

    @property
    def kernel(self) -> Any:
        """The numba dispatcher; made when first asked for."""
        if self._kernel is None:
            with self._lock:
                if self._kernel is None:
                    self._kernel = cached_kernel(self.program, self.layout, self.cache)
        return self._kernel

    def run(self, leaves: Sequence[Any], tree: Tree, name: str) -> Any:
        """Compute the function's result for flat arguments."""
        if name == "numpy":
            values = self.program.run(*[leaves[k] for k in self.takes])
        elif self.layout.flat:
            flat = (leaves[k] for k in self.takes)
            values = self._unpack(self.kernel(*map(_native, flat)))
        else:
            args, kwargs = tree.unflatten(map(_native, leaves))
            values = self._unpack(self.kernel(*args, *kwargs.values()))
        return self.graph.pack([
            v if n.shape else n.dtype.type(v)
            for v, n in zip(values, self.program.outputs, strict=True)
        ])  # fmt: skip


def _native(leaf: Any) -> Any:
    """Numba takes a 0-d array as a number."""
    return leaf[()] if isinstance(leaf, np.ndarray) and leaf.ndim == 0 else leaf


def _unpacker(graph: Graph) -> Callable[[Any], tuple[Any, ...]]:
    """Return the function that reads the result leaves off a kernel's nested tuple."""
    count = len(graph.outputs)
    if count == 1:
        return lambda r: (_first(r, graph.tree, iter(graph.leaves)),)

    def unpack(result: Any) -> tuple[Any, ...]:
        found: list[Any] = []
        _collect(result, graph.tree, iter(graph.leaves), found)
        return tuple(found)

    return unpack


def _collect(result: Any, tree: Tree, leaves: Iterator[Any], found: list[Any]) -> None:
    if tree.kind == "leaf":
        if not isinstance(next(leaves), tuple):
            found.append(result)
        return
    for part, child in zip(result, tree.children, strict=True):
        _collect(part, child, leaves, found)


def _first(result: Any, tree: Tree, leaves: Iterator[Any]) -> Any:
    found: list[Any] = []
    _collect(result, tree, leaves, found)
    return found[0]


class Function:
    """A NumPy function with its compiled forms; call it like the function itself.

    Made by :func:`symgrad.compile`, :func:`symgrad.grad` and the other transformations.
    The first call with arguments of a new kind (types, ranks, nesting) traces and compiles;
    later calls, with arrays of any lengths, run the compiled kernel.

    Attributes
    ----------
    traces:
        How often the function has been traced so far.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        wraps: Callable[..., Any],
        recipe: tuple[Any, ...],
        *,
        backend: str = "numba",
        dynamic: bool = True,
        cache: bool = True,
    ) -> None:
        self._body = body
        self._recipe = recipe
        self._backend = check_backend(backend)
        self._dynamic, self._cache = dynamic, cache
        self._specializations: dict[Signature, list[Specialization]] = {}
        self._lock = threading.RLock()
        self.traces = 0
        functools.update_wrapper(self, wraps, updated=())

    def __repr__(self) -> str:
        return f"<symgrad {self._recipe[0].__name__} of {getattr(self, '__name__', '?')}>"

    def __reduce__(self) -> tuple[Any, ...]:
        make, args, kwargs = self._recipe
        return _remake, (make, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raw, tree = flatten((args, kwargs))
        if any(isinstance(leaf, Traced) for leaf in raw):
            return self._body(*args, **kwargs)
        leaves = self._leaves(raw)
        found = self._specialize(leaves, tree, args, kwargs)
        name = _backend.get() or os.environ.get("SYMGRAD_BACKEND") or self._backend
        return found.run(leaves, tree, check_backend(name))

    def _leaves(self, raw: Sequence[Any]) -> list[Any]:
        return [as_leaf(leaf, f"argument {k}") for k, leaf in enumerate(raw)]

    def _specialize(
        self, leaves: Sequence[Any], tree: Tree, args: Sequence[Any], kwargs: Any
    ) -> Specialization:
        signature, sizes = signature_of(leaves, tree, self._dynamic)
        for candidate in self._specializations.get(signature, ()):
            if candidate.admits(leaves):
                return candidate
        with self._lock:
            for candidate in self._specializations.get(signature, ()):
                if candidate.admits(leaves):
                    return candidate
            names = argument_names(self._body_function, args, kwargs)
            graph = trace(functools.partial(self._body, _top=True), signature, sizes, names)
            traced = [leaf.kind in ("array", "float") or _is_size(leaf)
                      for leaf in signature.leaves]  # fmt: skip
            trees = dict(zip(_parameter_names(names, tree), _argument_trees(tree), strict=True))
            layout = layout_of(trees, traced, graph.tree, graph.leaves)
            made = Specialization(graph, layout, traced, self._cache)
            self._specializations.setdefault(signature, []).append(made)
            self.traces += 1
            return made

    @property
    def _body_function(self) -> Callable[..., Any]:
        return getattr(self, "__wrapped__", self._body)

    def _specialization(self, args: Sequence[Any], kwargs: Any) -> Specialization:
        raw, tree = flatten((tuple(args), kwargs))
        return self._specialize(self._leaves(raw), tree, args, kwargs)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """Return the :class:`Program` for arguments of these kinds."""
        return self._specialization(args, kwargs).program

    def kernel(self, *args: Any, **kwargs: Any) -> Any:
        """Return the numba dispatcher for arguments of these kinds.

        It can be called inside ``@njit`` and ``prange`` with arguments of the same types,
        of any sizes for which the trace holds (else it raises ValueError). Tuples are
        passed as they are; where an argument contains dicts, lists or dataclasses, which
        numba does not have, the kernel takes the leaves one by one.
        """
        return self._specialization(args, kwargs).kernel


def _is_size(leaf: Any) -> bool:
    return leaf.kind == "int" and leaf.value is None


def _argument_trees(tree: Tree) -> list[Tree]:
    args, kwargs = tree.children
    return [*args.children, *kwargs.children]


def _parameter_names(names: Sequence[str], tree: Tree) -> list[str]:
    """Return a parameter name for each argument: the common part of its leaves' names."""
    rest = iter(names)
    found: list[str] = []
    for k, child in enumerate(_argument_trees(tree)):
        leaves = [next(rest) for _ in range(child.leaves)]
        name = leaves[0] if child.kind == "leaf" else f"p{k}"
        while name in found or name in ("r", "call", "numba"):
            name += "_"
        found.append(name)
    return found


def _remake(make: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return make(*args, **kwargs)


__all__ = ["Backend", "Function", "Input", "Specialization", "backend"]
