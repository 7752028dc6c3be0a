"""SymEngine: SymPy's formulas in C++, compiled by LLVM."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import UnfitError
from ._formulas import Formulas


class SymEngine(Formulas):
    """``symengine.Lambdify(backend="llvm")``."""

    package = "symengine"

    def columns(self, workload: Any, table: Any, outputs: int, inputs: int) -> Any:
        import symengine

        if workload.name == "scalar_dag" and workload.kind == "gradient":
            raise UnfitError("SymEngine expands shared subexpressions")
        if table.dtype != np.float64:
            raise UnfitError("double precision only")
        variables = symengine.symbols(f"x0:{len(table)}")
        formulas = workload.scalars(symengine, list(variables))
        rows = formulas if outputs else [formulas]
        slopes = [symengine.diff(row, v) for row in rows for v in variables[:inputs]]
        wanted = slopes if outputs else [formulas, *slopes]
        function = symengine.Lambdify(variables, wanted, backend="llvm", cse=True)
        places = np.ascontiguousarray(table.T if table.shape[1] > 1 else table[:, 0])
        return function, (places,)

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        found = np.asarray(results)
        return super().canonical(workload, case, found.T if found.ndim == 2 else found)
