"""Options, curves, portfolios."""

import math
from functools import partial
from math import erf, exp, log, sqrt

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.optimize import brentq
from scipy.stats import norm
from task import Task

# ---------------------------------------------------------------- Black and Scholes


def black_scholes(S, K, T, r, sigma, option="call"):
    d1 = (log(S / K) + (r + sigma**2 / 2) * T) / (sigma * sqrt(T))
    d2 = d1 - sigma * sqrt(T)
    Phi = lambda x: (1 + erf(x / sqrt(2))) / 2
    if option == "call":
        return S * Phi(d1) - K * exp(-r * T) * Phi(d2)
    elif option == "put":
        return K * exp(-r * T) * Phi(-d2) - S * Phi(-d1)
    raise ValueError(option)


def book_value(spots, book):
    value = 0
    for position in book:
        d1 = (
            np.log(spots[position["asset"]] / position["K"]) + 0.5 * position["vol"] ** 2
        ) / position["vol"]
        d2 = d1 - position["vol"]
        value += position["n"] * (
            spots[position["asset"]] * norm.cdf(d1) - position["K"] * norm.cdf(d2)
        )
    return value


book = [
    {"asset": "AAA", "K": 100, "vol": 0.2, "n": 10},
    {"asset": "BBB", "K": 50, "vol": 0.3, "n": -4},
]


def trade():
    book.append({"asset": "AAA", "K": 110, "vol": 0.25, "n": 5})


# ---------------------------------------------------------------- American put on a tree


def american_put(S0, K=100, T=1, r=0.05, sigma=0.2, N=25):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    V = [max(K - S0 * u**j * d ** (N - j), 0) for j in range(N + 1)]
    for i in range(N - 1, -1, -1):
        for j in range(i + 1):
            hold = np.exp(-r * dt) * (p * V[j + 1] + (1 - p) * V[j])
            V[j] = max(hold, K - S0 * u**j * d ** (i - j))
    return V[0]


# ---------------------------------------------------------------- curve from swap rates

maturities = [1, 2, 3, 5, 7, 10]


def bootstrap(rates):
    """Discount factors each year, rates between the given maturities interpolated."""
    years = np.arange(1, 11)
    par = np.interp(years, maturities, rates)
    discount = []
    for i, c in enumerate(par):
        discount.append((1 - c * sum(discount)) / (1 + c))
    return np.array(discount)


def other_quotes():
    maturities[3] = 6


def forward_rate(zero_rates):
    curve = CubicSpline([0.5, 1, 2, 5, 10], zero_rates)
    t = np.linspace(1, 9, 17)
    return np.mean(curve(t) + t * curve(t, 1))


# ---------------------------------------------------------------- Monte Carlo with given normals

rng = np.random.default_rng(11)
Z = rng.standard_normal((200, 12))
market = {"S0": 100.0, "r": 0.02}


def asian_call(sigma, strike=100):
    dt = 1 / Z.shape[1]
    S = market["S0"]
    running = 0
    for k in range(Z.shape[1]):
        S = S * np.exp((market["r"] - sigma**2 / 2) * dt + sigma * np.sqrt(dt) * Z[:, k])
        running += S
    payoff = np.maximum(running / Z.shape[1] - strike, 0)
    return math.exp(-market["r"]) * payoff.mean()


def spot_moves():
    market["S0"] = 104.0


# ---------------------------------------------------------------- Heston by its characteristic function


def heston_call(params, S=100.0, K=105.0, T=0.5, r=0.01):
    v0, kappa, theta, xi, rho = params
    u = np.linspace(1e-4, 80, 400)

    def cf(u):
        d = np.sqrt((rho * xi * u * 1j - kappa) ** 2 + xi**2 * (1j * u + u**2))
        g = (kappa - rho * xi * 1j * u - d) / (kappa - rho * xi * 1j * u + d)
        C = r * 1j * u * T + kappa * theta / xi**2 * (
            (kappa - rho * xi * 1j * u - d) * T - 2 * np.log((1 - g * np.exp(-d * T)) / (1 - g))
        )
        D = (
            (kappa - rho * xi * 1j * u - d)
            / xi**2
            * (1 - np.exp(-d * T))
            / (1 - g * np.exp(-d * T))
        )
        return np.exp(C + D * v0 + 1j * u * np.log(S))

    k = np.log(K)
    P1 = 0.5 + np.trapezoid((np.exp(-1j * u * k) * cf(u - 1j) / (1j * u * cf(-1j))).real, u) / np.pi
    P2 = 0.5 + np.trapezoid((np.exp(-1j * u * k) * cf(u) / (1j * u)).real, u) / np.pi
    return S * P1 - K * np.exp(-r * T) * P2


# ---------------------------------------------------------------- yield of a bond


def yield_to_maturity(price, coupon=5, years=8):
    def npv(y):
        return (
            sum(coupon / (1 + y) ** t for t in range(1, years + 1)) + 100 / (1 + y) ** years - price
        )

    return brentq(npv, -0.5, 1, xtol=1e-14)


# ---------------------------------------------------------------- risk parity

covariance = np.cov(rng.normal(size=(4, 60)) * [[0.1], [0.2], [0.15], [0.3]])


def risk_parity(w):
    w = np.asarray(w)
    sigma = np.sqrt(w @ covariance @ w)
    contribution = w * (covariance @ w) / sigma
    return ((contribution[:, np.newaxis] - contribution) ** 2).sum()


def covariance_shock():
    covariance[0, 0] *= 3


TASKS = [
    Task(black_scholes, lambda: (100, 95, 0.5, 0.03, 0.2), argnums=(0, 2, 3, 4), hessian=True),
    Task(
        partial(black_scholes, K=110, option="put"),
        lambda: (100,),
        keywords={"T": 1, "r": 0.05, "sigma": 0.3},
        name="black_scholes_put",
    ),
    Task(book_value, lambda: ({"AAA": 101.0, "BBB": 48.5}, book), trade),
    Task(american_put, lambda: (95.0,)),
    Task(bootstrap, lambda: ([0.02, 0.022, 0.024, 0.027, 0.029, 0.03],), other_quotes),
    Task(forward_rate, lambda: ([0.01, 0.012, 0.015, 0.02, 0.022],)),
    Task(asian_call, lambda: (0.3,), spot_moves),
    Task(heston_call, lambda: ([0.04, 1.5, 0.05, 0.4, -0.6],)),
    Task(yield_to_maturity, lambda: (103,)),
    Task(risk_parity, lambda: ([0.25] * 4,), covariance_shock),
]
