"""The same functions in JAX's idiom: ``scan`` for loops, arrays for sums, ``vmap`` for equal parts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from . import control, fluids, optics, quantum


class frozen(tuple):  # noqa: N801  a tuple that may hold lists
    """Lists as tuples, which JAX can hash, so that they can be static."""

    __slots__ = ()

    def __new__(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return tuple(frozen(v) for v in value)
        return value


# ---------------------------------------------------------------- control


def direct_collocation(z, horizon):
    N = (len(z) - 2) // 9
    h = horizon / N
    parts = z[:-2].reshape(N, 9)
    X, u = parts[:, :8].reshape(N, 4, 2), parts[:, 8]
    ends = jnp.concatenate([X[1:, 0], z[None, -2:]])
    xp = jnp.einsum("rj,krs->kjs", control.C[:, 1:], X)
    f = jnp.stack([X[:, 1:, 1], u[:, None] - jnp.sin(X[:, 1:, 0]) - 0.2 * X[:, 1:, 1]], axis=-1)
    defects = (h * f - xp).reshape(N, 6)
    gaps = ends - jnp.einsum("r,krs->ks", control.D, X)
    return jnp.concatenate([defects, gaps], axis=1).ravel()


def multiple_shooting(z, drag):
    N = len(z) // 5 - 1
    h = 1.0 / N
    parts = z.reshape(N + 1, 5)

    def rhs(x, u):
        return jnp.array([x[1], u[0] - drag * x[1] - 0.1 * jnp.sin(x[0]), x[0] * u[1]])

    def gap(this, following):
        x, u = this[:3], this[3:]
        k1 = rhs(x, u)
        k2 = rhs(x + h / 2 * k1, u)
        k3 = rhs(x + h / 2 * k2, u)
        k4 = rhs(x + h * k3, u)
        return following[:3] - (x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))

    return jax.vmap(gap)(parts[:-1], parts[1:]).ravel()


def shooting_merit(z, drag):
    gaps = multiple_shooting(z, drag)
    return 10 * jnp.sum(gaps**2) + 0.01 * jnp.sum(z.reshape(-1, 5)[:, 3:] ** 2)


def riccati_regulator(weights, x0, dt, steps):
    A = jnp.eye(4)
    A = A.at[0, 2].set(dt).at[1, 3].set(dt)
    A = A.at[2, :2].set(dt * jnp.array([-2.0, 1.0])).at[3, :2].set(dt * jnp.array([1.0, -2.0]))
    B = jnp.zeros((4, 1)).at[2, 0].set(dt)
    Q, R = jnp.diag(weights[:4]), weights[4].reshape(1, 1)

    def step(P, _):
        K = jnp.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        return Q + A.T @ P @ (A - B @ K), None

    P, _ = lax.scan(step, Q, None, length=steps)
    return x0 @ P @ x0


# ---------------------------------------------------------------- flows


def shallow_water(height, gauge, coriolis, steps):
    depth, gravity, dt, dx, viscosity = 1.0, 9.81, 0.01, 0.2, 0.01

    def ddx(a):
        return (jnp.roll(a, -1, axis=1) - jnp.roll(a, 1, axis=1)) / (2 * dx)

    def ddy(a):
        return (jnp.roll(a, -1, axis=0) - jnp.roll(a, 1, axis=0)) / (2 * dx)

    def step(state, observed):
        h, u, v = state
        un = u - dt * (u * ddx(u) + v * ddy(u) + gravity * ddx(h) - coriolis * v)
        vn = v - dt * (u * ddx(v) + v * ddy(v) + gravity * ddy(h) + coriolis * u)
        u = un + dt * viscosity * (ddx(ddx(un)) + ddy(ddy(un)))
        v = vn + dt * viscosity * (ddx(ddx(vn)) + ddy(ddy(vn)))
        h = h - dt * (ddx((depth + h) * u) + ddy((depth + h) * v))
        return (h, u, v), (h[5, 6] - observed) ** 2

    zero = jnp.zeros_like(height)
    return jnp.sum(lax.scan(step, (height, zero, zero), gauge)[1])


def lattice_boltzmann(tau, inflow, cylinder, steps):
    Ny, Nx = cylinder.shape
    F = jnp.ones((Ny, Nx, 9)) + 0.01 * jnp.sin(jnp.arange(9))
    F = F.at[:, :, 3].add(inflow * (1 + 0.2 * jnp.cos(2 * jnp.pi * jnp.arange(Nx) / Nx * 4)))
    F = F * (10 / jnp.sum(F, 2)[:, :, None])
    wall = jnp.asarray(cylinder)[:, :, None]
    back = np.array([0, 5, 6, 7, 8, 1, 2, 3, 4])

    def step(F, _):
        F = jnp.stack([jnp.roll(F[:, :, i], (cx, cy), axis=(1, 0))
                       for i, (cx, cy) in enumerate(zip(fluids.CXS, fluids.CYS))], axis=2)  # fmt: skip
        bounced = F[:, :, back]
        rho = jnp.sum(F, 2)
        ux = jnp.sum(F * fluids.CXS, 2) / rho
        uy = jnp.sum(F * fluids.CYS, 2) / rho
        along = fluids.CXS * ux[..., None] + fluids.CYS * uy[..., None]
        square = (ux**2 + uy**2)[..., None]
        Feq = rho[..., None] * fluids.WEIGHTS * (1 + 3 * along + 9 * along**2 / 2 - 3 * square / 2)
        relaxed = F - (1.0 / tau) * (F - Feq)
        return jnp.where(wall, bounced, relaxed), (ux, uy)

    F, (ux, uy) = lax.scan(step, F, None, length=steps)
    ux, uy = jnp.where(cylinder, 0, ux[-1]), jnp.where(cylinder, 0, uy[-1])
    vorticity = jnp.roll(ux, -1, axis=0) - jnp.roll(ux, 1, axis=0)
    vorticity = vorticity - (jnp.roll(uy, -1, axis=1) - jnp.roll(uy, 1, axis=1))
    return jnp.sum(vorticity**2)


def panel_method(shape, alpha, panels):
    m, p, t = shape
    k = jnp.arange(panels + 1)
    x = 0.5 * (1 + jnp.cos(2 * jnp.pi * k / panels))
    root = jnp.sqrt(jnp.where(x > 0, x, 1.0)) * (x > 0)
    half = 5 * t * (0.2969 * root - 0.126 * x - 0.3516 * x**2 + 0.2843 * x**3 - 0.1036 * x**4)
    camber = jnp.where(x < p, m / p**2 * (2 * p * x - x**2),
                       m / (1 - p) ** 2 * (1 - 2 * p + 2 * p * x - x**2))  # fmt: skip
    y = jnp.where(k < panels / 2, camber - half, camber + half)
    X, Y = 0.5 * (x[1:] + x[:-1])[:, None], 0.5 * (y[1:] + y[:-1])[:, None]
    xj, yj = x[None, :-1], y[None, :-1]
    S, TH = jnp.hypot(jnp.diff(x), jnp.diff(y)), jnp.arctan2(jnp.diff(y), jnp.diff(x))
    ti, tj = TH[:, None], TH[None, :]
    diagonal = np.eye(panels, dtype=bool)
    a = -(X - xj) * jnp.cos(tj) - (Y - yj) * jnp.sin(tj)
    b = (X - xj) ** 2 + (Y - yj) ** 2
    c, d = jnp.sin(ti - tj), jnp.cos(ti - tj)
    e = (X - xj) * jnp.sin(tj) - (Y - yj) * jnp.cos(tj)
    f = jnp.log(jnp.where(diagonal, 1.0, 1 + S * (S + 2 * a) / b))
    g = jnp.arctan2(jnp.where(diagonal, 0.0, e * S), jnp.where(diagonal, 1.0, b + a * S))
    w = ti - 2 * tj
    p1 = (X - xj) * jnp.sin(w) + (Y - yj) * jnp.cos(w)
    q = (X - xj) * jnp.cos(w) - (Y - yj) * jnp.sin(w)
    n2 = d + 0.5 * q * f / S - (a * c + d * e) * g / S
    n1 = 0.5 * d * f + c * g - n2
    t2 = c + 0.5 * p1 * f / S + (a * d - c * e) * g / S
    t1 = 0.5 * c * f - d * g - t2
    n1, n2 = jnp.where(diagonal, -1.0, n1), jnp.where(diagonal, 1.0, n2)
    t1, t2 = jnp.where(diagonal, 0.5 * jnp.pi, t1), jnp.where(diagonal, 0.5 * jnp.pi, t2)
    A = jnp.zeros((panels + 1, panels + 1)).at[:-1, :-1].add(n1).at[:-1, 1:].add(n2)
    A = A.at[panels, 0].set(1.0).at[panels, panels].set(1.0)
    rhs = jnp.append(jnp.sin(TH - alpha), 0.0)
    T = jnp.zeros((panels, panels + 1)).at[:, :-1].add(t1).at[:, 1:].add(t2)
    velocity = jnp.cos(TH - alpha) + T @ jnp.linalg.solve(A, rhs)
    return -jnp.sum((1 - velocity**2) * S * jnp.cos(TH - alpha))


# ---------------------------------------------------------------- the ground


def richards(soil, rain, steps):
    alpha, nvg, Ks = soil
    residual, saturated, dz, dt, cells = 0.05, 0.43, 0.05, 0.02, 12
    m = 1 - 1 / nvg

    def content(psi):
        return residual + (saturated - residual) / (1 + (alpha * jnp.abs(psi)) ** nvg) ** m

    def step(psi, _):
        old = content(psi)

        def picard(psi, _):
            s = (content(psi) - residual) / (saturated - residual)
            K = Ks * jnp.sqrt(s) * (1 - (1 - s ** (1 / m)) ** m) ** 2
            ah = alpha * jnp.abs(psi)
            cap = (
                (saturated - residual)
                * alpha
                * m
                * nvg
                * ah ** (nvg - 1)
                / (1 + ah**nvg) ** (m + 1)
            )
            between = 0.5 * (K[1:] + K[:-1])
            up = jnp.concatenate([jnp.zeros(1), between])
            down = jnp.concatenate([between, jnp.zeros(1)])
            right = cap / dt * psi - (content(psi) - old) / dt + (up - down) / dz
            right = right.at[0].add(rain / dz).at[-1].add(-K[-1] / dz)
            diagonal = cap / dt + (up + down) / dz**2
            matrix = (
                jnp.diag(diagonal) - jnp.diag(between / dz**2, 1) - jnp.diag(between / dz**2, -1)
            )
            return jnp.linalg.solve(matrix, right), None

        # Reverse mode needs a length that is known; of a while loop there is none in JAX.
        return lax.scan(picard, psi, None, length=30)[0], None

    psi, _ = lax.scan(step, jnp.full(cells, -1.5), None, length=steps)
    return jnp.sum(content(psi)) * dz


def waveform_inversion(velocity, wavelet, observed, dt):
    dx = 10.0
    c2 = (velocity * dt / dx) ** 2

    def step(state, given):
        p, before = state
        source, seen = given
        inside = p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * p[1:-1, 1:-1]
        after = 2 * p - before + c2 * jnp.pad(inside, 1)
        after = after.at[2, 10].add(dt**2 * source * 1e4)
        return (after, p), 0.5 * jnp.sum((after[1, 3:18:2] - seen) ** 2)

    zero = jnp.zeros(velocity.shape)
    return jnp.sum(lax.scan(step, (zero, zero), (wavelet, observed))[1])


# ---------------------------------------------------------------- light


def lens_triplet(curvatures, aperture, rings):
    r = aperture * jnp.repeat(jnp.arange(1, rings + 1), 6) / rings
    phi = jnp.tile(jnp.pi * jnp.arange(6) / 3, rings)
    fields = jnp.array([0.0, 0.12, 0.2])

    def ray(x, y, field):
        z, k, l, m = 0.0, 0.0, jnp.sin(field), jnp.cos(field)
        for s in range(6):
            c = curvatures[s]
            t = -z / m
            x, y, z = x + t * k, y + t * l, 0.0
            f = c * (x * x + y * y)
            g = m - c * (x * k + y * l)
            cosine = jnp.sqrt(g * g - c * f)
            t = f / (g + cosine)
            x, y, z = x + t * k, y + t * l, z + t * m
            mu = optics.INDICES[s] / optics.INDICES[s + 1]
            q = jnp.sqrt(1 - mu * mu * (1 - cosine * cosine)) - mu * cosine
            k, l, m = mu * k - q * c * x, mu * l - q * c * y, mu * m + q * (1 - c * z)
            z = z - optics.GAPS[s]
        t = -z / m
        return x + t * k, y + t * l

    def merit(field):
        x, y = jax.vmap(ray, (0, 0, None))(r * jnp.cos(phi), r * jnp.sin(phi) - 4 * field, field)
        return jnp.mean((x - x.mean()) ** 2 + (y - y.mean()) ** 2)

    return jnp.sum(jax.vmap(merit)(fields))


# ---------------------------------------------------------------- quanta


def hartree_fock(distance, zetas, charges, gaussians):
    Z = jnp.array(charges)
    places = jnp.stack([jnp.zeros(()), distance])
    a0, c0 = jnp.array(quantum.CONTRACTIONS[gaussians]).T
    zeta = jnp.stack(zetas)
    a = (a0 * zeta[:, None] ** 2).ravel()
    c = (c0 * (2 * a.reshape(2, -1) / jnp.pi) ** 0.75).ravel()
    R = jnp.repeat(places, gaussians)
    owner = np.repeat(np.eye(2), gaussians, axis=1)

    def boys(t):
        small = t < 1e-8
        t1 = jnp.where(small, 1.0, t)
        return jnp.where(
            small, 1 - t / 3, 0.5 * jnp.sqrt(jnp.pi / t1) * jax.scipy.special.erf(jnp.sqrt(t1))
        )

    p, R2 = a[:, None] + a, (R[:, None] - R) ** 2
    ab, P = a[:, None] * a / p, (a[:, None] * R[:, None] + a * R) / p
    overlap = c[:, None] * c * (jnp.pi / p) ** 1.5 * jnp.exp(-ab * R2)
    attraction = -2 * jnp.sqrt(p / jnp.pi)[..., None] * Z * overlap[..., None]
    attraction = jnp.sum(attraction * boys(p[..., None] * (P[..., None] - places) ** 2), -1)
    S = owner @ overlap @ owner.T
    H = owner @ (ab * (3 - 2 * ab * R2) * overlap + attraction) @ owner.T
    K, cc = jnp.exp(-ab * R2), c[:, None] * c
    pp, qq = p[:, :, None, None], p[None, None]
    repulsion = (cc * K)[:, :, None, None] * (cc * K)[None, None] * 2 * jnp.pi**2.5
    repulsion = repulsion / (pp * qq * jnp.sqrt(pp + qq))
    repulsion = repulsion * boys(pp * qq / (pp + qq) * (P[:, :, None, None] - P[None, None]) ** 2)
    G = jnp.einsum("ia,jb,kc,ld,abcd->ijkl", owner, owner, owner, owner, repulsion)
    s, U = jnp.linalg.eigh(S)
    X = U @ jnp.diag(s**-0.5) @ U.T

    def step(state, _):
        D, _ = state
        F = H + jnp.einsum("kl,ijkl->ij", D, G) - 0.5 * jnp.einsum("kl,ilkj->ij", D, G)
        energy = 0.5 * jnp.sum(D * (H + F))
        first = (X @ jnp.linalg.eigh(X.T @ F @ X)[1])[:, 0]
        return (2 * jnp.outer(first, first), energy), None

    (_, energy), _ = lax.scan(step, (jnp.zeros((2, 2)), 0.0), None, length=40)
    return energy + charges[0] * charges[1] / distance


def grape(pulses, coupling, dt):
    kron = np.kron
    controls = jnp.array([kron(quantum.SX, quantum.ID), kron(quantum.SY, quantum.ID),
                          kron(quantum.ID, quantum.SX), kron(quantum.ID, quantum.SY)])  # fmt: skip

    def step(U, row):
        H = coupling * kron(quantum.SZ, quantum.SZ) + jnp.tensordot(row, controls, 1)
        return jax.scipy.linalg.expm(-1j * dt * H) @ U, None

    U, _ = lax.scan(step, jnp.eye(4, dtype=complex), pulses)
    return 1 - jnp.abs(jnp.trace(quantum.CNOT.conj().T @ U) / 4) ** 2


# ---------------------------------------------------------------- statistics


def glmm_laplace(theta, X, y, group):
    beta, sigma = theta[:-1], jnp.exp(theta[-1])
    groups = group.shape[0] // 5  # five observations each, in order
    eta, yg = (X @ beta).reshape(groups, 5), y.reshape(groups, 5)

    def newton(b, _):
        p = jax.nn.sigmoid(eta + b[:, None])
        gradient = jnp.sum(yg - p, 1) - b / sigma**2
        return b + gradient / (jnp.sum(p * (1 - p), 1) + 1 / sigma**2), None

    b, _ = lax.scan(newton, jnp.zeros(groups), None, length=12)
    z = eta + b[:, None]
    p = jax.nn.sigmoid(z)
    curvature = jnp.sum(p * (1 - p), 1) + 1 / sigma**2
    loglik = jnp.sum(yg * z - jnp.logaddexp(0, z), 1) - 0.5 * b**2 / sigma**2
    return -jnp.sum(loglik - jnp.log(sigma) - 0.5 * jnp.log(curvature))


def repeated_dosing(theta, times, concentrations, dose):
    ka, CL, V1, Q, V2 = jnp.exp(theta)
    h = 0.5
    M = jnp.array([[-ka, 0, 0], [ka, -(CL + Q) / V1, Q / V2], [0, Q / V1, -Q / V2]])
    dosed = jnp.zeros((len(times), 12)).at[::2, 0].set(1.0)

    def step(A, given):
        A = A + given * dose * jnp.array([1.0, 0.0, 0.0])
        k1 = M @ A
        k2 = M @ (A + h / 2 * k1)
        k3 = M @ (A + h / 2 * k2)
        k4 = M @ (A + h * k3)
        return A + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), None

    def observe(A, given):
        doses, c = given
        A, _ = lax.scan(step, A, doses)
        return A, (jnp.log(A[1] / V1) - jnp.log(c)) ** 2

    return jnp.sum(lax.scan(observe, jnp.zeros(3), (dosed, concentrations))[1])


def arma(parameters, series):
    phi1, phi2, theta = parameters

    def step(e, given):
        now, one, two = given
        e = now - phi1 * one - phi2 * two - theta * e
        return e, e**2

    return jnp.sum(lax.scan(step, 0.0, (series[2:], series[1:-1], series[:-2]))[1])


# ---------------------------------------------------------------- life


def hodgkin_huxley(conductances, current, steps):
    gNa, gK, gL = conductances
    dt = 0.02

    def step(state, k):
        V, m, h, n = state
        I = jnp.where(k * dt > 1.0, current, 0.0)
        am = 0.1 * (V + 40.0) / (1 - jnp.exp(-(V + 40.0) / 10))
        bm = 4.0 * jnp.exp(-(V + 65.0) / 18)
        ah = 0.07 * jnp.exp(-(V + 65.0) / 20)
        bh = 1 / (1 + jnp.exp(-(V + 35.0) / 10))
        an = 0.01 * (V + 55.0) / (1 - jnp.exp(-(V + 55.0) / 10))
        bn = 0.125 * jnp.exp(-(V + 65) / 80)
        ions = gNa * m**3 * h * (V - 50.0) + gK * n**4 * (V + 77.0) + gL * (V + 54.4)
        V = V + dt * (I - ions)
        m = m + dt * (am * (1 - m) - bm * m)
        h = h + dt * (ah * (1 - h) - bh * h)
        n = n + dt * (an * (1 - n) - bn * n)
        return (V, m, h, n), V**2 * dt

    return jnp.sum(lax.scan(step, (-65.0, 0.05, 0.6, 0.32), jnp.arange(steps))[1])


# ---------------------------------------------------------------- money


def autocallable(market, Z, coupon):
    S0, r, sigma = market
    paths, dates = Z.shape
    dt = 0.5

    def step(state, given):
        S, alive, value = state
        z, k = given
        S = S * jnp.exp((r - 0.5 * sigma**2) * dt + sigma * jnp.sqrt(dt) * z)
        called = alive & (S >= 100.0)
        paid = (100.0 + coupon * (k + 1) * S / S0) * jnp.exp(-r * dt * (k + 1))
        return (S, alive & ~called, jnp.where(called, paid, value)), None

    start = (S0 * jnp.ones(paths), jnp.ones(paths, bool), jnp.zeros(paths))
    (S, alive, value), _ = lax.scan(step, start, (Z.T, jnp.arange(dates)))
    end = jnp.where(S < 70.0, S, 100.0) * jnp.exp(-r * dt * dates)
    return jnp.mean(jnp.where(alive, end, value))


# ---------------------------------------------------------------- learning


def conv_net(params, images, labels):
    x = images
    for kernels, bias in params["conv"]:
        x = lax.conv_general_dilated(x, kernels, (1, 1), "VALID",
                                     dimension_numbers=("NHWC", "HWIO", "NHWC")) + bias  # fmt: skip
        x = lax.reduce_window(
            jax.nn.relu(x), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"
        )
    scores = x.reshape(len(x), -1) @ params["dense"][0] + params["dense"][1]
    return -jnp.mean(jax.nn.log_softmax(scores)[jnp.arange(len(labels)), labels])


def gru(params, xs, targets):
    def step(h, given):
        x, y = given
        z = jax.nn.sigmoid(params["Wz"] @ x + params["Uz"] @ h + params["bz"])
        r = jax.nn.sigmoid(params["Wr"] @ x + params["Ur"] @ h + params["br"])
        new = jnp.tanh(params["Wh"] @ x + params["Uh"] @ (r * h) + params["bh"])
        h = (1 - z) * h + z * new
        return h, (params["V"] @ h - y) ** 2

    return jnp.mean(lax.scan(step, jnp.zeros(params["Uz"].shape[0]), (xs, targets))[1])


def transformer(params, tokens):
    def norm(x, g, b):
        mean = x.mean(-1, keepdims=True)
        return g * (x - mean) / jnp.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) + b

    def attend(q, k, v):
        scores = q @ k.T / jnp.sqrt(q.shape[1]) + jnp.triu(jnp.full((len(q),) * 2, -1e10), k=1)
        return jax.nn.softmax(scores) @ v

    x = params["embed"][tokens[:-1]] + params["places"][: len(tokens) - 1]
    for block in params["blocks"]:
        qkv = norm(x, *block["ln1"]) @ block["qkv"]
        q, k, v = (p.reshape(len(x), 2, -1).swapaxes(0, 1) for p in jnp.split(qkv, 3, -1))
        x = x + jax.vmap(attend)(q, k, v).swapaxes(0, 1).reshape(len(x), -1) @ block["out"]
        x = x + jax.nn.gelu(norm(x, *block["ln2"]) @ block["up"]) @ block["down"]
    logp = jax.nn.log_softmax(norm(x, *params["ln"]) @ params["embed"].T)
    return -jnp.mean(logp[jnp.arange(len(tokens) - 1), tokens[1:]])


FORMS = {
    f.__name__: f
    for f in (
        direct_collocation, multiple_shooting, shooting_merit, riccati_regulator, shallow_water,
        lattice_boltzmann, panel_method, richards, waveform_inversion, lens_triplet, hartree_fock,
        grape, glmm_laplace, repeated_dosing, arma, hodgkin_huxley, autocallable, conv_net, gru,
        transformer,
    )
}  # fmt: skip
