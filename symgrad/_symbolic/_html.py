"""Equations for a page: aligned at the sign, long sums broken between their terms.

Browsers draw MathML but do not break its lines. Each term of a sum is therefore an element of
its own: what does not fit goes to the next line, behind the sign of equality. A product that is
longer than the page scrolls by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from ._forms import common_factor
from ._mathml import MathMLPrinter, markup

#: Signs at the beginning of an element, behind the space between two: browsers would set more
#: before them and nothing after them.
_SIGN = '<mo form="infix" lspace="0" rspace="0.2222em">{}</mo>'
_EQUALS = '<mo lspace="0" rspace="0.2778em">=</mo>'

#: Colours that go with any background and ink: of a light or a dark page or notebook.
STYLE = """\
.symgrad-equations { display: grid; grid-template-columns: max-content max-content minmax(0, 1fr);
  align-items: baseline; gap: .55rem .5rem; line-height: 1.5; margin: .4rem 0 }
.symgrad-equations > .left { justify-self: end; text-align: right }
.symgrad-equations > .right { overflow-x: auto; overflow-y: hidden; padding: .1rem 0 }
.symgrad-equations > .note { grid-column: 1 / -1; font: .85rem/1.5 system-ui, sans-serif;
  opacity: .75 }
.symgrad-equations .word { font: .85rem/1.5 system-ui, sans-serif; opacity: .75;
  margin-right: .4rem }
.symgrad-equations math { font-size: 1.1em; font-family: "STIX Two Math", "Latin Modern Math",
  "Cambria Math", "DejaVu Math TeX Gyre", math }
@media (max-width: 36rem) {
  .symgrad-equations { grid-template-columns: max-content minmax(0, 1fr) }
  .symgrad-equations > .left { grid-column: 1 / -1; justify-self: start; margin-top: .5rem }
}"""

_MATH = (
    '<math xmlns="http://www.w3.org/1998/Math/MathML" displaystyle="true"><mrow>{}</mrow></math>'
)


def terms(expression: Any) -> list[str]:
    """Return the terms of a sum, each with its sign, as the inside of MathML elements."""
    printer = MathMLPrinter()
    if not expression.is_Add or common_factor(expression).is_Mul:
        return [markup(printer._print(expression))]
    found = []
    for k, term in enumerate(printer._as_ordered_terms(expression)):
        minus = k > 0 and bool(term.could_extract_minus_sign())
        sign = _SIGN.format("−" if minus else "+") if k else ""
        found.append(sign + markup(printer._print(-term if minus else term)))
    return found


def math(inner: str) -> str:
    """Return an element in the middle of a line, large as one that stands alone."""
    return _MATH.format(inner)


def line(left: str, *sides: Any) -> str:
    """Return ``left = side = ...`` as elements between which a line may be broken.

    Parameters
    ----------
    left:
        The inside of a MathML element.
    *sides:
        Such, too, or formulas, of which the terms become elements.
    """
    found = [left]
    for side in sides:
        first, *others = [side] if isinstance(side, str) else terms(side)
        found += [_EQUALS + first, *others]
    return " ".join(map(math, found))


def aligned(
    rows: Iterable[tuple[str, Any]],
    names: Iterable[tuple[str, Any]] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return equations as one HTML element, for a page that has :data:`STYLE`.

    Parameters
    ----------
    rows:
        The left side of each as the inside of a MathML element, and the right side.
    names:
        What names in them mean, in the same way.
    notes:
        What else there is to know, as text.
    """
    cells = [_row(left, right, "") for left, right in rows]
    cells += [_row(left, right, '<span class="word">where</span>') for left, right in names]
    cells += [f'<div class="note">{escape(note)}</div>' for note in notes]
    return '<div class="symgrad-equations">\n' + "\n".join(cells) + "\n</div>"


def _row(left: str, right: Any, word: str) -> str:
    sides = " ".join(map(math, terms(right)))
    return (
        f'<div class="left">{word}{math(left)}</div><div class="sign">{math("<mo>=</mo>")}</div>'
        f'<div class="right">{sides}</div>'
    )
