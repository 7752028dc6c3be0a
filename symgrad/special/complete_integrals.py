"""The complete integrals that are derivatives of elliptic integrals by their parameter.

Value and slope by tables of m, and close to 1, where they are infinite, of 1 - m with the
logarithm split off; other orders, and negative parameters, by Carlson's algorithm.

Source: NIST Digital Library of Mathematical Functions, 19.4, 19.8 and 19.12.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp

from .._op import HIGHEST, Op, define
from .carlson import SHARE, carlson_d, carlson_g
from .fitted import fitted_fields
from .tables import (
    COMPLETE_D1_LOG,
    COMPLETE_D1_MIDDLE,
    COMPLETE_D1_NEAR,
    COMPLETE_D_LOG,
    COMPLETE_D_MIDDLE,
    COMPLETE_D_NEAR,
    COMPLETE_G1_LOG,
    COMPLETE_G1_MIDDLE,
    COMPLETE_G1_NEAR,
    COMPLETE_G_LOG,
    COMPLETE_G_MIDDLE,
    COMPLETE_G_NEAR,
)
from .taylor import SERIES, form_of_order


def complete_chosen(m: Any, fit: Any, below: Any, tables: Any, power: int) -> Any:
    """Choose by m from values for m < 0 and by tables, which have the singularity's power."""
    middle, rest, log = tables
    q = 1.0 - m
    near = fit(q, rest)
    for _ in range(power):
        near = near / q
    near = np.where(q == 0, math.inf, near + np.log(q) * fit(q, log))
    return np.where(m < 0, below, np.where(m < 0.875, fit(m, middle), near))


def complete_d(m: Any, fit: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/sqrt(1 - m*sin(t)**2) from 0 to pi/2, for m < 1; a derivative by m."""
    if order > 1:
        return carlson_d(m, order)
    below = carlson_d(np.minimum(m, 0.0), order)
    tables = (
        (COMPLETE_D_MIDDLE, COMPLETE_D_NEAR, COMPLETE_D_LOG),
        (COMPLETE_D1_MIDDLE, COMPLETE_D1_NEAR, COMPLETE_D1_LOG),
    )[order]
    return complete_chosen(m, fit, below, tables, order)


def complete_g(m: Any, fit: Any, order: int = 0) -> Any:
    """Integral of sin(t)**2/(1 - m*sin(t)**2)**(3/2) from 0 to pi/2, for m < 1; as complete_d."""
    if order > 1:
        return carlson_g(m, order)
    below = carlson_g(np.minimum(m, 0.0), order)
    tables = (
        (COMPLETE_G_MIDDLE, COMPLETE_G_NEAR, COMPLETE_G_LOG),
        (COMPLETE_G1_MIDDLE, COMPLETE_G1_NEAR, COMPLETE_G1_LOG),
    )[order]
    return complete_chosen(m, fit, below, tables, order + 1)


def _d_form(m: Any, order: int = 0) -> Any:
    return form_of_order(lambda m: (sp.elliptic_k(m) - sp.elliptic_e(m)) / m, m, order)


def _g_form(m: Any, order: int = 0) -> Any:
    return form_of_order(lambda m: (sp.elliptic_e(m) / (1 - m) - sp.elliptic_k(m)) / m, m, order)


def _fields(formula: Any) -> dict[str, Any]:
    fields = fitted_fields(formula)
    helpers = (*SERIES, complete_chosen, *fields["helpers"])
    kind = {"domain": (SHARE,), "samples": (0.2, 0.8), "ulp": 8.0, "orders": HIGHEST}
    return {**fields, "helpers": helpers, **kind}


COMPLETE_D: Op = define(
    name="CompleteD", doc="(ellipk(m) - ellipe(m))/m; a derivative of it.", sympy=_d_form,
    partials=lambda y, m, order=0: (COMPLETE_D(m, order=order + 1),), **_fields(complete_d),
)  # fmt: skip
COMPLETE_G: Op = define(
    name="CompleteG", doc="Twice the derivative of ellipk(m); one more.", sympy=_g_form,
    partials=lambda y, m, order=0: (COMPLETE_G(m, order=order + 1),), **_fields(complete_g),
)  # fmt: skip
