"""The Jacobian of formulas as one loop of C: SymPy's derivatives, common parts computed once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from ._c import compiled, pointer


def jacobian_in_c(scalars: Callable[..., Any], table: np.ndarray[Any, Any], count: int) -> Any:
    """Return the call for all columns of the table, whose rows are the variables."""
    import sympy

    variables = sympy.symbols(f"x:{len(table)}")
    formulas = scalars(sympy, list(variables))
    slopes = [sympy.diff(y, v) for y in formulas for v in variables[:count]]
    parts, wanted = sympy.cse(slopes)
    lines = [f"const double {v} = t[{k} * n + i];" for k, v in enumerate(variables)]
    lines += [f"const double {v} = {squares(e)};" for v, e in parts]
    lines += [f"out[{k} * n + i] = {squares(e)};" for k, e in enumerate(wanted)]
    body = "\n".join(lines)
    source = (
        "#include <math.h>\n"
        "double slopes(const double *restrict t, double *restrict out, long n) {\n"
        f"#pragma GCC ivdep\nfor (long i = 0; i < n; i++) {{\n{body}\n}}\nreturn 0.0;\n}}\n"
    )
    function = compiled(source, "slopes")
    result = np.empty((len(formulas), count, table.shape[1]))
    fixed = (pointer(table), pointer(result), ctypes.c_long(table.shape[1]))
    kept = (table, result)
    return (lambda: (function(*fixed), kept[1])[1]), ()


def squares(expression: Any) -> str:
    """C source in which small powers are products."""
    from sympy.codegen.rewriting import create_expand_pow_optimization
    from sympy.printing.c import ccode

    text: str = ccode(create_expand_pow_optimization(4)(expression))
    return text
