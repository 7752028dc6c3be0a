"""PyTensor: graphs of arrays, compiled through C."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from typing import Any

import numpy as np

from . import Peer, UnfitError


class _Names:
    """NumPy's names."""

    def __getattr__(self, name: str) -> Any:
        import pytensor.tensor as pt

        return getattr(pt.math if name == "logsumexp" else pt, name)

    def transpose(self, x: Any, axes: Any) -> Any:
        return x.transpose(*axes)


class PyTensor(Peer):
    """``pytensor.function`` of ``pytensor.grad``."""

    package = "pytensor"
    program = "g++"

    def start(self) -> None:
        folder = tempfile.mkdtemp()  # so that nothing is compiled already
        atexit.register(shutil.rmtree, folder, True)
        os.environ["PYTENSOR_FLAGS"] = f"base_compiledir={folder}"
        import pytensor
        import pytensor.tensor as pt

        x = pt.dvector()
        pytensor.function([x], pytensor.grad(pt.sin(x).sum(), x))

    def variables(self, arguments: Any) -> list[Any]:
        import pytensor.tensor as pt

        return [pt.tensor(dtype=str(a.dtype), shape=np.shape(a)) for a in arguments]

    def reverse(self, value: Any, seeds: Any, variables: Any, chosen: Any) -> Any:
        import pytensor

        gradient = pytensor.grad(seeds, [variables[k] for k in chosen])
        return pytensor.function(variables, [value, *gradient], trust_input=True)

    def gradient(self, workload: Any, arguments: Any) -> Any:
        variables = self.variables(arguments)
        value = workload.function(_Names(), *variables)
        chosen = workload.differentiated(arguments)
        return self.reverse(value, value, variables, chosen), arguments

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        variables = self.variables(arguments)
        value = workload.function(_Names(), *variables)
        chosen = workload.differentiated(arguments)
        return self.reverse(value, value.sum(), variables, chosen), arguments

    def jacobian(self, workload: Any, arguments: Any) -> Any:
        import pytensor

        columns = tuple(np.ascontiguousarray(c) for a in arguments for c in a.T)
        count = sum(arguments[k].shape[1] for k in workload.differentiated(arguments))
        variables = self.variables(columns)
        outputs = workload.scalars(_Names(), list(variables))
        self.outputs = len(outputs)
        wanted = [
            slope
            for y in outputs
            for slope in pytensor.grad(
                y.sum(), variables[:count], disconnected_inputs="ignore", return_disconnected="zero"
            )
        ]
        compiled = pytensor.function(variables, wanted, on_unused_input="ignore", trust_input=True)
        return compiled, columns

    def hessian(self, workload: Any, arguments: Any) -> Any:
        raise UnfitError("not written: PyTensor loops over rows with scan")

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        if workload.kind == "jacobian":
            return np.array(results).reshape(self.outputs, -1, len(results[0]))
        return super().canonical(workload, case, results)
