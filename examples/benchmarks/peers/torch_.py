"""PyTorch: eager, and with torch.compile."""

from __future__ import annotations

from typing import Any

from . import Peer


class _Names:
    """NumPy's names where PyTorch has others."""

    def __getattr__(self, name: str) -> Any:
        import torch

        return getattr(torch, name)

    def max(self, x: Any, axis: int, keepdims: bool = False) -> Any:
        import torch

        return torch.amax(x, axis, keepdims)

    def array(self, rows: Any) -> Any:
        import torch

        if not isinstance(rows, list):
            return torch.as_tensor(rows)
        return torch.stack([r if isinstance(r, torch.Tensor) else self.array(r) for r in rows])


class Eager(Peer):
    """Eager tensors and their backward pass."""

    package = "torch"
    environment = {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}  # noqa: RUF012

    def start(self) -> None:
        import torch

        torch.set_num_threads(1)
        x = torch.ones(2, requires_grad=True)
        x.sin().sum().backward()

    def compiled(self, function: Any) -> Any:
        return function

    def function(self, workload: Any) -> Any:
        names = _Names()
        return lambda *arguments: workload.function(names, *arguments)

    def gradient(self, workload: Any, arguments: Any) -> Any:
        return self.reverse(self.function(workload), workload, arguments)

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        return self.reverse(self.function(workload), workload, arguments)

    def reverse(self, function: Any, workload: Any, arguments: Any) -> Any:
        """Value and gradient; of the sum, where there are many values."""
        import torch

        given = [torch.as_tensor(a) for a in arguments]
        chosen = [given[k].requires_grad_() for k in workload.differentiated(arguments)]
        function = self.compiled(function)

        def both(*tensors: Any) -> Any:
            value = function(*tensors)
            gradient = torch.autograd.grad(value.sum(), chosen)
            return value.detach(), *gradient

        return both, tuple(given)

    def jacobian(self, workload: Any, arguments: Any) -> Any:
        import torch

        chosen = workload.differentiated(arguments)
        each = torch.func.jacrev(self.function(workload), chosen)
        given = tuple(torch.as_tensor(a) for a in arguments)
        return self.compiled(torch.func.vmap(each)), given

    def hessian(self, workload: Any, arguments: Any) -> Any:
        import torch

        function = self.function(workload)
        gradient, hessian = torch.func.grad(function), torch.func.hessian(function)
        given = tuple(torch.as_tensor(a) for a in arguments)
        return self.compiled(lambda *a: (gradient(*a), hessian(*a))), given


class Compiled(Eager):
    """The same through torch.compile."""

    program = "g++"

    def start(self) -> None:
        import torch

        super().start()
        torch.compile(lambda x: torch.sin(x).sum())(torch.ones(2))

    def compiled(self, function: Any) -> Any:
        import torch

        return torch.compile(function)
