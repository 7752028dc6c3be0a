"""Options of NumPy's functions, in combinations that examples do not have.

Axes as tuples, empty or in odd order, ``keepdims``, ``where``, ``initial``, ``dtype``, ``out``,
``order``, on arrays of all element types and layouts, of no axes, no elements, and one. NumPy
judges values, element types, shapes and whether there is an error; differences judge slopes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import symgrad as sg

#: Of each option what it may be; an option is left out as often as not.
REDUCTIONS: dict[str, tuple[str, ...]] = {
    "sum": ("axis", "keepdims", "where", "initial", "dtype", "out"),
    "prod": ("axis", "keepdims", "where", "initial", "dtype"),
    "mean": ("axis", "keepdims", "where", "dtype"),
    "std": ("axis", "keepdims", "where", "ddof"),
    "var": ("axis", "keepdims", "where", "correction"),
    "max": ("axis", "keepdims", "where+initial", "initial", "out"),
    "min": ("axis", "keepdims", "where+initial", "initial"),
    "any": ("axis", "keepdims", "where"),
    "all": ("axis", "keepdims", "where"),
    "argmax": ("axis1", "keepdims"),
    "argmin": ("axis1", "keepdims"),
    "nansum": ("axis", "keepdims", "where", "initial", "dtype"),
    "nanmean": ("axis", "keepdims", "where", "dtype"),
    "nanmax": ("axis", "keepdims", "where+initial", "initial"),
    "nanvar": ("axis", "keepdims", "ddof"),
    "ptp": ("axis", "keepdims"),
    "median": ("axis", "keepdims"),
    "quantile": ("q", "axis", "keepdims", "method"),
    "percentile": ("q100", "axis", "keepdims", "method"),
    "average": ("axis", "keepdims", "weights"),
    "count_nonzero": ("axis", "keepdims"),
    "cumsum": ("axis1", "dtype"),
    "cumprod": ("axis1", "dtype"),
    "linalg.norm": ("axis1", "keepdims", "ord"),
    "add.reduce": ("axis", "keepdims", "where", "initial", "dtype"),
    "multiply.reduce": ("axis", "keepdims", "where", "initial"),
    "maximum.reduce": ("axis", "keepdims", "where+initial", "initial"),
    "logical_or.reduce": ("axis", "keepdims"),
    "add.accumulate": ("axis1",),
    "trapezoid": ("dx", "axis1"),
}
VALUES: dict[str, tuple[str, ...]] = {
    "axis": ("None", "0", "-1", "1", "(0,)", "(0, 1)", "(-1, 0)", "()", "(1, 1)", "2",
             "np.int64(0)"),
    "axis1": ("None", "0", "-1", "1", "2"),
    "keepdims": ("True", "False"),
    "where": ("x > 0", "M", "True", "False", "[True]"),
    "where+initial": ("x > 0, initial=-1", "M, initial=2", "False, initial=0"),
    "initial": ("0", "2", "1.5", "-3", "True"),
    "dtype": ("np.float32", "np.float64", "float", "int", "'f4'", "bool", "np.int8", "None"),
    "out": ("np.zeros_like(np.asarray(K))",),
    "ddof": ("0", "1", "0.5"), "correction": ("0", "1"), "q": ("0.3", "[0.1, 0.9]", "0", "1"),
    "q100": ("30", "[10, 90]"), "method": ("'linear'", "'lower'", "'nearest'", "'midpoint'"),
    "weights": ("None", "abs(x) + 1", "W"), "ord": ("None", "1", "2", "np.inf", "-1", "0", "3"),
    "dx": ("0.5", "2"),
}  # fmt: skip

#: Whole expressions, whose options are in braces: one of them, separated by ``|``.
OTHERS = (
    "np.concatenate([x, x{, |}x * 2], axis={0|-1|None|1})",
    "np.stack([x, x], axis={0|-1|1|2|-3})",
    "np.concatenate([x, I], axis={0|-1}, dtype={np.float32|float|None})", "np.hstack([x, x])",
    "np.vstack([x, x])", "np.dstack([x, x])", "np.column_stack([x, x])",
    "np.roll(x, {1|-2|(1, 2)|7}, axis={None|0|-1|(0, 1)|(1, 0)})",
    "np.flip(x, {None|0|(0, 1)|-1|()})", "np.rot90(x, {1|2|3|-1}, {(0, 1)|(1, 0)|(0, -1)})",
    "np.moveaxis(x, {0|-1|(0, 1)}, {-1|0|(1, 0)})",
    "np.expand_dims(x, {0|-1|(0, 2)|(0, -1)|()|1})", "np.squeeze(x, {None|0|-1|(0, 1)|()})",
    "np.transpose(x, {None|(1, 0)|(0, 1)|(-1, 0)|(0, 2, 1)})", "x.T",
    "np.swapaxes(x, {0|-1}, {1|-1|0})", "np.repeat(x, {2|0|3}, axis={None|0|-1|1})",
    "np.tile(x, {2|(2, 1)|(1, 2, 2)|0|()})",
    "np.pad(x, {1|(1, 2)|((0, 1),)|0}, mode={'constant'|'edge'|'reflect'|'wrap'|'symmetric'})",
    "np.reshape(x, {-1|(-1, 1)|(1, -1)|(2, -1)|x.shape[::-1]}, order={'C'|'F'|'A'})",
    "np.ravel(x, order={'C'|'F'|'A'|'K'})", "x.flatten({'C'|'F'|'A'|'K'})",
    "x.copy(order={'F'|'C'|'K'})",
    "np.take(x, {[0, -1]|1|[[0], [1]]|[5, -7]}, axis={None|0|-1}, mode={'raise'|'wrap'|'clip'})",
    "np.diff(x, {1|2|0}, axis={-1|0})",
    "np.diff(x, axis={0|-1}, prepend={0|x[:1]}, append={1.5|x[-1:]})",
    "np.gradient(x, {1|2.0|0.5}, axis={0|-1|None}, edge_order={1|2})", "np.kron(x, {x|[1, 2]})",
    "np.outer(x, {x|[1, 2]})",
    "np.tensordot(x, x, {0|1|([0], [0])|([0, 1], [0, 1])|([-1], [-1])})",
    "np.einsum({'i...,i...->...'|'...i->...'|'...->...'|'ij->ji'|'ij,kj->ik'}, x{, x|})",
    "np.sort(x, axis={-1|0|None|1})", "np.argsort(x, axis={-1|0|None}, kind={None|'stable'})",
    "np.searchsorted(np.sort(x, None), {0.3|x|[0.1, 9]}, side={'left'|'right'})",
    "np.clip(x, {-0.5|None|x - 1|0}, {0.5|None|1|x})", "np.round(x, {0|1|-1|2})",
    "np.nan_to_num(x / (x - x), nan={0.0|1.5}, posinf={None|2.0}, neginf={None|-3})",
    ("np.interp(x, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0], left={None|5.0}, right={None|-5.0}, "
     "period={None|1.5})"),
    "np.convolve(x, {[1, 2]|x}, {'full'|'same'|'valid'})",
    "np.correlate(x, {[1, 2]|x}, {'full'|'same'|'valid'})",
    "np.trace(x, {0|1|-1}, {0|1|-1}, {1|0|-2})", "np.diagonal(x, {0|1|-1}, {0|1}, {1|0|-1})",
    "np.tril(x, {0|1|-1})", "np.triu(x, k={0|1|-5})", "np.diag(x, {0|1|-1})",
    "np.diagflat(x, {0|1})", "np.cov(x, rowvar={True|False}, bias={True|False}, ddof={None|0|1})",
    "np.corrcoef(x, rowvar={True|False})", "np.where({x > 0|M|True}, x, {0|x * 2|1.5})",
    "np.where(x > 0, {I|1}, {2|x})", "np.atleast_2d(x)",
    "np.broadcast_to(x, {x.shape|(2, *x.shape)|(2,)})",
    "np.vander(x, {None|2|0|4}, increasing={True|False})", "np.matmul(x, {x.T|x})",
    "np.dot(x, {x.T|x|2})", "np.vdot(x, x)", "np.inner(x, {x|2})",
    "np.linalg.norm(x, {None|'fro'|'nuc'|1|np.inf|2}, {None|0|(0, 1)|(1, 0)|-1})",
    "np.cross(x, x{, axis=0|, axis=-1|})", "np.array_split(x, {2|3|[1]}, axis={0|-1})[{0|1|-1}]",
    "np.insert(x, {0|1|[0, 1]|-1}, {5|x[0]}, axis={None|0|-1})",
    "np.delete(x, {0|-1|[0, 1]|slice(1)}, axis={None|0|1})",
    "np.append(x, {x|1}, axis={None|0|1})", "np.add(x, {x|1|I}, dtype={np.float32|None|float})",
    "np.multiply(x, 2, where=M, out=x * 0)", "np.power(x, {2|0|3|0.5|-1|I})",
    "np.float_power(x, 2)", "np.true_divide(x, {2|I + 1})", "x // {2|0.5}",
    "np.add.outer(x, {x|[1, 2]})", "np.maximum(x, {0|0.0|I|x.T})", "np.hypot(x, {1|I})",
    "x.astype({'f4'|int|bool|'i1'|complex}).real",
    "np.full_like(x, {2|0.7|x[0]}, dtype={None|int|'f4'})",
    "np.ones_like(x, shape={None|3|(2, 2)})",
    "x.sum({0|None|-1}, {None|'f4'}, keepdims={True|False})",
    "x.mean({0|(0, 1)|None}, keepdims=True)", "x.reshape({-1|(1, -1)}, order={'F'|'C'})",
    "x.max({0|-1|None}, initial={0|5})", "np.unwrap(x, {np.pi|1.0}, axis={-1|0})",
    "np.ediff1d(x, to_end={None|[1.0]}, to_begin={None|2.0})",
    "np.select([x > 1, x < 0], [x, {2|x * x}], {0|x})",
    "np.logspace(0, x[0], {3|1|0}, endpoint={True|False}, base={10|2.0})",
    "np.geomspace(1, abs(x[0]) + 1, {3|4})",
    "np.cumulative_sum(x, axis={0|-1|None}, include_initial={True|False})",
)  # fmt: skip
SHAPES = ((), (1,), (3,), (0,), (4,), (1, 1), (2, 3), (3, 3), (3, 1), (0, 2), (2, 0), (2, 3, 2))


def program(rng: np.random.Generator) -> str:
    if rng.integers(2):
        name = str(rng.choice(list(REDUCTIONS)))
        given = [
            f"{option.partition('+')[0].rstrip('10')}={rng.choice(VALUES[option])}"
            for option in REDUCTIONS[name]
            if rng.integers(2) or option.startswith("q")
        ]
        text = f"np.{name}({', '.join(['x', *given])})"
        if "where" in text and text.count("initial") > 1:
            return program(rng)
        if "out=" in text:
            return text.replace("K", text[: text.index(", out=")] + ")")
        return text
    parts = str(rng.choice(OTHERS)).replace("{", "}").split("}")
    chosen = [str(rng.choice(p.split("|"))) if k % 2 else p for k, p in enumerate(parts)]
    return "".join(chosen)


def argument(rng: np.random.Generator) -> Any:
    shape = SHAPES[rng.integers(len(SHAPES))]
    dtype = rng.choice(["f8", "f8", "f8", "f4", "i8", "i4", "u1", "?"])
    x = np.asarray(rng.normal(size=shape) * 2).astype(dtype)
    layout = rng.integers(5)
    if layout == 1:
        x = np.asfortranarray(x)
    elif layout == 2 and x.ndim:
        x = x[::-1].copy()[::-1]
    elif layout == 3:
        x = np.array(np.broadcast_to(x, (2, *shape)))[1, ...]
        x.flags.writeable = False
    elif layout == 4:
        x = x.T.copy().T
    return x


@pytest.mark.attack(quick=150, whole=20_000, judge="NumPy, types and errors; differences")
def test_options(attack: Any) -> None:
    """Options of functions: axes, ``where``, ``initial``, ``dtype``, ``out``; types, layouts."""
    for case in attack:
        with case, sg.backend("numpy"), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rng = case.rng
            text, x = program(rng), argument(rng)
            mask, weights = rng.integers(2, size=x.shape) > 0, rng.uniform(0.5, 1.5, x.shape)
            names = {"np": np, "M": mask, "W": weights, "I": np.arange(x.size).reshape(x.shape)}
            f = eval(f"lambda x: {text}", names)
            said = f"{text}\nx = {x!r}, {x.dtype}, M = {mask!r}"
            found, want = ended(sg.compile(f), x), ended(f, x)
            if odd(text, x, want):
                case.tally("not judged")
                continue
            if isinstance(want, Exception):
                assert isinstance(found, Exception), f"{said}: {found!r}, NumPy: {want!r}"
                case.tally("raises as NumPy does")
                continue
            if isinstance(found, Exception):
                assert type(found).__module__.startswith("symgrad") or isinstance(
                    found, (NotImplementedError, OverflowError)
                ), f"{said}: {found!r}"
                case.tally("refused")
                continue
            assert np.shape(found) == np.shape(want), f"{said}: {found!r}, NumPy: {want!r}"
            assert np.asarray(found).dtype == np.asarray(want).dtype, (
                f"{said}: {found!r}, NumPy: {want!r}"
            )
            single = np.float32 in (x.dtype, np.asarray(want).dtype)
            np.testing.assert_allclose(
                found, want, *((1e-4, 1e-5) if single else (1e-12, 1e-14)), err_msg=said
            )
            if x.dtype == np.float64 == np.asarray(want).dtype and x.size:
                slopes(rng, f, x, said)


def odd(text: str, x: Any, want: Any) -> bool:
    """Tell of what is left out: values that raise, float16, NumPy's errors at empty arrays."""
    return (
        isinstance(want, ZeroDivisionError)
        or (x.dtype == bool and "np.round" in text)
        or getattr(want, "dtype", None) == np.float16
        or (x.size == 0 and text.startswith(("np.select", "np.quantile", "np.percentile")))
    )


def ended(f: Any, x: Any) -> Any:
    try:
        found = f(x)
        np.asarray(found)
    except Exception as error:  # noqa: BLE001  # of whatever kind it is
        return error
    return found


def slopes(rng: np.random.Generator, f: Any, x: Any, said: str) -> None:
    """Compare the derivative along a direction, forward and reverse, with differences."""
    v = rng.normal(size=x.shape)
    points = [np.asarray(f(x + h * v)) for h in (-2e-6, -1e-6, 0.0, 1e-6, 2e-6)]
    if (
        len({p.shape for p in points}) > 1
        or isinstance(f(x), (list, tuple))
        or not all(np.isfinite(p).all() for p in points)
    ):
        return
    near = (points[3] - points[1]) / 2e-6
    if not np.allclose(near, (points[4] - points[0]) / 4e-6, 1e-4, 1e-5):
        return  # a kink, or a step, between
    found = sg.jvp(f, (x,), (v,))[1]
    np.testing.assert_allclose(found, near, 2e-4, 2e-5, err_msg=f"forward: {said}")
    w = rng.normal(size=near.shape)
    (back,) = sg.vjp(f, x)[1](w if near.ndim else float(w))
    np.testing.assert_allclose(
        np.sum(back * v), np.sum(w * near), 2e-4, 1e-4, err_msg=f"reverse: {said}"
    )
