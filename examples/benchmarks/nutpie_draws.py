"""Draws a second that nutpie makes of three models: written in NumPy, and in PyMC.

    python examples/benchmarks/nutpie_draws.py [--quick]

The sampler, its settings and its seeds are the same, and so are the densities: their gradients
are compared first. nutpie calls symgrad's C function, or that of PyMC's Numba backend, or (as
"Python") symgrad's function through the interpreter, by nutpie's public ``from_pyfunc``. Seconds
are the processor's, warm-up included, of the fastest of several turns.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import stats

import symgrad as sg

sys.path.insert(0, str(Path(__file__).parents[1]))
warnings.simplefilter("ignore")

import nutpie  # noqa: E402
from nutpie.compiled_pyfunc import from_pyfunc  # noqa: E402
from nutpie_model import nutpie_model  # noqa: E402
from stamps import stamp  # noqa: E402

rng = np.random.default_rng(0)


class Model(NamedTuple):
    """A model: its density of ``size`` unbounded numbers, and the same for PyMC."""

    size: int
    log_density: Callable[[Any], Any]
    in_pymc: Callable[[Any], None]


# ---------------------------------------------------------------- logistic regression

ROWS = rng.normal(size=(1000, 20))
HITS = (rng.random(1000) < 1 / (1 + np.exp(-ROWS @ rng.normal(size=20)))).astype(float)


def logistic(b: Any) -> Any:
    """A thousand answers, twenty predictors."""
    z = ROWS @ b
    return np.sum(HITS * z - np.logaddexp(0, z)) + np.sum(stats.norm.logpdf(b))


def logistic_in_pymc(pm: Any) -> None:
    """The same."""
    b = pm.Normal("b", shape=20)
    pm.Bernoulli("hits", logit_p=ROWS @ b, observed=HITS)


# ---------------------------------------------------------------- groups

GROUP = np.sort(rng.integers(0, 85, 919))
FLOOR = rng.integers(0, 2, 919).astype(float)
RADON = 1.3 - 0.6 * FLOOR + 0.3 * rng.normal(size=85)[GROUP] + 0.7 * rng.normal(size=919)


def groups(p: Any) -> Any:
    """Radon in houses of 85 counties: a line whose intercept varies between counties."""
    mean, slope, offsets, log_width, log_noise = p[0], p[1], p[2:87], p[87], p[88]
    width, noise = np.exp(log_width), np.exp(log_noise)
    level = mean + width * offsets[GROUP] + slope * FLOOR
    prior = stats.norm.logpdf(mean, 0, 5) + stats.norm.logpdf(slope, 0, 5)
    prior += np.sum(stats.norm.logpdf(offsets))
    prior += stats.halfnorm.logpdf(width) + stats.halfnorm.logpdf(noise)
    return prior + log_width + log_noise + np.sum(stats.norm.logpdf(RADON, level, noise))


def groups_in_pymc(pm: Any) -> None:
    """The same."""
    mean, slope = pm.Normal("mean", 0, 5), pm.Normal("slope", 0, 5)
    offsets = pm.Normal("offsets", shape=85)
    width, noise = pm.HalfNormal("width"), pm.HalfNormal("noise")
    pm.Normal("radon", mean + width * offsets[GROUP] + slope * FLOOR, noise, observed=RADON)


# ---------------------------------------------------------------- volatility

RETURNS = np.exp(np.cumsum(0.1 * rng.normal(size=400))) * rng.standard_t(8, size=400)


def volatility(p: Any) -> Any:
    """Returns of 400 days, whose logarithm of volatility is a random walk."""
    steps, log_width = p[:400], p[400]
    path = np.exp(np.cumsum(np.exp(log_width) * steps))
    prior = np.sum(stats.norm.logpdf(steps)) + stats.halfnorm.logpdf(np.exp(log_width), scale=0.2)
    return prior + log_width + np.sum(stats.t.logpdf(RETURNS / path, 8) - np.log(path))


def volatility_in_pymc(pm: Any) -> None:
    """The same."""
    steps, width = pm.Normal("steps", shape=400), pm.HalfNormal("width", 0.2)
    path = pm.math.exp(pm.math.cumsum(width * steps))
    pm.StudentT("returns", nu=8, sigma=path, observed=RETURNS)


MODELS = {
    "logistic regression, 20": Model(20, logistic, logistic_in_pymc),
    "groups, 89": Model(89, groups, groups_in_pymc),
    "volatility, 401": Model(401, volatility, volatility_in_pymc),
}


# ---------------------------------------------------------------- the ways to nutpie


def by_symgrad(model: Model) -> Any:
    """Return the model with C functions of symgrad's; kept is the place itself."""
    return nutpie_model(model.log_density, lambda p: p * 1.0, np.zeros(model.size),
                        {"p": (model.size,)})  # fmt: skip


def by_python(model: Model) -> Any:
    """Return the model with symgrad's function as Python calls it."""
    both = sg.value_and_grad(model.log_density)
    return from_pyfunc(
        model.size, lambda: both, lambda *_: lambda p: {"p": p},
        [np.dtype(float)], [(model.size,)], ["p"],
        make_initial_point_fn=lambda seed: np.random.default_rng(seed).uniform(-1, 1, model.size),
    )  # fmt: skip


def by_pymc(model: Model) -> Any:
    """Return the model with PyMC's density by its Numba backend."""
    import pymc as pm

    with pm.Model() as context:
        model.in_pymc(pm)
    return nutpie.compile_pymc_model(context, backend="numba")


def slope(address: int, at: Any) -> Any:
    """Return the gradient by a C function of nutpie's type."""
    pointer = ctypes.POINTER(ctypes.c_double)
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_size_t, *[pointer] * 3, ctypes.c_void_p)
    out, value = np.empty(at.size), ctypes.c_double()
    places = (np.ctypeslib.as_ctypes(a) for a in (at, out))
    assert function(address)(at.size, *places, ctypes.byref(value), None) == 0
    return out


def main() -> None:
    """Compare gradients, then sample in turns."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="few draws")
    quick = options.parse_args().quick
    draws, turns = (50, 1) if quick else (500, 3)

    ways: dict[str, Callable[[Model], Any]] = {"symgrad": by_symgrad, "Python": by_python}
    if importlib.util.find_spec("pymc"):
        ways["PyMC"] = by_pymc
    table = Table("model", "density by", box=None)
    for word in ("first s", "us a gradient", "draws a second", "over symgrad's"):
        table.add_column(word, justify="right")
    for name, model in MODELS.items():
        made, first = {}, {}
        for way, make in ways.items():
            begin = time.perf_counter()
            made[way] = make(model)
            first[way] = time.perf_counter() - begin
        at = rng.normal(size=model.size) / 10
        wanted = sg.grad(model.log_density)(at)
        for way, one in made.items():
            if hasattr(one, "compiled_logp_func"):
                found = slope(one.compiled_logp_func.address, at)
                np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-7, err_msg=way)
        best: dict[str, tuple[float, float]] = dict.fromkeys(made, (np.inf, 0.0))
        for turn in range(turns):
            for way, one in made.items():
                begin = time.process_time()
                trace = nutpie.sample(one, draws=draws, tune=draws, chains=1, cores=1, seed=turn,
                                      progress_bar=False)  # fmt: skip
                taken = time.process_time() - begin
                steps = sum(
                    int(part.n_steps.sum()) for part in (trace.sample_stats,
                                                         trace.warmup_sample_stats)
                )  # fmt: skip
                best[way] = (min(best[way][0], taken / steps), max(best[way][1], 2 * draws / taken))
        for way, (gradient, rate) in best.items():
            table.add_row(name if way == "symgrad" else "", way, f"{first[way]:.2f}",
                          f"{gradient * 1e6:.2f}", f"{rate:,.0f}",
                          f"{rate / best['symgrad'][1]:.2f}")  # fmt: skip
    Console(width=100).print(table)
    print(f"\n{stamp()}")


if __name__ == "__main__":
    main()
