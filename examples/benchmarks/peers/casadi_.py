"""CasADi: its virtual machine, and the C code it generates."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import UnfitError
from ._formulas import Formulas


class Machine(Formulas):
    """SX functions on CasADi's virtual machine, called through buffers."""

    package = "casadi"

    def start(self) -> None:
        import casadi

        x = casadi.SX.sym("x")
        casadi.Function("f", [x], [casadi.gradient(x * x, x)])(1.0)

    def function(self, inputs: Any, outputs: Any, columns: int) -> Any:
        import casadi

        made = casadi.Function("f", inputs, outputs)
        return made if columns == 1 else made.map(columns)

    def columns(self, workload: Any, table: Any, outputs: int, inputs: int) -> Any:
        import casadi

        if table.dtype != np.float64:
            raise UnfitError("double precision only")
        variables = casadi.SX.sym("x", len(table))
        formulas = workload.scalars(casadi, casadi.vertsplit(variables))
        if outputs:
            slopes = casadi.jacobian(casadi.vertcat(*formulas), variables[:inputs])
            wanted = casadi.densify(casadi.reshape(slopes.T, -1, 1))
        else:
            slopes = casadi.gradient(formulas, variables)[:inputs]
            wanted = casadi.densify(casadi.vertcat(formulas, slopes))
        function = self.function([variables], [wanted], table.shape[1])
        return self.buffered(function, (np.ascontiguousarray(table.T),))

    def buffered(self, function: Any, arguments: Any) -> Any:
        """Return a call that reads and writes NumPy arrays; CasADi's are in Fortran's order."""
        buffer, evaluate = function.buffer()
        for k, argument in enumerate(arguments):
            buffer.set_arg(k, memoryview(argument))
        shape = function.sparsity_out(0).shape
        result = np.empty(shape[::-1])
        buffer.set_res(0, memoryview(result))
        self.kept = (buffer, function, arguments)

        def call() -> Any:
            evaluate()
            return result

        return call, ()

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        results = np.asarray(results)
        return super().canonical(workload, case, results if results.ndim == 1 else results.T)


class Generated(Machine):
    """The C code that CasADi generates, compiled with -O3."""

    program = "gcc"

    def function(self, inputs: Any, outputs: Any, columns: int) -> Any:
        import casadi

        made = super().function(inputs, outputs, columns)
        options = {
            "compiler": "shell",
            "jit": True,
            "jit_options": {"flags": ["-O3", "-march=native"], "compiler": "gcc"},
            "jit_temp_suffix": True,
        }
        before = Path.cwd()
        with tempfile.TemporaryDirectory() as folder:  # CasADi writes where it runs
            os.chdir(folder)
            try:
                return (
                    casadi.Function("g", inputs, made.call(inputs), options)
                    if (columns == 1)
                    else self.mapped(casadi, made, options)
                )
            finally:
                os.chdir(before)

    def mapped(self, casadi: Any, made: Any, options: Any) -> Any:
        """The loop over columns is generated code too."""
        table = casadi.MX.sym("t", *made.sparsity_in(0).shape)
        return casadi.Function("g", [table], [made(table)], options)
