"""Programs as text: one step a line, with the mathematics, the type and the user's line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sympy as sp

from ..base.size_text import relation_text
from ..base.sizes import Shape, as_expr
from ..graph import Body, Node
from ..op import Bodied, Map, Op
from ._steps import Steps, body_program

#: The type column of a program's text is at most this far right.
WIDEST = 60
#: Formulas with static parameters that are longer are written as calls.
LONGEST = 160


def program_text(program: Steps) -> str:
    """Return a program as text."""
    names = program.names
    heads = [f"{n.name}: {type_text(n)}" for n in program.inputs]
    rows = [
        (f"{names[n]} = {step_text(n, names)}", type_text(n), program.line_text(n))
        for n in program.steps
    ]
    wide = min(max((len(r[0]) for r in rows), default=0), WIDEST)
    typed = max((len(r[1]) for r in rows), default=0)
    lines = [f"program({', '.join(heads)})"]
    for node, (a, b, c) in zip(program.steps, rows, strict=True):
        lines.append(f"    {a:{wide}}  {b:{typed}}  {c}".rstrip())
        for name, body in named_bodies(node):
            inner = program_text(body_program(body)).replace("program(", f"{name}(", 1)
            lines.append(textwrap.indent(inner, " " * 8))
    lines += [f"    require {names[x]}" for x in program.conditions]
    lines.append(f"    return {', '.join(names[x] for x in program.outputs)}")
    return "\n".join(lines)


def named_bodies(node: Node) -> list[tuple[str, Body]]:
    """Return the bodies of a loop or a branch with their names: that of the parameter."""
    found: list[tuple[str, Body]] = []
    for name, value in node.items:
        if isinstance(value, Body):
            found.append((name, value))
        elif isinstance(value, tuple) and value and isinstance(value[0], Body):
            found += [(f"case{k}", part) for k, part in enumerate(value)]
    return found


def shape_text(shape: Shape) -> str:
    """Return a shape as ``[n, 3]``; a number has none."""
    return f"[{', '.join(map(str, shape))}]" if shape else ""


def guard_texts(guards: Mapping[sp.Basic, bool]) -> list[str]:
    """Return the guards as Python text, without what is true of all sizes."""
    texts = []
    for relation, truth in guards.items():
        if relation.func(*relation.args) == as_expr(truth):
            continue  # sizes are positive
        text = relation_text(relation)
        texts.append(text if truth else f"not {text}")
    return texts


def type_text(node: Node) -> str:
    """Return element type and shape, as ``float64[n, 3]``; a loop or a branch has none."""
    if isinstance(node.op, Bodied):
        return ""
    return f"{node.dtype.name}{shape_text(node.shape)}"


@lru_cache(maxsize=1024)
def _template(op: Map, items: tuple[tuple[str, Any], ...]) -> str | None:
    """The op's mathematics with places for the operands' names, made once per op."""
    if op.sympy is None:
        return None
    places = [sp.Symbol(f"\x00{k}\x01", real=True) for k in range(op.arity)]
    with sp.evaluate(False):
        form = op.sympy(*places, **dict(items))
    if op.arity and not form.free_symbols:
        return None  # that no real number is nan does not say what the step computes
    text = sp.sstr(form, order="none").replace("{", "{{").replace("}", "}}")
    if items and len(text) > LONGEST:
        return None
    return str(text.replace("\x00", "{").replace("\x01", "}"))


def step_text(node: Node, names: Mapping[Node, str]) -> str:
    """Return the right-hand side of a step as mathematics."""
    return call_text(node.op, [names[x] for x in node.operands], node.items)


def call_text(op: Op, operands: Sequence[str], items: Iterable[tuple[str, Any]] = ()) -> str:
    """Return an op applied to named operands as mathematics."""
    template = _template(op, tuple(items)) if isinstance(op, Map) else None
    if template is not None:
        return template.format(*operands)
    if isinstance(op, Bodied):  # bodies are written out, and the rest follows from them
        items = [(k, v) for k, v in items if k in ("length", "reverse", "kept") and v]
    params = [f"{k}={_param_text(v)}" for k, v in items]
    return f"{op.name.lower()}({', '.join([*operands, *params])})"


def _param_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_param_text, value))}{',' if len(value) == 1 else ''})"
    return str(value)
