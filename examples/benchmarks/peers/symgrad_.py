"""symgrad."""

from __future__ import annotations

from typing import Any

import numpy as np

import symgrad as sg
import symgrad.numpy as snp
from symgrad.scipy import special

from . import COLUMNS, Peer


class _Names:
    """NumPy's names, and two of SciPy's, as a user would import them."""

    def __getattr__(self, name: str) -> Any:
        return getattr(special if name in ("erf", "logsumexp") else snp, name)


NAMES = _Names()
WITH_SCIPY = ("black_scholes", "gmm", "mlp")


class Symgrad(Peer):
    """The compiler."""

    # Compile times are those of the first time.
    environment = {"SYMGRAD_CACHE_DIR": ""}  # noqa: RUF012

    def version(self) -> str:
        return str(sg.__version__)

    def start(self) -> None:
        sg.value_and_grad(lambda x: np.sum(np.sin(x)))(np.ones(2))

    def release(self) -> None:
        sg.set_kept_memory(0)
        sg.set_kept_memory()

    def function(self, workload: Any) -> Any:
        # What a closure holds is looked at in each call; modules of libraries are not.
        function = workload.function
        if workload.name in WITH_SCIPY:
            return lambda *arguments: function(NAMES, *arguments)
        return lambda *arguments: function(np, *arguments)

    def gradient(self, workload: Any, arguments: Any) -> Any:
        chosen = workload.differentiated(arguments)
        return sg.value_and_grad(self.function(workload), argnums=chosen), arguments

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        chosen = workload.differentiated(arguments)
        return sg.vmap(sg.value_and_grad(self.function(workload), argnums=chosen)), arguments

    def jacobian(self, workload: Any, arguments: Any) -> Any:
        chosen = workload.differentiated(arguments)
        return sg.vmap(sg.jacobian(self.function(workload), argnums=chosen)), arguments

    def jacobian_columns(self, workload: Any, arguments: Any) -> Any:
        chosen = workload.differentiated(arguments)
        each = sg.jacobian(self.function(workload), argnums=chosen)
        return sg.vmap(each, in_axes=1, out_axes=-1), arguments

    def hessian(self, workload: Any, arguments: Any) -> Any:
        function = self.function(workload)
        gradient, hessian = sg.grad(function), sg.hessian(function)
        return sg.compile(lambda *a: (gradient(*a), hessian(*a))), arguments

    def cost(self, workload: Any, case: Any, arguments: Any) -> Any:
        """Of the sum of squares, where the function has many results."""
        if case.variant in ("loop", COLUMNS):
            return None
        chosen = workload.differentiated(arguments)
        function = self.function(workload)
        if workload.kind == "derivatives":
            function = sg.vmap(function)
            both = self.derivatives(workload, arguments)[0]
            return (sg.compile(function), arguments), (both, arguments)
        if workload.kind == "jacobian":
            each = sg.vmap(function)
            function = lambda *a: np.sum(each(*a) ** 2)  # noqa: E731
        both = sg.value_and_grad(function, argnums=chosen)
        return (sg.compile(function), arguments), (both, arguments)
