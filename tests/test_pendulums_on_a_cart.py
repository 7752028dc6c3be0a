"""SymPy's pendulums on a cart: mass matrix and forces as a program, and its Jacobian."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp
from sympy.physics.mechanics.models import n_link_pendulum_on_cart

import symgrad as sg


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 5, 20])
def test_accelerations_and_their_jacobian(n: int) -> None:
    """Against complex steps through SymPy's own function of the mass matrix and the forces."""
    kane = n_link_pendulum_on_cart(n, cart_force=False)
    matrix, forces = kane.mass_matrix, kane.forcing
    q, u = list(kane.q), list(kane.u)
    time = sp.Symbol("t")
    parameters = sorted((matrix.free_symbols | forces.free_symbols) - {time}, key=str)
    arguments = [q, u, parameters]
    ours = sg.lambdify(arguments, [matrix, forces])
    plain = sp.lambdify(arguments, [matrix, forces], cse=True)

    def motion(system: Any, state: Any, values: Any) -> Any:
        masses, pushes = system(state[: n + 1], state[n + 1 :], values)
        return np.concatenate([state[n + 1 :], np.linalg.solve(masses, pushes)[:, 0]])

    angles = 0.2 + 0.05 * np.arange(n)
    state = np.concatenate([[0.1], angles, [0.3], 0.1 * np.cos(np.arange(n))])
    values = 1.0 + 0.1 * np.arange(len(parameters)) / len(parameters)
    found = sg.compile(lambda z, p: motion(ours, z, p))(state, values)
    np.testing.assert_allclose(found, motion(plain, state, values), rtol=1e-9, atol=1e-11)
    steps = 1e-30j * np.eye(len(state))
    wanted = np.stack([motion(plain, state + s, values).imag / 1e-30 for s in steps], 1)
    jacobian = sg.jacobian(lambda z, p: motion(ours, z, p))(state, values)
    np.testing.assert_allclose(jacobian, wanted, rtol=1e-8, atol=1e-9 * np.abs(wanted).max())
