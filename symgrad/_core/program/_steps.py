"""A graph's steps in order: the record that everything after scheduling is a function of.

Kernels, NumPy's run, text, source, LaTeX and JSON are made of it; it knows none of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Self

import numpy as np
import sympy as sp

from ...errors import TraceError
from ..base.fork_safety import cached_property
from ..base.sizes import evaluated
from ..graph import Body, Constant, Input, Iota, Literal, Node, SizeOf, Where, bodies, topological
from ._kahn import kahn

Source = tuple[int, int | None]  # (input, axis); axis None: the input is the size itself


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps in Kahn order, each a single assignment; the fields are described at Program."""

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    steps: tuple[Node, ...]
    levels: tuple[int, ...]
    guards: Mapping[sp.Basic, bool] = field(default_factory=dict)
    conditions: tuple[Node, ...] = ()

    @classmethod
    def schedule(
        cls,
        inputs: Sequence[Input],
        outputs: Sequence[Node],
        guards: Mapping[sp.Basic, bool] | None = None,
        conditions: Sequence[Node] = (),
    ) -> Self:
        """Return a graph's computed nodes in Kahn order, with levels."""
        # What was decided to be true whatever the arguments is no condition.
        conditions = [x for x in dict.fromkeys(conditions) if not isinstance(x, Literal)]
        walk = topological([*outputs, *conditions])
        known = set(inputs)
        stray = next((n for n in walk if type(n) is Input and n not in known), None)
        if stray is not None:
            raise TraceError(
                f"the traced argument {stray.name} of another call is used: it was kept when its "
                "function returned. Write instead: pass it as an argument, or return it"
            )
        nodes = [n for n in walk if n.operands or n.op.kind != "leaf"]
        needs: Callable[[Node], Sequence[Node]] = lambda n: n.operands  # noqa: E731
        order, levels = kahn(nodes, needs, name=lambda n: n.op.name)
        return cls(
            tuple(inputs), tuple(outputs), tuple(order), tuple(levels), dict(guards or {}),
            tuple(conditions),
        )  # fmt: skip

    # ---------------------------------------------------------------- what follows from them

    @cached_property
    def leaves(self) -> tuple[Node, ...]:
        """Literals, constants, sizes and ranges that the steps and outputs use."""
        used = dict.fromkeys([x for n in self.steps for x in n.operands])
        used |= dict.fromkeys((*self.outputs, *self.conditions))
        return tuple(n for n in used if n.op.kind == "leaf" and not isinstance(n, Input))

    @cached_property
    def numbers(self) -> dict[Node, int]:
        """The values counted through: inputs, leaves, steps."""
        nodes = dict.fromkeys((*self.inputs, *self.leaves, *self.steps))
        return {node: k for k, node in enumerate(nodes)}

    @cached_property
    def constants(self) -> tuple[Constant, ...]:
        """The arrays that the function closes over."""
        return tuple(n for n in self.leaves if isinstance(n, Constant))

    @cached_property
    def sizes(self) -> dict[sp.Symbol, Source]:
        """For each size symbol, the input and axis that it is read from."""
        found: dict[sp.Symbol, Source] = {}
        for k, node in enumerate(self.inputs):
            if node.dim is not None:
                found.setdefault(node.dim, (k, None))
            for axis, dim in enumerate(node.shape):
                if isinstance(dim, sp.Symbol):
                    found.setdefault(dim, (k, axis))
        return found

    @cached_property
    def lines(self) -> dict[Node, Where]:
        """The user's lines that steps come of, as far as they are this program's.

        A step that no input reaches is shared with all programs that have it, and has the line of
        the first.
        """
        reached: set[Node] = set(self.inputs)
        for node in self.steps:
            if not reached.isdisjoint(node.operands):
                reached.add(node)
        return {n: n.where for n in self.steps if n in reached and n.where is not None}

    def line_text(self, node: Node) -> str:
        """Return the user's line that a step comes of, as text; empty if there is none."""
        return str(self.lines.get(node, ""))

    def nested_steps(self) -> Iterator[Node]:
        """Yield the steps, and those of the bodies of loops and branches."""
        for node in self.steps:
            yield node
            for body in bodies(node):
                yield from body_program(body).nested_steps()

    def admit(self, sizes: Mapping[sp.Symbol, int]) -> bool:
        """Tell whether all guards hold for these sizes."""
        return all(
            bool(evaluated(relation, sizes.__getitem__)) is truth
            for relation, truth in self.guards.items()
        )

    @cached_property
    def test(self) -> Steps:
        """The conditions as steps of their own."""
        return Steps.schedule(self.inputs, self.conditions)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.steps)} steps, {len(self.inputs)} inputs>"

    @cached_property
    def names(self) -> dict[Node, str]:
        """A name for each input, literal, constant and step."""
        taken = {*(str(s) for s in self.sizes), "np", "special"}
        names: dict[Node, str] = {n: _free(n.name, taken) for n in self.inputs}
        for k, node in enumerate(self.constants):
            names[node] = _free(f"c{k}", taken)
        for leaf in self.leaves:
            if leaf not in names:
                names[leaf] = leaf_text(leaf)
        for k, node in enumerate(self.steps):
            names[node] = _free(f"v{k}", taken)
        return names

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that the kernel depends on, the same in every process."""
        number = self.numbers
        kinds: dict[Any, int] = {}
        words: list[int] = []  # for each step the number of its kind, and of its operands
        for node in (*self.inputs, *self.leaves, *self.steps):
            operands = node.operands
            kind = (node.__class__, node.items, node.shape, node.dtype, len(operands))
            words.append(kinds.setdefault(kind, len(kinds)))
            words += [number[x] for x in operands]
        digest = hashlib.sha256(np.array(words, "<i8").tobytes())
        for cls, items, shape, dtype, count in kinds:
            text = f"{cls.op.name}{_text(items)}{_text(shape)}{dtype.char}{count};"
            digest.update(text.encode())
        for node in (*self.inputs, *self.leaves):
            literal = isinstance(node, Literal)
            digest.update(f"{node.value.tobytes().hex() if literal else leaf_text(node)};".encode())
        digest.update(str([number[x] for x in self.outputs]).encode())
        digest.update(str(sorted((_text(g), t) for g, t in self.guards.items())).encode())
        digest.update(str([str(n.dim) for n in self.inputs]).encode())
        if self.conditions:
            digest.update(str([number[x] for x in self.conditions]).encode())
        return digest.hexdigest()


def _text(value: Any) -> str:
    """Return a parameter or a shape as text, whose sizes are many times the same."""
    if isinstance(value, tuple):
        return f"({','.join(map(_text, value))})"
    return _size_text(value) if isinstance(value, sp.Basic) else repr(value)


_size_text = lru_cache(maxsize=65536)(str)


def leaf_text(leaf: Node) -> str:
    """Return a literal, a constant, a size or a range as text."""
    if isinstance(leaf, Literal):
        text = repr(leaf.value.item())
        return f"({text})" if text.startswith("-") else text
    if isinstance(leaf, Constant):
        return f"constant[{leaf.digest}]"
    if isinstance(leaf, SizeOf):
        return str(leaf.size) if leaf.size.is_Symbol else f"({leaf.size})"  # type: ignore[union-attr]
    if isinstance(leaf, Iota):
        return f"arange({leaf.size})"
    return leaf.name if isinstance(leaf, Input) else leaf.op.name


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def body_program(body: Body) -> Steps:
    """Return the steps of a body; their sizes are those of the program around it."""
    if body.program is None:
        body.program = Steps.schedule(body.inputs, body.outputs)
    program: Steps = body.program
    return program
