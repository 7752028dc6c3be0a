"""From a program's outputs to the nested result of the function, as code made for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._trace import Tree


def make_pack(tree: Tree, leaves: Sequence[Any], count: int) -> Callable[[Any], Any] | None:
    """Return ``pack(r)`` for the output ``r``, or tuple of outputs; None if ``r`` is the result.

    ``tree`` and ``leaves`` are the structure of the result, as in Graph, of ``count`` outputs.
    """
    scope: dict[str, Any] = {}
    names = ["r"] if count == 1 else [f"r[{k}]" for k in range(count)]
    text = _packed(tree, iter(leaves), names, scope)
    if text == (names[0] if count == 1 else f"({', '.join(names)})"):
        return None
    exec(f"def pack(r):\n    return {text}\n", scope)  # noqa: S102  of names made here
    pack: Callable[[Any], Any] = scope["pack"]
    return pack


def _packed(tree: Tree, leaves: Iterator[Any], names: list[str], scope: dict[str, Any]) -> str:
    if tree.kind == "leaf":
        leaf = next(leaves)
        return _bound(leaf[0], scope) if isinstance(leaf, tuple) else names[leaf]
    parts = [_packed(child, leaves, names, scope) for child in tree.children]
    inner = ", ".join(parts)
    if tree.kind == "tuple":
        return f"({inner}{',' if len(parts) == 1 else ''})"
    if tree.kind == "list":
        return f"[{inner}]"
    if tree.kind == "dict" and tree.meta[0] is dict:
        pairs = zip(tree.meta[-1], parts, strict=True)
        return f"{{{', '.join(f'{_bound(key, scope)}: {part}' for key, part in pairs)}}}"
    if tree.kind == "namedtuple":
        return f"{_bound(tree.meta[0], scope)}({inner})"
    rebuild = Tree(tree.kind, tree.meta, tuple(Tree("leaf") for _ in parts)).unflatten
    return f"{_bound(rebuild, scope)}(({inner}{',' if len(parts) == 1 else ''}))"


def _bound(value: Any, scope: dict[str, Any]) -> str:
    name = f"b{len(scope)}"
    scope[name] = value
    return name
