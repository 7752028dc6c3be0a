"""NPBench's kernels in NumPy, from a checkout of its sources, with small arguments."""

from __future__ import annotations

import importlib.util
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from ._case import Case, alike

#: Sizes are cut to this; the last point has sizes that are one larger.
LARGEST = 5

#: Sizes that have to be others: steps of time, and what must be larger for the sake of the rest.
SIZES: dict[str, dict[str, Any]] = {
    "adi": {"TSTEPS": 2}, "azimint_hist": {"N": 40, "npt": 4},
    "azimint_naive": {"N": 40, "npt": 4}, "cavity_flow": {"nt": 2, "nit": 2},
    "channel_flow": {"nit": 2}, "contour_integral": {"num_int_pts": 3},
    "conv2d_bias": {"H": 5, "W": 4}, "heat_3d": {"TSTEPS": 3}, "jacobi_1d": {"TSTEPS": 4},
    "jacobi_2d": {"TSTEPS": 4}, "lenet": {"N": 1, "H": 16, "W": 16},
    "mandelbrot1": {"maxiter": 5}, "mandelbrot2": {"maxiter": 5}, "mlp": {"S1": 4, "S2": 3},
    "nbody": {"tEnd": 0.15}, "resnet": {"N": 2, "H": 3, "W": 3, "C1": 3, "C2": 2},
    "seidel_2d": {"TSTEPS": 3},
    "scattering_self_energies": {"NA": 4, "Nkz": 1, "NE": 2, "Nqz": 1, "Norb": 2},
    "spmv": {"M": 9, "N": 9, "nnz": 25}, "stockham_fft": {"K": 3}, "vadv": {"I": 3, "J": 3},
}  # fmt: skip

#: Integers that say where something is.
INDICES = ("A_row", "A_col", "neigh_idx")

#: Sizes that stay when others grow.
FIXED = ("R", "K", "N3D", "NB", "slab_per_bc", "H", "W", "TSTEPS", "nt", "nit", "num_int_pts")


def cases(checkout: Path) -> Iterator[Case]:
    """Yield the kernels that ``bench_info`` describes and that are in NumPy."""
    for path in sorted((checkout / "bench_info").glob("*.json")):
        info = json.loads(path.read_text())["benchmark"]
        folder = checkout / "npbench" / "benchmarks" / info["relative_path"]
        source = folder / f"{info['module_name']}_numpy.py"
        if not source.exists():
            continue
        kernel = getattr(load(source), info["func_name"])
        written = tuple(k for k, n in enumerate(info["input_args"]) if n in info["output_args"])
        first = folder / f"{info['module_name']}.py"
        make = load(first) if "init" in info else None
        yield Case("npbench", info["short_name"], kernel,
                   lambda seed, i=info, m=make: arguments(i, m, seed), written)  # fmt: skip


def load(path: Path) -> ModuleType:
    """Import one file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def arguments(info: Mapping[str, Any], make: ModuleType | None, seed: int) -> Sequence[Any]:
    """Return what the kernel takes: small, and moved a little from where it has ties and zeros."""
    values = sizes(info, grown=seed == 1)
    if make is not None:
        initialize = getattr(make, info["init"]["func_name"])
        given = {k: values[k] for k in info["init"]["input_args"]}
        options = inspect.signature(initialize).parameters.keys() & {"datatype"}
        found = initialize(*given.values(), **dict.fromkeys(options, np.float64))
        found = found if isinstance(found, tuple) else (found,)
        values |= dict(zip(info["init"]["output_args"], found, strict=True))
    random = np.random.default_rng(seed)
    return [
        values[name] if name in INDICES else moved(values[name], random, seed)
        for name in info["input_args"]
    ]


def sizes(info: Mapping[str, Any], grown: bool) -> dict[str, Any]:
    """Return the smallest preset, cut further."""
    own = SIZES.get(info["short_name"], {})
    found = {}
    for name, value in info["parameters"]["S"].items():
        cut = min(value, LARGEST) if isinstance(value, int) else value
        cut = own.get(name, cut)
        found[name] = cut + 1 if grown and isinstance(cut, int) and name not in FIXED else cut
    return found


def moved(value: Any, random: np.random.Generator, seed: int) -> Any:
    """Return real arrays with a little noise, and integers in another order."""
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.kind in "iu":
        return np.roll(value, seed)
    if value.dtype.kind != "f":
        return value
    noise = alike(1e-3 * random.uniform(-1, 1, value.shape), value) * (np.abs(value) + 0.1)
    return (value + noise).astype(value.dtype)
