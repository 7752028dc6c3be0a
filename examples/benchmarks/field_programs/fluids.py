"""Flows: shallow water, lattice Boltzmann, vortex panels, an energy balance of the Earth."""

from __future__ import annotations

from math import atan2, cos, log, pi, sin, sqrt

import numpy as np

from .program import Program

# ---------------------------------------------------------------- shallow water, data assimilation


def ddx(a, dx):
    return (np.roll(a, -1, axis=1) - np.roll(a, 1, axis=1)) / (2 * dx)


def ddy(a, dx):
    return (np.roll(a, -1, axis=0) - np.roll(a, 1, axis=0)) / (2 * dx)


def shallow_water(height, gauge, coriolis, steps):
    """Misfit of a gauge's record, by the wave's initial height."""
    depth, gravity, dt, dx, viscosity = 1.0, 9.81, 0.01, 0.2, 0.01
    h = height
    u = np.zeros_like(h)
    v = np.zeros_like(h)
    misfit = 0.0
    for k in range(steps):
        un = u - dt * (u * ddx(u, dx) + v * ddy(u, dx) + gravity * ddx(h, dx) - coriolis * v)
        vn = v - dt * (u * ddx(v, dx) + v * ddy(v, dx) + gravity * ddy(h, dx) + coriolis * u)
        u = un + dt * viscosity * (ddx(ddx(un, dx), dx) + ddy(ddy(un, dx), dx))
        v = vn + dt * viscosity * (ddx(ddx(vn, dx), dx) + ddy(ddy(vn, dx), dx))
        h = h - dt * (ddx((depth + h) * u, dx) + ddy((depth + h) * v, dx))
        misfit += (h[5, 6] - gauge[k]) ** 2
    return misfit


def sea(n):
    y, x = np.mgrid[:16, :16]
    height = 0.1 * np.exp(-((x - 7.0) ** 2 + (y - 8.0) ** 2) / 9.0)
    return height, 0.05 * np.sin(0.1 * np.arange(n)), 0.5, n


# ---------------------------------------------------------------- lattice Boltzmann

CXS = np.array([0, 0, 1, 1, 1, 0, -1, -1, -1])
CYS = np.array([0, 1, 1, 0, -1, -1, -1, 0, 1])
WEIGHTS = np.array([4 / 9, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36, 1 / 9, 1 / 36])


def lattice_boltzmann(tau, inflow, cylinder, steps):
    """Vorticity behind a cylinder after some steps."""
    Ny, Nx = cylinder.shape
    F = np.ones((Ny, Nx, 9)) + 0.01 * np.sin(np.arange(9))
    F[:, :, 3] += inflow * (1 + 0.2 * np.cos(2 * np.pi * np.arange(Nx) / Nx * 4))
    rho = np.sum(F, 2)
    for i in range(9):
        F[:, :, i] *= 10 / rho
    for _ in range(steps):
        for i, cx, cy in zip(range(9), CXS, CYS):
            F[:, :, i] = np.roll(F[:, :, i], cx, axis=1)
            F[:, :, i] = np.roll(F[:, :, i], cy, axis=0)
        bounced = F[cylinder, :]
        bounced = bounced[:, [0, 5, 6, 7, 8, 1, 2, 3, 4]]
        rho = np.sum(F, 2)
        ux = np.sum(F * CXS, 2) / rho
        uy = np.sum(F * CYS, 2) / rho
        Feq = np.zeros(F.shape)
        for i, cx, cy, w in zip(range(9), CXS, CYS, WEIGHTS):
            along = cx * ux + cy * uy
            Feq[:, :, i] = rho * w * (1 + 3 * along + 9 * along**2 / 2 - 3 * (ux**2 + uy**2) / 2)
        F = F - (1.0 / tau) * (F - Feq)
        F[cylinder, :] = bounced
        ux[cylinder] = 0
        uy[cylinder] = 0
    vorticity = np.roll(ux, -1, axis=0) - np.roll(ux, 1, axis=0)
    vorticity = vorticity - (np.roll(uy, -1, axis=1) - np.roll(uy, 1, axis=1))
    return np.sum(vorticity**2)


def channel(n):
    y, x = np.mgrid[:12, :30]
    return 0.8, 2.0, (x - 7) ** 2 + (y - 6) ** 2 < 6, n


# ---------------------------------------------------------------- vortex panels


def panel_method(shape, alpha, panels):
    """Lift of a four-digit NACA profile by vortex panels of linear strength (Kuethe and Chow)."""
    m, p, t = shape
    xs, ys = [], []
    for k in range(panels + 1):
        angle = 2 * pi * k / panels
        x = 0.5 * (1 + cos(angle))
        half = (
            5 * t * (0.2969 * sqrt(x) - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
        )
        if x < p:
            camber = m / p**2 * (2 * p * x - x**2)
        else:
            camber = m / (1 - p) ** 2 * (1 - 2 * p + 2 * p * x - x**2)
        xs.append(x)
        ys.append(camber - half if k < panels / 2 else camber + half)
    X, Y, S, TH = [], [], [], []
    for i in range(panels):
        X.append(0.5 * (xs[i] + xs[i + 1]))
        Y.append(0.5 * (ys[i] + ys[i + 1]))
        S.append(sqrt((xs[i + 1] - xs[i]) ** 2 + (ys[i + 1] - ys[i]) ** 2))
        TH.append(atan2(ys[i + 1] - ys[i], xs[i + 1] - xs[i]))
    A = np.zeros((panels + 1, panels + 1))
    rhs = np.zeros(panels + 1)
    T = np.zeros((panels, panels + 1))
    for i in range(panels):
        for j in range(panels):
            if i == j:
                n1, n2, t1, t2 = -1.0, 1.0, 0.5 * pi, 0.5 * pi
            else:
                a = -(X[i] - xs[j]) * cos(TH[j]) - (Y[i] - ys[j]) * sin(TH[j])
                b = (X[i] - xs[j]) ** 2 + (Y[i] - ys[j]) ** 2
                c, d = sin(TH[i] - TH[j]), cos(TH[i] - TH[j])
                e = (X[i] - xs[j]) * sin(TH[j]) - (Y[i] - ys[j]) * cos(TH[j])
                f = log(1 + S[j] * (S[j] + 2 * a) / b)
                g = atan2(e * S[j], b + a * S[j])
                w = TH[i] - 2 * TH[j]
                p1 = (X[i] - xs[j]) * sin(w) + (Y[i] - ys[j]) * cos(w)
                q = (X[i] - xs[j]) * cos(w) - (Y[i] - ys[j]) * sin(w)
                n2 = d + 0.5 * q * f / S[j] - (a * c + d * e) * g / S[j]
                n1 = 0.5 * d * f + c * g - n2
                t2 = c + 0.5 * p1 * f / S[j] + (a * d - c * e) * g / S[j]
                t1 = 0.5 * c * f - d * g - t2
            A[i, j] += n1
            A[i, j + 1] += n2
            T[i, j] += t1
            T[i, j + 1] += t2
        rhs[i] = sin(TH[i] - alpha)
    A[panels, 0] = A[panels, panels] = 1.0
    gamma = np.linalg.solve(A, rhs)
    lift = 0.0
    for i in range(panels):
        velocity = cos(TH[i] - alpha)
        for j in range(panels + 1):
            velocity += T[i, j] * gamma[j]
        pressure = 1 - velocity**2
        lift -= pressure * S[i] * cos(TH[i] - alpha)
    return lift


# ---------------------------------------------------------------- climate


def energy_balance(parameters, emissivity, years):
    """Mean temperature of a planet whose ice reflects (Budyko and Sellers), after some years."""
    heat, ice, water = parameters
    lat = np.linspace(-0.95, 0.95, 20)
    sun = 340.0 * (1 - 0.48 * (3 * lat**2 - 1) / 2)
    T = 288.0 - 40.0 * lat**2
    for _ in range(years):
        albedo = np.where(
            T < 263.0, ice, np.where(T > 283.0, water, water + (ice - water) * (283.0 - T) / 20.0)
        )
        flux = np.zeros(21)
        flux[1:-1] = (1 - 0.25 * (lat[1:] + lat[:-1]) ** 2) * (T[1:] - T[:-1])
        T = T + 0.02 * (
            sun * (1 - albedo) - emissivity * 5.67e-8 * T**4 + heat * (flux[1:] - flux[:-1])
        )
    return np.mean(T)


PROGRAMS = [
    Program("oceanography", shallow_water, sea, (6, 60, 80),
            lambda a: (*a[:2], a[2] * 1.1, a[3])),
    Program("computational fluid dynamics", lattice_boltzmann, channel, (2, 20, 30),
            argnums=(0, 1)),
    Program("aerodynamics", panel_method, lambda n: (np.array([0.02, 0.4, 0.12]), 0.07, n),
            (8, 24, 30), lambda a: (a[0], 0.09, a[2]), step=1e-3),
    Program("climate", energy_balance, lambda n: (np.array([3.0, 0.6, 0.3]), 0.61, n),
            (5, 200, 300), step=1e-3),
]  # fmt: skip
