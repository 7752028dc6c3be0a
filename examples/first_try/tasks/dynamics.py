"""Differential equations, epidemics, optimal control."""

import numpy as np
from scipy.integrate import odeint, solve_ivp
from task import Task

# ---------------------------------------------------------------- right-hand sides as lists

alpha, beta, delta, gamma = 1.1, 0.4, 0.1, 0.4


def lotka_volterra(t, z):
    x, y = z
    return [alpha * x - beta * x * y, delta * x * y - gamma * y]


def more_prey():
    global alpha
    alpha = 1.5


def robertson(t, y):
    dy = np.zeros(3)
    dy[0] = -0.04 * y[0] + 1e4 * y[1] * y[2]
    dy[2] = 3e7 * y[1] ** 2
    dy[1] = -dy[0] - dy[2]
    return dy


# ---------------------------------------------------------------- epidemic with interventions

population = {"S": 990, "I": 10, "R": 0}
lockdown = [30, 60]
reported = np.array([10, 18, 33, 60, 100, 150, 190, 205, 190, 160, 130, 100])


def simulate(beta, gamma, days=60):
    S, I, R = population["S"], population["I"], population["R"]
    N = S + I + R
    infected = []
    for day in range(days):
        b = beta * 0.3 if lockdown[0] <= day < lockdown[1] else beta
        new = b * S * I / N
        recovered = gamma * I
        S -= new
        I += new - recovered
        R += recovered
        if day % 5 == 0:
            infected.append(I)
    return infected


def epidemic_loss(params):
    model = simulate(*params)
    return np.mean((np.log(model) - np.log(reported)) ** 2)


def earlier_lockdown():
    lockdown[0] = 20


# ---------------------------------------------------------------- parameters of an ODE by SciPy

t_obs = np.linspace(0, 4, 9)
y_obs = np.array([1.0, 0.85, 0.7, 0.62, 0.5, 0.44, 0.36, 0.31, 0.26])


def kinetics_misfit(k):
    def rhs(t, c):
        return [-k[0] * c[0] + k[1] * c[1], k[0] * c[0] - k[1] * c[1]]

    sol = solve_ivp(rhs, (0, 4), [1, 0], t_eval=t_obs, rtol=1e-10, atol=1e-12)
    return np.sum((sol.y[0] - y_obs) ** 2)


def pendulum_angle(length):
    def deriv(state, t, l):
        theta, omega = state
        return omega, -9.81 / l * np.sin(theta)

    states = odeint(deriv, [0.5, 0], np.linspace(0, 1, 11), args=(length,), rtol=1e-10, atol=1e-12)
    return states[-1, 0]


# ---------------------------------------------------------------- direct shooting

target = np.array([1.0, 0.0])


def rk4(f, x, u, h):
    k1 = f(x, u)
    k2 = f([xi + h / 2 * ki for xi, ki in zip(x, k1)], u)
    k3 = f([xi + h / 2 * ki for xi, ki in zip(x, k2)], u)
    k4 = f([xi + h * ki for xi, ki in zip(x, k3)], u)
    return [x[i] + h / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i in range(len(x))]


def cart(x, u):
    return [x[1], u - 0.2 * x[1] * abs(x[1])]


def shooting_cost(controls):
    x = [0, 0]
    h = 0.1
    cost = 0
    for u in controls:
        x = rk4(cart, x, u, h)
        cost += h * u**2
    return cost + 100 * sum((xi - ti) ** 2 for xi, ti in zip(x, target))


def move_target():
    target[0] = 2


# ---------------------------------------------------------------- reaction and diffusion


def gray_scott(F, k, n=16, steps=40):
    u = np.ones((n, n))
    v = np.zeros((n, n))
    u[6:10, 6:10] = 0.5
    v[6:10, 6:10] = 0.25
    lap = lambda a: (
        np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(a, 1, 1) + np.roll(a, -1, 1) - 4 * a
    )
    for _ in range(steps):
        uvv = u * v * v
        u += 0.16 * lap(u) - uvv + F * (1 - u)
        v += 0.08 * lap(v) + uvv - (F + k) * v
    return v.sum()


TASKS = [
    Task(lotka_volterra, lambda: (0, [10, 5]), more_prey, argnums=1),
    Task(robertson, lambda: (0.0, np.array([0.9, 2e-5, 0.1])), argnums=1),
    Task(epidemic_loss, lambda: ([0.3, 0.1],), earlier_lockdown, hessian=True),
    Task(kinetics_misfit, lambda: ([0.5, 0.1],), lambda: y_obs.put(-1, 0.3)),
    Task(pendulum_angle, lambda: (1,), accuracy=2e-9),  # odeint's own error is 1e-9
    Task(shooting_cost, lambda: (np.linspace(1, -1, 20),), move_target),
    Task(gray_scott, lambda: (0.035, 0.065), argnums=(0, 1)),
]
