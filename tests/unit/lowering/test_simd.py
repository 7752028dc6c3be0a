"""SIMD functions: their accuracy, their edges, and that every width computes the same."""

from __future__ import annotations

import ctypes
import platform
import re
import runpy
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import mpmath as mp
import numpy as np
import pytest
import scipy.special as sc

import symgrad as sg
from symgrad._core.codegen.llvm import host_machine, llvm_turn, optimize
from symgrad._core.lowering._simd import FUNCTIONS
from symgrad._core.lowering._simd_builder import Form
from symgrad._core.lowering._simd_variants import _definition, definitions, libm_name
from symgrad._core.op import Code, Evidence, Libm, registry
from symgrad._core.pipeline import lower
from symgrad._core.runtime import _libraries
from symgrad._core.runtime._libraries import has_libmvec, register_bytes, vector_width

pytestmark = [
    pytest.mark.skipif(not register_bytes(), reason="a CPU without fused multiply-add"),
    pytest.mark.usefixtures("vector_math"),
]

#: The exact function, NumPy's or SciPy's, and intervals: around the middle, and to the edges.
REFERENCES: dict[
    str, tuple[Callable[..., Any], Callable[..., Any], tuple[tuple[float, float], ...]]
]
REFERENCES = {
    "exp": (mp.exp, np.exp, ((-1, 1), (-745, 709), (-100, 88))),
    "expm1": (mp.expm1, np.expm1, ((-1, 1), (-40, 709), (-20, 88))),
    "tanh": (mp.tanh, np.tanh, ((-1, 1), (-25, 25), (-1e-5, 1e-5))),
    "log": (mp.log, np.log, ((0.5, 2), (0, 1e-37), (0, 1e30))),
    "log1p": (mp.log1p, np.log1p, ((-0.9999, 2), (-1e-4, 1e-4), (0, 1e30))),
    "sin": (mp.sin, np.sin, ((-4, 4), (-1e5, 1e5), (-1e14, 1e14))),
    "cos": (mp.cos, np.cos, ((-4, 4), (-1e5, 1e5), (-1e14, 1e14))),
    "erf": (mp.erf, sc.erf, ((-1, 1), (-6, 6), (-1e-5, 1e-5))),
    "erfc": (mp.erfc, sc.erfc, ((-6, 6), (-1e-3, 1e-3), (5, 27))),
    "bell": (lambda x: mp.exp(-x * x), lambda x: np.exp(-x * x), ((-2, 2), (-27, 27))),
    "normal_density": (
        lambda x: mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi),
        lambda x: np.exp(-x * x / 2) / np.sqrt(2 * np.pi), ((-2, 2), (-38, 38)),
    ),
    "ndtr": (
        lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, sc.ndtr, ((-2, 2), (-38, 8), (-1e-3, 1e-3)),
    ),
}  # fmt: skip

#: Units in the last place, of all but the last digits of subnormal numbers.
WORST = 4.0


#: By bytes of a register, an older CPU whose instructions suffice for it.
OLDER = {16: "haswell", 32: "haswell", 64: "skylake-avx512"}


def runner(name: str, dtype: Any, lanes: int, older: bool = False) -> Callable[[Any], Any]:
    """Return the function of so many lanes, compiled, for arrays of as many elements."""
    form = Form(np.dtype(dtype), lanes)
    made = _definition(name, form)
    kind = form.floats
    text = "\n".join([
        made.text,
        *made.declarations.values(),
        f"define void @run(ptr %from, ptr %to) nounwind{vector_width()} {{",
        f"  %x = load {kind}, ptr %from, align 4",
        f"  %y = call {kind} @{made.symbol}({kind} %x)",
        f"  store {kind} %y, ptr %to, align 4",
        "  ret void",
        "}",
    ])  # fmt: skip
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    host = {"cpu": llvm.get_host_cpu_name(), "features": llvm.get_host_cpu_features().flatten()}
    if older:
        host = {"cpu": OLDER[lanes * form.dtype.itemsize], "features": ""}
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True, **host)
    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    address = engine.get_function_address("run")
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(address)

    def run(x: Any) -> Any:
        x = np.ascontiguousarray(x, dtype)
        y = np.empty_like(x)
        step = lanes * x.itemsize
        for k in range(0, x.nbytes, step):
            call(x.ctypes.data + k, y.ctypes.data + k)
        assert engine is not None
        return y

    return run


def arguments(name: str, dtype: Any, count: int, seed: int = 0) -> Any:
    """Return arguments from all intervals that the type reaches."""
    random = np.random.default_rng(seed)
    limit = {"exp": 88.0, "expm1": 88.0, "erfc": 9.5, "bell": 9.3, "normal_density": 13.0}
    found = []
    for begin, end in REFERENCES[name][2]:
        most = limit.get(name, np.inf) if dtype == np.float32 else np.inf
        if dtype == np.float32 and name == "ndtr":
            most = 12.5
        found.append(random.uniform(max(begin, -most), min(end, most), count))
    return np.concatenate(found).astype(dtype)


def units(value: Any, exact: Any, dtype: Any) -> float:
    """Return the distance in units in the last place."""
    nearest = np.abs(np.array(float(exact), dtype))
    return float(abs(mp.mpf(float(value)) - exact) / mp.mpf(float(np.spacing(nearest))))


def test_every_function_has_a_reference() -> None:
    assert set(REFERENCES) == set(FUNCTIONS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_accuracy(name: str, dtype: Any) -> None:
    exact = REFERENCES[name][0]
    x = arguments(name, dtype, 200)
    widest = definitions(name, dtype)[0].lanes
    x = np.resize(x, len(x) // widest * widest)
    y = runner(name, dtype, widest)(x)
    with mp.workprec(200):
        errors = [units(b, exact(mp.mpf(float(a))), dtype) for a, b in zip(x, y, strict=True)]
    worst = int(np.argmax(errors))
    assert errors[worst] <= WORST, f"{errors[worst]:.2f} units at {x[worst]!r}"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_width_computes_the_same_bits(name: str, dtype: Any) -> None:
    x = arguments(name, dtype, 64, seed=1)
    x = np.resize(x, 128)
    made = definitions(name, dtype)
    results = [runner(name, dtype, d.lanes)(x) for d in made]
    if platform.machine() in ("x86_64", "AMD64"):
        results += [runner(name, dtype, d.lanes, older=True)(x) for d in made if d.lanes > 1]
    assert made[-1].lanes == 1  # for what is left over
    for y in results[1:]:
        np.testing.assert_array_equal(y, results[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_width_takes_every_number(name: str, dtype: Any) -> None:
    """Random bits, and numbers below the normal ones: where a width has instructions of its own."""
    word, digits = (np.uint64, 52) if dtype == np.float64 else (np.uint32, 23)
    bits = np.random.default_rng(0).integers(0, np.iinfo(word).max, 4096, word)
    bits[::4] %= 1 << digits
    x = bits.view(dtype)
    for y in (results := [runner(name, dtype, d.lanes)(x) for d in definitions(name, dtype)]):
        np.testing.assert_array_equal(y, results[0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_edges(name: str, dtype: Any) -> None:
    """Zeros with their signs, infinities, nan, poles, and the least and largest numbers."""
    kind = np.finfo(dtype)
    x = np.array(
        [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0, -1.0, kind.tiny, -kind.tiny,
         kind.smallest_subnormal, -kind.smallest_subnormal, kind.max, -kind.max, 2.0, -2.0],
        dtype,
    )  # fmt: skip
    y = runner(name, dtype, definitions(name, dtype)[0].lanes)(x)
    with np.errstate(all="ignore"):
        expected = REFERENCES[name][1](x)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(y), np.isinf(expected))
    known = ~np.isnan(y)
    np.testing.assert_array_equal(np.signbit(y[known]), np.signbit(expected[known]))
    finite = np.isfinite(expected)
    np.testing.assert_allclose(
        y[finite], expected[finite], rtol=8 * kind.eps, atol=2 * kind.smallest_subnormal
    )


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_far_arguments_leave_their_neighbours_alone(name: str) -> None:
    """Whether a lane goes to the C library does not depend on the other lanes."""
    run = runner(name, np.float64, definitions(name, np.float64)[0].lanes)
    x = np.random.default_rng(0).uniform(-100, 100, 64)
    near = run(x)
    x[3::8] = 1e300
    mixed = run(x)
    others = np.arange(64) % 8 != 3
    np.testing.assert_array_equal(mixed[others], near[others])
    np.testing.assert_allclose(mixed[3::8], getattr(np, name)(1e300), rtol=1e-15)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"bell", "normal_density"}))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_use_them(name: str, dtype: Any) -> None:
    """Vector loops have them; what is left over for no full vector is computed, too."""
    f = REFERENCES[name][1]
    x = np.random.default_rng(0).uniform(0.1, 2, 53).astype(dtype)
    kernel = sg.compile(f)
    np.testing.assert_allclose(kernel(x), f(x), rtol=20 * np.finfo(dtype).eps)
    assert f"symgrad.simd.{name}." in lower(kernel.program(x)).text


#: The C library's functions that arrays have SIMD functions for, by the page of conventions.
LISTED = {
    "exp", "expm1", "log", "log1p", "sin", "cos", "tanh", "erf", "erfc", "exp2", "log2", "log10",
    "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "pow",
    "hypot", "ndtr",
}  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.slow
def test_elements_have_the_same_bits_in_every_place(dtype: Any) -> None:
    """In registers, left over, alone: by one code. What is not is a number, of these functions."""
    maps = [op for op in registry.ops.values() if op.kind == "map"]
    used = {Code.of(op).lower.name: op for op in maps if isinstance(Code.of(op).lower, Libm)}
    used |= {"pow": registry.ops["Power"], "ndtr": registry.ops["Ndtr"]}
    found = {name for name, op in used.items() if definitions(name, dtype, op.arity)}
    recent = definitions("tan", dtype)  # glibc from 2.35 on
    assert found == LISTED if recent else set(FUNCTIONS) & set(used) <= found <= LISTED
    random = np.random.default_rng(5)
    for name in sorted(found):
        op = used[name]
        ranges = Evidence.of(op).samples
        x = [random.uniform(*r, 43).astype(dtype) for r in ranges]
        f = sg.compile(lambda *x, op=op: op(*x))
        whole = f(*x)
        for first, last in ((0, 1), (1, 4), (2, 9), (3, 20), (5, 43)):
            part = f(*(a[first:last] for a in x))
            np.testing.assert_array_equal(part, whole[first:last], err_msg=name)


@pytest.mark.parametrize("f", [np.sin, np.tan, np.sinc, sc.ndtr], ids=lambda f: f.__name__)
@pytest.mark.quick(2)
def test_elements_of_short_axes_have_the_same_bits(f: Any) -> None:
    """Where a loop is unrolled, too, with elements of a program's own arrays as well."""
    x = np.random.default_rng(6).uniform(0.2, 1.4, 18)
    whole = sg.compile(f)(x)
    for table, expected in ((x.reshape(6, 3), whole.reshape(6, 3)), (x[:4].reshape(2, 2), None)):
        expected = whole[: table.size].reshape(table.shape) if expected is None else expected
        np.testing.assert_array_equal(sg.compile(f)(table), expected)
        np.testing.assert_array_equal(sg.compile(f)(table.T), expected.T)
    stacked = sg.compile(lambda x: f(np.stack([x[0], x[1], x[2]])))(x)
    np.testing.assert_array_equal(stacked, whole[:3])


def test_one_register_width_of_the_library() -> None:
    """Its widths round differently, and not every CPU has the widest."""
    program = sg.compile(lambda x: np.where(x > 1, np.log2(x), np.tan(x))).program(np.ones(9))
    text = lower(program, vector_math=True).text
    assert len(set(re.findall(r"_ZGV[bcde]N", text))) == has_libmvec()
    assert "_ZGVe" not in text or llvm.get_host_cpu_features()["avx512f"]


@pytest.mark.parametrize("vector_math", ["0", "1"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_normal_distribution_of_numbers(
    dtype: Any, vector_math: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As accurate as that of arrays: the rounding of x*sqrt(1/2) is not magnified."""
    monkeypatch.setenv("SYMGRAD_VECTOR_MATH", vector_math)
    f = sg.compile(sc.ndtr)
    x = arguments("ndtr", dtype, 40, seed=2)
    exact = REFERENCES["ndtr"][0]
    with mp.workprec(200):
        normal = [(a, e) for a in x if (e := exact(mp.mpf(float(a)))) > np.finfo(dtype).tiny]
        assert max(units(f(a), e, dtype) for a, e in normal) < WORST


@llvm_turn()
def optimized(text: str) -> str:
    return str(optimize(text, host_machine()))


def test_equal_work_of_two_functions_is_done_once() -> None:
    """Sine and cosine of one argument share the reduction; no call is left in the loop."""
    program = sg.value_and_grad(lambda x: np.sum(np.sin(x))).program(np.ones(9))
    text = optimized(lower(program).text)
    assert "call" in text
    loops = [line for line in text.splitlines() if "call <" in line and "@llvm." not in line]
    assert all(".far(" in line for line in loops)
    one = optimized(lower(sg.compile(np.sin).program(np.ones(9))).text)
    assert text.count("@llvm.fma") < 2 * one.count("@llvm.fma")


def test_long_programs_call_them() -> None:
    """Too many to be inlined, they stay functions; the results are the same."""

    def chain(x: Any, count: int) -> Any:
        for k in range(count):
            x = np.sin(x) + 0.1 * np.exp(-k * x)
        return x

    x = np.linspace(0, 1, 64)
    for count, inlined in ((3, True), (40, False)):
        f = sg.compile(partial(chain, count=count))
        assert ("alwaysinline" in lower(f.program(x)).text) == inlined
        np.testing.assert_allclose(f(x), chain(x, count), rtol=1e-13)


@pytest.mark.slow
def test_coefficients_are_those_of_the_fit() -> None:
    """The file is what its script writes."""
    script = Path(__file__).parents[3] / "docs" / "build_polynomials.py"
    names = runpy.run_path(str(script))
    assert names["PATH"].read_text() == "\n".join(names["text"]()) + "\n"


def test_libm_names() -> None:
    assert libm_name("sin", np.float64) == "sin"
    assert libm_name("sin", np.float32) == "sinf"


@pytest.mark.parametrize(
    ("features", "letter"), [({}, "b"), ({"avx2": True}, "d"), ({"fma": True, "avx2": True}, "d")]
)
def test_only_what_the_cpu_can_run_is_called(
    features: dict[str, bool], letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """glibc has its functions for AVX-512 on every CPU."""
    for variable in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: features)
    for name in ("_register_bytes_here", "_vector_width_here"):
        monkeypatch.setattr(_libraries, name, getattr(_libraries, name).__wrapped__)
    assert _libraries._letter.__wrapped__()[0] == letter


@pytest.mark.parametrize("name", ["hypot", "arctan2", "arcsinh", "sinh", "cbrt", "arctan"])
@pytest.mark.quick(2)
def test_doubles_among_short_elements(name: str) -> None:
    """Vectorised by as many lanes as there are short elements in a register."""
    ufunc, x = getattr(np, name), np.linspace(0.1, 5, 300)
    for function, given in (
        (lambda *xs: ufunc(*xs) > 0.3, x),
        (lambda *xs: ufunc(*(np.multiply(x, 1.0, dtype=float) for x in xs)), x.astype(np.int8)),
        (lambda *xs: ufunc(*(x.astype(float) for x in xs)).astype("f4"), x.astype("f4")),
    ):
        args = (given,) * ufunc.nin
        found = sg.compile(function, cache=False)(*args)
        np.testing.assert_allclose(found, function(*args), rtol=1e-6)
