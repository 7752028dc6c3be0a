"""The checker: what a graph or a program must satisfy after every pass.

The laws of single nodes are in ``_laws``; here are those of whole graphs and programs, and
the walk. With ``SYMGRAD_CHECK=1`` every pass is followed by a check; nodes never change, so
one that was found sound is not looked at again.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import sympy as sp

from ...errors import CheckError, CycleError
from ..base.sizes import Dim, evaluated, recording
from ._laws import SOUND, Law, broken_law, size_symbols
from ._leaves import Input
from ._node import Node

S = TypeVar("S")


@dataclass
class Whole:
    """A graph, and of a program also the steps, as the laws see it."""

    outputs: tuple[Any, ...]
    inputs: tuple[Any, ...] | None = None
    guards: Mapping[sp.Basic, bool] = field(default_factory=dict)
    nodes: tuple[Node, ...] = ()
    steps: tuple[Node, ...] = ()
    levels: tuple[int, ...] = ()
    names: Mapping[Node, str] = field(default_factory=dict)

    @property
    def sizes(self) -> set[sp.Symbol]:
        """The size symbols that the inputs give the values of."""
        inputs = self.inputs or ()
        given = {d for n in inputs for d in n.shape if isinstance(d, sp.Symbol)}
        return given | {n.dim for n in inputs if n.dim is not None}


# ---------------------------------------------------------------- laws of graphs


def _outputs(whole: Whole) -> str | None:
    stray = next((x for x in whole.outputs if not isinstance(x, Node)), None)
    return None if stray is None else f"the output {stray!r:.40} is no node"


def _inputs(whole: Whole) -> str | None:
    if whole.inputs is None:
        return None
    given = set(whole.inputs)
    stray = next((n for n in whole.nodes if isinstance(n, Input) and n not in given), None)
    return None if stray is None else f"the input {stray.name!r} is used, but is not among them"


def _input_names(whole: Whole) -> str | None:
    names = [n.name for n in whole.inputs or ()]
    twice = next((n for n in names if names.count(n) > 1), None)
    return None if twice is None else f"two inputs have the name {twice!r}"


def _given_sizes(whole: Whole) -> str | None:
    if whole.inputs is None:
        return None
    given = whole.sizes
    for node in whole.nodes:
        stray = size_symbols(node) - given
        if stray:
            return f"the size {min(map(str, stray))} of {describe(node)} is not that of an input"
    return None


def _guards(whole: Whole) -> str | None:
    given = whole.sizes if whole.inputs is not None else None
    for relation, truth in whole.guards.items():
        symbols = relation.free_symbols
        if given is not None and not symbols <= given:
            return f"the guard {relation} speaks of sizes that are not those of an input"
        known = all(isinstance(s, Dim) for s in symbols)
        if not known or bool(evaluated(relation, lambda s: s.hint)) is not truth:
            return f"the guard {relation} is not {truth} in the example call"
    return None


GRAPH_LAWS: tuple[Law[Whole], ...] = (
    Law("outputs are nodes", _outputs),
    Law("every input is given", _inputs),
    Law("input names are unique", _input_names),
    Law("every size is that of an input", _given_sizes),
    Law("guards hold in the example call", _guards),
)

# ---------------------------------------------------------------- laws of programs


def _steps(whole: Whole) -> str | None:
    leaf = next((n for n in whole.steps if n.op.kind == "leaf"), None)
    if leaf is not None:
        return f"{describe(leaf)} is a leaf, and nothing to compute"
    return None if len(set(whole.steps)) == len(whole.steps) else "a step comes twice"


def _order(whole: Whole) -> str | None:
    done: set[Node] = set()
    for node in whole.steps:
        late = next((x for x in node.operands if x.op.kind != "leaf" and x not in done), None)
        if late is not None:
            return f"{describe(node)} comes before its operand, {describe(late)}"
        done.add(node)
    return None


def _computed(whole: Whole) -> str | None:
    steps = set(whole.steps)
    stray = next((x for x in whole.outputs if x.op.kind != "leaf" and x not in steps), None)
    return None if stray is None else f"the output, {describe(stray)}, is not computed"


def _used(whole: Whole) -> str | None:
    needed = set(whole.nodes)
    dead = next((n for n in whole.steps if n not in needed), None)
    return None if dead is None else f"no output needs {describe(dead)}"


def _levels(whole: Whole) -> str | None:
    if len(whole.levels) != len(whole.steps):
        return f"{len(whole.steps)} steps have {len(whole.levels)} levels"
    level: dict[Node, int] = {}
    for node, found in zip(whole.steps, whole.levels, strict=True):
        level[node] = max((level[x] + 1 for x in node.operands if x in level), default=0)
        if found != level[node]:
            return f"{describe(node)} is in level {found}, it can run in level {level[node]}"
    return None


def _names(whole: Whole) -> str | None:
    taken: dict[str, Node] = {}
    for node in whole.steps:
        name = whole.names.get(node)
        if not name or name in taken:
            return f"{describe(node)} is called {name!r}, like another step"
        taken[name] = node
    return None


PROGRAM_LAWS: tuple[Law[Whole], ...] = (
    Law("steps compute, each once", _steps),
    Law("operands come before their users", _order),
    Law("outputs are computed", _computed),
    Law("every step is needed", _used),
    Law("levels are the rounds of Kahn's algorithm", _levels),
    Law("step names are unique", _names),
)

# ---------------------------------------------------------------- the walk


def check(subject: Any, after: str = "") -> None:
    """Check nodes, a graph or a program against the law of the representation.

    Parameters
    ----------
    subject:
        A node, a sequence of nodes (None among them is skipped), a traced graph
        (``inputs``, ``outputs``, ``guards``) or a program (also ``steps`` and ``levels``).
    after:
        The pass that made it, for the message.

    Raises
    ------
    CheckError
        Naming the law, the node and the user's line.
    CycleError
        If nodes need each other in a circle.
    """
    with recording():  # a pass has the guards of its trace
        _check(_whole(subject), hasattr(subject, "steps"), after)


def _check(whole: Whole, scheduled: bool, after: str) -> None:
    laws: list[Law[Whole]] = [GRAPH_LAWS[0]]
    _obey(laws, whole, after)
    # What lies below a sound node is sound; only laws of whole graphs look at it again.
    known: Container[Node] = SOUND if whole.inputs is None else ()
    whole.nodes = tuple(_ordered(whole.outputs, known))
    for node in whole.nodes:
        if node not in SOUND:
            broken = broken_law(node)
            if broken is not None:
                law, complaint = broken
                raise CheckError(_message(law, f"{describe(node)}: {complaint}", after))
            SOUND.add(node)
    _obey([*GRAPH_LAWS[1:], *(PROGRAM_LAWS if scheduled else ())], whole, after)


def _whole(subject: Any) -> Whole:
    if isinstance(subject, Node):
        return Whole((subject,))
    outputs = getattr(subject, "outputs", None)
    if outputs is None:
        return Whole(tuple(x for x in subject if x is not None))
    needed = (*outputs, *getattr(subject, "conditions", ()))
    whole = Whole(needed, tuple(subject.inputs), subject.guards)
    if hasattr(subject, "steps"):
        whole.steps, whole.levels = tuple(subject.steps), tuple(subject.levels)
        whole.names = subject.names
    return whole


def _obey(laws: Iterable[Law[Whole]], whole: Whole, after: str) -> None:
    for law in laws:
        complaint = law.broken(whole)
        if complaint is not None:
            raise CheckError(_message(law.name, complaint, after))


def _message(law: str, complaint: str, after: str) -> str:
    return f"{f'after {after}: ' if after else ''}the law {law!r} is broken: {complaint}"


def _ordered(outputs: Sequence[Node], known: Container[Node]) -> list[Node]:
    """Return the nodes not known yet, operands first; ends, with an error, on a cycle too."""
    done: dict[Node, None] = {}
    path: dict[Node, int] = {}  # nodes whose operands are being visited
    for root in outputs:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done or node in known:
                stack.pop()
                continue
            k = path.setdefault(node, 0)
            raw: Sequence[Any] = node.operands  # what is no node has a law of its own
            operands = [x for x in raw if isinstance(x, Node)]
            if k == len(operands):
                done[node] = None
                del path[node]
                stack.pop()
                continue
            path[node] = k + 1
            below = operands[k]
            if below in path:
                circle = list(path)[list(path).index(below) :]
                names = " needs ".join(describe(n) for n in [*circle, below])
                raise CycleError(f"the graph has a cycle: {names}")
            if below not in done:
                stack.append(below)
    return list(done)


def describe(node: Node) -> str:
    """Return a node's op, type, shape and user line, for messages."""
    what = f"input {node.name!r}" if isinstance(node, Input) else node.op.name
    shape = f"[{', '.join(map(str, node.shape))}]" if node.shape else ""
    return f"{what} of {node.dtype}{shape}{f', made at {node.where}' if node.where else ''}"


def checking() -> bool:
    """Tell whether passes are to be checked (``SYMGRAD_CHECK=1``)."""
    return os.environ.get("SYMGRAD_CHECK", "0") not in ("", "0")


def checked(after: str, subject: S) -> S:
    """Return what a pass made, checked if checking is on."""
    if checking():
        check(subject, after)
    return subject
