"""Gradients of tensors as values, and what else PyTorch has under this name."""

from typing import Any

from ._tensor import enable_grad, no_grad, set_grad_enabled
from ._tensor._create import Variable
from ._tensor._gradients import backward
from ._tensor._gradients import gradients as grad

__all__ = ["Variable", "backward", "enable_grad", "grad", "no_grad", "set_grad_enabled"]

_INSTEAD = {
    "Function": "give the function its rule by sg.custom_vjp, which holds for tensors too",
    "functional": "use sg.jacobian, sg.hessian, sg.vjp, sg.jvp of a function of arrays",
    "gradcheck": "sg.verify(f, *args) compares values and derivatives with exact ones",
    "gradgradcheck": "sg.verify(sg.grad(f), *args) compares derivatives with exact ones",
}


def __getattr__(name: str) -> Any:
    hint = f": {_INSTEAD[name]}" if name in _INSTEAD else ""
    raise AttributeError(f"module 'symgrad.autograd' has no attribute {name!r}{hint}")
