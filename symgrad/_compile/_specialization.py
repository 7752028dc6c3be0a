"""One trace of a function, scheduled, and compiled once it is called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._graph import checked
from .._rewrite import rewrite
from .._schedule import Program, schedule
from .._trace import Graph, Signature, Tree
from ._cache import cached_kernel
from ._caller import make_fast, make_pack
from ._kernel import Layout


class Specialization:
    """A function for arguments of one kind: graph, program, kernel."""

    def __init__(self, graph: Graph, layout: Layout, signature: Signature, cache: bool) -> None:
        self.graph, self.layout, self.signature, self.cache = graph, layout, signature, cache
        outputs = checked("rewriting", rewrite(checked("tracing", graph).outputs))
        self.program: Program = checked("scheduling", schedule(graph.inputs, outputs, graph.guards))
        self.takes = [k for k, leaf in enumerate(signature.leaves) if leaf.is_value]
        self._taken = set(self.takes)
        self._pack, self._packs = make_pack(graph)
        self._lock = threading.Lock()
        self._kernel: Any = None

    def admits(self, leaves: Sequence[Any]) -> bool:
        """Tell whether the trace holds for the sizes of these arguments."""
        if not self.program.guards:
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

    def run_numpy(self, leaves: Sequence[Any]) -> Any:
        """Compute the result step by step under NumPy."""
        return self.graph.pack(self.program.run(*[leaves[k] for k in self.takes]))

    def run(self, leaves: Sequence[Any], tree: Tree) -> Any:
        """Compute the result with the kernel."""
        # What is baked in is not passed: the kernel needs no type for it.
        values = [_native(x) if k in self._taken else None for k, x in enumerate(leaves)]
        if self.layout.flat:
            return self._pack(self.kernel(*[values[k] for k in self.takes]))
        args, kwargs = tree.unflatten(values)
        return self._pack(self.kernel(*args, *kwargs.values()))

    @cached_property
    def fast(self) -> Callable[..., Any] | None:
        """The direct way into the kernel, if the arguments are plain leaves."""
        args, kwargs = self.signature.tree.children
        if kwargs.children or any(t.kind != "leaf" for t in args.children):
            return None
        return make_fast(self.signature.leaves, self.kernel, self._pack, self._packs)


def _native(leaf: Any) -> Any:
    """Numba takes a 0-d array as a number."""
    return leaf[()] if isinstance(leaf, np.ndarray) and leaf.ndim == 0 else leaf
