"""Programs as text: one step a line, with the mathematics, the type and the user's line."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import sympy as sp

from .._graph import Constant, Input, Iota, Literal, Node, SizeOf
from .._op import Op
from .._shapes import Shape
from .._spell import relation_text

if TYPE_CHECKING:
    from ._program import Program

#: The type column of a program's text is at most this far right.
WIDEST = 60


def program_text(program: Program) -> str:
    """Return a program as text."""
    names = program.names
    heads = [f"{n.name}: {type_text(n)}" for n in program.inputs]
    rows = [
        (f"{names[n]} = {step_text(n, names)}", type_text(n), str(n.where or ""))
        for n in program.steps
    ]
    wide = min(max((len(r[0]) for r in rows), default=0), WIDEST)
    typed = max((len(r[1]) for r in rows), default=0)
    lines = [f"program({', '.join(heads)})"]
    lines += [f"    {a:{wide}}  {b:{typed}}  {c}".rstrip() for a, b, c in rows]
    lines.append(f"    return {', '.join(names[x] for x in program.outputs)}")
    return "\n".join(lines)


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


def shape_text(shape: Shape) -> str:
    """Return a shape as ``[n, 3]``; a number has none."""
    return f"[{', '.join(map(str, shape))}]" if shape else ""


def guard_texts(guards: Mapping[sp.Basic, bool]) -> list[str]:
    """Return the guards as Python text, without what is true of all sizes."""
    texts = []
    for relation, truth in guards.items():
        if relation.func(*relation.args) == sp.sympify(truth):
            continue  # sizes are positive
        text = relation_text(relation)
        texts.append(text if truth else f"not {text}")
    return texts


def type_text(node: Node) -> str:
    """Return element type and shape, as ``float64[n, 3]``."""
    return f"{node.dtype.name}{shape_text(node.shape)}"


@lru_cache(maxsize=1024)
def _template(op: Op) -> str | None:
    """The op's mathematics with places for the operands' names, made once per op."""
    if op.sympy is None:
        return None
    places = [sp.Symbol(f"\x00{k}\x01", real=True) for k in range(op.arity)]
    with sp.evaluate(False):
        form = op.sympy(*places)
    text = sp.sstr(form, order="none").replace("{", "{{").replace("}", "}}")
    return str(text.replace("\x00", "{").replace("\x01", "}"))


def step_text(node: Node, names: Mapping[Node, str]) -> str:
    """Return the right-hand side of a step as mathematics."""
    operands = [names[x] for x in node.operands]
    template = _template(node.op) if node.op.kind == "map" else None
    if template is not None:
        return template.format(*operands)
    params = [f"{k}={_param_text(v)}" for k, v in node.items]
    return f"{node.op.name.lower()}({', '.join([*operands, *params])})"


def _param_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_param_text, value))}{',' if len(value) == 1 else ''})"
    return str(value)
