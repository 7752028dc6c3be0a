"""Formulas from text.

The text goes through three gates, and is never executed:

1. ``_scan`` reads it character by character and lets only numbers, names, operators,
   parentheses and commas pass, to a bounded length and nesting.
2. Python's own parser (``ast.parse``) finds the structure.
3. ``_build`` turns the nodes on its list into SymPy objects, one by one, and refuses all
   others; ``_vocabulary`` holds the functions and constants that a formula may use.

``sympy.sympify`` and ``parse_expr`` are not used: they run ``eval`` on the text.
"""

from __future__ import annotations

import ast

import sympy as sp

from ..errors import ArgumentError, ParseError
from ._build import build
from ._limits import MAX_POWER_BITS, TooLargeError, check_numbers, power_bits
from ._scan import scan
from ._vocabulary import Names, Symbols


def parse(text: str, *, symbols: Symbols = None) -> sp.Expr:
    """Read a formula such as ``"b1*(1 - exp(-b2*x))"`` into a SymPy expression.

    Text is read as mathematics over the real numbers, with Python's operators and
    precedence: ``+ - * / **``, comparisons and ``& | ~`` inside ``where`` and ``Piecewise``,
    and the functions of NumPy, SymPy, SciPy and ``math``, under any of their names (``arctan``
    or ``atan``, ``besselj`` or ``jv``; the full list: ``symgrad._parse._vocabulary``).

    - A name becomes a real symbol. ``pi`` and ``E`` (as SymPy prints it) are the constants;
      ``e`` is an ordinary name, since models use it for error, charge, eccentricity: write
      ``exp(1)``. A name that means something else (``pi``, ``gamma``) can be had as a symbol
      by listing it in ``symbols``.
    - An integer stays exact, so ``x/3`` holds the rational 1/3. A number with a point or an
      exponent is the double that Python would read (``0.1`` is not 1/10), so that the
      formula and the program compiled from it mean the same number.
    - A subexpression without names must have a finite real value in double precision:
      ``9**9**9``, ``1/0`` and ``sqrt(-2)`` are refused, before they are evaluated.
    - Constants are kept exact while they are short (``1/3``, ``sqrt(2)``, ``sin(1)``), and
      become doubles when not (``exp(100)``, ``loggamma(10**6)``).
    - ``Sum(f, (k, a, b))``, ``Product(f, (k, a, b))`` and ``Integral(f, (t, a, b))`` bind the name
      in their limits. They are not evaluated: their compiled form is a loop, and a quadrature. A
      sum has at most 1,000,000 terms; one of numbers alone 1,000, which are added at once.
    - ``Derivative(f, x, (y, 2))`` is computed where the formula is, by names that it has.
    - The name of a special function is a function where it is called, and a symbol elsewhere:
      ``beta*x`` and ``beta(2, x)``.
    - SymPy's ordinary evaluation applies, except for special functions: like terms are
      collected, ``x/x`` is 1.

    Parameters
    ----------
    text:
        The formula, at most 10,000 characters, nested at most 100 deep.
    symbols:
        The names that may occur: one string (``"x b1 b2"``), names or SymPy symbols, or a
        mapping from name to expression. Default: any name.

    Returns
    -------
    sympy.Expr
        The formula, in real symbols.

    Raises
    ------
    ParseError
        The text is refused; the message shows the place. Also a ValueError.
    ArgumentError
        ``text`` is not a string, or ``symbols`` holds something else than described.

    Examples
    --------
    >>> parse("b1*exp(-x/2) + 0.5")
    b1*exp(-x/2) + 0.5
    >>> parse("Sum(c**k*besselj(k, x), (k, 0, n))")
    Sum(c**k*besselj(k, x), (k, 0, n))
    >>> parse("x.real")
    Traceback (most recent call last):
    symgrad.errors.ParseError: attributes are refused in a formula
        x.real
         ^
    """
    if not isinstance(text, str):
        raise ArgumentError(f"parse takes a string, got {type(text).__name__}")
    names = Names.of(symbols)
    scan(text)
    # One line, every character in its place, so that positions in the tree are positions
    # in the text; scan has let no other kind of white space pass.
    line = text.replace("\n", " ").replace("\r", " ").replace("\t", " ")
    stripped = line.lstrip()
    if not stripped:
        raise ParseError("the formula is empty")
    margin = len(line) - len(stripped)
    encoded = stripped.encode()

    def refuse(message: str, column: int) -> ParseError:
        # The parser counts bytes of UTF-8.
        position = margin + len(encoded[:column].decode(errors="ignore"))
        return ParseError(message, text=text, position=position)

    try:
        tree = ast.parse(stripped, mode="eval")
    except SyntaxError as error:
        # Here the offset counts characters from 1; 0 or None at the end of the text.
        column = (error.offset or len(stripped) + 1) - 1
        where = margin + min(column, len(stripped))
        raise ParseError(f"not a formula: {_said(error.msg)}", text=text, position=where) from None
    except (RecursionError, MemoryError):
        raise ParseError("the formula has too many operations in one row or is too deep") from None
    except ValueError as error:  # Python's own bounds, which differ between versions
        raise ParseError(f"not a formula: {error}") from None
    return build(tree.body, names, refuse)


def _said(message: str) -> str:
    """Say what Python only calls invalid syntax."""
    return "a name or a number is missing here" if message == "invalid syntax" else message
