"""The Jacobian of formulas as one loop of C: SymPy's derivatives, common parts computed once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ._c import compiled, pointer


def jacobian_in_c(
    scalars: Callable[..., Any], table: np.ndarray[Any, Any], count: int, columns: bool
) -> Any:
    """Return the call for all columns of the table, whose rows are the variables.

    Without ``columns`` the table is its transpose, and so is the result.
    """
    import sympy

    rows, places = table.shape if columns else table.shape[::-1]
    variables = sympy.symbols(f"x:{rows}")
    formulas = scalars(sympy, list(variables))
    slopes = [sympy.diff(y, v) for y in formulas for v in variables[:count]]
    parts, wanted = sympy.cse(slopes)

    def place(k: int, total: int) -> str:
        return f"[{k} * n + i]" if columns else f"[{total} * i + {k}]"

    lines = [f"const double {v} = t{place(k, rows)};" for k, v in enumerate(variables)]
    lines += [f"const double {v} = {squares(e)};" for v, e in parts]
    lines += [f"out{place(k, len(wanted))} = {squares(e)};" for k, e in enumerate(wanted)]
    body = "\n".join(lines)
    source = (
        "#include <math.h>\n"
        "double slopes(const double *restrict t, double *restrict out, long n) {\n"
        f"#pragma GCC ivdep\nfor (long i = 0; i < n; i++) {{\n{body}\n}}\nreturn 0.0;\n}}\n"
    )
    function = compiled(source, "slopes")
    shape = (len(formulas), count)
    result = np.empty((*shape, places) if columns else (places, *shape))
    fixed = (pointer(table), pointer(result), ctypes.c_long(places))
    kept = (table, result if columns else np.moveaxis(result, 0, 2))
    return (lambda: (function(*fixed), kept[1])[1]), ()


def squares(expression: Any) -> str:
    """C source in which small powers are products."""
    from sympy.codegen.rewriting import create_expand_pow_optimization
    from sympy.printing.c import ccode

    text: str = ccode(create_expand_pow_optimization(4)(expression))
    return text
