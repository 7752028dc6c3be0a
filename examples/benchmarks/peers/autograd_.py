"""HIPS autograd: NumPy recorded call by call."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import Peer


class _Names:
    """autograd's NumPy, and two of SciPy's names."""

    def __getattr__(self, name: str) -> Any:
        import autograd.numpy as anp
        import autograd.scipy.special as special

        return getattr(special if name in ("erf", "logsumexp") else anp, name)


class Autograd(Peer):
    """``autograd.value_and_grad``, and elementwise derivatives over whole columns."""

    package = "autograd"

    def gradient(self, workload: Any, arguments: Any) -> Any:
        import autograd

        names, chosen = _Names(), workload.differentiated(arguments)
        return autograd.value_and_grad(lambda *a: workload.function(names, *a), chosen), arguments

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        import autograd

        names, chosen = _Names(), workload.differentiated(arguments)

        def function(*columns: Any) -> Any:
            value = workload.function(names, *columns)
            return names.sum(value), value

        def both(*columns: Any) -> Any:
            tape = {}

            def total(*given: Any) -> Any:
                result, value = function(*given)
                tape["value"] = getattr(value, "_value", value)
                return result

            gradient = autograd.grad(total, chosen)(*columns)
            return tape["value"], *gradient

        return both, arguments

    def jacobian(self, workload: Any, arguments: Any) -> Any:
        import autograd

        names = _Names()
        columns = [np.ascontiguousarray(c) for a in arguments for c in a.T]
        count = sum(arguments[k].shape[1] for k in workload.differentiated(arguments))

        def output(k: int) -> Any:
            return lambda *given: names.sum(workload.scalars(names, list(given))[k])

        outputs = len(workload.scalars(np, [c[:1] for c in columns]))
        rows = [autograd.grad(output(k), tuple(range(count))) for k in range(outputs)]
        return (lambda *given: [row(*given) for row in rows]), tuple(columns)

    def hessian(self, workload: Any, arguments: Any) -> Any:
        import autograd

        names = _Names()
        function = lambda *a: workload.function(names, *a)  # noqa: E731
        gradient, hessian = autograd.grad(function), autograd.hessian(function)
        return (lambda *a: (gradient(*a), hessian(*a))), arguments

    def canonical(self, workload: Any, case: Any, results: Any) -> Any:
        if workload.kind == "jacobian":
            return np.array([list(row) for row in results])
        return super().canonical(workload, case, results)
