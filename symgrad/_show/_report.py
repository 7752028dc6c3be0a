"""One page on one function: formula, derivative, program, graph, certificate, cost.

The page is self-contained: mathematics is MathML, the graph's page is inside, nothing is
loaded from anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html import escape
from importlib.resources import files

from .._core.base.size_text import Operand
from .._core.program import Program, type_text
from .._symbolic import STYLE
from ._graph_view import formula_text


@dataclass(frozen=True)
class Line:
    """A line of the user's source."""

    number: int
    text: str


@dataclass(frozen=True)
class Contents:
    """What a report shows; empty parts are left out.

    Attributes
    ----------
    name, signature:
        Of the function.
    function, derivatives:
        HTML with MathML, for a page with the equations' style.
    filename, source:
        The user's code.
    program:
        The program of value and gradient.
    graph:
        A page with the graph.
    facts:
        What is to be seen at a glance: a number, its meaning, and whether it is a good one.
    certificate:
        HTML of its table.
    cost:
        Operations of the function, and of value and gradient; the bound of their quotient.
    versions:
        What it was made with.
    """

    name: str
    signature: str
    function: str
    derivatives: str
    filename: str
    source: tuple[Line, ...]
    program: Program
    graph: str
    facts: Sequence[tuple[str, str, bool | None]]
    certificate: str
    cost: tuple[int, int, float] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


#: The graph's page begins with its first step; here it begins with all of them.
ALL_STEPS = (
    'document.getElementById("last").click();document.getElementById("fit").click();'
    'document.getElementById("stage").scrollTo(0,0)'
)


def report_page(contents: Contents) -> str:
    """Return the report as one HTML text."""
    body = "\n".join(_parts(contents))
    title = f"{escape(contents.name)} and its derivative"
    texts = {"title": title, "body": body, "equations.css": STYLE}
    return re.sub(
        r"\{\{([\w.]+)\}\}",
        lambda place: texts[place[1]] if place[1] in texts else _file(place[1]),
        _file("report.html"),
    )


@cache
def _file(name: str) -> str:
    return (files(__package__) / "_report_page" / name).read_text(encoding="utf-8")


def _parts(c: Contents) -> Iterator[str]:
    yield f"<h1>{escape(c.name)} <small>{escape(c.signature)}</small></h1>"
    yield '<p class="lead">Its derivative, the program that computes it, and their worth.</p>'
    yield f'<ul class="facts">{"".join(_fact(*fact) for fact in c.facts)}</ul>'
    if c.function:
        yield _section("Function", c.function)
    if c.derivatives:
        yield _section("Derivative", c.derivatives)
    yield _section("Program", _code(c))
    if c.graph:
        here = f"<style>{_file('graph.css')}</style><script>{ALL_STEPS}</script></body>"
        graph = c.graph.replace("</body>", here)
        # As high as the graph's levels are; of a long one the page scrolls a part.
        height = f"height:{min(max(20 + 5 * len(c.program.levels), 32), 56)}rem"
        srcdoc = escape(graph, quote=True)
        frame = f'<iframe title="graph" style="{height}" srcdoc="{srcdoc}"></iframe>'
        yield _section("Graph", frame)
    yield _section("Certificate", f"<div class=scroll>{c.certificate}</div>")
    if c.cost is not None:
        yield _section("Cost", _cost(*c.cost))
    made = ", ".join(f"{escape(k)} {escape(v)}" for k, v in c.versions.items())
    yield f"<footer><p>Made with {made}.</p></footer>"


def _section(title: str, inner: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{inner}\n</section>"


def _fact(text: str, meaning: str, good: bool | None) -> str:
    side = "" if good is None else " class=good" if good else " class=warn"
    return f"<li{side}><b>{escape(text)}</b><span>{escape(meaning)}</span></li>"


# ---------------------------------------------------------------- source and program


def _code(c: Contents) -> str:
    names = c.program.names
    lines = c.program.lines
    used = {where.line for where in lines.values()}
    source = []
    for line in c.source:
        mark = f' data-line="{line.number}"' if line.number in used else ""
        number = f"<span class=no>{line.number}</span>"
        source.append(f"<li{mark}>{number}<span>{escape(line.text) or ' '}</span></li>")
    steps = []
    for node in c.program.steps:
        mark = f' data-line="{lines[node].line}"' if node in lines else ""
        operands = [Operand(names[x], x.shape, x.dtype) for x in node.operands]
        text = escape(f"{names[node]} = {formula_text(node.op, operands, node.params)}")
        kind = escape(type_text(node))
        steps.append(f"<li{mark}><span>{text}</span><span class=type>{kind}</span></li>")
    for node in c.program.conditions:
        mark = f' data-line="{node.where.line}"' if node.where is not None else ""
        steps.append(f"<li{mark}><span>require {escape(names[node])}</span></li>")
    results = escape(", ".join(names[x] for x in c.program.outputs))
    steps.append(f"<li><span>return {results}</span></li>")
    program = f'<ol class="code">{"".join(steps)}</ol>'
    if not source:
        return program
    return (
        f'<div class="pair"><div><h3>{escape(c.filename)}</h3><ol class="code">{"".join(source)}'
        f"</ol></div><div><h3>value and gradient</h3>{program}</div></div>"
        '<p class="hint">Point at a line to see the steps that come from it, or at a step to see '
        "its line; a click keeps the choice.</p>"
    )


def _cost(function: int, gradient: int, bound: float) -> str:
    top = max(gradient, bound * function, 1)
    bars = [
        ("the function", function, ""), ("value and gradient", gradient, ""),
        ("cheap-gradient bound", round(bound * function), " class=bound"),
    ]  # fmt: skip
    cells = "".join(
        f'<span>{name}</span><div{kind} style="width:{100 * count / top:.1f}%"></div>'
        f"<span>{count} operations</span>"
        for name, count, kind in bars
    )
    return f'<div class="cost">{cells}</div>'
