"""symgrad: exact, fast derivatives of NumPy functions, compiled, readable and checked.

The public names are declared in ``__init__.pyi``. Everything is imported when it is first used:
``import symgrad`` takes milliseconds.
"""

from . import _providers as _providers
from ._core.base.lazy_names import attach as _attach
from ._core.base.lazy_names import late_module as _late_module
from ._core.base.package import __version__ as __version__

#: What there is here under names of JAX, autograd and SymPy.
_INSTEAD = {
    "jit": "sg.compile(f); grad, vmap and the others are compiled by themselves",
    "jacfwd": "sg.jacobian, which finds the shorter way itself",
    "jacrev": "sg.jacobian, which finds the shorter way itself",
    "elementwise_grad": "sg.vmap(sg.grad(f))",
    "lax": "sg.scan, sg.fori_loop, sg.while_loop, sg.cond and sg.switch",
    "tree_map": "arguments may be nested, and gradients are nested as they are",
    "tree_util": "arguments may be nested, and gradients are nested as they are",
    "make_jaxpr": "sg.show(f, x), or sg.compile(f).program(x)",
    "make_jvp": "sg.jvp(f, (x,), (t,))",
    "make_vjp": "sg.vjp(f, x)",
    "hessian_vector_product": "sg.hvp(f, (x,), (v,))",
}


def _elsewhere(name: str) -> str:
    """Say what there is in place of a name of another package, or where one has moved to."""
    if name in _INSTEAD:
        return f": {_INSTEAD[name]}"
    if name.startswith("_") or not hasattr(_late_module(".torch", __name__), name):
        return ""
    return f": moved to symgrad.torch: import symgrad.torch as torch; torch.{name}"


__getattr__, __dir__, __all__ = _attach(__name__, __file__, _elsewhere)
