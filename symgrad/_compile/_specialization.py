"""One trace of a function, scheduled, and compiled once it is called."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .._control import tidy
from .._graph import checked
from .._rewrite import rewrite
from .._schedule import Program, schedule
from .._trace import Graph, Signature
from ..errors import ArgumentError
from ._cache import Entry, cached_code
from ._code import load
from ._collector import collector_paused
from ._layout import Layout
from ._pack import make_pack
from ._python import MISS


class Specialization:
    """A function for arguments of one kind: graph, program, kernel."""

    def __init__(self, graph: Graph, layout: Layout, signature: Signature, cache: bool) -> None:
        self.graph, self.layout, self.signature, self.cache = graph, layout, signature, cache
        traced = checked("tracing", graph)
        found = tidy(rewrite([*traced.outputs, *traced.conditions]))
        outputs, conditions = found[: len(traced.outputs)], found[len(traced.outputs) :]
        checked("rewriting", found)
        self.program: Program = checked(
            "scheduling", schedule(graph.inputs, outputs, graph.guards, conditions)
        )
        self.takes = [k for k, leaf in enumerate(signature.leaves) if leaf.is_value]
        self.kinds = [signature.leaves[k].kind for k in self.takes]
        self.pack = make_pack(graph)
        self._lock = threading.RLock()
        self.entry: Entry | None = None
        self._function: Callable[..., Any] | None = None
        self._kernel: Any = None

    def admits(self, leaves: Sequence[Any]) -> bool:
        """Tell whether the trace holds for these arguments."""
        program = self.program
        if not (program.guards or program.conditions):
            return True
        values = [leaves[k] for k in self.takes]
        return program.admits(program.bind_sizes(values)) and program.holds(*values)

    @property
    def function(self) -> Callable[..., Any]:
        """The compiled Python function of the inputs: the output, or a tuple of outputs."""
        if self._function is None:
            with self._lock, collector_paused():
                if self._function is None:
                    self.entry = cached_code(self.program, self.layout, self.kinds, self.cache)
                    self._function = load(self.entry.code)
        return self._function

    @property
    def kernel(self) -> Any:
        """The numba dispatcher; made when first asked for."""
        if self._kernel is None:
            with self._lock:
                if self._kernel is None:
                    # Importing numba takes longer than most functions take to compile.
                    from ._kernel import make_kernel

                    self.function  # noqa: B018  loads the code that the kernel calls
                    assert self.entry is not None
                    sizes = tuple(n.dim is not None for n in self.program.inputs)
                    code, home, _ = self.entry
                    self._kernel = make_kernel(code, self.layout, sizes, home)
        return self._kernel

    def run_numpy(self, leaves: Sequence[Any]) -> Any:
        """Compute the result step by step under NumPy."""
        return self.graph.pack(self.program.run(*[leaves[k] for k in self.takes]))

    def run(self, leaves: Sequence[Any]) -> Any:
        """Compute the result with the compiled function."""
        result = self.function(*[_native(leaves[k]) for k in self.takes])
        if result is MISS:
            raise ArgumentError("the compiled function does not take these arguments")
        return result if self.pack is None else self.pack(result)

    @property
    def direct(self) -> bool:
        """Whether a call's arguments are the program's inputs, one by one."""
        args, kwargs = self.signature.tree.children
        return (
            not kwargs.children
            and all(t.kind == "leaf" for t in args.children)
            and len(self.takes) == len(self.signature.leaves)
        )


def _native(leaf: Any) -> Any:
    """The compiled function takes a 0-d array as a number."""
    return leaf[()] if isinstance(leaf, np.ndarray) and leaf.ndim == 0 else leaf
