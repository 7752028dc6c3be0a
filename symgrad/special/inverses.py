"""Inverses of distribution functions: beta, gamma, Student's, and the normal one of logarithms.

The derivative of a quantile function is one over the density at the quantile, with what the
rounding of that leaves; by a parameter it is that of the distribution function over the density.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from .._core.base.scipy_names import special as sc
from .._core.op import Code, Cython, Evidence, Map, Op, Partials, Positive, Words, define
from . import multiple_precision as precisely
from .differences import DIGAMMA_STEP
from .distributions import (
    BETA_SHAPE,
    GAMMA_SHAPE,
    OTHER_BETA_SHAPE,
    STUDENT_SHAPE,
    THREE,
    beta_form,
    gamma_form,
    student_change,
    t_form,
)
from .incomplete import (
    INCOMPLETE,
    INCOMPLETE_BETA,
    STUDENT_SHARES,
    beta_quantile,
    gamma_quantile,
    t_quantile,
)
from .normal import HAZARD
from .records import UNIT, boxed, relative

TWO = (Positive, *UNIT)


def _quantile(
    function: np.ufunc,
    compute: Callable[..., Any],
    form: Callable[..., Any],
    fall: Callable[..., Any],
    upper: bool | None = None,
    *,
    shapes: Callable[..., Any],
    scores: Callable[..., Any],
    operands: str,
    domain: tuple[sp.Set, ...],
    evidence: Evidence,
    helpers: tuple[Callable[..., Any], ...],
    doc: str,
    name: str = "",
) -> Op:
    """Define an inverse of a distribution function.

    ``compute`` computes it beside SciPy's; ``form`` is the density in SymPy and ``fall`` the
    negative derivative of its logarithm. For the ``upper`` tails the derivative is negative.
    ``shapes`` are the derivatives of the lower share by the parameters, ``scores`` those of the
    density's logarithm. ``operands`` are the names of the result and the operands.
    """
    more = () if upper is None else (upper,)
    shown = f"special.{function.__name__}", *map(str, more)
    size, sign = len(domain), -1 if upper else 1
    name = name or function.__name__.capitalize()

    def partials(x: Any, *operands: Any, slope: int = 0) -> Any:
        given = operands[:-1]
        if not slope:
            over = op(*operands, slope=size)
            end = np.isinf(over) & np.isfinite(x)  # of the support, where it stays
            moved = [np.where(end, 0.0, change) for change in shapes(*given, x)]
            factor = -sign * np.where(end, 0.0, over)
            return *(factor * change for change in moved), over
        at = op(*operands)
        falls = x * fall(*given, at)
        changes = zip(scores(*given, at), shapes(*given, at), strict=True)
        return *(-x * (own + sign * falls * change) for own, change in changes), x * falls

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [inspect.Parameter(x, kind) for x in operands]
    partials.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]

    def reading(*operands: Any, slope: int = 0) -> Any:
        at = sp.Function(name)(*operands)
        return sign / form(*operands[:-1], at) if slope else at

    op = boxed(
        name, function, compute, domain, None, partials, evidence, Words(doc, reading=reading),
        more=more, shown=shown, helpers=helpers, slopes=size,
    )  # fmt: skip
    return op


_BETA_SAMPLES, _GAMMA_SAMPLES = ((0.5, 5), (0.5, 5), (0.1, 0.9)), ((0.5, 5), (0.1, 0.9))
_BETA: dict[str, Any] = {
    "operands": "xaby", "compute": beta_quantile, "form": beta_form, "domain": THREE,
    "fall": lambda a, b, x: (b - 1) / (1 - x) - (a - 1) / x,
    "shapes": lambda a, b, x: (BETA_SHAPE(a, b, x), OTHER_BETA_SHAPE(a, b, x)),
    "scores": lambda a, b, x: (
        np.log(x) + DIGAMMA_STEP(a, b), np.log1p(-x) + DIGAMMA_STEP(b, a),
    ),
    "helpers": (*INCOMPLETE_BETA, beta_quantile),
}  # fmt: skip
BETAINCINV = _quantile(
    sc.betaincinv, upper=False,
    evidence=Evidence(samples=_BETA_SAMPLES, ulp=64.0, precise=precisely.beta_quantile),
    doc="Inverse of the regularized incomplete beta function.", **_BETA,
)  # fmt: skip
BETAINCCINV = _quantile(
    sc.betainccinv, upper=True,
    evidence=Evidence(samples=_BETA_SAMPLES, ulp=64.0, precise=precisely.beta_upper_quantile),
    doc="Inverse of the complement of the incomplete beta function.", **_BETA,
)  # fmt: skip
_GAMMA: dict[str, Any] = {
    "operands": "xay", "compute": gamma_quantile, "form": gamma_form, "domain": TWO,
    "fall": lambda a, x: (x - a + 1) / x, "shapes": lambda a, x: (GAMMA_SHAPE(a, x),),
    "scores": lambda a, x: (np.log(x) - sc.psi(a),),
    "helpers": (*INCOMPLETE, gamma_quantile),
}  # fmt: skip
GAMMAINCINV = _quantile(
    sc.gammaincinv, upper=False,
    evidence=Evidence(samples=_GAMMA_SAMPLES, ulp=64.0, precise=precisely.gamma_quantile),
    doc="Inverse of the regularized lower incomplete gamma function.", **_GAMMA,
)  # fmt: skip
GAMMAINCCINV = _quantile(
    sc.gammainccinv, upper=True,
    evidence=Evidence(samples=_GAMMA_SAMPLES, ulp=64.0, precise=precisely.gamma_upper_quantile),
    doc="Inverse of the regularized upper incomplete gamma function.", **_GAMMA,
)  # fmt: skip
STDTRIT = _quantile(
    sc.stdtrit, t_quantile, t_form,
    lambda v, t: (v + 1) * t / (v + t * t), shapes=lambda v, t: (STUDENT_SHAPE(v, t),),
    scores=lambda v, t: (student_change(v, t),), name="StudentQuantile", operands="tvp",
    domain=TWO,
    evidence=Evidence(
        samples=((1, 9), (0.1, 0.9)), ulp=64.0, precise=precisely.student_quantile
    ),
    helpers=(*STUDENT_SHARES, t_quantile), doc="Quantile function of Student's t.",
)  # fmt: skip
NDTRI_EXP: Op = define(
    Map("NdtriExp", functions=(sc.ndtri_exp,), domain=(sp.Interval.open(-sp.oo, 0),), sympy=None,
        rule=Partials(lambda x, y: (1 / HAZARD(x),))),
    Code(Cython("ndtri_exp")),
    Evidence(samples=(-9, -0.2),
        # it is 0 at log(1/2)
        ulp=512.0, precise=precisely.normal_log_quantile),
    Words("Normal quantile of exp(y)."),
)  # fmt: skip


@relative(sc.fdtri, "F quantile function.")
def fdtri(n: Any, d: Any, p: Any) -> Any:
    x = sc.betaincinv(n / 2.0, d / 2.0, p)
    return d * x / (n * (1 - x))


@relative(sc.chdtri, "Inverse of the chi-square survival function.")
def chdtri(v: Any, p: Any) -> Any:
    return 2.0 * sc.gammainccinv(v / 2.0, p)


@relative(sc.gdtrix, "Gamma quantile function.")
def gdtrix(a: Any, b: Any, p: Any) -> Any:
    return sc.gammaincinv(b, p) / a
