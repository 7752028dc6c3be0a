"""Formulas of graphs: index notation, matrix notation, derivatives, and their readable form."""

from ._binders import Sum
from ._cases import plain_condition
from ._constants import exact_number, readable_number, refuse_large_numbers
from ._deltas import resolve
from ._derive import (
    Function,
    derivative_of,
    derivatives,
    elements_of,
    formulas,
    repeated_derivatives,
    shapes_of,
    taken_names,
)
from ._element import Elements, element_symbol, indexed, is_condition, sympy_depth, with_lengths
from ._equation import Equation, Variable, equation_of, inside, left_latex, left_mathml, left_text
from ._formula import Formula
from ._html import STYLE, line, mathml
from ._matrix import matrix_notation
from ._named import Named, index_symbols, rename_bound
from ._naming import named_parts
from ._over import Over
from ._patience import LATE, SECONDS, Patience
from ._printing import beside, latex, ordered, pretty, text
from ._reading import formula_of
from ._shorter import simplified
