"""Tables of collocation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from symgrad.scipy._ode_radau import table_of


@pytest.mark.parametrize("stages", [3, 5, 7])
def test_points_of_radau_have_their_orders(stages: int) -> None:
    """The stages are exact for polynomials of degree s, the end for those of degree 2*s - 1."""
    table = table_of(stages)
    matrices = [np.array([[table.real]])]
    matrices += [np.array([[x.real, -x.imag], [x.imag, x.real]]) for x in table.shifts]
    inverse = scipy.linalg.block_diag(*matrices)
    a = table.t @ np.linalg.inv(inverse) @ table.inverse
    for k in range(1, 2 * stages):
        powers = a @ table.c ** (k - 1)
        assert abs(powers[-1] - 1 / k) < 1e-12
        if k <= stages:
            np.testing.assert_allclose(powers, table.c**k / k, atol=1e-12)
    np.testing.assert_allclose(table.p @ table.c**2, np.eye(stages)[1], atol=1e-9)
