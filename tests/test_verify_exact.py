"""Exact values take as many digits as they need, and limits where the chain rule is 0/0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special as special

import symgrad as sg
from symgrad.errors import VerificationError

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.mark.parametrize(
    ("f", "domain"),
    [
        (lambda x: x * np.sqrt(x), (0.0, 9.0)),
        (lambda x: np.sin(x) / x, (-3.0, 3.0)),
        (lambda x: np.expm1(x) / x, (-1.0, 1.0)),
        (lambda x: np.sqrt(x) ** 2, (0.0, 9.0)),
        (lambda x, y: np.arctan(y / x), {"x": (-1.0, 1.0), "y": (1.0, 2.0)}),
        (lambda x: np.log(special.ndtr(x)), (-37.0, 5.0)),
        (special.log_ndtr, (-1000.0, 5.0)),
        (lambda x: x * special.ndtr(x), (-30.0, 5.0)),
        (lambda x, y: special.xlogy(x, y), (0.0, 5.0)),
        (lambda x: special.entr(x) + special.entr(1 - x), (0.0, 1.0)),
        (special.gammaln, (-5.0, 5.0)),
        (special.gamma, (-5.0, 5.0)),
        (special.digamma, (0.0, 5.0)),
        (lambda x: special.sici(x)[1], (-5.0, 5.0)),
        (lambda x: special.shichi(x)[1], (-5.0, 5.0)),
    ],
)
@pytest.mark.quick(2)
def test_right_kernels_pass_where_the_chain_rule_fails(f: Any, domain: Any) -> None:
    with sg.backend("numpy"):
        certificate = sg.verify(f, domain=domain, points=6)
    assert all(row.max_scaled < 4 for row in certificate.rows[1:])


def test_a_root_of_a_function_need_not_be_one_of_the_kernel() -> None:
    """``sin(pi*x)`` is not 0 for an integer, where pi is rounded."""
    with sg.backend("numpy"):
        assert sg.verify(np.sinc, domain=(-5.0, 5.0), points=4)["value"].max_scaled < 4
        assert sg.verify(np.log, 1.0)["value"].max_ulp == 0


def test_infinities_that_digits_take_away_are_mistakes() -> None:
    """The kernel's 1/0 is 1/(1 - 1 + 2e-87): with 65 digits both would be infinite."""
    with (
        sg.backend("numpy"),
        pytest.raises(VerificationError, match=r"is 3\.61298688\d+e\+86, but the kernel gives inf"),
    ):
        sg.verify(lambda x: 1 / (1 - np.tanh(x)), 100.0)
    with sg.backend("numpy"):  # these are infinite
        assert sg.verify(lambda x: 1 / (1 - x), 1.0).max_ulp == 0
        assert sg.verify(np.log, 0.0).max_ulp == 0


def test_nan_is_told() -> None:
    def f(x: Any) -> Any:
        return np.cbrt(x) ** 3

    certificate = sg.verify(f, domain=(-1.0, 1.0), points=4)
    row = certificate["x"]
    assert (row.nans, row.first_nan) == (1, {"x": 0.0})
    assert f"nan: d/d x at 1 of {row.compared} places, x = 0" in str(certificate)
    assert "1 entry nan" in str(sg.verify(f, 0.0))
    assert "nan" not in str(sg.verify(f, 1.0))


@pytest.mark.slow
def test_decisions_of_assembled_parts_are_compared() -> None:
    """Zeros beside the parts are of their type: what is no part of a mask is false, not 0.0."""
    with sg.backend("numpy"):
        certificate = sg.verify(
            lambda x, y: np.corrcoef(x, y)[0, 1], np.arange(3.0), np.arange(3.0) ** 2,
            domain=(0.0, 2.0), points=2, samples=4,
        )  # fmt: skip
    assert certificate.loss is not None
