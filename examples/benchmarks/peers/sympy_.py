"""SymPy: symbolic derivatives, common subexpressions, NumPy source by ``lambdify``."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import UnfitError
from ._formulas import Formulas


class Lambdify(Formulas):
    """``sympy.lambdify(..., cse=True)``."""

    package = "sympy"
    largest = 1000

    def columns(self, workload: Any, table: Any, outputs: int, inputs: int) -> Any:
        import sympy

        if workload.name == "scalar_dag" and table.shape[0] and workload.kind == "gradient":
            raise UnfitError("SymPy expands shared subexpressions")
        variables = sympy.symbols(f"x:{len(table)}")
        formulas = workload.scalars(sympy, list(variables))
        rows = formulas if outputs else [formulas]
        slopes = [sympy.diff(row, v) for row in rows for v in variables[:inputs]]
        wanted = slopes if outputs else [formulas, *slopes]
        function = sympy.lambdify(variables, wanted, modules=["scipy", "numpy"], cse=True)
        self.places = table.shape[1]
        return function, tuple(table if self.places > 1 else table[:, 0])

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        if self.places > 1:  # constant formulas are numbers
            results = [np.broadcast_to(r, self.places) for r in results]
        return super().canonical(workload, case, results)
