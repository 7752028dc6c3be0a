"""The way from a Python call to the kernel and back, as code made for one specialization.

Two functions are generated: ``pack`` gives the kernel's nested tuple the structure and the
scalar types of the function's result; ``fast`` checks the arguments' types and goes
straight into the kernel, for calls with plain arrays and numbers. Everything else (lists,
views, dicts, keywords) takes the general path of :class:`Function`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._trace import Graph, LeafKind, Tree
from ._runtime import MISFIT

#: What ``fast`` returns when the arguments are not what it is made for.
MISS = object()


def make_pack(graph: Graph) -> tuple[Callable[[Any], Any], bool]:
    """Return ``pack(r)``, and whether it changes the kernel's result at all."""
    scope: dict[str, Any] = {}
    count = sum(not isinstance(leaf, tuple) for leaf in graph.leaves)
    single = count == 1
    text = _packed(graph.tree, iter(graph.leaves), graph, "r", single, scope)
    exec(f"def pack(r):\n    return {text}\n", scope)  # noqa: S102  of names made here
    pack: Callable[[Any], Any] = scope["pack"]
    return pack, text != "r"


def _packed(
    tree: Tree, leaves: Iterator[Any], graph: Graph, path: str, single: bool, scope: dict[str, Any]
) -> str:
    if tree.kind == "leaf":
        leaf = next(leaves)
        if isinstance(leaf, tuple):
            return _bound(leaf[0], scope)
        node = graph.outputs[leaf]
        return path if node.shape else f"{_bound(node.dtype.type, scope)}({path})"
    parts = [
        _packed(child, leaves, graph, f"{path}[{k}]", single, scope)
        for k, child in enumerate(tree.children)
    ]
    inner = ", ".join(parts)
    if tree.kind == "tuple":
        return f"({inner}{',' if len(parts) == 1 else ''})"
    if tree.kind == "list":
        return f"[{inner}]"
    rebuild = Tree(tree.kind, tree.meta, tuple(Tree("leaf") for _ in parts)).unflatten
    return f"{_bound(rebuild, scope)}(({inner}{',' if len(parts) == 1 else ''}))"


def _bound(value: Any, scope: dict[str, Any]) -> str:
    name = f"b{len(scope)}"
    scope[name] = value
    return name


def make_fast(
    kinds: Sequence[LeafKind], kernel: Callable[..., Any], pack: Callable[[Any], Any], packs: bool
) -> Callable[..., Any] | None:
    """Return ``fast(*args)`` for positional arguments that are leaves of these kinds.

    None if an argument is not a plain array, float or size.
    """
    scope: dict[str, Any] = {
        "kernel": kernel, "pack": pack, "MISS": MISS, "MISFIT": MISFIT, "ndarray": np.ndarray,
    }  # fmt: skip
    names = [f"a{k}" for k in range(len(kinds))]
    checks = []
    for name, kind in zip(names, kinds, strict=True):
        if kind.kind == "array" and kind.sizes:
            dtype = _bound(np.dtype(kind.dtype), scope)
            checks.append(
                f"type({name}) is ndarray and {name}.dtype is {dtype} "
                f"and {name}.ndim == {len(kind.sizes)} and {name}.flags.carray"
            )
        elif kind.kind == "array":
            checks.append(f"type({name}) is {_bound(np.dtype(kind.dtype).type, scope)}")
        elif kind.kind == "float":
            checks.append(f"type({name}) is float")
        elif kind.kind == "int" and kind.value is None:
            checks.append(f"type({name}) is int")
        else:
            return None
    listed = ", ".join(names)
    source = f"""def fast({listed}):
    if not ({" and ".join(checks) or "True"}):
        return MISS
    try:
        r = kernel({listed})
    except ValueError as error:
        if error.args == (MISFIT,):
            return MISS
        raise
    except OverflowError:
        return MISS
    return {"pack(r)" if packs else "r"}
"""
    exec(source, scope)  # noqa: S102  of names made here
    fast: Callable[..., Any] = scope["fast"]
    return fast
