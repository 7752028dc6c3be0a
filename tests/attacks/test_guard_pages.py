"""Arrays that end or begin at a page without access: a stray read or write is a crash."""

from __future__ import annotations

import ctypes
import mmap
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy as sp

import symgrad as sg
from symgrad._core.op import Evidence, Map, Op, registry
from symgrad._core.ops import logic
from symgrad._core.trace import flatten
from symgrad.errors import SymgradError
from tests.samples import samples_of
from tests.shared import called, of_arrays

Array = np.ndarray[Any, Any]
PAGE = mmap.PAGESIZE

#: Where an array lies between two pages without access.
PLACES = ("end", "begin", "inside", "odd")


def guarded(like: Array, place: str, keep: list[Any]) -> Array:
    """Return a copy of an array in memory that ends, or begins, at a page without access.

    ``inside`` ends as close to the page as a multiple of 64 bytes allows; ``odd`` ends a byte
    earlier, so that its elements are not aligned.
    """
    pages = max(1, -(-(like.nbytes + 64) // PAGE))
    memory = mmap.mmap(-1, (pages + 2) * PAGE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    first, last = start, start + (pages + 1) * PAGE
    for page in (first, last):
        assert protect(ctypes.c_void_p(page), PAGE, 0) == 0
    at = {
        "end": last - like.nbytes,
        "begin": first + PAGE,
        "inside": (last - like.nbytes) // 64 * 64,
        "odd": last - like.nbytes - 1,
    }[place]
    keep.append(memory)
    raw = (ctypes.c_char * like.nbytes).from_address(at)
    made = np.frombuffer(raw, like.dtype, count=like.size) if like.size else like[:0].ravel()
    if not like.size:  # its address is that of the page itself
        raw = (ctypes.c_char * 0).from_address(last)
        made = np.ndarray(like.shape, like.dtype, raw)
    made = made.reshape(like.shape)
    made[...] = like
    return made


def same(got: Any, want: Any) -> bool:
    """Compare results bit for bit."""
    a, b = flatten(got)[0], flatten(want)[0]
    # Numba gives single numbers of float32 as Python's.
    a = [y.dtype.type(x) if type(x) is float and isinstance(y, np.generic) else x
         for x, y in zip(a, b, strict=False)] + a[len(b):]  # fmt: skip
    return len(a) == len(b) and all(
        np.asarray(x).dtype == np.asarray(y).dtype
        and np.asarray(x).shape == np.asarray(y).shape
        and np.asarray(x).tobytes() == np.asarray(y).tobytes()
        for x, y in zip(a, b, strict=True)
    )


def calls(function: Any, arrays: list[Array], kernels: bool) -> list[str] | None:
    """Call a function on plain arrays, then in every way on guarded ones.

    Return where results differ; None if the function is refused.
    """
    f, wrong = sg.compile(function), []
    try:
        wants = f(*arrays)
    except (SymgradError, IndexError, np.linalg.LinAlgError):
        return None
    leaves = flatten(wants)[0]
    kernels &= all(np.asarray(w).dtype.kind != "c" for w in leaves)  # pairs have no arrays there
    for place in PLACES:
        keep: list[Any] = []
        given = [guarded(a, place, keep) for a in arrays]
        outs = [guarded(np.zeros_like(w), place, keep) if np.ndim(w) else None for w in leaves]
        if not same(f(*given), wants):
            wrong.append(f"call, {place}")
        if isinstance(wants, np.ndarray):
            out = outs[0]
            if not (same(f(*given, out=out), wants) and same(out, wants)):
                wrong.append(f"out=, {place}")
        if kernels and place != "odd":  # Numba takes aligned arrays
            if not same(f.kernel(*arrays)(*given), wants):
                wrong.append(f"kernel, {place}")
            filled = [x for x in outs if x is not None]
            if not same(f.kernel_into(*arrays)(*given, *filled), wants):
                wrong.append(f"kernel_into, {place}")
    return wrong


def judge(case: Any, isolated: Any, function: Callable[..., Any], arrays: list[Array]) -> None:
    """Compile and call in a process of its own."""

    def called() -> Any:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return calls(function, arrays, kernels)

    kernels = case.rng.random() < 0.25
    ending = isolated(called, seconds=100)
    assert ending.kind == "returned", ending
    if ending.value is None:
        case.tally("refused")
    else:
        assert not ending.value, ending.value


# ---------------------------------------------------------------- the registry's ops


def _operands(op: Op, rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> list[Array]:
    found = []
    for domain, (low, high) in zip(op.domain, Evidence.of(op).samples, strict=True):
        if domain is logic.CONDITION:
            found.append(rng.random(shape) < 0.5)
        elif domain.is_subset(sp.Integers):
            found.append(rng.integers(low, high, shape, endpoint=True))
        else:
            found.append(rng.uniform(low, high, shape).astype(dtype))
    return found


registry.complete()
MAPS = [
    op for op in registry.ops.values()
    if isinstance(op, Map) and op.functions
]  # fmt: skip
COMPOSITES = [record for record in registry.composites.values() if record.functions]


@pytest.mark.attack(quick=4, whole=1_500, part=100, judge="the plain call, bit for bit; no signal")
def test_guarded_ops(attack: Any, isolated: Any) -> None:
    """Every op of the registry, sizes 0 to 70: calls, ``out=``, kernels, kernels into arrays."""
    every = [*MAPS, *COMPOSITES]
    for case in attack:
        with case:
            record = every[(case.number * 7) % len(every)]
            rng = case.rng
            if isinstance(record, Op):
                size = int(rng.integers(0, 71))
                shape = (size,) if rng.random() < 0.7 else (size, int(rng.integers(1, 20)))
                dtype = rng.choice([np.float64, np.float32])
                judge(case, isolated, record, _operands(record, rng, shape, dtype))
                continue
            samples = list(samples_of(record, rng)) or [((), {})]
            sample = samples[rng.integers(len(samples))]
            applied, arrays = of_arrays(called(record.functions[0]), sample)
            if not arrays or any(a.dtype.kind not in "fiub" for a in arrays):
                case.tally("without arrays")
            else:
                judge(case, isolated, applied, arrays)


# ---------------------------------------------------------------- random programs

STEPS: list[Callable[[Any, Any], Any]] = [
    lambda x, y: np.sin(x), lambda x, y: x * y, lambda x, y: np.exp(-x * x), lambda x, y: x[::-1],
    lambda x, y: np.cumsum(x), lambda x, y: np.sort(x), lambda x, y: np.where(x > 0.0, x, y),
    lambda x, y: np.concatenate([x, y]), lambda x, y: x[1:], lambda x, y: x[::2],
    lambda x, y: np.outer(x, y), lambda x, y: np.roll(x, 3), lambda x, y: np.pad(x, 2),
    lambda x, y: x - np.mean(y), lambda x, y: np.argsort(x) * 1.0, lambda x, y: np.tile(x, 2),
    lambda x, y: x[np.argsort(y)[:1]], lambda x, y: np.diff(x), lambda x, y: np.stack([x, x]),
    lambda x, y: x.T, lambda x, y: np.ravel(x), lambda x, y: x @ x.T,
    lambda x, y: np.interp(x, y, y),
    lambda x, y: np.max(x, axis=0), lambda x, y: np.sum(x, axis=-1), lambda x, y: np.repeat(x, 2),
    lambda x, y: np.convolve(x, y), lambda x, y: np.linalg.norm(x), lambda x, y: np.tanh(x) ** 3,
]  # fmt: skip


@pytest.mark.attack(quick=3, whole=1_500, part=100, judge="the plain call, bit for bit; no signal")
def test_guarded_programs(attack: Any, isolated: Any) -> None:
    """Random programs of array functions, and their derivatives, sizes 0 to 70."""
    for case in attack:
        with case:
            rng = case.rng
            picked = [STEPS[k] for k in rng.integers(len(STEPS), size=rng.integers(1, 6))]
            mates = [int(k) for k in rng.integers(0, 2, len(picked))]

            def program(*given: Any) -> Any:
                value = given[0]
                for step, mate in zip(picked, mates, strict=True):  # noqa: B023
                    try:
                        value = step(value, given[mate])
                    except (ValueError, IndexError, TypeError):
                        value = value * 2.0  # the shapes do not go together
                return value

            def slope(*given: Any) -> Any:
                return sg.grad(lambda *xs: np.sum(np.sin(program(*xs))), argnums=(0, 1))(*given)

            size = int(rng.integers(0, 71))
            dtype = rng.choice([np.float64, np.float64, np.float32])
            arrays = [rng.normal(size=size).astype(dtype) for _ in range(2)]
            judge(case, isolated, slope if rng.random() < 0.3 else program, arrays)
