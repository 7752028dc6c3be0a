"""Money: notes that are called, early exercise, a curve of rates, volatilities."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- autocallable


def autocallable(market, Z, coupon):
    """Value of a note that is redeemed at the first date at which the spot is above par."""
    S0, r, sigma = market
    dates = Z.shape[1]
    dt = 0.5
    S = S0 * np.ones(Z.shape[0])
    alive = np.ones(Z.shape[0], dtype=bool)
    value = np.zeros(Z.shape[0])
    for k in range(dates):
        S = S * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * Z[:, k])
        called = alive & (S >= 100.0)
        value[called] = (100.0 + coupon * (k + 1) * S[called] / S0) * np.exp(-r * dt * (k + 1))
        alive = alive & ~called
    end = np.where(S < 70.0, S, 100.0)
    value[alive] = end[alive] * np.exp(-r * dt * dates)
    return np.mean(value)


def market(n):
    return np.array([99.0, 0.03, 0.25]), np.random.default_rng(1).standard_normal((500, n)), 4.0


# ---------------------------------------------------------------- Longstaff and Schwartz


def longstaff_schwartz(market, Z, strike):
    """An American put by regression on the paths that are in the money."""
    S0, r, sigma = market
    steps = Z.shape[1]
    dt = 1.0 / steps
    S = [S0 * np.ones(Z.shape[0])]
    for k in range(steps):
        S.append(S[-1] * np.exp((r - 0.5 * sigma**2) * dt + sigma * np.sqrt(dt) * Z[:, k]))
    cash = np.maximum(strike - S[-1], 0)
    for t in range(steps - 1, 0, -1):
        cash = cash * np.exp(-r * dt)
        itm = S[t] < strike
        fit = np.polyfit(S[t][itm], cash[itm], 2)
        hold = np.polyval(fit, S[t][itm])
        exercise = strike - S[t][itm]
        cash[itm] = np.where(exercise > hold, exercise, cash[itm])
    return np.mean(cash) * np.exp(-r * dt)


def paths(n):
    return np.array([36.0, 0.06, 0.2]), np.random.default_rng(4).standard_normal((400, n)), 40.0


# ---------------------------------------------------------------- rates


def rates_curve(quotes, maturities):
    """Value of a swap after a bootstrap whose zero rates are found by Newton's iteration."""
    times, zeros = [0.0], [quotes[0]]
    for k, T in enumerate(maturities):
        z = zeros[-1]
        for _ in range(30):
            known, annuity, slope = np.array([*zeros, z]), 0.0, 0.0
            at = np.array([*times, T])
            for year in range(1, int(T) + 1):
                rate = np.interp(year, at, known)
                discount = np.exp(-rate * year)
                annuity += discount
                slope -= year * discount * (1.0 if year > times[-1] else 0.0)
            last = np.exp(-z * T)
            f = quotes[k] * annuity + last - 1
            step = f / (quotes[k] * slope - T * last)
            z = z - step
            if abs(step) < 1e-13:
                break
        times.append(float(T))
        zeros.append(z)
    discounts = np.exp(-np.array(zeros) * np.array(times))
    return discounts[-1] + 0.03 * np.sum(np.interp(np.arange(1, times[-1] + 1), times, discounts))


def quotes(n):
    maturities = [1, 2, 3, 5, 7, 10, 12, 15][:n]
    return 0.02 + 0.0015 * np.arange(float(n)), maturities


PROGRAMS = [
    Program("structured products", autocallable, market, (2, 12, 16), step=1e-6, tolerance=1e-5),
    Program("option pricing", longstaff_schwartz, paths, (3, 20, 25), step=1e-6, tolerance=1e-5),
    Program("interest rates", rates_curve, quotes, (2, 6, 8), step=1e-2, tolerance=1e-5),
]  # fmt: skip
