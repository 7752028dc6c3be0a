"""Functions that check their arguments, choose by name, search, and take numbers or arrays."""

import numpy as np
from task import Task

# ---------------------------------------------------------------- numbers or arrays alike

SIGMA = 5.67e-8
MODELS = {"grey", "black"}


def emitted(temperature, emissivity=0.9, model="grey"):
    """Radiated power; below the validity of the fit it is nan."""
    if model not in MODELS:
        raise ValueError(f"unknown model {model!r}")
    temperature = np.asarray(temperature, dtype=float)
    if np.any(temperature < 0):
        raise ValueError("temperature in K, please")
    power = np.full_like(temperature, np.nan)
    valid = temperature > 100
    factor = 1.0 if model == "black" else emissivity
    power[valid] = factor * SIGMA * temperature[valid] ** 4
    power[~valid] = 0.0
    return power


def white():
    MODELS.add("white")


def clear_sky(zenith):
    """Air mass with the sun below the horizon taken out, from one number or many."""
    z = np.where(np.asarray(zenith) > 90, np.nan, zenith)
    out = np.empty(np.shape(z))
    np.cos(np.radians(z), out)
    mass = 1.0 / (out + 0.50572 * (96.07995 - z) ** -1.6364)
    result = np.array(1361 * 0.7 ** (mass**0.678) * out)
    result[np.isnan(result)] = 0
    return result


# ---------------------------------------------------------------- searches with an end


def friction(reynolds, roughness):
    """Colebrook's equation by Newton's method."""
    assert reynolds > 0, "flow backwards"
    if reynolds < 2300:
        return 64 / reynolds
    x = 7.0
    for iteration in range(40):
        a = roughness / 3.7 + 2.51 * x / reynolds
        f = x + 2 * np.log10(a)
        slope = 1 + 2 * 2.51 / (reynolds * a * np.log(10))
        step = f / slope
        x -= step
        if abs(step) < 1e-13:
            return 1 / x**2
    raise RuntimeError(f"no convergence in {iteration} steps")


def head_loss(diameter, flows, length=100.0):
    total = 0.0
    for flow in flows:
        velocity = 4 * flow / (np.pi * diameter**2)
        factor = friction(velocity * diameter / 1e-6, 1e-4)
        total += factor * length / diameter * velocity**2 / (2 * 9.81)
    return total


@np.vectorize
def dew_point(vapour):
    """Temperature of saturation, within bounds and steps."""
    if vapour <= 0:
        raise ValueError("vapour pressure is positive")
    t, count = 10.0, 0
    while True:
        p = 611.2 * np.exp(17.62 * t / (243.12 + t))
        new = t - (np.log(p) - np.log(vapour)) / (17.62 * 243.12 / (243.12 + t) ** 2)
        new = max(min(new, 100.0), -60.0)
        if abs(new - t) < 1e-12:
            break
        t = new
        count += 1
        if count > 50:
            raise ValueError("no dew point")
    return new


def comfort(vapours):
    return np.sum((dew_point(vapours) - 12.0) ** 2)


# ---------------------------------------------------------------- writing into given arrays


def drawdown(returns, out=None):
    """Depth below the highest value so far, and the deepest."""
    values = np.cumprod(1 + returns)
    top = np.maximum.accumulate(values)
    depth = np.subtract(values, top)
    np.divide(depth, top, depth)
    if out is None:
        out = np.empty(returns.shape[1:])
    np.nanmin(depth, axis=0, out=out)
    return out.item() if returns.ndim == 1 else out


RETURNS = np.array([0.02, -0.03, 0.01, -0.05, 0.04, 0.01, -0.02])

TASKS = [
    Task(emitted, lambda: (np.array([300.0, 50.0, 700.0]),), white),
    Task(emitted, lambda: (320.0,), name="emitted by one"),
    Task(clear_sky, lambda: (np.array([20.0, 65.0, 95.0]),)),
    Task(clear_sky, lambda: (35.0,), name="clear sky at once"),
    Task(friction, lambda: (4e4, 1e-4), argnums=(0, 1)),
    Task(head_loss, lambda: (0.1, [0.002, 0.01, 5e-5])),
    Task(comfort, lambda: (np.array([900.0, 1500.0, 2300.0]),)),
    Task(drawdown, lambda: (RETURNS,)),
]
