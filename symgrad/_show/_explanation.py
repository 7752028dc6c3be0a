"""A derivation as text, LaTeX and HTML."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from textwrap import dedent, indent

from .._symbolic import (
    LATE,
    STYLE,
    Equation,
    Variable,
    latex,
    left_latex,
    left_mathml,
    left_text,
    line,
    text,
)
from ._derivation import Derivation, Path, Step

TITLES = (
    "The function, step by step",
    "The chain rule, from the result back to the argument",
    "Written out and simplified",
)

#: Colours that go with any background and ink: of a light or a dark page or notebook.
_STYLE = """\
.symgrad-derivation { font-family: system-ui, sans-serif; max-width: 60rem; line-height: 1.5 }
.symgrad-derivation h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; opacity: .75 }
.symgrad-derivation ol { list-style: none; margin: 0; padding: 0 }
.symgrad-derivation li { padding: .35rem .8rem; border-left: 3px solid #8895a866; margin: .25rem 0;
  display: grid; grid-template-columns: minmax(0, 1fr) max-content; gap: .2rem 1.5rem;
  align-items: center }
.symgrad-derivation li > div { overflow-x: auto; overflow-y: hidden; padding: .1rem 0 }
.symgrad-derivation li > .formula { padding-left: 2rem; text-indent: -2rem }
.symgrad-derivation li.result { border-color: #16a34a; background: #16a34a1c; display: block }
.symgrad-derivation .with { grid-column: 1 / -1; opacity: .75; font-size: .95em;
  padding-left: 3.5rem; text-indent: -2rem }
.symgrad-derivation code { opacity: .75; font-size: .8rem }
.symgrad-derivation math { text-indent: 0; font-size: 1.1em; font-family: "STIX Two Math",
  "Latin Modern Math", "Cambria Math", "DejaVu Math TeX Gyre", math }
@media (max-width: 36rem) { .symgrad-derivation li { display: block } }
"""


@dataclass(frozen=True)
class Explanation:
    """The derivation of a derivative; print it, or leave it to a notebook.

    Attributes
    ----------
    derivation:
        The steps as data.
    name, wrt:
        The function and the argument.
    """

    derivation: Derivation
    name: str
    wrt: str

    # ---------------------------------------------------------------- text

    def __str__(self) -> str:
        return self.text()

    def text(self) -> str:
        """Return plain text."""
        d = self.derivation
        lines = [f"The derivative of {self.name} by {self.wrt}", "", f"1. {TITLES[0]}"]
        forward = [(f"{left_text(*_of(s.equation))} = {text(s.equation.short)}", s.where)
                   for s in d.forward]  # fmt: skip
        width = max((len(line) for line, where in forward if where and len(line) < 72), default=0)
        lines += [f"    {line:{width}}  {where}".rstrip() for line, where in forward]
        lines += ["", f"2. {TITLES[1]}"]
        for step in d.backward:
            lines += [f"    {line}" for line in _chain_text(step)]
        lines += [f"    ({LATE})"] * d.gave_up
        lines += ["", f"3. {TITLES[2]}"]
        lines += indent(dedent(d.result.text()), "    ").splitlines()
        return "\n".join(lines)

    # ---------------------------------------------------------------- LaTeX

    def latex(self) -> str:
        """Return LaTeX for a document with ``amsmath``."""
        d = self.derivation
        blocks = []
        rows = [f"{left_latex(*_of(s.equation))} &= {latex(s.equation.short)}" for s in d.forward]
        blocks.append((TITLES[0], rows))
        backward = [row for s in d.backward for row in _chain_latex(s)]
        blocks.append((TITLES[1], backward + [rf"& \quad \text{{({LATE})}}"] * d.gave_up))
        parts = []
        for title, lines in blocks:
            body = " \\\\\n".join(lines)
            parts.append(f"\\paragraph{{{title}}}\n\\begin{{align*}}\n{body}\n\\end{{align*}}")
        parts.append(f"\\paragraph{{{TITLES[2]}}}\n\\[\n{d.result.latex()}\n\\]")
        return "\n".join(parts)

    # ---------------------------------------------------------------- HTML

    def html(self) -> str:
        """Return HTML with MathML: one element with its style, for any page."""
        d = self.derivation
        name = f"{html.escape(self.name)} by {html.escape(self.wrt)}"
        parts = [f"<style>\n{_STYLE}{STYLE}\n</style>", f"<h2>The derivative of {name}</h2>"]
        forward = [_item(line(left_mathml(*_of(s.equation)), s.equation.short), s.where)
                   for s in d.forward]  # fmt: skip
        backward = [_chain_html(s) for s in d.backward]
        backward += [f"<li>({LATE})</li>"] * d.gave_up
        result = [f'<li class="result">{d.result.html(style=False)}</li>']
        for title, items in zip(TITLES, (forward, backward, result), strict=True):
            parts += [f"<h3>{title}</h3>", "<ol>", *items, "</ol>"]
        return '<section class="symgrad-derivation">\n' + "\n".join(parts) + "\n</section>"

    def _repr_html_(self) -> str:
        return self.html()


def _of(equation: Equation) -> tuple[Variable, tuple[Variable, ...]]:
    return equation.result, equation.wrt


# ---------------------------------------------------------------- lines of the chain rule


def _direct(step: Step) -> bool:
    """Tell whether the step is read by the result alone: then there is no chain to show."""
    return all(p.outer is None for p in step.paths)


def _chain_text(step: Step) -> Iterator[str]:
    left, right = left_text(*_of(step.equation)), text(step.equation.short)
    if _direct(step):
        yield f"{left} = {right}"
        return
    terms = [_product_text(p) for p in step.paths]
    yield f"{left} = {' + '.join(terms)}"
    for p in step.paths:
        yield f"    with {_inner_text(p)} = {text(p.inner.short)}"
    yield f"    = {right}"


def _inner_text(path: Path) -> str:
    """The derivative of one step; that of the last is not the derivative of the result."""
    return left_text(*_of(path.inner)) + (" of the last step alone" if path.outer is None else "")


def _inner_latex(path: Path) -> str:
    inner = left_latex(*_of(path.inner))
    return rf"\left. {inner} \right|_{{\text{{last step}}}}" if path.outer is None else inner


def _inner_mathml(path: Path) -> str:
    inner = left_mathml(*_of(path.inner))
    if path.outer is not None:
        return inner
    return f"<msub><mrow>{inner}<mo>|</mo></mrow><mtext>last step</mtext></msub>"


def _product_text(path: Path) -> str:
    if path.outer is None:
        return _inner_text(path)
    inner = f"({left_text(*_of(path.outer))})*({left_text(*_of(path.inner))})"
    if not path.summed:
        return inner
    return f"Sum over {', '.join(i.name for i in path.summed)} of {inner}"


def _chain_latex(step: Step) -> Iterator[str]:
    left, right = left_latex(*_of(step.equation)), latex(step.equation.short)
    if _direct(step):
        yield f"{left} &= {right}"
        return
    terms = []
    for p in step.paths:
        below = ",".join(latex(i) for i in p.summed)
        sign = rf"\sum_{{{below}}} " if p.summed else ""
        outer = "" if p.outer is None else rf"{left_latex(*_of(p.outer))} \, "
        terms.append(f"{sign}{outer}{_inner_latex(p)}")
    yield f"{left} &= {' + '.join(terms)}"
    for p in step.paths:
        yield rf"& \quad \text{{with }} {_inner_latex(p)} = {latex(p.inner.short)}"
    yield f"&= {right}"


def _item(formula: str, where: str, notes: str = "") -> str:
    place = f"<code>{html.escape(where)}</code>" if where else ""
    return f'<li><div class="formula">{formula}</div>{place}{notes}</li>'


def _chain_html(step: Step) -> str:
    left = left_mathml(*_of(step.equation))
    if _direct(step):
        return _item(line(left, step.equation.short), step.where)
    terms = []
    for p in step.paths:
        outer = "" if p.outer is None else f"{left_mathml(*_of(p.outer))}<mo>\u2062</mo>"
        inner = f"{outer}{_inner_mathml(p)}"
        below = "<mo>,</mo>".join(f"<mi>{i.name}</mi>" for i in p.summed)
        sign = f"<munder><mo>∑</mo><mrow>{below}</mrow></munder>" if p.summed else ""
        terms.append(f"{sign}{inner}")
    notes = "".join(
        f'<div class="with">with {line(_inner_mathml(p), p.inner.short)}</div>' for p in step.paths
    )
    formula = line(left, "<mo>+</mo>".join(terms), step.equation.short)
    return _item(formula, step.where, notes)
