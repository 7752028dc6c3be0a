"""JAX on the CPU, double precision where the arguments are."""

from __future__ import annotations

from typing import Any

from . import Peer


class _Names:
    """NumPy's names, and two of SciPy's."""

    def __getattr__(self, name: str) -> Any:
        import jax

        where = jax.scipy.special if name in ("erf", "logsumexp") else jax.numpy
        return getattr(where, name)


class Jax(Peer):
    """``jax.jit`` of JAX's own transformations; every call waits for its result."""

    package = "jax"
    environment = {  # noqa: RUF012
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "NPROC": "1",  # XLA's thread pools
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false",
    }

    def start(self) -> None:
        import jax

        jax.jit(jax.value_and_grad(lambda x: jax.numpy.sin(x).sum()))(jax.numpy.ones(2))

    def ready(self, function: Any, arguments: Any) -> Any:
        import jax

        compiled = jax.jit(function)
        given = tuple(jax.numpy.asarray(a) for a in arguments)
        return (lambda *a: jax.block_until_ready(compiled(*a))), given

    def function(self, workload: Any) -> Any:
        names = _Names()
        return lambda *arguments: workload.function(names, *arguments)

    def gradient(self, workload: Any, arguments: Any) -> Any:
        import jax

        chosen = workload.differentiated(arguments)
        return self.ready(jax.value_and_grad(self.function(workload), chosen), arguments)

    def derivatives(self, workload: Any, arguments: Any) -> Any:
        import jax

        chosen = workload.differentiated(arguments)
        each = jax.value_and_grad(self.function(workload), chosen)
        return self.ready(jax.vmap(each), arguments)

    def jacobian(self, workload: Any, arguments: Any) -> Any:
        import jax

        chosen = workload.differentiated(arguments)
        return self.ready(jax.vmap(jax.jacobian(self.function(workload), chosen)), arguments)

    def jacobian_columns(self, workload: Any, arguments: Any) -> Any:
        import jax

        chosen = workload.differentiated(arguments)
        each = jax.jacobian(self.function(workload), chosen)
        return self.ready(jax.vmap(each, in_axes=1, out_axes=-1), arguments)

    def hessian(self, workload: Any, arguments: Any) -> Any:
        import jax

        function = self.function(workload)
        gradient, hessian = jax.grad(function), jax.hessian(function)
        return self.ready(lambda *a: (gradient(*a), hessian(*a)), arguments)
