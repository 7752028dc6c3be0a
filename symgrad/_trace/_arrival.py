"""The graph of the user's function, on its way through the transformation around it.

What a transformation makes of the graph depends on nothing else. So a compiled result can be
known by it, before a derivative is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import sympy as sp

from .._graph import Input, Node
from .._state import now, within
from ._complex import flatten_traced
from ._traced import Traced
from ._tree import Tree


@dataclass(frozen=True)
class Primal:
    """What the user's function returned, and what its trace took for granted so far.

    Attributes
    ----------
    inputs:
        The inputs of the whole trace.
    fresh:
        For each input to differentiate by that the transformation made, what it stands for.
    outputs, weak, tree:
        The nodes of the result, which of them are Python's numbers, and its structure.
    guards:
        Relations between sizes that held.
    decided:
        Whether Python decided by values.
    """

    inputs: tuple[Input, ...]
    fresh: Mapping[Input, Node]
    outputs: tuple[Node, ...]
    weak: tuple[Any, ...]
    tree: Tree
    guards: Mapping[sp.Basic, bool]
    decided: bool


Watch = Callable[[Primal], None]


def watching(
    watch: Watch | None,
    inputs: list[Input],
    guards: Mapping[sp.Basic, bool],
    conditions: Callable[[], Any],
) -> AbstractContextManager[None]:
    """Show ``watch`` the function's graph, if there is one on its own in the block."""
    if watch is None:
        return within(watch=None)
    # The function of a transformation further in is not all that counts.
    watches = [watch]

    def show(result: Any, fresh: Mapping[Input, Node]) -> None:
        if not watches:
            return
        first = watches.pop()
        leaves, tree = flatten_traced(result)
        if all(isinstance(leaf, Traced) for leaf in leaves):
            nodes, weak = tuple(x.node for x in leaves), tuple(x.weak for x in leaves)
            decided = bool(conditions())
            first(Primal(tuple(inputs), fresh, nodes, weak, tree, guards, decided))

    return within(watch=show)


def arrived(result: Any, fresh: Mapping[Input, Node]) -> None:
    """Say that the outermost transformation has the result of the function; see Primal."""
    show = now().watch
    if show is not None:
        show(result, fresh)
