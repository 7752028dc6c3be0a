"""The ground: infiltration, runoff, travel times, seismic waves."""

from __future__ import annotations

import numpy as np

from .program import Program

# ---------------------------------------------------------------- Richards' equation


def thomas(a, b, c, d):
    """Solve a tridiagonal system."""
    n = len(d)
    cp, dp = np.zeros(n), np.zeros(n)
    cp[0], dp[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * cp[i - 1]
        cp[i] = c[i] / m
        dp[i] = (d[i] - a[i] * dp[i - 1]) / m
    x = np.zeros(n)
    x[-1] = dp[-1]
    for i in range(n - 2, -1, -1):
        x[i] = dp[i] - cp[i] * x[i + 1]
    return x


def richards(soil, rain, steps):
    """Water stored in a column of soil after rain; van Genuchten, implicit, Picard's iteration."""
    alpha, nvg, Ks = soil
    residual, saturated, dz, dt, cells = 0.05, 0.43, 0.05, 0.02, 12
    m = 1 - 1 / nvg

    def content(psi):
        return residual + (saturated - residual) / (1 + (alpha * np.abs(psi)) ** nvg) ** m

    def conductivity(psi):
        s = (content(psi) - residual) / (saturated - residual)
        return Ks * np.sqrt(s) * (1 - (1 - s ** (1 / m)) ** m) ** 2

    def capacity(psi):
        ah = alpha * np.abs(psi)
        return (saturated - residual) * alpha * m * nvg * ah ** (nvg - 1) / (1 + ah**nvg) ** (m + 1)

    psi = np.full(cells, -1.5)
    for _ in range(steps):
        old = content(psi)
        for _ in range(30):
            K, cap = conductivity(psi), capacity(psi)
            between = 0.5 * (K[1:] + K[:-1])
            up = np.concatenate([[0.0], between])
            down = np.concatenate([between, [0.0]])
            lower, upper = -up / dz**2, -down / dz**2
            diagonal = cap / dt + (up + down) / dz**2
            gravity = (up - down) / dz
            right = cap / dt * psi - (content(psi) - old) / dt + gravity
            right[0] += rain / dz
            right[-1] -= K[-1] / dz
            new = thomas(lower, diagonal, upper, right)
            change = np.max(np.abs(new - psi))
            psi = new
            if change < 1e-9:
                break
    return np.sum(content(psi)) * dz


# ---------------------------------------------------------------- GR4J


def hydrograph(x4, order):
    """Ordinates of the unit hydrograph, from the S curve."""

    def s_curve(t):
        if t <= 0:
            return 0.0
        if order == 1:
            return (t / x4) ** 2.5 if t < x4 else 1.0
        if t <= x4:
            return 0.5 * (t / x4) ** 2.5
        return 1 - 0.5 * (2 - t / x4) ** 2.5 if t < 2 * x4 else 1.0

    n = int(np.ceil(order * x4))
    return [s_curve(k + 1) - s_curve(k) for k in range(n)]


def gr4j(x, rain, evaporation, flow):
    """Squared error of the daily flow of a catchment."""
    x1, x2, x3, x4 = x
    uh1, uh2 = hydrograph(x4, 1), hydrograph(x4, 2)
    store1 = np.zeros(len(uh1) + 1)
    store2 = np.zeros(len(uh2) + 1)
    S, R = 0.3 * x1, 0.5 * x3
    loss = 0.0
    for P, E, Q in zip(rain, evaporation, flow):
        if P >= E:
            net = P - E
            ratio = np.tanh(net / x1)
            filled = x1 * (1 - (S / x1) ** 2) * ratio / (1 + S / x1 * ratio)
            S = S + filled
            routed = net - filled
        else:
            ratio = np.tanh((E - P) / x1)
            S = S - S * (2 - S / x1) * ratio / (1 + (1 - S / x1) * ratio)
            routed = 0.0
        percolation = S * (1 - (1 + (4 * S / (9 * x1)) ** 4) ** -0.25)
        S = S - percolation
        routed = routed + percolation
        for k in range(len(uh1)):
            store1[k] = store1[k + 1] + uh1[k] * routed
        for k in range(len(uh2)):
            store2[k] = store2[k + 1] + uh2[k] * routed
        exchange = x2 * (R / x3) ** 3.5
        R = max(0.0, R + 0.9 * store1[0] + exchange)
        outflow = R * (1 - (1 + (R / x3) ** 4) ** -0.25)
        R = R - outflow
        direct = max(0.0, 0.1 * store2[0] + exchange)
        loss += (outflow + direct - Q) ** 2
    return loss


def catchment(n):
    rng = np.random.default_rng(3)
    rain = rng.exponential(4.0, n) * (rng.random(n) < 0.5)
    evaporation = 2 + np.sin(0.1 * np.arange(n))
    return np.array([300.0, 0.5, 60.0, 1.7]), rain, evaporation, 0.3 * rain + 0.5


# ---------------------------------------------------------------- eikonal equation


def eikonal(slowness, h, sweeps):
    """First arrival at a corner, by fast sweeping from the other one."""
    n, m = slowness.shape
    T = np.full((n, m), 1e3)
    T[0, 0] = 0.0
    for _ in range(sweeps):
        for rows in (range(n), range(n - 1, -1, -1)):
            for cols in (range(m), range(m - 1, -1, -1)):
                for i in rows:
                    for j in cols:
                        if i == 0 and j == 0:
                            continue
                        a = min(T[i - 1, j] if i > 0 else 1e3, T[i + 1, j] if i < n - 1 else 1e3)
                        b = min(T[i, j - 1] if j > 0 else 1e3, T[i, j + 1] if j < m - 1 else 1e3)
                        f = slowness[i, j] * h
                        if abs(a - b) >= f:
                            t = min(a, b) + f
                        else:
                            t = 0.5 * (a + b + np.sqrt(2 * f * f - (a - b) ** 2))
                        T[i, j] = min(T[i, j], t)
    return T[-1, -1]


def ground(n):
    y, x = np.mgrid[:n, :n]
    return 1.0 + 0.3 * np.sin(0.5 * x + 0.2) * np.cos(0.3 * y - 0.1) + 0.013 * x, 0.1, 1


# ---------------------------------------------------------------- full-waveform inversion


def waveform_inversion(velocity, wavelet, observed, dt):
    """Misfit of a seismogram, by the velocities underground."""
    dx = 10.0
    p = np.zeros(velocity.shape)
    before = np.zeros(velocity.shape)
    c2 = (velocity * dt / dx) ** 2
    misfit = 0.0
    for t in range(len(wavelet)):
        laplacian = np.zeros(p.shape)
        laplacian[1:-1, 1:-1] = (
            p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]
        )
        after = 2 * p - before + c2 * laplacian
        after[2, 10] += dt**2 * wavelet[t] * 1e4
        before, p = p, after
        misfit += 0.5 * np.sum((p[1, 3:18:2] - observed[t]) ** 2)
    return misfit


def survey(n):
    y, _ = np.mgrid[:20, :20]
    t = (np.arange(n) - 12) * 0.25
    wavelet = (1 - 2 * t**2) * np.exp(-(t**2))
    velocity = 1500.0 + 40.0 * y
    return velocity, wavelet, 0.01 * np.sin(np.arange(n))[:, None] * np.ones(8), 2e-3


PROGRAMS = [
    Program("soil physics", richards, lambda n: (np.array([1.5, 2.0, 0.5]), 0.1, n),
            (1, 10, 15), step=1e-3),
    Program("hydrology", gr4j, catchment, (10, 200, 300), step=1e-3),
    Program("seismic tomography", eikonal, ground, (3, 10, 12), step=1e-4),
    Program("exploration geophysics", waveform_inversion, survey, (20, 100, 140)),
]  # fmt: skip
