"""Formulas of graphs: index notation, matrix notation, derivatives, and their readable form."""

from ._binders import Product, Sum, bound, rebuilt
from ._bound_functions import Over
from ._cases import plain_condition
from ._constants import readable_number, refuse_large_numbers
from ._deltas import resolve
from ._derive import (
    Function,
    derivative_of,
    elements_of,
    formulas,
    repeated_derivatives,
    shapes_of,
)
from ._element import (
    DEPTH,
    WRITTEN,
    Elements,
    element_symbol,
    indexed,
    is_condition,
    refilled,
    sympy_depth,
    with_lengths,
)
from ._equation import Equation, Variable, equation_of, left_latex, left_mathml, left_text
from ._formula import Formula
from ._html import STYLE, line, mathml
from ._limits import LATE, Patience
from ._names import index_symbols, rename_bound
from ._printing import beside, latex, ordered, text
from ._reading import formula_of
from ._shortening import simplified
