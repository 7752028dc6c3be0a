"""``scipy.integrate``, compiled: initial value problems and integrals as machine code.

``solve_ivp`` has SciPy's signature, results and messages. The right-hand side and the loop over
steps are one kernel; steps are those of SciPy. ``odeint`` is compiled in the same way. In traced
code ``quad``, ``quad_vec``, ``fixed_quad``, ``dblquad``, ``tplquad``, ``nquad``, ``tanhsinh`` are
part of the program, too, with derivatives by parameters and limits.

Examples
--------
>>> import numpy as np
>>> from symgrad.scipy.integrate import solve_ivp
>>> sol = solve_ivp(lambda t, y: -0.5 * y, [0, 10], [2.0], t_eval=[0, 5, 10])
>>> np.allclose(sol.y[0], 2 * np.exp(-0.5 * sol.t), rtol=1e-2)
True
"""

from __future__ import annotations

import functools
from typing import Any

import scipy.integrate

from .._core.trace.namespace import offering
from ._bvp import solve_bvp
from ._coverage import reasons
from ._dae import solve_dae
from ._ode import solve_ivp
from ._ode_solvers import CompiledTsit5 as Tsit5
from ._ode_solvers import RadauIIA, Rodas5P, Taylor
from ._odeint import odeint
from ._quad import dblquad, nquad, quad, quad_vec, tplquad
from ._samples import cumulative_simpson, cumulative_trapezoid, fixed_quad, romb, simpson, trapezoid
from ._solver_arguments import given_numbers
from ._tanhsinh import tanhsinh

__all__ = [
    "RadauIIA",
    "Rodas5P",
    "Taylor",
    "Tsit5",
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_bvp",
    "solve_dae",
    "solve_ivp",
    "tanhsinh",
    "tplquad",
    "trapezoid",
]

_why = reasons("integrate")
_names, __dir__ = offering(scipy.integrate, globals(), _why)


@functools.cache
def __getattr__(name: str) -> Any:
    return given_numbers(_names(name), _why(name))
