"""heyoka: formulas compiled by LLVM, vectorised over places."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._formulas import Formulas


class Default(Formulas):
    """``heyoka.cfunc`` of the derivatives from ``diff_tensors``."""

    package = "heyoka"
    compact = False

    def start(self) -> None:
        import heyoka

        heyoka.set_nthreads(1)  # it evaluates many places on all cores otherwise
        x = heyoka.make_vars("x")
        heyoka.cfunc([heyoka.sin(x)], [x])

    def columns(self, workload: Any, table: Any, outputs: int, inputs: int) -> Any:
        import heyoka

        variables = [heyoka.expression(f"x{k}") for k in range(len(table))]
        formulas = workload.scalars(heyoka, variables)
        rows = formulas if outputs else [formulas]
        tensors = heyoka.diff_tensors(rows, diff_args=variables[:inputs])
        slopes = list(tensors.jacobian.ravel())
        wanted = slopes if outputs else [formulas, *slopes]
        kind = np.float32 if table.dtype == np.float32 else float
        function = heyoka.cfunc(
            wanted, variables, compact_mode=self.compact, fp_type=kind, parallel_mode=False
        )
        if table.shape[1] == 1:
            point, result = np.ascontiguousarray(table[:, 0]), np.empty(len(wanted), table.dtype)
        else:
            point, result = table, np.empty((len(wanted), table.shape[1]), table.dtype)
        return (lambda: function(inputs=point, outputs=result)), ()


class Compact(Default):
    """The same in compact mode, for long programs."""

    compact = True
