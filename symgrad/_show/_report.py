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

from .._schedule import Program
from .._schedule._text import type_text
from .._spell import Operand
from .._symbolic import STYLE
from ._graph_view import formula_text


@dataclass(frozen=True)
class Line:
    """A line of the user's source."""

    number: int
    text: str


@dataclass(frozen=True)
class ErrorRow:
    """A row of the certificate's table.

    ``tiers`` says what stands behind it, ``place`` where its worst entry is.
    """

    name: str
    max_ulp: float
    median_ulp: float
    condition: float
    compared: int
    tiers: tuple[str, ...]
    place: str


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
    sampled:
        Where was looked, in words.
    errors, notes:
        The certificate's table, and what it found besides.
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
    sampled: str
    errors: tuple[ErrorRow, ...]
    notes: tuple[str, ...] = ()
    cost: tuple[int, int, float] | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


#: The graph's page begins with its first step; here it begins with all of them.
ALL_STEPS = (
    'document.getElementById("last").click();document.getElementById("fit").click();'
    'document.getElementById("stage").scrollTo(0,0)'
)

TIERS = {
    "identity": "SymPy has shown that the program's formula is the derivative",
    "enclosure": "ball arithmetic has confirmed the exact values: a proof",
    "sampling": "compared with exact values at the sampled points",
}


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
    yield _facts(c)
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
    yield _section("Certificate", _certificate(c))
    if c.cost is not None:
        yield _section("Cost", _cost(*c.cost))
    made = ", ".join(f"{escape(k)} {escape(v)}" for k, v in c.versions.items())
    yield f"<footer><p>Made with {made}.</p></footer>"


def _section(title: str, inner: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{inner}\n</section>"


# ---------------------------------------------------------------- at a glance


def _facts(c: Contents) -> str:
    worst = max((e.max_ulp for e in c.errors), default=0.0)
    said = "largest error of a value or a derivative"
    # Above 16 ulp, what rounding alone may do where the problem magnifies it.
    condition = max((e.condition for e in c.errors if e.max_ulp == worst), default=0.0)
    if 16 < worst <= condition:
        said += f"; rounding alone may make {condition:.0f} there"
    slopes = [e for e in c.errors if e.name != "value"]
    items = [
        _fact(f"{number(worst)} ulp", said, worst <= max(16, condition)),
        _fact(str(sum(e.compared for e in c.errors)), "numbers compared with exact ones"),
    ]
    if slopes and all("identity" in e.tiers for e in slopes):
        items.append(_fact("proved", "the formula is identically the derivative", True))
    if c.cost is not None:
        function, gradient, bound = c.cost
        ratio = gradient / max(function, 1)
        items.append(_fact(f"{ratio:.2f} ×", "the function's operations, for both", ratio <= bound))
    return f'<ul class="facts">{"".join(items)}</ul>'


def _fact(text: str, meaning: str, good: bool | None = None) -> str:
    side = "" if good is None else " class=good" if good else " class=warn"
    return f"<li{side}><b>{escape(text)}</b><span>{escape(meaning)}</span></li>"


# ---------------------------------------------------------------- source and program


def _code(c: Contents) -> str:
    names = c.program.names
    used = {n.where.line for n in c.program.steps if n.where is not None}
    source = []
    for line in c.source:
        mark = f' data-line="{line.number}"' if line.number in used else ""
        number = f"<span class=no>{line.number}</span>"
        source.append(f"<li{mark}>{number}<span>{escape(line.text) or ' '}</span></li>")
    steps = []
    for node in c.program.steps:
        mark = f' data-line="{node.where.line}"' if node.where is not None else ""
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


# ---------------------------------------------------------------- certificate and cost


def number(value: float) -> str:
    """Return an error for people."""
    return f"{value:.2f}" if value < 1e4 else f"{value:.1e}"


def _certificate(c: Contents) -> str:
    heads = ("", "max ulp", "median", "condition", "compared", "by", "worst at")
    row = "".join(f"<th{' class=n' if 0 < k < 5 else ''}>{h}</th>" for k, h in enumerate(heads))
    rows = [f"<tr>{row}</tr>", *(_error_row(e, c.errors) for e in c.errors)]
    notes = "".join(f"<li>{escape(note)}</li>" for note in c.notes)
    meanings = "".join(
        f'<li><span class="tag {tier}">{tier}</span> {meaning}</li>'
        for tier, meaning in TIERS.items()
        if any(tier in e.tiers for e in c.errors)
    )
    return (
        f"<p>{escape(c.sampled)}</p><div class=scroll><table>{''.join(rows)}</table></div>"
        + (f'<ul class="notes">{notes}</ul>' if notes else "")
        + f'<ul class="notes hint">{meanings}</ul>'
    )


def _error_row(e: ErrorRow, rows: Sequence[ErrorRow]) -> str:
    top = max(max((r.max_ulp for r in rows), default=0.0), 1.0)
    share = min(e.max_ulp / top, 1.0) * 100 if e.max_ulp == e.max_ulp else 100
    meter = f'<span class=meter><i style="width:{share:.0f}%"></i></span>'
    tags = "".join(f'<span class="tag {t}">{t}</span>' for t in e.tiers)
    condition = f"{e.condition:.2g}" if e.compared else "-"
    return (
        f"<tr><td>{escape(e.name)}</td><td class=n>{number(e.max_ulp)}{meter}</td>"
        f"<td class=n>{number(e.median_ulp)}</td><td class=n>{condition}</td>"
        f"<td class=n>{e.compared}</td><td class=by>{tags}</td>"
        f"<td class=place>{escape(e.place)}</td></tr>"
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
